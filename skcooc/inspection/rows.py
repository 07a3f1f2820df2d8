"""The rows that are alike, and those that stand for a component."""

from __future__ import annotations

from collections.abc import Hashable
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval

from skcooc.inspection.names import HOW_MANY, row_names_of
from skcooc.inspection.unwrapping import unwrap
from skcooc.protocol import Array, FactorModel, refuse_anndata
from skcooc.protocol.decorators import validated


@validated({"n_neighbors": [Interval(Integral, 1, None, closed="left")]})
def nearest_rows(
    embedding: ArrayLike, rows: ArrayLike, n_neighbors: int = 5
) -> tuple[Array, Array]:
    """The rows whose mixtures are most like those of given rows.

    Mixtures are compared by the Hellinger distance, sqrt(1 - sum_k sqrt(p_k q_k)): 0 where they
    are equal, 1 where they have no component in common.

    Parameters
    ----------
    embedding : array-like of shape (N, K)
        P(k given x_i), such as ``embedding_`` or what ``transform`` returns.
    rows : array-like of int of shape (n,)
        Positions of the rows to find neighbours of; they are not neighbours of themselves.
    n_neighbors : int, default=5
        At most N - 1.

    Returns
    -------
    distances : (n, n_neighbors) array
        In increasing order.
    neighbors : (n, n_neighbors) array of int
        Positions of the neighbours.

    Raises
    ------
    ValueError
        Where ``n_neighbors`` is no positive int, or there are fewer other rows.

    Examples
    --------
    >>> from skcooc.inspection import nearest_rows
    >>> embedding = [[0.9, 0.1], [0.1, 0.9], [0.8, 0.2]]
    >>> distances, neighbors = nearest_rows(embedding, rows=[0], n_neighbors=2)
    >>> neighbors
    array([[2, 1]])
    >>> distances.round(2)
    array([[0.1 , 0.63]])
    """
    refuse_anndata(embedding, "embedding", "mixtures: give adata.obsm['X_topics'].")
    P = check_array(embedding, dtype=[np.float64, np.float32], ensure_non_negative=True)
    positions = np.arange(len(P))[np.atleast_1d(rows)]
    if not n_neighbors < len(P):
        raise ValueError(f"n_neighbors={n_neighbors} should be in [1, {len(P) - 1}] for N={len(P)}")
    points = np.sqrt(P / 2)  # their Euclidean distance is the Hellinger distance
    search = NearestNeighbors(n_neighbors=n_neighbors + 1).fit(points)
    distances, neighbors = search.kneighbors(points[positions])
    other = neighbors != positions[:, None]
    # Among many equal rows, a row need not find itself: then the last one is one too many.
    other[other.all(axis=1), -1] = False
    shape = len(positions), n_neighbors
    return distances[other].reshape(shape), neighbors[other].reshape(shape)


@validated({"n_rows": HOW_MANY})
def representative_rows(
    model: FactorModel, row_names: ArrayLike | None = None, *, n_rows: int = 5
) -> list[list[Hashable]]:
    """The rows that most distinguish each component, cluster, or node of a hierarchy.

    Rows x are ranked by P(x given z) log(P(z given x) / P(z)), their part in the divergence of the
    rows of the observations of component z from those of all observations. A large share of the
    observations of x in z thus counts more, the more observations there are: a short row with one
    lucky observation does not stand for z, nor does a long row whose share is that of all.

    Parameters
    ----------
    model : fitted estimator
        With ``embedding_`` (N, K), P(z given x), and ``row_distribution_`` (N,), P(x).
    row_names : array-like of shape (N,), default=None
        Names of the rows, such as titles. None means those of the table fitted, `Dyads` or a data
        frame (``row_names_in_``), and their positions where it has none.
    n_rows : int, default=5
        How many rows of each component at most: rows without observations in it are left out.

    Returns
    -------
    rows : list of K lists
        Names or positions, most representative first; of equals, the row that comes first.

    Raises
    ------
    ValueError
        Where there are not as many names as rows.
    TypeError
        Where the model lacks these attributes, as those of other libraries do.

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
    names = row_names_of(model, row_names).tolist()
    ranked = most_representative(shares, np.asarray(model.row_distribution_), n_rows)
    return [[names[i] for i in rows] for rows in ranked]


def most_representative(shares: Array, row_distribution: Array, n_rows: int) -> list[list[int]]:
    """Positions of the n rows that most distinguish each component, by P(z given x) and P(x)."""
    joint = row_distribution[:, None] * shares
    part = np.full(joint.shape, -np.inf)
    lift = np.divide(shares, joint.sum(axis=0), out=np.ones(joint.shape), where=joint > 0)
    np.multiply(joint, np.log(lift), out=part, where=joint > 0)
    order = np.argsort(-part, axis=0, kind="stable")[:n_rows].T
    return [[i for i in rows.tolist() if joint[i, z] > 0] for z, rows in enumerate(order)]
