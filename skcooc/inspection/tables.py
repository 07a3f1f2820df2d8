"""A fitted model as a table, in the data frame library of the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import validate_params

from skcooc.inspection.features import top_features
from skcooc.inspection.frames import data_frame
from skcooc.inspection.labels import given, name_topics
from skcooc.inspection.names import HOW_MANY, check_has, most_probable
from skcooc.inspection.rows import representative_rows
from skcooc.protocol import Array, FactorModel

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame


@validate_params({"n_features": HOW_MANY, "n_rows": HOW_MANY}, prefer_skip_nested_validation=True)
def describe(
    model: FactorModel, feature_names: ArrayLike | None = None, row_names: ArrayLike | None = None,
    n_features: int = 10, n_rows: int = 3, *, backend: str = "pandas",
    names: Sequence[str] | Mapping[int, str] | None = None,
) -> IntoDataFrame:  # fmt: skip
    """A table with a line for each component, cluster, or node of a hierarchy.

    Some entries are lists, which belong together by their places: to have a line for each feature
    of each component, as for a plot or a join, write
    ``table.explode(["features", "probabilities"])``, in pandas as in polars.

    Parameters
    ----------
    model : fitted estimator
        With ``components_`` (K, M), ``embedding_`` (N, K) and ``row_distribution_`` (N,).
    feature_names : array-like of shape (M,), default=None
        See :func:`top_features`.
    row_names : array-like of shape (N,), default=None
        See :func:`representative_rows`.
    n_features : int, default=10
        How many columns of each component; all where there are no more.
    n_rows : int, default=3
        How many rows of each component at most.
    backend : str, default="pandas"
        The library of the table: "pandas", "polars", "pyarrow" or another that narwhals knows.
    names : sequence of K str, or dict of int to str, default=None
        Names of the components, or of some of them; the others have those of :func:`name_topics`.

    Returns
    -------
    table : data frame of that library
        With the columns

        component : int
            Its number, which is its row in ``components_``.
        name : str
            What it is called.
        weight : float
            Share of the observations, sum_i P(x_i) P(z given x_i). It is the same for all models,
            unlike ``weights_``, the prior.
        n_rows : int
            Number of rows of which it is the most probable component.
        features : list of str
            Names of the most probable columns, best first.
        probabilities : list of float
            P(y given z) of these columns.
        rows : list
            Names or positions of the most representative rows; see :func:`representative_rows`.
        intervals : list of pairs of float
            Of these probabilities over the members; only of the ``consensus_`` of `AveragedModels`.
        affinity : float
            How alike the component is in the members, a mean cosine; only of the same.

    Raises
    ------
    ImportError
        Where that library is not installed.
    ValueError
        Where there are not as many names as columns, rows or components, or narwhals knows
        no such library.
    TypeError
        Where the model has not all of these attributes.

    Examples
    --------
    >>> from skcooc import AsymmetricClustering
    >>> from skcooc.inspection import describe
    >>> X = [[9, 1, 0], [5, 1, 0], [0, 1, 3]]
    >>> model = AsymmetricClustering(2, hard=True, random_state=0).fit(X)
    >>> table = describe(model, ["tea", "cup", "ball"], n_features=2)
    >>> large = table[table["weight"] > 0.5]
    >>> large[["weight", "n_rows", "features", "rows"]].round(3).values.tolist()
    [[0.8, 2, ['tea', 'cup'], [0, 1]]]
    """
    check_has(model, "components_", "embedding_", "row_distribution_")
    P, shares = model.components_, np.asarray(model.embedding_)
    top = most_probable(P, n_features)
    columns: dict[str, Array | Sequence[object]] = {
        "component": np.arange(len(P)),
        "name": given(names, name_topics(model, feature_names)),
        "weight": np.asarray(model.row_distribution_ @ shares, dtype=np.float64),
        "n_rows": np.bincount(shares.argmax(axis=1), minlength=len(P)),
        "features": top_features(model, n_features, feature_names),
        "probabilities": np.take_along_axis(P, top, axis=1).tolist(),
        "rows": representative_rows(model, n_rows, row_names),
    }
    return data_frame({**columns, **_of_members(model, top)}, backend, "describe")


def _of_members(model: Any, top: Array) -> dict[str, Array | Sequence[object]]:
    """How far the members of an average differ; nothing where a model has none."""
    if not hasattr(model, "component_intervals_"):
        return {}
    low, high = (np.take_along_axis(of, top, axis=1) for of in model.component_intervals_)
    return {"intervals": np.stack([low, high], axis=2).tolist(), "affinity": model.affinity_}
