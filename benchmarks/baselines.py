"""Topic-free baselines for tables of perplexities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import scipy.sparse as sp

from benchmarks.experiment import Row
from skcooc import Dyads, RowMemory
from skcooc.heldout import Unigram
from skcooc.metrics import perplexity_of, unigram

NEIGHBORS = 50


def baselines(train: Any, test: Any, seed: int) -> dict[str, float]:
    """Perplexities of further tokens of the training rows.

    The unigram; the within-document cache above it; and the cache above the nearest rows.
    """
    caches = {"unigram with cache": 0, f"{NEIGHBORS} nearest rows with cache": NEIGHBORS}
    return {"unigram": perplexity_of(test, Unigram(unigram(train)))} | {
        name: RowMemory(None, neighbors=n, random_state=seed).fit(train).perplexity(Dyads(test))
        for name, n in caches.items()
    }


def baselines_of_new(train: Any, known: Any, hidden: Any, seed: int) -> dict[str, float]:
    """The same, of hidden tokens of new rows, some of whose tokens are known."""
    nothing = sp.csr_array(train.shape, dtype=hidden.dtype)
    both = (sp.csr_array(sp.vstack(parts)) for parts in ((train, known), (nothing, hidden)))
    return baselines(*both, seed)


def as_rows(perplexities: dict[str, float]) -> Iterator[Row]:
    """One row for each baseline, as for models."""
    return ({"model": name, "perplexity": value} for name, value in perplexities.items())
