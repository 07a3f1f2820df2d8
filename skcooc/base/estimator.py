"""What all estimators share: fit, and what a warm start goes on with."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import Tags

from skcooc.base import attributes, continuation, criteria, sizes
from skcooc.base.parameters import ATTRIBUTES, CONSTRAINTS, PARAMETERS, completed, meant
from skcooc.base.streams import Streams
from skcooc.em import Run, State, TemperatureRange, make_solver
from skcooc.em.legs import Solver
from skcooc.em.solvers import SolverName
from skcooc.fitting import Options, Plan
from skcooc.fitting.journal import Journal
from skcooc.fitting.restarts import Progress
from skcooc.fitting.stream import Begun
from skcooc.fitting.table import fit, short_fits
from skcooc.fitting.trials import ShortFits
from skcooc.protocol import Block, Counts, RandomState, TableLike
from skcooc.protocol.decorators import computed, fit_context
from skcooc.tables import Table, read, read_in_memory

if TYPE_CHECKING:
    from skcooc.model_selection import ComponentSearchCV


@dataclass(eq=False, repr=False, kw_only=True)
class CooccurrenceEstimator(Streams, CallbackSupportMixin, BaseEstimator):
    """Base class of the estimators: a subclass is a dataclass, a docstring and its plan.

    Its docstring gets the paragraphs of the shared parameters and attributes that it does not
    explain itself.
    """

    beta: float | Literal["auto"] = "auto"
    max_iter: int = 200
    tol: float = 3e-6
    n_init: int = 1
    solver: SolverName = 1.8
    smoothing: float | Literal["auto"] = "auto"
    validation_fraction: float = 0.1
    early_stopping: bool = False
    n_jobs: int | None = None
    warm_start: bool = False
    random_state: RandomState = None
    component_search_: ComponentSearchCV = field(init=False)

    _parameter_constraints: ClassVar[dict[str, Any]] = CONSTRAINTS

    n_parameters_ = computed(criteria.n_parameters)
    aic = criteria.aic
    bic = criteria.bic

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        defaults = vars(CooccurrenceEstimator) | vars(cls)
        cls.__doc__ = completed(cls.__doc__, "Parameters", PARAMETERS, defaults)
        cls.__doc__ = completed(cls.__doc__, "Attributes", ATTRIBUTES, {})

    def __new__(cls, *args: object, **parameters: object) -> Self:
        """Create an estimator; TypeError where a parameter is unknown or must be named."""
        valid = cls._get_param_names()
        parameters_by_position = [
            name
            for name, parameter in signature(cls.__init__).parameters.items()
            if parameter.kind is Parameter.POSITIONAL_OR_KEYWORD and name != "self"
        ]
        if len(args) > len(parameters_by_position):
            raise TypeError(
                f"{cls.__name__}() takes {' and '.join(parameters_by_position)} by position, "
                f"got {len(args)} positional arguments. Give all others by name."
            )
        for name in parameters.keys() - valid:
            raise TypeError(
                f"{cls.__name__}() got an unexpected keyword argument {name!r}. "
                f"{meant(name, valid)}"
            )
        return super().__new__(cls)

    def set_params(self, **params: object) -> Self:
        """Set parameters.

        Parameters
        ----------
        **params : dict
            Parameters by their names.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            Where the estimator has no such parameter, with what may be meant.
        """
        valid = self._get_param_names()
        for name in params.keys() - valid:
            raise ValueError(
                f"Invalid parameter {name!r} for estimator {self}. {meant(name, valid)}"
            )
        return super().set_params(**params)

    def _plan(self) -> Plan:
        """What the parameters mean: equations, and how they are fitted."""
        raise NotImplementedError

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: TableLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        A table that is read block by block is fitted by stepwise EM, as by ``partial_fit``: to a
        sample of 10000 rows first, and then in passes over all blocks, until one improves by less
        than .1 per cent on the one before: in the log-likelihood of what is held out where
        ``beta="auto"``, which follows the stream from what the sample finds; else in the free
        energy. The memory that it takes does not depend on the number of rows. So none are kept:
        ``embedding_`` and other attributes of rows have length zero, and ``transform`` gives them
        block by block. ``history_`` has a record for each pass after those of the sample. A warm
        start goes on with further passes.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame, dask array, Dyads, or a table on disk
            Non-negative counts or weights, of shape (N, M). A dask array is fitted where its blocks
            of rows are, on the workers of the current ``distributed.Client``. What has something
            for each row stays there: attributes such as ``embedding_`` are dask arrays, too. A
            table on disk, or larger than memory, is a CompactTable or RowBlocks.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row; of each observation where X is Dyads. For RowBlocks it can be an
            array on disk, as ``numpy.load(..., mmap_mode="r")`` opens it. Not with dask arrays.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            Where X is negative, not finite, empty or all zero, where a parameter has no valid
            value, or does not allow to read X where it is.
        RuntimeError
            Where X is a dask array, and its blocks kill the workers.
        ConnectionError
            Where X is a dask array, and the scheduler is lost.
        """
        if sizes.is_sought(self):
            return sizes.fit_with_found(self, X, y, sample_weight)
        plan, new = self._plan(), copy.copy(self)  # a fit that fails leaves self as it was
        self._check_solver(plan.alternates)
        needs = {**plan.needs, **make_solver(self.solver).needs}
        if self.early_stopping:
            needs["divide"] = (
                "early_stopping=True holds out observations of all rows; it needs False"
            )
        table = read(
            new,
            X,
            sample_weight,
            needs=needs,
            continues=self._goes_on() and self._stream is not None,
            searches=self.beta == "auto",
            random_state=self.random_state,
        )
        known = attributes.of_input(new) | sizes.numbers(self) | {"_frame": table.frame}
        if table.blocks is None:
            data = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
            stopped = self._fit_table(plan, table, known, data)
        else:
            with self._all_or_nothing():
                self._fit_blocks(plan, table.sample, table.blocks, known)
            stopped = True  # there is no need to converge
        attributes.warn_about(self, plan, stopped)
        return self

    def _fit_table(
        self, plan: Plan, table: Table, known: attributes.Attributes, data: dict[str, object]
    ) -> bool:
        """Fit to a checked table; return whether a callback stopped it."""
        X, sample = table.counts, table.sample
        plan = plan.suited(X)
        journal = self._journal(X)
        warm = journal.once(("warm",), self._goes_on)
        start = self._continued(plan, X) if warm else None
        options = self._options(plan, sample, warm)
        options = replace(options, seeds=journal.once(("seeds",), lambda: options.seeds))
        known |= {"_fitted_parameters": self.get_params(deep=False)}
        known |= {"_stream": None, "_passes": None}
        if warm and not options.searches:
            known["tuning_"] = self.tuning_
        at_iteration = attributes.at_iteration(X, options.smoothing, known)
        progress = Progress(self, plan, options, at_iteration, data)
        fitted = fit(plan, X, sample, options, progress, journal, start)
        progress.end()
        if attributes.lacking(replace(plan, equations=fitted.model)) is None:
            seed = attributes.seeds(self.random_state, 1)[0]
            known["_stream"] = Begun(fitted.fit.stats, fitted.mass, X.column_sums, X.grain, seed)
        attributes.become(self, attributes.of_fit(fitted) | known)
        return fitted.fit.stopped

    def _options(self, plan: Plan, X: Block, warm: bool) -> Options:
        """Of a fit; a warm start keeps the temperature that an earlier one found by itself."""
        tried = self.tuning_ if warm else []
        searched = bool(tried)
        known = self.beta == "auto" and searched
        beta = next(trial.beta for trial in tried if trial.chosen) if known else self.beta
        if warm and plan.annealing is not None and self.beta == self._fitted_parameters["beta"]:
            beta = self.beta_  # a fall may have ended before beta
        smoothing = self.smoothing
        if smoothing == "auto" and searched and not (beta == "auto" or self.early_stopping):
            smoothing = self.smoothing_
        return Options(
            beta=plan.temperatures(X) if beta == "auto" else beta,
            max_iter=self.max_iter,
            tol=self.tol,
            solver=self._solver(plan),
            smoothing=smoothing,
            validation_fraction=self.validation_fraction,
            early_stopping=self.early_stopping,
            n_jobs=self.n_jobs,
            seeds=attributes.seeds(self.random_state, 1 if warm else self.n_init),
            resumable=self.warm_start,
        )

    def _solver(self, plan: Plan) -> Solver:
        """What makes the iterations, at the beginning."""
        return make_solver("em" if plan.plain_steps else self.solver)

    def _probes(
        self, X: TableLike, sample_weight: ArrayLike | None = None
    ) -> tuple[ShortFits, TemperatureRange]:
        """What tries temperatures on a part of these observations, and where to look for them."""
        sizes.check_numbers(self)
        self._validate_params()
        counts = read_in_memory(copy.copy(self), X, sample_weight).sample
        plan = self._plan().suited(counts)
        self._check_solver(alternates=False)
        within = plan.temperatures(counts)
        return short_fits(plan, counts, self._options(plan, counts, warm=False)), within

    def _check_solver(self, alternates: bool) -> None:
        """Raise ValueError where rows and columns cannot be fitted in turn, but are to be."""
        if "alternation" in make_solver(self.solver).needs and not alternates:
            raise ValueError(
                f'solver="{self.solver}" needs an AspectModel with beta=1.0, no annealing, '
                'no component_prior and leave_one_out=False: set solver="momentum".'
            )

    def _goes_on(self) -> bool:
        """Whether a fit is a warm start."""
        return self.warm_start and hasattr(self, "_state")

    def _continued(self, plan: Plan, X: Counts) -> Run:
        """What a warm start goes on from: on another table, or with other parameters, a new run."""
        end, fitted = self._end, self._fitted_parameters
        if end is not None and continuation.is_same_run(self, fitted, X):
            return end.moved(X.array)
        return Run(self._begun_at(plan, X), self._solver(plan))

    def _begun_at(self, plan: Plan, X: Counts) -> State:
        """Where a new run begins; rows keep their states if there are as many as before."""
        continuation.check_shape(self._fitted_parameters, plan, "warm_start=True")
        continuation.check_columns(self.components_, X)
        return continuation.carried_to(X, self._state)

    def _journal(self, X: Counts) -> Journal:
        """What the fit has found that a warm start is to end; an empty one where none is cut short.

        ValueError where that was another one.
        """
        before = self._unfinished if self.warm_start else None
        journal = Journal(self) if before is None else before.of(self)
        parameters, table = journal.once(("of",), lambda: continuation.begun(self, X))
        if before is not None:
            continuation.check_as_before(self, parameters, table.is_of(X))
        return journal

    def __sklearn_tags__(self) -> Tags:
        return attributes.tagged(super().__sklearn_tags__())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state")
