"""The aspect model (separable mixture model, pLSA): every token has a topic."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Literal

from sklearn.utils._param_validation import Interval, StrOptions

from skcooc.base import (
    ANNEALING,
    ASPECT_TEMPERATURES,
    CONSTRAINTS,
    SIZE,
    CooccurrenceEstimator,
    Size,
)
from skcooc.base.merging import merged_components
from skcooc.em import Split, TemperatureRange, annealing_schedule
from skcooc.em.solvers import SolverName
from skcooc.equations import aspects as usual_values
from skcooc.equations.aspects import Aspects, PredictiveAspects
from skcooc.fitting import ModelFamily, Recipe
from skcooc.fitting.tuning import (
    ComponentPrior,
    LeaveOneOut,
    Pilot,
    SmallerPseudoCounts,
    Temperature,
    Tunable,
    Values,
    prior_range,
)
from skcooc.protocol import Array, Block

BURSTINESS = 100.0  # tokens: "auto"
PREDICTIVE_STEP = 0.04  # between temperatures of leave-one-out models


@dataclass(eq=False, repr=False)
class AspectModel(CooccurrenceEstimator):
    """Aspect model (pLSA): a topic model of counts, fitted by tempered EM.

    Every token, an occurrence of column j in row i, belongs to one of K topics (aspects):
    P(y_j given x_i) = sum_k P(z_k given x_i) P(y_j given z_k). Also known as separable mixture
    model (SMM), and as aggregate Markov model where rows and columns are the same words.
    An inverse temperature beta < 1 flattens the responsibilities and prevents overfitting; ``fit``
    tunes it on held-out tokens.

    Parameters
    ----------
    n_components : int or "auto", default=10
        Number K of topics. "auto" runs `ComponentSearchCV` with its defaults first, which costs
        about twenty fits, needs a table in memory, and tries at most 100; a warm start keeps the
        number found.

    beta : float in (0, 1] or "auto", default="auto"
        Inverse temperature. 1 is maximum likelihood, which overfits; below a critical value all
        topics collapse to the overall column frequencies. "auto" tunes it by short fits on held-out
        tokens, most of them with a quarter of the topics (at least 32), and fits all tokens then.

    tempering : {"joint", "likelihood"}, default="joint"
        Which probabilities beta is an exponent of: P(z) P(x given z) P(y given z), or only
        P(x given z) P(y given z), as in Hofmann & Puzicha (1998).

    component_prior : float or "auto", default="auto"
        Pseudo-count added to every column in every topic. It helps where data are sparse, such as
        word pairs. With ``beta="auto"``, "auto" tries values where the smoothing that held-out
        tokens ask for is above 0.01, and keeps one if their perplexity falls by 1 %; else it is 0.
        With leave-one-out responsibilities it is 0.02, or a quarter of it.

    leave_one_out : bool or "auto", default="auto"
        Whether to use leave-one-out responsibilities (predictive EM): each token's own expected
        count is subtracted from its row and its column before the E-step. It helps where rows are
        short and topics many. With ``beta="auto"``, "auto" tries it after all else if rows have, on
        average, fewer tokens than twice the number of topics, and keeps it if held-out perplexity
        falls by 1 %. An iteration takes about three times as long, and the objective may rise. New
        rows are folded in without it, so ``transform`` of the training rows is not ``embedding_``.
        Not with ``annealing > 1``. In streams tokens are subtracted from their rows alone.

    row_prior : float > 0 or "auto", default="auto"
        Pseudo-count of a row, distributed as P(z), with leave-one-out responsibilities only. "auto"
        is 1, or 0.3 where ``beta="auto"`` and held-out perplexity falls by 1 %.

    burstiness : float > 0, "auto" or None, default=None
        Concentration a of a Dirichlet compound multinomial, in tokens, for columns that repeat
        within a row. After the fit three rounds of EM replace a count n_ij by the number of times
        that it is expected to be new, al [psi(al + n_ij) - psi(al)] with al = a P(y_j given x_i).
        The smaller a, the less repetitions count. "auto" is 100. Use it inside `RowMemory`, which
        models the repetitions: the perplexity of the model alone rises. beta and priors are tuned
        without it. Not with ``early_stopping``, streams, and tables that are not in memory.

    annealing : float > 1, float in (0, 1) or None, default=None
        Largest factor by which beta changes at a time; ``max_iter`` holds for each temperature.
        Above 1, such as 1.03, beta rises from its critical value: EM begins with one topic, which
        splits on the way (``splits_``). Below 1, such as 0.95, beta falls from 1, and with
        ``early_stopping=True`` only as long as held-out tokens are predicted better. Not used in
        the search for beta; a warm start continues at ``beta_``.

    tol : float, default=3e-6
        Relative decrease of the free energy below which EM stops. EM slows down
        long before it ends: 1e-5 would cost up to 0.5 % perplexity.

    Attributes
    ----------
    n_components_ : int
        Number of topics.
    component_search_ : ComponentSearchCV
        Search for the number of topics; only where ``n_components="auto"``.
    components_ : (K, M) array
        P(y_j given z_k).
    weights_ : (K,) array
        P(z_k), the mixture of an empty row.
    embedding_ : (N, K) array
        P(z_k given x_i) of the training rows.
    component_prior_ : float
        Pseudo-count of columns used.
    row_prior_ : float or None
        Pseudo-count of rows used; None without leave-one-out responsibilities.
    leave_one_out_ : bool
        Whether leave-one-out responsibilities were used.
    beta_ : float
        Inverse temperature used.
    splits_ : list of Split
        Topics that split: ``beta`` and ``parts``; only where ``annealing > 1``.

    See Also
    --------
    skcooc.AveragedModels : Average of several fits; lower perplexity.
    skcooc.Dyads : Tokens as samples, for cross-validation.

    References
    ----------
    T. Hofmann and J. Puzicha, Statistical models for co-occurrence data, AI Memo 1625, MIT, 1998,
    sections 2.1-2.3, 5.1 and 5.2.

    T. Hofmann, Unsupervised learning by probabilistic latent semantic analysis, Machine Learning
    42, 177-196, 2001.

    G. Doyle and C. Elkan, Accounting for burstiness in topic models, ICML 2009.

    Examples
    --------
    >>> from skcooc import AspectModel
    >>> from skcooc.datasets import make_cooccurrences
    >>> X = make_cooccurrences(n_rows=60, n_columns=40, n_components=3, random_state=0).X
    >>> model = AspectModel(n_components=3, random_state=0).fit(X)
    >>> model.transform(X[:2]).shape
    (2, 3)

    The number of topics found on the data:

    >>> model = AspectModel("auto", random_state=0).fit(X)
    >>> model.n_components_, model.component_search_.still_falling_
    (3, False)
    """

    n_components: Size = 10
    _: KW_ONLY
    tempering: Literal["joint", "likelihood"] = "joint"
    component_prior: float | Literal["auto"] = "auto"
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
        "tempering": [StrOptions({"joint", "likelihood"})],
        "component_prior": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "leave_one_out": ["boolean", StrOptions({"auto"})],
        "row_prior": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "burstiness": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"}), None],
        "annealing": ANNEALING,
    }

    @property
    def component_prior_(self) -> float:
        """Pseudo-count used."""
        return float(self._fitted_model.component_prior)

    @property
    def leave_one_out_(self) -> bool:
        """True where leave-one-out responsibilities were used."""
        return isinstance(self._fitted_model, PredictiveAspects)

    @property
    def row_prior_(self) -> float | None:
        """Pseudo-count of a row; None without leave-one-out responsibilities."""
        model = self._fitted_model
        return float(model.row_prior) if isinstance(model, PredictiveAspects) else None

    def merged(self, shares: Array) -> CooccurrenceEstimator:
        """Return a fitted model of L topics, sums of the K fitted ones by shares (K, L)."""
        kept = len(self.embedding_) > 0  # of a table in blocks no rows are
        mass = self.component_distribution_ if kept else self._state.params.weights
        return merged_components(self, shares, mass, "n_components")

    def recipe(self) -> Recipe:
        family = AspectFamily(
            n_components=self.n_components,
            tempering=self.tempering,
            component_prior=self.component_prior,
            row_prior=self.row_prior,
            leave_one_out=self.leave_one_out,
            annealed=self.annealing is not None,
            tunes_smoothing=self.smoothing == "auto",
            last=self._last_values(),
        )
        if family.is_leave_one_out({}) and (self.annealing or 0) > 1:
            raise ValueError(
                "leave_one_out=True has no topics that split: it needs annealing < 1, or None."
            )
        plain = family.plain({})
        return Recipe(
            family,
            self._settings(),
            shape={"n_components": self.n_components, "leave_one_out": self.leave_one_out},
            annealing=annealing_schedule(self.annealing, plain.critical_beta),
            init_from=plain if self.annealing is None else None,
            concentration=self._concentration(),
            supports_splitting=not (
                family.is_leave_one_out({}) or self.annealing or self.burstiness
            ),
        )

    def _last_values(self) -> Values:
        """Return the hyper-parameters of the last fit, which a warm start keeps; else none."""
        if not self._is_warm_start():
            return {}
        names = "component_prior", "row_prior", "leave_one_out"
        return {name: getattr(self, f"{name}_") for name in names}

    def _concentration(self) -> float | None:
        """Return the concentration; ValueError where parameters do not go together."""
        if self.burstiness is None:
            return None
        if self.early_stopping:
            raise ValueError(
                "early_stopping=True validates without the within-document cache that burstiness "
                "is for: set burstiness=None."
            )
        return BURSTINESS if self.burstiness == "auto" else float(self.burstiness)


@dataclass(frozen=True)
class AspectFamily(ModelFamily):
    """Aspect models by the values of their hyper-parameters; those that are "auto" are tuned."""

    n_components: int
    tempering: Literal["joint", "likelihood"]
    component_prior: float | Literal["auto"]
    row_prior: float | Literal["auto"]
    leave_one_out: bool | Literal["auto"]
    annealed: bool
    tunes_smoothing: bool
    last: Values  # of the last fit, for a warm start; else empty
    has_warmup = True

    def model(self, values: Values) -> Aspects | PredictiveAspects:
        plain = self.plain(values)
        if not self.is_leave_one_out(values):
            return plain
        return PredictiveAspects(plain, {**self._pseudo_counts(True), **values}["row_prior"])

    def plain(self, values: Values) -> Aspects:
        """Return the equations without leave-one-out.

        With fewer components the pseudo-count of a column is larger, so that their total stays.
        """
        n = self.n_components
        prior = self._pseudo_counts(self.is_leave_one_out(values))["component_prior"]
        if "n_components" in values:
            n = values["n_components"]
            prior *= self.n_components / n
        return Aspects(n, self.tempering, values.get("component_prior", prior))

    def warmup_model(self, values: Values) -> Aspects:
        """Return plain equations, with the usual pseudo-counts instead of those tried."""
        names = "n_components", "leave_one_out"
        return self.plain({name: values[name] for name in names if name in values})

    def beta_range(self, X: Block) -> TemperatureRange:
        return self._predictive_range(X) if self.is_leave_one_out({}) else ASPECT_TEMPERATURES

    def tunables(self, X: Block) -> list[Tunable]:
        usual, always = self._pseudo_counts(True), self.is_leave_one_out({})
        shares = [
            share
            for share in usual_values.PSEUDO_COUNT_FACTORS
            if all(getattr(self, name) == "auto" for name in share)
        ]
        smaller = SmallerPseudoCounts(shares, usual, always)
        if always:
            return [Temperature(self.beta_range(X)), smaller]
        K, few = self.n_components, usual_values.n_pilot_components(self.n_components)
        pilot = ASPECT_TEMPERATURES._replace(guess=usual_values.usual_beta(X, few))
        tunables: list[Tunable] = [
            Pilot(pilot, few),
            Temperature(
                ASPECT_TEMPERATURES, partial(usual_values.beta_of_others, few, K), n_trials=1
            ),
        ]
        if self.component_prior == "auto":
            tunables.append(ComponentPrior(prior_range(X, K), only_thin=self.tunes_smoothing))
        if self.leave_one_out == "auto" and not self.annealed:
            if usual_values.has_short_rows(X, K):
                tunables.append(LeaveOneOut(self._predictive_range(X), usual))
            tunables.append(smaller)
        return tunables

    def is_leave_one_out(self, values: Values) -> bool:
        """Return whether responsibilities are leave-one-out; False where that is to be tuned."""
        if "leave_one_out" in values:
            return values["leave_one_out"]
        if self.leave_one_out == "auto":
            return bool(self.last) and self.last["leave_one_out"]
        return self.leave_one_out

    def _predictive_range(self, X: Block) -> TemperatureRange:
        """Return the range of leave-one-out models, whose best beta is nearer to 1."""
        guess = usual_values.usual_predictive_beta(X, self.n_components)
        return ASPECT_TEMPERATURES._replace(guess=guess, step=PREDICTIVE_STEP)

    def _pseudo_counts(self, leave_one_out: bool) -> dict[str, float]:
        """Return the pseudo-counts given; else those of the last fit, or the usual ones."""
        usual = dict(usual_values.PSEUDO_COUNTS)
        if not leave_one_out:
            usual["component_prior"] = 0.0
        if self.last and leave_one_out == self.last["leave_one_out"]:
            usual = {name: self.last[name] for name in usual}
        given = {"component_prior": self.component_prior, "row_prior": self.row_prior}
        return {name: usual[name] if value == "auto" else value for name, value in given.items()}
