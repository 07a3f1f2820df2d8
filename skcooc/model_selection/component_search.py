"""Search for the number of components by cross-validation, and what it recommends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral
from time import perf_counter
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skcooc.fitting.journal import Journal, resume_or_new
from skcooc.fitting.recipe import with_seed
from skcooc.heldout import Unigram
from skcooc.heldout.validation import add_one_unigram
from skcooc.model_selection.candidates import (
    FINEST,
    FIRST,
    MIN_GAIN,
    Choice,
    Score,
    Sizes,
    check_candidates,
    cost_order,
    fewest,
    grow_and_refine,
    largest,
    limits_of,
    sizes_of,
    visit_in_order,
)
from skcooc.model_selection.folds import (
    CountSplit,
    Data,
    Folding,
    ParamMapping,
    Target,
    count_folds,
)
from skcooc.model_selection.path import ComponentPath, PathFit, describe_fits, is_hard, score_fold
from skcooc.model_selection.search import RunParallel, Search, cv_results, search_task
from skcooc.protocol import Array, RandomState, TableLike, warn
from skcooc.protocol.decorators import fit_context
from skcooc.protocol.scikit_learn import HasMethods, Interval, StrOptions

DEFAULT_SPLITS = 5  # parts of the tokens; one of them is scored unless folds are given
# Components that gain less than this in a cache, relative to what they gain alone, are judged
# alone: texts gain 0.3 or more, pairs of words 0.02 to 0.06.
LEAST_CACHE_GAIN = 0.08

Criterion: TypeAlias = Literal["cache", "held_out", "icl"]
SCORES: dict[Criterion, str] = {"cache": "cache", "held_out": "test", "icl": "icl"}
HEADER = "K", "perplexity", "with cache", "ICL", "halves agree", "found in both", "distinct"
OF_CRITERION = {
    "cache": ("mean_cache_score", "perplexity with cache"),
    "held_out": ("mean_test_score", "held-out perplexity"),
}
Measures: TypeAlias = dict[str, Any]  # floats by name, and arrays of one for each fold


@dataclass(eq=False, repr=False)
class ComponentSearchCV(Search):
    """Search for the number of components, clusters or leaves by cross-validation.

    Every candidate is fitted to four fifths of the tokens (or the training part of each fold) and
    to two halves. The choice is the smallest number whose log-likelihood of held-out tokens is
    within 0.005 nats or a standard error (of differences in the same rows) of the best. Tokens are
    predicted within a cache of their row (see `RowMemory`): alone, further components always gain
    on texts, by storing repetitions. If the perplexity still falls at the largest candidate,
    ``still_falling_`` is True, a warning says so, and the largest is taken.

    Fits of aspect models are warm-started: a few grow by splitting components, all others start
    from a larger one, whose most similar components are merged. On texts a whole search costs 1 to
    6 fits of the largest number tried; on tables with few tokens, where one fit takes 0.1 to 0.9 s,
    up to 8. Other models are fitted from scratch. Hard clusterings are compared by the exact
    integrated likelihood of all tokens (:func:`skcooc.metrics.integrated_complete_likelihood`), the
    largest of several runs.

    Read more in the :doc:`how-to guide </howto/tune>`.

    Parameters
    ----------
    estimator : estimator
        An estimator of skcooc with a number of components, clusters or leaves, or with one for each
        side. Clones of it are fitted.

    candidates : sequence of int, sequence of pairs of int, or "auto", default="auto"
        Numbers of components; pairs if both sides have one. "auto" tries 2, 3, 5, 8, 16, and so on
        by doubling (both sides at once) until one is not better by more than a standard error; then
        numbers around the best in ever shorter steps, down to one, or a 16th of it.

    max_components : int, default=200
        Largest number that "auto" tries, of each side.

    cv : int, splitter or iterable, default=None
        Folds of the tokens. None scores one fifth of the tokens. A number stands for `CountSplit`;
        with 2, the halves that are compared are scored, too. A splitter gets
        `Dyads`, which are sorted by row, so it has to shuffle them, as
        `KFold(5, shuffle=True)` does.

    n_runs : int, default=0
        Number of initialisations with all tokens; for hard clusterings at least one.

    criterion : {"auto", "cache", "held_out", "icl"}, default="auto"
        Log-likelihood of held-out tokens within a cache of their row, or by the model alone, or the
        integrated likelihood of a hard clustering. "auto" takes the last for hard clusterings, else
        the cache, unless components gain less than 8 % in it of what they gain alone: pairs of
        words gained 2 to 6 %, texts 30 to 40 %.

    n_jobs : int, default=None
        Number of threads, in joblib's conventions. Results do not depend on it.

    refit : bool, default=True
        Whether to fit all data with the chosen number.

    random_state : int, RandomState instance or None, default=None
        Seed of the fits and of the halves; of the last fit, where the estimator has none.

    Attributes
    ----------
    best_n_components_ : int or tuple of two int
        The chosen number; the largest candidate if ``still_falling_``.
    still_falling_ : bool
        Whether the largest candidate is better than all others by more than that.
    criterion_ : {"cache", "held_out", "icl"}
        The criterion used.
    cv_results_ : dict of arrays
        A row for each candidate, from few components to many, by ``params`` and ``param_*``:
        ``*_test_score``, mean log-likelihood of a held-out token in nats; ``*_cache_score``, the
        same within a cache of the row, whose parameters are estimated on other held-out tokens;
        ``*_unseen_score``, in columns that are new to their rows (`unseen_perplexity`);
        ``error_*_score``, standard error of the difference from the best, paired over rows;
        ``n_distinct``, mean number of components (over folds) with at least a tenth of an equal
        share of the tokens and an affinity below 2/3 to all larger ones; ``half_agreement`` and
        ``seed_agreement``, mean affinity of components of two halves and of two runs, matched as by
        :func:`skcooc.inspection.topic_stability`; ``n_found_again``, number of distinct components
        of one half that are distinct in the other, too, and have an affinity of 2/3 or more;
        ``coherence``, mean :func:`skcooc.metrics.npmi_coherence`; ``beta``; ``icl`` of hard
        clusterings; ``work``, components times iterations for one part of the data;
        ``mean_*_time``, seconds for one part.
    best_estimator_ : estimator
        Fitted to all data; only with ``refit``.
    refit_time_ : float
    best_params_ : dict
    best_index_ : int
    best_score_ : float
        Mean held-out score of the chosen number, in nats; within a cache if that is the criterion.
    n_splits_ : int
    n_features_in_ : int
    feature_names_in_ : (M,) array of str

    Notes
    -----
    An interrupted search resumes when ``fit`` is called with the same data and parameters; with
    :class:`skcooc.callbacks.Checkpoint` also in another process, as ``read_checkpoint(path).fit``.

    Fits of the search tune only the temperature, on ``validation_fraction`` of each part; aspect
    models go on with leave-one-out EM where that is better.

    References
    ----------
    T. Hastie, R. Tibshirani and J. Friedman, The elements of statistical learning, 2009, section
    7.10: the one-standard-error rule.

    Examples
    --------
    >>> from skcooc import AspectModel
    >>> from skcooc.datasets import make_cooccurrences
    >>> from skcooc.model_selection import ComponentSearchCV
    >>> X = make_cooccurrences(100, 60, n_components=4, random_state=0).X
    >>> search = ComponentSearchCV(AspectModel(), [2, 3, 4, 5, 6], cv=3, random_state=0).fit(X)
    >>> search.best_n_components_, search.still_falling_
    (4, False)
    >>> search.transform(X[:2]).shape
    (2, 4)
    """

    estimator: BaseEstimator
    candidates: Sequence[int] | Sequence[tuple[int, int]] | Literal["auto"] = "auto"
    _: KW_ONLY
    max_components: int = 200
    cv: Folding = None
    n_runs: int = 0
    criterion: Literal["auto", "cache", "held_out", "icl"] = "auto"
    n_jobs: int | None = None
    refit: bool = True
    random_state: RandomState = None
    best_n_components_: int | tuple[int, ...] = field(init=False)
    still_falling_: bool = field(init=False)
    criterion_: Criterion = field(init=False)
    _unfinished: Journal = field(init=False)

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "score"])],
        "candidates": ["array-like", StrOptions({"auto"})],
        "max_components": [Interval(Integral, 2, None, closed="left")],
        "cv": ["cv_object"],
        "n_runs": [Interval(Integral, 0, None, closed="left")],
        "criterion": [StrOptions({"auto", "cache", "held_out", "icl"})],
        "n_jobs": [Integral, None],
        "refit": ["boolean"],
        "random_state": ["random_state"],
    }

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: TableLike, y: ArrayLike | None = None, **params: object) -> Self:
        """Search, and fit all data with the chosen number.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (N, M), or Dyads
            Counts.
        y : None
            Ignored.
        **params : dict
            For the ``fit`` of the estimator, such as ``sample_weight``, and ``groups`` of ``cv``.

        Returns
        -------
        self : object

        Raises
        ------
        TypeError
            If the estimator has no number of components.
        ValueError
            If candidates are not numbers.
        """
        names, hard = sizes_of(self.estimator), is_hard(self.estimator)
        if self.criterion == "icl" and not hard:
            what = "criterion='icl' is for hard clusterings"
            raise ValueError(f"{what}: set hard=True, without a tree.")
        criterion: Criterion = "icl" if hard else "cache"
        if self.criterion != "auto":
            criterion = self.criterion
        self.estimator._validate_params()
        given = check_candidates(self.candidates, names)
        data, split_params = self._route_params(X, y, params)
        options = self.cv, split_params, self.n_runs, self.random_state
        root, hooks = self._begin(data)
        with search_task(root, hooks) as task:
            survey = resume_or_new(self, data, dict(split_params)).get_or_compute(
                ("survey",), Survey, self.estimator, names, data, *options
            )

            def explore(criterion: Criterion) -> None:
                def visit(sizes: Sizes, again: bool = False) -> Score:
                    if survey.needs_visit(sizes, again):  # else it was before an interruption
                        step = task.subcontext(task_name=f"K = {name_of(sizes)}")
                        step.call_on_fit_task_begin(**hooks)
                        survey.visit(sizes, self._run_parallel)
                        self._unfinished.checkpoint()
                        step.call_on_fit_task_end(**hooks)
                    return survey.scores[sizes][SCORES[criterion]]

                if given is None:
                    grow_and_refine(visit, limits_of(names, data.X, self.max_components))
                    if distinct := survey.without_copies(criterion):
                        visit(distinct, again=True)
                else:
                    visit_in_order(visit, given)

            explore(criterion)
            if self.criterion == "auto" and criterion == "cache" and survey.is_cache_enough():
                criterion = "held_out"
                explore(criterion)
        new = self._without_results()  # if the refit fails, self keeps all fits of the search
        recommendation = new._conclude(survey, criterion)
        if self.refit:
            best = clone(self.estimator).set_params(**new.best_params_)
            if self.random_state is not None:
                best = with_seed(best, survey.seed)
            new._fit_best(best, data, root, hooks)
        del self._unfinished, new._unfinished
        self.__dict__ = new.__dict__
        if self.still_falling_:
            warn(recommendation)
        root.call_on_fit_task_end(**hooks)
        return self

    def summary(self) -> str:
        """Table of all candidates, and a recommendation in one sentence.

        Returns
        -------
        text : str
            A line for each candidate, and one for the topic-free unigram: held-out perplexity by
            the model alone and with a cache of each row, integrated likelihood of hard
            clusterings, agreement of components of two halves of the tokens, number of components
            found in both, and number of distinct ones. A star marks the chosen candidate.
        """
        check_is_fitted(self, "best_n_components_")
        return self._summary

    def _conclude(self, survey: Survey, criterion: Criterion) -> str:
        """Set the attributes of a search without a refit; return the recommendation."""
        params, scores, tables = survey.tables()
        by_fold = {name: table for name, table in tables.items() if table.ndim == 2}
        results = {
            **cv_results(params, by_fold),
            **{name: table for name, table in tables.items() if table.ndim == 1},
        }
        for name in ("test", "cache", "unseen"):
            best = largest([score[name] for score in scores]).best
            errors = [score[name].gain(scores[best][name])[1] for score in scores]
            results[f"error_{name}_score"] = np.array(errors)
        choose = largest if criterion == "icl" else fewest
        choice = choose([score[SCORES[criterion]] for score in scores])
        sizes = [tuple(values.values()) for values in params]
        chosen = sizes[choice.chosen]
        self.best_n_components_ = chosen[0] if len(chosen) == 1 else chosen
        self.still_falling_, self.criterion_ = choice.still_falling, criterion
        sentence = recommend(sizes, choice, results, criterion, survey.unigram)
        self._summary = f"{table_of(sizes, choice, results, survey.unigram)}\n\n{sentence}"
        self._set_results(results, params, choice.chosen, tables["test_score"].shape[1])
        if criterion == "cache":
            self.best_score_ = float(results["mean_cache_score"][choice.chosen])
        return sentence


class Survey:
    """Measures of the sizes visited, and the paths from which further sizes start.

    There is a path for the training part of each fold, for each of two halves of the tokens (if the
    folds are not halves themselves), and for each of several runs with all tokens, in this order.
    It can be pickled.
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        names: Sequence[str],
        data: Data,
        cv: Folding,
        split_params: ParamMapping,
        n_runs: int,
        random_state: RandomState,
    ) -> None:
        n_runs = max(n_runs, int(is_hard(estimator)))
        seeds = check_random_state(random_state).randint(2**31 - 1, size=max(n_runs, 1)).tolist()
        target = Target("", False)
        folds = count_folds(target, data, DEFAULT_SPLITS if cv is None else cv, split_params)
        self._names, self._folds = names, folds[:1] if cv is None else folds
        are_halves = isinstance(cv, Integral) and cv == 2
        in_halves = CountSplit(2, random_state=seeds[0])
        halves = [] if are_halves else count_folds(target, data, in_halves, {})
        parts = [fold.training for fold in (*self._folds, *halves)]
        self._paths = [ComponentPath(estimator, part, seeds[0]) for part in parts]
        self._paths += [ComponentPath(estimator, data, seed) for seed in seeds[:n_runs]]
        self._whole = self._folds[0].whole
        first = len(self._folds)
        self._halves = slice(0, 2) if are_halves else slice(first, first + 2)
        self._runs = slice(max(first, self._halves.stop), None)
        self.seed = seeds[0]
        unigrams = [Unigram(add_one_unigram(fold.known)) for fold in self._folds]
        self.unigram = self._pooled(list(map(score_fold, self._folds, unigrams)))
        self.measures: dict[Sizes, Measures] = {}
        self.scores: dict[Sizes, dict[str, Score]] = {}
        self._n_visits = Counter[Sizes]()

    def visit(self, sizes: Sizes, run: RunParallel) -> None:
        began = perf_counter()
        named = dict(zip(self._names, sizes, strict=True))
        fits: list[PathFit] = run(lambda path: path.fit(named), [(path,) for path in self._paths])
        fitted = perf_counter()
        of_folds, halves, runs = fits[: len(self._folds)], fits[self._halves], fits[self._runs]
        predictors = [fit.predictor for fit in of_folds]
        by_fold = run(score_fold, [*zip(self._folds, predictors, strict=True)])
        described = describe_fits(self._whole, of_folds, halves, runs)
        self.scores[sizes] = self._pooled(by_fold)
        if "icl" in described:
            self.scores[sizes]["icl"] = Score.single(described["icl"])
        self.measures[sizes] = {
            **{
                f"{name}_score": np.array([scores[name].mean for scores in by_fold])
                for name in by_fold[0]
            },
            **described,
            "mean_fit_time": (fitted - began) / len(self._paths),
            "mean_score_time": (perf_counter() - fitted) / len(self._folds),
            "work": float(np.mean([fit.work for fit in fits])),
        }
        self._n_visits[sizes] += 1

    def needs_visit(self, sizes: Sizes, again: bool) -> bool:
        """Whether a candidate is new, or may gain from a second visit that is asked for."""
        may_gain = any(path.has_warm_starts for path in self._paths)
        return self._n_visits[sizes] < (2 if again and may_gain else 1)

    def without_copies(self, criterion: Criterion) -> Sizes | None:
        """The number of distinct components of the best candidate, if it is clearly smaller.

        A fit with fewer components that was stuck may be better from there.
        """
        best = max(self.scores, key=lambda sizes: self.scores[sizes][SCORES[criterion]].mean)
        distinct = max(round(self.measures[best]["n_distinct"]), FIRST[0])
        least = max(1, round(FINEST * best[0]))
        return (distinct,) if len(best) == 1 and best[0] - distinct >= least else None

    def is_cache_enough(self) -> bool:
        """Whether components gain almost nothing in a cache, as for pairs of words."""
        best = max(self.scores.values(), key=lambda scores: scores["cache"].mean)
        in_cache, alone = (best[name].gain(self.unigram[name])[0] for name in ("cache", "test"))
        return in_cache < LEAST_CACHE_GAIN * alone

    def tables(self) -> tuple[list[dict[str, int]], list[dict[str, Score]], dict[str, Array]]:
        """Parameters from few components to many, their scores, and arrays of measures."""
        order = sorted(self.measures, key=cost_order)
        params = [dict(zip(self._names, sizes, strict=True)) for sizes in order]
        rows = [self.measures[sizes] for sizes in order]
        tables = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        return params, [self.scores[sizes] for sizes in order], tables

    @staticmethod
    def _pooled(by_fold: Sequence[dict[str, Score]]) -> dict[str, Score]:
        return {name: Score.pooled([scores[name] for scores in by_fold]) for name in by_fold[0]}


