"""Columns between the vectorizer and the model: their names, and which tell topics."""

from skcooc.columns.named import NamedCounts
from skcooc.columns.topical import TopicalColumns

__all__ = ["NamedCounts", "TopicalColumns"]
