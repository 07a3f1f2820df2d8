"""Which temperature and pseudo-counts of aspects usually predict best, by the table."""

from __future__ import annotations

import numpy as np

from skcooc.protocol import Block

LEAST_ASPECTS = 32  # with which temperatures are tried, where there are more

# `usual_beta`: a row of so many observations, and so many components, have odds of one.
USUAL_LENGTH, USUAL_COMPONENTS = 39.5, 32

# Where observations leave themselves out: pseudo-counts of a column in every component and of a
# row, and shares of both that are tried, one after the other. On a split of abstracts and messages,
# K=32 and 128, none of .3, 1 and 3 in a row with .005 and .02 in a column gained more than .5 per
# cent; on verses, K=128, .3 and .005 gained 2.7, on pairs of abstracts they lost 2 and 6. .1 in a
# column lost 20 per cent there.
PSEUDO_COUNTS = {"component_prior": 0.02, "row_prior": 1.0}
SMALLER = [{"component_prior": 0.25}, {"row_prior": 0.3}]

# Observations of a row for each aspect, below which leaving them out is tried. With 2 rather than 1
# the perplexity of cells that were held out fell by 3 per cent on users and items made by Zipf's
# law, K=32, from random starts, and by nothing on Cranfield, messages and docstrings.
SHORT = 2


def few(n_components: int) -> int:
    """With how many aspects the temperature is looked for: a quarter, but not too few."""
    return min(n_components, max(LEAST_ASPECTS, n_components // 4))


def has_short_rows(X: Block, n_components: int) -> bool:
    """Whether rows are short in the mean, so that leaving out may predict better: see `SHORT`."""
    return mean_length(X) < SHORT * n_components


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
    """Mean number of tokens of the rows that have any, each counted by its weight."""
    n_rows = np.sum(X.row_weights * (X.row_sums > 0))
    return float(np.sum(X.row_sums * X.row_weights) / X.grain) / n_rows
