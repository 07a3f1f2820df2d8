"""Mixture models for co-occurrence data, compatible with scikit-learn."""

from skcooc import datasets, inspection, metrics, model_selection
from skcooc.aspect import AspectModel
from skcooc.asymmetric import AsymmetricClustering
from skcooc.dyads import Dyads

__version__ = "0.1.0"

__all__ = [
    "AspectModel",
    "AsymmetricClustering",
    "Dyads",
    "datasets",
    "inspection",
    "metrics",
    "model_selection",
]
