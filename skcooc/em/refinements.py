"""What else is looked for, at the best temperature: exponents, priors, and what is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from skcooc.em.temperature import (
    WORTH_A_PRIOR,
    Exponents,
    Probe,
    TemperatureRange,
    search,
)
from skcooc.heldout import Validation

N_EXPONENTS = 4  # of each index: leave .24 of the interval
THIN = 1e-2  # smoothing up to which no prior was worth it; see `is_thin`
N_PRIORS = 5  # at most, and one at another temperature
WITH_PRIOR = 0.015  # how much larger beta may be, where there is a prior
N_LEFT_OUT = 4  # at most


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
        probes.append(at._replace(validation=found, prior=prior, row_prior=row_prior, smaller=True))
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
