"""The aspect model (separable mixture model, pLSA): every token has a topic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from skcooc.base import (
    ANNEALING,
    ASPECT_TEMPERATURES,
    CONSTRAINTS,
    SIZE,
    CooccurrenceEstimator,
    Size,
)
from skcooc.em import Annealed, Bursty, MergeAndSplitRuns, Split, Variation, WarmUp
from skcooc.em.solvers import SolverName
from skcooc.equations import aspects as usual_values
from skcooc.equations.aspects import Aspects, PredictiveAspects, Tempering
from skcooc.equations.guided_aspects import Guide, GuidedAspects
from skcooc.fitting import ModelFamily, Recipe, tuning
from skcooc.line_search import TemperatureRange
from skcooc.protocol import Array, Block, Counts
from skcooc.protocol.scikit_learn import Interval, StrOptions
from skcooc.starts.topics import row_start, topic_start
from skcooc.tables import in_columns_of_table

BURSTINESS = 100.0  # tokens: "auto"
DEFAULT_TEMPERING: Tempering = "distinctive"
MIN_GAIN_JOINT = 5e-3  # relative fall of perplexity that is worth flat shares of topics
PREDICTIVE_STEP = 0.04  # between temperatures of leave-one-out models
LOWER_BETA = 0.95  # share of their usual temperature, with smaller pseudo-counts of columns

UNTUNED: tuning.Values = {}  # hyper-parameters as the user gave them


@dataclass(eq=False, repr=False)
class AspectModel(CooccurrenceEstimator):
    """Aspect model (pLSA): a topic model of counts, fitted by tempered EM.

    A token is one occurrence of column y_j in row x_i. Every token belongs to one of K topics. An
    inverse temperature beta < 1 flattens the posterior probabilities of the topics
    (responsibilities), which prevents overfitting. Read more in the :doc:`user guide
    </guide/aspect_model>`.

    Parameters
    ----------
    n_components : int or "auto", default=10
        Number K of topics. "auto" runs `ComponentSearchCV` first.

    beta : float in (0, 1] or "auto", default="auto"
        Inverse temperature, the exponent in the E-step. 1 is maximum likelihood. "auto" tunes it on
        held-out tokens.

    tempering : {"auto", "distinctive", "joint", "likelihood"}, default="auto"
        Prior probabilities of the topics in the E-step, to which the exponent beta does not apply.
        They influence how large topics become.

        - ``"distinctive"``: each topic's share of the words that tell topics apart.
        - ``"likelihood"``: P(z), as in [1]_. Large topics tend to grow.
        - ``"joint"``: no such prior. Topics become nearly equal in size.
        - ``"auto"``: "distinctive", unless "joint" lowers held-out perplexity by 0.5 %.

    component_prior : float, (K, M) array or "auto", default="auto"
        Pseudo-count of every column in every topic.

        - float: the same for all topics and columns, for sparse data. All columns without tokens
          together get the pseudo-count of s + 1 columns, where s is the number of columns with a
          single token.
        - array: for instance expected counts of an earlier period. The topics start from it. If X
          has column names, a DataFrame is matched by name, and columns that it lacks get 0. In a
          pipeline see `NamedCounts`.
        - ``"auto"``: 0, unless a larger value lowers held-out perplexity by 1 %.

    leave_one_out : bool or "auto", default="auto"
        Whether to subtract each token's expected count from its row and column before the E-step
        (predictive EM). It helps if rows are short and topics many. "auto" tries it if rows contain
        fewer than 2 K tokens on average, and keeps it unless held-out perplexity rises by 0.3 %.

    row_prior : float > 0 or "auto", default="auto"
        Pseudo-count of P(z) in each row. With leave-one-out it applies to all rows. Otherwise it
        applies to new rows only, and is divided by the number of tokens in the row.

        - ``"auto"`` with leave-one-out: 1, or 0.3 if that predicts better.
        - ``"auto"`` otherwise: tuned on held-out tokens if ``beta="auto"``, else 2.

    burstiness : float > 0, "auto" or None, default=None
        Concentration of a Dirichlet compound multinomial [3]_, in tokens. The smaller it is, the
        less a repetition of a word within a row counts. "auto" is 100. Use it inside `RowMemory`.

    n_init : int, default=1
        Number of EM runs; the best is kept. Each run after the first starts from the best so far,
        merges two of its topics and splits another.

    annealing : float > 1, float in (0, 1) or None, default=None
        Largest factor by which beta changes at a time. None keeps beta constant.

        - above 1: beta rises from its critical value, with up to ``max_iter`` iterations at each
          value, and topics split.
        - below 1: beta falls from 1, with up to eight iterations at each value but the last.

    Attributes
    ----------
    n_components_, component_search_ : int and ComponentSearchCV
        Number of topics, and the search that found it if ``n_components="auto"``.
    components_ : (K, M) array
        P(y_j given z_k).
    weights_ : (K,) array
        P(z_k), also the mixture weights of an empty row.
    embedding_ : (N, K) array
        P(z_k given x_i) of the training rows. With leave-one-out, the rows are folded in again
        after the last iteration.
    component_prior_, row_prior_, leave_one_out_, tempering_ : float, float, bool, str
        Values used in the fit.
    splits_ : list of Split
        Topics that split, if ``annealing > 1``.

    See Also
    --------
    skcooc.AveragedModels : Average of several fits, with lower perplexity.

    Notes
    -----
    The model is P(y_j given x_i) = sum_k P(z_k given x_i) P(y_j given z_k).

    With ``leave_one_out=True`` or ``tempering="distinctive"``, the objective may rise during EM.

    References
    ----------
    .. [1] T. Hofmann and J. Puzicha, Statistical models for co-occurrence data, AI Memo 1625, MIT,
       1998, equations 1-11, 60-62.
    .. [2] T. Hofmann, Unsupervised learning by probabilistic latent semantic analysis, Machine
       Learning 42, 2001.
    .. [3] G. Doyle and C. Elkan, Accounting for burstiness in topic models, ICML 2009.

    Examples
    --------
    >>> from skcooc import AspectModel, datasets
    >>> X = datasets.make_cooccurrences(n_rows=60, n_columns=40, n_components=3, random_state=0).X
    >>> AspectModel(n_components=3, random_state=0).fit(X).transform(X[:2]).shape
    (2, 3)
    """

    n_components: Size = 10
    _: KW_ONLY
    tempering: Tempering | Literal["auto"] = "auto"
    component_prior: float | Literal["auto"] | ArrayLike = "auto"
    leave_one_out: bool | Literal["auto"] = "auto"
    row_prior: float | Literal["auto"] = "auto"
    burstiness: float | Literal["auto"] | None = None
    annealing: float | None = None
    max_iter: int = 500
    solver: SolverName = "momentum"

    n_components_: int = field(init=False)
    splits_: list[Split] = field(init=False)

    size_parameters = ("n_components",)
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "n_components": SIZE,
        "tempering": [StrOptions({"auto", "distinctive", "joint", "likelihood"})],
        "component_prior": [
            Interval(Real, 0, None, closed="left"),
            StrOptions({"auto"}),
            "array-like",
        ],
        "leave_one_out": ["boolean", StrOptions({"auto"})],
        "row_prior": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "burstiness": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"}), None],
        "annealing": ANNEALING,
    }

    @property
    def component_prior_(self) -> float:
        """Pseudo-count used in the fit. It is 0 if ``component_prior`` is an array."""
        return float(self._fitted_model.component_prior)

    @property
    def tempering_(self) -> Tempering:
        model = self._fitted_model
        return (model.aspects if isinstance(model, PredictiveAspects) else model).tempering

    @property
    def leave_one_out_(self) -> bool:
        return isinstance(self._fitted_model, PredictiveAspects)

    @property
    def row_prior_(self) -> float:
        """Pseudo-count of a row. Without leave-one-out it is divided by the tokens of a new row."""
        return float(self._fitted_model.row_prior)

    def merged(self, shares: Array) -> Self:
        """Return a fitted model of L topics: topic k is divided among them by shares (K, L)."""
        weights = self._state.params.weights
        mass = self.component_distribution_ if self._has_all_rows else weights
        return self._with_merged_components(shares, mass)

    def recipe(self) -> Recipe:
        family = self._family()
        is_leave_one_out = family.is_leave_one_out(UNTUNED)
        if is_leave_one_out and (self.annealing or 0) > 1:
            raise ValueError(
                f"leave_one_out=True needs annealing < 1, or None, got {self.annealing}."
            )
        if family.is_guided and self.annealing is not None:
            raise ValueError(
                f"annealing={self.annealing} splits topics, but known topics cannot be split: set "
                "annealing=None."
            )
        concentration = BURSTINESS if self.burstiness == "auto" else self.burstiness
        if concentration is not None and self.early_stopping:
            raise ValueError(
                "early_stopping=True cannot be combined with burstiness, which is for models with "
                "a cache, because it validates without one: set burstiness=None."
            )
        plain = family.plain(UNTUNED)
        variations: list[Variation] = []
        warm_up = WarmUp(family.first_model)
        if self.annealing is not None:
            variations.append(Annealed(self.annealing, plain.critical_beta, in_short=warm_up))
        elif not family.is_guided:
            variations.append(warm_up)
        if not (is_leave_one_out or family.is_guided or self.annealing or self.burstiness):
            variations.append(MergeAndSplitRuns(family.first_model))
        if concentration is not None:
            variations.append(Bursty(float(concentration)))
        return Recipe(
            family,
            self._settings(),
            shape={"n_components": self.n_components, "leave_one_out": self.leave_one_out},
            start=topic_start,
            quick_start=None if family.is_guided else row_start,
            variations=tuple(variations),
            init_from=plain if self.annealing is None else None,
            needs_empty_columns=family.knows_columns,
        )

    def _family(self) -> AspectFamily:
        last = None
        if self._is_warm_start():
            last = HyperParameters(
                self.tempering_, self.component_prior_, self.row_prior_, self.leave_one_out_
            )
        family = AspectFamily(
            n_components=self.n_components,
            tempering=self.tempering,
            component_prior=0.0,
            row_prior=self.row_prior,
            leave_one_out=self.leave_one_out,
            annealed=self.annealing is not None,
            tunes_smoothing=self.smoothing == "auto",
            last=last,
        )
        if isinstance(self.component_prior, Real | str):
            prior = cast("float | Literal['auto']", self.component_prior)
            return replace(family, component_prior=prior)
        return replace(family, expected_counts=self.component_prior, equations=GuidedAspects)

    def _row_states(self, X: Block) -> Array:
        # row_prior is weighed against the tokens that some topic can explain.
        is_explained = np.zeros(X.shape[1], dtype=bool)
        is_explained[X.indices] = True
        columns = np.flatnonzero(is_explained)
        is_explained[columns] = self.components_[:, columns].any(axis=0)
        if not is_explained[columns].all():
            X = X.replaced(X.table.data * is_explained[X.indices])
        return super()._row_states(X)


class HyperParameters(NamedTuple):
    """Hyper-parameters of an aspect model, none of them "auto"."""

    tempering: Tempering
    component_prior: float
    row_prior: float
    leave_one_out: bool


@dataclass(frozen=True)
class AspectFamily(ModelFamily):
    """Aspect models by the values of their hyper-parameters; those that are "auto" are tuned."""

    n_components: int
    tempering: Tempering | Literal["auto"]
    component_prior: float | Literal["auto"]
    row_prior: float | Literal["auto"]
    leave_one_out: bool | Literal["auto"]
    annealed: bool
    tunes_smoothing: bool
    last: HyperParameters | None  # of the last fit, for a warm start
    expected_counts: ArrayLike | None = None  # (K, M): pseudo-counts of columns
    equations: Callable[..., Aspects] = Aspects  # by number of components, tempering and prior

    @property
    def is_guided(self) -> bool:
        """Whether something is known of the components."""
        return self.knows_columns

    @property
    def knows_columns(self) -> bool:
        """Whether something is known of columns, with or without tokens."""
        return self.expected_counts is not None

    def for_table(self, X: Counts, columns: Array | None) -> AspectFamily:
        if self.expected_counts is None:
            return self
        counts = self.checked_counts(X, columns)
        equations = partial(GuidedAspects, guide=Guide(0 * counts, 0 * counts, counts))
        return replace(self, equations=equations)

    def checked_counts(self, X: Counts, columns: Array | None) -> Array:
        """Return the expected counts, (M, K), those of a frame by name; ValueError for others."""
        counts: Array = check_array(
            self.expected_counts, ensure_non_negative=True, input_name="component_prior", copy=True
        )
        counts = in_columns_of_table(counts, self.expected_counts, columns, "component_prior")
        if counts.shape != (self.n_components, X.shape[1]):
            raise ValueError(
                f"component_prior is an array of shape {counts.shape}; it must be "
                f"{(self.n_components, X.shape[1])}: an expected count for each topic and column."
            )
        return counts.T

    def model(self, values: tuning.Values) -> Aspects | PredictiveAspects:
        plain = self.plain(values)
        row_prior = self.hyper_parameters(values).row_prior
        if self.is_leave_one_out(values):
            return PredictiveAspects(plain, row_prior)
        return replace(plain, row_prior=row_prior)

    def plain(self, values: tuning.Values) -> Aspects:
        """Return the equations without leave-one-out."""
        n = values.get("n_components", self.n_components)
        tempering, component_prior, *_ = self.hyper_parameters(values)
        # A pilot with fewer components, which only finds a temperature, knows nothing of them.
        make = self.equations if n == self.n_components else Aspects
        return make(n, tempering, component_prior)

    def hyper_parameters(self, values: tuning.Values) -> HyperParameters:
        """Return the values tried; of others those given, of the last fit, or the usual ones.

        With fewer components the pseudo-count of a column is larger, so that their total stays.
        """
        leave_one_out = self.is_leave_one_out(values)
        component_prior = self._pseudo_count("component_prior", leave_one_out)
        if "n_components" in values:
            component_prior *= self.n_components / values["n_components"]
        row_prior = self._pseudo_count("row_prior", leave_one_out)
        tempering = self.tempering
        if tempering == "auto":
            tempering = DEFAULT_TEMPERING if self.last is None else self.last.tempering
        return HyperParameters(
            values.get("tempering", tempering),
            values.get("component_prior", component_prior),
            values.get("row_prior", row_prior),
            leave_one_out,
        )

    def _pseudo_count(self, name: str, leave_one_out: bool) -> float:
        """Return the pseudo-count given; else that of the last fit, or the usual one."""
        value: float | Literal["auto"] = getattr(self, name)
        if value != "auto":
            return value
        if self.last is not None and self.last.leave_one_out == leave_one_out:
            return getattr(self.last, name)
        if leave_one_out:
            return usual_values.PSEUDO_COUNTS[name]
        return usual_values.ROW_PRIOR if name == "row_prior" else 0.0

    def has_tunable_row_prior(self, values: tuning.Values) -> bool:
        return self.row_prior == "auto" and not self.is_leave_one_out(values)

    def first_model(self, values: tuning.Values) -> Aspects:
        """Return plain equations, with their usual pseudo-counts instead of those tried."""
        size = {name: values[name] for name in {"n_components"} & values.keys()}
        return self.plain({**size, "leave_one_out": False})

    def beta_range(self, X: Block) -> TemperatureRange:
        if self.is_leave_one_out(UNTUNED):
            return self._predictive_range(X)
        return ASPECT_TEMPERATURES._replace(guess=usual_values.usual_beta(X, self.n_components))

    def tunables(self, X: Block) -> list[tuning.Tunable]:
        usual = {name: self._pseudo_count(name, True) for name in usual_values.PSEUDO_COUNTS}
        factors = usual_values.PSEUDO_COUNT_FACTORS
        shares = [s for s in factors if all(getattr(self, name) == "auto" for name in s)]
        joint = tuning.OneOf("tempering", ["joint"], MIN_GAIN_JOINT)
        last = [joint] if self.tempering == "auto" else []
        if self.is_leave_one_out(UNTUNED):
            smaller = tuning.SmallerPseudoCounts(shares, usual)
            return [tuning.Temperature(self.beta_range(X)), smaller, *last]
        K = self.n_components
        n_pilot = min(K, max(usual_values.LEAST_ASPECTS, K // 4))
        pilot = ASPECT_TEMPERATURES._replace(guess=usual_values.usual_beta(X, n_pilot))
        guess = partial(usual_values.beta_of_others, n_pilot, K)
        temperature = tuning.Temperature(ASPECT_TEMPERATURES, guess, n_trials=1)
        tunables: list[tuning.Tunable] = [tuning.Pilot(pilot, n_pilot), temperature]
        if self.leave_one_out == "auto" and not self.annealed and usual_values.has_short_rows(X, K):
            beta = usual_values.usual_predictive_beta(X, K)
            lower = [{"beta": LOWER_BETA, **s} if "component_prior" in s else s for s in shares]
            tunables.append(tuning.LeaveOneOut(beta, usual, lower))
        if self.component_prior == "auto":
            within = tuning.prior_range(X, K)
            tunables.append(tuning.ComponentPrior(within, only_thin=self.tunes_smoothing))
        return [*tunables, *last]

    def is_leave_one_out(self, values: tuning.Values) -> bool:
        """Return whether responsibilities are leave-one-out; False where that is to be tuned."""
        if "leave_one_out" in values:
            return values["leave_one_out"]
        if self.leave_one_out == "auto":
            return self.last is not None and self.last.leave_one_out
        return self.leave_one_out

    def _predictive_range(self, X: Block) -> TemperatureRange:
        """Return the range of leave-one-out models, whose best beta is nearer to 1."""
        guess = usual_values.usual_predictive_beta(X, self.n_components)
        return ASPECT_TEMPERATURES._replace(guess=guess, step=PREDICTIVE_STEP)
