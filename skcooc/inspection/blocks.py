"""Clusters of two sides: their members, their order, and which go with which."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.special import rel_entr

from skcooc.inspection.unwrapping import Unwrapped, unwrap
from skcooc.protocol import Array, FactorModel


class TwoSided(FactorModel, Protocol):
    """A fitted clustering of both sides, into C and D clusters."""

    joint_: Array  # (C, D)
    row_labels_: Array  # (N,)
    column_labels_: Array  # (M,)
    column_posteriors_: Array  # (M, D)


class Clusters(NamedTuple):
    """Those of one side, with n objects."""

    labels: Array  # (n,): the most probable cluster of each object
    posteriors: Array  # (n, C)
    masses: Array  # (n,): share of the observations of each object

    @property
    def weights(self) -> Array:
        """Share of the observations of each cluster, (C,)."""
        return np.asarray(self.masses @ self.posteriors, dtype=np.float64)

    @property
    def members(self) -> list[Array]:
        """Of each cluster the objects labelled so, those with the most observations in it first."""
        mass = self.masses * self.posteriors[np.arange(len(self.labels)), self.labels]
        by_mass = np.argsort(-mass, kind="stable")
        return [by_mass[self.labels[by_mass] == c] for c in range(self.posteriors.shape[1])]


def two_sided(given: Any, *attributes: str) -> Unwrapped:
    """The model inside that has clusters of both sides; TypeError where none has."""
    try:
        return unwrap(given, "joint_", "column_posteriors_", *attributes)
    except TypeError as error:
        raise TypeError(f"{error} Clusters of both sides are SymmetricClustering's.") from error


def of_rows(model: TwoSided) -> Clusters:
    """The clusters of rows."""
    P = np.asarray(model.row_distribution_)
    return Clusters(np.asarray(model.row_labels_), np.asarray(model.embedding_), P)


def of_columns(model: TwoSided) -> Clusters:
    """The clusters of columns."""
    joint = np.asarray(model.joint_, dtype=np.float64)
    P = joint.sum(axis=1) @ model.components_
    return Clusters(np.asarray(model.column_labels_), np.asarray(model.column_posteriors_), P)


def partners(joint: Array) -> list[tuple[Array, Array]]:
    """Of each cluster c what it goes with: clusters d where c_cd > 1, and these associations.

    Those with the largest part pi_cd log c_cd of the mutual information come first.
    """
    independent = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    ratios = np.divide(joint, independent, out=np.ones_like(joint), where=independent > 0)
    orders = np.argsort(-rel_entr(joint, independent), axis=1, kind="stable")
    return [
        (d := order[of_one[order] > 1], of_one[d])
        for of_one, order in zip(ratios, orders, strict=True)
    ]


def cluster_orders(joint: Array) -> tuple[Array, Array]:
    """The orders of clusters, (C,) and (D,), that bring what occurs together to the diagonal.

    Clusters of rows come by decreasing share of the observations; ``joint`` is pi_cd, their shares
    in pairs of clusters. A cluster d of columns belongs to the cluster c of rows with the largest
    pi_cd log c_cd, its part of the mutual information, and comes where that is; of several, the one
    with the largest part is first.
    """
    rows = np.argsort(-joint.sum(axis=1), kind="stable")
    parts = rel_entr(joint, np.outer(joint.sum(axis=1), joint.sum(axis=0)))[rows]
    partner = parts.argmax(axis=0)
    return rows, np.lexsort((-parts.max(axis=0), partner))
