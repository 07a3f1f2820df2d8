"""Batches of a stream: what is kept of them, what is held out, and what that tells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from skcooc.counts import CSRCounts, thin
from skcooc.em import HeldOut, Validation, online
from skcooc.fitting.table import fold_in
from skcooc.protocol import Array, OnlineModel, Rows

Judge = Callable[[Sequence[CSRCounts]], HeldOut]  # of held-out observations

INNER_ITERATIONS = 10  # E-steps in which the rows of a batch are folded in


class Stream(NamedTuple):
    """What is kept of the batches seen."""

    averages: online.Averages
    column_sums: Array  # (M,): observations of each column
    seed: int  # of the observations held out of its batches
    direction: int = 1  # in which the next temperature is tried


class Passes(NamedTuple):
    """Where a fit over blocks is: what it needs to go on, beside the stream."""

    number: int = 0  # of those done
    loss: float = np.inf  # of the last
    converged: bool = False


class Folded(NamedTuple):
    """The rows of a batch, folded in."""

    rows: Rows
    validation: Validation | None


@dataclass(frozen=True)
class Batch:
    """Rows of a stream.

    Parameters
    ----------
    table : CSR array or matrix of shape (n, M)
        Observations to learn from.
    row_weights : (n,) array or None
    heldout : CSRCounts or None, default=None
        The others, where the temperature follows the stream.
    """

    table: Any
    row_weights: Array | None
    heldout: CSRCounts | None = None

    @property
    def observations(self) -> float:
        """Number of those held out."""
        return 0.0 if self.heldout is None else float(self.heldout.observations.sum())

    def divided(self, fraction: float, seed: int) -> Batch:
        """Hold out this share of the observations, unless there are too few.

        It is the same part whenever a row comes by, so that it is never learnt.
        """
        rest, drawn = thin(self.table, fraction, seed)
        fitted, heldout = (CSRCounts(part, self.row_weights) for part in (rest, drawn))
        if not (fitted.observations.any() and heldout.observations.any()):
            return self
        return Batch(rest, self.row_weights, heldout)

    def folded(
        self, model: OnlineModel, params: Any, beta: float, n_threads: int, judge: Judge
    ) -> Folded:
        """Fold the rows in, by a few E-steps, and predict what is held out."""
        rows = fold_in(model, params, beta, self.table, n_threads, max_iter=INNER_ITERATIONS)
        if self.heldout is None:
            return Folded(rows, None)
        return Folded(rows, judge([self.heldout])(model, params, [rows]))


@dataclass
class Tally:
    """How well a model knew some batches before it learnt from them."""

    free_energy: float = 0.0  # nats
    log_loss: float = 0.0  # of what was held out, nats
    observations: float = 0.0  # held out

    def add(self, free_energy: float, validation: Validation | None, observations: float) -> None:
        """One more batch."""
        self.free_energy += free_energy
        if validation is not None:
            self.log_loss += observations * float(np.log(validation.perplexity))
            self.observations += observations

    @property
    def perplexity(self) -> float:
        """Of what was held out; NaN where nothing was."""
        return float(np.exp(self.log_loss / self.observations)) if self.observations else np.nan

    @property
    def loss(self) -> float:
        """What should fall, in nats; free energies at different temperatures do not compare."""
        return self.log_loss / self.observations if self.observations else self.free_energy
