"""Probabilistic clustering-projection: clusters of rows in a space of topics, found together."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skcooc.base import CooccurrenceEstimator
from skcooc.clustering import temperatures
from skcooc.em import State, TemperatureRange
from skcooc.em.schedules import Schedule, constant
from skcooc.factorial_projections import FactorialProjections
from skcooc.projections import clusters_of
from skcooc.protocol import Array, Counts
from skcooc.row_clusters import RowClusters
from skcooc.simplex import first_largest
from skcooc.structured_projections import StructuredProjections
from skcooc.topic_clusters import (
    Collapsed,
    MeanField,
    Params,
    cluster_terms,
    collapsed_bounds,
    projections,
)


class ClusteringProjection(ClusterMixin, CooccurrenceEstimator):
    """Probabilistic clustering-projection (PCP): clusters of rows in a space of topics.

    A row, say a document, belongs to one of C clusters; a cluster has a center, a distribution over
    K topics; a topic is a distribution over columns, say words. Every observation of a row comes
    from a topic that is chosen by the center. Topics and clusters are found together, by
    variational EM with Dirichlet priors of centers and weights.

    Parameters
    ----------
    n_components : int, default=10
        Number K of topics.

    n_clusters : int or None, default=None
        Number C of clusters to begin with. None begins with one for every row, as the authors do
        to predict; many of them die. To find classes of rows, give their number.

    Examples
    --------
    >>> from skcooc import ClusteringProjection
    >>> from skcooc.datasets import make_cooccurrences
    >>> data = make_cooccurrences(60, 40, n_components=3, kind="clusters", random_state=0)
    >>> model = ClusteringProjection(4, n_clusters=3, random_state=0).fit(data.X)
    >>> model.predict(data.X[:5]).shape, model.transform(data.X[:5]).shape
    ((5,), (5, 4))
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CooccurrenceEstimator._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "cluster_prior": [Interval(Real, 0, None, closed="neither")],
        "center_prior": [Interval(Real, 0, None, closed="neither")],
        "topic_prior": [Interval(Real, 0, None, closed="left")],
        "update_priors": ["boolean"],
        "posterior": [StrOptions({"auto", "factorial", "structured"})],
        "inference": [StrOptions({"collapsed", "variational"})],
    }
    _structure = ("n_components", "n_clusters", "posterior")

    def __init__(
        self,
        n_components: int = 10,
        n_clusters: int | None = None,
        *,
        cluster_prior: float = 1.0,
        center_prior: float = 0.3,
        topic_prior: float = 0.01,
        update_priors: bool = False,
        posterior: Literal["auto", "factorial", "structured"] = "auto",
        inference: Literal["collapsed", "variational"] = "collapsed",
        beta: float | Literal["auto"] = "auto",
        max_iter: int = 200,
        tol: float = 1e-5,
        n_init: int = 1,
        relaxation: float = 1.8,
        smoothing: float | Literal["auto"] = "auto",
        validation_fraction: float = 0.1,
        early_stopping: bool = False,
        n_jobs: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_clusters = n_clusters
        self.cluster_prior = cluster_prior
        self.center_prior = center_prior
        self.topic_prior = topic_prior
        self.update_priors = update_priors
        self.posterior = posterior
        self.inference = inference
        self.beta = beta
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.relaxation = relaxation
        self.smoothing = smoothing
        self.validation_fraction = validation_fraction
        self.early_stopping = early_stopping
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.random_state = random_state

    @property
    def labels_(self) -> Array:
        """Most probable cluster of each row fitted, (N,)."""
        params, (rows,) = self._fitted_state
        labels = np.empty(len(rows), dtype=np.int64)
        for chunk, psi in self._model().memberships(params, rows):
            labels[chunk] = first_largest(psi)
        return labels

    @property
    def n_clusters_(self) -> int:
        """Number of clusters that have rows."""
        return len(self.cluster_weights_)

    @property
    def cluster_centers_(self) -> Array:
        """E[theta_c], (n_clusters_, K)."""
        return clusters_of(self._fitted_state.params).centers

    @property
    def cluster_weights_(self) -> Array:
        """E[pi_c], (n_clusters_,)."""
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
            In 0 .. n_clusters_ - 1.
        """
        return first_largest(self.predict_proba(X))

    def predict_proba(self, X: Any) -> Array:
        """Posterior probabilities of the clusters of rows.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads

        Returns
        -------
        posteriors : (n, n_clusters_) array
        """
        return self._checked_row_states(X)

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
        return self._over_rows(lambda counts: projections(counts, params, psi), X)

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
        if self.inference == "collapsed":
            return self._over_rows(lambda counts: collapsed_bounds(counts, params), X)
        psi = self._row_states(X)
        A = np.exp(psi @ params.log_centers)
        return cluster_terms(params, psi) + self._row_log_likelihoods(X, A, params.topics)

    @property
    def _fitted_state(self) -> State:
        check_is_fitted(self)
        return self._state

    @property
    def _is_structured(self) -> bool:
        if self.posterior == "auto":
            return self.n_clusters is not None
        return self.posterior == "structured"

    def _model(self) -> FactorialProjections | StructuredProjections:
        kind = StructuredProjections if self._is_structured else FactorialProjections
        priors = self.cluster_prior, self.center_prior, self.topic_prior
        return kind(self.n_components, self.n_clusters, *priors, self.update_priors)

    def _prediction_model(self) -> Collapsed:
        return Collapsed("rows" if self._is_structured else "observations")

    def _prediction_params(self) -> Params:
        params = self._state.params
        return Params(params.topics, *clusters_of(params)[1:])

    def _row_states(self, X: Any) -> Array:
        psi = super()._row_states(X)
        if self.inference == "collapsed":
            return psi
        return self._settled(MeanField(self._prediction_model().tempered), X, psi)

    def _temperatures(self, X: Counts) -> TemperatureRange:
        if self._is_structured:
            return temperatures(RowClusters(self.n_clusters or X.shape[0]), X)
        return TemperatureRange(0.5, 1.0)

    def _schedule(self, beta: float, max_iter: int) -> Schedule:
        return constant(beta, max_iter)

    def _procedure(self, X: Counts) -> dict[str, Any]:
        return {"costly_start": True}
