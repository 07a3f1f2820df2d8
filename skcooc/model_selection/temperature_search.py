"""Search for the best inverse temperature by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from time import perf_counter
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from skcooc.fitting.fit import ShortFits
from skcooc.fitting.journal import Journal, resume_or_new
from skcooc.heldout import Validation
from skcooc.line_search import TemperatureRange
from skcooc.model_selection.folds import N_FOLDS, Fold, Folding, ParamMapping, Target, make_folds
from skcooc.model_selection.search import Hooks, Search, cv_results, fit_task, search_task
from skcooc.protocol import Array, Estimator, TableLike
from skcooc.protocol.decorators import fit_context
from skcooc.protocol.scikit_learn import CallbackContext, HasMethods, StrOptions

CLEAR_GAP = 0.01  # of log perplexity; smaller gaps may be due to the smaller training part
RESOLUTION = 0.03  # largest step of inverse temperatures, or of their logarithms

FIRST_FOLDS = 3  # after which candidates are compared; then after twice as many, and so on
N_ERRORS = 2.0  # standard errors by which a difference may be wrong
MIN_GAIN = 0.003  # smallest relevant difference of log perplexities
STEP_FACTOR = 3  # by which the step between candidates shrinks

Grid: TypeAlias = Mapping[str, Sequence[object]]  # values of parameters, by name
Measure: TypeAlias = Callable[[Sequence[tuple[int, int]]], Sequence[float]]
# Losses of pairs (candidate, fold), which can be measured in parallel.


@dataclass(eq=False, repr=False)
class TemperatureSearchCV(Search):
    """Search for the inverse temperature by cross-validation, and for other parameters with it.

    Finds what `GridSearchCV` over the same ``betas`` finds, at a small part of its cost. In each
    fold short fits, which share their warm-up, screen the temperatures. Full fits are made only at
    the best of these and its neighbours, until both neighbours of the best full fit are worse.
    Larger temperatures may be ruled out by their short fits, which favour large values. After
    three folds, and after six, twelve and so on, a temperature is dropped if its perplexity is
    unlikely (by two standard errors of paired differences) to be 0.3 % below that of the best.

    The short fits of a fold are scored on the share ``validation_fraction`` of its training tokens,
    which also estimates the smoothing with ``smoothing="auto"``. Full fits use all training tokens.
    ``best_score_``, the best of several scores, is slightly optimistic, as in any search.

    Read more in the :doc:`how-to guide </howto/tune>`.

    Parameters
    ----------
    estimator : estimator or Pipeline
        A single model of skcooc, such as `AspectModel`, or a pipeline with one as its last step.
        Clones of it are fitted.

    betas : array-like of float in (0, 1] or "auto", default="auto"
        Inverse temperatures; values above 1 for estimators that take them. "auto" takes the range
        that the estimator itself would search, in steps of at most 0.03 (relative steps on a
        logarithmic scale).

    param_grid : dict or list of dict, default=None
        Values of other parameters, as for `GridSearchCV`; all combinations are searched.

    cv : int, splitter or iterable, default=10
        Folds. With ``split="counts"`` a number stands for `CountSplit` with a fixed
        seed, and a splitter gets `Dyads`. None is 10.

    n_jobs : int, default=None
        Number of threads for folds and temperatures, in joblib's conventions. Results do not depend
        on it. In full fits the threads of the estimator come on top.

    refit : bool, default=True
        Whether to fit all data with the best parameters. With ``smoothing="auto"`` this fit gets
        the mean smoothing of the folds as a number.

    split : {"counts", "rows"}, default="counts"
        What is divided. "counts": some tokens of each row are scored with a model fitted to
        the others; X holds counts, and the first steps of a pipeline transform the tables of
        training and of test counts. "rows": document completion, where half of each test row is
        folded in and the other half scored; X can be anything, texts included.

    Attributes
    ----------
    cv_results_ : dict of arrays
        Columns of a table of candidates as in `GridSearchCV`: ``params``, ``param_*``,
        ``split*_test_score``, ``mean_test_score``, ``std_test_score``, ``rank_test_score`` and
        times in seconds. Scores are mean log-likelihoods of a token, in nats; means are NaN for
        temperatures not fitted in all folds. ``*_validation_score`` is the score of the short fits,
        and ``mean_smoothing`` the smoothing chosen on the same validation data. With
        ``betas="auto"`` only temperatures that were visited are listed.
    best_params_ : dict
    best_index_ : int
    best_score_ : float
        Mean score over the folds, in nats.
    best_estimator_ : estimator
        Fitted to all data.
    refit_time_ : float
        Seconds.
    n_splits_ : int
    n_features_in_ : int
    feature_names_in_ : (M,) array of str

    See Also
    --------
    ComponentSearchCV : Search over the number of components.

    Notes
    -----
    An interrupted search resumes when ``fit`` is called with the same data, parameters and folds;
    with :class:`skcooc.callbacks.Checkpoint` also in another process, as
    ``read_checkpoint(path).fit``.

    Examples
    --------
    >>> from skcooc import AspectModel, datasets
    >>> from skcooc.model_selection import TemperatureSearchCV
    >>> X = datasets.make_cooccurrences(60, 40, n_components=3, random_state=0).X
    >>> model = AspectModel(n_components=3, random_state=0)
    >>> search = TemperatureSearchCV(model, betas=[0.6, 0.7, 0.8, 0.9, 1.0], cv=3).fit(X)
    >>> search.best_estimator_.beta == search.best_params_["beta"]
    True
    >>> search.transform(X[:2]).shape
    (2, 3)
    """

    estimator: BaseEstimator
    betas: ArrayLike | Literal["auto"] = "auto"
    param_grid: Grid | Sequence[Grid] | None = None
    cv: Folding = N_FOLDS
    n_jobs: int | None = None
    refit: bool = True
    _: KW_ONLY
    split: Literal["counts", "rows"] = "counts"

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "score"])],
        "betas": ["array-like", StrOptions({"auto"})],
        "param_grid": [dict, list, None],
        "cv": ["cv_object"],
        "split": [StrOptions({"counts", "rows"})],
        "n_jobs": [Integral, None],
        "refit": ["boolean"],
    }

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: TableLike, y: ArrayLike | None = None, **params: object) -> Self:
        """Search, and fit all data at the best temperature.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (N, M), or Dyads
            Counts; with ``split="rows"`` anything that the first step of a pipeline takes.
        y : None
            Passed to the steps of a pipeline with ``split="rows"``, else ignored.
        **params : dict
            Parameters of the estimator's ``fit``, such as ``sample_weight`` of rows (of tokens if X
            is Dyads), and ``groups`` for the splitter.

        Returns
        -------
        self : object

        Raises
        ------
        TypeError
            If the estimator has no temperature.
        ValueError
            If a clustering is hard, a model needs groups of rows, or it does not take these
            temperatures.
        """
        target, betas = find_target(self.estimator), None
        if isinstance(self.betas, Mapping):
            raise ValueError(f"betas should be numbers, got {self.betas}: give it as param_grid=.")
        if not isinstance(self.betas, str):
            if np.ndim(self.betas) != 1:
                raise ValueError(f"betas should be a list of numbers, got {self.betas}.")
            betas = np.unique(np.asarray(self.betas, dtype=np.float64))
        grid = list(ParameterGrid(self.param_grid or {}))
        for others in grid:
            if (beta := target.name("beta")) in others:
                raise ValueError(f"param_grid has values of {beta!r}: give them as betas.")
            check_temperatures(target.parts(self._clone_with(others))[0], betas)
        data, split_params = self._route_params(X, y, params)
        folds = make_folds(self.split, self.estimator, target, data, self.cv, split_params)
        drawn = [fold.test for fold in folds]  # other ones where a splitter has no seed
        journal = resume_or_new(self, data, dict(split_params), drawn)
        root, hooks = self._begin(data)
        points = []
        with search_task(root, hooks) as task:
            for number, others in enumerate(grid):
                options = target, folds, betas, self._run_parallel, task, hooks, journal, number
                point = GridPoint(self._clone_with(others), *options)
                point.search()
                points.append((others, point))
        new = self._without_results()  # a refit that fails leaves self as it was
        smoothing = new._conclude(target, points, len(folds))
        if self.refit:
            best = self._clone_with(new.best_params_)
            set_smoothing(best, target, smoothing)
            new._fit_best(best, data, root, hooks)
        self.__dict__ = new.__dict__
        del self._unfinished
        root.call_on_fit_task_end(**hooks)
        return self

    def _conclude(
        self, target: Target, points: Sequence[tuple[ParamMapping, GridPoint]], n_splits: int
    ) -> float:
        """Set the attributes of a search without a refit; return the smoothing for the refit."""
        candidates: list[ParamMapping] = []
        rows: list[list[list[float]]] = []
        for others, point in points:
            for index, beta in enumerate(point.betas):
                cells = [point.measured(index, fold) for fold in range(n_splits)]
                if isinstance(self.betas, str) and np.isnan(cells).all():
                    continue  # of automatic temperatures only those visited are listed
                candidates.append({**clone(others, safe=False), target.name("beta"): float(beta)})
                rows.append(cells)
        names = "test_score", "smoothing", "fit_time", "score_time", "validation_score"
        tables = np.moveaxis(np.array(rows), 2, 0)
        results = cv_results(candidates, dict(zip(names, tables, strict=True)))
        best = int(results["rank_test_score"].argmin())
        self._set_results(results, candidates, best, n_splits)
        return float(results["mean_smoothing"][best])

    def _clone_with(self, params: ParamMapping) -> BaseEstimator:
        return clone(self.estimator).set_params(**clone(params, safe=False))


def find_target(estimator: BaseEstimator) -> Target:
    """The estimator with a temperature; TypeError if neither it nor its last step has one."""
    target, last = Target("", False), estimator
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        target = Target(f"{name}__", len(estimator.steps) > 1)
    if not hasattr(last, "short_fits"):
        raise TypeError(
            "TemperatureSearchCV needs a single model of skcooc, such as AspectModel, alone or as "
            f"the last step of a Pipeline, got {last!r}. For others use GridSearchCV."
        )
    return target


def check_temperatures(estimator: BaseEstimator, betas: Array | None) -> None:
    """Raise ValueError if results do not depend on beta, or cannot have one of these values."""
    estimator.check_sizes()
    if getattr(estimator, "hard", False):
        raise ValueError(
            f"{type(estimator).__name__} with hard=True has no temperature: its results are the "
            "same for every beta. Use GridSearchCV for its other parameters, or hard=False."
        )
    recipe = estimator.recipe()
    if "groups" in recipe.needs:
        raise ValueError(
            f"TemperatureSearchCV knows no groups of rows, which {type(estimator).__name__} needs "
            "here: set group_effects=None, or use GridSearchCV."
        )
    largest = recipe.equations.largest_beta
    if betas is None:
        return
    if not (betas.size and np.isfinite(betas).all() and betas[0] > 0 and betas[-1] <= largest):
        raise ValueError(f"betas should be numbers in (0, {largest:g}], got {betas.tolist()}.")


class FoldResult(NamedTuple):
    """Score of an estimator fitted in one fold."""

    score: float  # nats
    smoothing: float  # NaN where the estimator has its own
    fit_time: float
    score_time: float


NOT_MEASURED = FoldResult(*4 * [np.nan])


class GridPoint:
    """Search for the temperature with all other parameters fixed.

    ``betas`` rise; None takes the range of the estimator, finely divided. ``probes`` holds the
    validation of short fits and ``results`` the scores of full fits, by (temperature, fold). Both
    are entries of the journal of the search, under the number of this point.
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        target: Target,
        folds: Sequence[Fold],
        betas: Array | None,
        run: Callable[..., list],
        task: CallbackContext,
        hooks: Hooks,
        journal: Journal,
        number: int,
    ) -> None:
        self._estimator, self._target, self._folds = estimator, target, folds
        self._run, self._task, self._hooks = run, task, hooks
        self._journal, self._number = journal, number
        prepared = run(self._prepare, [(fold,) for fold in folds])
        self._short_fits: list[ShortFits] = [short_fits for short_fits, _ in prepared]
        self.betas = temperature_grid(prepared[0][1]) if betas is None else betas
        self.probes: dict[tuple[int, int], Validation] = {}
        self.results: dict[tuple[int, int], FoldResult] = {}

    def search(self) -> None:
        """Screen temperatures by short fits; make full fits around the best of them."""
        size = len(self.betas), len(self._folds)
        screening = SequentialElimination(self._probe, *size)
        coarse_to_fine(screening)
        # Short fits hardly overfit, so any bias is towards a large beta: larger betas that are
        # clearly worse in short fits are ruled out, smaller ones are not.
        too_large = [c for c in screening.worse_by(CLEAR_GAP) if c > screening.best]
        full = SequentialElimination(self._fit, *size, ruled_out=too_large)
        hill_climb(full, start=screening.best)

    def measured(self, candidate: int, fold: int) -> list[float]:
        """A FoldResult and the score of a short fit, in nats; NaN if not measured."""
        result = self.results.get((candidate, fold), NOT_MEASURED)
        probe = self.probes.get((candidate, fold))
        return [*result, np.nan if probe is None else -np.log(probe.perplexity)]

    def _prepare(self, fold: Fold) -> tuple[ShortFits, TemperatureRange]:
        X, y, params = fold.training
        last, steps = self._target.parts(clone(self._estimator))
        if steps is not None:
            X = steps.fit_transform(X, y)
        estimator: Estimator = last  # it has short_fits, as find_target checks
        return estimator.short_fits(X, self._target.weights(params))

    def _probe(self, pairs: Sequence[tuple[int, int]]) -> list[float]:
        """Validation log perplexity of short fits of (temperature, fold)."""
        found = self._run(self._validation, pairs)
        self.probes.update(zip(pairs, found, strict=True))
        return [float(np.log(validation.perplexity)) for validation in found]

    def _validation(self, candidate: int, fold: int) -> Validation:
        def short_fit() -> Validation:
            return self._short_fits[fold]({"beta": self.betas[candidate]}).validation

        name = self._number, "probe", candidate, fold
        return self._journal.get_or_compute(name, short_fit, checkpoint=True)

    def _fit(self, pairs: Sequence[tuple[int, int]]) -> list[float]:
        """Test log perplexity of full fits of (temperature, fold)."""
        tasks = [
            (c, fold, self._task.subcontext(task_name=f"beta = {self.betas[c]:.3g}, fold {fold}"))
            for c, fold in pairs
        ]
        found = self._run(self._fit_and_score, tasks)
        self.results.update(zip(pairs, found, strict=True))
        return [-result.score for result in found]

    def _fit_and_score(self, candidate: int, fold: int, task: CallbackContext) -> FoldResult:
        def fit_and_score() -> FoldResult:
            """Fit as ``estimator.fit`` does, but with the smoothing of the short fit."""
            began, smoothing = perf_counter(), np.nan
            last, _ = self._target.parts(self._estimator)
            if last.smoothing == "auto" and not last.early_stopping:
                smoothing = self._validation(candidate, fold).smoothing
            X, y, params = self._folds[fold].training
            with fit_task(task, clone(self._estimator), self._hooks) as estimator:
                estimator.set_params(**{self._target.name("beta"): self.betas[candidate]})
                set_smoothing(estimator, self._target, smoothing)
                estimator.fit(X, y, **params)
            fitted = perf_counter()
            score = self._folds[fold].score(estimator)
            return FoldResult(score, smoothing, fitted - began, perf_counter() - fitted)

        name = self._number, "trial", candidate, fold
        return self._journal.get_or_compute(name, fit_and_score, checkpoint=True)


