"""Search for the number of components by cross-validation."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral
from time import perf_counter
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn import get_config
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import check_scoring
from sklearn.utils import Tags, get_tags, indexable
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from skcooc.counts import check_sparse_structure
from skcooc.counts.passes import threads
from skcooc.fitting.journal import Journal, resume_or_new
from skcooc.fitting.recipe import with_seed
from skcooc.model_selection.candidates import (
    Score,
    Sizes,
    check_candidates,
    fewest,
    grow_and_refine,
    largest,
    limits_of,
    sizes_of,
    visit_in_order,
)
from skcooc.model_selection.folds import Data, Folding, ParamMapping
from skcooc.model_selection.path import is_hard
from skcooc.model_selection.survey import (
    SCORES,
    Criterion,
    Survey,
    is_better_than_none,
    name_of,
    recommend,
    table_of,
)
from skcooc.protocol import (
    Array,
    Estimator,
    RandomState,
    TableLike,
    TableWarning,
    scikit_learn,
    warn,
)
from skcooc.protocol.bases import EstimatorHints
from skcooc.protocol.decorators import available_if, fit_context
from skcooc.protocol.scikit_learn import (
    BaseSearchCV,
    CallbackSupportMixin,
    HasMethods,
    Interval,
    StrOptions,
)


def _estimator_has(method: str) -> Callable[[BaseSearchCV], bool]:
    return lambda search: hasattr(getattr(search, "best_estimator_", search.estimator), method)


@dataclass(eq=False, repr=False)
class ComponentSearchCV(EstimatorHints, BaseSearchCV, CallbackSupportMixin):
    """Search for the number of components, clusters or leaves by cross-validation.

    Every candidate number is fitted to four fifths of the tokens, or to the training part of each
    fold, and held-out tokens are predicted. The search chooses the smallest number whose mean
    log-likelihood is within 0.005 nats, or within one standard error, of the best. The standard
    error is that of the differences within rows. Every candidate is also fitted to each half of the
    tokens, to show which components recur.

    Tokens are predicted inside a within-document cache (see `RowMemory`). Without a cache, more
    components always improve the prediction of texts, because they memorise repeated words. If
    perplexity still falls at the largest candidate, the search chooses it, warns, and sets
    ``still_falling_`` to True. It also warns if no number of components predicts better than the
    unigram.

    Fits of aspect models are warm-started. A few of them split components of a smaller fit. All
    others merge the most similar components of a larger fit. On texts, a search takes as long as 1
    to 6 fits of the largest number tried. On tables with few tokens, where one fit takes 0.1 to
    0.9 s, it takes up to 8 fits. Other models are fitted from scratch.

    Hard clusterings are compared by the exact integrated likelihood of all tokens
    (:func:`skcooc.metrics.integrated_complete_likelihood`), the largest of several runs.

    Read more in the :doc:`how-to guide </howto/tune>`.

    Parameters
    ----------
    estimator : estimator
        An estimator of this package with a number of components, clusters or leaves, or with two
        numbers, for rows and columns. Its clones are fitted.

    candidates : sequence of int, sequence of pairs of int, or "auto", default="auto"
        Numbers of components, or pairs of numbers for rows and columns. "auto" tries 2, 3, 5, 8, 16
        and so on. It doubles the numbers, those of rows and columns together, until a fit is not
        better by more than one standard error. It then tries numbers around the best, in ever
        shorter steps, down to 1 or a 16th of the best.

    max_components : int, default=200
        Largest number of components that "auto" tries, for rows and for columns.

    cv : int, splitter or iterable, default=None
        Folds of the tokens.

        - None: one fifth of the tokens is scored.
        - int: number of folds of `CountSplit`. With 2, the folds also serve as the two halves.
        - splitter: it gets `Dyads`, which are sorted by row, and therefore has to shuffle them, as
          ``KFold(5, shuffle=True)`` does.

    n_runs : int, default=0
        Number of further fits to all tokens, from different initialisations. Hard clusterings are
        fitted at least once.

    criterion : {"auto", "cache", "held_out", "unseen", "icl"}, default="auto"
        Criterion by which numbers are compared.

        - ``"cache"``: log-likelihood of held-out tokens, predicted with a within-document cache.
        - ``"held_out"``: log-likelihood of held-out tokens, predicted by the model alone. On texts
          the largest number is best.
        - ``"unseen"``: log-likelihood of held-out tokens in columns that are new to their rows,
          predicted by the model alone.
        - ``"icl"``: integrated likelihood of a hard clustering.
        - ``"auto"``: "icl" for hard clusterings. Otherwise "cache", unless components improve the
          prediction with a cache by less than 8 % of what they improve it without; then "unseen".
          This share was 2 to 6 % for word pairs, as low for rows that mostly repeat their columns,
          and 30 to 40 % for texts.

    n_jobs : int, default=None
        Number of threads, in joblib's conventions. Results do not depend on it.

    refit : bool, default=True
        Whether to fit all data with the chosen number.

    random_state : int, RandomState instance or None, default=None
        Seed of the fits and of the halves, and of the last fit if the estimator has no seed.

    Attributes
    ----------
    best_n_components_ : int or tuple of two int
        The chosen number, which is the largest candidate if ``still_falling_`` is True.
    still_falling_ : bool
        Whether the largest candidate is better than all others by more than the margin above.
    criterion_ : {"cache", "held_out", "unseen", "icl"}
        The criterion used.
    cv_results_ : dict of arrays
        One entry per candidate, from few components to many, in each array. ``params`` and
        ``param_*`` contain the candidates. The affinity of components is defined in
        :func:`skcooc.inspection.topic_stability`.

        - ``*_test_score``: mean log-likelihood of a held-out token, in nats.
        - ``*_cache_score``: the same with a within-document cache, whose parameters are estimated
          on other held-out tokens.
        - ``*_unseen_score``: the same for columns that are new to their rows
          (:func:`skcooc.metrics.unseen_perplexity`).
        - ``error_*_score``: standard error of the difference from the best, paired over rows.
        - ``n_distinct``: number of distinct components, averaged over folds. A component is
          distinct if it has at least a tenth of an equal share of the tokens, and an affinity below
          2/3 with every larger component.
        - ``half_agreement`` and ``seed_agreement``: mean affinity of matching components of the two
          halves, and of two runs.
        - ``n_found_again``: number of distinct components of one half whose affinity with a
          distinct component of the other half is at least 2/3.
        - ``coherence``: mean :func:`skcooc.metrics.npmi_coherence`.
        - ``beta``: inverse temperature.
        - ``icl``: integrated likelihood of hard clusterings.
        - ``work``: components times iterations, for one part of the data.
        - ``mean_*_time``: seconds, for one part of the data.
    best_estimator_ : estimator
        Estimator fitted to all data, if ``refit=True``.
    refit_time_ : float
        Time of the last fit, in seconds.
    best_params_ : dict
        Parameters of the chosen candidate.
    best_index_ : int
        Position of the chosen candidate in ``cv_results_``.
    best_score_ : float
        Mean held-out score of the chosen number by the criterion, in nats. If the criterion is
        "icl", it is the score of the model alone.
    n_splits_ : int
        Number of folds.
    n_features_in_ : int
        Number M of columns.
    feature_names_in_ : (M,) array of str
        Names of the columns, if they are strings.

    Notes
    -----
    An interrupted search resumes if you call ``fit`` again with the same data and parameters. With
    :class:`skcooc.callbacks.Checkpoint` it also resumes in another process, by
    ``read_checkpoint(path).fit``.

    Fits of the search tune only the inverse temperature, on ``validation_fraction`` of each part.
    Aspect models continue with leave-one-out EM if that is better.

    References
    ----------
    T. Hastie, R. Tibshirani and J. Friedman, The elements of statistical learning, 2009, section
    7.10, for the one-standard-error rule.

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

    scoring = None  # required by the base class; the score is the estimator's own

    estimator: BaseEstimator
    candidates: Sequence[int] | Sequence[tuple[int, int]] | Literal["auto"] = "auto"
    _: KW_ONLY
    max_components: int = 200
    cv: Folding = None
    n_runs: int = 0
    criterion: Literal["auto", "cache", "held_out", "unseen", "icl"] = "auto"
    n_jobs: int | None = None
    refit: bool = True
    random_state: RandomState = None
    best_n_components_: int | tuple[int, ...] = field(init=False)
    still_falling_: bool = field(init=False)
    criterion_: Criterion = field(init=False)
    cv_results_: dict[str, Any] = field(init=False)
    best_estimator_: Estimator = field(init=False)
    refit_time_: float = field(init=False)
    best_params_: dict[str, Any] = field(init=False)
    best_index_: int = field(init=False)
    best_score_: float = field(init=False)
    n_splits_: int = field(init=False)
    n_features_in_: int = field(init=False)
    feature_names_in_: Array = field(init=False)
    _unfinished: Journal = field(init=False)

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "score"])],
        "candidates": ["array-like", StrOptions({"auto"})],
        "max_components": [Interval(Integral, 2, None, closed="left")],
        "cv": ["cv_object"],
        "n_runs": [Interval(Integral, 0, None, closed="left")],
        "criterion": [StrOptions({"auto", "cache", "held_out", "unseen", "icl"})],
        "n_jobs": [Integral, None],
        "refit": ["boolean"],
        "random_state": ["random_state"],
    }

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: TableLike, y: ArrayLike | None = None, **params: object) -> Self:
        """Search for the number of components and fit all data with it.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (N, M), or Dyads
            Counts.
        y : None
            Ignored.
        **params : dict
            Passed to the ``fit`` of the estimator, such as ``sample_weight``. ``groups`` is passed
            to ``cv``, unless the estimator has group effects.

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
        names = sizes_of(self.estimator)
        hard = is_hard(self.estimator)
        if self.criterion == "icl" and not hard:
            raise ValueError(
                "criterion='icl' is for hard clusterings: set hard=True, without a tree."
            )
        criterion: Criterion = "icl" if hard else "cache"
        if self.criterion != "auto":
            criterion = self.criterion
        self.estimator._validate_params()
        candidates = check_candidates(self.candidates, names)
        data, split_params = self._route_params(X, y, params)
        hooks = {"estimator": self, "X": data.X, "y": data.y, "metadata": data.params}
        root = self._init_callback_context(max_subtasks=1 + self.refit)
        root.call_on_fit_task_begin(**hooks)
        task = root.subcontext(task_name="search", max_subtasks=None)
        task.call_on_fit_task_begin(**hooks)
        # The refit warns of the table.
        with threads(1), warnings.catch_warnings(action="ignore", category=TableWarning):
            journal = resume_or_new(self, data, dict(split_params))
            options = self.cv, split_params, self.n_runs, self.random_state
            survey = journal.get_or_compute(
                ("survey",), Survey, self.estimator, names, data, *options
            )

            def explore(criterion: Criterion) -> None:
                def visit(sizes: Sizes, again: bool = False) -> Score:
                    if survey.needs_visit(sizes, again):  # else it was before an interruption
                        step = task.subcontext(task_name=f"K = {name_of(sizes)}")
                        step.call_on_fit_task_begin(**hooks)
                        survey.visit(sizes, self._run_parallel)
                        journal.checkpoint()
                        step.call_on_fit_task_end(**hooks)
                    return survey.scores[sizes][SCORES[criterion]]

                if candidates is None:
                    grow_and_refine(visit, limits_of(names, data.X, self.max_components))
                    if distinct := survey.without_copies(criterion):
                        visit(distinct, again=True)
                else:
                    visit_in_order(visit, candidates)

            explore(criterion)
            if self.criterion == "auto" and criterion == "cache" and survey.is_cache_enough():
                criterion = "unseen"
                explore(criterion)
        task.call_on_fit_task_end(**hooks)
        new = self._without_results()  # if the refit fails, self keeps all fits of the search
        recommendation, is_determined = new._conclude(survey, criterion)
        if self.refit:
            best = clone(self.estimator).set_params(**new.best_params_)
            if self.random_state is not None:
                best = with_seed(best, survey.seed)
            began = perf_counter()
            task = root.subcontext(task_name="refit-with-best-params")
            with task.propagate_callback_context(best):
                task.call_on_fit_task_begin(**hooks)
                best.fit(data.X, data.y, **data.params)
            task.call_on_fit_task_end(**hooks)
            new.best_estimator_ = best
            new.refit_time_ = perf_counter() - began
            if hasattr(best, "feature_names_in_"):
                new.feature_names_in_ = best.feature_names_in_
        del self._unfinished, new._unfinished
        self.__dict__ = new.__dict__
        if not is_determined:
            warn(recommendation)
        root.call_on_fit_task_end(**hooks)
        return self

    def summary(self) -> str:
        """Return a table of all candidates, and a recommendation in one sentence.

        Returns
        -------
        text : str
            One line for each candidate and one for the unigram, which has no topics. The columns
            are the held-out perplexity of the model alone and with a within-document cache, the
            integrated likelihood of hard clusterings, the agreement between components of two
            halves of the tokens, the number of components found in both halves, and the number of
            distinct components. A star marks the chosen candidate.
        """
        check_is_fitted(self, "best_n_components_")
        return self._summary

    @available_if(_estimator_has("transform"))
    def fit_transform(self, X: TableLike, y: ArrayLike | None = None, **params: object) -> Array:
        """Fit and transform the same data, with the parameters of ``fit``."""
        return self.fit(X, y, **params).transform(X)

    @available_if(_estimator_has("get_feature_names_out"))
    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
        """Return the names of the columns that ``transform`` returns."""
        check_is_fitted(self)
        return self.best_estimator_.get_feature_names_out(input_features)

    @available_if(_estimator_has("set_output"))
    def set_output(
        self, *, transform: Literal["default", "pandas", "polars"] | None = None
    ) -> Self:
        """Set the container that ``transform`` returns, as for the estimator itself."""
        self.estimator.set_output(transform=transform)
        if hasattr(self, "best_estimator_"):
            self.best_estimator_.set_output(transform=transform)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.transformer_tags = inner.transformer_tags
        return tags

    def _run_parallel(self, function: Callable, arguments: Iterable[tuple]) -> list:
        parallel = Parallel(n_jobs=self.n_jobs, require="sharedmem")
        return list(parallel(delayed(function)(*args) for args in arguments))

    def _route_params(
        self, X: TableLike, y: ArrayLike | None, params: ParamMapping
    ) -> tuple[Data, ParamMapping]:
        """Data with the parameters of the estimator, and the parameters of the splitter."""
        X, y = indexable(check_sparse_structure(X) if sp.issparse(X) else X, y)
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **params)
            return Data(X, y, routed.estimator.fit), routed.splitter.split
        fit_params = {name: value for name, value in params.items() if value is not None}
        is_split = "groups" in fit_params and not getattr(self.estimator, "group_effects", None)
        split_params = {"groups": fit_params.pop("groups")} if is_split else {}
        return Data(X, y, fit_params), split_params

    def _without_results(self) -> Self:
        """Return a copy without fitted attributes."""
        new = copy.copy(self)
        for name in [name for name in vars(new) if name.endswith("_")]:
            delattr(new, name)
        return new

    def _conclude(self, survey: Survey, criterion: Criterion) -> tuple[str, bool]:
        """Set the attributes of a search without a refit.

        Return the recommendation, and whether the data determine the number.
        """
        params, scores, tables = survey.tables()
        results = cv_results(params, tables)
        for name in ("test", "cache", "unseen"):
            best = largest([score[name] for score in scores]).best
            errors = [score[name].gain(scores[best][name])[1] for score in scores]
            results[f"error_{name}_score"] = np.array(errors)
        choose = largest if criterion == "icl" else fewest
        choice = choose([score[SCORES[criterion]] for score in scores])
        sizes = [tuple(values.values()) for values in params]
        chosen = sizes[choice.chosen]
        sentence = recommend(sizes, choice, results, criterion, survey.unigram)
        self._summary = f"{table_of(sizes, choice, results, survey.unigram)}\n\n{sentence}"
        self.best_n_components_ = chosen[0] if len(chosen) == 1 else chosen
        self.still_falling_ = choice.still_falling
        self.criterion_ = criterion
        self.cv_results_ = {**results, "params": params}
        self.n_splits_ = tables["test_score"].shape[1]
        self.best_index_ = choice.chosen
        self.best_params_ = dict(params[choice.chosen])
        judged = "test" if criterion == "icl" else SCORES[criterion]
        self.best_score_ = float(results[f"mean_{judged}_score"][choice.chosen])
        self.scorer_ = check_scoring(self.estimator)
        self.multimetric_ = False
        is_better = is_better_than_none(choice, results, criterion, survey.unigram)
        return sentence, is_better and not choice.still_falling


def cv_results(params: Sequence[ParamMapping], tables: dict[str, Array]) -> dict[str, Array]:
    """Columns of ``cv_results_`` by name, without ``params``, from tables of measures.

    Scores are tables (n_candidates, n_folds) and give a column for each split, means and standard
    deviations; ``test_score`` is ranked, 1 for the largest and NaN last. Other measures are
    (n_candidates,).
    """
    results: dict[str, Array] = {}
    for name, table in tables.items():
        if table.ndim == 2:
            results |= {f"split{fold}_{name}": table[:, fold] for fold in range(table.shape[1])}
            results[f"mean_{name}"] = table.mean(axis=1)
            results[f"std_{name}"] = table.std(axis=1)
    means = results["mean_test_score"]
    ranks = rankdata(-np.where(np.isnan(means), -np.inf, means), method="min")
    results["rank_test_score"] = ranks.astype(np.int32)
    results |= dict(scikit_learn.yield_masked_array_for_each_param(params))
    return results | {name: table for name, table in tables.items() if table.ndim == 1}
