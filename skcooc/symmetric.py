"""Symmetric clustering: clusters of rows and of columns at once."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BiclusterMixin
from sklearn.utils._param_validation import Interval, StrOptions

from skcooc.base.clusters import RowClusterMixin, check_proportions, check_tied
from skcooc.base.estimator import CooccurrenceEstimator
from skcooc.em import TemperatureRange
from skcooc.em.schedules import Schedule, constant
from skcooc.equations.class_bigrams import ClassBigrams
from skcooc.equations.coclusters import CoClusters, log_association, mutual_information
from skcooc.equations.memberships import temperatures
from skcooc.protocol import Array, Counts
from skcooc.simplex import first_largest

# Inverse temperatures: times the mean number of observations of an object, and over the critical.
SYMMETRIC, SYMMETRIC_CRITICAL = (8.0, 80.0), (3.0, 20.0)


class SymmetricClustering(BiclusterMixin, RowClusterMixin, CooccurrenceEstimator):
    """Symmetric clustering model (SCM): clusters of rows and of columns at once.

    Every row belongs to one of C clusters and every column to one of D, each with a posterior
    probability, and how often the two are observed together depends on their clusters alone: on the
    association c_cd = pi_cd / (pi_c pi_d). Both sides begin with asymmetric clusterings and are
    then updated in turns.

    Parameters
    ----------
    n_row_clusters : int, default=8
        Number C of clusters of rows.

    n_column_clusters : int, default=8
        Number D of clusters of columns.

    hard : bool, default=False
        Whether every row and column belongs to one cluster alone. This maximises the mutual
        information of the two clusterings, does not depend on beta, and starts empty clusters again
        with the object explained worst.

    tied : bool, default=False
        Whether rows and columns are the same objects, say words and the words that follow them, in
        one clustering: the class bigram model. It needs a square X, ``hard=True`` and C = D, and is
        fitted by moving one object at a time. New rows are assigned by what follows them alone, so
        that ``predict`` of the rows fitted can differ from ``labels_``.

    proportions : {"uniform", "estimated"}, default="uniform"
        Prior probabilities of the clusters. At small beta estimated ones starve clusters. Hard
        clusterings have none: they need "uniform".

    beta : float in (0, 1] or "auto", default="auto"
        Inverse temperature. The best value is the smaller the more observations an object has; for
        abstracts it is .2 to .5. "auto" chooses it on observations held out inside ``fit``, on a
        logarithmic scale. Counts must be in units of observations, which need not be whole: rows
        divided by their sums are too small for any beta.

    coarsening : sequence of (N,) arrays of int or None, default=None
        Groups of neighbouring rows, finest grouping first, each joining groups of the one before:
        multiscale optimisation. EM begins with the rows of a group tied to one posterior, and
        reaches the single rows last.

    max_iter : int, default=200
        Largest number of EM iterations at each temperature and scale.

    tol : float, default=3e-6
        EM stops when the free energy falls by less than this, relative to its size.

    n_init : int, default=1
        Number of random starts; the one with the least free energy is kept, or with the least
        validation perplexity where ``early_stopping=True``.

    relaxation : float in (0, 2) or "momentum", default=1.8
        Step size eta of over-relaxed EM; 1.0 is plain EM. "momentum" makes ever longer steps as
        long as they lead down. A step that raises the free energy is undone. Hard
        clusterings take plain steps.

    smoothing : float in [0, 1) or "auto", default="auto"
        Weight s of the add-one unigram in probabilities that are scored. "auto" estimates it
        where observations are held out in ``fit``, and takes .001 elsewhere. It matters much where
        clusters are many.

    validation_fraction : float in (0, 1), default=0.1
        Share of the observations held out where ``beta="auto"`` or ``early_stopping=True``.

    early_stopping : bool, default=False
        Whether to stop when the perplexity of held-out observations no longer falls, and to
        return to the best parameters. These have not seen the held-out observations.

    n_jobs : int, default=None
        Number of threads, in joblib's conventions. Results do not depend on it.

    warm_start : bool, default=False
        Whether a further call of ``fit`` goes on from the parameters, and from the temperature that
        an earlier call found, once, without further random starts.

    random_state : int, RandomState instance or None, default=None
        Seed of the starts and of the division into training and held-out observations.

    Attributes
    ----------
    row_labels_, labels_ : (N,) array
        Most probable cluster of each row.
    column_labels_ : (M,) array
        Most probable cluster of each column.
    embedding_ : (N, C) array
        P(c given x_i) of the rows fitted.
    column_posteriors_ : (M, D) array
        P(d given y_j).
    rows_ : (C * D, N) array of bool
        Rows of each bicluster, a pair of clusters; the clusters of columns run fastest.
    columns_ : (C * D, M) array of bool
        Columns of each bicluster.
    joint_ : (C, D) array
        pi_cd, share of the observations in each pair of clusters.
    association_ : (C, D) array
        c_cd = pi_cd / (pi_c pi_d); 1 where the clusters are independent.
    mutual_information_ : float
        sum_cd pi_cd log c_cd, in nats.
    components_ : (C, M) array
        P(y_j given c).
    weights_ : (C,) array
        Prior probability of the clusters of rows.
    row_distribution_ : (N,) array
        P(x_i).
    unigram_ : (M,) array
        Add-one distribution of the columns, used for smoothing.
    beta_, smoothing_ : float
        Inverse temperature and smoothing used.
    temperature_search_ : list of Probe
        The temperatures tried: each has ``beta``, ``validation.perplexity`` and
        ``validation.smoothing``. Empty where none was searched.
    n_iter_ : int
        Number of iterations of the final fit, on all scales.
    converged_ : bool
        Whether ``tol`` was reached, or early stopping stopped.
    objective_ : float
        Mean-field free energy at the last E-step, in nats, less that of independence.
    history_ : list of Record
        ``beta``, ``free_energy``, ``validation_perplexity`` and ``seconds`` of every iteration.
    n_features_in_ : int
        Number M of columns.
    feature_names_in_ : (M,) array of str
        Names of the columns, where the data has names that are strings.

    See Also
    --------
    AsymmetricClustering : Clusters of one side; better predictions of the other.
    ProductSpaceMixture : Both sides are mixtures.

    References
    ----------
    T. Hofmann and J. Puzicha, Statistical models for co-occurrence data, AI Memo 1625, MIT, 1998,
    sections 3.3 and 3.4.

    P. F. Brown, P. V. deSouza, R. L. Mercer, V. J. Della Pietra and J. C. Lai, Class-based n-gram
    models of natural language, Computational Linguistics 18, 467-479, 1992.

    Examples
    --------
    >>> from skcooc import SymmetricClustering
    >>> from skcooc.datasets import make_cooccurrences
    >>> data = make_cooccurrences(60, 40, n_components=3, kind="coclusters", random_state=0)
    >>> model = SymmetricClustering(3, 3, n_init=3, random_state=0).fit(data.X)
    >>> model.row_labels_.shape, model.column_labels_.shape, model.association_.shape
    ((60,), (40,), (3, 3))
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CooccurrenceEstimator._parameter_constraints,
        "n_row_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_column_clusters": [Interval(Integral, 1, None, closed="left")],
        "hard": ["boolean"],
        "tied": ["boolean"],
        "proportions": [StrOptions({"uniform", "estimated"})],
        "coarsening": [list, tuple, None],
    }
    _structure = ("n_row_clusters", "n_column_clusters")

    def __init__(
        self,
        n_row_clusters: int = 8,
        n_column_clusters: int = 8,
        *,
        hard: bool = False,
        tied: bool = False,
        proportions: Literal["uniform", "estimated"] = "uniform",
        beta: float | Literal["auto"] = "auto",
        coarsening: Sequence[ArrayLike] | None = None,
        max_iter: int = 200,
        tol: float = 3e-6,
        n_init: int = 1,
        relaxation: float | Literal["momentum"] = 1.8,
        smoothing: float | Literal["auto"] = "auto",
        validation_fraction: float = 0.1,
        early_stopping: bool = False,
        n_jobs: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_row_clusters = n_row_clusters
        self.n_column_clusters = n_column_clusters
        self.hard = hard
        self.tied = tied
        self.proportions = proportions
        self.beta = beta
        self.coarsening = coarsening
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
    def row_labels_(self) -> Array:
        """Most probable cluster of each row, (N,)."""
        return self.labels_

    @property
    def column_posteriors_(self) -> Array:
        """P(d given y_j), (M, D)."""
        J: Array = self._state.params.memberships
        return J

    @property
    def column_labels_(self) -> Array:
        """Most probable cluster of each column, (M,)."""
        return first_largest(self.column_posteriors_)

    @property
    def joint_(self) -> Array:
        """pi_cd: share of the observations in each pair of clusters, (C, D)."""
        joint: Array = self._state.params.joint
        return joint

    @property
    def association_(self) -> Array:
        """c_cd = pi_cd / (pi_c pi_d), (C, D)."""
        return np.where(self.joint_ > 0, np.exp(log_association(self.joint_)), 0)

    @property
    def mutual_information_(self) -> float:
        """Information that the cluster of a row has on that of a column, in nats."""
        return mutual_information(self.joint_)

    @property
    def rows_(self) -> Array:
        """Rows of each bicluster, a pair of clusters, (C * D, N) array of bool."""
        members = self.row_labels_ == np.arange(self.joint_.shape[0])[:, None]
        return np.repeat(members, self.joint_.shape[1], axis=0)

    @property
    def columns_(self) -> Array:
        """Columns of each bicluster, (C * D, M) array of bool."""
        members = self.column_labels_ == np.arange(self.joint_.shape[1])[:, None]
        return np.tile(members, (self.joint_.shape[0], 1))

    def _model(self) -> CoClusters | ClassBigrams:
        return ClassBigrams(self.n_row_clusters) if self.tied else self._coclusters()

    def _prediction_model(self) -> CoClusters:
        untied: CoClusters = self._fitted_model.untied
        return untied

    def _coclusters(self) -> CoClusters:
        sizes = self.n_row_clusters, self.n_column_clusters
        return CoClusters(*sizes, self.hard, self.proportions)

    def _no_dask(self) -> str | None:
        if self.tied:
            return "tied=True moves one object at a time; it needs False"
        return super()._no_dask()

    def _temperatures(self, X: Counts) -> TemperatureRange:
        return temperatures(self._coclusters(), X, SYMMETRIC, SYMMETRIC_CRITICAL)

    def _schedule(self, beta: float, max_iter: int) -> Schedule:
        return constant(beta, max_iter)

    def _procedure(self, X: Counts) -> dict[str, Any]:
        check_proportions(self)
        if self.tied:
            check_tied(self, X.shape)
        return {
            "relaxation": 1.0 if self.hard else self.relaxation,
            "costly_start": True,
            "coarsening": self.coarsening,
        }
