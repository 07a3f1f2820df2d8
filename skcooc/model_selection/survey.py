"""Fits of all parts of the data, with one number of components after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from time import perf_counter
from typing import TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from skcooc.model_selection.candidates import Sizes
from skcooc.model_selection.folds import Data, Folding, ObservationFold, observation_folds
from skcooc.model_selection.grid_point import Run
from skcooc.model_selection.measures import Scores, describe_fits, scores
from skcooc.model_selection.path import Fitted, Path
from skcooc.model_selection.splits import ObservationSplit
from skcooc.model_selection.target import Params, Target
from skcooc.protocol import CSR, Array, RandomState
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
        self.times = Counter[Sizes]()  # how often each was visited
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
        self.times[sizes] += 1

    def lacks(self, sizes: Sizes, again: bool) -> bool:
        """Whether a candidate is to be visited, or once more, where that can be better."""
        gains = any(path.goes_on for path in self._paths)
        return self.times[sizes] < (2 if again and gains else 1)

    def judged(self, sizes: Sizes, criterion: str) -> Array:
        """How good a candidate is, for each fold or for all: larger is better."""
        found = self.visited[sizes]
        return np.atleast_1d(found["icl" if criterion == "icl" else "test_score"])

    def _scores(self, fold: ObservationFold, fitted: Fitted) -> Scores:
        known = as_counts(fold.dyads[fold.train].to_csr())
        return scores(fitted, known, as_counts(fold.scored.to_csr()))

    def tables(self) -> tuple[list[dict[str, int]], dict[str, Array]]:
        """Parameters from few components to many, and what was measured, candidates first."""
        order = sorted(self.visited, key=lambda sizes: (np.prod(sizes), sizes))
        params = [dict(zip(self._names, sizes, strict=True)) for sizes in order]
        rows = [self.visited[sizes] for sizes in order]
        return params, {name: np.array([row[name] for row in rows]) for name in rows[0]}


def surveyed(
    estimator: BaseEstimator,
    names: Sequence[str],
    data: Data,
    cv: Folding,
    split_params: Params,
    n_runs: int,
    random_state: RandomState,
) -> Survey:
    """A survey of these data, before anything is visited; ValueError where cv has one fold."""
    seeds = check_random_state(random_state).randint(2**31 - 1, size=n_runs)
    target, half = Target("", False), ObservationSplit(2, random_state=int(seeds[0]))
    folds = observation_folds(target, data, cv, split_params)
    if len(folds) < 2:
        raise ValueError("cv has one fold: errors of differences need two or more.")
    halves = observation_folds(target, data, half, {})
    return Survey(estimator, names, data, folds, halves, seeds.tolist())
