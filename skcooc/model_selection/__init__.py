"""Divide the tokens of tables; search for numbers of components."""

from skcooc.model_selection.component_search import ComponentSearchCV
from skcooc.model_selection.folds import CountSplit, split_counts

__all__ = ["ComponentSearchCV", "CountSplit", "split_counts"]
