"""A within-document cache around any model: columns seen in a row are likely to recur."""

from __future__ import annotations

import copy
import warnings
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from skcooc.base import attributes, warm_starts
from skcooc.ensemble.members import MEMBER_TYPES, Member, MetaModel, member_of
from skcooc.fitting.journal import Journal
from skcooc.fitting.recipe import draw_seeds
from skcooc.fitting.short_fits import few_columns
from skcooc.heldout import Factors, NearestRows
from skcooc.heldout.memory import (
    CacheParameters,
    Memory,
    MemoryCells,
    best_memory,
    memory_cells,
    rows_with,
    with_cache,
)
from skcooc.heldout.neighbors import RowIndex
from skcooc.heldout.predictors import rows_of
from skcooc.heldout.validation import HoldOutOptions, add_one, hold_out
from skcooc.protocol import (
    CSR,
    Array,
    Block,
    Estimator,
    Predictor,
    RandomState,
    TableLike,
    TableWarning,
)
from skcooc.protocol.decorators import available_if, fit_context
from skcooc.protocol.scikit_learn import Interval, StrOptions
from skcooc.tables import Table, as_counts, read, read_batch, read_in_memory, with_names

N_NEIGHBORS = 50  # "auto"
MAX_ROWS = 10_000  # with a column, above which it does not count for neighbours
N_KNOWN = (1, 2, 4, 8, 16)  # columns that are left of a row to learn how neighbours gain weight
MIN_GAIN = 5e-3  # relative fall of perplexity that is worth neighbours, for "auto"
MAX_LOSS = 3e-3  # relative rise of perplexity, above which weights do not grow
SHARE_OR_AUTO = [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})]
PURPOSE = (
    "to estimate the cache. Give numbers for concentration, discount and smoothing, or change "
    "validation_fraction."
)


