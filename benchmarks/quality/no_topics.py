"""What do the topic-free baselines reach in the tables of the other benchmarks, on their splits?

The unigram, and with memory `RowMemory(None)`: what a row has already, discounted, and how many
rows have each column. Its parameters are estimated on observations held out of the training part.
Where documents are new, it knows the half of each that models fold in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import mean
from typing import Any, NamedTuple

import numpy as np

from benchmarks import corpora, reporting
from benchmarks.quality import coclustering, remembered, streaming, topic_models, tuned
from benchmarks.quality.folds import cranfield_folds
from skcooc import RowMemory
from skcooc.heldout import Unigram
from skcooc.heldout.memory import with_cache
from skcooc.metrics import perplexity_of, unigram
from skcooc.model_selection import split_counts


class Task(NamedTuple):
    """Training counts, those to score, and what is known of the rows scored."""

    train: Any
    test: Any
    known: Any


def splits(X: Any, n_splits: int) -> Iterator[Task]:
    """A tenth of the observations held out."""
    for seed in range(n_splits):
        train, test = split_counts(X, 0.1, random_state=seed)
        yield Task(train, test, train)


def folds() -> Iterator[Task]:
    """The ten folds of Cranfield."""
    dyads, parts = cranfield_folds()
    for fold in parts:
        train, test = (dyads[part].to_csr() for part in fold)
        yield Task(train, test, train)


def new_documents(data: str) -> Iterator[Task]:
    """Those of papers/projection.py, its first split."""
    documents = topic_models.divide(coclustering.documents(data)[0], 0)
    yield Task(documents.train, documents.new.hidden, documents.new.known)


def on_the_way() -> Iterator[Task]:
    """That of speed/time_to_perplexity.py, whose models do not get the validation part."""
    for task in splits(corpora.newsgroups20().X, 1):
        inner = tuned.divide(task.train, 0).inner
        yield Task(inner, task.test, inner)


def online() -> Iterator[Task]:
    """Those of streaming.py."""
    test, _, train = streaming.divide(corpora.newsgroups20().X.astype(np.float32))
    yield Task(train, test.unknown, test.known)


TABLES: dict[str, Callable[[], Iterator[Task]]] = {
    "the search; memory, Cranfield": lambda: splits(corpora.cranfield().X, 1),
    "the pseudo-count": lambda: splits(corpora.brown_pairs().X, 2),
    "clustering-projection, newsgroups": lambda: new_documents("newsgroups4"),
    "clustering-projection, Reuters": lambda: new_documents("reuters5"),
    "clusters; trees on folds": folds,
    "trees, bursts and annealing, Cranfield": lambda: splits(corpora.cranfield().X, 3),
    "trees and bursts, CLASSIC3": lambda: splits(corpora.classic3().X, 3),
    "bursts, pairs": lambda: splits(corpora.brown_pairs().X, 3),
    "bursts, Reuters": lambda: splits(corpora.reuters5().X, 3),
    "bursts, NeurIPS": lambda: splits(corpora.neurips(["neural", "network"]).X, 3),
    "bursts, Bible": lambda: splits(corpora.bible().X, 3),
    "memory, Reuters": lambda: splits(corpora.reuters5().X, 1),
    "memory, Bible": lambda: splits(corpora.bible().X, 1),
    "memory, pairs": lambda: splits(corpora.brown_pairs().X, 1),
    "time to a perplexity": on_the_way,
    "online methods": online,
}


def lines(task: Task) -> tuple[float, float]:
    """Perplexities of the unigram, and of `RowMemory(None)` with what is known."""
    model = RowMemory(random_state=0).fit(task.train)
    b, memory = model.unigram_, remembered.of(model)
    alone = perplexity_of(task.test, Unigram(unigram(task.train)))
    return alone, perplexity_of(task.test, with_cache(task.known, Unigram(b), b, memory))


def rows(tables: list[str]) -> Iterator[dict[str, Any]]:
    """Means over the splits of each table."""
    for table in tables:
        alone, with_memory = zip(*map(lines, TABLES[table]()), strict=True)
        yield {
            "table": table,
            "unigram": mean(alone),
            "with memory": mean(with_memory),
            "sd": reporting.deviation(alone),
            "sd with memory": reporting.deviation(with_memory),
            "splits": len(alone),
        }


def main() -> None:
    parser = reporting.options(str(__doc__))
    parser.add_argument("--tables", choices=TABLES, nargs="+", default=list(TABLES))
    options = parser.parse_args()
    reporting.print_table(reporting.collect(rows(options.tables), options.output, {}, "lines"))


if __name__ == "__main__":
    main()
