"""Thinning of count matrices at random, and random samples of their rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from scipy.stats import binom

from skcooc.protocol import CSR, Array, RowSample
from skcooc.protocol.decorators import compiled

MAX_BINOMIAL = 2.0**30  # tokens of a count; inversion takes forever with more


@compiled
def scramble(key):  # type: ignore[no-untyped-def]
    """Hash a 64-bit key: the finaliser of SplitMix64 (Steele et al. 2014)."""
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


@compiled
def row_key(indices, data, start, stop):  # type: ignore[no-untyped-def]
    """A 64-bit key of a row's content, whatever the order of its entries."""
    key, golden = np.uint64(0), np.uint64(0x9E3779B97F4A7C15)
    for p in range(start, stop):
        if data[p] > 0:
            count = np.uint64(min(data[p], 2.0**40) * 2.0**20 + 0.5)
            key += scramble(np.uint64(indices[p]) * golden + scramble(count))
    return key


@compiled
def content_uniforms(indptr, indices, data, seed, uniforms):  # type: ignore[no-untyped-def]
    """One number in [0, 1) for each non-zero, a function of the seed and of its row's content."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    for i in range(indptr.shape[0] - 1):
        key = scramble(seed + row_key(indices, data, indptr[i], indptr[i + 1]))
        for p in range(indptr[i], indptr[i + 1]):
            uniform = scramble(key + np.uint64(indices[p]) * golden)
            uniforms[p] = np.float64(uniform >> np.uint64(40)) * 2.0**-24


def thin(X: CSR, fraction: float, seed: int, *, occupied: bool = False) -> tuple[CSR, CSR]:
    """Divide tokens: each goes to the second part with probability ``fraction``.

    The draw of a row depends on the seed and on its content alone. So it does not matter in which
    order or batch rows come, weighting a row is the same as repeating it, and what is held out of a
    row is not learnt from its duplicate. A count that is no integer stands for ceil(count)
    tokens of equal weight.

    Both parts, (n, M), add up to X, share no memory with it and store no zeros. The second is empty
    only if X is; with ``occupied`` this holds for each row.
    """
    uniforms = np.empty(X.data.size, dtype=np.float32)
    content_uniforms(X.indptr, X.indices, X.data, np.uint64(seed), uniforms)
    return divide(X, fraction, uniforms, occupied=occupied)


def divide(X: CSR, fraction: float, uniforms: Array, *, occupied: bool = False) -> tuple[CSR, CSR]:
    """Divide tokens as ``thin`` does, by given numbers in [0, 1), (nnz,)."""
    drawn = _binomial(X.data, fraction, uniforms)
    if occupied:
        _draw_from_each_row(X, uniforms, drawn)
    elif X.data.any() and not drawn.any():
        largest = np.argmax(np.where(X.data > 0, uniforms, -1))
        drawn[largest] = X.data[largest] / np.ceil(X.data[largest])
    return _without_zeros(X, X.data - drawn), _without_zeros(X, drawn)


def _binomial(counts: Array, fraction: float, uniforms: Array) -> Array:
    """Binomial draws by inversion; single tokens, nearly all of a text, by comparison."""
    drawn = np.where(uniforms >= 1 - fraction, counts, 0)
    several = np.flatnonzero(counts > 1)
    n_tokens = np.minimum(np.ceil(counts[several]), MAX_BINOMIAL)
    successes = binom.ppf(uniforms[several].astype(float), n_tokens, fraction)
    # A uniform of exactly zero would give -1.
    drawn[several] = np.maximum(successes, 0) * (counts[several] / n_tokens)
    return drawn


def _draw_from_each_row(X: CSR, uniforms: Array, drawn: Array) -> None:
    """Draw the token with the largest uniform of each row from which none was drawn."""
    lengths = np.diff(X.indptr)
    starts, lengths = X.indptr[:-1][lengths > 0], lengths[lengths > 0]
    if not starts.size:
        return
    # Stored zeros have nothing to draw.
    keys = np.where(X.data > 0, uniforms, -1)
    vacant = np.add.reduceat(drawn, starts) == 0
    largest = keys == np.repeat(np.maximum.reduceat(keys, starts), lengths)
    moved = np.flatnonzero(largest & np.repeat(vacant, lengths) & (keys >= 0))
    drawn[moved] = X.data[moved] / np.ceil(X.data[moved])


def _without_zeros(X: CSR, data: Array) -> CSR:
    kept, before = data != 0, np.zeros(data.size + 1, X.indptr.dtype)
    np.cumsum(kept, out=before[1:])
    return sp.csr_array((data[kept], X.indices[kept], before[X.indptr]), shape=X.shape)


@compiled
def row_keys(indptr, indices, data, keys):  # type: ignore[no-untyped-def]
    for i in range(indptr.shape[0] - 1):
        keys[i] = row_key(indices, data, indptr[i], indptr[i + 1])


@compiled
def ranks_of(keys, seed, ranks):  # type: ignore[no-untyped-def]
    for i in range(keys.shape[0]):
        ranks[i] = scramble(scramble(seed + keys[i]))


def draw(X: CSR, weights: Array, n_rows: int, seed: int) -> RowSample:
    """Different rows, all with the same chance, without replacement.

    Rows with the same content are one, with the weight of all. As for ``thin``, neither the order
    of rows nor whether a row is weighted or repeated matters, not even for the order of the result.
    """
    keys = np.empty(X.shape[0], dtype=np.uint64)
    row_keys(X.indptr, X.indices, X.data, keys)
    return _lowest_ranks(X, keys, weights, n_rows, seed)


def merge_draws(parts: Sequence[RowSample], n_rows: int, seed: int) -> RowSample:
    """Merge the rows drawn from each block of a table with the same seed."""
    rows, keys, weights = zip(*parts, strict=True)
    table = sp.vstack(rows, format="csr")
    return _lowest_ranks(table, np.concatenate(keys), np.concatenate(weights), n_rows, seed)


def _lowest_ranks(X: CSR, keys: Array, weights: Array, n_rows: int, seed: int) -> RowSample:
    # The rows with the smallest pseudo-random numbers; those of a table have them in their blocks.
    different, at, group = np.unique(keys, return_index=True, return_inverse=True)
    totals, ranks = np.bincount(group, weights), np.empty_like(different)
    ranks_of(different, np.uint64(seed), ranks)
    order = np.argsort(ranks, kind="stable")
    order = order[totals[order] > 0][:n_rows]
    return RowSample(X[at[order]], different[order], totals[order])
