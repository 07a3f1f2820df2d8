"""The search for the best inverse temperature by cross-validation."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from numbers import Integral
from time import perf_counter
from typing import Any, ClassVar, Literal, Self, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.callback import CallbackContext
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterGrid
from sklearn.utils import column_or_1d
from sklearn.utils._param_validation import HasMethods, StrOptions

from skcooc.counts.threads import threads
from skcooc.fitting.journal import taken_up
from skcooc.model_selection.folds import N_FOLDS, Data, Folding, divided
from skcooc.model_selection.grid_point import Fit, GridPoint, Place, set_temperature
from skcooc.model_selection.results import cv_results, tables
from skcooc.model_selection.search import Hooks, Search, fitting
from skcooc.model_selection.target import Params, Target, check_temperatures, find_target
from skcooc.protocol import Array, TableLike
from skcooc.protocol.decorators import fit_context

Grid: TypeAlias = Mapping[str, Sequence[object]]  # values of parameters, by name


class TemperatureSearchCV(Search):
    """Search for the inverse temperature by cross-validation, and for other parameters with it.

    Finds what `GridSearchCV` over the same ``betas`` finds, with a small part of its work. In every
    fold short fits, which share their burn-in, show where the best temperature is; full fits, from
    the start, are made there and at neighbouring temperatures alone, until both neighbours of the
    best one are worse; a larger neighbour may be so by its short fits already, which prefer large
    ones. After three folds, and after six, twelve and so on, a temperature is dropped
    if two standard errors of its differences from the best one on the same folds would not make its
    perplexity .2 % less.

    A part of the training observations of every fold, ``validation_fraction`` of the estimator, is
    held out from the short fits. They are judged by it, and it tells the smoothing where the
    estimator has ``smoothing="auto"``. The full fits get all training observations. So nothing of
    what is scored in a fold is known to its fits, their smoothing included. As in any search,
    ``best_score_`` is the best of several scores and hence a little too good.

    Parameters
    ----------
    estimator : estimator or Pipeline
        An estimator of skcooc, or a pipeline with one as its last step. Clones of it are fitted.

    betas : array-like of float in (0, 1] or "auto", default="auto"
        Inverse temperatures; where the estimator takes larger ones, these, too. "auto" takes the
        range in which the estimator itself would look, in steps of at most .03, relative ones where
        its scale is logarithmic.

    param_grid : dict or list of dict, default=None
        Values of other parameters, all combinations of which are searched; as for `GridSearchCV`.

    cv : int, splitter or iterable, default=10
        Folds. A number, with ``split="observations"``, means that of `ObservationSplit` with a
        fixed seed. A splitter gets `Dyads` to split, or rows. None is 10.

    n_jobs : int, default=None
        Number of threads among which folds and temperatures are divided, in joblib's conventions.
        Results do not depend on it. The threads of the estimator itself come on top in full fits.

    refit : bool, default=True
        Whether to fit all data with the best parameters. Where the estimator has
        ``smoothing="auto"``, this fit gets the mean of the smoothing of the folds as a number.

    split : {"observations", "rows"}, default="observations"
        What is divided. Observations of the table are scored with what was fitted to other
        observations of the same rows. They need counts as input, also where there is a pipeline,
        the earlier steps of which then transform the table of the observations scored like that of
        the observations fitted. Rows can be anything, texts included; half of the observations of
        a row are folded in, and the other half are scored.

    Attributes
    ----------
    cv_results_ : dict of arrays
        Columns of a table of candidates as in `GridSearchCV`: ``params``, ``param_*``,
        ``split*_test_score``, ``mean_test_score``, ``std_test_score``, ``rank_test_score`` and
        times in seconds. Scores are mean log-likelihoods of an observation, in nats. Means are NaN
        for temperatures not fitted in all folds. ``*_validation_score`` is that of the short fits
        on the observations held out from them, and ``mean_smoothing`` what these ask for. With
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

    Raises
    ------
    TypeError
        Where the estimator has no temperature.
    ValueError
        Where a clustering is hard.

    Notes
    -----
    A search that was interrupted goes on where it was when ``fit`` is called with the same data and
    parameters: short fits and fits of folds that have ended are not made again. With
    :class:`skcooc.callbacks.Checkpoint` it can do so in another process: ``fit`` of what
    ``read_checkpoint`` reads goes on.

    See Also
    --------
    sklearn.model_selection.GridSearchCV : The same with a fit for each temperature and fold.

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

    refit_time_: float

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "score"])],
        "betas": ["array-like", StrOptions({"auto"})],
        "param_grid": [dict, list, None],
        "cv": ["cv_object"],
        "split": [StrOptions({"observations", "rows"})],
        "n_jobs": [Integral, None],
        "refit": ["boolean"],
    }

    def __init__(
        self,
        estimator: BaseEstimator,
        betas: ArrayLike | Literal["auto"] = "auto",
        param_grid: Grid | Sequence[Grid] | None = None,
        cv: Folding = N_FOLDS,
        n_jobs: int | None = None,
        refit: bool = True,
        *,
        split: Literal["observations", "rows"] = "observations",
    ) -> None:
        self.estimator, self.betas, self.param_grid = estimator, betas, param_grid
        self.cv, self.split = cv, split
        self.n_jobs, self.refit = n_jobs, refit

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: TableLike, y: ArrayLike | None = None, **params: object) -> Self:
        """Search, and fit all data at the best temperature.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (N, M), or Dyads
            Counts; with ``split="rows"`` anything that the first step of a pipeline takes.
        y : None
            Passed to the steps of a pipeline where rows are divided, else ignored.
        **params : dict
            Parameters of the ``fit`` of the estimator, such as ``sample_weight`` of rows, or of
            observations where X is Dyads, and ``groups`` for the splitter.

        Returns
        -------
        self : object
        """
        target = find_target(self.estimator)
        betas = self._checked_betas()
        grid = self._checked_grid(target, betas)
        data, split_params = self._routed(X, y, params)
        folds = divided(self.split, self.estimator, target, data, self.cv, split_params)
        journal = taken_up(self, data, dict(split_params))
        hooks = Hooks(estimator=self, X=data.X, y=data.y, metadata=data.params)
        root = self._init_callback_context(max_subtasks=1 + self.refit)
        root.call_on_fit_task_begin(**hooks)
        task = root.subcontext(task_name="search", max_subtasks=None)
        task.call_on_fit_task_begin(**hooks)

        def observed(name: str, estimator: BaseEstimator) -> Fit:
            return fitting(task.subcontext(task_name=name), estimator, hooks)

        points = []
        with threads(1):  # throughout: by turns BLAS would have one thread, or several
            for number, others in enumerate(grid):
                estimator, at = self._with(others), Place(journal, number)
                point = GridPoint(estimator, target, folds, betas, self._run, observed, at)
                point.search()
                points.append((others, point))
        task.call_on_fit_task_end(**hooks)
        new = copy.copy(self)  # a refit that fails leaves self as it was
        smoothing = new._conclude(target, points, len(folds))
        if self.refit:
            task = root.subcontext(task_name="refit-with-best-params")
            new._refit(target, data, smoothing, task, hooks)
        self.__dict__.update(vars(new))
        del self._unfinished
        root.call_on_fit_task_end(**hooks)
        return self

    def _conclude(
        self, target: Target, points: Sequence[tuple[Params, GridPoint]], n_splits: int
    ) -> float:
        """The attributes of all searches, without those of the refit; the smoothing for that."""
        visited = isinstance(self.betas, str)
        candidates, measured = tables(points, target.name("beta"), visited, n_splits)
        results = cv_results(candidates, measured)
        self.cv_results_ = {**results, "params": candidates}
        self.n_splits_ = n_splits
        self.best_index_ = int(results["rank_test_score"].argmin())
        self.best_params_ = dict(candidates[self.best_index_])
        self.best_score_ = float(results["mean_test_score"][self.best_index_])
        self.scorer_, self.multimetric_ = check_scoring(self.estimator), False
        return float(results["mean_smoothing"][self.best_index_])

    def _refit(
        self, target: Target, data: Data, smoothing: float, task: CallbackContext, hooks: Hooks
    ) -> None:
        best = self._with(self.best_params_)
        beta = cast(float, self.best_params_[target.name("beta")])
        set_temperature(best, target, beta, smoothing)
        began = perf_counter()
        self._fit_best(best, data, task, hooks)
        self.refit_time_ = perf_counter() - began

    def _checked_betas(self) -> Array | None:
        if isinstance(self.betas, str):
            return None
        return np.unique(column_or_1d(self.betas, dtype=np.float64))

    def _checked_grid(self, target: Target, betas: Array | None) -> list[Params]:
        grid = list(ParameterGrid(self.param_grid or {}))
        for params in grid:
            if (beta := target.name("beta")) in params:
                raise ValueError(f"param_grid has values of {beta!r}: give them as betas.")
            check_temperatures(target.parts(self._with(params))[0], betas)
        return grid

    def _with(self, params: Params) -> BaseEstimator:
        return clone(self.estimator).set_params(**clone(params, safe=False))
