"""What the estimators share."""

from skcooc.base.estimator import CooccurrenceEstimator
from skcooc.base.parameters import ANNEALING, CONSTRAINTS, FALLING, Size
from skcooc.base.triads import TriadEstimator

__all__ = ["ANNEALING", "CONSTRAINTS", "FALLING", "CooccurrenceEstimator", "Size", "TriadEstimator"]
