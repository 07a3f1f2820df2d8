"""Mixture models for co-occurrence data, compatible with scikit-learn."""

from importlib import import_module
from typing import TYPE_CHECKING

from skcooc import callbacks, heldout
from skcooc.estimators.aspect import AspectModel
from skcooc.estimators.asymmetric import AsymmetricClustering
from skcooc.estimators.classifier import AspectClassifier
from skcooc.estimators.cluster_abstraction import ClusterAbstraction
from skcooc.estimators.clustering_projection import ClusteringProjection
from skcooc.estimators.guided import GuidedAspectModel
from skcooc.estimators.product_space import ProductSpaceMixture
from skcooc.estimators.symmetric import SymmetricClustering
from skcooc.estimators.triadic import TriadicAspectModel
from skcooc.protocol import TableWarning
from skcooc.tables import DiskTable, Dyads, RowBlocks, Triads, delayed_rows, open_table, save_table
from skcooc.version import __version__ as __version__

if TYPE_CHECKING:
    from skcooc import (
        anndata,
        datasets,
        image,
        inspection,
        metrics,
        model_selection,
        plotting,
        testing,
        words,
    )
    from skcooc.columns import NamedCounts, TopicalColumns
    from skcooc.ensemble import AveragedModels, InterpolatedModels, MixtureFeatures, RowMemory
    from skcooc.reports import TopicReport, fit_texts
    from skcooc.retrieval import AspectRetriever

__all__ = [
    "AspectClassifier", "AspectModel", "AspectRetriever", "AsymmetricClustering",
    "AveragedModels", "ClusterAbstraction", "ClusteringProjection", "DiskTable", "Dyads",
    "GuidedAspectModel", "InterpolatedModels", "MixtureFeatures", "NamedCounts",
    "ProductSpaceMixture", "RowBlocks", "RowMemory", "SymmetricClustering", "TableWarning",
    "TopicReport", "TopicalColumns", "TriadicAspectModel", "Triads", "anndata", "callbacks",
    "datasets", "delayed_rows", "fit_texts", "heldout", "image", "inspection", "metrics",
    "model_selection", "open_table", "plotting", "save_table", "testing", "words",
]  # fmt: skip

# Imported at first use: room -> the names that this module takes from it.
SIDE_ROOMS: dict[str, tuple[str, ...]] = {
    "anndata": (),
    "cli": (),
    "columns": ("NamedCounts", "TopicalColumns"),
    "datasets": (),
    "ensemble": ("AveragedModels", "InterpolatedModels", "MixtureFeatures", "RowMemory"),
    "image": (),
    "inspection": (),
    "metrics": (),
    "model_selection": (),
    "plotting": (),
    "reports": ("TopicReport", "fit_texts"),
    "retrieval": ("AspectRetriever",),
    "testing": (),
    "words": (),
}


def __getattr__(name: str) -> object:
    for room, names in SIDE_ROOMS.items():
        if name == room:
            return import_module(f"{__name__}.{room}")
        if name in names:
            return getattr(import_module(f"{__name__}.{room}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *SIDE_ROOMS})
