"""Leave-one-out EM: where is it better than plain EM, and is it more than its pseudo-counts?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.baselines import as_rows, baselines
from benchmarks.experiment import Row, experiment
from benchmarks.perplexity import collection
from skcooc import AspectModel, Dyads
from skcooc.model_selection import split_counts

SETTINGS = {
    "plain EM, no priors": {"leave_one_out": False, "component_prior": 0.0},
    "plain EM, component_prior=0.02": {"leave_one_out": False, "component_prior": 0.02},
    "plain EM, component_prior=0.1": {"leave_one_out": False, "component_prior": 0.1},
    "leave-one-out EM, its priors": {"leave_one_out": True},
    "default: chosen by validation tokens": {},
}


@experiment(minutes=8, quick={"data": ["Cranfield"], "K": 8, "seeds": [0]})
def leave_one_out(
    data: Sequence[str] = ("Cranfield", "CLASSIC3", "Reuters", "Brown pairs"),
    K: int = 128,
    seeds: Sequence[int] = (0, 1, 2),
) -> Iterator[Row]:
    """Does leave-one-out EM predict better than plain EM, and than its pseudo-counts alone?

    A tenth of the tokens is held out; beta is tuned inside the fit. The priors of leave-one-out EM
    are pseudo-counts: 0.02 of each column in a topic, or a quarter of that where it is better, and
    1 of a row, or 0.3.
    """
    for name in data:
        X = collection(name)
        for seed in seeds:
            train, test = split_counts(X, 0.1, random_state=seed)
            case = {"data": name, "K": K, "seed": seed}
            yield from (case | row for row in as_rows(baselines(train, test, seed)))
            for model, setting in SETTINGS.items():
                fitted = AspectModel(K, random_state=seed, **setting).fit(train)
                found = {"perplexity": fitted.perplexity(Dyads(test)), "beta": fitted.beta_}
                yield case | {"model": model} | found
