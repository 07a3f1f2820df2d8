"""Estimators that follow a stream of rows, batch by batch."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any, Self, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.callback import with_callbacks
from sklearn.utils.metaestimators import available_if

from skcooc.base import attributes
from skcooc.callbacks import PASS
from skcooc.counts import CSRCounts
from skcooc.counts.threads import threads
from skcooc.em import HeldOut, Record, State, TemperatureRange, online
from skcooc.em.adaptation import Temperature, followed
from skcooc.fitting.stream import Batch, Passes, Stream, Tally
from skcooc.fitting.table import Fitted
from skcooc.heldout.split import add_one_unigram, judged_with
from skcooc.protocol import Array, Counts, Rows
from skcooc.tables.blocks import RowBlocks, sampled
from skcooc.tables.checks import check_blocks, check_training, n_threads
from skcooc.tables.dyads import Dyads

SAMPLE_ROWS = 10_000  # to which a table in blocks is fitted first
PASS_TOL = 1e-3  # relative fall of the loss, with less of which passes end


def _follows_streams(estimator: Any) -> bool:
    if reason := estimator._no_stream():
        raise AttributeError(reason)
    return True


class StreamMixin:
    """Stepwise EM for estimators whose rows are exchangeable: their statistics are sums."""

    beta: Any
    smoothing: Any
    validation_fraction: float
    early_stopping: bool
    n_jobs: int | None
    components_: Array
    beta_: float
    smoothing_: float
    unigram_: Array
    n_iter_: int
    history_: list[Record]
    _fitted_model: Any
    _state: State
    _stream: Stream | None
    _passes: Passes | None
    _goes_on: bool
    _temperatures: Callable[[Counts], TemperatureRange]
    _seeds: Callable[[int], tuple[int, ...]]
    _validate_params: Callable[[], None]
    _check_structure: Callable[[str, str], None]
    _check_as_before: Callable[[bool], None]
    _init_callback_context: Callable[..., Any]

    def _no_stream(self) -> str | None:
        """Why these parameters do not allow to follow a stream; None where they do."""
        return None

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
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
        X : array-like, sparse array or matrix, DataFrame, dask array, Dyads, or RowBlocks
            Non-negative counts or weights, of shape (N, M). A dask array is fitted where its blocks
            of rows are, on the workers of the current ``distributed.Client``.
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
            Where X is negative, not finite, empty or all zero, or a parameter has no valid value,
            or does not allow to read X in blocks.
        """
        if not isinstance(X, RowBlocks):
            return super().fit(X, y, sample_weight)  # type: ignore[misc]
        if reason := self._no_stream():
            raise ValueError(
                f"X cannot be read in blocks: {reason.replace('partial_fit', 'this')}."
            )
        if self.early_stopping:
            raise ValueError("X cannot be read in blocks: this needs early_stopping=False.")
        self._validate_params()
        new = copy.copy(self)  # a fit that fails leaves self as it was
        new._fit_blocks(X, None if sample_weight is None else np.asarray(sample_weight))
        self.__dict__.update(new.__dict__)
        attributes.warn_about(self, stopped=True)  # there is no need to converge
        return self

    def _fit_blocks(self, X: RowBlocks, sample_weight: Array | None) -> None:
        """Fit a sample, then go through the blocks until that helps no more."""
        goes_on = self._goes_on and self._stream is not None
        rng = np.random.default_rng(self._seeds(1)[0])
        tables = check_blocks(self, X, sample_weight, reset=not goes_on)
        sample, passes = sampled(tables, SAMPLE_ROWS, rng), Passes()
        if not goes_on:
            known = attributes.of_input(self)
            vars(self).pop("_state", None)  # also where the fit of a sample was cut short
            self._fit_sample(sample.rows, sample.row_weights)
            self.__dict__.update(known)
        elif self._passes is None:
            self._check_structure("warm_start=True", "Set warm_start=False to start anew.")
        else:
            kept = cast(Stream, self._stream).column_sums
            self._check_as_before(np.array_equal(sample.column_sums, kept))
            passes = self._passes
        self._go_through(X, sample_weight, sample.column_sums, passes)

    def _fit_sample(self, rows: Any, row_weights: Array | None) -> None:
        """Fit rows to begin with, less what the passes hold out of them."""
        seed, batch = self._seeds(1)[0], Batch(rows, row_weights)
        if self._searched(CSRCounts(rows, row_weights)):
            batch = batch.divided(self.validation_fraction, seed)
        super().fit(batch.table, sample_weight=row_weights)  # type: ignore[misc]
        self._stream = cast(Stream, self._stream)._replace(seed=seed)

    @with_callbacks
    def _go_through(
        self, X: RowBlocks, sample_weight: Array | None, totals: Array, passes: Passes
    ) -> None:
        """Passes over the blocks, a step for each block."""
        root, data = self._init_callback_context(max_subtasks=X.max_passes), {"estimator": self}
        root.call_on_fit_task_begin(**data)
        names, stopped = getattr(self, "feature_names_in_", None), False
        self._table = Dyads(sp.csr_array((0, len(totals))), column_names=names)
        while passes.number < X.max_passes and not (passes.converged or stopped):
            task = root.subcontext(task_name=PASS, max_subtasks=0).call_on_fit_task_begin(**data)
            began, tally = perf_counter(), Tally()
            for table, row_weights in check_blocks(self, X, sample_weight, reset=False):
                if CSRCounts(table, row_weights).column_sums.any():
                    self._follow(table, row_weights, totals, tally)
            converged = passes.loss - tally.loss <= PASS_TOL * abs(tally.loss)
            passes = self._passes = Passes(passes.number + 1, tally.loss, converged)
            self._use(self._state.rows[0][:0], np.empty(0))
            self._record(tally, began, converged)
            stopped = task.call_on_fit_task_end(**data, reconstruction_attributes=dict)
        self._passes = None
        root.call_on_fit_task_end(**data)

    @available_if(_follows_streams)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Go on with a batch of further rows.

        The first call is ``fit``: it starts the model. Later calls, also after ``fit``, are steps
        of stepwise EM: the rows are folded in by ten E-steps, what is expected of them is blended
        with what was expected of all batches before, and the M-step works on this mean. The weight
        of the t-th batch in it is t^-.5; a batch that has more or fewer observations than the
        others in the mean counts more or less. The second batch alone meets components that are
        mixed half with the unigram, since those of the start know no other rows than its own.

        Where ``beta="auto"``, the temperature that the first batch finds follows the stream, since
        more rows bear a larger beta. ``validation_fraction`` of the observations of every later
        batch is held out and not learnt, also when the same row comes again. The batch is folded in
        twice, at the present temperature and at one beside it; the one that predicts better what
        was held out is taken, 1/25 of the range away, or less where less than 1000 observations are
        held out. A smoothing that is "auto" follows too. The prior and, where it was grown, the
        tree stay what they were.

        As in scikit-learn's MiniBatchKMeans, attributes of rows, such as ``embedding_``, are those
        of the rows of the last batch, from what was not held out; ``transform`` gives them for
        others. ``history_`` has one record for each batch after those of the start, with the
        perplexity of what was held out, before the step.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads
            Non-negative counts or weights of new rows. Columns that no batch before had are
            taken up.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row; of each observation where X is Dyads.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            Where X is negative, not finite, empty or all zero, or has other columns than before.

        References
        ----------
        O. Cappé and E. Moulines, On-line expectation-maximization algorithm for latent data models,
        Journal of the Royal Statistical Society B 71, 593-613, 2009.

        P. Liang and D. Klein, Online EM for unsupervised models, NAACL 2009.
        """
        if not hasattr(self, "_state"):
            return self.fit(X, y, sample_weight)
        self._check_structure("partial_fit", "Fit anew.")
        if self._stream is None:
            raise ValueError(
                "partial_fit goes on from a fit that came to its end, with parameters that allow "
                "it. Fit anew."
            )
        began, new = perf_counter(), copy.copy(self)  # a step that fails leaves self as it was
        table, row_weights = check_training(new, X, sample_weight, reset=False)
        batch = CSRCounts(table, row_weights)
        totals, tally = self._stream.column_sums + batch.column_sums, Tally()
        rows = new._follow(table, row_weights, totals, tally)
        new._use(rows, batch.row_sums * batch.row_weights)
        new._record(tally, began, converged=False)
        new._passes = None
        self.__dict__.update(new.__dict__)
        return self

    def _follow(self, table: Any, row_weights: Array | None, totals: Array, tally: Tally) -> Rows:
        """One step, after which the mean of all batches stands for observations with these totals.

        It changes the parameters, the temperature and what is kept of the stream, and nothing else.
        """
        stream, n_jobs = cast(Stream, self._stream), n_threads(self.n_jobs)
        model, params, kept = self._fitted_model, self._state.params, stream.averages
        batch = Batch(table.astype(self.components_.dtype), row_weights)
        if within := self._searched(CSRCounts(table, row_weights)):
            batch = batch.divided(self.validation_fraction, stream.seed)
        judge = partial(HeldOut, background=self.unigram_, smoothing=judged_with(self.smoothing))
        with threads(n_jobs) as map:
            X = CSRCounts(batch.table, row_weights, n_threads=n_jobs, map=map)
            params = online.opened(model, params, kept, totals, X.column_sums)
            now, folded = followed(
                Temperature(self.beta_, stream.direction),
                within or TemperatureRange(self.beta_, self.beta_),
                batch.observations,
                lambda beta: batch.folded(model, params, beta, n_jobs, judge),
            )
            step = online.step(model, X, params, folded.rows, now.beta, kept, float(totals.sum()))
        self._stream = Stream(step.averages, totals, stream.seed, now.direction)
        self._state, self.beta_ = State(step.params, [step.rows]), now.beta
        tally.add(step.free_energy, folded.validation, batch.observations)
        if folded.validation is not None and self.smoothing == "auto":
            weight = online.step_size(kept, float(X.column_sums.sum()))
            self.smoothing_ += weight * (folded.validation.smoothing - self.smoothing_)
        return step.rows

    def _searched(self, X: Counts) -> TemperatureRange | None:
        """Where the temperature of these counts may be; None where it is given, or there is one."""
        within = self._temperatures(X) if self.beta == "auto" else None
        return within if within and within.low < within.high else None

    def _use(self, rows: Array, row_mass: Array) -> None:
        """Make attributes of the parameters, and of these rows with so many observations."""
        unigram = add_one_unigram(cast(Stream, self._stream).column_sums)
        settings = self.beta_, self.smoothing_, unigram, row_mass
        state = State(self._state.params, [rows])
        self.__dict__.update(attributes.usable(self._fitted_model, state, *settings))

    def _record(self, tally: Tally, began: float, converged: bool) -> None:
        log_prior = self._fitted_model.log_prior(self._state.params, self.beta_)
        objective = tally.free_energy - log_prior
        record = Record(self.beta_, objective, tally.perplexity, perf_counter() - began)
        self.history_, self.n_iter_ = [*self.history_, record], self.n_iter_ + 1
        self.objective_, self.converged_ = objective, converged

    def _input_attributes(self) -> dict[str, Any]:
        """Also that no stream goes on from a fit that was cut short."""
        return {**super()._input_attributes(), "_stream": None, "_passes": None}  # type: ignore[misc]

    def _kept(self, fitted: Fitted, counts: CSRCounts) -> dict[str, Any]:
        if self._no_stream():
            return {}
        averages = online.averages(fitted.fit.stats, float(fitted.row_mass.sum()))
        return {"_stream": Stream(averages, counts.column_sums, self._seeds(1)[0])}
