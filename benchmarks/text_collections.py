"""Held-out perplexity on many collections, and with many topics for short documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, product

from benchmarks.experiment import Row, experiment
from benchmarks.perplexity import perplexity

FIELDS = {
    "unigram (topic-free)": {"with cache": "topic-free + cache"},
    "AspectModel()": {"alone": "default alone", "with cache": "default + cache"},
    "AspectModel(burstiness='auto')": {"with cache": "burstiness + cache"},
    "AveragedModels, 5": {"alone": "five alone", "with cache": "five + cache"},
    "tomotopy LDA, tuned, 20 samples": {"alone": "LDA alone", "with cache": "LDA + cache"},
}


@experiment(
    minutes=300,
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
        "20 Newsgroups",
    ),
    components: Sequence[int] = (8, 32, 128),
    seeds: Sequence[int] = (0, 1, 2),
) -> Iterator[Row]:
    """Is a default fit better than a tuned LDA on seven collections, with few topics and many?

    Protocol and models of the experiment `perplexity`; one row for each split.
    """
    cases = list(product(data, components))
    rows = perplexity(cases, tuple(FIELDS), seeds)
    for (name, K, seed), group in groupby(rows, lambda row: (row["data"], row["K"], row["seed"])):
        found = {
            field: row[measure] for row in group for measure, field in FIELDS[row["model"]].items()
        }
        yield {"data": name, "K": K, "seed": seed} | found


@experiment(
    minutes=120,
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
        "AveragedModels, 5",
        "AveragedModels, 5, leave-one-out",
        "tomotopy LDA, tuned, 20 samples",
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