def name_of(sizes: Sizes) -> str:
    return " x ".join(map(str, sizes))


def table_of(
    sizes: Sequence[Sizes],
    choice: Choice,
    results: Mapping[str, Array],
    unigram: Mapping[str, Score],
) -> str:
    """A line for the topic-free baseline and for each candidate; a star marks the chosen one."""
    perplexities = [f"{np.exp(-unigram[name].mean):.1f}" for name in ("test", "cache")]
    lines: list[tuple[str, ...]] = [HEADER, ("none", *perplexities, "", "", "", "")]
    for i, numbers in enumerate(sizes):
        star = " *" if i == choice.chosen else ""
        line = (
            name_of(numbers) + star,
            f"{np.exp(-results['mean_test_score'][i]):.1f}",
            f"{np.exp(-results['mean_cache_score'][i]):.1f}",
            f"{results['icl'][i]:.0f}" if "icl" in results else "",
            f"{results['half_agreement'][i]:.2f}",
            f"{results['n_found_again'][i]:.0f}",
            f"{results['n_distinct'][i]:.4g}",
        )
        lines.append(line)
    columns = [column for column in zip(*lines, strict=True) if any(column[1:])]
    widths = [max(map(len, column)) for column in columns]
    columns[0] = tuple(name if name.endswith("*") else f"{name}  " for name in columns[0])
    widths[0] = max(map(len, columns[0]))
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in zip(*columns, strict=True)
    )


