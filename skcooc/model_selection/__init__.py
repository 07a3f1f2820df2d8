"""Divide observations, not rows, into training and test, and choose the temperature by them."""

from skcooc.model_selection.splits import ObservationSplit, split_observations
from skcooc.model_selection.temperature_search import TemperatureSearchCV

__all__ = ["ObservationSplit", "TemperatureSearchCV", "split_observations"]
