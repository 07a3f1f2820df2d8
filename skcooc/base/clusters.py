"""Labels and predictions of the estimators that cluster rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.base import ClusterMixin
from sklearn.utils.metaestimators import available_if

from skcooc.protocol import Array
from skcooc.simplex import first_largest


def check_proportions(estimator: Any) -> None:
    """Raise ValueError where a hard clustering is to estimate prior probabilities."""
    if estimator.hard and estimator.proportions == "estimated":
        raise ValueError(
            "hard=True has no prior probabilities of clusters: it needs proportions='uniform'."
        )


def check_tied(estimator: Any, shape: tuple[int, int]) -> None:
    """Raise ValueError where one clustering cannot serve both sides."""
    if not estimator.hard:
        raise ValueError("tied=True is the class bigram model, which is hard: set hard=True.")
    if estimator.n_row_clusters != estimator.n_column_clusters:
        raise ValueError(
            "tied=True needs as many clusters of columns as of rows. Got "
            f"n_row_clusters={estimator.n_row_clusters} and "
            f"n_column_clusters={estimator.n_column_clusters}."
        )
    if shape[0] != shape[1]:
        raise ValueError(
            "tied=True needs a square X, whose rows and columns are the same objects. Got "
            f"shape {shape}."
        )
    if estimator.coarsening is not None:
        raise ValueError("tied=True moves one object at a time: it needs coarsening=None.")


def _clusters_rows(estimator: Any) -> bool:
    if getattr(estimator, "axis", "rows") == "columns":
        raise AttributeError("rows have no cluster where axis='columns'; see transform")
    return True


class RowClusterMixin(ClusterMixin):
    """Labels and predictions of estimators whose ``transform`` is P(cluster given row)."""

    embedding_: Array
    _checked: Callable[[Any], Any]
    _fold_in: Callable[[Any], Array]

    @property
    def labels_(self) -> Array:
        """Most probable cluster of each row fitted, (N,)."""
        return first_largest(self.embedding_)

    @available_if(_clusters_rows)
    def predict(self, X: Any) -> Array:
        """Most probable cluster of rows.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads

        Returns
        -------
        labels : (n,) array of int
        """
        return first_largest(self.predict_proba(X))

    @available_if(_clusters_rows)
    def predict_proba(self, X: Any) -> Array:
        """Posterior probabilities of the clusters of rows; the same as ``transform``.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads

        Returns
        -------
        posteriors : (n, K) array
        """
        return self._fold_in(self._checked(X))
