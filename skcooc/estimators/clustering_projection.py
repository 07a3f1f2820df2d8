"""Probabilistic clustering-projection: topics and row clusters, fitted jointly."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skcooc.base import ASPECT_TEMPERATURES, CONSTRAINTS, FALLING, SIZE, CooccurrenceEstimator, Size
from skcooc.base.clusters import RowClusterMixin
from skcooc.em import Annealed, State
from skcooc.equations.memberships import temperatures
from skcooc.equations.projections import (
    ClusterPosterior,
    FactorialProjections,
    MeanField,
    StructuredProjections,
    cluster_terms,
    clusters_of,
    collapsed_bounds,
    projections,
)
from skcooc.equations.row_clusters import RowClusters
from skcooc.fitting import FixedModel, Recipe
from skcooc.fitting.stream import fold_in, over_rows
from skcooc.heldout.predictors import Factors
from skcooc.heldout.scoring import score_rows
from skcooc.line_search import TemperatureRange
from skcooc.protocol import Array, Block, TableLike
from skcooc.protocol.scikit_learn import Interval, StrOptions
from skcooc.simplex import first_largest
from skcooc.starts.topics import projection_start
from skcooc.tables import Table


@dataclass(eq=False, repr=False)
class ClusteringProjection(RowClusterMixin, CooccurrenceEstimator):
    """Probabilistic clustering-projection (PCP): topics and row clusters, fitted jointly.

    A row belongs to one of C clusters. The center of a cluster is a distribution over K topics,
    from which the topic of every token in its rows is drawn. Cluster weights and centers have
    Dirichlet priors. The model is fitted by variational EM. Read more in the :doc:`user guide
    </guide/clustering_projection>`.

    Parameters
    ----------
    n_components : int or "auto", default=10
        Number K of topics. "auto" runs `ComponentSearchCV` first and needs a table in memory.

    n_clusters : int or None, default=None
        Initial number C of clusters, some of which may become empty. None starts with one cluster
        for every row, as in [1]_. To find classes of rows, set it to their number.

    cluster_prior : float, default=1.0
        Parameter alpha of the prior Dir(alpha / C, ..., alpha / C) of the cluster weights. With
        small values many clusters become empty, especially at small beta.

    center_prior : float, default=0.05
        Parameter lambda of the prior Dir(lambda, ..., lambda) of the centers.

    topic_prior : float, default=0.05
        Pseudo-count in every topic of every column that has tokens.

    update_priors : bool, default=False
        Whether to fit alpha and the entries of lambda in every iteration, by Newton's method.

    posterior : {"auto", "factorial", "structured"}, default="auto"
        Approximation of the posterior.

        - ``"factorial"``: the cluster of a row and the topics of its tokens are independent, as in
          [1]_.
        - ``"structured"``: the topics depend on the cluster. Clusters are better, and the fit needs
          more memory.
        - ``"auto"``: "structured" if ``n_clusters`` is a number, otherwise "factorial".

    inference : {"collapsed", "variational"}, default="collapsed"
        How to assign new rows to clusters.

        - ``"collapsed"``: topics are summed out.
        - ``"variational"``: the updates of [1]_, which start from the collapsed result.

    beta : float in (0, 1] or "auto", default="auto"
        Inverse temperature, an exponent of the likelihood. With the factorial posterior it applies
        to each token and its topic, otherwise to the row. 1 is the model of [1]_. "auto" tunes it
        on held-out tokens.

    annealing : float in (0, 1) or None, default=None
        Factor by which beta falls at a time, starting from 1. None keeps beta constant.

    tol : float, default=1e-5
        Relative increase of the variational bound below which EM stops. Smaller values do not
        predict better.

    Attributes
    ----------
    n_components_, component_search_ : int and ComponentSearchCV
        Number of topics, and the search that found it if ``n_components="auto"``.
    labels_ : (N,) array
        Most probable cluster of each training row, from 0 to ``n_clusters_ - 1``. Labels of empty
        rows are meaningless.
    n_clusters_ : int
        Number of clusters that contain rows.
    cluster_centers_, cluster_weights_ : ``(n_clusters_, K)`` and ``(n_clusters_,)`` arrays
        Posterior means of the centers and of the cluster weights.
    components_ : (K, M) array
        P(y_j given z_k).
    weights_ : (K,) array
        P(z_k), also the mixture weights of an empty row.
    embedding_ : (N, K) array
        P(z_k given x_i) of the training rows: the average of the centers, weighted by the posterior
        of the cluster. ``transform`` follows ``inference``, so its results differ.
    lower_bound_ : float
        Variational bound at the last E-step, -beta_ * objective_, in nats.
    alpha_, lambda_ : float and (K,) array
        Parameters of the priors used in the fit.

    See Also
    --------
    skcooc.AspectModel : Mixture for every row, which predicts better with many topics.
    skcooc.AsymmetricClustering : Clusters of rows without topics.

    References
    ----------
    .. [1] S. Yu, K. Yu, V. Tresp and H.-P. Kriegel, A probabilistic clustering-projection model for
       discrete data, PKDD 2005, equations 1-9.

    Examples
    --------
    >>> from skcooc import ClusteringProjection, datasets
    >>> data = datasets.make_cooccurrences(60, 40, n_components=3, kind="clusters", random_state=0)
    >>> model = ClusteringProjection(3, n_clusters=3, random_state=0).fit(data.X)
    >>> model.predict(data.X[:5]).shape, model.transform(data.X[:5]).shape
    ((5,), (5, 3))
    """

    n_components: Size = 10
    n_clusters: int | None = None
    _: KW_ONLY
    cluster_prior: float = 1.0
    center_prior: float = 0.05
    topic_prior: float = 0.05
    update_priors: bool = False
    posterior: Literal["auto", "factorial", "structured"] = "auto"
    inference: Literal["collapsed", "variational"] = "collapsed"
    annealing: float | None = None
    tol: float = 1e-5

    n_components_: int = field(init=False)

    size_parameters = ("n_components",)
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "n_components": SIZE,
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "cluster_prior": [Interval(Real, 0, None, closed="neither")],
        "center_prior": [Interval(Real, 0, None, closed="neither")],
        "topic_prior": [Interval(Real, 0, None, closed="left")],
        "update_priors": ["boolean"],
        "posterior": [StrOptions({"auto", "factorial", "structured"})],
        "inference": [StrOptions({"collapsed", "variational"})],
        "annealing": [FALLING, None],
    }

    @property
    def labels_(self) -> Array:
        check_is_fitted(self)
        params, rows = self._state
        labels = np.empty(len(rows), dtype=np.int64)
        for chunk, psi in self._fitted_model.memberships(params, rows):
            labels[chunk] = first_largest(psi)
        return labels

    @property
    def n_clusters_(self) -> int:
        return len(self.cluster_weights_)

    @property
    def cluster_centers_(self) -> Array:
        return self._clusters.centers

    @property
    def cluster_weights_(self) -> Array:
        return self._clusters.weights

    @property
    def lower_bound_(self) -> float:
        """Variational bound at the last E-step (equation 5), in nats.

        At beta < 1 it is the bound for the power posterior.
        """
        check_is_fitted(self)
        return -self.beta_ * self.objective_

    @property
    def alpha_(self) -> float:
        """Parameter of the prior Dir(alpha / C, ..., alpha / C) of the cluster weights."""
        check_is_fitted(self)
        return float(self._state.params.alpha)

    @property
    def lambda_(self) -> Array:
        """Parameters (K,) of the prior Dir(lambda) of the centers."""
        check_is_fitted(self)
        return self._state.params.lambda_

    def project(self, X: TableLike) -> Array:
        """Return the average topic probabilities of the tokens in each row.

        ``project`` describes the tokens that a row contains: sum_j n_ij phi_ijk / n_i, equation 8
        of Yu et al. (2005). ``transform`` describes further tokens of the row.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads

        Returns
        -------
        projections : (n, K) array
        """
        rows = self._read_rows(X)
        _, params = self._fold_in_model()
        psi = self._row_states(rows)
        return over_rows(lambda counts: projections(counts, params, psi), rows, self.n_jobs)

    def bound(self, X: TableLike) -> Array:
        """Lower bounds of the log-likelihoods of whole new rows.

        With ``inference="variational"``, this is the mean-field bound of equation 5 of Yu et al.
        (2005), and exp(-bound(X).sum() / X.sum()) is the perplexity that they report. With
        ``inference="collapsed"`` the clusters are summed out. This bound is tighter and not
        comparable with mean-field bounds such as LDA's. Topics are smoothed as in ``score``.

        The bound takes the uncertainty of the cluster weights and centers into account.
        ``row_log_likelihood`` uses their means and is never smaller.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads

        Returns
        -------
        bounds : (n,) array
            Bound of each row, in nats.
        """
        rows = self._read_rows(X, scored=True)
        _, params = self._fold_in_model()
        s = self.smoothing_
        background = self.unigram_[:, None].astype(params.topics.dtype)
        params = params._replace(topics=(1 - s) * params.topics + s * background)
        if self.inference == "collapsed":
            return over_rows(lambda counts: collapsed_bounds(counts, params), rows, self.n_jobs)
        psi = self._row_states(rows)
        means, counts = score_rows(rows, Factors(np.exp(psi @ params.log_centers), params.topics))
        return cluster_terms(params, psi) + means * counts

    def recipe(self) -> Recipe:
        kind = StructuredProjections if self._is_structured else FactorialProjections
        model = kind(
            self.n_components,
            self.n_clusters,
            self.cluster_prior,
            self.center_prior,
            self.topic_prior,
            self.update_priors,
        )
        shape_names = "n_components", "n_clusters", "posterior"
        return Recipe(
            FixedModel(model, self._temperatures),
            self._settings(),
            shape={name: getattr(self, name) for name in shape_names},
            start=projection_start,
            variations=() if self.annealing is None else (Annealed(self.annealing),),
        )

    def warm_state(self, recipe: Recipe, table: Table) -> State:
        params, rows = super().warm_state(recipe, table)
        if not self.update_priors:
            alpha = np.full_like(params.alpha, self.cluster_prior)
            lambda_ = np.full_like(params.lambda_, self.center_prior)
            params = params._replace(alpha=alpha, lambda_=lambda_)
        return State(params, rows)

    @property
    def _clusters(self) -> ClusterPosterior:
        check_is_fitted(self)
        return clusters_of(self._state.params)

    def _posteriors(self, X: Block) -> Array:
        return self._row_states(X)

    @property
    def _n_posteriors(self) -> int:
        return self.n_clusters_

    def _row_states(self, X: Block) -> Array:
        psi = super()._row_states(X)
        if self.inference == "collapsed":
            return psi
        _, params = self._fold_in_model()
        return fold_in(MeanField(), params, self.beta_, X, self.n_jobs, start=psi)

    @property
    def _is_structured(self) -> bool:
        if self.posterior == "auto":
            return self.n_clusters is not None
        return self.posterior == "structured"

    def _temperatures(self, X: Block) -> TemperatureRange:
        if self._is_structured:
            return temperatures(RowClusters(self.n_clusters or X.shape[0]), X)
        return ASPECT_TEMPERATURES
