"""Twins of a model, each with a mistake: a check that one of them passes is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skcooc.counts import CSRCounts
from skcooc.protocol import Array, Block, Params, Rows, Statistics
from skcooc.testing.directions import flattened, halved


class Twin:
    """The same model, but for what a subclass breaks."""

    def __init__(self, right: Any) -> None:
        self.right = right

    def __getattr__(self, name: str) -> Any:
        if name == "right":  # of a copy that has none yet
            raise AttributeError(name)
        return getattr(self.right, name)


class Changed(Twin):
    """Broken: an M-step whose arrays are changed."""

    change: Callable[[Array], Array]

    def maximize(self, *given: Any) -> Params:
        right = self.right.maximize(*given)
        return type(right)(*map(self.change, right))


class HalfStep(Changed):
    """Broken: an M-step that climbs, but to the wrong place."""

    change = staticmethod(halved)


class Flat(Changed):
    """Broken: an M-step to distributions that are a little uniform."""

    change = staticmethod(flattened)


class Promoted(Changed):
    """Broken: parameters are in double precision."""

    change = staticmethod(lambda array: array.astype(np.float64))


class Rough(Changed):
    """Broken: numbers have two digits in single precision."""

    change = staticmethod(lambda array: array * array.dtype.type(1 + 0.01 * (array.itemsize < 8)))


class ForgottenPower(Twin):
    """Broken: both steps forget the temperature."""

    def power(self, beta: float) -> float:
        return 1.0

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        return self.right.expect(X, params, rows, self.power(beta))

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        return self.right.maximize(stats, params, self.power(beta))


class OtherPower(ForgottenPower):
    """Broken: both steps are at a temperature of their own."""

    def power(self, beta: float) -> float:
        return 1.2 * beta


class Unweighted(Twin):
    """Broken: every row counts once."""

    def expect(self, X: Block, *state: Any) -> tuple[Rows, Statistics]:
        return self.right.expect(CSRCounts(X.table), *state)


class FirstRowTwice(Twin):
    """Broken: the first row of a block counts twice."""

    def expect(self, X: Block, *state: Any) -> tuple[Rows, Statistics]:
        weights = X.row_weights * (1.0 + (np.arange(X.shape[0]) == 0))
        return self.right.expect(CSRCounts(X.table, weights), *state)


class FirstColumnTwice(Twin):
    """Broken: the first column counts twice."""

    def expect(self, X: Block, *state: Any) -> tuple[Rows, Statistics]:
        table = X.table.copy()
        table.data = table.data * (1 + (table.indices == 0)).astype(table.dtype)
        return self.right.expect(CSRCounts(table, X.weights), *state)


class Favourite(Twin):
    """Broken: the first component gets more than its share of the rows."""

    def expect(self, *given: Any) -> tuple[Rows, Statistics]:
        rows, stats = self.right.expect(*given)
        return rows * (1 + 0.1 * (np.arange(rows.shape[1]) == 0)), stats


class Undefined(Twin):
    """Broken: zero divided by zero where a row has no observations."""

    def empty(self, rows: Rows) -> Array:
        return np.full_like(rows, np.nan)

    def expect(self, X: Block, *state: Any) -> tuple[Rows, Statistics]:
        rows, stats = self.right.expect(X, *state)
        return np.where(X.row_sums[:, None] > 0, rows, self.empty(rows)), stats


class Uniform(Undefined):
    """Broken: a row without observations has the first component."""

    def empty(self, rows: Rows) -> Array:
        return np.eye(1, rows.shape[1], dtype=rows.dtype)


class Leaky(Twin):
    """Broken: every column is possible."""

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        A, B = self.right.factors(params, rows)
        return A, flattened(B, 0.001)


class Misplaced(Twin):
    """Broken: parameters for other columns than those asked for."""

    def folding(self, params: Params) -> tuple[Any, Params]:
        right, folded = self.right.folding(params)
        return Rolled(right), folded


class Rolled(Twin):
    """What rows are folded in by there."""

    def restrict(self, params: Params, columns: Array) -> Params:
        return self.right.restrict(params, np.roll(columns, 1))


class Scribbles(Twin):
    """Broken: the E-step writes where its rows are."""

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        new, stats = self.right.expect(X, params, rows, beta)
        rows += 0.5
        return new, stats


class SpendsStatistics(Twin):
    """Broken: the M-step writes into the statistics."""

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        right = self.right.maximize(stats, params, beta)
        stats[0][:] = 0
        return right


class GoesHome(Twin):
    """Broken: the E-step takes the row states for arrays of NumPy."""

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        return self.right.expect(X, params, np.asarray(rows), beta)
