"""How much a row remembers: the numbers of its memory, from observations that are held out."""

from __future__ import annotations

from functools import partial
from typing import Literal, Protocol

from skcooc.ensemble.members import Member
from skcooc.fitting.journal import Journal
from skcooc.fitting.recipe import draw_seeds
from skcooc.heldout import Factors
from skcooc.heldout.memory import Memory, MemoryCells, best_memory, cells_of, rows_with
from skcooc.heldout.validation import HoldOutOptions, add_one_unigram, hold_out
from skcooc.protocol import Block, Predictor, RandomState

PURPOSE = (
    "to estimate the memory. Give numbers for concentration, discount and smoothing, or change "
    "validation_fraction."
)


class Estimating(Protocol):
    """The parameters of a `RowMemory` that say what is to be estimated, and on what."""

    concentration: float | Literal["auto"]
    discount: float | Literal["auto"]
    smoothing: float | Literal["auto"]
    validation_fraction: float
    random_state: RandomState


def estimated(self: Estimating, member: Member, X: Block, keeps: bool, journal: Journal) -> Memory:
    """What is given, and the best of what is not."""
    given = self.concentration, self.discount, self.smoothing
    a, d, s = (None if value == "auto" else float(value) for value in given)
    if a is not None and d is not None and s is not None:
        return Memory(a, d, s)
    return best_memory(_cells(self, member, X, keeps, journal), (a, d, s))


def _cells(
    self: Estimating, member: Member, X: Block, keeps: bool, journal: Journal
) -> MemoryCells:
    """Observations of which the model knows nothing, and what it predicts of them."""
    judged = member.judged if keeps else None
    (seed,) = journal.once(("seeds",), lambda: draw_seeds(self.random_state, 1))
    division = judged.division if judged else HoldOutOptions(self.validation_fraction, seed, "auto")
    rest, heldout = hold_out(X, *division, purpose=PURPOSE)
    if judged:
        predictor: Predictor = judged.predicted
    elif keeps:
        fit = partial(member.fit, rest.table, rest, rest.weights)
        predictor = journal.once(("rest",), fit, tells=True).fitted
    else:
        predictor = Factors(member.fold_in(rest.as_new()), member.fitted.B)
    return cells_of(rest.table, heldout.X, predictor, add_one_unigram(rows_with(rest), 1))
