"""The table of results, as scikit-learn's searches have it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.ma import MaskedArray
from scipy.stats import rankdata

from skcooc.model_selection.grid_point import GridPoint
from skcooc.model_selection.target import Params
from skcooc.protocol import Array


def tables(
    points: Sequence[tuple[Params, GridPoint]], beta: str, visited: bool, n_folds: int
) -> tuple[list[Params], dict[str, Array]]:
    """What was measured at all points of the grid: parameters of each candidate, and tables.

    Tables are (n_candidates, n_folds), NaN where nothing was measured. ``beta`` is the name of the
    inverse temperature; ``visited`` leaves those out where nothing was.
    """
    params: list[Params] = []
    rows: list[list[list[float]]] = []
    for others, point in points:
        for candidate, value in enumerate(point.betas):
            cells = [point.measured(candidate, fold) for fold in range(n_folds)]
            if visited and all(np.isnan(cell).all() for cell in cells):
                continue
            params.append({**others, beta: float(value)})
            rows.append(cells)
    names = "test_score", "smoothing", "fit_time", "score_time", "validation_score"
    return params, dict(zip(names, np.moveaxis(np.array(rows), 2, 0), strict=True))


def cv_results(params: Sequence[Params], tables: dict[str, Array]) -> dict[str, Array]:
    """Columns by name, but for those of all parameters together, from what ``tables`` returns.

    For each table its columns by split where it is one of scores, its means and standard
    deviations; NaN for candidates not visited on all folds. ``test_score`` is ranked.
    """
    results: dict[str, Array] = {}
    for name, table in tables.items():
        if name.endswith("score"):
            results |= {f"split{fold}_{name}": table[:, fold] for fold in range(table.shape[1])}
        results[f"mean_{name}"], results[f"std_{name}"] = table.mean(axis=1), table.std(axis=1)
    results["rank_test_score"] = ranks(results["mean_test_score"])
    for name in dict.fromkeys(name for candidate in params for name in candidate):
        results[f"param_{name}"] = _values(params, name)
    return results


def ranks(scores: Array) -> Array:
    """1 for the largest score; what is NaN comes last, all at the same rank.

    >>> ranks(np.array([np.nan, -6.0, -5.9, np.nan])).tolist()
    [3, 2, 1, 3]
    """
    known = np.where(np.isnan(scores), -np.inf, scores)
    return rankdata(-known, method="min").astype(np.int32)


def _values(params: Sequence[Params], name: str) -> MaskedArray:
    """The values of one parameter, masked for candidates that have none."""
    given = [candidate[name] for candidate in params if name in candidate]
    numbers = all(isinstance(value, (int, float, np.number)) for value in given)
    plain = numbers and not any(isinstance(value, bool) for value in given)
    values = MaskedArray(np.empty(len(params), np.array(given).dtype if plain else object), True)
    for index, candidate in enumerate(params):
        if name in candidate:
            values[index] = candidate[name]
    return values
