"""Log-likelihoods of held-out observations, one by one and row by row; sampling."""

from __future__ import annotations

import warnings

import numpy as np

from skcooc.heldout.predictors import log_cells
from skcooc.protocol import Array, Block, Predictor

SPLIT_SEED = 0  # divides a row into what is folded in and what is scored


def halves(X: Block) -> tuple[Block, Block]:
    """Of new rows what is folded in, something of every row, and what is scored."""
    return X.divide(0.5, SPLIT_SEED, occupied=True)


def score_pairs(X: Block, order: Array, predictor: Predictor) -> Array:
    """log P(y given x) of single observations, (L,), nats, listed as by ``Dyads.listed``."""
    log_likelihood = np.empty(len(order))
    log_likelihood[order] = log_cells(predictor, X)
    return log_likelihood


def check_rows_known(mass: Array, rows: Array) -> None:
    """Warn where most observations, of these rows, (L,), are of rows without mass fitted, (N,)."""
    if len(rows) and 2 * np.count_nonzero(mass[rows]) < len(rows):
        warnings.warn(
            "Most observations to score are of rows of which none was fitted, so that the same is "
            "predicted of all of them, with any number of components. Folds in the order of the "
            "observations leave out whole rows: take KFold(n_splits, shuffle=True), or "
            "skcooc.model_selection.ObservationSplit(n_splits).",
            UserWarning,
            stacklevel=3,
        )


def score_rows(X: Block, predictor: Predictor) -> tuple[Array, Array]:
    """Mean of log P(y given x) over the observations of each row, nats, and their number, (n,).

    The mean is zero where a row has no observations.
    """
    sums, counts = X.summed(X.observations * log_cells(predictor, X)), X.row_sums
    return sums / np.where(counts > 0, counts, 1), counts


def draw(
    n_samples: int, row_distribution: Array, A: Array, components: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Draw observations: a row, a component given the row, a column given the component.

    From P(x), (N,), P(z given x), (N, K), and P(y given z), (K, M); rows and columns, (n_samples,).
    """
    per_row = rng.multinomial(n_samples, row_distribution)
    per_component = rng.multinomial(per_row, _exactly(A))  # (N, K)
    rows = [np.repeat(np.arange(len(A)), n) for n in per_component.T]
    columns = [
        rng.choice(len(p), size=n, p=p)
        for p, n in zip(_exactly(components), per_component.sum(axis=0), strict=True)
    ]
    order = rng.permutation(n_samples)
    return np.concatenate(rows)[order], np.concatenate(columns)[order]


def draw_given(z: Array, components: Array, rng: np.random.Generator) -> Array:
    """Draw an index for each component drawn, (n_samples,), from P(y given z), (K, M)."""
    drawn = np.empty(len(z), dtype=np.intp)
    for k, p in enumerate(_exactly(components)):
        of_it = np.flatnonzero(z == k)
        drawn[of_it] = rng.choice(len(p), size=len(of_it), p=p)
    return drawn


def _exactly(P: Array) -> Array:
    """Distributions in float64 whose sums numpy accepts as one."""
    P = P.astype(np.float64)
    return P / P.sum(axis=1, keepdims=True)
