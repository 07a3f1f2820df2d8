"""Held-out perplexity on many collections, of many topics, and of many samples of LDA."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, product

from benchmarks import peers
from benchmarks.experiment import Row, experiment
from benchmarks.perplexity import (
    ALPHA,
    CHAINS,
    ONE_CHAIN,
    Split,
    as_predictor,
    collection,
    judged,
    perplexity,
)
from skcooc.heldout.predictors import CachedPredictions
from skcooc.model_selection import split_counts
from skcooc.tables import as_counts

# The names that the measures of each model have in the table.
FIELDS = {
    "unigram (topic-free)": ("unigram", "topic-free + cache"),
    "50 nearest rows (topic-free)": ("nearest rows alone", "nearest rows + cache"),
    "AspectModel()": ("default alone", "default + cache"),
    "AveragedModels": ("average alone", "average + cache"),
    "AveragedModels + 50 nearest rows": ("average + rows", "average + rows + cache"),
    "CVB0 (LDA), tuned": ("CVB0 alone", "CVB0 + cache"),
    "tomotopy LDA, tuned, 20 samples": ("LDA of 20 samples alone", "LDA of 20 samples + cache"),
    "tomotopy LDA, tuned, 8 chains": ("LDA alone", "LDA + cache"),
}


@experiment(
    minutes=140,
    models=["AspectModel", "AveragedModels", "RowMemory"],
    quick={"data": ["Cranfield"], "components": [4], "seeds": [0]},
    needs=["tomotopy"],
)
def collections(
    data: Sequence[str] = (
        "Cranfield",
        "Brown pairs",
        "CLASSIC3",
        "Reuters",
        "Bible bigrams",
        "NeurIPS",
        "20 Newsgroups, a fifth",
    ),
    components: Sequence[int] = (8, 32, 128),
    seeds: Sequence[int] = (0, 1, 2),
) -> Iterator[Row]:
    """Is a default fit better than a tuned LDA on seven collections, with few topics and many?

    Protocol and models of the experiment `perplexity`; one row for each split. Of the 20 Newsgroups
    every fifth message is taken.
    """
    rows = perplexity(list(product(data, components)), tuple(FIELDS), seeds)
    for (name, K, seed), group in groupby(rows, lambda row: (row["data"], row["K"], row["seed"])):
        found: Row = {"data": name, "K": K, "seed": seed}
        for row in group:
            alone, cached = FIELDS[row["model"]]
            found |= {alone: row["alone"], cached: row["with cache"]}
        yield found


@experiment(
    minutes=90,
    models=["AspectModel", "AveragedModels", "RowMemory"],
    quick={"components": [4], "words": 200, "models": ["unigram (topic-free)", "AspectModel()"]},
    needs=["tomotopy"],
)
def many_topics(
    components: Sequence[int] = (64, 128, 256),
    models: Sequence[str] = (
        "unigram (topic-free)",
        "50 nearest rows (topic-free)",
        "AspectModel()",
        "AspectModel(burstiness='auto')",
        "AspectModel(leave_one_out=True)",
        "AveragedModels",
        "CVB0 (LDA), tuned",
        "tomotopy LDA, tuned, 16 chains",
    ),
    words: int = 2000,
    seeds: Sequence[int] = (0,),
) -> Iterator[Row]:
    """Which models gain from more topics than short documents can tell apart?

    The most frequent words of 20 Newsgroups after a stop list; a fifth of the tokens is held out.
    This is the protocol of many papers on deep topic models.
    """
    cases = [("20 Newsgroups", K) for K in components]
    yield from perplexity(cases, models, seeds, 0.2, words)


@experiment(
    minutes=18,
    models=[],
    quick={"data": ["Cranfield"], "components": [4], "sizes": [1, 2]},
    needs=["tomotopy"],
)
def lda_samples(
    data: Sequence[str] = ("Cranfield", "CLASSIC3", "Brown pairs"),
    components: Sequence[int] = (32, 128),
    sizes: Sequence[int] = (5, 10, 20, 40, 80),
    eta: float = 0.05,
) -> Iterator[Row]:
    """How many samples does an LDA need until more do not change its perplexity?

    Perplexity, without cache, of the mean of the predictions of so many samples. "one chain": 200
    sweeps, then a sample every 50 sweeps. "many chains": two samples of each, after 60 and 70
    sweeps. A tenth of the tokens is held out; the smoothing is the best for these, which helps
    means of few samples most.
    """
    kinds = {"one chain": ONE_CHAIN, "many chains": CHAINS._replace(chains=max(sizes) // 2)}
    for name, K in product(data, components):
        train, test = split_counts(collection(name), 0.1, random_state=0)
        split, counts = Split(train, train, test), as_counts(test)
        for kind, sampling in kinds.items():
            total = 0.0
            draws = peers.gibbs_draws(train, K, ALPHA / K, eta, sampling, 0)
            for n, draw in enumerate(draws, start=1):
                total = total + as_predictor(draw).cells(counts)
                if n in sizes:
                    value, _ = judged(split, CachedPredictions(total / n))
                    case = {"data": name, "K": K, "chains": kind, "samples": n}
                    yield case | {"perplexity": value}
