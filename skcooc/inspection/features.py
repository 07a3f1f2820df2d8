"""The columns that components and the nodes of a hierarchy are about."""

from __future__ import annotations

from numpy.typing import ArrayLike

from skcooc.inspection.names import HOW_MANY, TreeModel
from skcooc.inspection.ranking import Order, ranked
from skcooc.inspection.unwrapping import Unwrapped, unwrap
from skcooc.protocol import Components, FactorModel
from skcooc.protocol.decorators import validated

OF_ROWS = ("components_", "embedding_", "row_distribution_")


def features_of(
    found: Unwrapped, feature_names: ArrayLike | None, n_features: int, order: Order
) -> list[list[str]]:
    """Names of the first columns of each component."""
    names = found.column_names(feature_names)
    return [[str(name) for name in names[top]] for top in ranked(found.model, n_features, order)]


@validated({"n_features": HOW_MANY})
def top_features(
    model: Components, feature_names: ArrayLike | None = None, *, n_features: int = 10
) -> list[list[str]]:
    """The most probable columns of each component.

    Frequent columns are probable in many components: :func:`characteristic_features` says what
    tells them apart.

    Parameters
    ----------
    model : fitted estimator
        With ``components_``; those of other libraries need not be normalised. Or a pipeline that
        ends in one, or a search, or another estimator around one: all functions of this module
        look inside.
    feature_names : array-like of shape (M,), default=None
        Names of the columns, such as ``vectorizer.get_feature_names_out()``. None means those that
        come out of the steps of a pipeline, else the names seen in ``fit``, and "x0", "x1", ...
        where there were none.
    n_features : int, default=10
        How many columns of each component; all where there are no more.

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
    >>> sorted(inspection.top_features(model, ["tea", "cup", "ball", "goal"], n_features=2))
    [['goal', 'ball'], ['tea', 'cup']]
    """
    return features_of(unwrap(model, "components_"), feature_names, n_features, "probable")


@validated({"n_features": HOW_MANY})
def node_top_features(
    model: TreeModel, feature_names: ArrayLike | None = None, *, n_features: int = 10
) -> list[list[str]]:
    """The most probable columns of each node of a hierarchy, inner nodes as well as leaves.

    Cluster k alone has ``names[model.tree_.leaves[k]]``.

    Parameters
    ----------
    model : fitted ClusterAbstraction
        With ``tree_`` and ``components_`` (V, M).
    feature_names : array-like of shape (M,), default=None
        As for :func:`top_features`.
    n_features : int, default=10
        How many columns of each node.

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
    >>> sorted(inspection.node_top_features(model, words, n_features=1))
    [['drink'], ['tea'], ['wine']]
    """
    found = unwrap(model, "tree_", "components_")
    return features_of(found, feature_names, n_features, "probable")


@validated({"n_features": HOW_MANY})
def characteristic_features(
    model: FactorModel, feature_names: ArrayLike | None = None, *, n_features: int = 10
) -> list[list[str]]:
    """The columns that distinguish each component from all observations, or a node from its parent.

    Columns y are ranked by q_v(y) log(q_v(y) / m(y)), where m is the mean of q_v, the distribution
    of the component, and q_u, the unigram of all observations: their part in the divergence of q_v
    from m, which is one half of the Jensen-Shannon divergence between q_v and q_u. In a hierarchy
    every node but the root is compared to its parent instead. Unlike the divergence of q_v from q_u
    itself it is finite where the parent never generates a column, as often happens, and does not
    let rare columns win for that alone. How sure the difference is for each column, and how large,
    is said by :func:`distinguishing_features`.

    Parameters
    ----------
    model : fitted estimator
        With ``components_`` (V, M), ``embedding_`` (N, V), ``row_distribution_`` (N,), and perhaps
        ``tree_``. Where a table was read in blocks and no rows are kept, ``weights_`` say how large
        the components are.
    feature_names : array-like of shape (M,), default=None
        Names of the columns; see :func:`top_features`.
    n_features : int, default=10
        How many columns of each at most: columns that are no more probable than what it is compared
        to makes them are left out.

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
    >>> sorted(top_features(clusters, words, n_features=2))
    [['tea', 'drink'], ['wine', 'drink']]
    >>> sorted(characteristic_features(clusters, words, n_features=2))
    [['tea'], ['wine']]
    >>> model = ClusterAbstraction(2, beta=0.5, random_state=0).fit(X)
    >>> sorted(characteristic_features(model, words))
    [['drink'], ['tea'], ['wine']]
    """
    return features_of(unwrap(model, *OF_ROWS), feature_names, n_features, "characteristic")
