"""What the estimators share."""

from skcooc.base.estimator import CooccurrenceEstimator
from skcooc.base.parameters import CONSTRAINTS

__all__ = ["CONSTRAINTS", "CooccurrenceEstimator"]
