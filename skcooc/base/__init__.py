"""What the estimators share."""

from skcooc.base.estimator import CooccurrenceEstimator
from skcooc.base.parameters import CONSTRAINTS, COOLING, FALLING, Size
from skcooc.base.triads import TriadEstimator

__all__ = ["CONSTRAINTS", "COOLING", "FALLING", "CooccurrenceEstimator", "Size", "TriadEstimator"]