def set_smoothing(estimator: BaseEstimator, target: Target, smoothing: float) -> None:
    if not np.isnan(smoothing):
        estimator.set_params(**{target.name("smoothing"): smoothing})


def temperature_grid(within: TemperatureRange) -> Array:
    """A range of inverse temperatures in steps of at most 0.03, relative on a log scale.

    >>> temperature_grid(TemperatureRange(0.5, 0.6)).round(3).tolist()
    [0.5, 0.525, 0.55, 0.575, 0.6]
    >>> betas = temperature_grid(TemperatureRange(0.02, 0.2, "log"))
    >>> len(betas), round(float(betas[1] / betas[0]), 2)
    (78, 1.03)
    """
    low, high = within.scaled(within.low), within.scaled(within.high)
    steps = np.linspace(low, high, 1 + int(np.ceil((high - low) / RESOLUTION)))
    return np.exp(steps).clip(max=within.high) if within.scale == "log" else steps


class SequentialElimination:
    """Losses of an ordered list of candidates, measured fold by fold until they are hopeless.

    ``losses`` is (n_candidates, n_folds), NaN where nothing was measured. Candidates that are
    ``ruled_out`` are never measured.
    """

    def __init__(
        self, measure: Measure, n_candidates: int, n_folds: int, ruled_out: Collection[int] = ()
    ) -> None:
        self._measure, self._ruled_out = measure, frozenset(ruled_out)
        self.losses = np.full((n_candidates, n_folds), np.nan)

    @property
    def best(self) -> int:
        """The candidate with the least mean loss, among those measured on all folds."""
        return int(np.nanargmin(self.losses.mean(axis=1)))

    @property
    def visited(self) -> Array:
        """Candidates measured on some folds or all."""
        return np.flatnonzero(~np.isnan(self.losses).all(axis=1))

    def worse_by(self, margin: float) -> list[int]:
        """Candidates worse than the best by at least a margin, on the folds they have seen."""
        measured = ~np.isnan(self.losses)
        excess = self.losses - self.losses[self.best] - margin
        return [
            int(c)
            for c in self.visited
            if c != self.best and not may_win(excess[c, measured[c]], np.zeros(measured[c].sum()))
        ]

    def unvisited(self, candidates: Sequence[int]) -> list[int]:
        """Existing candidates that are neither visited nor ruled out."""
        left = set(range(len(self.losses))).difference(self.visited, self._ruled_out)
        return [candidate for candidate in candidates if candidate in left]

    def visit(self, candidates: Sequence[int]) -> None:
        """Measure candidates on ever more folds, as long as one may be better than the best."""
        n_folds, begin, end = self.losses.shape[1], 0, FIRST_FOLDS
        finished = [] if np.isnan(self.losses).any(axis=1).all() else [self.best]
        remaining = list(candidates)
        while begin < n_folds and remaining:
            pairs = [(c, fold) for fold in range(begin, min(end, n_folds)) for c in remaining]
            for pair, loss in zip(pairs, self._measure(pairs), strict=True):
                self.losses[pair] = loss
            losses = self.losses[:, :end]
            leader = min([*finished, *remaining], key=lambda c: losses[c].mean())
            remaining = [c for c in remaining if c == leader or may_win(losses[c], losses[leader])]
            begin, end = end, 2 * end


