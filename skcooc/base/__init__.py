"""What the estimators share."""

from skcooc.base.estimator import A_MODEL, CooccurrenceEstimator
from skcooc.base.parameters import ANNEALING, ASPECT_TEMPERATURES, CONSTRAINTS, FALLING, SIZE, Size
