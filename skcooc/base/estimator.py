"""What all estimators share: parameters, checks and fit."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import joblib
import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.utils._param_validation import Interval, StrOptions

from skcooc.base import attributes
from skcooc.base.predictions import Predictions
from skcooc.counts import CSRCounts
from skcooc.em import State, TemperatureRange
from skcooc.em.legs import Relaxation
from skcooc.em.schedules import Schedule, burn_in
from skcooc.em.temperature import best
from skcooc.fitting.plan import Settings
from skcooc.fitting.probing import Probes
from skcooc.fitting.progress import Progress
from skcooc.fitting.restarts import Unfinished
from skcooc.fitting.table import Fitted, continued, fit_table, probes_of
from skcooc.heldout.split import add_one_unigram
from skcooc.protocol import Model, Predictor
from skcooc.tables.checks import (
    check_coarsening,
    check_collection,
    check_training,
    is_collection,
    n_threads,
)
from skcooc.tables.dask import distributed_counts

# Parameters that may change before a fit that was cut short goes on, since its seeds are kept.
FREE = {"n_jobs", "random_state", "warm_start"}


class CooccurrenceEstimator(Predictions, CallbackSupportMixin, BaseEstimator):
    """Base class of the estimators: a subclass is a constructor, a docstring and its model."""

    beta: Any
    max_iter: int
    tol: float
    n_init: int
    relaxation: Relaxation
    smoothing: Any
    validation_fraction: float
    early_stopping: bool
    n_jobs: int | None
    warm_start: bool
    random_state: Any

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "beta": [Interval(Real, 0, 1, closed="right"), StrOptions({"auto"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "relaxation": [Interval(Real, 0, 2, closed="neither"), StrOptions({"momentum"})],
        "smoothing": [Interval(Real, 0, 1, closed="left"), StrOptions({"auto"})],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "early_stopping": ["boolean"],
        "n_jobs": [Integral, None],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }
    _structure: ClassVar[tuple[str, ...]] = ("n_components",)  # parameters that shape the model

    def _model(self) -> Model:
        """The equations, with the hyper-parameters of this estimator."""
        raise NotImplementedError

    def _prediction_model(self) -> Predictor:
        """The equations by which new rows are folded in."""
        return self._fitted_model

    def _temperatures(self, X: CSRCounts) -> TemperatureRange:
        """Where the best inverse temperature for these counts is looked for."""
        raise NotImplementedError

    def _schedule(self, beta: float, max_iter: int) -> Schedule:
        """The inverse temperatures that a random start goes through."""
        return burn_in(beta, max_iter)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> CooccurrenceEstimator:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame or dask array of shape (N, M), or Dyads
            Non-negative counts or weights. A dask array is fitted where its blocks of rows are, on
            the workers of the current ``distributed.Client``.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row; of each observation where X is Dyads. Not with dask arrays.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            Where X is negative, not finite, empty or all zero, or a parameter has no valid value.
        RuntimeError
            Where X is a dask array, and its blocks kill the workers.
        ConnectionError
            Where X is a dask array, and the scheduler is lost.
        """
        new = copy.copy(self)  # a fit that fails leaves self as it was
        data = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        if is_collection(X):
            check_collection(self, X, sample_weight)
            with distributed_counts(new, X) as (counts, sample):
                train = partial(fit_table, X=sample, sample_weight=None, whole=counts)
                stopped = self._fit(new, counts, CSRCounts(sample), train, counts, data)
        else:
            table, row_weights = check_training(new, X, sample_weight)
            counts = CSRCounts(table, row_weights)
            train = partial(fit_table, X=table, sample_weight=row_weights)
            stopped = self._fit(new, counts, counts, train, table, data)
        attributes.warn_about(self, stopped)
        return self

    def _fit(
        self,
        new: CooccurrenceEstimator,
        counts: Any,
        sample: CSRCounts,
        train: Callable[..., Fitted],
        table: Any,
        data: dict[str, Any],
    ) -> bool:
        """Fit to checked counts; return whether a callback stopped it.

        What there is to know of the columns is in ``new``. Temperatures are looked for where the
        sample says.
        """
        model, resume = self._model(), self._cut_short(counts)
        warm = resume.warm if resume else self._goes_on
        start = self._continued(model, table) if warm else None
        settings, known = self._settings(sample, warm), new._input_attributes()
        if warm and not settings.searches:
            known["temperature_search_"] = self.temperature_search_
        at_iteration = attributes.at_iteration(counts, settings.smoothing, known)
        progress = Progress(self, settings, at_iteration, data)
        fitted = train(model, settings=settings, progress=progress, start=start, resume=resume)
        progress.end()
        self._become(attributes.of_fit(fitted) | known | self._kept(fitted, counts))
        return fitted.fit.stopped

    def _no_dask(self) -> str | None:
        """Why these parameters need all rows in one place; None where they do not."""
        if getattr(self, "coarsening", None) is not None:
            return "coarsening groups rows of different blocks; it needs None"
        return None

    def _probes(
        self, X: Any, sample_weight: ArrayLike | None = None
    ) -> tuple[Probes, TemperatureRange]:
        """What tries temperatures on a part of these observations, and where to look for them."""
        table, row_weights = check_training(copy.copy(self), X, sample_weight)
        counts = CSRCounts(table, row_weights)
        settings = self._settings(counts, warm=False)
        return probes_of(self._model(), table, row_weights, settings), self._temperatures(counts)

    @property
    def _goes_on(self) -> bool:
        """Whether a fit is a warm start."""
        return self.warm_start and hasattr(self, "_state")

    def _procedure(self, X: CSRCounts) -> dict[str, Any]:
        """Settings of a fit beyond those that all estimators share."""
        return {}

    def _kept(self, fitted: Fitted, counts: CSRCounts) -> dict[str, Any]:
        """Further attributes of a fit."""
        return {}

    def _continued(self, model: Model, table: Any) -> State:
        """Where a warm start goes on."""
        self._check_structure("warm_start=True", "Set warm_start=False to start anew.")
        return continued(model, self._state, table)

    def _check_structure(self, what: str, remedy: str) -> None:
        """Raise ValueError where the model fitted has another shape than that asked for."""
        fitted = {name: self._fitted_parameters[name] for name in self._structure}
        asked = {name: getattr(self, name) for name in self._structure}
        if fitted != asked:
            raise ValueError(
                f"{what} goes on from a model fitted with {fitted}, but {asked} is asked for. "
                f"{remedy}"
            )

    def _cut_short(self, X: CSRCounts) -> Unfinished | None:
        """The fit that a warm start is to end; None where the last one has come to its end."""
        if not self._goes_on or self._unfinished is None:
            return None
        unigram, mass = add_one_unigram(X.column_sums), X.row_sums * X.row_weights
        same_rows = np.array_equal(mass / mass.sum(), self.row_distribution_)
        self._check_as_before(same_rows and np.array_equal(unigram, self.unigram_))
        unfinished: Unfinished = self._unfinished
        return unfinished

    def _check_as_before(self, same_table: bool) -> None:
        """Raise ValueError where a fit that was cut short would not go on as it was."""
        fitted, asked = self._fitted_parameters, self.get_params(deep=False)
        changed = [name for name in asked if joblib.hash(asked[name]) != joblib.hash(fitted[name])]
        changed = [name for name in changed if name not in FREE] + ["X"] * (not same_table)
        if changed:
            raise ValueError(
                "A fit that was cut short goes on with the same table and parameters, but there "
                f"are other values of {', '.join(changed)}. Set warm_start=False to start anew."
            )

    def _settings(self, X: CSRCounts, warm: bool) -> Settings:
        """Of a fit; a warm start keeps the temperature that an earlier one found by itself."""
        procedure = self._procedure(X)
        if procedure.get("coarsening") is not None:
            procedure["coarsening"] = check_coarsening(procedure["coarsening"], X.shape[0])
        searched = warm and bool(self.temperature_search_)
        known = self.beta == "auto" and searched
        beta = best(self.temperature_search_).beta if known else self.beta
        smoothing = self.smoothing
        if smoothing == "auto" and searched and not (beta == "auto" or self.early_stopping):
            smoothing = self.smoothing_
        return Settings(
            beta=self._temperatures(X) if beta == "auto" else beta,
            max_iter=self.max_iter,
            tol=self.tol,
            smoothing=smoothing,
            validation_fraction=self.validation_fraction,
            early_stopping=self.early_stopping,
            n_threads=n_threads(self.n_jobs),
            seeds=self._seeds(1 if warm else self.n_init),
            schedule=self._schedule,
            **{"relaxation": self.relaxation, **procedure},
        )

    def _input_attributes(self) -> dict[str, Any]:
        """What is known of the columns, of the table and of the shape of the model."""
        return {**attributes.of_input(self), "_fitted_parameters": self.get_params(deep=False)}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state")
