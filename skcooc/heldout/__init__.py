"""Held-out observations: predictions of them, how well they are predicted, and smoothing."""

from skcooc.heldout.validation import HeldOut, Validation

__all__ = ["HeldOut", "Validation"]
