"""The search for the temperature where all other parameters are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from time import perf_counter
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone

from skcooc.em import TemperatureRange
from skcooc.fitting.journal import Journal
from skcooc.fitting.short_fits import ShortFits
from skcooc.heldout import Validation
from skcooc.model_selection.folds import Fold
from skcooc.model_selection.racing import Race, around, zoom
from skcooc.model_selection.target import Target
from skcooc.protocol import Array, T

CLEARLY = 0.01  # of log perplexity: by less, it may be for want of the data that a probe holds out
RESOLUTION = 0.03  # of inverse temperatures; of their logarithms where these are searched

Run = Callable[[Callable, Iterable[tuple]], list]  # function(*these) for these, side by side
Fit = AbstractContextManager[BaseEstimator]  # in which an estimator is fitted
Observed = Callable[[str, BaseEstimator], Fit]  # of a name and an estimator


class Trial(NamedTuple):
    """An estimator fitted in one fold, and scored there."""

    score: float  # nats
    smoothing: float  # NaN where the estimator has its own
    fit_time: float
    score_time: float


NOTHING = Trial(*4 * [np.nan])


class Place(NamedTuple):
    """Where the journal of a search has what is found with one choice of other parameters."""

    journal: Journal
    number: int

    def once(self, what: str, candidate: int, fold: int, find: Callable[[], T]) -> T:
        """What is known of a temperature in a fold; it is found first if it is not known."""
        return self.journal.once((self.number, what, candidate, fold), find, tells=True)


class GridPoint:
    """What is found at the temperatures visited, fold by fold, with all other parameters set.

    ``betas`` rise; None takes the range of the estimator, finely divided.
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        target: Target,
        folds: Sequence[Fold],
        betas: Array | None,
        run: Run,
        observed: Observed,
        at: Place,
    ) -> None:
        self._estimator, self._target, self._folds = estimator, target, folds
        self._run, self._observed, self._at = run, observed, at
        prepared = run(self._prepared, [(fold,) for fold in folds])
        self._probes: list[ShortFits] = [probes for probes, _ in prepared]
        self.betas = resolved(prepared[0][1]) if betas is None else betas
        self.probes: dict[tuple[int, int], Validation] = {}
        self.trials: dict[tuple[int, int], Trial] = {}

    def search(self) -> None:
        """Probe temperatures far apart and then close to the best; fit around the best probe."""
        size = len(self.betas), len(self._folds)
        probed = Race(self._probe, *size)
        zoom(probed)
        # Short fits have little time to overfit: they prefer, if any, too large a beta. So larger
        # ones that lose clearly among them have lost, and smaller ones have not.
        too_large = [c for c in probed.lost_by(CLEARLY) if c > probed.best]
        around(Race(self._fit, *size, ruled_out=too_large), probed.best)

    def measured(self, candidate: int, fold: int) -> list[float]:
        """A Trial and the score of a probe, in nats; NaN for what was not measured."""
        trial = self.trials.get((candidate, fold), NOTHING)
        probe = self.probes.get((candidate, fold))
        return [*trial, np.nan if probe is None else -np.log(probe.perplexity)]

    def _prepared(self, fold: Fold) -> tuple[ShortFits, TemperatureRange]:
        X, y, params = fold.training
        last, steps = self._target.parts(clone(self._estimator))
        if steps is not None:
            X = steps.fit_transform(X, y)
        return last.short_fits(X, self._target.weights(params))

    def _probe(self, pairs: Sequence[tuple[int, int]]) -> list[float]:
        """log perplexity of probes of (temperature, fold) on what the fold has held out."""
        found = self._run(self._validation, pairs)
        self.probes.update(zip(pairs, found, strict=True))
        return [float(np.log(validation.perplexity)) for validation in found]

    def _validation(self, candidate: int, fold: int) -> Validation:
        def probe() -> Validation:
            return self._probes[fold]({"beta": self.betas[candidate]}).validation

        return self._at.once("probe", candidate, fold, probe)

    def _fit(self, pairs: Sequence[tuple[int, int]]) -> list[float]:
        """log perplexity of fits of (temperature, fold) on the part of the fold that is scored."""
        names = [f"beta = {self.betas[c]:.3g}, fold {fold}" for c, fold in pairs]
        fits = [self._observed(name, clone(self._estimator)) for name in names]
        found = self._run(self._known, [(*p, fit) for p, fit in zip(pairs, fits, strict=True)])
        self.trials.update(zip(pairs, found, strict=True))
        return [-trial.score for trial in found]

    def _known(self, candidate: int, fold: int, fit: Fit) -> Trial:
        return self._at.once("trial", candidate, fold, partial(self._trial, candidate, fold, fit))

    def _trial(self, candidate: int, fold: int, fit: Fit) -> Trial:
        """A fit as ``estimator.fit`` makes it, but for the smoothing."""
        began = perf_counter()
        smoothing = self._smoothing(candidate, fold)
        X, y, params = self._folds[fold].training
        with fit as estimator:
            set_temperature(estimator, self._target, self.betas[candidate], smoothing)
            estimator.fit(X, y, **params)
        fitted = perf_counter()
        score = self._folds[fold].score(estimator)
        return Trial(score, smoothing, fitted - began, perf_counter() - fitted)

    def _smoothing(self, candidate: int, fold: int) -> float:
        """What the probe has asked for; NaN where the estimator has its own."""
        last, _ = self._target.parts(self._estimator)
        if last.smoothing != "auto" or last.early_stopping:
            return np.nan
        return self._validation(candidate, fold).smoothing


def set_temperature(
    estimator: BaseEstimator, target: Target, beta: float, smoothing: float
) -> None:
    """Set the inverse temperature, and the smoothing unless it is NaN."""
    found = {"beta": beta} if np.isnan(smoothing) else {"beta": beta, "smoothing": smoothing}
    estimator.set_params(**{target.name(name): value for name, value in found.items()})


def resolved(within: TemperatureRange) -> Array:
    """A range of inverse temperatures in steps of at most .03, relative where it is logarithmic.

    >>> resolved(TemperatureRange(0.5, 0.6)).round(3).tolist()
    [0.5, 0.525, 0.55, 0.575, 0.6]
    >>> betas = resolved(TemperatureRange(0.02, 0.2, "log"))
    >>> len(betas), round(float(betas[1] / betas[0]), 2)
    (78, 1.03)
    """
    if within.scale == "log":
        low, high = np.log(within.low), np.log(within.high)
        return np.exp(_steps(low, high)).clip(max=within.high)
    return _steps(within.low, within.high)


def _steps(low: float, high: float) -> Array:
    return np.linspace(low, high, 1 + int(np.ceil((high - low) / RESOLUTION)))
