"""What every model has to keep: checks of equations, and how to write one's own."""

from skcooc.testing.literal import Literal
from skcooc.testing.model import CHECKS, check_model

__all__ = ["CHECKS", "Literal", "check_model"]
