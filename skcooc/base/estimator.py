"""Base class of the estimators: ``fit``, warm starts, sizes "auto"."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skcooc.base import attributes, quantities
from skcooc.base.parameters import ATTRIBUTES, CONSTRAINTS, PARAMETERS, fill_docstring
from skcooc.base.streams import Streams
from skcooc.em import EMState, State, TemperatureRange, make_solver, online
from skcooc.em.solvers import SolverName
from skcooc.em.stages import Solver, unknown_rows
from skcooc.fitting import Recipe, Settings
from skcooc.fitting.fit import ShortFits, fit_table, short_fits
from skcooc.fitting.journal import Journal
from skcooc.fitting.progress import Progress
from skcooc.fitting.recipe import draw_seeds
from skcooc.fitting.stream import Stream
from skcooc.protocol import Array, Counts, RandomState, TableLike
from skcooc.protocol.bases import BaseEstimator, CallbackSupportMixin
from skcooc.protocol.decorators import fit_context, with_callbacks
from skcooc.protocol.scikit_learn import InstanceOf
from skcooc.simplex import normalise
from skcooc.tables import Table, is_out_of_core, read, read_in_memory, same_names

E = TypeVar("E", bound="CooccurrenceEstimator")


@dataclass(eq=False, repr=False, kw_only=True)
class CooccurrenceEstimator(Streams, CallbackSupportMixin, BaseEstimator):
    """Base class of the estimators: a subclass is a dataclass with a recipe.

    Docstrings of subclasses get the paragraphs of shared parameters and attributes that they lack.
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
    component_search_: Any = field(init=False)  # a ComponentSearchCV

    size_parameters: ClassVar[tuple[str, ...]] = ()  # names of the numbers of components
    _parameter_constraints: ClassVar[dict[str, Any]] = CONSTRAINTS

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        defaults = vars(CooccurrenceEstimator) | vars(cls)
        shared = {p: PARAMETERS[p] for p in PARAMETERS if p.split(" : ")[0] in defaults}
        cls.__doc__ = fill_docstring(cls.__doc__, "Parameters", shared, defaults)
        cls.__doc__ = fill_docstring(cls.__doc__, "Attributes", ATTRIBUTES, {})

    def recipe(self) -> Recipe:
        """Return the recipe of the model, for estimators that wrap this one.

        Returns
        -------
        recipe : Recipe
            Equations, their hyper-parameters, and the settings; without seeds.
        """
        raise NotImplementedError

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: TableLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        A DiskTable is fitted by EM, RowBlocks by stepwise EM as in ``partial_fit``: first a
        sample of 10000 rows, then passes over all blocks until one improves by less than 0.1 %: in
        the log-likelihood of held-out tokens where ``beta="auto"``, else in the free energy. Memory
        does not grow with the number of rows, so rows are not kept: ``embedding_`` and other
        attributes of rows are empty, and ``transform`` gives the mixtures block by block.
        ``history_`` has a record for each pass after those of the sample. A warm start makes
        further passes.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame, dask array, Dyads, or a table on disk
            Non-negative counts or weights, of shape (N, M). Use DiskTable or RowBlocks for
            tables on disk. The workers of the current ``distributed.Client`` fit a dask array where
            its blocks of rows are; attributes of rows such as ``embedding_`` are dask arrays, too.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, or of each token where X is Dyads. For RowBlocks it can be an array
            on disk, such as ``numpy.load(..., mmap_mode="r")``. Not with dask arrays and
            DiskTable.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            Where X is negative, not finite, empty or all zero; where a parameter is invalid, or
            does not go with a table on disk or on workers.
        RuntimeError
            Where the blocks of a dask array kill the workers.
        ConnectionError
            Where the scheduler of a dask array is lost.

        Notes
        -----
        With ``early_stopping=True`` the parameters are those of the iteration with the lowest
        held-out perplexity, and have not seen the held-out tokens; ``n_init`` runs are compared by
        this perplexity. With ``beta="auto"`` the final fit has all tokens.

        A warm start keeps the tuned values and makes no further initialisations. Rows keep their
        mixtures by position if X has as many as before. If the previous call had
        ``warm_start=True``, too, and X and all parameters but ``max_iter``, ``tol`` and ``n_init``
        are the same, EM continues exactly: ten iterations and ten more are twenty, unless
        ``max_iter`` cut short what comes before the last stage: eight iterations at a higher beta
        for topics, a clustering for trees. For that the estimator keeps up to two more arrays of
        the shapes of ``embedding_`` and ``components_``. With ``annealing`` below 1 it continues at
        ``beta_``.
        """
        if self._has_auto_size():
            return _fit_with_searched_size(self, X, y, sample_weight)
        recipe = self.recipe()
        table, known = self._read(recipe, X, sample_weight)
        if table.blocks is None:
            data = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
            stopped = self._fit_table(recipe, table, known, data)
        else:
            stopped = True  # there is no need to converge
            before = dict(vars(self))  # a fit that fails leaves self as it was
            try:
                self._fit_blocks(recipe, table.sample, table.blocks, known)
            except BaseException:
                self.__dict__.clear()
                self.__dict__.update(before)
                raise
        attributes.warn_about(self, recipe, table, stopped)
        return self

    def _read(
        self, recipe: Recipe, X: TableLike, sample_weight: ArrayLike | None
    ) -> tuple[Table, attributes.Attributes]:
        new = copy.copy(self)  # a fit that fails leaves self as it was
        continues = self._is_warm_start() and self._stream is not None
        table = read(
            new, X, sample_weight, needs=recipe.needs_of_fit, continues=continues,
            searches=self.beta == "auto", random_state=self.random_state,
        )  # fmt: skip
        if self._is_warm_start():
            names, others = self._schema.column_names, table.schema.column_names
            if not (names is None or others is None or same_names(names, others)):
                what = "warm_start=True continues a model of columns with other names"
                raise ValueError(f"{what}, or in another order. {attributes.REMEDY}")
        known = attributes.input_attributes(new) | attributes.size_attributes(self)
        return table, known | {"_schema": table.schema}

    @with_callbacks
    def fit_short(self, table: Table, known: attributes.Attributes) -> Self:
        """Fit to a checked table by ``max_iter`` iterations from a quick start, for an average.

        ``known`` are attributes of the input, such as ``n_features_in_``.
        """
        recipe = replace(self.recipe(), is_short=True)
        self._fit_table(recipe, table, known | attributes.size_attributes(self), {})
        return self

    def aic(self, X: TableLike) -> float:
        """Akaike information criterion (AIC) of the model for X; lower is better.

        AIC = 2 p - 2 log P(X) with p free parameters; see ``bic``.

        Parameters
        ----------
        X : Dyads, or array-like, sparse array or matrix, DataFrame of shape (n, M)
            As in ``bic``.

        Returns
        -------
        aic : float
        """
        log_likelihood, _, n_free = quantities.evidence(self, X)
        return 2 * (n_free - log_likelihood)

    def bic(self, X: TableLike) -> float:
        """Bayesian information criterion (BIC) of the model for X; lower is better.

        BIC = p log L - 2 log P(X) with p free parameters and L tokens. log P(X) is the sum of log
        P(x_i, y_j) over the tokens, with log P(y_j given x_i) smoothed as in ``score`` and P(x_i) =
        n_i / L.

        The criteria score the tokens to which the rows were fitted, so only the penalty counts
        against overfitting. They assume maximum likelihood and are heuristics with beta < 1,
        smoothing, or posteriors of clusters. ``score`` and ``TemperatureSearchCV`` use held-out
        tokens.

        Parameters
        ----------
        X : Dyads, or array-like, sparse array or matrix, DataFrame of shape (n, M)
            Dyads are tokens of the training rows, with the mixtures fitted. Anything else is new
            rows: they are folded in with all tokens and count as parameters.

        Returns
        -------
        bic : float

        Raises
        ------
        ValueError
            Where X has no tokens.

        Examples
        --------
        >>> from skcooc import AspectModel, Dyads, datasets
        >>> X = datasets.make_cooccurrences(40, 30, n_components=3, n_tokens=4000, random_state=0).X
        >>> models = [AspectModel(K, beta=1, random_state=0).fit(X) for K in (1, 2, 3, 4)]
        >>> [model.n_parameters_ for model in models]  # (N + M - 1) K - 1
        [68, 137, 206, 275]
        >>> len(min(models, key=lambda model: model.bic(Dyads(X))).components_)
        3
        """
        log_likelihood, n_tokens, n_free = quantities.evidence(self, X)
        return n_free * float(np.log(n_tokens)) - 2 * log_likelihood

    @property
    def n_parameters_(self) -> int:
        """Number of free parameters of P(x, y), those of the training rows included."""
        check_is_fitted(self)
        if not len(self.embedding_):
            what = "n_parameters_ counts the training rows"
            raise AttributeError(f"{what}, which are not kept where a table is read in blocks.")
        return quantities.free_parameters(self, len(self.embedding_))

    def _fit_table(
        self, recipe: Recipe, table: Table, known: attributes.Attributes, data: dict[str, object]
    ) -> bool:
        """Fit to a checked table; return whether a callback stopped EM."""
        X = table.counts
        recipe = recipe.for_table(X, table.schema.column_names)
        journal = self._journal(X)
        warm = journal.get_or_compute(("warm",), self._is_warm_start)
        run = self._warm_run(recipe, X) if warm else None
        seeds = draw_seeds(self.random_state, 1 if warm else self.n_init)
        recipe = replace(recipe, settings=self._settings(recipe, warm))
        recipe = recipe.with_seeds(journal.get_or_compute(("seeds",), lambda: seeds))
        known |= {"_fitted_parameters": copy.deepcopy(self.get_params(deep=False))}
        known |= {"_stream": None, "_passes": None}
        if warm and not recipe.settings.tunes:
            known["tuning_"] = self.tuning_
        if warm and hasattr(self, "splits_"):
            known["splits_"] = self.splits_
        at_iteration = attributes.at_iteration(X, recipe.settings.smoothing, known)
        progress = Progress(self, recipe, data)
        found = fit_table(recipe, X, table.sample, progress, at_iteration, journal, run)
        progress.end()
        if attributes.streaming_obstacle(recipe.with_model(found.model)) is None:
            seed = draw_seeds(self.random_state, 1)[0]
            averages = online.averages(found.run.stats, found.mass)
            known["_stream"] = Stream(averages, X.column_sums, X.mean_count_weight, seed)
        attributes.set_fitted_attributes(self, attributes.fit_attributes(found) | known)
        return found.run.stopped

    def _settings(self, recipe: Recipe | None = None, warm: bool = False) -> Settings:
        """Return the shared parameters; a warm start keeps the temperature that was tuned."""
        tried = self.tuning_ if warm else []
        beta = self.beta
        if beta == "auto" and tried:
            beta = next(trial.beta for trial in tried if trial.chosen)
        annealed = recipe is not None and recipe.annealing is not None
        falls = annealed and getattr(self, "annealing", 1) < 1
        if warm and falls and self.beta == self._fitted_parameters["beta"]:
            beta = self.beta_  # annealing may have ended before beta
        smoothing = self.smoothing
        if smoothing == "auto" and tried and not (beta == "auto" or self.early_stopping):
            smoothing = self.smoothing_
        return Settings(
            beta=beta, max_iter=self.max_iter, tol=self.tol, solver=self._make_solver(),
            smoothing=smoothing, validation_fraction=self.validation_fraction,
            early_stopping=self.early_stopping, n_jobs=self.n_jobs, seeds=(),
            resumable=self.warm_start, names=frozenset(self._get_param_names()), cache=self._cache,
        )  # fmt: skip

    def _make_solver(self) -> Solver:
        """Return the solver; hard clusterings take plain steps."""
        return make_solver("em" if vars(self).get("hard") else self.solver)

    def short_fits(
        self, X: TableLike, sample_weight: ArrayLike | None = None
    ) -> tuple[ShortFits, TemperatureRange]:
        """Return short fits at inverse temperatures, for searches over beta.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (N, M), or Dyads
            Table; a share of its tokens is held out to compare the fits.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        fits : ShortFits
            Callable with ``{"beta": value}``.
        within : TemperatureRange
            Range to search.
        """
        self.check_sizes()
        self._validate_params()
        table = read_in_memory(copy.copy(self), X, sample_weight)
        counts = table.sample
        recipe = self.recipe().for_table(counts, table.schema.column_names)
        recipe = recipe.with_seeds(draw_seeds(self.random_state, self.n_init))
        return short_fits(recipe, counts), recipe.family.beta_range(counts)

    def check_sizes(self) -> None:
        """Raise ValueError where a number of components is not given."""
        if self._has_auto_size():
            name = self.size_parameters[0]
            what = "The number of components must be given here"
            raise ValueError(f"{what}: set {name} to a number, got {getattr(self, name)!r}.")

    def _has_auto_size(self) -> bool:
        """Return whether sizes are "auto"; ValueError where only one of two is."""
        given = {name: getattr(self, name) for name in self.size_parameters}
        auto = [name for name in given if isinstance(given[name], str)]
        if len(auto) not in (0, len(given)):
            both = f"{' and '.join(given)} are both 'auto', got {given}."
            raise ValueError(f"{auto[0]}='auto' needs that {both}")
        return bool(auto)

    def _is_warm_start(self) -> bool:
        return self.warm_start and hasattr(self, "_state")

    def _warm_run(self, recipe: Recipe, X: Counts) -> EMState:
        """Return the last run where EM would continue it exactly, else a new one."""
        end, free = self._end, attributes.LENGTH_PARAMETERS
        if end and not attributes.changed_parameters(self, self._fitted_parameters, free):
            groups = getattr(self, "row_groups_", attributes.NO_GROUPS)
            table = self.components_.dtype, self.unigram_, self.row_distribution_, groups
            if attributes.TableFingerprint(*table).matches(X):
                return end.relocated(X.array)
        return EMState(self._warm_state(recipe, X), self._make_solver())

    def _warm_state(self, recipe: Recipe, X: Counts) -> State:
        """Return the initial state of a new run; equally many rows keep their mixtures."""
        attributes.check_shape(self._fitted_parameters, recipe, "warm_start=True")
        attributes.check_columns(self.components_, X)
        params, rows = self._state
        params = type(params)(*(array.astype(X.dtype) for array in params))
        params = recipe.equations.for_table(params, X)
        if len(rows) != X.shape[0]:
            return State(params, unknown_rows(params, X))
        return State(params, X.array(rows).astype(X.dtype))

    def _with_merged_components(self, shares: Array, mass: Array) -> Self:
        """Return a copy with L components, each a mass-weighted sum of the K fitted ones.

        Component k, of mass (K,), has the shares (K, L) in the new ones. Attributes of the fit
        itself, such as the history, are dropped.
        """
        shares = shares.astype(self.components_.dtype)
        params, rows = self._state
        model, params = self._fitted_model.merge(params, mass.astype(shares.dtype), shares)
        rows = normalise(np.asarray(rows) @ shares, axis=1, otherwise=params.weights)
        new = copy.copy(self).set_params(**{self.size_parameters[0]: shares.shape[1]})
        gone = "_unfinished", "_stream", "_passes", "_heldout_predictions"
        fitted_parameters = copy.deepcopy(new.get_params(deep=False))
        known = {"_fitted_parameters": fitted_parameters, "tuning_": self.tuning_}
        found = attributes.prediction_attributes(
            model, State(params, rows), self.beta_, self.smoothing_, self.unigram_,
            self.row_distribution_,
        )  # fmt: skip
        inputs = attributes.input_attributes(self) | attributes.size_attributes(new)
        attributes.set_fitted_attributes(new, inputs | known | dict.fromkeys(gone) | found)
        return new

    def _journal(self, X: Counts) -> Journal:
        """Return the journal of the interrupted fit to resume, or an empty one.

        ValueError where the interrupted fit had another table or other parameters.
        """
        before = self._unfinished if self.warm_start else None
        journal = Journal(self) if before is None else before.copy_for(self)
        parameters = journal.get_or_compute(("parameters",), self.get_params, False)
        table = journal.get_or_compute(("table",), attributes.table_fingerprint, X)
        if before is not None:
            attributes.check_as_before(self, parameters, table.matches(X))
        return journal


# Constraint on a parameter that is an estimator of this package:
A_MODEL = InstanceOf(CooccurrenceEstimator, "a model of skcooc such as AspectModel (no Pipeline)")


def _fit_with_searched_size(
    model: E, X: TableLike, y: object, sample_weight: ArrayLike | None
) -> E:
    """Fit a copy with sizes searched, or kept for a warm start; take its attributes."""
    names = model.size_parameters
    if is_out_of_core(X):
        raise ValueError(
            f"{names[0]}='auto' divides the tokens of a table in memory, got X of type "
            f"{type(X).__name__}. Give a number, which may be one found on a sample of rows."
        )
    if model._is_warm_start():
        if not hasattr(model, "component_search_"):
            what = "warm_start=True continues a fit with a given number of components"
            raise ValueError(f"{what}, got {names[0]}='auto'. Set warm_start=False to start anew.")
        search = model.component_search_
    else:
        search = _size_search(model, X, sample_weight)
    sizes = dict(search.best_params_)
    new = copy.copy(model).set_params(**sizes)
    new.fit(X, y, sample_weight)
    auto = dict.fromkeys(sizes, "auto")
    model.__dict__.clear()
    model.__dict__.update(vars(new) | auto | {"component_search_": search})
    return model


def _size_search(
    estimator: CooccurrenceEstimator, X: TableLike, sample_weight: ArrayLike | None
) -> Any:
    from skcooc.model_selection import ComponentSearchCV

    read_in_memory(copy.copy(estimator), X, sample_weight)
    few = dict.fromkeys(estimator.size_parameters, 1)
    plain = clone(estimator).set_params(**few, n_jobs=1, warm_start=False)
    search = ComponentSearchCV(
        plain.set_callbacks(),
        refit=False,
        n_jobs=estimator.n_jobs,
        random_state=estimator.random_state,
    )
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    with config_context(enable_metadata_routing=False):  # fit passes weights on in any case
        search.fit(X, **weights)
    return search
