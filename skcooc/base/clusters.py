"""Labels and predictions of estimators whose rows have posteriors over clusters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skcooc.fitting.recipe import draw_seeds
from skcooc.protocol import Array, Block, Counts, RandomState, TableLike
from skcooc.protocol.bases import BaseEstimator, ClusterMixin
from skcooc.protocol.decorators import available_if
from skcooc.simplex import first_largest
from skcooc.starts.coclusters import best_sizes
from skcooc.tables import Table, is_out_of_core


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


def rows_with_counts(X: Counts) -> Array:
    """Return whether each row has counts, (N,), whatever its weight."""
    return np.asarray(X.collect_rows(X.map_blocks(_have_tokens)))


def _have_tokens(X: Block) -> Array:
    return X.row_sums > 0


def searched_n_clusters(table: Table, random_state: RandomState) -> dict[str, int]:
    """Return the number of row clusters of the best co-clusters that a search finds."""
    rng = np.random.default_rng(draw_seeds(random_state, 1)[0])
    n_clusters, _ = best_sizes(table.sample, rng)
    return {"n_clusters": n_clusters}


class RowClusterMixin(ClusterMixin):
    """Labels and predictions of estimators whose rows have posteriors over clusters."""

    embedding_: Array
    components_: Array
    fold_in: Callable[[Block], Array]
    _read_rows: Callable[..., Block]
    _map_blocks: Callable[[str, Callable[[Block], Array], TableLike, int], Array]

    @property
    def labels_(self) -> Array:
        """Most probable cluster of each training row, (N,); a dask array if X was one.

        Labels of empty rows are meaningless: such rows belong to no cluster.
        """
        return first_largest(self.embedding_)

    @available_if(_clusters_rows)
    def predict(self, X: TableLike) -> Array:
        """Most probable cluster of each row.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame, dask array, Dyads, or a table in blocks
            Of shape (n, M).

        Returns
        -------
        labels : (n,) array of int
            Clusters numbered as in ``labels_``. For a dask array, the result is a lazy dask array.

        Warns
        -----
        UserWarning
            If rows have no counts in the columns of the fit. Their labels are meaningless. For such
            rows ``predict_proba`` returns the prior probabilities of the clusters, and
            ``transform`` returns ``weights_``.
        """
        if is_out_of_core(X):
            return first_largest(self.predict_proba(X))
        check_is_fitted(self)
        return first_largest(self._posteriors(self._read_rows(X)))

    @available_if(_clusters_rows)
    def predict_proba(self, X: TableLike) -> Array:
        """Posterior probabilities of the clusters for each row.

        They are those of the model, whose tokens are independent given the cluster. In real rows
        they are not, so probabilities near 1 are exaggerated.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame, dask array, Dyads, or a table in blocks
            Of shape (n, M).

        Returns
        -------
        posteriors : (n, C) array
            For a dask array, the result is a lazy dask array.

        Warns
        -----
        UserWarning
            If rows have no counts in the columns of the fit, as in ``predict``.
        """
        check_is_fitted(self)
        if is_out_of_core(X):
            return self._map_blocks("predict_proba", self._posteriors, X, self._n_posteriors)
        return self._posteriors(self._read_rows(X))

    def _have_counts(self, table: Table) -> dict[str, Array]:
        """Return whether the items that are clustered have counts in the table fitted, by side."""
        return {"rows": rows_with_counts(table.counts)}

    def _posteriors(self, X: Block) -> Array:
        return self.fold_in(X)

    @property
    def _n_posteriors(self) -> int:
        return len(self.components_)
