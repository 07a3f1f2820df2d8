"""The search for the inverse temperature, and for a prior: problems in one dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from skcooc.em.minimum import Points, around, golden_section, vertex
from skcooc.heldout import Validation
from skcooc.protocol import Model

SAME = 1e-9  # length of a range in which there is but one temperature
N_PROBES = 7  # at most; by golden section they leave .06 of the interval
STEP = 0.035  # between probes around a guess
WORTH_A_PRIOR = 1e-2  # relative gain
N_EXPONENTS = 4  # of each index: leave .24 of the interval
THIN = 1e-2  # smoothing up to which no prior was worth it; see `is_thin`
N_PRIORS = 5  # at most, and one at another temperature
PRIOR_STEP = 0.8  # between them: a factor of 2.2
WITH_PRIOR = 0.015  # how much larger beta may be, where there is a prior
N_LEFT_OUT = 4  # at most
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


def pseudo_counts(expected: float) -> TemperatureRange:
    """Where a prior is looked for, by the mean expected count of a column in a component."""
    low, guess, high = (share * expected for share in (1e-3, 0.03, 0.5))
    return TemperatureRange(low, high, "log", guess, PRIOR_STEP)


class Coarse(NamedTuple):
    """Where the temperature of many components is looked for with few of them, which cost less."""

    n_components: int
    within: TemperatureRange
    finer: Callable[[float], float]  # the best temperature of all components, by that of these
    model: Model  # that with so few


Sought = Literal["coarse", "beta", "exponents", "prior", "left out"]
Exponents = tuple[float, float]  # of the two indices given, relative to beta


class Probe(NamedTuple):
    """A temperature tried, and what came of it."""

    beta: float
    validation: Validation
    prior: float = 0.0  # pseudo-count of every column in every component
    exponents: Exponents | None = None  # None where all are equal
    n_components: int | None = None  # of a search with few; None where it is that of the fit
    row_prior: float | None = None  # None where observations do not leave themselves out

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
            return "left out"
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


def search_exponents(
    evaluate: Callable[[float, Exponents], Validation],
    start: Probe,
    observe: Callable[[Probe], bool] = lambda probe: False,
) -> list[Probe]:
    """From one exponent for three indices, lower the first, then the second, then raise the third.

    The third, that of the index predicted, is beta: ``evaluate`` takes it, and the two others
    relative to it. ``start`` is the best probe where all are equal.
    """
    probes: list[Probe] = [start]
    equal = start.beta
    for way in range(3):
        at = min(probes, key=lambda probe: probe.validation.perplexity)
        line = partial(_moved, at, way)
        low, high = (0.0, equal) if way < 2 else (max(at.absolute[:2]), 1.0)
        probes += _along(line, evaluate, TemperatureRange(low, high), observe)
    return probes[1:]


def search_prior(
    evaluate: Callable[[float, float], Validation],
    start: Probe,
    within: TemperatureRange,
    observe: Callable[[Probe], bool] = lambda probe: False,
    worth: float = WORTH_A_PRIOR,
) -> list[Probe]:
    """Search for the prior at the best temperature without one, if the first two are worth it.

    ``evaluate`` takes a temperature and a prior. A prior lets beta be a little larger, which one
    probe more tries with the best; on tables of word pairs and thin planted ones perplexities fell
    by .2 per cent in the mean, and by 1.2 at most. No search for the temperature follows: with many
    components the probes are too short to see that a larger beta, which they favour where there is
    a prior, overfits in the end.
    """
    probes = _if_worth(
        lambda tried: start._replace(validation=tried.validation, prior=tried.beta),
        lambda prior: evaluate(start.beta, prior),
        *(start, within, N_PRIORS, observe, worth, 2),
    )
    won = min(probes, key=lambda probe: probe.validation.perplexity)
    beta = min(start.beta + WITH_PRIOR, 1.0)
    if len(probes) > 2 and beta > start.beta:
        probes.append(won._replace(beta=beta, validation=evaluate(beta, won.prior)))
        observe(probes[-1])
    return probes


def search_left_out(
    evaluate: Callable[[float], Validation],
    start: Probe,
    pseudo_counts: tuple[float, float],
    within: TemperatureRange,
    observe: Callable[[Probe], bool] = lambda probe: False,
    worth: float = WORTH_A_PRIOR,
) -> list[Probe]:
    """Search for the temperature where observations leave themselves out, if the first is worth it.

    ``start`` is the best probe where they do not; the pseudo-counts are those of a column in every
    component, and of a row.
    """
    prior, row_prior = pseudo_counts
    return _if_worth(
        lambda tried: tried._replace(prior=prior, row_prior=row_prior),
        *(evaluate, start, within, N_LEFT_OUT, observe, worth, 1),
    )


def search_smaller(
    evaluate: Callable[[float, float], Validation],
    start: Probe,
    shares: Sequence[tuple[float, float]],
    observe: Callable[[Probe], bool] = lambda probe: False,
) -> list[Probe]:
    """Smaller pseudo-counts, at one temperature: what predicts best so far times each share.

    ``start`` is the best probe where observations leave themselves out, with its pseudo-counts of a
    column in every component and of a row; of these are the shares.
    """
    probes = [start]
    for of_column, of_row in shares:
        at = min(probes, key=lambda probe: probe.validation.perplexity)
        prior, row_prior = at.prior * of_column, (at.row_prior or 0.0) * of_row
        found = evaluate(prior, row_prior)
        probes.append(at._replace(validation=found, prior=prior, row_prior=row_prior))
        if observe(probes[-1]):
            break
    return probes[1:]


def _if_worth(
    as_probe: Callable[[Probe], Probe],
    evaluate: Callable[[float], Validation],
    start: Probe,
    within: TemperatureRange,
    n_probes: int,
    observe: Callable[[Probe], bool],
    worth: float,
    patience: int,
) -> list[Probe]:
    """A search that ends unless one of the first probes is better than ``start`` by so much."""
    probes: list[Probe] = []
    enough = (1 - worth) * start.validation.perplexity

    def ends(tried: Probe) -> bool:
        probes.append(as_probe(tried))
        least = min(probe.validation.perplexity for probe in probes)
        return observe(probes[-1]) or (len(probes) >= patience and least >= enough)

    search(evaluate, within, n_probes, ends)
    return probes


def is_thin(probe: Probe) -> bool:
    """Whether components have so few data that a prior may help them.

    Such components lack what is held out, which then asks for more than a little of the unigram
    beside them. On five texts and tables of pairs, and two planted ones, priors that were worth it
    came with a smoothing of .02 and more, and most texts have less than .01.
    """
    return probe.validation.smoothing > THIN


def best(probes: list[Probe], worth: float = WORTH_A_PRIOR) -> Probe:
    """The probe with the least perplexity; of equals, the one with the largest beta.

    One with exponents must be better than all without by more than ``worth``, relative, one with a
    prior than what is best then, and one that leaves observations out than that. Smaller
    differences of short fits are chance: on texts, where data are not thin, they lead astray.
    """

    def least(probes: list[Probe]) -> Probe:
        return min(probes, key=lambda probe: (probe.validation.perplexity, -probe.beta))

    kinds: dict[Sought, list[Probe]] = {
        sought: [probe for probe in probes if probe.sought == sought]
        for sought in ("beta", "exponents", "prior", "left out")
    }
    found = least(kinds["beta"])
    for more in (kinds["exponents"], kinds["prior"], kinds["left out"]):
        enough = (1 - worth) * found.validation.perplexity
        better = [probe for probe in more if probe.validation.perplexity < enough]
        found = least(better or [found])
    return found


def _along(
    line: Callable[[float], tuple[float, Exponents]],
    evaluate: Callable[[float, Exponents], Validation],
    within: TemperatureRange,
    observe: Callable[[Probe], bool],
) -> list[Probe]:
    """Probes of exponents, of which one changes."""

    def as_probe(tried: Probe) -> Probe:
        beta, exponents = line(tried.beta)
        return Probe(beta, tried.validation, exponents=exponents)

    tried = search(
        lambda value: evaluate(*line(value)),
        within,
        N_EXPONENTS,
        lambda probe: observe(as_probe(probe)),
    )
    return [as_probe(probe) for probe in tried]


def _moved(at: Probe, way: int, value: float) -> tuple[float, Exponents]:
    """Beta, and the exponents relative to it, where that of one index has another value."""
    absolute = list(at.absolute)
    absolute[way] = value
    first, second, beta = absolute
    return beta, (first / beta, second / beta)
