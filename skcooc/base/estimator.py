"""Base class of the estimators: ``fit``, warm starts, sizes "auto"."""

from __future__ import annotations

import copy
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skcooc.base import attributes, auto_sizes, quantities, warm_starts
from skcooc.base.parameters import ATTRIBUTES, CONSTRAINTS, PARAMETERS, fill_docstring
from skcooc.base.streams import Streams
from skcooc.em import State, make_solver, online
from skcooc.em.solvers import SolverName
from skcooc.fitting import Recipe, Settings
from skcooc.fitting.context import FitContext
from skcooc.fitting.fit import fit_table
from skcooc.fitting.recipe import draw_seeds
from skcooc.fitting.stream import Stream
from skcooc.protocol import Array, RandomState, TableLike
from skcooc.protocol.bases import BaseEstimator, CallbackSupportMixin
from skcooc.protocol.decorators import fit_context, with_callbacks
from skcooc.protocol.scikit_learn import InstanceOf
from skcooc.simplex import normalise
from skcooc.tables import Table, read, same_names

E = TypeVar("E", bound="CooccurrenceEstimator")


@dataclass(eq=False, repr=False, kw_only=True)
class CooccurrenceEstimator(Streams, CallbackSupportMixin, BaseEstimator):
    """Base class of the estimators. A subclass is a dataclass with a recipe.

    The docstring of a subclass is completed by the paragraphs of shared parameters and attributes.
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
        """Return the recipe of the model, which meta-estimators use.

        Returns
        -------
        recipe : Recipe
            Equations, their hyper-parameters and the settings, without seeds.
        """
        raise NotImplementedError

    def best_sizes(self, table: Table) -> dict[str, int] | None:
        """Return the numbers of components from one search; None if fits must be compared."""
        return None

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: TableLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame, dask array, Dyads, or a table on disk
            Non-negative counts or weights, of shape (N, M). A table on disk is a DiskTable or
            RowBlocks. A dask array is fitted by the workers of the current ``distributed.Client``.
            Attributes of rows, such as ``embedding_``, are then dask arrays.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, or of each token if X is Dyads. For RowBlocks it can be an array on
            disk, such as ``numpy.load(..., mmap_mode="r")``. Not supported for dask arrays and
            DiskTable.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If X is negative, not finite, empty or all zero. If a parameter is invalid, or does not
            support tables on disk or on workers.
        RuntimeError
            If the blocks of a dask array kill the workers.
        ConnectionError
            If the scheduler of a dask array is lost.

        Notes
        -----
        **Empty columns.** Columns without tokens take no part in the fit. They do not slow it down,
        and the model does not depend on their number. Afterwards they get the probability that a
        prior gives to new words, and smoothing.

        **Early stopping.** With ``early_stopping=True``, the result is the iteration with the
        lowest perplexity of held-out tokens, which are not used in the fit. ``n_init`` runs are
        compared by this perplexity. With ``beta="auto"``, the final fit uses all tokens.

        **Tables on disk.** A DiskTable is fitted by EM. RowBlocks are fitted by stepwise EM, as in
        ``partial_fit``. Stepwise EM starts from a fit to a sample of 10,000 rows. It then passes
        over all blocks until a pass improves the objective by less than 0.1 %. The objective is the
        log-likelihood of held-out tokens if ``beta="auto"``, and the free energy otherwise.

        The rows of RowBlocks are not kept, so memory does not grow with their number. Attributes of
        rows, such as ``embedding_``, are empty, and ``transform`` returns the mixtures block by
        block. ``history_`` contains the records of the sample, followed by one record for each
        pass. A warm start makes further passes.

        **Warm starts.** A warm start keeps the tuned values and makes no further initialisations.
        Rows keep their mixtures, by position, if X has as many rows as before. With ``annealing``
        below 1 the fit continues at ``beta_``.

        A warm start can continue EM exactly: a hundred iterations and a hundred more equal two
        hundred. For this, the previous call also needs ``warm_start=True`` and at least
        ``max_iter=60``, because ``max_iter`` also limits the initialisation and all stages before
        the last. X and all parameters must be the same, except ``max_iter``, ``tol``, ``n_init``,
        ``n_jobs`` and ``random_state``. The estimator then keeps up to three more arrays of the
        shape of ``components_`` and two of the shape of ``embedding_``.
        """
        if auto_sizes.has_auto_size(self):
            return auto_sizes.fit_with_searched_size(self, X, y, sample_weight)
        recipe = self.recipe()
        table, inputs = self._read(recipe, X, sample_weight)
        if table.blocks is None:
            data = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
            stopped = self._fit_table(recipe, table, inputs, data)
        else:
            stopped = True  # there is no need to converge
            before = dict(vars(self))  # a fit that fails leaves self as it was
            try:
                self._fit_blocks(recipe, table.sample, table.blocks, inputs)
            except BaseException:
                self.__dict__.clear()
                self.__dict__.update(before)
                raise
        attributes.warn_about(self, recipe, table, stopped)
        return self

    def _read(
        self, recipe: Recipe, X: TableLike, sample_weight: ArrayLike | None
    ) -> tuple[Table, attributes.Attributes]:
        """Return the checked table, and the attributes of the input."""
        new = copy.copy(self)  # a fit that fails leaves self as it was
        continues = self._is_warm_start() and self._stream is not None
        table = read(
            new,
            X,
            sample_weight,
            needs=recipe.needs_of_fit,
            continues=continues,
            searches=self.beta == "auto",
            random_state=self.random_state,
        )
        if not recipe.needs_empty_columns:
            table = table.occupied()
        if self._is_warm_start():
            names = self._schema.column_names
            new_names = table.schema.column_names
            if not (names is None or new_names is None or same_names(names, new_names)):
                raise ValueError(
                    "warm_start=True continues a model of columns with other names, or in another "
                    f"order. {warm_starts.REMEDY}"
                )
        inputs = attributes.input_attributes(new) | attributes.size_attributes(self)
        return table, inputs | {"_schema": table.schema}

    @with_callbacks
    def fit_short(self, table: Table, inputs: attributes.Attributes) -> Self:
        """Fit to a checked table with ``max_iter`` iterations from a quick start, for an average.

        ``inputs`` are attributes of the input, such as ``n_features_in_``.
        """
        recipe = self.recipe().of_member()
        self._fit_table(recipe, table, inputs | attributes.size_attributes(self), {})
        return self

    def aic(self, X: TableLike) -> float:
        """Akaike information criterion (AIC) of the model for X; lower is better.

        AIC = 2 p - 2 log P(X), with p free parameters. See ``bic`` for log P(X) and a warning.

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

        BIC = p log L - 2 log P(X), with p free parameters and L tokens. log P(X) is the sum of log
        P(x_i, y_j) over the tokens. P(y_j given x_i) is smoothed as in ``score``, and P(x_i) =
        n_i / L.

        AIC and BIC score the tokens to which the rows were fitted, so only their penalties prevent
        overfitting. They assume maximum likelihood, and are heuristics with beta < 1, smoothing, or
        posteriors of clusters. Held-out tokens are more reliable: use ``score``, ``beta="auto"``,
        or ``GridSearchCV`` with `CountSplit`.

        Parameters
        ----------
        X : Dyads, or array-like, sparse array or matrix, DataFrame of shape (n, M)
            Dyads are tokens of the training rows, scored with the fitted mixtures. Any other table
            is treated as new rows. They are folded in with all tokens, and their mixtures count as
            parameters.

        Returns
        -------
        bic : float

        Raises
        ------
        ValueError
            If X contains no tokens.

        Examples
        --------
        >>> from skcooc import AspectModel, Dyads, datasets
        >>> X = datasets.make_cooccurrences(40, 30, n_components=3, n_tokens=4000, random_state=0).X
        >>> models = [AspectModel(K, beta=1, random_state=0).fit(X) for K in (1, 2, 3, 4)]
        >>> int((X.sum(axis=0) > 0).sum())  # columns with tokens
        26
        >>> [model.n_parameters_ for model in models]  # (N + 26 - 1) K - 1
        [64, 129, 194, 259]
        >>> len(min(models, key=lambda model: model.bic(Dyads(X))).components_)
        3
        """
        log_likelihood, n_tokens, n_free = quantities.evidence(self, X)
        return n_free * float(np.log(n_tokens)) - 2 * log_likelihood

    @property
    def n_parameters_(self) -> int:
        """Number of free parameters of P(x, y) for training rows and for columns with tokens."""
        check_is_fitted(self)
        if not len(self.embedding_):
            raise AttributeError(
                "n_parameters_ counts the training rows, which are not kept where a table is read "
                "in blocks."
            )
        return quantities.free_parameters(self, len(self.embedding_))

    def _fit_table(
        self, recipe: Recipe, table: Table, inputs: attributes.Attributes, data: dict[str, object]
    ) -> bool:
        """Fit to a checked table; return whether a callback stopped EM."""
        X = table.counts
        recipe = recipe.for_table(X, table.schema.column_names)
        params = copy.deepcopy(self.get_params(deep=False))
        fitted = inputs | {"_fitted_parameters": params, "_stream": None, "_passes": None}
        fitted["_searched_sizes"] = None
        if hasattr(self, "_skl_callbacks") or self.warm_start:
            surroundings: AbstractContextManager[FitContext] = warm_starts.watched_fit(
                self, recipe, table, fitted, data
            )
        else:
            surroundings = nullcontext(FitContext(recipe.settings))
        with surroundings as context:
            warm = context.once("warm", self._is_warm_start)
            if warm:
                recipe = warm_starts.continuing(self, recipe, table)
                fitted |= warm_starts.kept_attributes(self, recipe)
            n_seeds = 1 if warm else self.n_init
            recipe = recipe.with_seeds(
                context.once("seeds", draw_seeds, self.random_state, n_seeds)
            )
            fit = fit_table(recipe, X, table.sample, context)
        if attributes.streaming_obstacle(recipe.tuned(fit.model, fit.beta, None)) is None:
            seed = draw_seeds(self.random_state, 1)[0]
            averages = online.averages(fit.run.stats, fit.mass, table.columns)
            fitted["_stream"] = Stream(averages, table.all_sums(X), X.mean_count_weight, seed)
        attributes.set_fitted_attributes(self, attributes.fit_attributes(fit, table) | fitted)
        return fit.run.stopped

    def _settings(self) -> Settings:
        """Return the shared parameters, checked."""
        return Settings(
            beta=self.beta,
            max_iter=self.max_iter,
            tol=self.tol,
            solver=make_solver("em" if vars(self).get("hard") else self.solver),  # plain steps
            smoothing=self.smoothing,
            validation_fraction=self.validation_fraction,
            early_stopping=self.early_stopping,
            n_jobs=self.n_jobs,
            seeds=(),
            resumable=self.warm_start,
            names=frozenset(self._get_param_names()),
            cache=self._cache,
        )

    def check_sizes(self) -> None:
        """Raise ValueError if a number of components is "auto"."""
        if auto_sizes.has_auto_size(self):
            name = self.size_parameters[0]
            raise ValueError(
                "The number of components must be given here: set "
                f"{name} to a number, got {getattr(self, name)!r}."
            )

    def _is_warm_start(self) -> bool:
        return self.warm_start and hasattr(self, "_state")

    def warm_state(self, recipe: Recipe, table: Table) -> State:
        """Return the state with which a warm start begins on a table."""
        return warm_starts.warm_state(self, recipe, table)

    def _with_merged_components(self, shares: Array, mass: Array) -> Self:
        """Return a copy with L components, each a mass-weighted sum of the K fitted ones.

        Component k, of mass (K,), has the shares (K, L) in the new ones.
        """
        shares = shares.astype(self.components_.dtype)
        params, rows = self._state
        model, params = self._fitted_model.merge(params, mass.astype(shares.dtype), shares)
        rows = normalise(np.asarray(rows) @ shares, axis=1, otherwise=params.weights)
        if not self._has_all_rows:  # those of the last batch would pass for all
            rows = rows[:0]
        sizes = {self.size_parameters[0]: shares.shape[1]}
        return self._with_state(model, State(params, rows), sizes)

    def _with_state(self, model: Any, state: State, sizes: dict[str, int]) -> Self:
        """Return a copy with another state, of so many components.

        Attributes of the fit itself, such as the history, are dropped.
        """
        new = copy.copy(self).set_params(**sizes)
        fitted = {
            **attributes.input_attributes(self),
            **attributes.size_attributes(new),
            **attributes.prediction_attributes(
                model,
                state,
                self.beta_,
                self.smoothing_,
                self.unigram_,
                self.row_distribution_[: len(state.rows)],
            ),
            "_fitted_parameters": copy.deepcopy(new.get_params(deep=False)),
            "tuning_": self.tuning_,
        }
        unset = "_unfinished", "_stream", "_passes", "_heldout_predictions"
        attributes.set_fitted_attributes(new, fitted | dict.fromkeys(unset))
        return new


# Constraint on a parameter that is an estimator of this package:
A_MODEL = InstanceOf(CooccurrenceEstimator, "a model of skcooc such as AspectModel (no Pipeline)")
