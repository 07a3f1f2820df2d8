"""Estimators that follow a stream of rows, batch by batch, and tables in blocks, pass by pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.callback import CallbackContext

from skcooc.base import attributes
from skcooc.base.predictions import Predictions
from skcooc.base.warm_start import check_as_before, check_shape
from skcooc.callbacks import PASS
from skcooc.em import Record, State, TemperatureRange
from skcooc.fitting import Recipe
from skcooc.fitting.progress import BlockTasks
from skcooc.fitting.recipe import draw_seeds
from skcooc.fitting.stream import Batch, Begun, Follower, Passes, Position, Stream, Tally
from skcooc.heldout.validation import add_one_unigram
from skcooc.protocol import Array, Block, TableLike
from skcooc.protocol.decorators import available_if, with_callbacks
from skcooc.tables import CheckedBlocks, read_in_memory

AUTO = "it needs numbers of components, got 'auto'"


def _follows_streams(self: Streams) -> bool:
    """True where an estimator can follow a stream; else AttributeError says why it cannot."""
    try:
        reason = AUTO if self.has_auto_size() else attributes.lacking(self.recipe())
    except (TypeError, ValueError):  # fit says what is wrong with the parameters
        return True
    if reason is not None:
        raise AttributeError(f"There is no partial_fit: {reason}.")
    return True


class Streams(Predictions):
    """Stepwise EM for estimators whose statistics are sums over exchangeable rows."""

    beta: float | Literal["auto"]
    smoothing: float | Literal["auto"]
    validation_fraction: float
    fit: Callable[..., Self]
    recipe: Callable[[], Recipe]
    has_auto_size: Callable[[], bool]
    _goes_on: Callable[[], bool]
    _init_callback_context: Callable[..., CallbackContext]

    @available_if(_follows_streams)
    def partial_fit(
        self, X: TableLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> Self:
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
        recipe, start, tally = self.recipe(), perf_counter(), Tally()
        check_shape(self._fitted_parameters, recipe, "partial_fit", "Fit anew.")
        if self._stream is None:
            raise ValueError(
                "partial_fit goes on from a fit that came to its end, with parameters that allow "
                "it. Fit anew."
            )
        table = read_in_memory(self, X, sample_weight, reset=False)
        batch, now = table.sample, self._position
        totals = now.stream.column_sums + batch.column_sums
        after = self._follower(recipe).step(now, batch, totals, tally)
        mass = batch.row_sums * batch.row_weights
        self._go_on(after, mass, tally, perf_counter() - start, converged=False)
        self._frame, self._passes, self._judged = table.frame, None, None
        return self

    def _fit_blocks(
        self, recipe: Recipe, sample: Block, blocks: CheckedBlocks, known: attributes.Attributes
    ) -> None:
        """Fit a sample, then go through the blocks until that helps no more."""
        done = Passes()
        if not (self._goes_on() and self._stream is not None):
            self.__dict__.pop("_state", None)  # also where the fit of a sample was cut short
            self._fit_sample(recipe, sample)
        elif self._passes is None:
            check_shape(self._fitted_parameters, recipe, "warm_start=True")
        else:
            before = self._position.stream.column_sums
            same_table = np.array_equal(cast(Array, blocks.column_sums), before)
            check_as_before(self, self._fitted_parameters, same_table)
            done = self._passes
        self.__dict__.update(known)
        self._go_through(recipe, blocks, done)

    def _fit_sample(self, recipe: Recipe, sample: Block) -> None:
        """Fit rows to begin with, less what the passes hold out of them."""
        (seed,), batch = draw_seeds(self.random_state, 1), Batch(sample)
        if self._search(recipe)(sample):
            batch = batch.divided(self.validation_fraction, seed)
        self.fit(batch.X.table, sample_weight=batch.X.weights)
        self._stream = cast(Begun, self._stream)._replace(seed=seed)

    @with_callbacks
    def _go_through(self, recipe: Recipe, blocks: CheckedBlocks, done: Passes) -> None:
        """Passes over the blocks."""
        max_passes, totals = blocks.blocks.max_passes, cast(Array, blocks.column_sums)
        root = self._init_callback_context(max_subtasks=max_passes)
        data = {"estimator": self}
        root.call_on_fit_task_begin(**data)
        passes = BlockTasks(root, PASS, len(blocks.blocks), data)
        now, stopped = self._position, False
        while done.number < max_passes and not (done.converged or stopped):
            start, follower = perf_counter(), self._follower(recipe)
            now, done, tally = follower.go_through(now, blocks, totals, done, passes.after_block)
            self._passes = done
            self._go_on(now, np.empty(0), tally, perf_counter() - start, done.converged)
            stopped = passes.end(reconstruction_attributes=dict)
        self._passes = None
        root.call_on_fit_task_end(**data)

    @property
    def _position(self) -> Position:
        """Where the model is on its way along a stream."""
        stream = cast(Stream, self._stream).begun
        return Position(*self._state, self.beta_, self.smoothing_, stream)

    def _follower(self, recipe: Recipe) -> Follower:
        """What makes the steps."""
        return Follower(
            self._fitted_model,
            self._search(recipe),
            self.validation_fraction,
            self.smoothing,
            self.unigram_,
            self.n_jobs,
        )

    def _search(self, recipe: Recipe) -> Callable[[Block], TemperatureRange | None]:
        """Where the temperature of a batch is looked for."""
        if self.beta != "auto":
            return lambda X: None

        def search(X: Block) -> TemperatureRange | None:
            within = recipe.family.beta_range(X)
            return within if within.low < within.high else None

        return search

    def _go_on(
        self, now: Position, row_mass: Array, tally: Tally, seconds: float, converged: bool
    ) -> None:
        """Make attributes of a step, or of a pass, and of rows with so many observations."""
        params, rows, beta, smoothing, stream = now
        unigram = add_one_unigram(stream.column_sums, stream.grain)
        state = State(params, rows[: len(row_mass)])
        model = self._fitted_model
        shares = row_mass / row_mass.sum()
        usable = attributes.usable(model, state, beta, smoothing, unigram, shares)
        objective = tally.free_energy - model.log_prior(params, beta)
        record = Record(beta, objective, tally.perplexity, seconds)
        self.__dict__.update(usable, _stream=stream, converged_=converged, objective_=objective)
        self.__dict__.update(history_=[*self.history_, record], n_iter_=self.n_iter_ + 1)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """What fails, or is interrupted, leaves the estimator as it was."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
