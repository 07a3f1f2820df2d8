"""A fitted model as a table, in the data frame library of the user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from skcooc.inspection import features
from skcooc.inspection.features import ORDER, Order
from skcooc.inspection.frames import table_of
from skcooc.inspection.models import (
    FACTORS,
    HOW_MANY,
    Mixtures,
    Names,
    keeps_rows,
    kind_of,
    read_view,
    rows_by_topic,
    topic_weights,
    unwrap,
)
from skcooc.inspection.names import cluster_names, name_topics, override_names
from skcooc.inspection.shares import names_of_view, row_topics
from skcooc.protocol import Array, Estimator, TableLike, warn
from skcooc.protocol.decorators import validated
from skcooc.protocol.scikit_learn import StrOptions
from skcooc.simplex import nearest_other, warning_of_twins

if TYPE_CHECKING:
    import pandas
    import polars

AXES = {"rows": unwrap, "columns": features.unwrap_coclustering}
SIDES = [StrOptions(set(AXES))]
Columns = dict[str, Array | Sequence[object]]


@overload
def describe(
    model: Estimator, feature_names: ArrayLike | None = None, row_names: ArrayLike | None = None,
    *, X: TableLike | None = None, n_features: int = 10, n_rows: int = 3,
    order: Order = "characteristic", axis: Literal["rows", "columns"] = "rows",
    names: Names | None = None, backend: Literal["pandas"] = "pandas",
) -> pandas.DataFrame: ...  # fmt: skip
@overload
def describe(
    model: Estimator, feature_names: ArrayLike | None = ..., row_names: ArrayLike | None = ..., *,
    X: TableLike | None = ..., n_features: int = ..., n_rows: int = ..., order: Order = ...,
    axis: Literal["rows", "columns"] = ..., names: Names | None = ..., backend: Literal["polars"],
) -> polars.DataFrame: ...  # fmt: skip
@overload
def describe(
    model: Estimator, feature_names: ArrayLike | None = ..., row_names: ArrayLike | None = ..., *,
    X: TableLike | None = ..., n_features: int = ..., n_rows: int = ..., order: Order = ...,
    axis: Literal["rows", "columns"] = ..., names: Names | None = ..., backend: str,
) -> Any: ...  # fmt: skip
@validated({"n_features": HOW_MANY, "n_rows": HOW_MANY, "order": ORDER, "axis": SIDES})
def describe(
    model: Estimator, feature_names: ArrayLike | None = None, row_names: ArrayLike | None = None,
    *, X: TableLike | None = None, n_features: int = 10, n_rows: int = 3,
    order: Order = "characteristic", axis: Literal["rows", "columns"] = "rows",
    names: Names | None = None, backend: str = "pandas",
) -> Any:  # fmt: skip
    """Return a table with one line for each component, cluster, or node of a tree.

    Some entries are lists of equal length. For one line per feature, use
    ``table.explode(["features", "probabilities"])`` of pandas or polars.

    Parameters
    ----------
    model : fitted estimator
        A model with ``components_`` (K, M), ``embedding_`` (N, K) and ``row_distribution_`` (N,).
        Other models raise a TypeError.
    feature_names : array-like of shape (M,), default=None
        See :func:`top_features`.
    row_names : array-like of shape (N,), default=None
        See :func:`representative_rows`.
    X : array-like, sparse array or matrix, DataFrame of shape (N, M), or as a pipeline wants
        The training rows, or others. Shares are then those of :func:`topic_shares` and of
        `explore`, which pool the tokens of all rows. ``documents``, ``n_rows`` and ``rows`` are
        those of ``X``. With None, shares are averages of the mixtures of the training rows.
    n_features, n_rows : int, default=10 and 3
        Maximum numbers of columns and rows for each component.
    order : {"characteristic", "probable"}, default="characteristic"
        Columns to list for each component.

        - ``"characteristic"``: columns that distinguish the component
          (:func:`characteristic_features`), which may be fewer than ``n_features``. If there is
          only one component, the most probable columns.
        - ``"probable"``: the most probable columns (:func:`top_features`).
    axis : {"rows", "columns"}, default="rows"
        Clusters to describe. Only `SymmetricClustering` has clusters of columns.
    names : sequence of K str, or dict of int to str, default=None
        Names of all components, or of some, for this table only. The other components are named by
        :func:`name_topics`. To store names in the model, use :func:`set_names`.
    backend : str, default="pandas"
        Library of the table: "pandas", "polars", "pyarrow" or another that narwhals supports. A
        library that is not installed raises an ImportError, and one that narwhals does not support
        raises a ValueError.

    Returns
    -------
    table : data frame
        The table has these columns:

        component, name : int, str
            Number (the row in ``components_``) and name of the component.
        share : float
            Share of the component in the tokens. Without X it is sum_i P(x_i) P(z given x_i), or
            ``weights_`` after blocks of rows or `partial_fit`.
        documents, n_rows : float, int
            Share and number of the rows with tokens in which this component is the largest. After
            blocks of rows or `partial_fit`, which do not keep all rows, they are NaN and 0 without
            X.
        features, probabilities : lists of str and of float
            Names of columns, the best first, and their probabilities P(y given z).
        rows : list
            Names or positions of the most representative rows. See :func:`representative_rows`.
            Empty if the model does not keep its rows.
        nearest, distance : int, float
            Most similar other component, and its Hellinger distance. The distance is 0 for equal
            components, and 1 if they have no column in common. Missing if there is only one
            component.
        intervals, affinity : list of pairs of float, and float
            Intervals of the probabilities over the averaged models, and the mean affinity of the
            component with its matches in them. Only for the ``consensus_`` of `AveragedModels`.
        goes_with, associations : lists of str and of float
            Names of the clusters of the other side that co-occur with this cluster more often than
            by chance, and the ratios c_cd of observed to expected co-occurrences. The largest
            contributions to the mutual information come first. Only for `SymmetricClustering`.

        With ``axis="columns"``, ``features`` are the columns of the cluster with the most tokens,
        and ``probabilities`` are P(y given d). ``n_columns``, the number of columns with tokens in
        the cluster, replaces ``documents`` and ``n_rows``. ``rows``, ``nearest`` and ``distance``
        are missing.

    Warns
    -----
    UserWarning
        If two components that :func:`merge_topics` can merge have a distance below 0.2.

    See Also
    --------
    merge_clusters : Co-clustering with fewer clusters, to describe a coarser level.

    Examples
    --------
    >>> from skcooc import AsymmetricClustering, inspection
    >>> X = [[9, 1, 0], [5, 1, 0], [0, 1, 3]]
    >>> model = AsymmetricClustering(2, hard=True, random_state=0).fit(X)
    >>> table = inspection.describe(model, ["tea", "cup", "ball"], n_features=2)
    >>> large = table[table["share"] > 0.5]
    >>> large[["share", "documents", "features", "rows"]].round(3).values.tolist()
    [[0.8, 0.667, ['tea'], [0, 1]]]
    """
    unwrapped = AXES[axis](model, *FACTORS)
    inner: Any = unwrapped.model
    words = unwrapped.column_names(feature_names)
    shown = inner
    shares = topic_weights(inner)
    if X is None:
        automatic = name_topics(inner, words, row_names)
    else:
        view = read_view(model, X, feature_names, row_names)
        shares = row_topics(view).overall
        automatic = names_of_view(view, None)
        if not view.fitted:  # as of a model whose table was read in blocks
            shown = Mixtures(view.mixtures, view.fitted_weights * view.row_sums)
            row_names = view.rows if view.has_row_names else None
    if axis == "columns":
        return table_of(_column_side(inner, words, automatic, n_features, names), backend)
    P = inner.components_
    n_largest = rows_by_topic(shown)
    top = features.rank_columns(inner, n_features, order)
    columns: Columns = {
        "component": np.arange(len(P)),
        "name": override_names(names, automatic),
        "share": shares,
        "documents": n_largest / (n_largest.sum() or np.nan),  # no rows are kept of blocks
        "n_rows": n_largest,
        "features": [[str(word) for word in words[best]] for best in top],
        "probabilities": [p[best].tolist() for p, best in zip(P, top, strict=True)],
        "rows": (
            features.representative_rows(shown, row_names, n_rows=n_rows)
            if keeps_rows(shown)
            else [[] for _ in P]
        ),
    }
    if len(P) > 1:
        columns["nearest"], columns["distance"] = nearest_other(P)
        if hasattr(inner, "merged") and (message := warning_of_twins(P, noun=kind_of(inner))):
            warn(message)
    if hasattr(inner, "component_intervals_"):
        pairs = np.moveaxis(inner.component_intervals_, 0, 2)  # (K, M, 2)
        columns["intervals"] = [ends[best].tolist() for ends, best in zip(pairs, top, strict=True)]
        columns["affinity"] = inner.affinity_
    if hasattr(inner, "column_labels_"):
        column_names = cluster_names(features.column_clusters(inner), words)
        columns |= _associations(np.asarray(inner.joint_), column_names)
    return table_of(columns, backend)


def _column_side(
    model: Any, words: Array, row_clusters: Sequence[str], n_features: int, names: Names | None
) -> Columns:
    """A line for each cluster of columns, with associated clusters of rows."""
    clusters = features.column_clusters(model)
    weights = clusters.weights
    members = clusters.members
    top = [cluster[:n_features] for cluster in members]
    joint = clusters.masses[:, None] * clusters.posteriors
    P = np.divide(joint, weights, out=np.zeros_like(joint), where=weights > 0)
    return {
        "component": np.arange(len(weights)),
        "name": override_names(names, cluster_names(clusters, words)),
        "share": weights,
        "n_columns": np.array([len(cluster) for cluster in members]),
        "features": [[str(word) for word in words[best]] for best in top],
        "probabilities": [P[best, d].tolist() for d, best in enumerate(top)],
        **_associations(np.asarray(model.joint_).T, row_clusters),
    }


def _associations(joint: Array, names: Sequence[str]) -> Columns:
    associated = features.associated_clusters(joint.astype(np.float64))
    return {
        "goes_with": [[names[d] for d in clusters] for clusters, _ in associated],
        "associations": [ratios.tolist() for _, ratios in associated],
    }
