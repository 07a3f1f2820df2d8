"""What the estimators share."""

from skcooc.base.estimator.estimator import CooccurrenceEstimator
from skcooc.base.estimator.parameters import CONSTRAINTS

__all__ = ["CONSTRAINTS", "CooccurrenceEstimator"]
