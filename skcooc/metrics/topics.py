"""Quality of topics by their most probable columns, for any estimator."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import chain
from numbers import Integral
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_scalar

from skcooc.metrics.validation import check_column_order, check_counts
from skcooc.protocol import CSR, Array, TableLike, refuse_objects, warn
from skcooc.tables import as_names, columns_of, in_another_order

Names: TypeAlias = Sequence[Sequence[str]]  # the top columns of each topic, best first


def npmi_coherence(
    components: ArrayLike | Names, X: TableLike, n_features: int = 10, *,
    feature_names: ArrayLike | None = None,
) -> Array:  # fmt: skip
    """NPMI coherence: how often the top columns of each topic occur in the same rows.

    For two columns that occur in shares p and q of the rows, and together in a share r,

        NPMI = log(r / (p q)) / (-log r),

    which is 1 if they occur only together, 0 if they are independent and -1 if they never occur
    together. The coherence of a topic is the mean over all pairs of its top columns. It counts
    whole rows, not windows of words, so values are not comparable with other conventions.

    Parameters
    ----------
    components : array-like of shape (K, M), or sequence of K sequences of str
        P(y given z), as ``components_`` of any estimator; it need not be normalised. Or the top
        columns by name, best first, such as :func:`skcooc.inspection.top_features` returns; then
        ``feature_names`` is needed.
    X : array-like, sparse array or matrix of shape (n, M)
        Counts of a reference corpus; only non-zeros matter, and empty rows count. Rows that were
        not fitted are the stricter test.
    n_features : int, default=10
        Number of top columns of each topic.
    feature_names : array-like of shape (M,), default=None
        Names of the columns of X.

    Returns
    -------
    coherence : (K,) array
        In [-1, 1]. Pairs that never occur together count -1, also if one of them is not in X at
        all; pairs that occur in every row count 1. NaN for topics of fewer than two columns.

    Raises
    ------
    ValueError
        If X holds distributions with few zeros, such as components, instead of counts; if a topic
        names a column twice.

    Warns
    -----
    UserWarning
        If columns of the topics never occur in X: their pairs say nothing about the topics.

    References
    ----------
    G. Bouma, Normalized (pointwise) mutual information in collocation extraction, GSCL, 2009.

    J. H. Lau, D. Newman and T. Baldwin, Machine reading tea leaves: automatically evaluating topic
    coherence and topic model quality, EACL, 2014.

    Examples
    --------
    >>> from skcooc.metrics import npmi_coherence
    >>> X = [[1, 2, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    >>> names = ["tea", "cup", "goal", "ball"]
    >>> npmi_coherence([["cup", "tea"], ["tea", "goal"]], X, feature_names=names)
    array([ 1., -1.])
    """
    counts = check_counts(X)
    if 2 * counts.nnz > np.prod(counts.shape) and np.allclose(counts.sum(axis=1), 1):
        raise ValueError(
            "X holds distributions with few zeros, such as components_, not counts: "
            "npmi_coherence(components, X) takes counts of a corpus second."
        )
    occurs = counts.tocsc()
    occurs.data[:] = 1.0
    components = _to_list(components)
    top: Sequence[Sequence[Hashable]] = _top_columns(components, n_features)
    topics = top
    if _are_names(components):
        if feature_names is None:
            raise ValueError(
                "topics given by names need feature_names, the names of the columns of X"
            )
        columns = list(map(str, as_names(feature_names).tolist()))
        place: dict[Hashable, int] = {name: j for j, name in enumerate(columns)}
        if not len(place) == len(columns) == occurs.shape[1]:
            raise ValueError(
                f"feature_names has {len(columns)} names, {len(place)} different ones, "
                f"but X has {occurs.shape[1]} columns"
            )
        fitted = columns_of(X)
        if fitted is not None and in_another_order(columns, fitted):
            raise ValueError("feature_names are the columns of X in another order: give X.columns.")
        topics = [[place.get(name, -1) for name in topic] for topic in topics]
    else:
        check_column_order(X, components=components)
        n_columns = np.shape(components)[1]
        if n_columns != occurs.shape[1]:
            raise ValueError(
                f"X has {occurs.shape[1]} columns, but the components have {n_columns}"
            )
    places = [np.asarray(topic, dtype=int) for topic in topics]
    never = np.append(occurs.sum(axis=0) == 0, True)  # the last: those that are not in X at all
    absent = [
        name
        for names, topic in zip(top, places, strict=True)
        for name in np.asarray(names, dtype=object)[never[topic]]
    ]
    if absent:
        warn(
            f"{len(set(absent))} of the {len({name for names in top for name in names})} top "
            f"columns of the topics never occur in X, such as {absent[0]!r}: their pairs count "
            "as -1 and say nothing about the topics. Use a corpus that contains them, counted "
            "with the fitted vectorizer."
        )
    return np.array([_coherence(occurs, topic) for topic in places])


def topic_diversity(components: ArrayLike | Names, n_features: int = 25) -> float:
    """Share of different columns among the top columns of all topics.

    Parameters
    ----------
    components : array-like of shape (K, M), or sequence of K sequences of str
        As in `npmi_coherence`.
    n_features : int, default=25
        Number of top columns of each topic; all columns if there are no more.

    Returns
    -------
    diversity : float
        1 if no two topics share a column, 1 / K if all have the same.

    References
    ----------
    A. B. Dieng, F. J. R. Ruiz and D. M. Blei, Topic modeling in embedding spaces, TACL 8, 439-453,
    2020.

    Examples
    --------
    >>> from skcooc.metrics import topic_diversity
    >>> topic_diversity([["tea", "cup"], ["goal", "cup"]])
    0.75
    """
    topics = _top_columns(_to_list(components), n_features)
    columns = [column for topic in topics for column in topic]
    return len(set(columns)) / len(columns)


def _to_list(components: Any) -> Any:
    """Convert a column of a data frame, such as "features" of ``describe``, to lists."""
    return components.to_list() if hasattr(components, "to_list") else components


def _are_names(components: ArrayLike | Names) -> TypeGuard[Names]:
    if isinstance(components, np.ndarray):
        return components.dtype.kind in "UO" and components.ndim == 2
    topics = components if isinstance(components, Sequence) else ()
    if any(isinstance(t, str) or not isinstance(t, Sequence | np.ndarray) for t in topics):
        return False
    return isinstance(next(chain(*topics), None), str)


def _top_columns(components: ArrayLike | Names, n_features: int) -> list[list[Hashable]]:
    check_scalar(n_features, "n_features", Integral, min_val=1)
    options = {"of_anndata": "adata.varm['topics'].T", "of_model": "its components_"}
    refuse_objects(components, "components", "topics", **options)
    if _are_names(components):
        for k, topic in enumerate(components):
            if len(set(topic)) < len(topic):
                twice = next(name for i, name in enumerate(topic) if name in topic[:i])
                raise ValueError(
                    f"Topic {k} names the column {twice!r} twice: give each of its columns once."
                )
        return [list[Hashable](topic)[:n_features] for topic in components]
    sizes = check_array(components, dtype=[np.float64, np.float32])
    order = np.argsort(-sizes, axis=1, kind="stable")
    return [columns.tolist() for columns in order[:, :n_features]]


def _coherence(occurs: CSR, topic: Array) -> float:
    """Mean NPMI of all pairs of columns of a topic, from an (n, M) occurrence matrix."""
    in_X = np.flatnonzero(topic >= 0)
    columns = occurs[:, topic[in_X]]
    together = np.zeros((len(topic), len(topic)))  # shares of the rows
    together[np.ix_(in_X, in_X)] = (columns.T @ columns).toarray() / occurs.shape[0]
    p = np.diag(together)
    pairs = np.triu_indices(len(topic), k=1)
    r = together[pairs]
    independent = np.outer(p, p)[pairs]
    npmi = np.where(r > 0, 1.0, -1.0)
    inner = (r > 0) & (r < 1)
    npmi[inner] = np.log(r[inner] / independent[inner]) / -np.log(r[inner])
    return float(npmi.mean()) if len(npmi) else np.nan
