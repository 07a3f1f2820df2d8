"""Leave-one-out EM: where is it better than plain EM, and is it more than its pseudo-counts?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks import corpora
from benchmarks.experiment import Row, experiment
from skcooc import AspectModel, Dyads, RowMemory
from skcooc.model_selection import split_counts

SETTINGS = {
    "plain EM": {"leave_one_out": False},
    "leave-one-out EM": {"leave_one_out": True},
    "plain EM, its pseudo-counts": {"leave_one_out": False, "component_prior": 0.02},
}


@experiment(minutes=4, quick={"data": ["Cranfield"], "components": [8], "seeds": [0]})
def leave_one_out(
    data: Sequence[str] = ("Cranfield", "Reuters"),
    components: Sequence[int] = (32, 128),
    seeds: Sequence[int] = (0, 1, 2),
) -> Iterator[Row]:
    """Does leave-one-out EM predict better than plain EM, and than its pseudo-counts alone?

    A tenth of the tokens is held out; beta is tuned inside the fit. The within-document cache alone
    is the topic-free baseline.
    """
    for name in data:
        X = corpora.COLLECTIONS[name]().X
        for seed in seeds:
            train, test = split_counts(X, 0.1, random_state=seed)
            for K in components:
                shared = {"data": name, "K": K, "seed": seed}
                cache = RowMemory(random_state=seed).fit(train)
                yield shared | {
                    "fit": "topic-free cache",
                    "perplexity": cache.perplexity(Dyads(test)),
                }
                for fit, setting in SETTINGS.items():
                    model = AspectModel(K, random_state=seed, **setting).fit(train)
                    yield shared | {
                        "fit": fit,
                        "perplexity": model.perplexity(Dyads(test)),
                        "beta": model.beta_,
                    }