@dataclass(eq=False, repr=False)
class RowMemory(MetaModel):
    """A within-document cache around any model: columns seen in a row are likely to recur.

    Words are bursty: about half of the held-out words of a text already occur in its known part,
    whatever its topics. Topic models ignore this. As in cache language models, a row with known
    counts n_ij predicts

        P(y_j given x_i) = (max(n_ij - d, 0) + (a + d t_i) B_ij) / (n_i + a)

    n_i is the sum of the known counts, and t_i is the number of distinct columns in the row. B_ij =
    (1 - s) P_ij + s b_j mixes the prediction P of the model with the background b, the
    distribution of document frequencies. This is the prediction of a Pitman-Yor process with
    concentration a and discount d, with one table for each known column of a row. A row without
    known counts is predicted by B alone. If counts are weights below d, sum_l min(n_il, d) replaces
    d t_i.

    With ``neighbors``, the average Q_i of the most similar training rows takes part in the
    prediction. Its weight t w_i grows with the number of known tokens. The fewer known tokens there
    are, the more weight the unigram u of tokens gets in the model and in the background:

        B_ij = (1 - s) [(1 - t w_i) M_ij + t w_i Q_ij] + s b_ij,  w_i = n_i / (n_i + c)
        M_ij = (e^2 u_j + n_i^2 P_ij) / (e^2 + n_i^2),  b_ij = (c^2 u_j + n_i^2 b_j) / (c^2 + n_i^2)

    The numbers a, d, s and t are estimated together on the tokens that the estimator holds out to
    tune its own hyper-parameters. c and e are estimated by predicting these tokens from only a few
    others of their rows. If the estimator holds out no tokens, a second copy of it is fitted to a
    part of the tokens.

    The hyper-parameters of the model are chosen by the geometric mean of its perplexities with and
    without the cache. ``estimator_.tuning_`` shows this mean. The hyper-parameters of
    `AveragedModels` are chosen by the perplexity with the cache.

    The cache changes predictions only: ``transform``, ``components_`` and other attributes are
    those of the model.

    Read more in the :doc:`user guide </guide/memory>`.

    Parameters
    ----------
    estimator : estimator or None, default=None
        The model.

        - estimator: an estimator of this package, `AveragedModels`, or any transformer with
          non-negative ``components_``, such as scikit-learn's LatentDirichletAllocation and NMF.
        - ``None``: the topic-free baseline P_ij = b_j, which every model should beat.

    concentration : float >= 0 or "auto", default="auto"
        Concentration a, the pseudo-count of the prediction B. The larger it is, the less the known
        counts of a row matter. Estimates are usually 50 to 100 for texts and about 1 for word
        pairs.

    discount : float in [0, 1] or "auto", default="auto"
        Discount d, which is subtracted from the count of every column in favour of B.

    smoothing : float in [0, 1] or "auto", default="auto"
        Weight s of the background. It replaces the smoothing of the model.

    neighbors : int >= 0 or "auto", default=0
        Number of similar rows that predict a row. See `skcooc.heldout.NearestRows`. "auto" is 50 if
        the rows are in memory and the neighbours lower held-out perplexity by at least 0.5 %, and
        otherwise 0.

    validation_fraction : float, default=0.1
        Proportion of tokens to hold out if the estimator holds out none.

    random_state : int, RandomState instance or None, default=None
        Seed of the choice of held-out tokens, and of an estimator whose own seed is None.

    Attributes
    ----------
    estimator_ : fitted estimator, or None
        The fitted model.
    concentration_, discount_, smoothing_ : float
        Values of a, d and s used in predictions.
    neighbors_ : int
        Number of neighbours used in predictions.
    neighbor_share_ : float
        Weight t of the neighbours in very long rows.
    neighbor_tokens_ : float
        Number c of known tokens at which the neighbours get half of their weight t. 0 without
        neighbours.
    model_tokens_ : float
        Number e of known tokens at which the model and the unigram get the same weight. 0 without
        neighbours or without a model.
    components_ : (K, M) array
        P(y_j given z_k) of the model.
    embedding_ : (N, K) array
        P(z_k given x_i) of the training rows.
    unigram_ : (M,) array
        Background b_j: for each column the number of training rows in which it occurs, plus one,
        scaled to sum to one. For tables that are not in memory, a sample of the rows is used.

    See Also
    --------
    AveragedModels : The model that predicts best inside the cache.

    References
    ----------
    Y. W. Teh, A hierarchical Bayesian language model based on Pitman-Yor processes, ACL 2006.

    S. M. Katz, Distribution of content words and phrases in text and language modelling, Natural
    Language Engineering 2, 15-59, 1996.

    Examples
    --------
    >>> from skcooc import AspectModel, Dyads, RowMemory
    >>> from skcooc.datasets import make_cooccurrences
    >>> from skcooc.model_selection import split_counts
    >>> X = make_cooccurrences(60, 100, 3, burstiness=20, random_state=0).X
    >>> train, test = split_counts(X, random_state=0)
    >>> without = AspectModel(3, random_state=0).fit(train)
    >>> model = RowMemory(AspectModel(3, random_state=0)).fit(train)
    >>> model.perplexity(Dyads(test)) < without.perplexity(Dyads(test))
    True
    """

    estimator: BaseEstimator | None = None
    _: KW_ONLY
    concentration: float | Literal["auto"] = "auto"
    discount: float | Literal["auto"] = "auto"
    smoothing: float | Literal["auto"] = "auto"
    neighbors: int | Literal["auto"] = 0
    validation_fraction: float = 0.1
    random_state: RandomState = None
    estimator_: Estimator = field(init=False)
    concentration_: float = field(init=False)
    discount_: float = field(init=False)
    neighbors_: int = field(init=False)
    neighbor_share_: float = field(init=False)
    neighbor_tokens_: float = field(init=False)
    model_tokens_: float = field(init=False)
    _member: Member = field(init=False)
    _frequencies: Array = field(init=False)
    _known: RowIndex | None = field(init=False)  # the training table
    n_jobs = None
    is_factorised = False  # the cache is no component

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [*MEMBER_TYPES, None],
        "concentration": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "discount": SHARE_OR_AUTO,
        "smoothing": SHARE_OR_AUTO,
        "neighbors": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
    }

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: TableLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model and its cache.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (N, M), or Dyads
            Non-negative counts. A dask array or RowBlocks is possible if the estimator supports it.
            The concentration, discount and smoothing are then estimated on a sample of rows, by
            predicting ``validation_fraction`` of its tokens from the rest. The rows are not kept,
            so Dyads, which are further tokens of these rows, cannot be scored.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, or of each token if X is Dyads. The estimator must support it.

        Returns
        -------
        self : object

        Raises
        ------
        TypeError
            If X is not in memory and the estimator is a transformer of another library.
        ValueError
            If the estimator has negative components or does not support weights. If ``neighbors``
            is positive and the rows are not in memory.
        """
        member_of(self.estimator)  # refuses some before X is read
        new = copy.copy(self)  # a fit that fails leaves self as it was
        table = read(new, X, sample_weight, random_state=self.random_state)
        self._check_neighbors(table.in_memory)
        inputs = attributes.input_attributes(new)
        sample = table.sample
        with (
            self._journal(sample.table, sample.weights, table.schema.names) as journal,
            warnings.catch_warnings(action="ignore", category=TableWarning),
        ):
            (seed,) = journal.get_or_compute(("seeds",), draw_seeds, self.random_state, 1)
            member = member_of(self._seeded(self.estimator, seed), self._cache_params)
            member = journal.get_or_compute(
                ("all",), lambda: member.fit(X, sample, sample_weight), checkpoint=True
            )
            frequencies = rows_with(sample)
            self._set_fitted(member, table, frequencies, inputs, table.in_memory, journal)
        return self

    @available_if(lambda self: hasattr(self.estimator, "partial_fit"))
    @fit_context(prefer_skip_nested_validation=False)
    def partial_fit(
        self,
        X: TableLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        by_name: bool = False,
    ) -> Self:
        """Update the model and the cache with a batch of further rows.

        The model is updated by its own ``partial_fit``. The concentration, discount and smoothing
        are estimated by predicting ``validation_fraction`` of the tokens of the batch from the
        rest. The background is that of all batches.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads
            Non-negative counts of new rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, or of each token if X is Dyads.
        by_name : bool, default=False
            Whether to match columns by name and append new ones. Only estimators of this package
            can learn new columns.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            As in ``fit``. If the parameters of the estimator changed since the first batch.
        """
        self._check_neighbors(False)
        new = copy.copy(self)
        first = not hasattr(self, "estimator_")
        if first:
            table = read_in_memory(new, X, sample_weight)
        else:
            estimator = self.estimator
            fitted = self.estimator_
            if estimator is None or type(estimator) is not type(fitted):
                raise ValueError(
                    f"partial_fit continues with the model of the first batch, {fitted!r}; got "
                    f"{estimator!r}. Set the first one again, or fit anew."
                )
            warm_starts.check_batch(estimator, fitted.get_params(deep=False))
            batch = read_batch(new, X, sample_weight, by_name=by_name)
            if batch is None:
                return self
            table = batch
        journal = Journal()
        (seed,) = journal.get_or_compute(("seeds",), draw_seeds, self.random_state, 1)
        if first:
            member = member_of(self._seeded(clone(self.estimator), seed), self._cache_params)
        else:
            member = self._member
        with warnings.catch_warnings(action="ignore", category=TableWarning):
            member = member.partial_fit(X, table.sample, sample_weight, by_name)
        frequencies = rows_with(table.sample)
        if not first:
            frequencies[: len(self._frequencies)] += self._frequencies
        inputs = attributes.input_attributes(new)
        self._set_fitted(member, table, frequencies, inputs, False, journal)
        return self

    def _check_neighbors(self, keeps: bool) -> None:
        if not keeps and self.neighbors not in (0, "auto"):
            raise ValueError(
                f"neighbors={self.neighbors} needs all training rows in memory: give a matrix to "
                "fit, or set neighbors=0."
            )

    def _set_fitted(
        self,
        member: Member,
        table: Table,
        frequencies: Array,
        inputs: attributes.Attributes,
        keeps: bool,
        journal: Journal,
    ) -> None:
        """Set the fitted attributes; ``keeps`` is whether the rows fitted are stored."""
        factors = member.fitted
        memory = self._estimate(member, table, keeps, journal)
        rows = table.sample if keeps else table.sample.take(np.empty(0, dtype=np.intp))
        index = RowIndex(rows.table.copy(), MAX_ROWS, rows.row_weights.copy())
        mass = rows.row_sums * rows.row_weights
        names = getattr(member.estimator, "component_names_", {})
        attributes.set_fitted_attributes(
            self,
            inputs
            | ({"component_names_": dict(names)} if names else {})
            | {
                "_member": member,
                "_schema": table.schema,
                "_known": index if keeps else None,
                "_frequencies": frequencies,
                "estimator_": member.estimator,
                "components_": factors.B.T,
                "embedding_": np.asarray(factors.A[: len(mass)]),
                "row_distribution_": mass / mass.sum() if keeps else mass,
                "unigram_": add_one(frequencies),
                "concentration_": memory.concentration,
                "discount_": memory.discount,
                "smoothing_": memory.smoothing,
                "neighbors_": self._n_neighbors if memory.neighbor_share > 0 else 0,
                "neighbor_share_": memory.neighbor_share,
                "neighbor_tokens_": memory.neighbor_tokens,
                "model_tokens_": memory.model_tokens,
            },
        )

    def _estimate(self, member: Member, table: Table, keeps: bool, journal: Journal) -> Memory:
        """The numbers given, and estimates of the others on held-out tokens."""
        params = self._cache_params[:3]
        searches = keeps and self.neighbors != 0
        numbers = [value for value in params if value is not None]
        if not searches and len(numbers) == len(params):
            return Memory(*numbers)
        heldout_predictions = member.heldout_predictions if keeps else None
        (seed,) = journal.get_or_compute(("seeds",), draw_seeds, self.random_state, 1)
        division = (
            heldout_predictions.division
            if heldout_predictions
            else HoldOutOptions(self.validation_fraction, seed, "auto")
        )
        rest, heldout = hold_out(table.sample, *division, purpose=PURPOSE)
        predictor: Predictor | None
        if member.estimator is None:
            predictor = None
        elif heldout_predictions:
            predictor = heldout_predictions.predicted
        elif keeps:
            named = with_names(rest.table, table.schema.column_names)
            predictor = journal.get_or_compute(
                ("rest",), lambda: member.fit(named, rest, rest.weights), checkpoint=True
            ).fitted
        else:
            predictor = Factors(member.fold_in(rest.as_new()), member.fitted.B)
        background = add_one(rows_with(rest))
        if not searches:
            cells = memory_cells(rest.table, heldout.X, predictor, background)
            return best_memory(cells, self._cache_params)
        index = RowIndex(rest.table, MAX_ROWS, rest.row_weights)
        near = NearestRows(index, n_neighbors=self._n_neighbors)
        cells = memory_cells(rest.table, heldout.X, predictor, background, near, index.unigram)
        without = best_memory(cells, self._cache_params)
        memory = best_memory(cells, [*params, None, 0.0, 0.0])
        growing = self._growing_weights(member, cells, rest, heldout.X, index, seed)
        if cells.log_likelihood(memory)[0] - cells.log_likelihood(growing)[0] <= MAX_LOSS:
            memory = growing  # not for word pairs, whose rows are short as they are
        gain = cells.log_likelihood(memory)[0] - cells.log_likelihood(without)[0]
        return without if self.neighbors == "auto" and gain < MIN_GAIN else memory

    def _growing_weights(
        self, member: Member, cells: MemoryCells, rest: Block, X: Block, index: RowIndex, seed: int
    ) -> Memory:
        """The numbers, with weights that grow with the known tokens.

        Of the rows to be scored, X, most tokens are known, which says little about c and e. So
        these are estimated with few known tokens; c without the model, which would seem too good on
        the rows that it was fitted to.
        """
        params = self._cache_params[:3]
        background = add_one(rows_with(rest))
        rows = np.flatnonzero(rest.row_weights > 0)
        thin = thinned(rest.table[rows], np.random.default_rng(seed))
        near = NearestRows(index, thin, rows, self._n_neighbors)
        thin_cells = memory_cells(thin, X.take(rows), None, background, near, index.unigram)
        c = best_memory(thin_cells, [*params[:2], 0.0, None, None, 0.0]).neighbor_tokens
        memory = best_memory(cells, [*params, None, c, 0.0])
        if member.estimator is None:
            return memory
        model = Factors(member.fold_in(as_counts(thin).as_new()), member.fitted.B)
        thin_cells = memory_cells(thin, X.take(rows), model, background, near, index.unigram)
        e = best_memory(thin_cells, [*memory[:-1], None]).model_tokens
        return best_memory(cells, [*params, None, c, e])

    @property
    def _cache_params(self) -> CacheParameters:
        """Parameters of a cache without neighbours; None for "auto"."""
        params = self.concentration, self.discount, self.smoothing
        return [*(None if value == "auto" else float(value) for value in params), 0.0, 0.0, 0.0]

    @property
    def _n_neighbors(self) -> int:
        return N_NEIGHBORS if self.neighbors == "auto" else int(self.neighbors)

    def fold_in(self, X: Block) -> Array:
        return self._member.fold_in(X)

    def _without_rows(self) -> Self:
        new = super()._without_rows()
        new._member = self._member.without_rows()
        new._known = None
        new.estimator_ = new._member.estimator
        return new

    def _make_predictor(
        self, mixtures: Array, known: CSR | None, rows: Array | None = None
    ) -> Predictor:
        memory = Memory(
            self.concentration_,
            self.discount_,
            self.smoothing_,
            self.neighbor_share_,
            self.neighbor_tokens_,
            self.model_tokens_,
        )
        model = None if self.estimator_ is None else Factors(mixtures, self.components_.T)
        if not self.neighbors_:
            return with_cache(known, model, self.unigram_, memory)
        index = self._training_rows
        near = NearestRows(index, known, rows, self.neighbors_)
        return with_cache(known, model, self.unigram_, memory, near, index.unigram)

    def _unigram_of(self, X: Block) -> Array:
        return add_one(rows_with(X))

    def _training_table(self) -> CSR:
        return self._training_rows.known

    @property
    def _training_rows(self) -> RowIndex:
        if self._known is None:
            raise ValueError(
                "X holds tokens of training rows, but these rows were not kept, because they were "
                "read in blocks, from a dask array or by partial_fit. Give new rows as a matrix."
            )
        return self._known

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")


def thinned(X: CSR, rng: np.random.Generator) -> CSR:
    """Rows with few columns: by turns with 1, 2, 4, 8 or 16 tokens of different ones, or whole."""
    n_columns = np.resize([*N_KNOWN, 0], X.shape[0])  # 0: all
    tokens = few_columns(X, n_columns, rng)
    thin = X.copy()
    thin.data = np.where(n_columns[rows_of(X)] > 0, tokens, X.data)
    thin.eliminate_zeros()
    return thin
