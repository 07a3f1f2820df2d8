"""Fits of all parts of the data, with one number of components after the other."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from skcooc.model_selection.candidates import Sizes
from skcooc.model_selection.folds import Data, ObservationFold
from skcooc.model_selection.grid_point import Run
from skcooc.model_selection.measures import Scores, describe_fits, scores
from skcooc.model_selection.path import Fitted, Path
from skcooc.protocol import CSR, Array
from skcooc.tables import as_counts

Measures: TypeAlias = dict[str, Array | float]  # by name: an array has one for each fold


class Survey:
    """What was found at the sizes visited, and the paths that go on from there.

    There is a path for the training part of each fold, for each of two halves of the observations,
    and for each of several starts with all observations, in this order. It can be pickled.
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        names: Sequence[str],
        data: Data,
        folds: Sequence[ObservationFold],
        halves: Sequence[ObservationFold],
        seeds: Sequence[int],
    ) -> None:
        self._names, self._folds, self.visited = names, folds, dict[Sizes, Measures]()
        parts = [fold.training for fold in (*folds, *halves)]
        self._paths = [Path(estimator, part, seeds[0]) for part in parts]
        self._paths += [Path(estimator, data, seed) for seed in seeds]
        self._table: CSR = folds[0].dyads.to_csr()

    def visit(self, sizes: Sizes, run: Run) -> None:
        """Fit all parts, score the folds, and compare halves and starts."""
        began = perf_counter()
        named = dict(zip(self._names, sizes, strict=True))
        fits: list[Fitted] = run(lambda path: path.fit(named), [(path,) for path in self._paths])
        fitted = perf_counter()
        n = len(self._folds)
        found = run(self._scores, [*zip(self._folds, fits[:n], strict=True)])
        of_folds = zip(Scores._fields, np.array(found).T, strict=True)
        measures = describe_fits(self._table, fits[n : n + 2], fits[n + 2 :])
        work = float(np.mean([fit.work for fit in fits]))
        times = {"fit_time": fitted - began, "score_time": perf_counter() - fitted, "work": work}
        self.visited[sizes] = {**dict(of_folds), **measures, **times}

    def _scores(self, fold: ObservationFold, fitted: Fitted) -> Scores:
        known = as_counts(fold.dyads[fold.train].to_csr())
        return scores(fitted, known, as_counts(fold.scored.to_csr()))

    def tables(self) -> tuple[list[dict[str, int]], dict[str, Array]]:
        """Parameters of each candidate, and arrays of what was measured, candidates first."""
        params = [dict(zip(self._names, sizes, strict=True)) for sizes in self.visited]
        rows = list(self.visited.values())
        return params, {name: np.array([row[name] for row in rows]) for name in rows[0]}
