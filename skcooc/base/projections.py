"""Attributes and predictions of estimators whose rows have clusters in a space of topics."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from skcooc.em import State
from skcooc.equations.at_centers import (
    Collapsed,
    MeanField,
    Params,
    cluster_terms,
    collapsed_bounds,
    projections,
)
from skcooc.equations.projections import clusters_of
from skcooc.protocol import Array
from skcooc.simplex import first_largest


class ProjectionMixin(ClusterMixin):
    """What a fitted clustering-projection knows of its clusters, and of new rows."""

    inference: str
    beta_: float
    objective_: float
    smoothing_: float
    unigram_: Array
    _state: State
    _fitted_model: Any
    _checked: Any
    _checked_row_states: Any
    _settled: Any
    _over_rows: Any
    _row_log_likelihoods: Any

    @property
    def labels_(self) -> Array:
        """Most probable cluster of each row fitted, (N,)."""
        params, (rows,) = self._fitted_state
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
        return clusters_of(self._fitted_state.params).centers

    @property
    def cluster_weights_(self) -> Array:
        """E[pi_c], ``(n_clusters_,)``."""
        return clusters_of(self._fitted_state.params).weights

    @property
    def lower_bound_(self) -> float:
        """The bound at the last E-step, eq. (5), in nats; of the power posterior at beta < 1."""
        check_is_fitted(self)
        return -self.beta_ * self.objective_

    @property
    def alpha_(self) -> float:
        """The prior of the weights of clusters is Dir(alpha / C, ..., alpha / C)."""
        return float(self._fitted_state.params.alpha)

    @property
    def lambda_(self) -> Array:
        """The prior of the centers is Dir(lambda), (K,)."""
        lambda_: Array = self._fitted_state.params.lambda_
        return lambda_

    def predict(self, X: Any) -> Array:
        """Most probable cluster of rows.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads

        Returns
        -------
        labels : (n,) array of int
            In ``0 .. n_clusters_ - 1``.
        """
        return first_largest(self.predict_proba(X))

    def predict_proba(self, X: Any) -> Array:
        """Posterior probabilities of the clusters of rows.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads

        Returns
        -------
        posteriors : ``(n, n_clusters_)`` array
        """
        posteriors: Array = self._checked_row_states(X)
        return posteriors

    def project(self, X: Any) -> Array:
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
        X = self._checked(X)
        psi, params = self._row_states(X), self._prediction_params()
        mixtures: Array = self._over_rows(lambda counts: projections(counts, params, psi), X)
        return mixtures

    def bound(self, X: Any) -> Array:
        """Lower bounds of the log-likelihoods of whole new rows, eq. (5), at the clusters fitted.

        exp(-bound(X).sum() / X.sum()) is the perplexity that the authors report, with all
        observations of a row known. Topics are smoothed as all that is scored is.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads

        Returns
        -------
        bounds : (n,) array
            Nats for each row.
        """
        X, params, s = self._checked(X), self._prediction_params(), self.smoothing_
        background = self.unigram_[:, None].astype(params.topics.dtype)
        params = params._replace(topics=(1 - s) * params.topics + s * background)
        bounds: Array
        if self.inference == "collapsed":
            bounds = self._over_rows(lambda counts: collapsed_bounds(counts, params), X)
            return bounds
        psi = self._row_states(X)
        A = np.exp(psi @ params.log_centers)
        bounds = cluster_terms(params, psi) + self._row_log_likelihoods(X, A, params.topics)
        return bounds

    @property
    def _fitted_state(self) -> State:
        check_is_fitted(self)
        return self._state

    def _prediction_model(self) -> Collapsed:
        return Collapsed()

    def _prediction_params(self) -> Params:
        params = self._state.params
        return Params(params.topics, *clusters_of(params)[1:])

    def _row_states(self, X: Any) -> Array:
        psi: Array = self._settled(self._prediction_model(), X)
        if self.inference == "variational":
            psi = self._settled(MeanField(), X, psi)
        return psi
