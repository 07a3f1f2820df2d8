"""What the estimators share."""

from skcooc.base.estimator import CooccurrenceEstimator

__all__ = ["CooccurrenceEstimator"]
