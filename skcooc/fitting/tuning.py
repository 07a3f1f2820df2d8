"""Hyper-parameters that ``fit`` chooses on held-out observations, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from skcooc.heldout import Validation

MIN_GAIN = 1e-2  # smaller differences of short fits are chance: on texts they lead astray

Values = Mapping[str, Any]  # of hyper-parameters, by their names as parameters of the estimator
Proposals = Generator[Values, float, None]  # yields values, and is sent their held-out perplexity


class Trial(NamedTuple):
    """Values of hyper-parameters that were tried, and what came of it."""

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
        """Pseudo-count of every column in every component that was tried; else 0."""
        return self.values.get("component_prior", 0.0)

    @property
    def row_prior(self) -> float | None:
        """Pseudo-observations of a row; None where observations do not leave themselves out."""
        return self.values.get("row_prior")

    @property
    def exponents(self) -> tuple[float, float] | None:
        """Of the two indices given, relative to beta; None where all are equal."""
        return self.values.get("exponents")

    @property
    def n_components(self) -> int | None:
        """Number of components of a pilot; None where it is that of the fit."""
        return self.values.get("n_components")

    @property
    def loss(self) -> tuple[float, float]:
        """By which trials are ordered: of equal perplexities, the larger beta wins."""
        return self.validation.perplexity, -self.beta

    def __hash__(self) -> int:
        return hash((self.stage, tuple(sorted(self.values.items())), self.validation))

    def __str__(self) -> str:
        return ", ".join(f"{name} = {_shown(value)}" for name, value in self.values.items())


class Tunable(Protocol):
    """One hyper-parameter, or several that are chosen together."""

    @property
    def name(self) -> str:
        """Of its stage."""

    @property
    def n_trials(self) -> int:
        """At most."""

    @property
    def min_gain(self) -> float | None:
        """Relative fall in perplexity that is worth a change; None: it is never chosen."""

    def propose(self, so_far: Sequence[Trial], best: Trial | None) -> Proposals:
        """Values to try, given the trials before and the best of them."""


class Validated(Protocol):
    """What came of values: a fit, of which only the best one is kept."""

    @property
    def validation(self) -> Validation:
        """Of the values."""


F = TypeVar("F", bound=Validated)


class Record(Generic[F]):
    """The trials of a search in order, and the fit of the best: what it needs to go on later."""

    def __init__(self) -> None:
        self.trials: list[Trial] = []
        self._fits: list[F | None] = []

    def trial(self, number: int, stage: str, values: Values, fit: Callable[[Values], F]) -> Trial:
        """The trial of this number; it is made if it is not there yet."""
        if number == len(self.trials):
            fitted = fit(values)
            self.trials.append(Trial(stage, values, fitted.validation))
            self._fits.append(fitted)
        return self.trials[number]

    def keep(self, number: int, *trials: Trial | None) -> None:
        """Of the first trials, so many, forget the fits of all others."""
        for at, trial in enumerate(self.trials[:number]):
            if not any(trial is kept for kept in trials):
                self._fits[at] = None

    def chosen(self, best: Trial) -> Trial:
        """The trial that is chosen in the end, marked as such."""
        at = next(at for at, trial in enumerate(self.trials) if trial is best)
        self.trials[at] = best._replace(chosen=True)
        return self.trials[at]

    @property
    def best(self) -> F:
        """The fit that is left."""
        return next(fitted for fitted in self._fits if fitted is not None)


def tune(
    tunables: Sequence[Tunable],
    fit: Callable[[Values], F],
    record: Record[F],
    observe: Callable[[Trial], bool] = lambda trial: False,
) -> Trial:
    """Choose hyper-parameters in turn, each at the best values of those before it.

    ``observe`` is called with every trial and returns True to end the search of one of them. What
    a record has of a search that was cut short is not fitted again.
    """
    number, best = 0, None
    for tunable in tunables:
        proposals, found = tunable.propose(record.trials[:number], best), list[Trial]()
        with suppress(StopIteration):
            while not (found and observe(found[-1])):
                values = (
                    proposals.send(found[-1].validation.perplexity) if found else next(proposals)
                )
                found.append(record.trial(number, tunable.name, values, fit))
                number += 1
                record.keep(number, best, min(found, key=lambda trial: trial.loss))
        best = better(best, found, tunable.min_gain)
        record.keep(number, best)
    if best is None:
        raise ValueError("No hyper-parameters were tried that may be chosen.")
    return record.chosen(best)


def better(best: Trial | None, found: Sequence[Trial], min_gain: float | None) -> Trial | None:
    """The best of the trials found where it is better by enough than what was best before."""
    if min_gain is None or not found:
        return best
    least = min(found, key=lambda trial: trial.loss)
    if best is None:
        return least
    enough = (1 - min_gain) * best.validation.perplexity
    return least if least.validation.perplexity < enough else best


def _shown(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
