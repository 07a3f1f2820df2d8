"""What the estimators share."""

from skcooc.base.estimator import CooccurrenceEstimator
from skcooc.base.parameters import CONSTRAINTS
from skcooc.base.triads import TriadEstimator

__all__ = ["CONSTRAINTS", "CooccurrenceEstimator", "TriadEstimator"]
