"""Held-out observations: predictions of them, how well they are predicted, and smoothing.

Predictions compose. Each class here gives P(y_j given x_i) of the rows of one table; a mean of
several is `Interpolated`, with the weights of :func:`skcooc.metrics.best_weights`, and its
perplexity is that of :func:`skcooc.metrics.perplexity_of`.
"""

from skcooc.heldout.discounting import Discounted, continuations, frequencies
from skcooc.heldout.mixed_order import MixedOrder, mixed_order
from skcooc.heldout.predictors import Factors, Grouped, Interpolated, Unigram
from skcooc.heldout.similar import SimilarRows, nearest_rows
from skcooc.heldout.unseen import Parts, Unseen
from skcooc.heldout.validation import HeldOut, Validation

__all__ = [
    "Discounted",
    "Factors",
    "Grouped",
    "HeldOut",
    "Interpolated",
    "MixedOrder",
    "Parts",
    "SimilarRows",
    "Unigram",
    "Unseen",
    "Validation",
    "continuations",
    "frequencies",
    "mixed_order",
    "nearest_rows",
]
