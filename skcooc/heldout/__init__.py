"""Predictions of held-out tokens: predictors, their perplexity, and smoothing.

Predictions compose. Each class here gives P(y_j given x_i) of the rows of one table; a mean of
several is `Interpolated`, with the weights of :func:`skcooc.metrics.best_weights`, and its
perplexity is that of :func:`skcooc.metrics.perplexity_of`.
"""

from skcooc.heldout.neighbors import NearestRows
from skcooc.heldout.predictors import Discounted, Factors, Interpolated, Unigram
from skcooc.heldout.scoring import Parts, Unseen
from skcooc.heldout.validation import HeldOut, Validation

__all__ = [
    "Discounted",
    "Factors",
    "HeldOut",
    "Interpolated",
    "NearestRows",
    "Parts",
    "Unigram",
    "Unseen",
    "Validation",
]
