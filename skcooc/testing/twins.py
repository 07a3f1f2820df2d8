"""Twins of a model, each with a mistake: a check that one of them passes is none."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from skcooc.counts import CSRCounts
from skcooc.protocol import (
    Array,
    Block,
    Counts,
    Equations,
    FoldIn,
    Model,
    Need,
    Params,
    Rows,
    Statistics,
)
from skcooc.testing.directions import flattened, halved


class Twin(Equations[Params, Statistics]):
    """The same model, but for what a subclass breaks."""

    def __init__(self, right: Model) -> None:
        self.right = right

    @property
    def needs(self) -> Mapping[Need, str]:
        return self.right.needs

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[Params, Rows]:
        return self.right.start(X, rng)

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        return self.right.expect(X, params, rows, beta)

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        return self.right.maximize(stats, params, beta)

    def log_prior(self, params: Params, beta: float) -> float:
        return self.right.log_prior(params, beta)

    def restrict(self, params: Params, columns: Array) -> Params:
        return self.right.restrict(params, columns)

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        return self.right.factors(params, rows)

    def folding(self, params: Params) -> tuple[FoldIn[Params, Statistics], Params]:
        return self.right.folding(params)


class HalfStep(Twin):
    """Broken: an M-step that climbs, but to the wrong place."""

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        right = self.right.maximize(stats, params, beta)
        return type(right)(*map(halved, right))


class Flat(Twin):
    """Broken: an M-step to distributions that are a little uniform."""

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        right = self.right.maximize(stats, params, beta)
        return type(right)(*map(flattened, right))


class ForgottenPower(Twin):
    """Broken: both steps forget the temperature."""

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        return self.right.expect(X, params, rows, 1.0)

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        return self.right.maximize(stats, params, 1.0)


class OtherPower(Twin):
    """Broken: both steps are at a temperature of their own."""

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        return self.right.expect(X, params, rows, 1.2 * beta)

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        return self.right.maximize(stats, params, 1.2 * beta)


class Unweighted(Twin):
    """Broken: every row counts once."""

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        return self.right.expect(CSRCounts(X.table), params, rows, beta)


class FirstRowTwice(Twin):
    """Broken: the first row of a block counts twice."""

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        weights = X.row_weights * (1.0 + (np.arange(X.shape[0]) == 0))
        return self.right.expect(CSRCounts(X.table, weights), params, rows, beta)


class FirstColumnTwice(Twin):
    """Broken: the first column counts twice."""

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        table = X.table.copy()
        table.data = table.data * (1 + (table.indices == 0)).astype(table.dtype)
        return self.right.expect(CSRCounts(table, X.weights), params, rows, beta)


class Favourite(Twin):
    """Broken: the first component gets more than its share of the rows."""

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        rows, stats = self.right.expect(X, params, rows, beta)
        return rows * (1 + 0.1 * (np.arange(rows.shape[1]) == 0)), stats


class Promoted(Twin):
    """Broken: parameters are in double precision."""

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        right = self.right.maximize(stats, params, beta)
        return type(right)(*(array.astype(np.float64) for array in right))


class Rough(Twin):
    """Broken: numbers have two digits in single precision."""

    def maximize(self, stats: Statistics, params: Params, beta: float) -> Params:
        right = self.right.maximize(stats, params, beta)
        return type(right)(*(a * a.dtype.type(1.0 if a.itemsize == 8 else 1.01) for a in right))


class Undefined(Twin):
    """Broken: zero divided by zero where a row has no observations."""

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        rows, stats = self.right.expect(X, params, rows, beta)
        return np.where(X.row_sums[:, None] > 0, rows, np.nan), stats


class Uniform(Twin):
    """Broken: a row without observations has any component more or less."""

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        rows, stats = self.right.expect(X, params, rows, beta)
        first = np.arange(rows.shape[1]) == 0
        return np.where(X.row_sums[:, None] > 0, rows, first.astype(rows.dtype)), stats


class Leaky(Twin):
    """Broken: every column is possible."""

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        A, B = self.right.factors(params, rows)
        return A, flattened(B, 0.001)


class Misplaced(Twin):
    """Broken: parameters for other columns than those asked for."""

    def folding(self, params: Params) -> tuple[FoldIn[Params, Statistics], Params]:
        right, folded = self.right.folding(params)
        return _Rolled(right), folded


class _Rolled(FoldIn[Params, Statistics]):
    def __init__(self, right: FoldIn[Params, Statistics]) -> None:
        self.right = right

    def expect(self, X: Block, params: Params, rows: Rows, beta: float) -> tuple[Rows, Statistics]:
        return self.right.expect(X, params, rows, beta)

    def restrict(self, params: Params, columns: Array) -> Params:
        return self.right.restrict(params, np.roll(columns, 1))

    def factors(self, params: Params, rows: Rows) -> tuple[Array, Array]:
        return self.right.factors(params, rows)


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