def may_win(losses: Array, least: Array) -> bool:
    """Whether losses may turn out smaller than others by a relevant amount.

    False if they are larger in the mean, or hardly smaller, beyond the noise of paired differences.
    """
    if len(losses) < FIRST_FOLDS:  # too few to tell how large the noise is
        return True
    with np.errstate(invalid="ignore"):  # both may be infinite
        differences = losses - least
        error = differences.std(ddof=1) / np.sqrt(len(losses))
        return not differences.mean() - N_ERRORS * error > -MIN_GAIN


def coarse_to_fine(candidates: SequentialElimination) -> None:
    """Visit candidates far apart, and then closer and closer to the best.

    >>> def measure(pairs):
    ...     return [(candidate - 6) ** 2 for candidate, fold in pairs]
    >>> candidates = SequentialElimination(measure, n_candidates=12, n_folds=2)
    >>> coarse_to_fine(candidates)
    >>> candidates.best, candidates.visited.tolist()
    (6, [1, 4, 5, 6, 7, 8, 10])
    """
    n, step = len(candidates.losses), 1
    while n >= step * STEP_FACTOR**2:
        step *= STEP_FACTOR
    candidates.visit(range(step // 2, n, step))
    while step:
        hill_climb(candidates, step=step)
        step //= STEP_FACTOR


def hill_climb(candidates: SequentialElimination, start: int | None = None, step: int = 1) -> None:
    """Visit the neighbours of the best candidate, a step away, until it has no better one.

    A ``start`` and its neighbours are visited first.
    """
    if start is not None:
        candidates.visit(candidates.unvisited([start - 1, start, start + 1]))
    while new := candidates.unvisited([candidates.best - step, candidates.best + step]):
        candidates.visit(new)
