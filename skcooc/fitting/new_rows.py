"""Prior of new rows, estimated on validation tokens."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from skcooc.em.search import vertex
from skcooc.fitting.stream import fold_in
from skcooc.heldout.predictors import CachedPredictions, log_cells, smoothed
from skcooc.heldout.validation import HeldOut
from skcooc.protocol import CSR, Array, Model, Params

N_KNOWN = (1, 2, 4)  # known columns of a row
N_ROWS = 300  # rows that are folded in, at most
PSEUDO_COUNTS = (0.5, 1.0, 2.0, 4.0, 8.0)  # tried
MAX_ITER = 10  # EM steps of fold-in


def best_row_prior(
    with_prior: Callable[[float], Model],
    params: Params,
    beta: float,
    heldout: HeldOut,
    smoothing: float,
    seed: int,
) -> float:
    """Return the pseudo-count with which a few tokens of a row predict others best.

    All of them are validation tokens: those that the components have seen would be trusted too
    much. If no row has two of them, it is the pseudo-count in the middle.
    """
    rng = np.random.default_rng(seed)
    long = np.flatnonzero(np.diff(heldout.X.table.indptr) > 1)
    rows = np.sort(rng.choice(long, min(N_ROWS, len(long)), replace=False))
    n_columns = np.diff(heldout.X.table.indptr)[rows]
    repeated = np.concatenate([rows[n_columns > n] for n in N_KNOWN])
    if not repeated.size:
        return PSEUDO_COUNTS[len(PSEUDO_COUNTS) // 2]
    n_known = np.concatenate([np.full(np.sum(n_columns > n), n) for n in N_KNOWN])
    both = heldout.X.take(repeated)
    tokens = few_columns(both.table, n_known, rng)
    X, rest = both.replaced(tokens).as_new(), both.table.data - tokens

    def loss(row_prior: float) -> float:
        model, of_rows = with_prior(row_prior).fold_in_equations(params)
        states = fold_in(model, of_rows, beta, X, 1, max_iter=MAX_ITER)
        predicted = CachedPredictions(model.predict(of_rows, states, both))
        logs = log_cells(smoothed(predicted, heldout.background, smoothing), both)
        return -float((rest * logs).sum() / rest.sum())

    return float(np.exp(vertex({float(np.log(c)): loss(c) for c in PSEUDO_COUNTS})))


def few_columns(X: CSR, n: Array, rng: np.random.Generator) -> Array:
    """Return a token of n columns of each row, (nnz,), drawn in proportion to their counts."""
    of_row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    waiting = rng.exponential(size=X.nnz) / X.data  # the first n events of each row
    is_drawn = np.zeros(X.nnz, dtype=bool)
    is_drawn[np.lexsort((waiting, of_row))] = np.arange(X.nnz) - X.indptr[of_row] < n[of_row]
    return np.where(is_drawn, np.minimum(X.data, 1), 0).astype(X.dtype)
