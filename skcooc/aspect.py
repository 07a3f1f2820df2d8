"""The aspect model (separable mixture model, pLSA): classes of observations."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

from sklearn.utils._param_validation import Interval, StrOptions

from skcooc.base.estimator import CooccurrenceEstimator
from skcooc.base.streams import StreamMixin
from skcooc.em import TemperatureRange
from skcooc.equations.aspects import Aspects
from skcooc.equations.predictive_aspects import PredictiveAspects
from skcooc.fitting.plan import Priors
from skcooc.protocol import Counts


class AspectModel(StreamMixin, CooccurrenceEstimator):
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

    leave_one_out : bool, default=False
        Whether the posterior of an observation leaves out what the observation itself contributed
        to the parameters (predictive EM). It helps where beta=1, and hardly where beta is tuned,
        which predicts better still. Least perplexity of held-out observations over the iterations
        without and with it, Cranfield, K=32, one split: 462 and 453 at beta=1, 408.6 and 407.4 at
        .9, 385.3 and 386.9 at .8. An iteration took 68 times as long there. New rows are folded in
        plainly, so that ``transform`` of the rows fitted is not ``embedding_``.

    max_iter : int, default=500
        Largest number of EM iterations.

    tol : float, default=3e-6
        EM stops when the free energy falls by less than this, relative to its size. With 1e-5
        it stops too early: that costs up to half a per cent of the perplexity.

    n_init : int, default=1
        Number of random starts; the one with the least free energy is kept, or with the least
        validation perplexity where ``early_stopping=True``.

    relaxation : float in (0, 2) or "momentum", default="momentum"
        "momentum" makes ever longer steps as long as they lead down, and then begins anew. A number
        is the step size eta of over-relaxed EM; 1.0 is plain EM, which needs more iterations. A
        step that raises the free energy is undone.

    smoothing : float in [0, 1) or "auto", default="auto"
        Weight s of the add-one unigram in probabilities that are scored. "auto" estimates it
        where observations are held out in ``fit``, and takes .001 elsewhere.

    validation_fraction : float in (0, 1), default=0.1
        Share of the observations held out where ``beta="auto"`` or ``early_stopping=True``; of
        every batch of a stream where ``beta="auto"``.

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
        The temperatures tried, then pseudo-counts at the best of them: each has ``beta``,
        ``prior``, ``validation.perplexity`` and ``validation.smoothing``. Empty where none was
        searched.
    n_iter_ : int
        Number of EM iterations of the final fit, including those that early stopping discards.
    converged_ : bool
        Whether ``tol`` was reached, or early stopping stopped.
    objective_ : float
        Free energy, less the log prior, at the last E-step, in nats.
    history_ : list of Record
        ``beta``, ``free_energy``, ``validation_perplexity`` and ``seconds`` of every iteration.
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
        "leave_one_out": ["boolean"],
    }
    _structure = ("n_components", "leave_one_out")

    def __init__(
        self,
        n_components: int = 10,
        *,
        beta: float | Literal["auto"] = "auto",
        tempering: Literal["joint", "likelihood"] = "joint",
        component_prior: float | Literal["auto"] = "auto",
        leave_one_out: bool = False,
        max_iter: int = 500,
        tol: float = 3e-6,
        n_init: int = 1,
        relaxation: float | Literal["momentum"] = "momentum",
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
        self.leave_one_out = leave_one_out
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

    def _model(self) -> Aspects | PredictiveAspects:
        if self.component_prior != "auto":
            return self._with_prior(self.component_prior)
        return self._with_prior(self.component_prior_ if self._goes_on else 0.0)

    def _with_prior(self, prior: float) -> Aspects | PredictiveAspects:
        aspects = Aspects(self.n_components, self.tempering, prior)
        return PredictiveAspects(aspects) if self.leave_one_out else aspects

    def _procedure(self, X: Counts) -> dict[str, Any]:
        if self.component_prior != "auto":
            return {}
        expected = float(X.column_sums.sum()) / (self.n_components * X.shape[1])
        within = TemperatureRange(1e-3 * expected, 0.5 * expected, "log")
        return {"priors": Priors(within, self._with_prior)}

    def _no_stream(self) -> str | None:
        if self.leave_one_out:
            return "leave_one_out=True needs all observations at once; partial_fit needs False"
        return None

    def _no_dask(self) -> str | None:
        if self.leave_one_out:
            return "leave_one_out=True needs all observations of a column at once; it needs False"
        return super()._no_dask()

    def _prediction_model(self) -> Aspects:
        plain: Aspects = self._fitted_model.fold_in
        return plain

    @property
    def component_prior_(self) -> float:
        """Pseudo-count used."""
        return float(self._prediction_model().component_prior)
