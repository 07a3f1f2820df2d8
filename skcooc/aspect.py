"""The aspect model (separable mixture model, pLSA): classes of observations."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

from sklearn.utils._param_validation import Interval, StrOptions

from skcooc.base import ANNEALING, CONSTRAINTS, CooccurrenceEstimator, Size
from skcooc.base.merging import made_of
from skcooc.em import Split, TemperatureRange, cooled
from skcooc.em.solvers import SolverName
from skcooc.equations import aspect_search as usual_values
from skcooc.equations.aspects import Aspects
from skcooc.equations.predictive_aspects import PredictiveAspects
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

BURSTINESS = 100.0  # observations: "auto"
TEMPERATURES = TemperatureRange(0.5, 1.0)
PREDICTIVE_STEP = 0.04  # between temperatures tried where observations leave themselves out


@dataclass(eq=False, repr=False)
class AspectModel(CooccurrenceEstimator):
    """Aspect model: every observation comes from one of K aspects.

    Also known as separable mixture model (SMM) and probabilistic latent semantic analysis (pLSA);
    as aggregate Markov model where rows and columns are the same words. A row, say a document, has
    a distribution over aspects; an aspect is a distribution over columns, say words. The model is
    fitted by tempered EM, and the inverse temperature, which keeps it from overfitting, is found
    by itself; so is whether an observation leaves itself out.

    Parameters
    ----------
    n_components : int or "auto", default=10
        Number K of aspects. "auto" finds it: before all else, `ComponentSearchCV` with its defaults
        looks for the fewest aspects that predict held-out observations as well as any. It warns
        where more are ever better, as on most texts, and takes the largest number tried, 100 at
        most. That is the work of some twenty fits. A warm start keeps the number. "auto"
        needs a table in memory, and has no ``partial_fit``.

    beta : float in (0, 1] or "auto", default="auto"
        Inverse temperature. 1 is maximum likelihood (untempered pLSA), which overfits. Below a
        critical value, on texts about .6, all aspects become the unigram. "auto" chooses it on
        observations held out inside ``fit``, by short fits around a guess, most of them with a
        quarter of the aspects, but at least 32. It then fits all observations; the first random
        start goes on from the best short fit, but for ``annealing``.

    tempering : {"joint", "likelihood"}, default="joint"
        What beta is the exponent of: P(z) P(x given z) P(y given z), or, as in the memo, only
        P(x given z) P(y given z).

    component_prior : float or "auto", default="auto"
        Pseudo-count added to the expected count of every column in every aspect. It helps where
        data are thin, such as word pairs seen once. "auto" chooses it where ``beta="auto"``,
        after beta, between .001 and .5 of the mean expected count, beginning with .03 of it; with
        the best, a larger beta is tried, too. It is zero elsewhere, where data are not thin, as the
        held-out observations show by a smoothing below .01, and where the first two tried lower
        their perplexity by less than one per cent, as on most texts. Where observations leave
        themselves out "auto" is .02, or a quarter of that where this predicts better.

    leave_one_out : bool or "auto", default="auto"
        Whether the posterior of an observation leaves out what the observation itself contributed
        to its row and to its column (predictive EM). It predicts better where rows are short and
        components many, and beta is then nearer to one. An iteration takes about three times as
        long. No proof says that the objective falls. New rows are folded in plainly, with the prior
        of rows: ``transform`` of the rows fitted is not ``embedding_``. In streams and RowBlocks
        observations are left out of their rows alone.

        "auto" tries it where ``beta="auto"`` and a row has fewer observations, in the mean, than
        twice the number of components, after all else; it stays if it lowers the perplexity of the
        held-out observations by more than one per cent. ``leave_one_out_`` says so. A stream has
        what its first batch, or the sample of its blocks, prefers, which may be too few to prefer
        it. It is not tried with ``annealing``.

    row_prior : float > 0 or "auto", default="auto"
        Only where observations leave themselves out: how many observations, distributed as P(z),
        are added to those of every row; that is a Dirichlet prior of which the mixture of the row
        is the mean. "auto" is 1, or .3 where ``beta="auto"`` and the observations held out are
        predicted better by more than one per cent. Their short fits follow those for beta.

    burstiness : float > 0, "auto" or None, default=None
        Concentration a of a row, in observations, where its columns come in bursts, as words do: a
        column that a row has already is likely to come again, whatever the aspects. From the
        converged fit three rounds of EM go on, in which a count n_ij is replaced by the number of
        times that it is expected to be new, al [psi(al + n_ij) - psi(al)] with al = a P(y_j given
        x_i). At beta=1 this fits a Dirichlet compound multinomial. The smaller a, the less a
        repetition counts; without end it is the plain fit, near zero one of binary counts. "auto"
        is 100.

        Use it inside `RowMemory`, which predicts the repetitions that it leaves out, and for
        observations of columns that a row has not got yet. Do not use it where the model is alone:
        its own perplexity rises, by 3 to 5 per cent on texts and much more on word pairs; nor for
        clusters or retrieval. beta and the prior are searched without it. New rows are folded in
        plainly, so that ``transform`` of the rows fitted is not ``embedding_``. Not with
        ``early_stopping``, streams, blocks of rows, dask arrays or compact tables.

    annealing : float > 1, float in (0, 1) or None, default=None
        Largest factor by which the inverse temperature changes at a time, while EM goes on;
        ``max_iter`` is for each temperature. Above 1, say 1.03, it rises from the critical value
        up to beta: EM begins with a single aspect, and at every temperature each may split in two,
        which ``splits_`` records; where fewer than ``n_components`` come apart, some are there
        repeatedly. Below 1, say .95, it falls from 1 to beta, after eight iterations at each
        temperature, or with ``early_stopping=True`` as many as predict held-out observations
        better, and then as long as another temperature does so. None stays at beta, as does the
        search for it; a warm start goes on at ``beta_``. ``leave_one_out=True`` has no aspects that
        split: it needs one below 1, or None.

    tol : float, default=3e-6
        EM stops when the free energy falls by less than this, relative to its size; where
        observations leave themselves out, when it does so for two iterations, since it may rise on
        its way. With 1e-5 it stops too early: that costs up to half a per cent of the perplexity.

    Attributes
    ----------
    n_components_ : int
        Number of aspects.
    component_search_ : ComponentSearchCV
        Only where ``n_components="auto"``: the search, without data or ``best_estimator_``; see its
        ``summary()``.
    components_ : (K, M) array
        P(y_j given z_k).
    weights_ : (K,) array
        P(z_k).
    embedding_ : (N, K) array
        P(z_k given x_i) of the rows fitted, as EM left them; ``transform`` of the same rows folds
        them in anew and agrees but for tolerances. A dask array where X was one.
    component_prior_ : float
        Pseudo-count used.
    row_prior_ : float or None
        Pseudo-observations of a row; None where observations did not leave themselves out.
    leave_one_out_ : bool
        Whether observations left themselves out.
    beta_ : float
        Inverse temperature used; where ``annealing < 1`` and ``early_stopping=True``, that at which
        the fall ended.
    splits_ : list of Split
        Only where ``annealing > 1``: ``beta``, the inverse temperature at which an aspect came
        apart, and ``parts``, the aspects in each part.
    tuning_ : list of Trial
        The temperatures tried with ``n_components``, a quarter of the aspects but at least 32, or
        all where there are no more; that which these say is best, tried with all, where
        ``n_components`` is None; pseudo-counts at it; and temperatures at which observations leave
        themselves out, and smaller pseudo-counts then, with ``row_prior``. Each has ``beta``,
        ``prior``, ``validation.perplexity`` and ``validation.smoothing``.

    See Also
    --------
    skcooc.Dyads : Observations as samples, for cross-validation.

    References
    ----------
    T. Hofmann and J. Puzicha, Statistical models for co-occurrence data, AI Memo 1625, MIT, 1998,
    sections 2.1-2.3 and 5.1.

    T. Hofmann, Unsupervised learning by probabilistic latent semantic analysis, Machine Learning
    42, 177-196, 2001.

    C. Elkan, Clustering documents with an exponential-family approximation of the Dirichlet
    compound multinomial distribution, ICML 2006.

    G. Doyle and C. Elkan, Accounting for burstiness in topic models, ICML 2009.

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

    As many aspects as the observations tell apart:

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
        "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
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
        """Whether observations were left out."""
        return isinstance(self._fitted_model, PredictiveAspects)

    @property
    def row_prior_(self) -> float | None:
        """Pseudo-observations of a row; None where observations were not left out."""
        model = self._fitted_model
        return float(model.row_prior) if isinstance(model, PredictiveAspects) else None

    def _made_of(self, shares: Array) -> CooccurrenceEstimator:
        """A fitted model whose aspects are sums of these, where shares (K, L) are one."""
        kept = len(self.embedding_) > 0  # of a table in blocks no rows are
        mass = self.component_distribution_ if kept else self._state.params.weights
        return made_of(self, shares, mass, "n_components")

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
                "leave_one_out=True has no aspects that split: it needs annealing < 1, or None."
            )
        plain = family.plain({})
        return Recipe(
            family,
            self._settings(),
            shape={"n_components": self.n_components, "leave_one_out": self.leave_one_out},
            annealing=cooled(self.annealing, plain.critical_beta),
            init_from=plain.diluted if self.annealing is None else None,
            concentration=self._concentration(),
            supports_splitting=not (
                family.is_leave_one_out({}) or self.annealing or self.burstiness
            ),
        )

    def _last_values(self) -> Values:
        """Return the hyper-parameters of the fit from which a warm start goes on."""
        if not self._goes_on():
            return {}
        names = "component_prior", "row_prior", "leave_one_out"
        return {name: getattr(self, f"{name}_") for name in names}

    def _concentration(self) -> float | None:
        """That of bursty rows; ValueError where it does not go with other parameters."""
        if self.burstiness is None:
            return None
        if self.early_stopping:
            raise ValueError(
                "early_stopping=True judges without the memory of rows, which burstiness is for: "
                "set burstiness=None."
            )
        return BURSTINESS if self.burstiness == "auto" else float(self.burstiness)


