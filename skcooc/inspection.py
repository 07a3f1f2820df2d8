"""Look into a fitted model: what its components are about, and which rows are alike."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from skcooc.protocol import Array


def top_features(
    model: Any, n_features: int = 10, feature_names: ArrayLike | None = None
) -> list[list[str]]:
    """The most probable columns of each component.

    Parameters
    ----------
    model : fitted estimator
        With ``components_``; those of other libraries need not be normalised.
    n_features : int, default=10
        How many columns of each component; all where there are no more.
    feature_names : array-like of shape (M,), default=None
        Names of the columns, such as ``vectorizer.get_feature_names_out()``. None means the names
        seen in ``fit``, and "x0", "x1", ... where there were none.

    Returns
    -------
    names : list of K lists of str
        By decreasing P(y given z); of equals, the column that comes first.

    Raises
    ------
    ValueError
        Where there are not as many names as columns.

    Examples
    --------
    >>> from skcooc import AspectModel
    >>> from skcooc.inspection import top_features
    >>> X = [[4, 2, 0, 0], [4, 2, 0, 0], [0, 0, 3, 9], [0, 0, 3, 9]]
    >>> model = AspectModel(2, beta=1, random_state=0).fit(X)
    >>> sorted(top_features(model, 2, ["tea", "cup", "ball", "goal"]))
    [['goal', 'ball'], ['tea', 'cup']]
    """
    check_is_fitted(model)
    components = model.components_
    names = _feature_names(model, components.shape[1], feature_names)
    order = np.argsort(-components, axis=1, kind="stable")[:, :n_features]
    return [[str(name) for name in names[columns]] for columns in order]


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
        Where there are fewer other rows than neighbours asked for.

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
    P = check_array(embedding, dtype=[np.float64, np.float32], ensure_non_negative=True)
    positions = np.arange(len(P))[np.atleast_1d(rows)]
    if not 1 <= n_neighbors < len(P):
        raise ValueError(f"n_neighbors={n_neighbors} should be in [1, {len(P) - 1}] for N={len(P)}")
    points = np.sqrt(P / 2)  # their Euclidean distance is the Hellinger distance
    search = NearestNeighbors(n_neighbors=n_neighbors + 1).fit(points)
    distances, neighbors = search.kneighbors(points[positions])
    other = neighbors != positions[:, None]
    # Among many equal rows, a row need not find itself: then the last one is one too many.
    other[other.all(axis=1), -1] = False
    shape = len(positions), n_neighbors
    return distances[other].reshape(shape), neighbors[other].reshape(shape)


def _feature_names(model: Any, n_columns: int, feature_names: ArrayLike | None) -> Array:
    """Names of the columns: those given, those seen in fit, or numbers."""
    if feature_names is None:
        numbered = [f"x{j}" for j in range(n_columns)]
        feature_names = getattr(model, "feature_names_in_", numbered)
    names = np.asarray(feature_names, dtype=object)
    if names.shape != (n_columns,):
        raise ValueError(
            f"feature_names has shape {names.shape}, but the model has {n_columns} columns"
        )
    return names
