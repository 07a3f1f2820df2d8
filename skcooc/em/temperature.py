"""The search for the inverse temperature, and for a prior: problems in one dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from skcooc.heldout import Validation

GOLDEN = (np.sqrt(5) - 1) / 2
PLATEAU = 1e-4  # relative difference of perplexities that says nothing
SAME = 1e-9  # difference of points that are equal but for rounding
N_PROBES = 7  # leave .06 of the interval
WORTH_A_PRIOR = 1e-2  # relative gain
N_PRIORS = 5  # leave .15 of the interval
PROBE_ITERATIONS = 60  # of plain EM; with less, too large a beta wins where components are many


class TemperatureRange(NamedTuple):
    """Where the best inverse temperature (or prior) is looked for, and on which scale."""

    low: float
    high: float
    scale: Literal["linear", "log"] = "linear"


class Probe(NamedTuple):
    """A temperature tried, and what came of it."""

    beta: float
    validation: Validation
    prior: float = 0.0  # pseudo-count of every column in every component


def search(
    evaluate: Callable[[float], Validation],
    within: TemperatureRange,
    n_probes: int = N_PROBES,
    observe: Callable[[Probe], bool] = lambda probe: False,
) -> list[Probe]:
    """Golden section search for the temperature with the least held-out perplexity.

    Where the range has no length, one probe is all that it needs. Probes are in the order in which
    they were tried; ``observe`` is called with each, and returns True to end the search.
    """
    to_scale, to_beta = (np.log, np.exp) if within.scale == "log" else (float, float)
    low, high = to_scale(within.low), to_scale(within.high)
    probes: list[Probe] = []
    known: dict[float, float] = {}
    if high - low < SAME:
        n_probes, probes = 1, [Probe(within.low, evaluate(within.low))]
        observe(probes[0])
    while len(probes) < n_probes:
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        for point in (left, right):
            if _near(known, point) is None:
                probe = Probe(float(to_beta(point)), evaluate(float(to_beta(point))))
                known[point] = probe.validation.perplexity
                probes.append(probe)
                if observe(probe):
                    return probes
        # Where both are the unigram's, rounding must not decide: structure is at larger beta.
        at_left, at_right = (known[_near(known, point)] for point in (left, right))  # type: ignore[index]
        if at_left < (1 - PLATEAU) * at_right:
            high = right
        else:
            low = left
    return probes


def search_with_prior(
    evaluate: Callable[[float, float], Validation],
    within: TemperatureRange,
    priors: TemperatureRange,
    observe: Callable[[Probe], bool] = lambda probe: False,
) -> list[Probe]:
    """Search for the temperature without a prior, then for the prior at the best temperature.

    No second search for the temperature follows: with many components the probes are too short to
    see that a larger beta, which they favour where there is a prior, overfits in the end.
    ``evaluate`` takes beta and prior.
    """
    probes = search(lambda beta: evaluate(beta, 0.0), within, observe=observe)
    beta = best(probes).beta

    def as_probe(tried: Probe) -> Probe:
        return Probe(beta, tried.validation, prior=tried.beta)

    tried = search(
        lambda prior: evaluate(beta, prior),
        priors,
        N_PRIORS,
        lambda probe: observe(as_probe(probe)),
    )
    return probes + [as_probe(probe) for probe in tried]


def best(probes: list[Probe], worth: float = WORTH_A_PRIOR) -> Probe:
    """The probe with the least perplexity; of equals, the one with the largest beta.

    One with a prior must be better than all others by more than ``worth``, relative. Smaller
    differences of short fits are chance: on texts, where data are not thin, they lead astray.
    """

    def least(probes: list[Probe]) -> Probe:
        return min(probes, key=lambda probe: (probe.validation.perplexity, -probe.beta))

    plain = least([probe for probe in probes if not probe.prior])
    enough = (1 - worth) * plain.validation.perplexity
    better = [probe for probe in probes if probe.prior and probe.validation.perplexity < enough]
    return least(better or [plain])


def _near(known: dict[float, float], point: float) -> float | None:
    """The point tried before that is this one but for rounding."""
    return next((other for other in known if abs(other - point) < SAME), None)
