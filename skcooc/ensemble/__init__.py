"""Estimators around others: averages, interpolations, and the memory of rows."""

from skcooc.ensemble.averaging import AveragedModels
from skcooc.ensemble.interpolation import InterpolatedModels
from skcooc.ensemble.row_memory import RowMemory

__all__ = ["AveragedModels", "InterpolatedModels", "RowMemory"]