@dataclass(frozen=True)
class AspectFamily(ModelFamily):
    """Aspects by the values of their hyper-parameters; those that are "auto" may be tuned."""

    n_components: int
    tempering: Literal["joint", "likelihood"]
    component_prior: float | Literal["auto"]
    row_prior: float | Literal["auto"]
    leave_one_out: bool | Literal["auto"]
    annealed: bool
    tunes_smoothing: bool
    last: Values  # of the fit from which a warm start goes on; else empty
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
        return self._predictive_range(X) if self.is_leave_one_out({}) else TEMPERATURES

    def tunables(self, X: Block) -> list[Tunable]:
        usual, always = self._pseudo_counts(True), self.is_leave_one_out({})
        shares = [
            share
            for share in usual_values.SMALLER
            if all(getattr(self, name) == "auto" for name in share)
        ]
        smaller = SmallerPseudoCounts(shares, usual, always)
        if always:
            return [Temperature(self.beta_range(X)), smaller]
        K, few = self.n_components, usual_values.few(self.n_components)
        pilot = TEMPERATURES._replace(guess=usual_values.usual_beta(X, few))
        tunables: list[Tunable] = [
            Pilot(pilot, few),
            Temperature(TEMPERATURES, partial(usual_values.beta_of_others, few, K)),
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
        return TEMPERATURES._replace(guess=guess, step=PREDICTIVE_STEP)

    def _pseudo_counts(self, leave_one_out: bool) -> dict[str, float]:
        """Return the pseudo-counts given; else those of the last fit, or the usual ones."""
        usual = dict(usual_values.PSEUDO_COUNTS)
        if not leave_one_out:
            usual["component_prior"] = 0.0
        if self.last and leave_one_out == self.last["leave_one_out"]:
            usual = {name: self.last[name] for name in usual}
        given = {"component_prior": self.component_prior, "row_prior": self.row_prior}
        return {name: usual[name] if value == "auto" else value for name, value in given.items()}
