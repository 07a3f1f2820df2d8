"""Starts: where a fit of a model begins. They run EM, within the limits of the fit."""

from typing import TypeVar

import numpy as np

from skcooc.counts import CSRCounts
from skcooc.em import EMStage
from skcooc.em.stages import Runner
from skcooc.protocol import Array, Block, Counts, Model

C = TypeVar("C", bound=Counts)


def sampled_rows(X: C, rng: np.random.Generator, n_non_zeros: int, min_rows: int) -> C | CSRCounts:
    """Return random rows with about so many non-zeros, or more rows; X if it has no more."""
    density = X.total(_n_non_zeros)[0] / X.shape[0]
    n_rows = max(min_rows, int(n_non_zeros / max(1, density)))
    if n_rows >= X.shape[0]:
        return X
    sample = X.draw(n_rows, int(rng.integers(2**63)))
    weights = None if (sample.weights == 1).all() else sample.weights
    return CSRCounts(sample.rows, weights, n_threads=X.n_threads, map=X.map_ranges)


def _n_non_zeros(X: Block) -> Array:
    return np.array([len(X.indices)])


def short_stage(
    model: Model,
    X: Counts,
    beta: float,
    max_iter: int,
    tol: float,
    runner: Runner,
    share_of_tol: float = 1.0,
) -> EMStage:
    """Return a stage that keeps to the limits of the fit of which it is a part.

    Its tolerance is this share of the larger one of ``tol`` and that of the fit.
    """
    n_iter = min(max_iter, runner.max_iter)
    return EMStage(model, X, beta, n_iter, share_of_tol * max(tol, runner.tol))
