"""Expectation maximisation and its variants, for any model that follows the protocol."""

from skcooc.em.legs import EM, Fit, Record, Split, State
from skcooc.em.temperature import TemperatureRange
from skcooc.heldout.validation import HeldOut, Validation

__all__ = ["EM", "Fit", "HeldOut", "Record", "Split", "State", "TemperatureRange", "Validation"]
