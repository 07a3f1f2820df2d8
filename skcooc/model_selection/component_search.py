"""The search for the number of components."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.callback import CallbackContext
from sklearn.metrics import check_scoring
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skcooc.counts.threads import threads
from skcooc.fitting.journal import Journal, taken_up
from skcooc.model_selection.candidates import Sizes, explore
from skcooc.model_selection.choice import in_words, largest, one_standard_error
from skcooc.model_selection.folds import Data, Folding, Params, observation_folds
from skcooc.model_selection.path import is_hard
from skcooc.model_selection.results import cv_results
from skcooc.model_selection.search import Hooks, Search, fitting
from skcooc.model_selection.sizes import check_candidates, limits_of, sizes_of
from skcooc.model_selection.splits import ObservationSplit
from skcooc.model_selection.survey import Survey
from skcooc.model_selection.target import Target
from skcooc.protocol import RandomState, TableLike

N_FOLDS = 5


class ComponentSearchCV(Search):
    """Search for the number of components, clusters, or leaves, and say whether there is one.

    Every candidate is fitted to the training part of each fold, to two halves of the observations,
    and from several starts to all of them. The fewest components are chosen whose held-out
    log-likelihood is within one standard error of the best, where the error is that of the
    difference on the same folds. Where the curve is still falling at the largest candidate, as on
    most texts, there is no such number: ``still_falling_`` is then True, a warning and ``summary``
    say so, and the largest candidate is taken.

    An `AspectModel` with more components begins with one that has fewer, some of which are split,
    and with the temperature found there. So the whole curve costs, for each part of the data, three
    to four fits of the largest number. Other models are fitted from the start.

    Hard clusterings are told apart by the exact integrated likelihood of all observations
    (:func:`skcooc.metrics.integrated_complete_likelihood`), the largest of several starts.

    Parameters
    ----------
    estimator : estimator
        An estimator of skcooc with a number of components (``n_components``), clusters or leaves
        (``n_clusters``), or of both sides (``n_row_clusters`` and ``n_column_clusters``,
        ``n_row_components`` and ``n_column_components``). Clones of it are fitted.

    candidates : sequence of int, sequence of pairs of int, or "auto", default="auto"
        Numbers of components; pairs where both sides have one. "auto" begins with two and goes on
        by half as many more, of both sides at once, until the last two are no better than the best;
        then it refines the best in ever shorter steps, down to one, or a 25th of it.

    max_components : int, default=100
        Largest number that "auto" tries, of each side.

    cv : int, splitter or iterable, default=5
        Folds of the observations. A splitter gets `Dyads` to split.

    n_runs : int, default=2
        Number of starts with all observations.

    criterion : {"auto", "held_out", "icl"}, default="auto"
        What decides: held-out observations, or the integrated likelihood of a hard clustering,
        which is "auto" where the estimator is one.

    n_jobs : int, default=None
        Number of threads among which parts of the data are divided, in joblib's conventions.
        Results do not depend on it.

    refit : bool, default=True
        Whether to fit all data with the number chosen.

    random_state : int, RandomState instance or None, default=None
        Seed of the fits and of the division in halves.

    Attributes
    ----------
    best_n_components_ : int or tuple of two int
        The number chosen; the largest candidate where ``still_falling_``.
    still_falling_ : bool
        Whether the largest candidate is better than all others by more than a standard error.
    cv_results_ : dict of arrays
        A row for each candidate, by ``params`` and ``param_*``: ``split*_test_score``,
        ``mean_test_score``, ``std_test_score`` and ``rank_test_score``, mean log-likelihoods of a
        held-out observation in nats; ``*_unseen_score``, those of observations in columns that are
        new to their rows, given that they are such (`unseen_perplexity`); ``error_test_score`` and
        ``error_unseen_score``, standard errors of the difference from the best, paired over folds;
        ``n_distinct``, the mean number of components, over starts, that have at least a tenth of an
        equal share of the observations, and a cosine below .9 to all larger ones;
        ``half_agreement`` and ``seed_agreement``, mean cosines of the components of two halves, and
        of two starts, matched by the Hungarian method; ``coherence``, mean
        :func:`skcooc.metrics.npmi_coherence`; ``beta``; ``icl`` of hard clusterings; ``work``,
        components times iterations of a path; times in seconds, of all paths.
    best_estimator_ : estimator
        Fitted to all data; where ``refit``.
    best_params_ : dict
    best_index_ : int
    best_score_ : float
        Mean held-out score of the number chosen, in nats.
    n_splits_ : int
    n_features_in_ : int
    feature_names_in_ : (M,) array of str

    Raises
    ------
    TypeError
        Where the estimator has no such number.
    ValueError
        Where candidates are none, or too large.

    Notes
    -----
    A search that was interrupted goes on where it was when ``fit`` is called with the same data and
    parameters. With :class:`skcooc.callbacks.Checkpoint` it can do so in another process: ``fit``
    of what ``read_checkpoint`` reads goes on.

    Fits on a path are plain: an aspect model neither leaves observations out nor looks for a
    pseudo-count there, and holds ``validation_fraction`` out of each part to find its temperature.
    ``best_estimator_`` is what ``estimator.fit`` makes.

    References
    ----------
    T. Hastie, R. Tibshirani and J. Friedman, The elements of statistical learning, 2009, section
    7.10: the rule of one standard error.

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

    _unfinished: Journal

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "score"])],
        "candidates": ["array-like", StrOptions({"auto"})],
        "max_components": [Interval(Integral, 2, None, closed="left")],
        "cv": ["cv_object"],
        "n_runs": [Interval(Integral, 1, None, closed="left")],
        "criterion": [StrOptions({"auto", "held_out", "icl"})],
        "n_jobs": [Integral, None],
        "refit": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: BaseEstimator,
        candidates: Sequence[int] | Sequence[tuple[int, int]] | Literal["auto"] = "auto",
        *,
        max_components: int = 100,
        cv: Folding = N_FOLDS,
        n_runs: int = 2,
        criterion: Literal["auto", "held_out", "icl"] = "auto",
        n_jobs: int | None = None,
        refit: bool = True,
        random_state: RandomState = None,
    ) -> None:
        self.estimator, self.candidates, self.max_components = estimator, candidates, max_components
        self.cv, self.n_runs, self.criterion = cv, n_runs, criterion
        self.n_jobs, self.refit, self.random_state = n_jobs, refit, random_state

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: TableLike, y: ArrayLike | None = None, **params: object) -> Self:
        """Search, and fit all data with the number chosen.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (N, M), or Dyads
            Counts.
        y : None
            Ignored.
        **params : dict
            Parameters of the ``fit`` of the estimator, such as ``sample_weight`` of rows, or of
            observations where X is Dyads, and ``groups`` for the splitter.

        Returns
        -------
        self : object
        """
        names, criterion = sizes_of(self.estimator), self._criterion()
        given = check_candidates(self.candidates, names)
        data, split_params = self._routed(X, y, params)
        hooks = Hooks(estimator=self, X=data.X, y=data.y, metadata=data.params)
        root = self._init_callback_context(max_subtasks=1 + self.refit)
        root.call_on_fit_task_begin(**hooks)
        task = root.subcontext(task_name="search", max_subtasks=None)
        task.call_on_fit_task_begin(**hooks)
        with threads(1):  # throughout: by turns BLAS would have one thread, or several
            survey = self._begun(names, data, split_params)
            self._look(survey, given, limits_of(names, data.X, self.max_components), task, hooks)
        task.call_on_fit_task_end(**hooks)
        new = copy.copy(
            self
        )  # a refit that fails leaves self as it was, with all that was searched
        new._conclude(survey, criterion)
        if self.refit:
            new._refit(data, root.subcontext(task_name="refit-with-best-params"), hooks)
        del self._unfinished
        self.__dict__.update(vars(new))
        root.call_on_fit_task_end(**hooks)
        return self

    def summary(self) -> str:
        """What was found, in plain words; where there is no number, what to go by instead."""
        check_is_fitted(self, "best_n_components_")
        return self._summary

    def _criterion(self) -> str:
        hard = is_hard(self.estimator)
        if self.criterion == "icl" and not hard:
            raise ValueError("criterion='icl' is of hard clusterings: it needs hard=True, no tree.")
        return ("icl" if hard else "held_out") if self.criterion == "auto" else self.criterion

    def _begun(self, names: Sequence[str], data: Data, split_params: Params) -> Survey:
        """What an interrupted fit of the same data has found so far, or nothing yet."""
        journal = taken_up(self, data, dict(split_params))

        def begin() -> Survey:
            seeds = check_random_state(self.random_state).randint(2**31 - 1, size=self.n_runs)
            target, half = Target("", False), ObservationSplit(2, random_state=int(seeds[0]))
            folds = observation_folds(target, data, self.cv, split_params)
            if len(folds) < 2:
                raise ValueError("cv has one fold: errors of differences need two or more.")
            halves = observation_folds(target, data, half, {})
            return Survey(self.estimator, names, data, folds, halves, seeds.tolist())

        return journal.once(("survey",), begin)

    def _look(
        self,
        survey: Survey,
        given: Sequence[Sizes] | None,
        limits: Sizes,
        task: CallbackContext,
        hooks: Hooks,
    ) -> None:
        """Visit the candidates given, or those that it takes."""

        def visit(sizes: Sizes) -> float:
            if sizes not in survey.visited:
                name = f"K = {' x '.join(map(str, sizes))}"
                step = task.subcontext(task_name=name).call_on_fit_task_begin(**hooks)
                survey.visit(sizes, self._run)
                self._unfinished.tell()
                step.call_on_fit_task_end(**hooks)
            found = survey.visited[sizes]
            return float(found["icl"] if criterion == "icl" else np.mean(found["test_score"]))

        criterion = self._criterion()
        if given is None:
            explore(visit, limits)
        for sizes in given or ():
            visit(sizes)

    def _conclude(self, survey: Survey, criterion: str) -> None:
        """The attributes of all searches, but for those of the refit."""
        params, tables = survey.tables()
        sizes = list(survey.visited)
        order = sorted(range(len(sizes)), key=lambda i: (np.prod(sizes[i]), sizes[i]))
        choice = one_standard_error(tables["test_score"], order)
        errors = {"error_test_score": choice.errors}
        errors["error_unseen_score"] = one_standard_error(tables["unseen_score"], order).errors
        if criterion == "icl":
            choice = largest(tables["icl"], order)
        folded = {name: table for name, table in tables.items() if table.ndim == 2}
        flat = {name: table for name, table in tables.items() if table.ndim == 1}
        results = {**cv_results(params, folded), **flat, **errors}
        self.cv_results_ = {**results, "params": params}
        self.n_splits_ = folded["test_score"].shape[1]
        self.best_index_, self.best_params_ = choice.at, params[choice.at]
        self.best_score_ = float(results["mean_test_score"][choice.at])
        best = sizes[choice.at]
        self.best_n_components_ = best[0] if len(best) == 1 else best
        self.still_falling_ = choice.still_falling
        self._summary = in_words(sizes, choice, results, criterion)
        if choice.still_falling:
            warnings.warn(self._summary, UserWarning, stacklevel=4)
        self.scorer_, self.multimetric_ = check_scoring(self.estimator), False
        del self._unfinished

    def _refit(self, data: Data, task: CallbackContext, hooks: Hooks) -> None:
        best = clone(self.estimator).set_params(**self.best_params_)
        with fitting(task, best, hooks):
            best.fit(data.X, data.y, **data.params)
        self.best_estimator_ = best
        if hasattr(best, "feature_names_in_"):
            self.feature_names_in_ = best.feature_names_in_
