"""Prior of new rows, estimated on validation tokens."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from skcooc.counts import CSRCounts, NewRows
from skcooc.em.search import vertex
from skcooc.fitting.stream import fold_in
from skcooc.heldout.predictors import Factors, log_cells, smoothed
from skcooc.heldout.validation import HeldOut
from skcooc.protocol import CSR, Model, Params

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
    table = heldout.X.take(rows).table
    parts = zip(*(few_columns(table, n, rng) for n in N_KNOWN), strict=True)
    known, rest = (sp.vstack(part, format="csr") for part in parts)
    if not rest.nnz:
        return PSEUDO_COUNTS[len(PSEUDO_COUNTS) // 2]
    X, scored = NewRows(known), CSRCounts(rest)

    def loss(row_prior: float) -> float:
        model, of_rows = with_prior(row_prior).fold_in_equations(params)
        states = fold_in(model, of_rows, beta, X, 1, max_iter=MAX_ITER)
        factors = Factors(*model.factors(of_rows, states))
        logs = log_cells(smoothed(factors, heldout.background, smoothing), scored)
        return -float((rest.data * logs).sum() / rest.data.sum())

    return float(np.exp(vertex({float(np.log(c)): loss(c) for c in PSEUDO_COUNTS})))


def few_columns(X: CSR, n: int, rng: np.random.Generator) -> tuple[CSR, CSR]:
    """Divide rows into a token of n columns each, drawn in proportion to their counts; the rest.

    Rows without more than n columns are left out.
    """
    X = sp.csr_array(X[np.diff(X.indptr) > n])
    of_row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    waiting = rng.exponential(size=X.nnz) / X.data  # the first n events of each row
    is_drawn = np.zeros(X.nnz, dtype=bool)
    place = np.arange(X.nnz) - X.indptr[of_row]
    is_drawn[np.lexsort((waiting, of_row))] = place < n
    tokens = np.where(is_drawn, np.minimum(X.data, 1), 0)
    known = sp.csr_array((tokens, X.indices, X.indptr), shape=X.shape).copy()  # arrays of its own
    rest = sp.csr_array(X - known)
    known.eliminate_zeros()
    rest.eliminate_zeros()
    return known.astype(X.dtype), rest
