"""The aspect model (separable mixture model, pLSA): classes of observations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from skcooc.base import CooccurrenceEstimator
from skcooc.em import TemperatureRange
from skcooc.protocol import Array, Counts, Rows
from skcooc.settings import Priors
from skcooc.simplex import normalise, sums


class Params(NamedTuple):
    """Parameters of the aspect model; P(z given x) is the state of the rows."""

    components: Array  # (M, K): P(y_j given z_k); columns sum to one
    weights: Array  # (K,): P(z_k)


class Statistics(NamedTuple):
    """Sums over the observations of a block."""

    components: Array  # (M, K): sum_i n_ij r_ijk
    free_energy: float  # -(1/beta) sum n_ij log sum_k prior (likelihood)^beta, nats


@dataclass(frozen=True)
class Aspects:
    """Equations of the aspect model.

    P(y_j given x_i) = sum_k P(z_k given x_i) P(y_j given z_k); memo eqs. (1)-(11). At inverse
    temperature beta an observation (x_i, y_j) has the posterior

        joint:       r_ijk ~ [P(z_k) P(x_i given z_k) P(y_j given z_k)]^beta
        likelihood:  r_ijk ~ P(z_k) [P(x_i given z_k) P(y_j given z_k)]^beta   (memo, eq. 65)

    Both are written with P(z_k given x_i) ~ P(z_k) P(x_i given z_k): factors that depend on i
    alone cancel, and what is left of the prior is P(z_k)^(1 - beta) in the second form.
    """

    n_components: int
    tempering: Literal["joint", "likelihood"] = "joint"
    component_prior: float = 0.0

    def start(
        self, blocks: Sequence[Counts], rng: np.random.Generator
    ) -> tuple[Params, list[Rows]]:
        """Random components; every row an equal mixture of them."""
        n_columns, dtype = blocks[0].shape[1], blocks[0].dtype
        noise = rng.uniform(0.5, 1.5, (n_columns, self.n_components)).astype(dtype)
        weights = np.full(self.n_components, 1 / self.n_components, dtype=dtype)
        rows = [np.broadcast_to(weights, (X.shape[0], len(weights))) for X in blocks]
        return Params(normalise(noise, axis=0, otherwise=0.0), weights), rows

    def expect(self, X: Counts, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        """E-step, and the part of the M-step that concerns the rows: memo eqs. (6), (8), (9)."""

        def temper(P: Array, out: Array) -> None:
            np.power(P, beta, out=out)

        def mix(A: Array, products: Array, out: Array) -> None:
            np.multiply(A, products, out=out)
            normalise(out, axis=1, otherwise=params.weights, out=out)

        A, B = X.rowwise(temper, rows), X.rowwise(temper, params.components)
        if self.tempering == "likelihood":
            A *= params.weights ** (1 - beta)
        mixture = X.mixture(A, B)
        mixtures = X.rowwise(mix, A, mixture.rows, out=A)
        expected = X.rowwise(np.multiply, B, mixture.columns, out=B)
        return mixtures, Statistics(expected, -mixture.log_likelihood / beta)

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        """M-step for the components and their weights: memo eqs. (7), (9)."""
        mass = sums(stats.components, axis=0)
        expected = stats.components
        if self.component_prior:
            expected = expected + self.component_prior
        components = normalise(expected, axis=0, otherwise=params.components)
        return Params(components, mass / mass.sum())

    def log_prior(self, params: Params, beta: float) -> float:
        """c sum log P(y_j given z_k): a Dirichlet prior with c pseudo-counts, less a constant."""
        if not self.component_prior:
            return 0.0
        with np.errstate(divide="ignore"):  # a warm start may begin with zeros
            logs = np.log(params.components)
        return self.component_prior * float(logs.sum(dtype=np.float64))

    def restrict(self, params: Params, columns: Array) -> Params:
        """The rows of the components that belong to these columns, not normalised anew."""
        return params._replace(components=params.components[columns])

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        """P(z given x) and P(y given z): memo eq. (11)."""
        return rows, params.components


class AspectModel(CooccurrenceEstimator):
    """Aspect model: every observation comes from one of K aspects.

    Also known as separable mixture model (SMM) and probabilistic latent semantic analysis (pLSA);
    as aggregate Markov model where rows and columns are the same words. A row, say a document, has
    a distribution over aspects; an aspect is a distribution over columns, say words. The model is
    fitted by tempered EM, and the inverse temperature, which keeps it from overfitting, is found
    by itself.

    Parameters
    ----------
    n_components : int, default=10
        Number K of aspects.

    beta : float in (0, 1] or "auto", default="auto"
        Inverse temperature. 1 is maximum likelihood (untempered pLSA), which overfits. Below a
        critical value, on texts about .6, all aspects become the unigram. "auto" chooses it on
        observations held out inside ``fit``, and then fits all observations.

    tempering : {"joint", "likelihood"}, default="joint"
        What beta is the exponent of: P(z) P(x given z) P(y given z), or, as in the memo, only
        P(x given z) P(y given z).

    component_prior : float or "auto", default="auto"
        Pseudo-count added to the expected count of every column in every aspect. It helps where
        data are thin, such as word pairs seen once. "auto" chooses it where ``beta="auto"``,
        after beta, between .001 and .5 of the mean expected count. It is zero elsewhere, and where
        that lowers the held-out perplexity by less than one per cent, as on most texts.

    max_iter : int, default=500
        Largest number of EM iterations.

    tol : float, default=3e-6
        EM stops when the free energy falls by less than this, relative to its size. With 1e-5
        it stops too early: that costs up to half a per cent of the perplexity.

    n_init : int, default=1
        Number of random starts; the one with the least free energy is kept, or with the least
        validation perplexity where ``early_stopping=True``.

    relaxation : float in (0, 2), default=1.8
        Step size eta of over-relaxed EM; 1.0 is plain EM, which needs more iterations. A step that
        raises the free energy is undone.

    smoothing : float in [0, 1) or "auto", default="auto"
        Weight s of the add-one unigram in probabilities that are scored. "auto" estimates it
        where observations are held out in ``fit``, and takes .001 elsewhere.

    validation_fraction : float in (0, 1), default=0.1
        Share of the observations held out where ``beta="auto"`` or ``early_stopping=True``.

    early_stopping : bool, default=False
        Whether to stop when the perplexity of held-out observations no longer falls, and to
        return to the best parameters. These have not seen the held-out observations.

    n_jobs : int, default=None
        Number of threads, in joblib's conventions. Results do not depend on it.

    warm_start : bool, default=False
        Whether a further call of ``fit`` goes on from the parameters, and from the temperature that
        an earlier call found, once, without further random starts. Rows keep their mixtures by
        position where X has as many as before.

    random_state : int, RandomState instance or None, default=None
        Seed of the starts and of the division into training and held-out observations.

    Attributes
    ----------
    components_ : (K, M) array
        P(y_j given z_k).
    weights_ : (K,) array
        P(z_k).
    embedding_ : (N, K) array
        P(z_k given x_i) of the rows fitted, as EM left them; ``transform`` of the same rows folds
        them in anew and agrees but for tolerances.
    row_distribution_ : (N,) array
        P(x_i).
    unigram_ : (M,) array
        Add-one distribution of the columns, used for smoothing.
    beta_ : float
        Inverse temperature used.
    smoothing_ : float
        Smoothing used.
    component_prior_ : float
        Pseudo-count used.
    temperature_search_ : list of Probe
        The temperatures tried, then pseudo-counts at the best of them, and their validation; empty
        where none was searched.
    n_iter_ : int
        Number of EM iterations of the final fit, including those that early stopping discards.
    converged_ : bool
        Whether ``tol`` was reached, or early stopping stopped.
    objective_ : float
        Free energy, less the log prior, at the last E-step, in nats.
    history_ : list of Record
        Inverse temperature, free energy, validation perplexity and seconds of every iteration.
    n_features_in_ : int
        Number M of columns.
    feature_names_in_ : (M,) array of str
        Names of the columns, where the data has names that are strings.

    See Also
    --------
    skcooc.Dyads : Observations as samples, for cross-validation.

    References
    ----------
    T. Hofmann and J. Puzicha, Statistical models for co-occurrence data, AI Memo 1625, MIT, 1998,
    sections 2.1-2.3 and 5.1.

    T. Hofmann, Unsupervised learning by probabilistic latent semantic analysis, Machine Learning
    42, 177-196, 2001.

    Examples
    --------
    >>> from skcooc import AspectModel
    >>> from skcooc.datasets import make_cooccurrences
    >>> X = make_cooccurrences(n_rows=60, n_columns=40, n_components=3, random_state=0).X
    >>> model = AspectModel(n_components=3, random_state=0).fit(X)
    >>> model.transform(X[:2]).shape
    (2, 3)
    >>> bool(model.perplexity(X) < 40)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CooccurrenceEstimator._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "tempering": [StrOptions({"joint", "likelihood"})],
        "component_prior": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        beta: float | Literal["auto"] = "auto",
        tempering: Literal["joint", "likelihood"] = "joint",
        component_prior: float | Literal["auto"] = "auto",
        max_iter: int = 500,
        tol: float = 3e-6,
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
        self.beta = beta
        self.tempering = tempering
        self.component_prior = component_prior
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

    def _temperatures(self, X: Counts) -> TemperatureRange:
        return TemperatureRange(0.5, 1.0)

    def _model(self) -> Aspects:
        if self.component_prior != "auto":
            return self._with_prior(self.component_prior)
        return self._with_prior(self.component_prior_ if self._goes_on else 0.0)

    def _with_prior(self, prior: float) -> Aspects:
        return Aspects(self.n_components, self.tempering, prior)

    def _procedure(self, X: Counts) -> dict[str, Any]:
        if self.component_prior != "auto":
            return {}
        expected = float(X.column_sums.sum()) / (self.n_components * X.shape[1])
        within = TemperatureRange(1e-3 * expected, 0.5 * expected, "log")
        return {"priors": Priors(within, self._with_prior)}

    @property
    def component_prior_(self) -> float:
        """Pseudo-count used."""
        return float(self._fitted_model.component_prior)
