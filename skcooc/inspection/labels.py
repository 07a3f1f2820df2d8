"""Names of topics: those that users set, and others made of characteristic columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from skcooc.inspection.blocks import Clusters, of_rows
from skcooc.inspection.features import OF_ROWS
from skcooc.inspection.names import HOW_MANY, most_probable, row_names_of
from skcooc.inspection.ranking import gains, masses
from skcooc.inspection.unwrapping import layers, unwrap
from skcooc.protocol import Array, FactorModel
from skcooc.protocol.decorators import validated

APART = " · "  # between the columns of a name
Names = Sequence[str] | Mapping[int, str]
M = TypeVar("M")


@validated({"n_features": HOW_MANY})
def name_topics(
    model: FactorModel, feature_names: ArrayLike | None = None, row_names: ArrayLike | None = None,
    *, n_features: int = 3,
) -> list[str]:  # fmt: skip
    """A name for each component, cluster or node: the one set, or its most characteristic columns.

    Names that are made are all different, and other than those that :func:`set_names` has set. They
    are made in the order of mass, the largest share of the observations first: where the columns of
    a component are the name of a larger one already, it gets further columns, and at last its
    number. Clusters of rows of `SymmetricClustering` have their most frequent members for a name,
    where rows have names.

    Parameters
    ----------
    model : fitted estimator
        With ``components_`` (K, M), ``embedding_`` (N, K), ``row_distribution_`` (N,), and perhaps
        ``tree_`` and ``component_names_``.
    feature_names : array-like of shape (M,), default=None
        Names of the columns; see :func:`top_features`.
    row_names : array-like of shape (N,), default=None
        Names of the rows; None means those of the table fitted.
    n_features : int, default=3
        How many columns, or members, make a name; columns are ranked as
        :func:`characteristic_features` does.

    Returns
    -------
    names : list of K str
        Component by component, as the rows of ``components_``.

    Raises
    ------
    ValueError
        Where there are not as many names as columns, or ``n_features`` is below 1.
    TypeError
        Where the model is of another library and lacks an attribute.

    Examples
    --------
    >>> from skcooc import AsymmetricClustering
    >>> from skcooc.inspection import name_topics
    >>> X = [[9, 1, 0, 4], [5, 1, 0, 2], [0, 1, 3, 1]]
    >>> model = AsymmetricClustering(2, hard=True, random_state=0).fit(X)
    >>> sorted(name_topics(model, ["tea", "cup", "ball", "a"], n_features=2))
    ['ball · cup', 'tea · a']
    """
    found = unwrap(model, *OF_ROWS)
    if n_features < 1:
        raise ValueError(f"n_features={n_features} should be at least 1.")
    model, columns = found.model, found.column_names(feature_names)
    q = np.asarray(model.components_, dtype=np.float64)
    rows = getattr(model, "row_names_in_", None)
    if row_names is not None:
        rows = row_names_of(model, row_names)
    return named_topics(model, q, masses(model), columns, rows, n_features)


def named_topics(
    model: Any, q: Array, weights: Array, columns: Array, rows: Array | None = None,
    n_features: int = 3,
) -> list[str]:  # fmt: skip
    """Names of the components q (K, M) of a model, by their shares of the observations, (K,).

    Of names of the rows (N,) are those of two-sided clusters made.
    """
    tree, own = getattr(model, "tree_", None), names_set(model)
    if rows is not None and hasattr(model, "column_labels_"):
        return given(own, names_of_clusters(of_rows(model), rows, n_features, own.values()))
    made = names_of(
        q, weights, columns, n_features, None if tree is None else tree.parents, own.values()
    )
    return given(own, made)


def names_of(
    q: Array, weights: Array, columns: Array, n: int = 3, parents: Array | None = None,
    taken: Iterable[str] = (),
) -> list[str]:  # fmt: skip
    """Names of components q (K, M) of these shares of the observations, (K,), all different."""
    gain = gains(q, weights @ q, parents)
    order = most_probable(gain, 4 * n)
    names = dict[int, str]()
    for k in np.argsort(-weights, kind="stable").tolist():
        words = [str(columns[j]) for j in order[k] if gain[k, j] > 0]
        names[k] = _unused(words, n, f"topic {k}", {*names.values(), *taken})
    return [names[k] for k in range(len(q))]


def names_of_clusters(
    clusters: Clusters, names: Array, n: int = 3, taken: Iterable[str] = ()
) -> list[str]:
    """Names of clusters of one side, of those of their members that have the most observations."""
    words = [[str(names[i]) for i in of[: 4 * n]] for of in clusters.members]
    made = dict[int, str]()
    for k in np.argsort(-clusters.weights, kind="stable").tolist():
        made[k] = _unused(words[k], n, f"cluster {k}", {*made.values(), *taken})
    return [made[k] for k in range(len(words))]


def _unused(words: Sequence[str], n: int, number: str, used: set[str]) -> str:
    """A name of the first n words or more, with the number where that is used by another."""
    for length in range(n, max(n, len(words)) + 1):
        name = APART.join(words[:length]) or number
        if name not in used:
            return name
    return APART.join([*words[:n], number])


def set_names(model: M, names: Names | Mapping[str, str] | None) -> M:
    """Name the components of a fitted model, so that all that shows it has these names.

    They are kept in its attribute ``component_names_``, a dictionary of numbers and names, which
    pickles have, and which another ``fit`` and ``clone`` leave out, as all that was fitted.
    ``get_feature_names_out`` of the estimators of this package has them, and so have
    :func:`name_topics`, :func:`describe`, :func:`export_text`, :func:`export_dict`, the displays
    of :mod:`skcooc.plotting` and :func:`explore`. Its exported names can be set: they are a
    dictionary, ``json.load(open("names.json"))``.

    Parameters
    ----------
    model : fitted estimator
        With ``components_`` (K, M); or a pipeline or a search. Models inside have the names, too.
    names : sequence of K str, dict of int to str, or None
        Names of the components, or of some of them; keys may be strings, as those of JSON are.
        None takes the names away.

    Returns
    -------
    model : the same object

    Raises
    ------
    ValueError
        Where a name is given twice or is empty, there is a name for what is no component, or a
        sequence of another length.
    TypeError
        Where the model has no components.

    Examples
    --------
    >>> from skcooc import AspectModel
    >>> from skcooc.inspection import describe, set_names
    >>> X = [[4, 2, 0, 0], [4, 2, 0, 0], [0, 0, 3, 9], [0, 0, 3, 9]]
    >>> model = set_names(AspectModel(2, beta=1, random_state=0).fit(X), ["one", "other"])
    >>> model.get_feature_names_out()
    array(['one', 'other'], dtype=object)
    >>> describe(model)["name"].tolist()
    ['one', 'other']
    """
    outermost = unwrap(model, "components_").model
    own = {} if names is None else _checked(names, len(outermost.components_))
    for layer in layers(outermost):
        if hasattr(layer.model, "components_"):
            layer.model.component_names_ = dict(own)
    return model


def names_set(model: object) -> dict[int, str]:
    """The names that users have set."""
    own: dict[int, str] = getattr(model, "component_names_", {})
    return own


def given(names: Names | Mapping[str, str] | None, automatic: Sequence[str]) -> list[str]:
    """The names that a user has given, by position or by number, and the automatic ones else.

    ValueError where there is a name for what is no component, or a sequence of the wrong length.
    """
    own = {} if names is None else numbered(names, len(automatic))
    return [own.get(k, name) for k, name in enumerate(automatic)]


def _checked(names: Names | Mapping[str, str], n_topics: int) -> dict[int, str]:
    """Names by number, all different, and none empty."""
    own = numbered(names, n_topics)
    if not all(own.values()) or len(set(own.values())) < len(own):
        raise ValueError(f"names should be all different, and none empty: {[*own.values()]}.")
    return own


def numbered(names: Names | Mapping[str, str], n_topics: int) -> dict[int, str]:
    """Names by number."""
    if not isinstance(names, Mapping):
        if isinstance(names, str) or len(names) != n_topics:
            raise ValueError(f"names has {len(names)} entries, but there are {n_topics} topics.")
        names = dict(enumerate(names))
    numbers = {str(k): k for k in range(n_topics)}
    if unknown := [k for k in names if str(k) not in numbers]:
        raise ValueError(f"names has {unknown[0]}, but topics are 0 to {n_topics - 1}.")
    return {numbers[str(k)]: str(name) for k, name in names.items()}
