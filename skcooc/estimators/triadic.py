"""Aspect model of three-way counts."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NoReturn, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skcooc.base import ASPECT_TEMPERATURES, CONSTRAINTS, CooccurrenceEstimator
from skcooc.em import State, WarmUp
from skcooc.em.solvers import SolverName
from skcooc.equations.triadic_aspects import TriadicAspects
from skcooc.fitting import ModelFamily, Recipe, tuning
from skcooc.fitting.recipe import draw_seeds
from skcooc.heldout import scoring
from skcooc.heldout.predictors import Factors, smoothed
from skcooc.line_search import TemperatureRange
from skcooc.protocol import Array, Block, Triples
from skcooc.protocol.decorators import validated
from skcooc.protocol.scikit_learn import Interval, StrOptions
from skcooc.tables import Table, Triads, check_same_triads, read_new_triads

Pair = tuple[float, float]


def _unavailable(name: str) -> property:
    """Return a property that raises AttributeError: a method of two-way counts only."""

    def missing(self: TriadicAspectModel) -> NoReturn:
        raise AttributeError(f"Triadic models have no {name}: it is for tables of two indices.")

    return property(missing)


@dataclass(eq=False, repr=False)
class TriadicAspectModel(CooccurrenceEstimator):
    """Aspect model of three-way counts: every token (x, y, w) has one of K topics.

    Given its topic z, the three indices of a token are independent:

        P(x, y, w) = sum_k P(z_k) P(x given z_k) P(y given z_k) P(w given z_k)

    The model is fitted to `Triads` by tempered EM, and predicts the third index from the other
    two: P(w given x, y). Put the index to predict last with ``Triads.transpose``. Read more in the
    :doc:`user guide </guide/triads>`.

    Parameters
    ----------
    n_components : int, default=10
        Number K of topics.

    beta : float in (0, 1] or "auto", default="auto"
        Inverse temperature, the exponent of P(w given z) in the E-step. 1 is maximum likelihood,
        which overfits. "auto" tunes it for the prediction of w in held-out tokens, and then fits
        all tokens.

    tempering : {"distinctive", "joint"}, default="distinctive"
        Prior probabilities of the topics in the E-step, to which the exponent beta does not apply.

        - ``"distinctive"``: each topic's share of the values of w that tell topics apart.
        - ``"joint"``: no such prior. Topics become nearly equal in size.

    exponents : pair of floats in [0, 1], or "auto", default="auto"
        Exponents of P(x given z) and P(y given z) in the E-step, relative to beta. Values below 1
        help because x and y often carry the same information.

        - ``(1, 1)``: the plain model. With (0, 1), x is ignored.
        - ``"auto"``: (1, 1), unless ``beta="auto"`` and smaller exponents lower held-out perplexity
          by 1 %.

    component_prior : float or "auto", default="auto"
        Pseudo-count of every value of w in every topic, for sparse data. The values of y get the
        same total. "auto" is 0, unless a larger value lowers held-out perplexity by 1 %.

    smoothing : float in [0, 1) or "auto", default="auto"
        Weight of the unigram of w (its overall frequencies, after adding one to each count) in
        scored probabilities. "auto" estimates it on held-out tokens; without held-out tokens it is
        0.001. If y is new, the prediction is P(w given x).

    Attributes
    ----------
    n_components_ : int
        Number of topics.
    components_, middle_components_, row_components_ : (K, L), (K, M) and (K, N) arrays
        P(w_l given z_k), P(y_j given z_k) and P(x_i given z_k).
    weights_ : (K,) array
        P(z_k).
    component_prior_, exponents_ : float and pair of floats
        Pseudo-count and exponents used in the fit.
    embedding_ : (N, K) array
        P(z_k given x_i) of the training rows, which are the values of x. ``transform`` of the same
        tokens agrees up to the tolerance of EM.
    column_embedding_ : (L, K) array
        P(z_k given w_l).
    unigram_ : (L,) array
        Overall frequencies of w used for smoothing, after adding one to each count.
    n_features_in_ : int
        Number L of values of w.
    feature_names_in_ : (L,) array of str
        Names of the values of w, if they are strings.

    See Also
    --------
    skcooc.Triads : Counts of three indices.
    skcooc.AspectModel : The same model of two indices.

    Notes
    -----
    The search for exponents lowers the exponent of x, then that of y, and then raises beta. If the
    best smoothing is above 0.01, pseudo-counts from 0.001 to 0.5 times the mean expected count are
    tried next.

    References
    ----------
    .. [1] T. Hofmann and J. Puzicha, Statistical models for co-occurrence data, AI Memo 1625, MIT,
       1998, equations 1-11, for two indices.

    Examples
    --------
    >>> import numpy as np
    >>> from skcooc import Triads, TriadicAspectModel
    >>> rng = np.random.default_rng(0)
    >>> z = rng.integers(2, size=2000)
    >>> x, y, w = (rng.integers(5, size=2000) + 5 * z for _ in range(3))
    >>> model = TriadicAspectModel(2, random_state=0).fit(Triads(x, y, w))
    >>> model.components_.shape, model.middle_components_.shape, model.row_components_.shape
    ((2, 10), (2, 10), (2, 10))
    >>> print(f"{model.perplexity(Triads([0, 9], [1, 8], [2, 7], shape=(10, 10, 10))):.0f}")
    5
    """

    n_components: int = 10
    _: KW_ONLY
    tempering: Literal["distinctive", "joint"] = "distinctive"
    exponents: Pair | Literal["auto"] = "auto"
    component_prior: float | Literal["auto"] = "auto"
    max_iter: int = 500
    solver: SolverName = "momentum"

    n_components_: int = field(init=False)

    size_parameters = ("n_components",)
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "tempering": [StrOptions({"distinctive", "joint"})],
        "exponents": [tuple, list, StrOptions({"auto"})],
        "component_prior": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
    }

    is_factorised = False  # P(w given x, y) is no product of P(z given x) and P(w given z)
    aic = _unavailable("aic")
    bic = _unavailable("bic")
    row_log_likelihood = _unavailable("row_log_likelihood")
    recommend = _unavailable("recommend")

    @property
    def component_prior_(self) -> float:
        return float(self._fitted_model.component_prior)

    @property
    def exponents_(self) -> Pair:
        return self._fitted_model.exponents

    @property
    def middle_components_(self) -> Array:
        return self._state.params.middle.T

    def fit(self, X: Triads, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : Triads
            Tokens (x_i, y_j, w_l).
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each token.

        Returns
        -------
        self : object

        Raises
        ------
        TypeError
            If X is not Triads.
        ValueError
            If X is empty or a parameter is invalid.
        """
        return super().fit(X, y, sample_weight)

    def transform(self, X: Triads) -> Array:
        """Fold rows (values of the first index) into the fitted model.

        Parameters
        ----------
        X : Triads
            Table (n, M, L) with the same second and third indices as the training table.

        Returns
        -------
        mixtures : (n, K) array
            P(z_k given x_i). An empty row gets ``weights_``. ``transform(X) @ components_`` is
            P(w_l given x_i).
        """
        return super().transform(X)

    def score_samples(self, X: Triads) -> Array:
        """Log-likelihood of the third index given the other two, in nats per token.

        Parameters
        ----------
        X : Triads
            Tokens of the training table.

        Returns
        -------
        log_likelihood : (n_samples,) array
        """
        return super().score_samples(X)

    def score(self, X: Triads, y: object = None) -> float:
        """Mean log P(w_l given x_i, y_j) of held-out tokens, in nats; larger is better.

        X is as for :meth:`score_samples`, and y is ignored.
        """
        return super().score(X, y)

    def perplexity(self, X: Triads) -> float:
        """Perplexity of the third index given the other two, exp(-score(X))."""
        return super().perplexity(X)

    @validated({"n_samples": [Interval(Integral, 0, None, closed="left")]})
    def sample(self, n_samples: int = 1) -> Triads:  # type: ignore[override]  # no dyads
        """Draw tokens from the fitted model.

        Parameters
        ----------
        n_samples : int, default=1
            Number of tokens.

        Returns
        -------
        triads : Triads
            Tokens of the training table, in random order.
        """
        check_is_fitted(self)
        rng = np.random.default_rng(draw_seeds(self.random_state, 1)[0])
        classes = np.eye(len(self.components_))
        rows, z = scoring.draw(n_samples, self.row_distribution_, self.embedding_, classes, rng)
        second = scoring.draw_given(z, self.middle_components_, rng)
        third = scoring.draw_given(z, self.components_, rng)
        return Triads.from_schema(self._schema, rows, second, third)

    def recipe(self) -> Recipe:
        prior = self.component_prior
        exponents = self.exponents
        if prior == "auto":
            prior = self.component_prior_ if self._is_warm_start() else 0.0
        if exponents == "auto":
            exponents = self.exponents_ if self._is_warm_start() else (1.0, 1.0)
        pair = [float(value) for value in exponents]
        if len(pair) != 2 or not all(0 <= value <= 1 for value in pair):
            raise ValueError(f"exponents={exponents} should be two numbers in the [0, 1] range")
        family = TriadicFamily(
            TriadicAspects(self.n_components, prior, (pair[0], pair[1]), self.tempering),
            tunes_exponents=self.exponents == "auto",
            tunes_prior=self.component_prior == "auto",
            tunes_smoothing=self.smoothing == "auto",
        )
        return Recipe(
            family,
            self._settings(),
            shape={"n_components": self.n_components},
            variations=(WarmUp(family.first_model),),
            needs_empty_columns=True,  # tables of triples keep their columns
        )

    def warm_state(self, recipe: Recipe, table: Table) -> State:
        """Return the initial state; ValueError if values of the second index are new."""
        observed = cast(Triples, table.counts).middle_sums
        is_fitted: Array = np.asarray(self.middle_components_.any(axis=0))
        if len(observed) != len(is_fitted) or ((observed > 0) & ~is_fitted).any():
            raise ValueError(
                "warm_start=True continues a model in which some values of the second index of X "
                "are missing or have probability zero. Set warm_start=False to start anew."
            )
        return super().warm_state(recipe, table)

    def _read_rows(self, X: Triads, *, scored: bool = False) -> Block:
        check_is_fitted(self)
        return read_new_triads(self, self._schema, X, scored=scored)

    def _score_samples(self, X: Triads) -> tuple[Array, Array]:
        check_is_fitted(self)
        triads = check_same_triads(self, self._schema, X)
        counts, order = triads.listed(self.embedding_.dtype)
        factors = Factors(*self._fitted_model.prediction_factors(*self._state))
        predictor = smoothed(factors, self.unigram_, self.smoothing_)
        weights = np.ones(len(triads)) if triads.weights is None else triads.weights
        return scoring.score_pairs(counts, order, predictor), weights


@dataclass(frozen=True)
class TriadicFamily(ModelFamily):
    """Triadic aspect models by the values of their hyper-parameters."""

    plain: TriadicAspects
    tunes_exponents: bool
    tunes_prior: bool
    tunes_smoothing: bool

    def model(self, values: tuning.Values) -> TriadicAspects:
        return replace(self.plain, **{name: values[name] for name in values if name != "beta"})

    def first_model(self, values: tuning.Values) -> TriadicAspects:
        return self.plain

    def beta_range(self, X: Block) -> TemperatureRange:
        return ASPECT_TEMPERATURES

    def tunables(self, X: Block) -> list[tuning.Tunable]:
        tunables: list[tuning.Tunable] = [tuning.Temperature(self.beta_range(X))]
        if self.tunes_exponents:
            tunables.append(tuning.Exponents())
        if self.tunes_prior:
            within = tuning.prior_range(X, self.plain.n_components)
            tunables.append(tuning.ComponentPrior(within, only_thin=self.tunes_smoothing))
        return tunables
