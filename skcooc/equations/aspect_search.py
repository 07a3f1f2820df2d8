"""Where the temperature and the pseudo-counts of aspects are looked for, by the table."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np

from skcooc.em import TemperatureRange
from skcooc.em.temperature import Coarse
from skcooc.equations.aspects import Aspects
from skcooc.equations.predictive_aspects import PredictiveAspects
from skcooc.protocol import Block

TEMPERATURES = TemperatureRange(0.5, 1.0)
PREDICTIVE_STEP = 0.04  # between temperatures tried where observations leave themselves out
LEAST_ASPECTS = 32  # with which temperatures are tried, where there are more

# `usual_beta`: a row of so many observations, and so many components, have odds of one.
USUAL_LENGTH, USUAL_COMPONENTS = 39.5, 32

# Where observations leave themselves out: pseudo-counts of a column in every component and of a
# row, and shares of both that are tried, one after the other. On a split of abstracts and messages,
# K=32 and 128, none of .3, 1 and 3 in a row with .005 and .02 in a column gained more than .5 per
# cent; on verses, K=128, .3 and .005 gained 2.7, on pairs of abstracts they lost 2 and 6. .1 in a
# column lost 20 per cent there.
PSEUDO_COUNTS = 0.02, 1.0
FEWER_OF_COLUMN, FEWER_OF_ROW = (0.25, 1.0), (1.0, 0.3)

# Observations of a row for each aspect, below which leaving them out is tried. With 2 rather than 1
# the perplexity of cells that were held out fell by 3 per cent on users and items made by Zipf's
# law, K=32, from random starts, and by nothing on Cranfield, messages and docstrings.
SHORT = 2

PseudoCount = float | Literal["auto"]


def temperatures(X: Block) -> TemperatureRange:
    """Where the best temperature is looked for."""
    return TEMPERATURES


def predictive_temperatures(n_components: int, X: Block) -> TemperatureRange:
    """Those where observations leave themselves out: nearer to 1, and to each other."""
    guess = usual_predictive_beta(X, n_components)
    return TEMPERATURES._replace(guess=guess, step=PREDICTIVE_STEP)


def coarse(model: Aspects, X: Block) -> Coarse:
    """A quarter of the aspects, whose temperature says where that of all is."""
    K = model.n_components
    n_few = min(K, max(LEAST_ASPECTS, K // 4))
    within = TEMPERATURES._replace(guess=usual_beta(X, n_few))
    prior = model.component_prior * (K / n_few)  # the same share of an expected count
    few = replace(model, n_components=n_few, component_prior=prior)
    return Coarse(n_few, within, partial(beta_of_others, n_few, K), few)


def has_short_rows(X: Block, n_components: int) -> bool:
    """Whether rows are short in the mean, so that leaving out may predict better: see `SHORT`."""
    return mean_length(X) < SHORT * n_components


def leaving_out(model: Aspects, prior: float, row_prior: float) -> PredictiveAspects:
    """The model where observations leave themselves out, with these pseudo-counts."""
    return PredictiveAspects(replace(model, component_prior=prior), row_prior)


def tried_pseudo_counts(
    component_prior: PseudoCount, row_prior: PseudoCount, usual: tuple[float, float] = PSEUDO_COUNTS
) -> tuple[tuple[float, float], list[tuple[float, float]]]:
    """Where observations leave themselves out: the usual ones, if not given, and shares to try."""
    prior = usual[0] if component_prior == "auto" else component_prior
    of_row = usual[1] if row_prior == "auto" else row_prior
    given = (component_prior, FEWER_OF_COLUMN), (row_prior, FEWER_OF_ROW)
    return (prior, of_row), [fewer for value, fewer in given if value == "auto"]


def usual_beta(X: Block, n_components: int) -> float:
    """The inverse temperature that usually predicts best, by the mean length of a row.

    The longer rows are, the less there is to overfit. On abstracts, messages, verses, word pairs
    and planted tables, K=8 to 128, two splits of each, the best temperature was .013 from it in the
    root mean square, and .04 at most, from random starts; from clusters it is mostly .01 to .05
    higher.
    """
    odds = (mean_length(X) / USUAL_LENGTH) ** (2 / 3)  # of 1, where rows are long, to .5
    return beta_of_others(USUAL_COMPONENTS, n_components, (0.5 + odds) / (1 + odds))


def beta_of_others(n_components: int, others: int, beta: float) -> float:
    """The best inverse temperature of other numbers of components, by that of these.

    Its odds of 1 to .5 fall as the fifth root of their number: on the same tables.
    """
    far, near = beta - 0.5, (1 - beta) * (others / n_components) ** 0.2
    return (0.5 * near + far) / (near + far)


def usual_predictive_beta(X: Block, n_components: int) -> float:
    """The one that usually predicts best where observations leave themselves out.

    On the same tables: .85 where the other is .8, and .81 where it is .65.
    """
    return 0.645 + 0.25 * usual_beta(X, n_components)


def mean_length(X: Block) -> float:
    """Observations of a row, in the mean of those that have any."""
    return float(X.row_sums.sum() / X.grain) / np.count_nonzero(X.row_sums)
