"""Aspect model of three-way counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

from skcooc.base import ASPECT_TEMPERATURES, CONSTRAINTS, TriadEstimator
from skcooc.em import TemperatureRange
from skcooc.em.solvers import SolverName
from skcooc.equations.triadic_aspects import TriadicAspects
from skcooc.fitting import ModelFamily, Recipe
from skcooc.fitting.tuning import (
    ComponentPrior,
    Exponents,
    Temperature,
    Tunable,
    Values,
    prior_range,
)
from skcooc.protocol import Block
from skcooc.protocol.scikit_learn import Interval, StrOptions

Pair = tuple[float, float]


@dataclass(eq=False, repr=False)
class TriadicAspectModel(TriadEstimator):
    """Aspect model of three-way counts: every token (x, y, w) has one of K topics.

    Given its topic z, the three indices of a token are independent:

        P(x, y, w) = sum_k P(z_k) P(x given z_k) P(y given z_k) P(w given z_k)

    Tempered EM fits the model to `Triads`. It predicts the third index from the other two: P(w
    given x, y). Put the index to predict last with ``Triads.transpose``. Read more in the
    :doc:`user guide </guide/triads>`.

    Parameters
    ----------
    n_components : int, default=10
        Number K of topics.

    beta : float in (0, 1] or "auto", default="auto"
        Inverse temperature, the exponent of P(w given z). 1 is maximum likelihood, which overfits.
        "auto" tunes it on held-out tokens, for the prediction of w, and then fits all tokens.

    tempering : {"distinctive", "joint"}, default="distinctive"
        What stands before the power: a topic's share of the values of w that tell topics apart, or
        nothing, which makes shares of topics nearly equal.

    exponents : pair of floats in [0, 1], or "auto", default="auto"
        Exponents, relative to beta, of P(x given z) and P(y given z) in the responsibilities; x and
        y often carry the same information. With ``beta="auto"``, "auto" tunes them on held-out
        tokens and keeps them if perplexity falls by 1 %; else they are (1, 1), the plain model.

    component_prior : float or "auto", default="auto"
        Pseudo-count added to every value of w in every topic, for sparse data; the values of y get
        as many in total. "auto" is 0 unless a value lowers held-out perplexity by 1 %.

    smoothing : float in [0, 1) or "auto", default="auto"
        Weight of the add-one unigram of w in scored probabilities. "auto" estimates it on held-out
        tokens, if any, else 0.001. Where y is new, the prediction is P(w given x).

    Attributes
    ----------
    n_components_ : int
        Number of topics.
    components_, middle_components_, row_components_ : (K, L), (K, M) and (K, N) arrays
        P(w_l given z_k), P(y_j given z_k) and P(x_i given z_k).
    weights_ : (K,) array
        P(z_k).
    component_prior_, exponents_ : float and pair of floats
        Pseudo-count and exponents used.
    embedding_ : (N, K) array
        P(z_k given x_i) of the training rows (values of x); ``transform`` of the same tokens agrees
        within tolerances.
    column_embedding_ : (L, K) array
        P(z_k given w_l).
    unigram_ : (L,) array
        Add-one distribution of w, used for smoothing.
    n_features_in_ : int
        Number L of values of w.
    feature_names_in_ : (L,) array of str
        Names of these values, where they are strings.

    See Also
    --------
    skcooc.Triads : Counts of three indices.
    skcooc.AspectModel : The same model of two indices.

    Notes
    -----
    With ``beta="auto"``, "auto" lowers the exponent of x, then that of y, and then raises beta.
    Then it tries pseudo-counts of 0.001 to 0.5 of the mean expected count, if held-out tokens need
    smoothing above 0.01. With exponents (0, 1) x is ignored.

    References
    ----------
    .. [1] T. Hofmann and J. Puzicha, Statistical models for co-occurrence data, AI Memo 1625, MIT,
       1998, equations 1-11: two indices; here with one factor more.

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

    @property
    def component_prior_(self) -> float:
        return float(self._fitted_model.component_prior)

    @property
    def exponents_(self) -> Pair:
        return self._fitted_model.exponents

    def recipe(self) -> Recipe:
        prior, exponents = self.component_prior, self.exponents
        if prior == "auto":
            prior = self.component_prior_ if self._is_warm_start() else 0.0
        if exponents == "auto":
            exponents = self.exponents_ if self._is_warm_start() else (1.0, 1.0)
        family = TriadicFamily(
            TriadicAspects(self.n_components, prior, checked_exponents(exponents), self.tempering),
            tunes_exponents=self.exponents == "auto",
            tunes_prior=self.component_prior == "auto",
            tunes_smoothing=self.smoothing == "auto",
        )
        return Recipe(family, self._settings(), shape={"n_components": self.n_components})


@dataclass(frozen=True)
class TriadicFamily(ModelFamily):
    """Triadic aspect models by the values of their hyper-parameters."""

    plain: TriadicAspects
    tunes_exponents: bool
    tunes_prior: bool
    tunes_smoothing: bool
    has_warmup = True

    def model(self, values: Values) -> TriadicAspects:
        given = {name: value for name, value in values.items() if name != "beta"}
        return replace(self.plain, **given)

    def warmup_model(self, values: Values) -> TriadicAspects | None:
        return self.plain if values else None

    def beta_range(self, X: Block) -> TemperatureRange:
        return ASPECT_TEMPERATURES

    def tunables(self, X: Block) -> list[Tunable]:
        tunables: list[Tunable] = [Temperature(self.beta_range(X))]
        if self.tunes_exponents:
            tunables.append(Exponents())
        if self.tunes_prior:
            within = prior_range(X, self.plain.n_components)
            tunables.append(ComponentPrior(within, only_thin=self.tunes_smoothing))
        return tunables


def checked_exponents(exponents: Sequence[float]) -> Pair:
    pair = [float(value) for value in exponents]
    if len(pair) != 2 or not all(0 <= value <= 1 for value in pair):
        raise ValueError(f"exponents={exponents} should be two numbers in the [0, 1] range")
    return pair[0], pair[1]
