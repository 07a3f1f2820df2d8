"""Divide observations, not rows; choose temperatures and numbers of components by them."""

from skcooc.model_selection.component_search import ComponentSearchCV
from skcooc.model_selection.splits import ObservationSplit, split_observations
from skcooc.model_selection.temperature_search import TemperatureSearchCV

__all__ = ["ComponentSearchCV", "ObservationSplit", "TemperatureSearchCV", "split_observations"]
