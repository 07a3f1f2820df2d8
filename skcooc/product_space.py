"""The product-space mixture model: an aspect of the row meets an aspect of the column."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Literal

from sklearn.utils._param_validation import Interval, StrOptions

from skcooc.base.estimator import CooccurrenceEstimator
from skcooc.base.streams import StreamMixin
from skcooc.em import TemperatureRange
from skcooc.em.schedules import Schedule, constant
from skcooc.equations.product_aspects import ProductAspects
from skcooc.protocol import Array, Counts


class ProductSpaceMixture(StreamMixin, CooccurrenceEstimator):
    """Product-space mixture model (PMM): an aspect of the row meets an aspect of the column.

    An aspect model whose aspects are pairs: a row has a distribution over C aspects of rows, an
    aspect of rows one over D aspects of columns, an aspect of columns one over the columns. It
    groups both sides at once and has fewer parameters than an aspect model with C times D aspects.

    Parameters
    ----------
    n_row_components : int, default=10
        Number C of aspects of rows.

    n_column_components : int, default=10
        Number D of aspects of columns.

    beta : float in (0, 1] or "auto", default="auto"
        Inverse temperature. 1 is maximum likelihood, which overfits. "auto" chooses it on
        observations held out inside ``fit``, and then fits all observations.

    tempering : {"joint", "likelihood"}, default="likelihood"
        What beta is the exponent of: P(c, d) P(x given c) P(y given d), or, as in the memo, only
        P(x given c) P(y given d). The second keeps its structure down to smaller beta and predicts
        better.

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
    components_ : (C, M) array
        P(y_j given c) = sum_d P(d given c) P(y_j given d).
    column_components_ : (D, M) array
        P(y_j given d).
    joint_ : (C, D) array
        P(c, d).
    weights_ : (C,) array
        P(c).
    embedding_ : (N, C) array
        P(c given x_i) of the rows fitted, as EM left them; ``transform`` of the same rows folds
        them in anew and agrees but for tolerances.
    row_distribution_ : (N,) array
        P(x_i).
    unigram_ : (M,) array
        Add-one distribution of the columns, used for smoothing.
    beta_ : float
        Inverse temperature used.
    smoothing_ : float
        Smoothing used.
    temperature_search_ : list of Probe
        The temperatures tried: each has ``beta``, ``validation.perplexity`` and
        ``validation.smoothing``. Empty where none was searched.
    n_iter_ : int
        Number of EM iterations of the final fit, including those that early stopping discards.
    converged_ : bool
        Whether ``tol`` was reached, or early stopping stopped.
    objective_ : float
        Free energy at the last E-step, in nats.
    history_ : list of Record
        ``beta``, ``free_energy``, ``validation_perplexity`` and ``seconds`` of every iteration.
    n_features_in_ : int
        Number M of columns.
    feature_names_in_ : (M,) array of str
        Names of the columns, where the data has names that are strings.

    See Also
    --------
    skcooc.AspectModel : One set of aspects for both sides; also faster.
    skcooc.SymmetricClustering : Every row and every column belongs to one cluster.

    References
    ----------
    T. Hofmann and J. Puzicha, Statistical models for co-occurrence data, AI Memo 1625, MIT, 1998,
    section 2.5.

    Examples
    --------
    >>> from skcooc import ProductSpaceMixture
    >>> from skcooc.datasets import make_cooccurrences
    >>> X = make_cooccurrences(n_rows=60, n_columns=40, n_components=3, random_state=0).X
    >>> model = ProductSpaceMixture(3, 4, random_state=0).fit(X)
    >>> model.transform(X[:2]).shape, model.joint_.shape
    ((2, 3), (3, 4))
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CooccurrenceEstimator._parameter_constraints,
        "n_row_components": [Interval(Integral, 1, None, closed="left")],
        "n_column_components": [Interval(Integral, 1, None, closed="left")],
        "tempering": [StrOptions({"joint", "likelihood"})],
    }
    _structure = ("n_row_components", "n_column_components")

    def __init__(
        self,
        n_row_components: int = 10,
        n_column_components: int = 10,
        *,
        beta: float | Literal["auto"] = "auto",
        tempering: Literal["joint", "likelihood"] = "likelihood",
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
        self.n_row_components = n_row_components
        self.n_column_components = n_column_components
        self.beta = beta
        self.tempering = tempering
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
    def column_components_(self) -> Array:
        """P(y_j given d), (D, M)."""
        components: Array = self._state.params.components.T
        return components

    @property
    def joint_(self) -> Array:
        """P(c, d), (C, D)."""
        joint: Array = self._state.params.joint
        return joint

    def _temperatures(self, X: Counts) -> TemperatureRange:
        return TemperatureRange(0.5, 1.0)

    def _schedule(self, beta: float, max_iter: int) -> Schedule:
        return constant(beta, max_iter)

    def _procedure(self, X: Counts) -> dict[str, Any]:
        return {"costly_start": True}

    def _model(self) -> ProductAspects:
        sizes = self.n_row_components, self.n_column_components
        return ProductAspects(*sizes, self.tempering)
