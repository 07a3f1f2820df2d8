"""Co-clusterings: the clusters of both sides, their order, and which are associated."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.special import rel_entr

from skcooc.inspection.models import Unwrapped, unwrap
from skcooc.protocol import Array, FactorModel


class TwoSided(FactorModel, Protocol):
    """A fitted clustering of both sides, into C and D clusters."""

    joint_: Array  # (C, D)
    row_labels_: Array  # (N,)
    column_labels_: Array  # (M,)
    column_posteriors_: Array  # (M, D)


class SideClusters(NamedTuple):
    """The clusters of the n rows, or of the n columns."""

    labels: Array  # (n,): the most probable cluster
    posteriors: Array  # (n, C)
    masses: Array  # (n,): share of the co-occurrences

    @property
    def weights(self) -> Array:
        """Share of the co-occurrences of each cluster, (C,)."""
        return np.asarray(self.masses @ self.posteriors, dtype=np.float64)

    @property
    def members(self) -> list[Array]:
        """Positions of the rows or columns of each cluster, the most frequent first."""
        mass = self.masses * self.posteriors[np.arange(len(self.labels)), self.labels]
        by_mass = np.argsort(-mass, kind="stable")
        return [by_mass[self.labels[by_mass] == c] for c in range(self.posteriors.shape[1])]


def unwrap_coclustering(given: Any, *attributes: str) -> Unwrapped:
    """The model inside that has clusters of both sides; TypeError if there is none."""
    try:
        return unwrap(given, "joint_", "column_posteriors_", *attributes)
    except TypeError as error:
        hint = "Only co-clusterings have it, such as SymmetricClustering."
        raise TypeError(f"{error} {hint}") from error


def row_clusters(model: TwoSided) -> SideClusters:
    P = np.asarray(model.row_distribution_)
    return SideClusters(np.asarray(model.row_labels_), np.asarray(model.embedding_), P)


def column_clusters(model: TwoSided) -> SideClusters:
    joint = np.asarray(model.joint_, dtype=np.float64)
    P = joint.sum(axis=1) @ model.components_
    return SideClusters(np.asarray(model.column_labels_), np.asarray(model.column_posteriors_), P)


def association_ratios(joint: Array) -> Array:
    """c_cd = pi_cd / (pi_c pi_d), (C, D); 1 where pi_c pi_d = 0."""
    independent = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    return np.divide(joint, independent, out=np.ones_like(joint), where=independent > 0)


def associated_clusters(joint: Array) -> list[tuple[Array, Array]]:
    """The clusters d with an association c_cd > 1 for each c, and these values.

    Pairs with the largest part pi_cd log c_cd of the mutual information come first.
    """
    parts = rel_entr(joint, np.outer(joint.sum(axis=1), joint.sum(axis=0)))
    orders = np.argsort(-parts, axis=1, kind="stable")
    return [
        (d := order[ratios[order] > 1], ratios[d])
        for ratios, order in zip(association_ratios(joint), orders, strict=True)
    ]


def cluster_orders(joint: Array) -> tuple[Array, Array]:
    """Orders of the clusters, (C,) and (D,), with associations near the diagonal.

    Clusters of rows are sorted by decreasing share of the co-occurrences; clusters d of columns by
    the position of the cluster c with the largest part pi_cd log c_cd of the mutual information,
    and then by that part. ``joint`` is pi_cd.
    """
    rows = np.argsort(-joint.sum(axis=1), kind="stable")
    parts = rel_entr(joint, np.outer(joint.sum(axis=1), joint.sum(axis=0)))[rows]
    partner = parts.argmax(axis=0)
    return rows, np.lexsort((-parts.max(axis=0), partner))
