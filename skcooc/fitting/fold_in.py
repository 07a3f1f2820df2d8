"""New rows at fixed parameters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from skcooc.counts.threads import n_threads, threads
from skcooc.em.legs import unknown_rows
from skcooc.protocol import Block, FoldIn, P, Rows, S

FOLD_IN_TOL = 1e-5  # largest change of a mixture proportion
FOLD_IN_ITERATIONS = 200


def fold_in(
    model: FoldIn[P, S],
    params: P,
    beta: float,
    X: Block,
    n_jobs: int | None,
    start: Rows | None = None,
    max_iter: int = FOLD_IN_ITERATIONS,
) -> Rows:
    """The states of new rows at fixed parameters, (n, k), from those of the whole or from others.

    A row is left alone once it has converged, so that it does not depend on the others; where it is
    a mixture of components, nothing is done for others at the same time. The rows are such as
    contribute nothing to columns.
    """
    rows, (X, columns) = np.array(unknown_rows(params, X)) if start is None else start, X.occupied()
    params = model.restrict(params, columns)
    n = n_threads(n_jobs)
    with threads(n) as map:
        X = X.spread(n, map)
        fixed = model.fixed(X, params, beta)
        if fixed is not None:
            return X.settle(fixed, rows, FOLD_IN_TOL, max_iter)
        return _settled(model, params, beta, X, rows, max_iter)


def _settled(
    model: FoldIn[P, S], params: P, beta: float, X: Block, rows: Rows, max_iter: int
) -> Rows:
    """The states at which E-steps settle, of the rows that have not settled in each of them."""
    active = np.arange(X.shape[0])
    rows, _ = model.expect(X, params, rows, beta)
    for _ in range(max_iter - 1):
        new, _ = model.expect(X, params, rows[active], beta)
        moving = np.abs(new - rows[active]).max(axis=1) > FOLD_IN_TOL
        rows[active] = new
        if not moving.any():
            break
        if not moving.all():
            active, X = active[moving], X.take(np.flatnonzero(moving))
    return rows


def over_rows(function: Callable[[Block], Rows], X: Block, n_jobs: int | None) -> Rows:
    """function(X), where the passes over these rows use threads."""
    n = n_threads(n_jobs)
    with threads(n) as map:
        return function(X.spread(n, map))
