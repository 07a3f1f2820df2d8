"""Checks that every model has to pass; for equations of your own, too."""

from skcooc.testing.checks import CHECKS, Literal, check_model

__all__ = ["CHECKS", "Literal", "check_model"]
