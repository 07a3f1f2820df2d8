"""Topics named, merged or dropped by users, and names made of characteristic columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple, Protocol, Self, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from skcooc.inspection import models
from skcooc.inspection.features import (
    SideClusters,
    divergence_parts,
    most_probable,
    row_clusters,
    unwrap_coclustering,
)
from skcooc.inspection.models import FACTORS, HOW_MANY, Names
from skcooc.protocol import Array, Estimator
from skcooc.protocol.decorators import validated
from skcooc.protocol.scikit_learn import Interval

SIZE = [Interval(Integral, 1, None, closed="left"), None]
SEPARATOR = " · "  # between the columns of a name
SURROGATE = re.compile("[\ud800-\udfff]")  # half of a pair: no character, and not to be encoded
M = TypeVar("M")


def escape_surrogates(text: str, backslash: str = "\\") -> str:
    r"""A text without half surrogate pairs, as in JSON that was cut: they are written as escapes.

    >>> print(escape_surrogates("tea \ud83d"))
    tea \ud83d
    """
    return SURROGATE.sub(lambda match: f"{backslash}u{ord(match[0]):x}", text)


class Mergeable(Protocol):
    """A fitted model whose components can be merged."""

    def merged(self, shares: Array) -> Self: ...


Merged = TypeVar("Merged", bound=Mergeable)


@validated({"n_features": HOW_MANY})
def name_topics(
    model: Estimator, feature_names: ArrayLike | None = None, row_names: ArrayLike | None = None,
    *, n_features: int = 3,
) -> list[str]:  # fmt: skip
    """Return a name for each component, cluster, or node of a tree.

    A name that you set by :func:`set_names` is used as it is. All other names consist of
    characteristic columns. They are unique: if a larger component has the same name, further
    columns are added, and finally the number. Row clusters of `SymmetricClustering` are named after
    their most frequent rows, if rows have names.

    Parameters
    ----------
    model : fitted estimator
        A model with ``components_`` (K, M), ``embedding_`` (N, K) and ``row_distribution_`` (N,).
    feature_names : array-like of shape (M,), default=None
        Names of the columns. See :func:`top_features`.
    row_names : array-like of shape (N,), default=None
        Names of the rows. None takes those of the training table.
    n_features : int, default=3
        Number of columns, or rows, in a name. They are ranked as in
        :func:`characteristic_features`. A number below 1 raises a ValueError.

    Returns
    -------
    names : list of K str
        Names in the order of ``components_``.

    Examples
    --------
    >>> from skcooc import AsymmetricClustering, inspection
    >>> X = [[9, 1, 0, 4], [5, 1, 0, 2], [0, 1, 3, 1]]
    >>> model = AsymmetricClustering(2, hard=True, random_state=0).fit(X)
    >>> sorted(inspection.name_topics(model, ["tea", "cup", "ball", "a"], n_features=2))
    ['ball · cup', 'tea · a']
    """
    unwrapped = models.unwrap(model, *FACTORS)
    if n_features < 1:
        raise ValueError(f"n_features={n_features} should be at least 1.")
    model = unwrapped.model
    columns = unwrapped.column_names(feature_names)
    q = np.asarray(model.components_, dtype=np.float64)
    if row_names is None:
        rows = getattr(model, "row_names_in_", None)
    else:
        rows = models.fitted_row_names(model, row_names)
    return make_names(model, q, models.topic_weights(model), columns, rows, n_features)


def set_names(model: M, names: Names | Mapping[str, str] | None) -> M:
    """Name the components of a fitted model, for all functions and displays.

    Names are stored in the attribute ``component_names_``, a dictionary by number. It is pickled
    with the model and removed by the next ``fit``. To set the names that a page of :func:`explore`
    exports, pass ``json.load(open("names.json"))``.

    ``get_feature_names_out`` of models such as AspectModel uses the names as well. After
    ``set_output``, later steps of a pipeline expect the names with which they were fitted: fit them
    again, or set the names in a copy of the model.

    Parameters
    ----------
    model : fitted estimator
        A model with ``components_`` (K, M), or a pipeline or search. Models inside get the names as
        well.
    names : sequence of K str, dict of int to str, or None
        Names of the components. A dict names some components, and the others keep their names, such
        as those of seeds and classes. Its keys may be strings, as in JSON. In a tree, write
        ``"cluster 3"`` for a leaf, numbered as in ``labels_``, or ``"node 3"``. None removes the
        names.
        Names that are empty or not unique, and unknown components, raise a ValueError.

    Returns
    -------
    model : the same object
        The model, with names.

    Examples
    --------
    >>> from skcooc import AspectModel
    >>> from skcooc.inspection import set_names
    >>> X = [[4, 2, 0, 0], [4, 2, 0, 0], [0, 0, 3, 9], [0, 0, 3, 9]]
    >>> model = set_names(AspectModel(2, beta=1, random_state=0).fit(X), ["one", "other"])
    >>> model.get_feature_names_out()
    array(['one', 'other'], dtype=object)
    """
    outermost = models.unwrap(model, "components_").model
    if isinstance(names, Mapping) and hasattr(outermost, "tree_"):
        names = models.names_of_nodes(names, outermost.tree_)
    numbered = {} if names is None else models.names_by_number(names, len(outermost.components_))
    inside = [layer.model for layer in models.layers(outermost)]
    inside = [inner for inner in inside if hasattr(inner, "components_")]
    new_names = [{} if names is None else user_names(inner) | numbered for inner in inside]
    for texts in (list(by_number.values()) for by_number in new_names):
        if not all(texts) or len(set(texts)) < len(texts):
            raise ValueError(f"names should be all different, and none empty: {texts}.")
    for inner, by_number in zip(inside, new_names, strict=True):
        inner.component_names_ = by_number
    return model


@overload
def merge_topics(model: Merged, groups: Sequence[Iterable[int]]) -> Merged: ...
@overload
def merge_topics(model: Estimator, groups: Sequence[Iterable[int]]) -> Any: ...
def merge_topics(model: Estimator, groups: Sequence[Iterable[int]]) -> Any:
    """Merge the topics of each group in a copy of a fitted model.

    A merged topic is the average of its members, weighted by their shares of the tokens. In an
    `AsymmetricClustering` the tokens are weighted by ``object_weights_`` and sample weights. The
    share of a merged topic in a row is the sum of the shares of its members.

    The model is not fitted again, so merging topics that differ makes predictions worse. Compare
    the held-out perplexities, ``merged.perplexity(X) / model.perplexity(X)``. To continue the fit,
    set ``warm_start=True``. To use ``partial_fit``, call ``fit`` first.

    Parameters
    ----------
    model : fitted AspectModel, or AsymmetricClustering of rows
        The model, or a pipeline or search with such a model inside. It is not changed. Other models
        raise a TypeError.
    groups : sequence of iterables of int
        Numbers of the topics to merge. Each topic belongs to at most one group. Topics without a
        group are not changed.

    Returns
    -------
    merged : fitted estimator
        Estimator of the same class, with components in the order of their first members.
        ``n_components`` or ``n_clusters`` is their number. Names that you set are kept, except
        those of merged topics. The attributes ``history_``, ``objective_``, ``n_iter_``,
        ``converged_`` and ``splits_``, which describe a fit, are missing.

    Examples
    --------
    >>> from skcooc import AspectModel, datasets, inspection
    >>> X = datasets.make_cooccurrences(60, 40, n_components=4, random_state=0).X
    >>> model = AspectModel(4, random_state=0).fit(X)
    >>> merged = inspection.merge_topics(model, [[1, 3]])
    >>> merged.components_.shape, merged.transform(X[:2]).shape
    ((3, 40), (2, 3))
    """
    inner = _mergeable_model(model)
    K = len(inner.components_)
    listed = list(groups)
    if not all(isinstance(group, Iterable) for group in listed):
        raise TypeError(f"groups={listed} should be groups of topics, such as [[0, 1]].")
    members = [_check_topics(group, K) for group in listed]
    topics = [k for group in members for k in group]
    if len(set(topics)) < len(topics) or not all(members):
        raise ValueError(f"groups={members} should not be empty, nor name a topic twice.")
    if single := [group for group in members if len(group) == 1]:
        raise ValueError(f"groups={members} should have two topics or more, unlike {single[0]}.")
    rest = [[k] for k in range(K) if k not in topics]
    return _with_components(inner, sorted(members + rest, key=min))


@overload
def drop_topics(model: Merged, topics: Iterable[int]) -> Merged: ...
@overload
def drop_topics(model: Estimator, topics: Iterable[int]) -> Any: ...
def drop_topics(model: Estimator, topics: Iterable[int]) -> Any:
    """Drop some topics, such as meaningless ones, from a copy of a fitted model.

    The shares of the remaining topics are scaled to sum to one, in every row and over all tokens.
    The remaining topics may explain the rows much worse. Compare ``perplexity`` of held-out tokens
    before and after.

    Parameters
    ----------
    model : fitted AspectModel, or AsymmetricClustering of rows
        See :func:`merge_topics`.
    topics : iterable of int
        Numbers of the topics to drop. Unknown numbers, or all topics, raise a ValueError.

    Returns
    -------
    smaller : fitted estimator
        Estimator as returned by :func:`merge_topics`. A row that consists only of dropped topics
        gets the overall shares of the remaining topics.

    Examples
    --------
    >>> from skcooc import AspectModel, inspection
    >>> X = [[8, 4, 0, 0, 0, 0], [0, 0, 3, 9, 0, 0], [0, 0, 0, 0, 5, 6], [4, 2, 0, 0, 5, 6]]
    >>> model = AspectModel(3, beta=1, random_state=0).fit(X)
    >>> inspection.drop_topics(model, [1]).embedding_.sum(axis=1).round(6).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    inner = _mergeable_model(model)
    K = len(inner.components_)
    if not isinstance(topics, Iterable):
        raise TypeError(f"topics={topics} should be numbers of topics, such as [{topics}].")
    dropped = set(_check_topics(topics, K))
    if len(dropped) == K:
        raise ValueError(f"topics are all {K} topics of the model: keep at least one.")
    return _with_components(inner, [[k] for k in range(K) if k not in dropped])


