"""Clusters of fitted estimators: labels and predictions of rows, trees and projections."""

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
    """Raise ValueError where a hard clustering is to estimate prior probabilities."""
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
    _fold_in: Callable[[Block], Array]
    _lazily: Callable[[str, TableLike, int], Array]

    @property
    def labels_(self) -> Array:
        """Most probable cluster of each row fitted, (N,); a dask array where X was one."""
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
            In the order of ``labels_``. Lazy, as from ``transform``, where X is a dask array.
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
            A column for each cluster that ``predict`` can name.
        """
        check_is_fitted(self)
        if is_collection(X):
            return self._lazily("predict_proba", X, len(self.components_))
        return self._fold_in(self._checked(X))


class TreeMixin(ClusterMixin):
    """What a fitted hierarchy knows of its leaves, and of new rows."""

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
        """Most probable cluster of each row fitted, (N,); cluster k is ``tree_.leaves[k]``."""
        return first_largest(self.posteriors_)

    @property
    def node_weights_(self) -> Array:
        """Share of the observations at each node, (V,)."""
        return np.asarray(self.row_distribution_ @ self.embedding_)

    def decision_path(self, X: TableLike) -> CSR:
        """The nodes above the most probable cluster of rows, and its leaf.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads

        Returns
        -------
        indicator : CSR array of shape (n, V), bool
        """
        return sp.csr_array(self.tree_.above)[self.predict(X)]

    def predict(self, X: TableLike) -> Array:
        """Most probable leaf of rows, (n,); cluster k is ``tree_.leaves[k]``.

        Lazy where X is a dask array.
        """
        return first_largest(self.predict_proba(X))

    def predict_proba(self, X: TableLike) -> Array:
        """P(c given x) of rows, (n, K); lazy where X is a dask array."""
        check_is_fitted(self)
        if is_collection(X):
            return self._lazily("predict_proba", X, self.n_clusters_)
        rows = self._row_states(self._checked(X))
        return self._fitted_model.leaves(rows)


class ProjectionMixin(ClusterMixin):
    """What a fitted clustering-projection knows of its clusters, and of new rows."""

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
        """Most probable cluster of each row fitted, (N,)."""
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
        """E[theta_c], ``(n_clusters_, K)``."""
        return self._clusters.centers

    @property
    def cluster_weights_(self) -> Array:
        """E[pi_c], ``(n_clusters_,)``."""
        return self._clusters.weights

    @property
    def lower_bound_(self) -> float:
        """The bound at the last E-step, eq. (5), in nats; of the power posterior at beta < 1."""
        check_is_fitted(self)
        return -self.beta_ * self.objective_

    @property
    def alpha_(self) -> float:
        """The prior of the weights of clusters is Dir(alpha / C, ..., alpha / C)."""
        check_is_fitted(self)
        return float(self._state.params.alpha)

    @property
    def lambda_(self) -> Array:
        """The prior of the centers is Dir(lambda), (K,)."""
        check_is_fitted(self)
        lambda_: Array = self._state.params.lambda_
        return lambda_

    def predict(self, X: TableLike) -> Array:
        """Most probable cluster of rows, in ``0 .. n_clusters_ - 1``, (n,).

        Lazy where X is a dask array.
        """
        return first_largest(self.predict_proba(X))

    def predict_proba(self, X: TableLike) -> Array:
        """Posterior probabilities of the clusters of rows, ``(n, n_clusters_)``.

        Lazy where X is a dask array.
        """
        check_is_fitted(self)
        if is_collection(X):
            return self._lazily("predict_proba", X, self.n_clusters_)
        return self._row_states(self._checked(X))

    def project(self, X: TableLike) -> Array:
        """The projections of rows: the mean topics of their own observations.

        Where ``transform`` is what the cluster of a row leads one to expect of further
        observations, this is what its own observations are: sum_j n_ij phi_ijk / n_i, eq. (8).

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
        """Lower bounds of the log-likelihoods of whole new rows, at the clusters fitted.

        With ``inference="variational"`` that of eq. (5), a mean field of clusters and topics:
        exp(-bound(X).sum() / X.sum()) is then the perplexity that the authors report. Otherwise
        clusters are summed out, and the bound is never less: it compares with no mean field, such
        as LDA's. Topics are smoothed as all that is scored is.

        Weights and centers of the clusters are uncertain here, which costs something;
        ``row_log_likelihood`` takes them at their means, and is never less.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads

        Returns
        -------
        bounds : (n,) array
            Nats for each row.
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
