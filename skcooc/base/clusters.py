"""Labels and predictions of fitted clusterings, trees and projections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from skcooc.em import State
from skcooc.equations.projections import (
    ClusterPosterior,
    Collapsed,
    FoldInParams,
    MeanField,
    cluster_terms,
    clusters_of,
    collapsed_bounds,
    projections,
)
from skcooc.hierarchy import Tree
from skcooc.protocol import CSR, Array, Block, TableLike
from skcooc.protocol.decorators import available_if
from skcooc.simplex import first_largest
from skcooc.tables import is_collection


def check_proportions(hard: bool, proportions: str) -> None:
    """Raise ValueError where a hard clustering would estimate prior probabilities."""
    if hard and proportions == "estimated":
        raise ValueError(
            "hard=True has no prior probabilities of clusters: it needs proportions='uniform'."
        )


def _clusters_rows(estimator: BaseEstimator) -> bool:
    if getattr(estimator, "axis", "rows") == "columns":
        raise AttributeError("rows have no cluster where axis='columns'; see transform")
    return True


class RowClusterMixin(ClusterMixin):
    """Labels and predictions of estimators whose rows have posteriors over clusters."""

    embedding_: Array
    _checked: Callable[[TableLike], Block]
    components_: Array
    fold_in: Callable[[Block], Array]
    _lazily: Callable[[str, TableLike, int], Array]

    @property
    def labels_(self) -> Array:
        """Most probable cluster of each training row, (N,); a dask array where X was one."""
        return first_largest(self.embedding_)

    @available_if(_clusters_rows)
    def predict(self, X: TableLike) -> Array:
        """Most probable cluster of rows.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame or dask array of shape (n, M), or Dyads

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
        X : array-like, sparse array or matrix, DataFrame or dask array of shape (n, M), or Dyads

        Returns
        -------
        posteriors : (n, C) array
            A lazy dask array where X is one.
        """
        check_is_fitted(self)
        if is_collection(X):
            return self._lazily("predict_proba", X, len(self.components_))
        return self.fold_in(self._checked(X))


class TreeMixin(ClusterMixin):
    """Tree, labels and predictions of fitted hierarchies."""

    embedding_: Array
    row_distribution_: Array
    _state: State
    _fitted_model: Any
    _checked: Callable[[TableLike], Block]
    _row_states: Callable[[Block], Array]
    _lazily: Callable[[str, TableLike, int], Array]

    @property
    def tree_(self) -> Tree:
        """Parents, depths, leaves and paths of the nodes."""
        check_is_fitted(self)
        return self._fitted_model.tree

    @property
    def n_clusters_(self) -> int:
        """Number of leaves of the tree."""
        return len(self.tree_.leaves)

    @property
    def posteriors_(self) -> Array:
        """P(c given x_i), (N, K)."""
        return self._fitted_model.leaves(self._state.rows)

    @property
    def labels_(self) -> Array:
        """Most probable cluster of training rows, (N,); cluster k is ``tree_.leaves[k]``."""
        return first_largest(self.posteriors_)

    @property
    def node_weights_(self) -> Array:
        """Share of the tokens at each node, (V,)."""
        return np.asarray(self.row_distribution_ @ self.embedding_)

    def decision_path(self, X: TableLike) -> CSR:
        """Return the nodes from the root to the most probable leaf of rows.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads

        Returns
        -------
        indicator : CSR array of shape (n, V), bool
        """
        return sp.csr_array(self.tree_.above)[self.predict(X)]

    def predict(self, X: TableLike) -> Array:
        """Most probable cluster of rows, (n,), numbered as in ``labels_``; lazy for dask."""
        return first_largest(self.predict_proba(X))

    def predict_proba(self, X: TableLike) -> Array:
        """P(c given x) of rows, (n, K); lazy where X is a dask array."""
        check_is_fitted(self)
        if is_collection(X):
            return self._lazily("predict_proba", X, self.n_clusters_)
        rows = self._row_states(self._checked(X))
        return self._fitted_model.leaves(rows)


class ProjectionMixin(ClusterMixin):
    """Clusters and predictions of fitted clustering-projections."""

    inference: str
    beta_: float
    objective_: float
    smoothing_: float
    unigram_: Array
    _state: State
    _fitted_model: Any
    _checked: Callable[[TableLike], Block]
    _folding: Callable[[], tuple[Collapsed, FoldInParams]]
    _lazily: Callable[[str, TableLike, int], Array]
    _settled: Callable[..., Array]
    _over_rows: Callable[[Callable[[Block], Array], Block], Array]
    _row_log_likelihoods: Callable[[Block, Array, Array], Array]

    @property
    def labels_(self) -> Array:
        """Most probable cluster of each training row, (N,)."""
        check_is_fitted(self)
        params, rows = self._state
        labels = np.empty(len(rows), dtype=np.int64)
        for chunk, psi in self._fitted_model.memberships(params, rows):
            labels[chunk] = first_largest(psi)
        return labels

    @property
    def n_clusters_(self) -> int:
        """Number of clusters that have rows."""
        return len(self.cluster_weights_)

    @property
    def cluster_centers_(self) -> Array:
        """Mean centers E[theta_c], ``(n_clusters_, K)``."""
        return self._clusters.centers

    @property
    def cluster_weights_(self) -> Array:
        """Mean weights E[pi_c], ``(n_clusters_,)``."""
        return self._clusters.weights

    @property
    def lower_bound_(self) -> float:
        """Bound at the last E-step, eq. (5), in nats; of the power posterior at beta < 1."""
        check_is_fitted(self)
        return -self.beta_ * self.objective_

    @property
    def alpha_(self) -> float:
        """Parameter of the prior Dir(alpha / C, ..., alpha / C) of the cluster weights."""
        check_is_fitted(self)
        return float(self._state.params.alpha)

    @property
    def lambda_(self) -> Array:
        """Parameter of the prior Dir(lambda) of the centers, (K,)."""
        check_is_fitted(self)
        lambda_: Array = self._state.params.lambda_
        return lambda_

    def predict(self, X: TableLike) -> Array:
        """Most probable cluster of rows, (n,), below ``n_clusters_``; lazy for dask."""
        return first_largest(self.predict_proba(X))

    def predict_proba(self, X: TableLike) -> Array:
        """P(c given x) of rows, ``(n, n_clusters_)``; lazy where X is a dask array."""
        check_is_fitted(self)
        if is_collection(X):
            return self._lazily("predict_proba", X, self.n_clusters_)
        return self._row_states(self._checked(X))

    def project(self, X: TableLike) -> Array:
        """Return the mean topics of the tokens of rows.

        ``transform`` gives the topics expected of further tokens of a row; ``project`` those of its
        own tokens, sum_j n_ij phi_ijk / n_i, eq. (8) of Yu et al. (2005).

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads

        Returns
        -------
        projections : (n, K) array
        """
        rows, (_, params) = self._checked(X), self._folding()
        psi = self._row_states(rows)
        return self._over_rows(lambda counts: projections(counts, params, psi), rows)

    def bound(self, X: TableLike) -> Array:
        """Lower bounds of the log-likelihoods of whole new rows.

        With ``inference="variational"``, the mean-field bound of eq. (5) of Yu et al. (2005):
        exp(-bound(X).sum() / X.sum()) is the perplexity that they report. Otherwise clusters are
        summed out: a tighter bound, not comparable with mean-field bounds such as LDA's. Topics are
        smoothed as in ``score``.

        Weights and centers of clusters are uncertain here. ``row_log_likelihood`` takes their means
        and is never smaller.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads

        Returns
        -------
        bounds : (n,) array
            Nats per row.
        """
        rows, (_, params), s = self._checked(X), self._folding(), self.smoothing_
        background = self.unigram_[:, None].astype(params.topics.dtype)
        params = params._replace(topics=(1 - s) * params.topics + s * background)
        if self.inference == "collapsed":
            return self._over_rows(lambda counts: collapsed_bounds(counts, params), rows)
        psi = self._row_states(rows)
        A = np.exp(psi @ params.log_centers)
        return cluster_terms(params, psi) + self._row_log_likelihoods(rows, A, params.topics)

    @property
    def _clusters(self) -> ClusterPosterior:
        check_is_fitted(self)
        return clusters_of(self._state.params)

    def _row_states(self, X: Block) -> Array:
        model, params = self._folding()
        psi = self._settled(model, params, X)
        return (
            self._settled(MeanField(), params, X, psi) if self.inference == "variational" else psi
        )
