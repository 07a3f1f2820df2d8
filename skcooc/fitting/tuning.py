"""Hyper-parameters that ``fit`` tunes on held-out tokens, one after the other.

A `Tunable` is a coroutine: it yields values by the names of estimator parameters and is sent their
held-out perplexity. `tune` walks through several of them, and knows neither models nor tables.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from skcooc.heldout import Validation
from skcooc.line_search import TemperatureRange, vertex
from skcooc.protocol import Block

MIN_GAIN = 1e-2  # relative; smaller differences between short fits are noise
N_TEMPERATURES = 7  # at most; golden-section search then leaves 6 % of the range
PRIOR_STEP = 0.8  # between priors, on a logarithmic scale: a factor of 2.2
N_PRIORS = 5  # at most, and one at another temperature
LARGER_BETA = 0.015  # added to beta where there is a prior
THIN = 1e-2  # smoothing, up to which data are dense enough to need no prior
N_EXPONENTS = 4  # of each index: they leave 24 % of the range

Values = Mapping[str, Any]  # of hyper-parameters, by the names of estimator parameters
Proposals = Generator[Values, float, None]  # yields values, is sent their held-out perplexity


class Trial(NamedTuple):
    """Values of hyper-parameters that were tried, and how well they predicted.

    ``str`` of a trial lists its values.
    """

    stage: str  # name of the Tunable that proposed them
    values: Values
    validation: Validation
    chosen: bool = False  # whether the final fit has them

    @property
    def beta(self) -> float:
        """Inverse temperature."""
        return self.values["beta"]

    @property
    def prior(self) -> float:
        """Pseudo-count of every column in every component; 0 where none was tried."""
        return self.values.get("component_prior", 0.0)

    @property
    def row_prior(self) -> float | None:
        """Pseudo-count of a row; None without leave-one-out."""
        return self.values.get("row_prior")

    @property
    def exponents(self) -> tuple[float, float] | None:
        """Exponents of the two given indices, relative to beta; None where all are equal."""
        return self.values.get("exponents")

    @property
    def n_components(self) -> int | None:
        """Number of components of a pilot; None where it is that of the fit."""
        return self.values.get("n_components")

    @property
    def loss(self) -> tuple[float, float]:
        """Sort key: perplexity, and of equal ones the larger beta first."""
        return self.validation.perplexity, -self.beta

    def __hash__(self) -> int:
        return hash((self.stage, tuple(sorted(self.values.items())), self.validation))

    def __str__(self) -> str:
        return describe(self.values)


class Tunable(Protocol):
    """A hyper-parameter, or several that are chosen together."""

    @property
    def name(self) -> str:
        """Name of its stage."""

    @property
    def n_trials(self) -> int:
        """Largest number of trials."""

    @property
    def min_gain(self) -> float | None:
        """Relative fall of perplexity that is worth a change; None: it is never chosen."""

    def propose(self, so_far: Sequence[Trial], best: Trial | None) -> Proposals:
        """Yield values to try, given the trials so far and the best of them."""


class TrialOutcome(Protocol):
    """Any outcome of a trial that tells how well it predicts."""

    @property
    def validation(self) -> Validation:
        """Perplexity of the held-out tokens, and their smoothing."""


F = TypeVar("F", bound=TrialOutcome)


class TrialRecord(Generic[F]):
    """Trials of a search in order, and the fit of the best: all that a resumed search needs."""

    def __init__(self) -> None:
        self.trials: list[Trial] = []
        self._fits: list[F | None] = []

    def add(self, stage: str, values: Values, fit: F) -> None:
        self.trials.append(Trial(stage, values, fit.validation))
        self._fits.append(fit)

    def keep(self, number: int, *trials: Trial | None) -> None:
        """Forget the fits of the first ``number`` trials, except those given."""
        for at, trial in enumerate(self.trials[:number]):
            if not any(trial is other for other in trials):
                self._fits[at] = None

    @property
    def best(self) -> F:
        """The fit that is left."""
        return next(fitted for fitted in self._fits if fitted is not None)


class TrialContext(Protocol):
    """What a search tells and asks while it runs."""

    @property
    def stopped(self) -> bool:
        """True if the search should end with the best values so far."""

    def part(self, name: str | int, task: str) -> AbstractContextManager[Any]:
        """Begin a trial."""


def tune(
    tunables: Sequence[Tunable],
    names: Collection[str],
    fit: Callable[[Values, Any], F],
    record: TrialRecord[F],
    context: TrialContext,
) -> Trial:
    """Choose hyper-parameters in turn, each at the best values of those before it.

    Parameters
    ----------
    tunables : sequence of Tunable
    names : names of the parameters of the estimator
        Tunables may propose values of these alone.
    fit : callable
        Fits with some values, in the context of the trial.
    record : TrialRecord
        Its trials, of a search that was interrupted, are not fitted again. New ones are appended.
    context : TrialContext
        A trial is a part of it. A stop ends the search.

    Returns
    -------
    chosen : Trial

    Raises
    ------
    ValueError
        Where a proposed name is no parameter, or no trial may be chosen.
    """
    number = 0
    best = None
    for tunable in tunables:
        if context.stopped and best is not None:
            break
        proposals = tunable.propose(record.trials[:number], best)
        trials: list[Trial] = []
        with suppress(StopIteration):
            while not (trials and context.stopped):
                perplexity = trials[-1].validation.perplexity if trials else None
                values = proposals.send(perplexity)  # type: ignore[arg-type]  # None begins it
                if number == len(record.trials):
                    if unknown := values.keys() - names:
                        raise ValueError(
                            f"{tunable.name!r} proposes values of {', '.join(sorted(unknown))}, "
                            "but the estimator has no such parameter."
                        )
                    with context.part(number, describe(values)) as part:
                        record.add(tunable.name, values, fit(values, part))
                        part.end_trial()
                trials.append(record.trials[number])
                number += 1
                record.keep(number, best, min(trials, key=attrgetter("loss")))
        best = better(best, trials, tunable.min_gain)
        record.keep(number, best)
    if best is None:
        raise ValueError("No hyper-parameters were tried that may be chosen.")
    at = next(at for at, trial in enumerate(record.trials) if trial is best)
    record.trials[at] = chosen = best._replace(chosen=True)
    return chosen


def describe(values: Values) -> str:
    """Return values of hyper-parameters as text."""
    texts = {n: f"{v:.3g}" if isinstance(v, float) else v for n, v in values.items()}
    return ", ".join(f"{name} = {text}" for name, text in texts.items())


def better(best: Trial | None, trials: Sequence[Trial], min_gain: float | None) -> Trial | None:
    """Return the best of the new trials if it gains enough, else the best of those before."""
    if min_gain is None or not trials:
        return best
    rival = min(trials, key=attrgetter("loss"))
    if best is None:
        return rival
    enough = (1 - min_gain) * best.validation.perplexity
    return rival if rival.validation.perplexity < enough else best


def line_search(
    within: TemperatureRange,
    n_trials: int,
    values: Callable[[float], Values],
    *,
    enough: float = np.inf,
    patience: int = 0,
) -> Generator[Values, float, dict[float, float]]:
    """Propose values along a range; return the perplexity of each point.

    It ends after ``patience`` trials without a perplexity below ``enough``.
    """
    losses: dict[float, float] = {}
    if within.is_point:
        losses[within.low] = yield values(within.low)
        return losses
    points = within.points
    point = next(points)
    with suppress(StopIteration):
        while len(losses) < n_trials:
            value = within.unscaled(point)
            losses[value] = yield values(value)
            if patience and len(losses) >= patience and min(losses.values()) >= enough:
                break
            point = points.send(losses[value])
    return losses


@dataclass(frozen=True)
class Pilot:
    """Temperatures of a model with fewer components, which costs less and is never chosen."""

    within: TemperatureRange
    n_components: int
    name: str = "coarse"
    n_trials: int = N_TEMPERATURES
    min_gain: None = None

    def propose(self, so_far: Sequence[Trial], best: Trial | None) -> Proposals:
        fewer = {"n_components": self.n_components}
        yield from line_search(self.within, self.n_trials, lambda beta: {"beta": beta} | fewer)


@dataclass(frozen=True)
class Temperature:
    """Inverse temperature; after a pilot only the one that follows from the pilot's best.

    After a trial that may be chosen, the search ends if neither of two predicts clearly better.
    """

    within: TemperatureRange
    from_pilot: Callable[[float], float] | None = None
    name: str = "beta"
    n_trials: int = N_TEMPERATURES
    min_gain: float = MIN_GAIN

    def propose(self, so_far: Sequence[Trial], best: Trial | None) -> Proposals:
        if self.from_pilot is None:
            enough = np.inf
            if best is not None:
                enough = (1 - self.min_gain) * best.validation.perplexity
            yield from line_search(
                self.within, self.n_trials, lambda beta: {"beta": beta}, enough=enough, patience=2
            )
        else:
            losses = {trial.beta: np.log(trial.validation.perplexity) for trial in so_far}
            yield {"beta": self.from_pilot(vertex(losses))}


@dataclass(frozen=True)
class Exponents:
    """Exponents of three indices; the last is beta.

    From one exponent for all, the first and the second are lowered, then the third is raised.
    """

    name: str = "exponents"
    n_trials: int = 3 * N_EXPONENTS
    min_gain: float = MIN_GAIN

    def propose(self, so_far: Sequence[Trial], best: Trial | None) -> Proposals:
        best = _required(best)
        lowest = best.validation.perplexity
        at: Values = {"beta": best.beta, "exponents": (1.0, 1.0)}
        for index in range(3):
            absolute = [*(exponent * at["beta"] for exponent in at["exponents"]), at["beta"]]
            low, high = (0.0, best.beta) if index < 2 else (max(absolute[:2]), 1.0)

            def moved(value: float, absolute: list[float] = absolute, index: int = index) -> Values:
                three = [*absolute[:index], value, *absolute[index + 1 :]]
                exponents = three[0] / three[2], three[1] / three[2]
                return {"beta": three[2], "exponents": exponents}

            losses = yield from line_search(TemperatureRange(low, high), N_EXPONENTS, moved)
            value = min(losses, key=losses.__getitem__)
            if losses[value] < lowest:
                at = moved(value)
                lowest = losses[value]


@dataclass(frozen=True)
class ComponentPrior:
    """Pseudo-count of columns at the best temperature without one; then a larger beta with it.

    No search for the temperature follows: short fits do not show that a larger beta overfits.
    Leave-one-out models have a prior already.
    """

    within: TemperatureRange
    only_thin: bool = True  # whether it is tried only where components have few data
    name: str = "prior"
    n_trials: int = N_PRIORS + 1
    min_gain: float = MIN_GAIN

    def propose(self, so_far: Sequence[Trial], best: Trial | None) -> Proposals:
        best = _required(best)
        if "component_prior" in best.values:
            return
        if self.only_thin and best.validation.smoothing <= THIN:
            return
        losses = yield from line_search(
            self.within,
            N_PRIORS,
            lambda prior: {**best.values, "component_prior": prior},
            enough=(1 - self.min_gain) * best.validation.perplexity,
            patience=2,
        )
        prior = min(losses, key=losses.__getitem__)
        beta = min(best.beta + LARGER_BETA, 1.0)
        if len(losses) > 2 and beta > best.beta:
            yield {**best.values, "component_prior": prior, "beta": beta}


@dataclass(frozen=True)
class Candidates:
    """A few values of all hyper-parameters."""

    candidates: Sequence[Values]
    name: str = "mean"
    min_gain: float = 0.0

    @property
    def n_trials(self) -> int:
        return len(self.candidates)

    def propose(self, so_far: Sequence[Trial], best: Trial | None) -> Proposals:
        for values in self.candidates:
            yield {**values}


@dataclass(frozen=True)
class Raised:
    """One parameter, raised step by step from the best values so far, as long as that gains.

    It is not raised where its value gains less than ``enough``, relative to trials without it.
    """

    parameter: str
    next: Callable[[float], float]
    n_trials: int
    enough: float = 0.0
    name: str = "mean"
    min_gain: float = 0.0

    def propose(self, so_far: Sequence[Trial], best: Trial | None) -> Proposals:
        best = _required(best)
        lowest = best.validation.perplexity
        without = [t.validation.perplexity for t in so_far if self.parameter not in t.values]
        if without and lowest > (1 - self.enough) * min(without):
            return
        value = best.values.get(self.parameter, 0.0)
        for _ in range(self.n_trials):
            raised = self.next(value)
            if raised == value:
                return
            perplexity = yield {**best.values, self.parameter: raised}
            if perplexity >= lowest:
                return
            lowest = perplexity
            value = raised


@dataclass(frozen=True)
class LeaveOneOut:
    """Leave-one-out responsibilities with usual values, then with smaller ones."""

    beta: float  # usual inverse temperature
    usual: Values  # pseudo-counts
    shares: Sequence[Values]  # of these values that are tried in turn, where that may be worth it
    name: str = "left out"
    min_gain: float = -3e-3  # it gains more in a whole fit than in a short one

    @property
    def n_trials(self) -> int:
        return 1 + len(self.shares)

    def usual_values(self, factor: float) -> Values:
        """Return the usual values, with this times the usual inverse temperature."""
        return {**self.usual, "leave_one_out": True, "beta": min(factor * self.beta, 1.0)}

    def propose(self, so_far: Sequence[Trial], best: Trial | None) -> Proposals:
        best = _required(best)
        values = {**best.values, **self.usual_values(1.0)}
        perplexity = yield values
        if perplexity < (1 + MIN_GAIN) * best.validation.perplexity:
            yield from smaller(values, perplexity, self.shares)


@dataclass(frozen=True)
class SmallerPseudoCounts:
    """Pseudo-counts of leave-one-out fits times some shares, tried in turn."""

    shares: Sequence[Values]
    usual: Values
    name: str = "smaller"
    min_gain: float = MIN_GAIN

    @property
    def n_trials(self) -> int:
        return len(self.shares)

    def propose(self, so_far: Sequence[Trial], best: Trial | None) -> Proposals:
        best = _required(best)
        at = {**best.values, **self.usual, "leave_one_out": True}
        yield from smaller(at, best.validation.perplexity, self.shares)


def smaller(at: Values, lowest: float, shares: Sequence[Values]) -> Proposals:
    """Propose values times each of the shares, from the best so far and its perplexity."""
    for share in shares:
        values = {**at, **{name: at[name] * factor for name, factor in share.items()}}
        perplexity = yield values
        if perplexity < lowest:
            at = values
            lowest = perplexity


@dataclass(frozen=True)
class OneOf:
    """One of a few values of a parameter, each tried with the best values so far."""

    name: str
    values: Sequence[Any]
    min_gain: float = MIN_GAIN

    @property
    def n_trials(self) -> int:
        return len(self.values)

    def propose(self, so_far: Sequence[Trial], best: Trial | None) -> Proposals:
        for value in self.values:
            yield {**(best.values if best else {}), self.name: value}


def prior_range(X: Block, n_components: int) -> TemperatureRange:
    """Range of priors around the mean expected count of a column in a component."""
    expected = float(X.column_sums.sum()) / (n_components * X.shape[1])
    low, guess, high = (share * expected for share in (1e-3, 0.03, 0.5))
    return TemperatureRange(low, high, "log", guess, PRIOR_STEP)


def _required(best: Trial | None) -> Trial:
    if best is None:
        raise ValueError("A temperature must be tuned before other hyper-parameters.")
    return best
