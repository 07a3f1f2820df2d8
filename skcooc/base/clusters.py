"""Labels and predictions of estimators whose rows have posteriors over clusters."""

from __future__ import annotations

from collections.abc import Callable

from sklearn.utils.validation import check_is_fitted

from skcooc.protocol import Array, Block, TableLike
from skcooc.protocol.bases import BaseEstimator, ClusterMixin
from skcooc.protocol.decorators import available_if
from skcooc.simplex import first_largest
from skcooc.tables import is_out_of_core


def check_hard(hard: bool, proportions: str, annealing: float | None = None) -> None:
    """Raise ValueError where a hard clustering would estimate probabilities, or be annealed."""
    if hard and proportions == "estimated":
        raise ValueError(f"With hard=True set proportions='uniform', got {proportions!r}.")
    if hard and annealing is not None:
        raise ValueError(f"hard=True has no temperature: it needs annealing=None, got {annealing}.")


def _clusters_rows(estimator: BaseEstimator) -> bool:
    if getattr(estimator, "axis", "rows") == "columns":
        raise AttributeError(
            "predict gives clusters of rows, but axis='columns' clusters the columns: use "
            "transform for rows, and labels_ for columns."
        )
    return True


class RowClusterMixin(ClusterMixin):
    """Labels and predictions of estimators whose rows have posteriors over clusters."""

    embedding_: Array
    components_: Array
    fold_in: Callable[[Block], Array]
    _read_rows: Callable[[TableLike], Block]
    _map_blocks: Callable[[str, TableLike, int], Array]

    @property
    def labels_(self) -> Array:
        """Most probable cluster of each training row, (N,); a dask array where X was one."""
        return first_largest(self.embedding_)

    @available_if(_clusters_rows)
    def predict(self, X: TableLike) -> Array:
        """Most probable cluster of rows.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame, dask array, Dyads, or a table in blocks
            Of shape (n, M).

        Returns
        -------
        labels : (n,) array of int
            Clusters numbered as in ``labels_``. A lazy dask array where X is one.
        """
        return first_largest(self.predict_proba(X))

    @available_if(_clusters_rows)
    def predict_proba(self, X: TableLike) -> Array:
        """Posterior probabilities of the clusters of rows.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame, dask array, Dyads, or a table in blocks
            Of shape (n, M).

        Returns
        -------
        posteriors : (n, C) array
            A lazy dask array where X is one.
        """
        check_is_fitted(self)
        if is_out_of_core(X):
            return self._map_blocks("predict_proba", X, self._n_posteriors)
        return self._posteriors(self._read_rows(X))

    def _posteriors(self, X: Block) -> Array:
        return self.fold_in(X)

    @property
    def _n_posteriors(self) -> int:
        return len(self.components_)
