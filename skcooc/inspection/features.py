"""The columns that components and the nodes of a hierarchy are about."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import validate_params

from skcooc.inspection.labels import gains
from skcooc.inspection.names import HOW_MANY, TreeModel, check_has, column_names, most_probable
from skcooc.protocol import Components, FactorModel


@validate_params({"n_features": HOW_MANY}, prefer_skip_nested_validation=True)
def top_features(
    model: Components, n_features: int = 10, feature_names: ArrayLike | None = None
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
    ValueError, TypeError
        Where there are not as many names as columns, or no ``components_``, or ``n_features`` is
        no int, or negative.

    Examples
    --------
    >>> from skcooc import AspectModel, inspection
    >>> X = [[4, 2, 0, 0], [4, 2, 0, 0], [0, 0, 3, 9], [0, 0, 3, 9]]
    >>> model = AspectModel(2, beta=1, random_state=0).fit(X)
    >>> sorted(inspection.top_features(model, 2, ["tea", "cup", "ball", "goal"]))
    [['goal', 'ball'], ['tea', 'cup']]
    """
    check_has(model, "components_")
    names = column_names(model, model.components_.shape[1], feature_names)
    top = most_probable(model.components_, n_features)
    return [[str(name) for name in names[columns]] for columns in top]


@validate_params({"n_features": HOW_MANY}, prefer_skip_nested_validation=True)
def node_top_features(
    model: TreeModel, n_features: int = 10, feature_names: ArrayLike | None = None
) -> list[list[str]]:
    """The most probable columns of each node of a hierarchy, inner nodes as well as leaves.

    Cluster k alone has ``names[model.tree_.leaves[k]]``.

    Parameters
    ----------
    model : fitted ClusterAbstraction
        With ``tree_`` and ``components_`` (V, M).
    n_features : int, default=10
        How many columns of each node.
    feature_names : array-like of shape (M,), default=None
        As for :func:`top_features`.

    Returns
    -------
    names : list of V lists of str
        By decreasing P(y given v).

    Raises
    ------
    TypeError
        Where the model has no tree.
    ValueError
        As :func:`top_features` does.

    Examples
    --------
    >>> from skcooc import ClusterAbstraction, inspection
    >>> X, words = [[4, 6, 0], [4, 6, 0], [4, 0, 6]], ["drink", "tea", "wine"]
    >>> model = ClusterAbstraction(2, beta=0.5, random_state=0).fit(X)
    >>> sorted(inspection.node_top_features(model, 1, words))
    [['drink'], ['tea'], ['wine']]
    """
    check_has(model, "tree_")
    return top_features(model, n_features, feature_names)


@validate_params({"n_features": HOW_MANY}, prefer_skip_nested_validation=True)
def characteristic_features(
    model: FactorModel, n_features: int = 10, feature_names: ArrayLike | None = None
) -> list[list[str]]:
    """The columns that distinguish each component from all observations, or a node from its parent.

    Columns y are ranked by q_v(y) log(q_v(y) / m(y)), where m is the mean of q_v, the distribution
    of the component, and q_u, the unigram of all observations: their part in the divergence of q_v
    from m, which is one half of the Jensen-Shannon divergence between q_v and q_u. In a hierarchy
    every node but the root is compared to its parent instead. Unlike the divergence of q_v from q_u
    itself it is finite where the parent never generates a column, as often happens, and does not
    let rare columns win for that alone.

    Parameters
    ----------
    model : fitted estimator
        With ``components_`` (V, M), ``embedding_`` (N, V), ``row_distribution_`` (N,), and perhaps
        ``tree_``.
    n_features : int, default=10
        How many columns of each at most: columns that are no more probable than what it is compared
        to makes them are left out.
    feature_names : array-like of shape (M,), default=None
        Names of the columns; see :func:`top_features`.

    Returns
    -------
    names : list of V lists of str
        Most characteristic first.

    Raises
    ------
    ValueError
        Where there are not as many names as columns.
    TypeError
        Where the model is of another library and lacks an attribute.

    Examples
    --------
    >>> from skcooc import AsymmetricClustering, ClusterAbstraction
    >>> from skcooc.inspection import characteristic_features, top_features
    >>> X, words = [[4, 6, 0], [4, 6, 0], [4, 0, 6]], ["drink", "tea", "wine"]
    >>> clusters = AsymmetricClustering(2, hard=True, random_state=0).fit(X)
    >>> sorted(top_features(clusters, 2, words))
    [['tea', 'drink'], ['wine', 'drink']]
    >>> sorted(characteristic_features(clusters, 2, words))
    [['tea'], ['wine']]
    >>> model = ClusterAbstraction(2, beta=0.5, random_state=0).fit(X)
    >>> sorted(characteristic_features(model, 3, words))
    [['drink'], ['tea'], ['wine']]
    """
    check_has(model, "components_", "row_distribution_", "embedding_")
    q = np.asarray(model.components_, dtype=np.float64)
    names = column_names(model, q.shape[1], feature_names)
    tree = getattr(model, "tree_", None)
    unigram = model.row_distribution_ @ model.embedding_ @ q
    gain = gains(q, unigram, None if tree is None else tree.parents)
    top = most_probable(gain, n_features)
    return [[str(names[j]) for j in top[v] if gain[v, j] > 0] for v in range(len(q))]
