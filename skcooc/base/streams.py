"""Stepwise EM: ``partial_fit``, and passes over tables in blocks."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from skcooc.base import attributes
from skcooc.base.auto_sizes import has_auto_size
from skcooc.base.predictions import Predictions
from skcooc.base.warm_starts import check_as_before, check_batch, check_shape
from skcooc.callbacks import PASS
from skcooc.em import Record, State
from skcooc.fitting import Recipe
from skcooc.fitting.recipe import draw_seeds
from skcooc.fitting.stream import (
    Batch,
    Passes,
    Position,
    ProgressiveLoss,
    Stream,
    StreamTrainer,
    held_out_share,
)
from skcooc.fitting.watching import BlockTasks
from skcooc.heldout.validation import add_one_unigram
from skcooc.line_search import TemperatureRange
from skcooc.protocol import Array, Block, TableLike, TableWarning
from skcooc.protocol.decorators import available_if, with_callbacks
from skcooc.protocol.scikit_learn import CallbackContext
from skcooc.tables import CheckedBlocks, read_batch, with_names


def _follows_streams(self: Streams) -> bool:
    """Return True; AttributeError, with the reason, where partial_fit is unavailable."""
    try:
        if has_auto_size(self):
            reason: str | None = "it needs numbers of components, got 'auto'"
        else:
            reason = attributes.streaming_obstacle(self.recipe())
    except (TypeError, ValueError):  # fit says what is wrong with the parameters
        return True
    if reason is not None:
        raise AttributeError(f"There is no partial_fit: {reason}.")
    return True


class Streams(Predictions):
    """Stepwise EM for models whose statistics are sums over exchangeable rows."""

    beta: float | Literal["auto"]
    smoothing: float | Literal["auto"]
    validation_fraction: float
    recipe: Callable[[], Recipe]
    _is_warm_start: Callable[[], bool]
    _init_callback_context: Callable[..., CallbackContext]

    @available_if(_follows_streams)
    def partial_fit(
        self,
        X: TableLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        by_name: bool = False,
    ) -> Self:
        """Update the model with a mini-batch of new rows.

        The first call is the same as ``fit``. Every later call, also after ``fit``, is one step of
        stepwise EM. Ten E-steps fold the rows in. Their expected counts are averaged with those of
        earlier batches, and the M-step uses the average. The t-th batch has weight t^-0.5 times its
        number of tokens, relative to the average batch. For the second batch, each component is
        mixed half and half with the unigram, because it was fitted to the first rows only.

        With ``beta="auto"``, beta is adapted, because more rows allow a larger value. A share of
        the tokens of each batch is held out and never learnt, even if a row comes again. The share
        is 1,000 tokens of the second batch, but at most ``validation_fraction``. Each batch is
        folded in at the current beta and at one neighbouring value, and the value with the higher
        held-out likelihood is kept. The values differ by 1/25 of the range, or less with fewer than
        1,000 held-out tokens. ``smoothing="auto"`` is adapted as well. Priors and a grown tree stay
        the same.

        As in scikit-learn's MiniBatchKMeans, attributes of rows, such as ``embedding_``, describe
        the last batch, here without its held-out tokens. ``history_`` contains one record for each
        batch after the first fit, with the held-out perplexity before the step.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads
            Non-negative counts or weights of new rows. Columns that had no counts so far are learnt
            as well.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, or of each token if X is Dyads.
        by_name : bool, default=False
            Whether to match columns by name.

            - ``False``: X needs the same columns as the first batch.
            - ``True``: the columns of X may be in another order. X may lack columns without counts.
              New columns are appended. In every component they start with their share of the
              tokens.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If X is negative, not finite, empty, has other columns, or is all zero in the first
            call. If ``by_name=True`` and column names are missing, in X or in the model, or are
            repeated. If the last fit was interrupted. If parameters changed since the last fit, or
            do not support mini-batches.

        Warns
        -----
        UserWarning
            If a later batch contains no counts, such as texts without a known word. The model then
            does not change.

        References
        ----------
        O. Cappé and E. Moulines, On-line expectation-maximization algorithm for latent data models,
        Journal of the Royal Statistical Society B 71, 593-613, 2009.

        P. Liang and D. Klein, Online EM for unsupervised models, NAACL 2009.
        """
        if not hasattr(self, "_state"):
            return self.fit(X, y, sample_weight=sample_weight)
        start = perf_counter()
        recipe = self.recipe()
        check_shape(self._fitted_parameters, recipe, "partial_fit", "Fit anew.")
        check_batch(self, self._fitted_parameters)
        if self._unfinished is not None:
            raise ValueError(
                "partial_fit needs a completed fit, but this model is a checkpoint of fit. Fit "
                "anew. To save a stream, use joblib.dump."
            )
        if self._stream is None:
            raise ValueError("partial_fit needs a fit whose parameters allow streams. Fit anew.")
        new = copy.copy(self)  # a batch that is refused leaves self as it was
        table = read_batch(new, X, sample_weight, by_name=by_name)
        if table is None:
            return self
        batch = table.sample
        position = self._position.with_columns(self._fitted_model, batch.shape[1])
        totals = position.stream.column_sums + batch.column_sums
        tally = ProgressiveLoss()
        position = self._trainer(recipe, position.stream).step(position, batch, totals, tally)
        mass = batch.row_sums * batch.row_weights
        self._set_stream_attributes(position, mass, tally, perf_counter() - start, converged=False)
        self._schema = table.schema
        self._passes = None
        self._heldout_predictions = None
        self.__dict__.update(attributes.input_attributes(new))
        return self

    def _fit_blocks(
        self, recipe: Recipe, sample: Block, blocks: CheckedBlocks, inputs: attributes.Attributes
    ) -> None:
        """Fit a sample, then make passes over the blocks until they converge."""
        done = Passes()
        if not (self._is_warm_start() and self._stream is not None):
            self.__dict__.pop("_state", None)  # also where the fit of a sample was cut short
            (seed,) = draw_seeds(self.random_state, 1)
            batch = Batch(sample)
            n_tokens = float(cast(Array, blocks.column_sums).sum()) / len(blocks.blocks)
            held_out = held_out_share(self.validation_fraction, n_tokens)
            if self._range(recipe, sample):  # without the tokens that the passes hold out
                batch = batch.divided(held_out, seed)
            names = cast("Array | None", inputs.get("feature_names_in_"))
            with warnings.catch_warnings(action="ignore", category=TableWarning):
                self.fit(with_names(batch.X.table, names), sample_weight=batch.X.weights)
            self._stream = cast(Stream, self._stream)._replace(seed=seed, held_out=held_out)
            if self._stopped:  # no passes follow
                params, rows = self._state
                self.__dict__.update(
                    inputs,
                    _state=State(params, rows[:0].copy()),
                    embedding_=self.embedding_[:0].copy(),
                    row_distribution_=np.empty(0),
                )
                return
        elif self._passes is None:
            check_shape(self._fitted_parameters, recipe, "warm_start=True")
        else:
            before = self._position.stream.column_sums
            same_table = np.array_equal(cast(Array, blocks.column_sums), before)
            check_as_before(self, self._fitted_parameters, same_table)
            done = self._passes
        self.__dict__.update(inputs)
        self._make_passes(recipe, blocks, done)

    @with_callbacks
    def _make_passes(self, recipe: Recipe, blocks: CheckedBlocks, done: Passes) -> None:
        max_passes = blocks.blocks.max_passes
        totals = cast(Array, blocks.column_sums)
        root = self._init_callback_context(max_subtasks=max_passes)
        data = {"estimator": self}
        root.call_on_fit_task_begin(**data)
        passes = BlockTasks(root, PASS, len(blocks.blocks), data)
        position = self._position
        stopped = False
        while done.number < max_passes and not (done.converged or stopped):
            start = perf_counter()
            trainer = self._trainer(recipe, position.stream)
            tally = ProgressiveLoss()
            for X in blocks:
                if X.column_sums.any():
                    position = trainer.step(position, X, totals, tally)
                passes.block()
            self._passes = done = done.after(tally.loss)
            self._set_stream_attributes(
                position, np.empty(0), tally, perf_counter() - start, done.converged
            )
            stopped = passes.end(dict)
        self._passes = None
        root.call_on_fit_task_end(**data)

    @property
    def _position(self) -> Position:
        stream = cast(Stream, self._stream)
        return Position(*self._state, self.beta_, self.smoothing_, stream)

    def _trainer(self, recipe: Recipe, stream: Stream) -> StreamTrainer:
        return StreamTrainer(
            model=self._fitted_model,
            search=partial(self._range, recipe),
            validation_fraction=self.validation_fraction,
            smoothing=self.smoothing,
            background=add_one_unigram(stream),
            n_jobs=self.n_jobs,
            whole=recipe.needs_empty_columns,
        )

    def _range(self, recipe: Recipe, X: Block) -> TemperatureRange | None:
        """Return the range of beta to search on a batch; None where beta is given."""
        within = recipe.family.beta_range(X) if self.beta == "auto" else None
        return within if within and within.low < within.high else None

    def _set_stream_attributes(
        self,
        position: Position,
        row_mass: Array,
        tally: ProgressiveLoss,
        seconds: float,
        converged: bool,
    ) -> None:
        """Set the attributes after a step or a pass, with the token counts of its rows."""
        params, rows, beta, smoothing, stream = position
        model = self._fitted_model
        objective = tally.free_energy - model.log_prior(params, beta)
        record = Record(beta, objective, tally.perplexity, seconds)
        predictions = attributes.prediction_attributes(
            model,
            State(params, rows[: len(row_mass)]),
            beta,
            smoothing,
            add_one_unigram(stream),
            row_mass / row_mass.sum(),
        )
        self.__dict__.update(
            predictions,
            _stream=stream,
            _columns=attributes.columns_with_tokens(stream.column_sums),
            converged_=converged,
            objective_=objective,
            history_=[*self.history_, record],
            n_iter_=self.n_iter_ + 1,
        )
