"""Clusters of both sides as tables: the members of clusters of columns, and what goes with what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skcooc.inspection.blocks import of_columns, partners
from skcooc.inspection.labels import Names, given, names_of_clusters
from skcooc.protocol import Array

Columns = dict[str, Array | Sequence[object]]


def column_clusters(
    model: Any, words: Array, of_rows: Sequence[str], n_features: int, names: Names | None
) -> Columns:
    """A line for each cluster of columns: its members, and the clusters of rows it goes with."""
    clusters = of_columns(model)
    weights, members = clusters.weights, clusters.members
    top = [of[:n_features] for of in members]
    of_cluster = clusters.masses[:, None] * clusters.posteriors
    P = np.divide(of_cluster, weights, out=np.zeros_like(of_cluster), where=weights > 0)
    return {
        "component": np.arange(len(weights)),
        "name": given(names, names_of_clusters(clusters, words)),
        "weight": weights,
        "n_columns": np.array([len(of) for of in members]),
        "features": [[str(word) for word in words[of]] for of in top],
        "probabilities": [P[of, d].tolist() for d, of in enumerate(top)],
        **_partners(np.asarray(model.joint_).T, of_rows),
    }


def partners_of_rows(model: Any, words: Array) -> Columns:
    """The clusters of columns that each cluster of rows goes with; nothing of a one-sided model."""
    if not hasattr(model, "column_labels_"):
        return {}
    return _partners(np.asarray(model.joint_), names_of_clusters(of_columns(model), words))


def _partners(joint: Array, names: Sequence[str]) -> Columns:
    found = partners(joint.astype(np.float64))
    return {
        "goes_with": [[names[d] for d in others] for others, _ in found],
        "associations": [ratios.tolist() for _, ratios in found],
    }
