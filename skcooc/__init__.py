"""Mixture models for co-occurrence data, compatible with scikit-learn."""

from skcooc import (
    anndata,
    callbacks,
    datasets,
    heldout,
    image,
    inspection,
    metrics,
    model_selection,
    plotting,
    testing,
)
from skcooc.aspect import AspectModel
from skcooc.asymmetric import AsymmetricClustering
from skcooc.cluster_abstraction import ClusterAbstraction
from skcooc.clustering_projection import ClusteringProjection
from skcooc.ensemble import AveragedModels, InterpolatedModels, MixtureFeatures, RowMemory
from skcooc.product_space import ProductSpaceMixture
from skcooc.retrieval import AspectRetriever
from skcooc.symmetric import SymmetricClustering
from skcooc.tables import (
    DiskTable,
    Dyads,
    RowBlocks,
    Triads,
    delayed_rows,
    open_table,
    save_table,
)
from skcooc.triadic import TriadicAspectModel
from skcooc.version import __version__ as __version__

__all__ = [
    "AspectModel",
    "AspectRetriever",
    "AsymmetricClustering",
    "AveragedModels",
    "ClusterAbstraction",
    "ClusteringProjection",
    "DiskTable",
    "Dyads",
    "InterpolatedModels",
    "MixtureFeatures",
    "ProductSpaceMixture",
    "RowBlocks",
    "RowMemory",
    "SymmetricClustering",
    "TriadicAspectModel",
    "Triads",
    "anndata",
    "callbacks",
    "datasets",
    "delayed_rows",
    "heldout",
    "image",
    "inspection",
    "metrics",
    "model_selection",
    "open_table",
    "plotting",
    "save_table",
    "testing",
]