@validated({"n_row_clusters": SIZE, "n_column_clusters": SIZE})
def merge_clusters(
    model: Estimator, n_row_clusters: int | None = None, n_column_clusters: int | None = None
) -> Any:
    """Cut the trees of a co-clustering: return a copy of a fitted model with fewer clusters.

    Clusters are merged in the order of ``merges_``, without another fit. You can interpret and draw
    the copy and apply it to new rows, like the model itself. So you can describe a table with many
    clusters at any level of its trees.

    Parameters
    ----------
    model : fitted SymmetricClustering
        The model, or a pipeline or search with such a model inside. It is not changed. Other models
        raise a TypeError. A model with ``tied=True`` raises an AttributeError.
    n_row_clusters, n_column_clusters : int, default=None
        Numbers of clusters to keep. If one is None, both trees are cut at the same height. It is
        the lowest height at which the other side has the given number of clusters. A ValueError is
        raised if both are None, or if the model has fewer clusters.

    Returns
    -------
    merged : fitted SymmetricClustering
        Model with clusters in the order of their first members. Names that you set are kept, except
        those of merged clusters. The attributes ``history_``, ``objective_``, ``n_iter_`` and
        ``converged_``, which describe a fit, are missing.

    See Also
    --------
    to_linkage : Tree of one side, or of a ClusterAbstraction, for SciPy, which can cut it.

    Examples
    --------
    >>> from skcooc import SymmetricClustering, inspection
    >>> X = [[9, 4, 0, 0], [5, 3, 1, 0], [0, 0, 2, 5], [0, 1, 6, 1]]
    >>> model = SymmetricClustering(3, 3, hard=True, random_state=0).fit(X)
    >>> merged = inspection.merge_clusters(model, n_row_clusters=2)
    >>> merged.row_labels_.tolist(), merged.column_labels_.tolist()
    ([0, 0, 1, 1], [1, 1, 0, 0])
    """
    inner = unwrap_coclustering(model).model
    sizes = n_row_clusters, n_column_clusters
    if sizes == (None, None):
        raise ValueError("Give n_row_clusters or n_column_clusters, or both.")
    for name, size, n in zip(inner.size_parameters, sizes, inner.joint_.shape, strict=True):
        if size is not None and size > n:
            raise ValueError(f"{name}={size} should be at most {n}, as many as the model has.")
    groups = [np.arange(n) for n in inner.joint_.shape]
    for merge in inner.merges_:
        numbers = [len(np.unique(labels)) for labels in groups]
        if all(size in (None, n) for size, n in zip(sizes, numbers, strict=True)):
            break
        if numbers[merge.axis] != sizes[merge.axis]:
            labels = groups[merge.axis]
            labels[labels == merge.second] = merge.first
    groups = [np.unique(labels, return_inverse=True)[1] for labels in groups]
    merged = inner.merged_clusters(*groups)
    members = [np.flatnonzero(groups[0] == c).tolist() for c in range(len(merged.joint_))]
    return _with_names(merged, inner, members)


