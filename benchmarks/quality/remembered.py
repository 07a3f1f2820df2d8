"""What the memory of rows adds to any factorisation: chosen on validation, scored on the test part.

The same memory for all: the background is in how many rows of the training part a word is, and the
concentration, the discount and the smoothing are chosen together on the validation part.
"""

from __future__ import annotations

import math
from typing import Any

from benchmarks.quality.language_models import continuations
from benchmarks.quality.peers import Factors
from skcooc import RowMemory, heldout
from skcooc.heldout.memory import Memory, best_memory, memory_cells, with_cache
from skcooc.metrics import score_parts
from skcooc.tables import as_counts


def of(model: RowMemory) -> Memory:
    """What a fitted estimator has found."""
    return Memory(model.concentration_, model.discount_, model.smoothing_)


def best(inner: Any, valid: Any, factors: Factors) -> Memory:
    """The memory that observations of the validation part ask for, of a fit to the others."""
    cells = memory_cells(inner, as_counts(valid), predictor(factors), continuations(inner))
    return best_memory(cells)


def scores(train: Any, test: Any, factors: Factors, memory: Memory) -> dict[str, float]:
    """Perplexity with memory, and of the observations in cells where the training part has none.

    The latter is of the predictions divided by their sum over such cells of the row: there what is
    remembered cancels out. And the share of the observations that are not of this kind.
    """
    remembers = with_cache(train, predictor(factors), continuations(train), memory)
    parts = score_parts(test, remembers, train)
    mean = parts.seen_share * parts.seen + (1 - parts.seen_share) * parts.unseen
    return {
        "with memory": math.exp(-mean),
        "unseen": math.exp(-parts.renormalised),
        "share seen": parts.seen_share,
    }


def predictor(factors: Factors) -> heldout.Factors:
    """Mixtures (N, K) and components (K, M) as the library has them."""
    return heldout.Factors(factors.mixtures, factors.components.T)
