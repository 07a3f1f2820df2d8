"""The search for the number of components."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.callback import CallbackContext
from sklearn.metrics import check_scoring
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skcooc.counts.threads import threads
from skcooc.fitting.journal import Journal, taken_up
from skcooc.model_selection.candidates import Sizes, Visit, explore, go_through
from skcooc.model_selection.conclusion import Criterion, conclude, criterion_of
from skcooc.model_selection.folds import Data, Folding
from skcooc.model_selection.search import Hooks, Search
from skcooc.model_selection.sizes import check_candidates, limits_of, sizes_of
from skcooc.model_selection.survey import Survey, surveyed
from skcooc.model_selection.target import Params
from skcooc.protocol import Array, RandomState, TableLike
from skcooc.protocol.decorators import fit_context

N_FOLDS = 5


class ComponentSearchCV(Search):
    """Search for the number of components, clusters, or leaves, and say whether there is one.

    Every candidate is fitted to the training part of each fold, to two halves of the observations,
    and from several starts to all of them. The fewest components are chosen whose held-out
    log-likelihood is within one standard error of the best, where the error is that of the
    difference on the same folds. Where the curve is still falling at the largest candidate, as on
    most texts, there is no such number: ``still_falling_`` is then True, a warning and ``summary``
    say so, and the largest candidate is taken.

    A few aspect models with ever more components, some of which are split, come first; all others
    begin with one that has more, the most alike of which are joined. So a curve costs, for each
    part of the data, two to three fits of the largest number. Other models are fitted from the
    start. Hard clusterings are told apart by the exact integrated likelihood of all observations
    (:func:`skcooc.metrics.integrated_complete_likelihood`), the largest of several starts.

    Parameters
    ----------
    estimator : estimator
        An estimator of skcooc with a number of components (``n_components``), clusters or leaves
        (``n_clusters``), or of both sides (``n_row_clusters`` and ``n_column_clusters``,
        ``n_row_components`` and ``n_column_components``). Clones of it are fitted.

    candidates : sequence of int, sequence of pairs of int, or "auto", default="auto"
        Numbers of components; pairs where both sides have one. "auto" tries 2, 3, 5, 8, 16, and so
        on by doubling, of both sides at once, until one is no better by more than a standard error;
        then numbers around the best in ever shorter steps, down to one, or a 25th of it.

    max_components : int, default=100
        Largest number that "auto" tries, of each side.

    cv : int, splitter or iterable, default=5
        Folds of the observations. A splitter gets `Dyads` to split, which come row by row: it
        has to shuffle them, as `KFold(5, shuffle=True)` does. A number stands for
        `ObservationSplit`, which draws them.

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
        A row for each candidate, from few components to many, by ``params`` and ``param_*``:
        ``*_test_score``, mean log-likelihoods of a held-out observation in nats;
        ``*_unseen_score``, those in columns that are new to their rows (`unseen_perplexity`);
        ``error_*_score``, standard errors of the difference from the best, paired over folds;
        ``n_distinct``, the mean number of components, over starts, that have at least a tenth of an
        equal share of the observations, and a cosine below .9 to all larger ones;
        ``half_agreement`` and ``seed_agreement``, mean cosines of the components of two halves, and
        of two starts, matched by the Hungarian method; ``coherence``, mean
        :func:`skcooc.metrics.npmi_coherence`; ``beta``; ``icl`` of hard clusterings; ``work``,
        components times iterations, of one part of the data; times in seconds, of all parts.
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
        Where candidates are no numbers, or ``cv`` has one fold.

    Notes
    -----
    An interrupted search goes on when ``fit`` is called with the same data and parameters; with
    :class:`skcooc.callbacks.Checkpoint` also in another process, as ``read_checkpoint(path).fit``.

    Fits of the search are plain: an aspect model neither leaves observations out nor looks for a
    pseudo-count, and holds ``validation_fraction`` out of each part to find its temperature.
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

    best_n_components_: int | tuple[int, int]
    still_falling_: bool

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

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: TableLike, y: ArrayLike | None = None, **params: object) -> Self:
        """Search, and fit all data with the number chosen.

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
        """
        names, criterion = sizes_of(self.estimator), criterion_of(self.estimator, self.criterion)
        self.estimator._validate_params()
        given = check_candidates(self.candidates, names)
        data, split_params = self._routed(X, y, params)
        hooks = Hooks(estimator=self, X=data.X, y=data.y, metadata=data.params)
        root = self._init_callback_context(max_subtasks=1 + self.refit)
        root.call_on_fit_task_begin(**hooks)
        task = root.subcontext(task_name="search", max_subtasks=None)
        task.call_on_fit_task_begin(**hooks)
        with threads(1):  # throughout: by turns BLAS would have one thread, or several
            survey = self._begun(names, data, split_params)
            visit = self._visit(survey, criterion, task, hooks)
            if given is None:
                explore(visit, limits_of(names, data.X, self.max_components))
            else:
                go_through(visit, given)
        task.call_on_fit_task_end(**hooks)
        new = copy.copy(self)  # a refit that fails leaves self as it was, with all that was found
        new.__dict__.update(conclude(survey, criterion))
        new.scorer_, new.multimetric_ = check_scoring(self.estimator), False
        if self.refit:
            refit = root.subcontext(task_name="refit-with-best-params")
            best = clone(self.estimator).set_params(**new.best_params_)
            new._fit_best(best, data, refit, hooks)
        del self._unfinished, new._unfinished
        self.__dict__.update(vars(new))
        if self.still_falling_:
            warnings.warn(self._summary, UserWarning, stacklevel=3)
        root.call_on_fit_task_end(**hooks)
        return self

    def summary(self) -> str:
        """What was found, in plain words; where there is no number, what to go by instead."""
        check_is_fitted(self, "best_n_components_")
        return self._summary

    def _begun(self, names: Sequence[str], data: Data, split_params: Params) -> Survey:
        """What an interrupted fit of the same data has found so far, or nothing yet."""
        how = self.cv, split_params, self.n_runs, self.random_state
        journal = taken_up(self, data, dict(split_params))
        return journal.once(("survey",), lambda: surveyed(self.estimator, names, data, *how))

    def _visit(
        self, survey: Survey, criterion: Criterion, task: CallbackContext, hooks: Hooks
    ) -> Visit:
        """What visits a candidate, unless that was done before an interruption."""

        def visit(sizes: Sizes, again: bool = False) -> Array:
            if survey.lacks(sizes, again):
                name = f"K = {' x '.join(map(str, sizes))}"
                step = task.subcontext(task_name=name).call_on_fit_task_begin(**hooks)
                survey.visit(sizes, self._run)
                self._unfinished.tell()
                step.call_on_fit_task_end(**hooks)
            return survey.judged(sizes, criterion)

        return visit
