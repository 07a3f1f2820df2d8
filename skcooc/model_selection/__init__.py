"""Divide the tokens of tables; search for temperatures and numbers of components."""

from skcooc.model_selection.component_search import ComponentSearchCV
from skcooc.model_selection.folds import CountSplit, split_counts
from skcooc.model_selection.temperature_search import TemperatureSearchCV

__all__ = ["ComponentSearchCV", "CountSplit", "TemperatureSearchCV", "split_counts"]
