"""A fitted model as a table, in the data frame library of the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import StrOptions

from skcooc.inspection.blocks import two_sided
from skcooc.inspection.features import OF_ROWS
from skcooc.inspection.labels import Names, given, name_topics
from skcooc.inspection.names import HOW_MANY
from skcooc.inspection.ranking import ORDER, Order, masses, ranked
from skcooc.inspection.rows import representative_rows
from skcooc.inspection.sides import column_clusters, partners_of_rows
from skcooc.inspection.unwrapping import unwrap
from skcooc.protocol import Array, FactorModel
from skcooc.protocol.decorators import validated

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

AXES = {"rows": unwrap, "columns": two_sided}  # which model inside is meant


@validated(
    {"n_features": HOW_MANY, "n_rows": HOW_MANY, "order": ORDER, "axis": [StrOptions(set(AXES))]}
)
def describe(
    model: FactorModel, feature_names: ArrayLike | None = None, row_names: ArrayLike | None = None,
    *, n_features: int = 10, n_rows: int = 3, order: Order = "characteristic",
    axis: Literal["rows", "columns"] = "rows", names: Names | None = None, backend: str = "pandas",
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
        How many columns of each component at most.
    n_rows : int, default=3
        How many rows of each component at most.
    order : {"characteristic", "probable"}, default="characteristic"
        Which columns: those that distinguish a component, as :func:`characteristic_features` has
        them, of which there may be fewer; or the most probable ones of :func:`top_features`, which
        many components share. A single component has the most probable ones.
    axis : {"rows", "columns"}, default="rows"
        Whose clusters: "columns" are those of `SymmetricClustering`, which alone has them.
    names : sequence of K str, or dict of int to str, default=None
        Names of the components, or of some of them, for this table alone; the others have those of
        :func:`name_topics`. :func:`set_names` keeps names.
    backend : str, default="pandas"
        The library of the table: "pandas", "polars", "pyarrow" or another that narwhals knows.

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
            unlike ``weights_``, the prior, which it is where a table was read in blocks and no
            rows are kept.
        n_rows : int
            Number of rows of which it is the most probable component.
        features : list of str
            Names of columns, best first.
        probabilities : list of float
            P(y given z) of these columns.
        rows : list
            Names or positions of the most representative rows; see :func:`representative_rows`.
        intervals : list of pairs of float
            Of these probabilities over the members; only of the ``consensus_`` of `AveragedModels`.
        affinity : float
            How alike the component is in the members, a mean cosine; only of the same.
        goes_with : list of str
            Names of the clusters of the other side that it is observed with more often than by
            chance, those with the largest part of the mutual information first; only of
            `SymmetricClustering`.
        associations : list of float
            c_cd, how many times as often that is; only of the same.

        Where ``axis="columns"``, features are the members with the most observations, n_columns is
        the number of all members, probabilities are P(y given d), and there are no rows.

    Raises
    ------
    ImportError
        Where that library is not installed.
    ValueError
        Where there are not as many names as columns, rows or components, or narwhals knows
        no such library.
    TypeError
        Where the model has not all of these attributes, or no clusters of columns.

    Examples
    --------
    >>> from skcooc import AsymmetricClustering
    >>> from skcooc.inspection import describe
    >>> X = [[9, 1, 0], [5, 1, 0], [0, 1, 3]]
    >>> model = AsymmetricClustering(2, hard=True, random_state=0).fit(X)
    >>> table = describe(model, ["tea", "cup", "ball"], n_features=2)
    >>> large = table[table["weight"] > 0.5]
    >>> large[["weight", "n_rows", "features", "rows"]].round(3).values.tolist()
    [[0.8, 2, ['tea'], [0, 1]]]
    """
    found = AXES[axis](model, *OF_ROWS)
    model, words = found.model, found.column_names(feature_names)
    automatic = name_topics(model, words, row_names)
    if axis == "columns":
        return table_of(column_clusters(model, words, automatic, n_features, names), backend)
    P, shares = model.components_, np.asarray(model.embedding_)
    top = ranked(model, n_features, order)
    columns: dict[str, Array | Sequence[object]] = {
        "component": np.arange(len(P)),
        "name": given(names, automatic),
        "weight": masses(model),
        "n_rows": np.bincount(shares.argmax(axis=1), minlength=len(P)),
        "features": [[str(word) for word in words[of]] for of in top],
        "probabilities": [p[of].tolist() for p, of in zip(P, top, strict=True)],
        "rows": representative_rows(model, row_names, n_rows=n_rows),
    }
    columns |= _of_members(model, top) | partners_of_rows(model, words)
    return table_of(columns, backend)


def _of_members(model: Any, top: Sequence[Array]) -> dict[str, Array | Sequence[object]]:
    """How far the members of an average differ; nothing where a model has none."""
    if not hasattr(model, "component_intervals_"):
        return {}
    pairs = np.moveaxis(model.component_intervals_, 0, 2)  # (K, M, 2)
    intervals = [of_one[columns].tolist() for of_one, columns in zip(pairs, top, strict=True)]
    return {"intervals": intervals, "affinity": model.affinity_}


def table_of(columns: Mapping[str, Array | Sequence[object]], backend: str) -> IntoDataFrame:
    """The columns as a table of a library; ImportError where it is not installed."""
    import narwhals  # scikit-learn needs it too; only tables do here

    try:
        return narwhals.from_dict(columns, backend=backend).to_native()  # type: ignore[arg-type]
    except ImportError as error:
        raise ImportError(
            f"The table needs {backend} for backend={backend!r}. "
            f"Install it with `pip install {backend}`."
        ) from error
