"""Expectation maximisation and its variants, for any model that follows the protocol."""

from skcooc.em.driver import EM, Fit, Record, Split, State
from skcooc.em.heldout import HeldOut, Validation
from skcooc.em.temperature import TemperatureRange

__all__ = ["EM", "Fit", "HeldOut", "Record", "Split", "State", "TemperatureRange", "Validation"]