class ResolvedModel(NamedTuple):
    """Factors of a model with K topics, N rows and M columns, and all names."""

    model: Any
    components: Array  # (K, M): P(y given z)
    mixtures: Array  # (N, K): P(z given x)
    row_distribution: Array  # (N,): P(x)
    columns: Array  # (M,): names
    names: list[str]  # of the topics

    @property
    def weights(self) -> Array:
        return models.topic_weights(self.model)


def resolve_model(
    model: Estimator, feature_names: ArrayLike | None, names: Names | None
) -> ResolvedModel:
    """Find the model inside of a pipeline or a search; TypeError if there is none."""
    unwrapped = models.unwrap(model, *FACTORS)
    inner = unwrapped.model
    columns = unwrapped.column_names(feature_names)
    return ResolvedModel(
        inner,
        np.asarray(inner.components_, dtype=np.float64),
        np.asarray(inner.embedding_, dtype=np.float64),
        np.asarray(inner.row_distribution_, dtype=np.float64),
        columns,
        override_names(names, name_topics(inner, columns)),
    )


def select_topics(weights: Array, topics: int | Sequence[int]) -> list[int]:
    """Topics of the largest weights, if a number is given; else the topics listed."""
    if isinstance(topics, int | np.integer):
        if topics < 1:
            raise ValueError(f"topics={topics} should be at least 1.")
        order: list[int] = np.argsort(-weights, kind="stable").tolist()
        return order[:topics]
    listed = list(topics)
    _refuse_mask(listed)
    if isinstance(topics, str) or not all(isinstance(k, int | np.integer) for k in listed):
        raise TypeError(f"topics={topics!r} should be a number of topics, or their numbers.")
    numbers = [int(k) for k in listed]
    if not numbers or not all(0 <= k < len(weights) for k in numbers):
        raise ValueError(f"topics={numbers} should be some of 0 to {len(weights) - 1}.")
    return numbers