def recommend(
    sizes: Sequence[Sizes],
    choice: Choice,
    results: Mapping[str, Array],
    criterion: Criterion,
    unigram: Mapping[str, Score],
) -> str:
    """The choice in one sentence; what to go by instead, or that no number is better than none."""
    names = [name_of(numbers) for numbers in sizes]
    chosen = names[choice.chosen]
    if choice.still_falling:
        halves = results["half_agreement"]
        most = int(np.nanargmax(halves))
        instead = f"halves agree best at {names[most]}, by {halves[most]:.2f}"
        if criterion == "icl":
            return (
                f"The integrated likelihood (ICL) still rises at {chosen} components, the most "
                f"that were tried: try more, or choose by the agreement of halves ({instead})."
            )
        score, what = OF_CRITERION[criterion]
        fall = 1 - np.exp(results[score][-2] - results[score][-1])
        return (
            f"The {what} is still falling at {chosen} components, the most that were tried, by "
            f"{fall:.1%} from {names[-2]} on, so the data do not determine the number: try more, "
            f"or choose one whose components are distinct and found in both halves ({instead})."
        )
    if criterion == "icl":
        return f"Take {chosen} components: their integrated likelihood (ICL) is the largest."
    score, what = OF_CRITERION[criterion]
    perplexity, least = np.exp(-results[score][[choice.chosen, choice.best]])
    none = np.exp(-unigram[SCORES[criterion]].mean)
    if np.log(none / least) < MIN_GAIN:
        return (
            f"No number of components is better than none by half a percent: the {what} is "
            f"{none:.4g} without any, at best {least:.4g}."
        )
    if choice.chosen == choice.best:
        return f"Take {chosen} components: their {what}, {perplexity:.4g}, is the least."
    return (
        f"Take {chosen} components: the fewest whose {what}, {perplexity:.4g}, is within "
        f"0.5 % or a standard error of the least, {least:.4g} at {names[choice.best]}."
    )
