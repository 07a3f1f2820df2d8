"""Quality of factorisations, whatever estimator they come from."""

from skcooc.metrics.factorisations import best_smoothing, perplexity, unigram

__all__ = ["best_smoothing", "perplexity", "unigram"]