def make_names(
    model: Any,
    q: Array,
    weights: Array,
    columns: Array,
    rows: Array | None = None,
    n_features: int = 3,
) -> list[str]:
    """Names of the components q (K, M) of a model, the largest weights (K,) first.

    Row clusters of co-clusterings are named after rows (N,), if these are given.
    """
    fixed = user_names(model)
    if rows is not None and hasattr(model, "column_labels_"):
        automatic = cluster_names(row_clusters(model), rows, n_features, fixed.values())
        return override_names(fixed, automatic)
    tree = getattr(model, "tree_", None)
    parts = divergence_parts(q, weights @ q, None if tree is None else tree.parents)
    order = most_probable(parts, 4 * n_features)
    names = dict[int, str]()
    for k in np.argsort(-weights, kind="stable").tolist():
        words = [str(columns[j]) for j in order[k] if parts[k, j] > 0]
        used = {*names.values(), *fixed.values()}
        names[k] = _unused_name(words, n_features, f"topic {k}", used)
    return override_names(fixed, [names[k] for k in range(len(q))])


def cluster_names(
    clusters: SideClusters, names: Array, n: int = 3, taken: Iterable[str] = ()
) -> list[str]:
    """Names of the clusters of one side, after their most frequent rows or columns."""
    words = [[str(names[i]) for i in members[: 4 * n]] for members in clusters.members]
    automatic = dict[int, str]()
    for k in np.argsort(-clusters.weights, kind="stable").tolist():
        automatic[k] = _unused_name(words[k], n, f"cluster {k}", {*automatic.values(), *taken})
    return [automatic[k] for k in range(len(words))]


def _unused_name(words: Sequence[str], n: int, number: str, used: set[str]) -> str:
    """The first n words or more, or with the number if all these names are used."""
    for length in range(n, max(n, len(words)) + 1):
        name = SEPARATOR.join(words[:length]) or number
        if name not in used:
            return name
    return SEPARATOR.join([*words[:n], number])


def user_names(model: object) -> dict[int, str]:
    return getattr(model, "component_names_", {})


def override_names(names: Names | Mapping[str, str] | None, automatic: Sequence[str]) -> list[str]:
    """Names given by position or by number, and automatic ones for the other topics."""
    numbered = {} if names is None else models.names_by_number(names, len(automatic))
    return [numbered.get(k, name) for k, name in enumerate(automatic)]


def _mergeable_model(model: Any) -> Any:
    inner = models.unwrap(model, "components_").model
    if not hasattr(inner, "merged"):
        raise TypeError(
            f"The components of {type(inner).__name__} cannot be merged or dropped: those of "
            "AspectModel can, and of AsymmetricClustering with axis='rows'."
        )
    return inner


def _refuse_mask(topics: Iterable[object]) -> None:
    if any(isinstance(k, bool | np.bool_) for k in topics):
        raise TypeError("Topics are given as a mask: give their numbers, np.flatnonzero(mask).")


def _check_topics(numbers: Iterable[int], K: int) -> list[int]:
    topics = list(numbers)
    _refuse_mask(topics)
    if unknown := [k for k in topics if k not in range(K)]:
        raise ValueError(f"There is no topic {unknown[0]}: topics are 0 to {K - 1}.")
    return [int(k) for k in topics]


def _with_components(inner: Any, members: Sequence[Sequence[int]]) -> Any:
    """A copy of the model with a component for each group of members."""
    shares: Array = np.zeros((len(inner.components_), len(members)))
    for number, group in enumerate(members):
        shares[group, number] = 1
    return _with_names(inner.merged(shares), inner, members)


def _with_names(new: Any, inner: Any, members: Sequence[Sequence[int]]) -> Any:
    """The new model, with the names set of components that are not merged."""
    names = user_names(inner)
    remaining = {g: names[k] for g, (k, *more) in enumerate(members) if k in names and not more}
    if remaining:
        new.component_names_ = remaining
    return new
