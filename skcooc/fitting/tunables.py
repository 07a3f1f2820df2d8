"""The hyper-parameters that are tuned: where each is looked for, and when it is worth it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skcooc.em.minimum import vertex
from skcooc.em.temperature import TemperatureRange
from skcooc.fitting.tuning import MIN_GAIN, Proposals, Trial, Values
from skcooc.protocol import Block

N_TEMPERATURES = 7  # at most; by golden section they leave .06 of the interval
PRIOR_STEP = 0.8  # between priors, on a logarithmic scale: a factor of 2.2
N_PRIORS = 5  # at most, and one at another temperature
LARGER_BETA = 0.015  # what is added to beta where there is a prior
THIN = 1e-2  # smoothing up to which no prior was worth it
N_EXPONENTS = 4  # of each index: they leave .24 of the interval
N_LEFT_OUT = 4  # temperatures at which observations leave themselves out, at most


def line(
    within: TemperatureRange,
    n_trials: int,
    values: Callable[[float], Values],
    *,
    enough: float = np.inf,
    patience: int = 0,
) -> Generator[Values, float, dict[float, float]]:
    """Proposals along a range; returns the perplexity of each point.

    They end after ``patience`` trials of which none has a perplexity below ``enough``.
    """
    found: dict[float, float] = {}
    if within.is_point:
        found[within.low] = yield values(within.low)
        return found
    points = within.points
    point = next(points)
    with suppress(StopIteration):
        while len(found) < n_trials:
            value = within.unscaled(point)
            found[value] = yield values(value)
            if patience and len(found) >= patience and min(found.values()) >= enough:
                break
            point = points.send(found[value])
    return found


@dataclass(frozen=True)
class Pilot:
    """Temperatures of a model with few components, which cost less: it is never chosen itself."""

    within: TemperatureRange
    n_components: int
    name: str = "coarse"
    n_trials: int = N_TEMPERATURES
    min_gain: None = None

    def propose(self, so_far: Sequence[Trial], best: Trial | None) -> Proposals:
        """The same number of components throughout."""
        few = self.n_components
        yield from line(
            self.within, self.n_trials, lambda beta: {"beta": beta, "n_components": few}
        )


@dataclass(frozen=True)
class Temperature:
    """The inverse temperature; after a pilot only that which follows from the pilot's best."""

    within: TemperatureRange
    from_pilot: Callable[[float], float] | None = None
    name: str = "beta"
    n_trials: int = N_TEMPERATURES
    min_gain: float = MIN_GAIN

    def propose(self, so_far: Sequence[Trial], best: Trial | None) -> Proposals:
        """Along the range, or the vertex of the parabola through the trials of the pilot."""
        if self.from_pilot is None:
            yield from line(self.within, self.n_trials, lambda beta: {"beta": beta})
            return
        losses = {trial.beta: np.log(trial.validation.perplexity) for trial in so_far}
        yield {"beta": self.from_pilot(vertex(losses))}


@dataclass(frozen=True)
class Exponents:
    """Those of three indices, of which the last is beta: lower the first two, raise the third."""

    name: str = "exponents"
    n_trials: int = 3 * N_EXPONENTS
    min_gain: float = MIN_GAIN

    def propose(self, so_far: Sequence[Trial], best: Trial | None) -> Proposals:
        """One index after the other, from one exponent for all."""
        beta, least = _given(best).beta, _given(best).validation.perplexity
        at: Values = {"beta": beta, "exponents": (1.0, 1.0)}
        for index in range(3):
            low, high = (0.0, beta) if index < 2 else (max(_absolute(at)[:2]), 1.0)
            tried: dict[float, Values] = {}

            def moved(value: float, at: Values = at, index: int = index) -> Values:
                absolute = _absolute(at)
                absolute[index] = value
                first, second, third = absolute
                tried[value] = {"beta": third, "exponents": (first / third, second / third)}  # noqa: B023
                return tried[value]  # noqa: B023

            found = yield from line(TemperatureRange(low, high), N_EXPONENTS, moved)
            value = min(found, key=lambda value: found[value])
            if found[value] < least:
                at, least = tried[value], found[value]


@dataclass(frozen=True)
class ComponentPrior:
    """Pseudo-counts of columns, at the best temperature without any, and one at a larger one.

    On five texts and tables of pairs, and two planted ones, priors that were worth it came with a
    smoothing of .02 and more, and most texts have less than .01. No search for the temperature
    follows: probes are too short to see that a larger beta overfits in the end.
    """

    within: TemperatureRange
    only_thin: bool = True  # whether it is tried only where components have few data
    name: str = "prior"
    n_trials: int = N_PRIORS + 1
    min_gain: float = MIN_GAIN

    def propose(self, so_far: Sequence[Trial], best: Trial | None) -> Proposals:
        """They end after two that are not worth it."""
        best = _given(best)
        if self.only_thin and best.validation.smoothing <= THIN:
            return
        found = yield from line(
            self.within,
            N_PRIORS,
            lambda prior: {**best.values, "component_prior": prior},
            enough=_enough(best, self.min_gain),
            patience=2,
        )
        prior = min(found, key=lambda value: found[value])
        beta = min(best.beta + LARGER_BETA, 1.0)
        if len(found) > 2 and beta > best.beta:
            yield {**best.values, "component_prior": prior, "beta": beta}


@dataclass(frozen=True)
class LeaveOneOut:
    """Whether observations leave themselves out, with the usual pseudo-counts; and beta then."""

    within: TemperatureRange
    usual: Values
    name: str = "left out"
    n_trials: int = N_LEFT_OUT
    min_gain: float = MIN_GAIN

    def propose(self, so_far: Sequence[Trial], best: Trial | None) -> Proposals:
        """They end after one that is not worth it."""
        yield from line(
            self.within,
            self.n_trials,
            lambda beta: {**self.usual, "leave_one_out": True, "beta": beta},
            enough=_enough(_given(best), self.min_gain),
            patience=1,
        )


@dataclass(frozen=True)
class SmallerPseudoCounts:
    """Shares of the pseudo-counts of observations that leave themselves out, tried in turn."""

    shares: Sequence[Values]
    usual: Values
    always: bool  # whether observations leave themselves out anyway
    name: str = "smaller"
    n_trials: int = field(init=False)
    min_gain: float = MIN_GAIN

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_trials", len(self.shares))

    def propose(self, so_far: Sequence[Trial], best: Trial | None) -> Proposals:
        """What predicts best so far, times each share."""
        at, least = dict(_given(best).values), _given(best).validation.perplexity
        if not (self.always or at.get("leave_one_out")):
            return
        at |= {**self.usual, "leave_one_out": True}
        for share in self.shares:
            tried = at | {name: at[name] * factor for name, factor in share.items()}
            perplexity = yield tried
            if perplexity < least:
                at, least = tried, perplexity


def pseudo_counts(X: Block, n_components: int) -> TemperatureRange:
    """Where a prior is looked for: around the mean expected count of a column in a component."""
    expected = float(X.column_sums.sum()) / (n_components * X.shape[1])
    low, guess, high = (share * expected for share in (1e-3, 0.03, 0.5))
    return TemperatureRange(low, high, "log", guess, PRIOR_STEP)


def _enough(best: Trial, min_gain: float) -> float:
    return (1 - min_gain) * best.validation.perplexity


def _absolute(values: Values) -> list[Any]:
    """The exponents of three indices."""
    first, second = values["exponents"]
    return [first * values["beta"], second * values["beta"], values["beta"]]


def _given(best: Trial | None) -> Trial:
    if best is None:
        raise ValueError("A temperature comes before all else.")
    return best
