"""Within-document cache: known counts of a row, combined with predictions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from skcooc.heldout import predictors
from skcooc.heldout.predictors import Discounted, Growing, Interpolated, Unigram, growth, row_sums
from skcooc.heldout.validation import add_one
from skcooc.protocol import CSR, Array, Block, Predictor

# Typical of texts, and of rare pairs.
STARTS = ((30.0, 0.5, 0.02, 0.3, 3.0, 1.0), (1.0, 0.8, 0.3, 0.3, 3.0, 1.0))
BOUNDS = (1e-3, 1e-3), (1e6, 1 - 1e-3)  # least and largest number of tokens, and share
CURVES = np.exp, expit, expit, expit, np.exp, np.exp
INVERSES = np.log, logit, logit, logit, np.log, np.log
MAX_TOKENS = 100_000  # tokens used to estimate the parameters
MAX_COMPARED = 20_000  # tokens used to compare models in a cache
CacheParameters = Sequence[float | None]  # the six of `Memory`; None: estimated


class Memory(NamedTuple):
    """Parameters of a within-document cache; see :func:`with_cache`."""

    concentration: float  # a, pseudo-count of the model's prediction
    discount: float  # d, subtracted from each count
    smoothing: float  # s, weight of the background
    neighbor_share: float = 0.0  # t, weight of the nearest rows beside the model, in long rows
    neighbor_tokens: float = 0.0  # c, known tokens of a row with half of this weight; 0: any have t
    model_tokens: float = 0.0  # e, known tokens with which the model weighs as much as the unigram


def rows_with(X: Block) -> Array:
    """Number of rows that have each column, by their weights, (M,)."""
    weights = (X.table.data > 0) * X.row_weights[predictors.rows_of(X.table)]
    return np.bincount(X.indices, weights=weights, minlength=X.shape[1])


def with_cache(
    known: CSR,
    predictor: Predictor | None,
    background: Array,
    memory: Memory,
    neighbors: Predictor | None = None,
    unigram: Array | None = None,
) -> Discounted:
    """Predictions of rows with a within-document cache.

        P(y_j given x_i) = (max(n_ij - d, 0) + (a + sum_l min(n_il, d)) B_ij) / (n_i + a)
        B_ij = (1 - s) [(1 - t w_i) M_ij + t w_i Q_ij] + s b_ij
        w_i = n_i / (n_i + c)
        b_ij = (c^2 u_j + n_i^2 b_j) / (c^2 + n_i^2)
        M_ij = (e^2 u_j + n_i^2 P_ij) / (e^2 + n_i^2)

    P is from the predictor, None: M_ij = b_ij. Q is from the neighbours, where there are some.
    Without a unigram u (M,) the background is b (M,), and M = P.
    ``known`` holds the n_ij and must not contain the tokens to be scored.
    """
    a, d, s, t, c, e = memory
    n = row_sums(known)
    base: Predictor = Unigram(background)
    if unigram is not None and c > 0:
        base = Growing(Unigram(unigram), base, growth(n, c, 2))
    model = base if predictor is None else predictor
    if predictor is not None and unigram is not None and e > 0:
        model = Growing(Unigram(unigram), predictor, growth(n, e, 2))
    if neighbors is not None:
        model = Growing(model, neighbors, t * growth(n, c))
    return Discounted(known, d, Interpolated((model, base), (1 - s, s)), a)


@dataclass(frozen=True)
class DiscountedMass:
    """Sum of the discounts of each row, sum_l min(n_il, d), as a function of d <= 1."""

    n_whole: Array  # (n,): number of entries >= 1
    rows: Array  # of the smaller entries
    less: Array  # the smaller entries

    @classmethod
    def from_table(cls, table: CSR) -> Self:
        rows = predictors.rows_of(table)
        is_whole = table.data >= 1
        n_whole = np.bincount(rows[is_whole], minlength=table.shape[0])
        return cls(n_whole, rows[~is_whole], table.data[~is_whole].astype(np.float64))

    def __call__(self, d: float) -> tuple[Array, Array]:
        """Sums (n,) and their derivatives by d."""
        saved = np.bincount(self.rows, np.minimum(self.less, d), minlength=len(self.n_whole))
        slopes = np.bincount(self.rows, self.less > d, minlength=len(self.n_whole))
        return d * self.n_whole + saved, self.n_whole + slopes


class MemoryCells(NamedTuple):
    """Tokens to be predicted, (n,), and all that their predictions depend on."""

    scored: Array  # their counts
    known: Array  # n_ij of the known part
    totals: Array  # n_i
    rows: Array
    saved: DiscountedMass  # of all rows
    P: Array | None  # None: the background
    Q: Array  # by the nearest rows; anything without them
    b: Array
    u: Array  # by the unigram; b without neighbours

    def take(self, at: Array) -> Self:
        """Some of the tokens, by a mask or by positions."""
        arrays = {name: value for name, value in self._asdict().items() if name != "saved"}
        return self._replace(**{name: x[at] for name, x in arrays.items() if x is not None})

    def logs(self, memory: Memory) -> Array:
        """log P of each token, (n,), nats."""
        a, d, s, t, c, e = memory
        rest = a + self.saved(d)[0][self.rows]
        w = growth(self.totals, c)
        base = self._from_unigram(self.b, c)
        P = base if self.P is None else self._from_unigram(self.P, e)
        B = (1 - s) * ((1 - t * w) * P + t * w * self.Q) + s * base
        return np.log((np.maximum(self.known - d, 0) + rest * B) / (self.totals + a))

    def log_likelihood(self, memory: Memory) -> tuple[float, Array]:
        """Mean log-likelihood, nats, and its derivatives by a, d, s, t, c and e, (6,)."""
        a, d, s, t, c, e = memory
        of_row, slope_of_row = self.saved(d)
        slope = slope_of_row[self.rows]
        rest = a + of_row[self.rows]
        totals = self.totals + a
        is_empty = totals == 0
        rest = np.where(is_empty, 1, rest)
        totals = np.where(is_empty, 1, totals)
        w = growth(self.totals, c)
        base = self._from_unigram(self.b, c)
        P = base if self.P is None else self._from_unigram(self.P, e)
        model = (1 - t * w) * P + t * w * self.Q
        B = (1 - s) * model + s * base
        scaled = np.maximum(self.known - d, 0) + rest * B
        possible = scaled > 0  # with a = d = 0 only known columns are
        scaled = np.where(possible, scaled, 1)
        shares = self.scored * possible
        shares = shares / max(shares.sum(), np.finfo(float).tiny)
        by_a = B / scaled - 1 / totals
        by_d = (slope * B - (self.known > d)) / scaled
        by_s = rest * (base - model) / scaled
        by_t = rest * (1 - s) * w * (self.Q - P) / scaled
        of_model = (1 - s) * (1 - t * w)
        of_base = s if self.P is not None else s + of_model
        by_w = -w * (1 - w) / c if c > 0 else np.zeros(len(w))
        by_c = (1 - s) * t * by_w * (self.Q - P) + of_base * self._slope(self.b, c)
        by_c = rest * by_c / scaled
        by_e = np.zeros(len(w))
        if self.P is not None:
            by_e = rest * of_model * self._slope(self.P, e) / scaled
        value = (shares * np.log(scaled / totals)).sum()
        slopes = [(shares * by).sum() for by in (by_a, by_d, by_s, by_t, by_c, by_e)]
        return float(value), np.array(slopes)

    def _from_unigram(self, P: Array, c: float) -> Array:
        """Mean of the unigram and another prediction, which is that one for c = 0, (n,)."""
        if c == 0:
            return P
        v = growth(self.totals, c, 2)
        return (1 - v) * self.u + v * P

    def _slope(self, P: Array, c: float) -> Array:
        """Derivative of ``_from_unigram`` by c, (n,)."""
        if c == 0:
            return np.zeros(len(P))
        v = growth(self.totals, c, 2)
        return -2 * v * (1 - v) / c * (P - self.u)


def memory_cells(
    known: CSR,
    X: Block,
    predictor: Predictor | None,
    background: Array,
    neighbors: Predictor | None = None,
    unigram: Array | None = None,
    max_tokens: int = MAX_TOKENS,
) -> MemoryCells:
    """Tokens of X, for predictions as those of :func:`with_cache`."""
    at = _scored_cells(X, max_tokens)
    rows = predictors.rows_of(X.table)[at]
    columns = X.indices[at]
    b = background[columns]
    return MemoryCells(
        scored=X.weighted_counts[at].astype(np.float64),
        known=predictors.values_at(known, rows, columns),
        totals=row_sums(known)[rows],
        rows=rows,
        saved=DiscountedMass.from_table(known),
        P=None if predictor is None else predictor.cells(X)[at],
        Q=b if neighbors is None else neighbors.cells(X)[at],
        b=b,
        u=b if unigram is None else unigram[columns],
    )


def _scored_cells(X: Block, max_tokens: int) -> Array:
    at = np.flatnonzero(X.weighted_counts > 0)
    return at[:: -(-len(at) // max_tokens)]


@dataclass(frozen=True)
class CacheValidation:
    """Validation tokens, predicted by models in a within-document cache."""

    X: Block  # (N, M)
    cells: MemoryCells  # of any predictor
    parameters: CacheParameters

    @classmethod
    def from_tables(cls, train: Block, X: Block, parameters: CacheParameters) -> Self:
        unigram = add_one(rows_with(train))
        cells = memory_cells(train.table, X, Unigram(unigram), unigram, max_tokens=MAX_COMPARED)
        return cls(X, cells, parameters)

    def perplexity(self, predictor: Predictor) -> float:
        """Return the perplexity with the parameters of the cache that are best."""
        P = predictor.cells(self.X)[_scored_cells(self.X, MAX_COMPARED)]
        cells = self.cells._replace(P=P, Q=P)
        return float(np.exp(-cells.log_likelihood(best_memory(cells, self.parameters))[0]))


def best_memory(
    cells: MemoryCells,
    parameters: CacheParameters = (None, None, None, 0.0, 0.0, 0.0),
    starts: Sequence[tuple[float, ...]] = STARTS,
) -> Memory:
    """Complete the parameters that are None by those with the largest likelihood.

    By quasi-Newton steps in the logarithms of a, c and e and the logits of d, s and t, from each of
    the starts.
    """
    free = [i for i, value in enumerate(parameters) if value is None]

    def memory(x: Iterable[float]) -> Memory:
        values = np.array(parameters, dtype=float)
        for i, coordinate in zip(free, x, strict=True):
            values[i] = CURVES[i](coordinate)
        return Memory(*values.tolist())

    def loss(x: Array) -> tuple[float, Array]:
        a, d, s, t, c, e = point = memory(x)
        value, slopes = cells.log_likelihood(point)
        chain = np.array([a, *(p * (1 - p) for p in (d, s, t)), c, e])
        return -value, -(slopes * chain)[free]

    if not free:
        return memory(())

    def scaled(values: tuple[float, ...]) -> list[float]:
        return [float(INVERSES[i](values[i])) for i in free]

    low, high = (scaled((tokens, share, share, share, tokens, tokens)) for tokens, share in BOUNDS)
    bounds = list(zip(low, high, strict=True))
    results = [
        minimize(loss, scaled(start), jac=True, method="L-BFGS-B", bounds=bounds)
        for start in starts
    ]
    return memory(min(results, key=attrgetter("fun")).x)


def cross_fitted_logs(cells: MemoryCells) -> Array:
    """log P of each token, (n,), nats, in a cache whose parameters the token did not influence.

    They are estimated on every other token for the tokens between, and the other way round.
    """
    even, odd = (cells.take(np.arange(len(cells.scored)) % 2 == i) for i in range(2))
    of_even = best_memory(even)
    of_odd = best_memory(odd, starts=[of_even])
    logs = np.empty(len(cells.scored))
    logs[::2] = even.logs(of_odd)
    logs[1::2] = odd.logs(of_even)
    return logs
