"""The columns and rows that components, nodes of a hierarchy and pairs of clusters are about."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import rel_entr

from skcooc.inspection.models import (
    FACTORS,
    HOW_MANY,
    Unwrapped,
    fitted_row_names,
    topic_weights,
    unwrap,
)
from skcooc.protocol import Array, Estimator, FactorModel
from skcooc.protocol.decorators import validated
from skcooc.protocol.scikit_learn import StrOptions

Order = Literal["characteristic", "probable"]
ORDER = [StrOptions({"characteristic", "probable"})]


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
        """Positions of the rows or columns with counts of each cluster, most frequent first."""
        mass = self.masses * self.posteriors[np.arange(len(self.labels)), self.labels]
        by_mass = np.argsort(-mass, kind="stable")
        by_mass = by_mass[self.masses[by_mass] > 0]
        return [by_mass[self.labels[by_mass] == c] for c in range(self.posteriors.shape[1])]


@validated({"n_features": HOW_MANY})
def top_features(
    model: Estimator, feature_names: ArrayLike | None = None, *, n_features: int = 10
) -> list[list[str]]:
    """Return the most probable columns of each component.

    Frequent columns are probable in many components. :func:`characteristic_features` returns
    the columns that tell components apart.

    Parameters
    ----------
    model : fitted estimator
        A model with ``components_``, or a pipeline, search or other meta-estimator with such a
        model inside. Components of other libraries need not be normalised. If there is no such
        model, a TypeError is raised.
    feature_names : array-like of shape (M,), default=None
        Names of the columns, such as ``vectorizer.get_feature_names_out()``. None takes the names
        from the steps of a pipeline, or those seen in ``fit``, or "x0", "x1", ... A length other
        than M raises a ValueError.
    n_features : int, default=10
        Maximum number of columns for each component.

    Returns
    -------
    names : list of K lists of str
        Columns by decreasing P(y given z). Ties keep the order of the columns.

    Examples
    --------
    >>> from skcooc import AspectModel, inspection
    >>> X = [[4, 2, 0, 0], [4, 2, 0, 0], [0, 0, 3, 9], [0, 0, 3, 9]]
    >>> model = AspectModel(2, beta=1, random_state=0).fit(X)
    >>> sorted(inspection.top_features(model, ["tea", "cup", "ball", "goal"], n_features=2))
    [['goal', 'ball'], ['tea', 'cup']]
    """
    return component_features(unwrap(model, "components_"), feature_names, n_features, "probable")


@validated({"n_features": HOW_MANY})
def characteristic_features(
    model: Estimator, feature_names: ArrayLike | None = None, *, n_features: int = 10
) -> list[list[str]]:
    """Return the most over-represented columns of each component, or of each node of a tree.

    The distribution q_v of a component is compared with the distribution q_u of all tokens. In a
    tree, every node except the root is compared with its parent instead. Columns y are ranked by
    q_v(y) log(q_v(y) / m(y)), where m is the average of q_v and q_u. This is the contribution of
    the column to the divergence of q_v from m, one of the two terms of the Jensen-Shannon
    divergence. It is finite even if q_u(y) = 0, and does not favour rare columns. For log-ratios
    with intervals use :func:`distinguishing_features`.

    Parameters
    ----------
    model : fitted estimator
        A model with ``components_`` (V, M), ``embedding_`` (N, V) and ``row_distribution_`` (N,).
        Other models, such as those of other libraries, raise a TypeError. If the table was read in
        blocks, ``weights_`` are used as the sizes of the components.
    feature_names : array-like of shape (M,), default=None
        Names of the columns. See :func:`top_features`.
    n_features : int, default=10
        Maximum number of columns for each component. Columns that are not over-represented are left
        out.

    Returns
    -------
    names : list of V lists of str
        Columns of each component, the most characteristic first.

    Examples
    --------
    >>> from skcooc import AsymmetricClustering, inspection
    >>> X, words = [[4, 6, 0], [4, 6, 0], [4, 0, 6]], ["drink", "tea", "wine"]
    >>> clusters = AsymmetricClustering(2, hard=True, random_state=0).fit(X)
    >>> sorted(inspection.top_features(clusters, words, n_features=2))
    [['tea', 'drink'], ['wine', 'drink']]
    >>> sorted(inspection.characteristic_features(clusters, words, n_features=2))
    [['tea'], ['wine']]
    """
    return component_features(unwrap(model, *FACTORS), feature_names, n_features, "characteristic")


@validated({"n_rows": HOW_MANY})
def representative_rows(
    model: Estimator, row_names: ArrayLike | None = None, *, n_rows: int = 5
) -> list[list[Hashable]]:
    """Return the most representative rows of each component, cluster, or node of a tree.

    Rows x are ranked by P(x given z) log(P(z given x) / P(z)). This is the contribution of the row
    to the divergence of P(x given z) from P(x). It is large if x contains many tokens and a large
    share of them belongs to component z. It is small for short rows, and for long rows in which z
    has its average share.

    Parameters
    ----------
    model : fitted estimator
        A model with ``embedding_`` (N, K), P(z given x), and ``row_distribution_`` (N,), P(x).
        Other models raise a TypeError.
    row_names : array-like of shape (N,), default=None
        Names of the rows, such as titles. None takes the names in the training table
        (``row_names_in_``) if there are any, otherwise positions. A length other than N raises a
        ValueError.
    n_rows : int, default=5
        Maximum number of rows for each component. Rows without tokens of the component are left
        out.

    Returns
    -------
    rows : list of K lists
        Names or positions, the most representative first. Ties keep the order of the rows.

    Examples
    --------
    >>> from skcooc import AsymmetricClustering, inspection
    >>> X = [[4, 9, 0], [4, 6, 0], [4, 0, 6]]
    >>> model = AsymmetricClustering(2, hard=True, random_state=0).fit(X)
    >>> sorted(inspection.representative_rows(model, ["oolong", "assam", "claret"], n_rows=1))
    [['claret'], ['oolong']]
    """
    model = unwrap(model, "embedding_", "row_distribution_").model
    shares = np.asarray(model.embedding_, dtype=np.float64)
    names = fitted_row_names(model, row_names).tolist()
    best = most_representative(shares, np.asarray(model.row_distribution_), n_rows)
    return [[names[i] for i in rows] for rows in best]


def component_features(
    unwrapped: Unwrapped, feature_names: ArrayLike | None, n_features: int, order: Order
) -> list[list[str]]:
    names = unwrapped.column_names(feature_names)
    return [list(map(str, names[top])) for top in rank_columns(unwrapped.model, n_features, order)]


def rank_columns(model: FactorModel, n_features: int, order: Order) -> list[Array]:
    """Positions of the best columns of each component; see `characteristic_features`.

    A single component has its most probable ones.
    """
    if order == "probable" or len(model.components_) == 1:
        return list(most_probable(np.asarray(model.components_), n_features))
    q = np.asarray(model.components_, dtype=np.float64)
    tree = getattr(model, "tree_", None)
    parts = divergence_parts(q, topic_weights(model) @ q, None if tree is None else tree.parents)
    top = most_probable(parts, n_features)
    return [columns[parts[v, columns] > 0] for v, columns in enumerate(top)]


def divergence_parts(q: Array, unigram: Array, parents: Array | None = None) -> Array:
    """Parts of columns in the divergence of q_v from its mean with a reference, (V, M).

    The reference is the distribution of the parent, or the unigram for roots and without a tree.
    """
    above = np.full(len(q), -1) if parents is None else parents
    reference = q[above]
    reference[above < 0] = unigram
    return rel_entr(q, (q + reference) / 2)


def most_probable(components: Array, n: int) -> Array:
    """Positions of the n largest values of each row, (K, n), in stable order."""
    return np.argsort(-components, axis=1, kind="stable")[:, :n]


def most_representative(shares: Array, row_distribution: Array, n_rows: int) -> list[list[int]]:
    """Positions of the n most representative rows, by P(z given x) and P(x)."""
    joint = row_distribution[:, None] * shares
    part = np.full(joint.shape, -np.inf)
    lift = np.divide(shares, joint.sum(axis=0), out=np.ones(joint.shape), where=joint > 0)
    np.multiply(joint, np.log(lift), out=part, where=joint > 0)
    order = np.argsort(-part, axis=0, kind="stable")[:n_rows].T
    return [[i for i in rows.tolist() if joint[i, z] > 0] for z, rows in enumerate(order)]


def unwrap_coclustering(model: Any, *attributes: str) -> Unwrapped:
    """The model inside that has clusters of both sides; TypeError if there is none."""
    try:
        return unwrap(model, "joint_", "column_posteriors_", *attributes)
    except TypeError as error:
        raise TypeError(
            f"{error} Only co-clusterings have it, such as SymmetricClustering."
        ) from error


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


def cluster_orders(joint: Array, rows: Array | None = None) -> tuple[Array, Array]:
    """Orders of the clusters, (C,) and (D,), with associations near the diagonal.

    Clusters of rows are sorted by decreasing share of the co-occurrences, if no other order is
    given; clusters d of columns by the position of the cluster c with the largest part
    pi_cd log c_cd of the mutual information, and then by that part. ``joint`` is pi_cd.
    """
    if rows is None:
        rows = np.argsort(-joint.sum(axis=1), kind="stable")
    parts = rel_entr(joint, np.outer(joint.sum(axis=1), joint.sum(axis=0)))[rows]
    partner = parts.argmax(axis=0)
    return rows, np.lexsort((-parts.max(axis=0), partner))
