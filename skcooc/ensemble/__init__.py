"""Estimators around others: averages, interpolations, caches of rows, and features."""

from skcooc.ensemble.averaging import AveragedModels
from skcooc.ensemble.features import MixtureFeatures
from skcooc.ensemble.interpolation import InterpolatedModels
from skcooc.ensemble.row_memory import RowMemory

__all__ = ["AveragedModels", "InterpolatedModels", "MixtureFeatures", "RowMemory"]
