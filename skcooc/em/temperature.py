"""The search for the inverse temperature: a problem in one dimension."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Literal, NamedTuple

import numpy as np

from skcooc.em.minimum import Points, around, golden_section, vertex
from skcooc.heldout import Validation
from skcooc.protocol import Block, Model

SAME = 1e-9  # length of a range in which there is but one temperature
N_PROBES = 7  # at most; by golden section they leave .06 of the interval
STEP = 0.035  # between probes around a guess
WORTH_A_PRIOR = 1e-2  # relative gain
PRIOR_STEP = 0.8  # between them: a factor of 2.2
PROBE_ITERATIONS = 60  # of plain EM; with less, too large a beta wins where components are many


class TemperatureRange(NamedTuple):
    """Where the best inverse temperature (or prior) is looked for, and on which scale."""

    low: float
    high: float
    scale: Literal["linear", "log"] = "linear"
    guess: float | None = None  # of where it is; None where nobody knows
    step: float = STEP  # on the scale, between points that are tried around the guess

    @property
    def points(self) -> Points:
        """What is to be tried, on the scale."""
        low, high = self.scaled(self.low), self.scaled(self.high)
        if self.guess is None:
            return golden_section(low, high)
        return around(self.scaled(self.guess), self.step, low, high)

    def scaled(self, value: float) -> float:
        """On the scale."""
        return float(np.log(value)) if self.scale == "log" else value

    def unscaled(self, point: float) -> float:
        """The value of a point on the scale."""
        return float(np.exp(point)) if self.scale == "log" else point


def pseudo_counts(X: Block, n_components: int) -> TemperatureRange:
    """Where a prior is looked for: around the mean expected count of a column in a component."""
    expected = float(X.column_sums.sum()) / (n_components * X.shape[1])
    low, guess, high = (share * expected for share in (1e-3, 0.03, 0.5))
    return TemperatureRange(low, high, "log", guess, PRIOR_STEP)


class Coarse(NamedTuple):
    """Where the temperature of many components is looked for with few of them, which cost less."""

    n_components: int
    within: TemperatureRange
    finer: Callable[[float], float]  # the best temperature of all components, by that of these
    model: Model  # that with so few


Sought = Literal["coarse", "beta", "exponents", "prior", "left out", "smaller"]
Exponents = tuple[float, float]  # of the two indices given, relative to beta


class Probe(NamedTuple):
    """A temperature tried, and what came of it."""

    beta: float
    validation: Validation
    prior: float = 0.0  # pseudo-count of every column in every component
    exponents: Exponents | None = None  # None where all are equal
    n_components: int | None = None  # of a search with few; None where it is that of the fit
    row_prior: float | None = None  # None where observations do not leave themselves out
    smaller: bool = False  # whether it has less than the usual pseudo-counts of those that do

    def __str__(self) -> str:
        exponents = ", exponents = {:.3f}, {:.3f}".format(*self.exponents) if self.exponents else ""
        prior = f", prior = {self.prior:.2g}" if self.prior else ""
        few = f", {self.n_components} components" if self.n_components else ""
        alone = self.row_prior is None
        left_out = "" if alone else f", {self.row_prior:.2g} in a row, each left out"
        return f"beta = {self.beta:.3f}{exponents}{prior}{few}{left_out}"

    @property
    def sought(self) -> Sought:
        """What was sought when it was tried."""
        if self.n_components is not None:
            return "coarse"
        if self.row_prior is not None:
            return "smaller" if self.smaller else "left out"
        return "prior" if self.prior else "beta" if self.exponents is None else "exponents"

    @property
    def absolute(self) -> tuple[float, float, float]:
        """The exponents of three indices, of which the last is beta."""
        first, second = self.exponents or (1.0, 1.0)
        return first * self.beta, second * self.beta, self.beta


def search(
    evaluate: Callable[[float], Validation],
    within: TemperatureRange,
    n_probes: int = N_PROBES,
    observe: Callable[[Probe], bool] = lambda probe: False,
) -> list[Probe]:
    """Probe temperatures for the least held-out perplexity, at most so many.

    Where the range has no length, one probe is all that it needs. Probes are in the order in which
    they were tried; ``observe`` is called with each, and returns True to end the search.
    """
    probes: list[Probe] = []

    def ends_with(beta: float) -> bool:
        probes.append(Probe(beta, evaluate(beta)))
        return observe(probes[-1]) or len(probes) == n_probes

    if within.high - within.low < SAME:
        ends_with(within.low)
        return probes
    points = within.points
    point = next(points)
    with suppress(StopIteration):
        while not ends_with(within.unscaled(point)):
            point = points.send(probes[-1].validation.perplexity)
    return probes


def search_coarsely(
    evaluate: Callable[[float], Validation],
    coarse: Coarse,
    evaluate_all: Callable[[float], Validation],
    observe: Callable[[Probe], bool] = lambda probe: False,
) -> list[Probe]:
    """Search with few components, then one probe with all of them where they are best."""
    probes: list[Probe] = []

    def ends_with(tried: Probe) -> bool:
        probes.append(tried._replace(n_components=coarse.n_components))
        return observe(probes[-1])

    search(evaluate, coarse.within, observe=ends_with)
    beta = coarse.finer(best_beta(probes))
    probes.append(Probe(beta, evaluate_all(beta)))
    observe(probes[-1])
    return probes


def best_beta(probes: list[Probe]) -> float:
    """That of the parabola through the best of probes, all of one kind, and its neighbours."""
    return vertex({probe.beta: np.log(probe.validation.perplexity) for probe in probes})


def best(probes: list[Probe], worth: float = WORTH_A_PRIOR) -> Probe:
    """The probe with the least perplexity; of equals, the one with the largest beta.

    One with exponents must be better than all without by more than ``worth``, relative, one with a
    prior than what is best then, one that leaves observations out than that, and one with smaller
    pseudo-counts than the usual ones then. Smaller differences of short fits are chance: on texts,
    where data are not thin, they lead astray.
    """

    def least(probes: list[Probe]) -> Probe:
        return min(probes, key=lambda probe: (probe.validation.perplexity, -probe.beta))

    kinds: dict[Sought, list[Probe]] = {
        sought: [probe for probe in probes if probe.sought == sought]
        for sought in ("beta", "exponents", "prior", "left out", "smaller")
    }
    found = least(kinds.pop("beta"))
    for more in kinds.values():
        enough = (1 - worth) * found.validation.perplexity
        better = [probe for probe in more if probe.validation.perplexity < enough]
        found = least(better or [found])
    return found
