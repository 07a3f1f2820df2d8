"""Random samples of a table: held-out tokens of every row (thinning), and rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.stats import binom

from skcooc.protocol import CSR, Array, RowSample

BLOCK = 2**20  # non-zeros whose keys are in memory at once
MAX_BINOMIAL = 2.0**30  # tokens of a count; inversion takes forever with more


def scramble(keys: Array) -> Array:
    """Hash 64-bit keys, (n,): the finaliser of SplitMix64 (Steele et al. 2014)."""
    keys = keys ^ (keys >> np.uint64(30))
    keys *= np.uint64(0xBF58476D1CE4E5B9)
    keys ^= keys >> np.uint64(27)
    keys *= np.uint64(0x94D049BB133111EB)
    keys ^= keys >> np.uint64(31)
    return keys


def column_keys(indices: Array) -> Array:
    return indices.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)


def row_blocks(X: CSR) -> Iterator[CSR]:
    """The rows in blocks of about BLOCK non-zeros: keys of all at once would take four times X."""
    nnz = int(X.indptr[-1])
    n_rows, n_columns = X.shape
    inner = np.searchsorted(X.indptr, np.linspace(0, nnz, nnz // BLOCK + 2)[1:-1])
    for first, last in pairwise([0, *inner.tolist(), n_rows]):
        cells = slice(X.indptr[first], X.indptr[last])
        block = X.data[cells], X.indices[cells], X.indptr[first : last + 1] - cells.start
        yield sp.csr_array(block, shape=(last - first, n_columns))


def row_keys(X: CSR) -> Array:
    """A 64-bit key of each row's content, (n,), whatever the order of its entries."""
    return np.concatenate([_keys(block) for block in row_blocks(X)])


def _keys(X: CSR) -> Array:
    counts = (np.minimum(X.data, 2.0**40, dtype=np.float64) * 2.0**20 + 0.5).astype(np.uint64)
    cells = scramble(column_keys(X.indices) + scramble(counts)) * (X.data > 0)
    keys = np.zeros(X.shape[0], np.uint64)
    occupied = np.flatnonzero(np.diff(X.indptr))
    if occupied.size:
        keys[occupied] = np.add.reduceat(cells, X.indptr[occupied])
    return keys


def content_uniforms(X: CSR, seed: int) -> Array:
    """One number in [0, 1) for each non-zero, a function of the seed and of its row's content."""
    return np.concatenate([_uniforms(block, seed) for block in row_blocks(X)])


def _uniforms(X: CSR, seed: int) -> Array:
    keys = np.repeat(scramble(_keys(X) + np.uint64(seed)), np.diff(X.indptr))
    bits = scramble(keys + column_keys(X.indices)) >> np.uint64(40)
    return bits.astype(np.float32) * np.float32(2.0**-24)


def thin(X: CSR, fraction: float, seed: int, *, occupied: bool = False) -> tuple[CSR, CSR]:
    """Divide tokens: each goes to the second part with probability ``fraction``.

    The draw of a row depends on the seed and on its content alone. So it does not matter in which
    order or batch rows come, weighting a row is the same as repeating it, and what is held out of a
    row is not learnt from its duplicate. A count that is no integer stands for ceil(count)
    tokens of equal weight.

    Both parts, (n, M), add up to X, share no memory with it and store no zeros. The second is empty
    only if X is; with ``occupied`` this holds for each row.
    """
    return divide(X, fraction, content_uniforms(X, seed), occupied=occupied)


def divide(X: CSR, fraction: float, uniforms: Array, *, occupied: bool = False) -> tuple[CSR, CSR]:
    """Divide tokens as ``thin`` does, by given numbers in [0, 1), (nnz,)."""
    draws = _binomial(X.data, fraction, uniforms)
    if occupied:
        _draw_from_each_row(X, uniforms, draws)
    elif X.data.any() and not draws.any():
        largest = np.argmax(np.where(X.data > 0, uniforms, -1))
        draws[largest] = X.data[largest] / np.ceil(X.data[largest])
    return _without_zeros(X, X.data - draws), _without_zeros(X, draws)


def _binomial(counts: Array, fraction: float, uniforms: Array) -> Array:
    """Binomial draws by inversion; single tokens, nearly all of a text, by comparison."""
    draws = np.where(uniforms >= 1 - fraction, counts, 0)
    places = np.flatnonzero(counts > 1)
    counts = counts[places]
    n_tokens = np.minimum(np.ceil(counts), MAX_BINOMIAL)
    successes = binom.ppf(uniforms[places].astype(float), n_tokens, fraction)
    # A uniform of exactly zero would give -1.
    parts = np.maximum(successes, 0) * (counts / n_tokens)
    # Where a binomial number would be too large, each success is several tokens: whole ones.
    draws[places] = np.where(counts > MAX_BINOMIAL, np.floor(parts), parts)
    return draws


def _draw_from_each_row(X: CSR, uniforms: Array, draws: Array) -> None:
    """Draw the token with the largest uniform of each row from which none was drawn."""
    lengths = np.diff(X.indptr)
    starts = X.indptr[:-1][lengths > 0]
    lengths = lengths[lengths > 0]
    if not starts.size:
        return
    # Stored zeros have nothing to draw.
    keys = np.where(X.data > 0, uniforms, -1)
    vacant = np.add.reduceat(draws, starts) == 0
    largest = keys == np.repeat(np.maximum.reduceat(keys, starts), lengths)
    moved = np.flatnonzero(largest & np.repeat(vacant, lengths) & (keys >= 0))
    draws[moved] = X.data[moved] / np.ceil(X.data[moved])


def _without_zeros(X: CSR, data: Array) -> CSR:
    mask = data != 0
    before = np.zeros(data.size + 1, X.indptr.dtype)
    np.cumsum(mask, out=before[1:])
    return sp.csr_array((data[mask], X.indices[mask], before[X.indptr]), shape=X.shape)


def draw(X: CSR, weights: Array, n_rows: int, seed: int) -> RowSample:
    """Different rows, all with the same chance, without replacement.

    Rows with the same content are one, with the weight of all. As for ``thin``, neither the order
    of rows nor whether a row is weighted or repeated matters, not even for the order of the result.
    """
    return _lowest_ranks(X, row_keys(X), weights, n_rows, seed)


def merge_draws(parts: Sequence[RowSample], n_rows: int, seed: int) -> RowSample:
    """Merge the rows drawn from each block of a table with the same seed."""
    rows, keys, weights = zip(*parts, strict=True)
    table = sp.vstack(rows, format="csr")
    return _lowest_ranks(table, np.concatenate(keys), np.concatenate(weights), n_rows, seed)


def _lowest_ranks(X: CSR, keys: Array, weights: Array, n_rows: int, seed: int) -> RowSample:
    # The rows with the smallest pseudo-random numbers; those of a table have them in their blocks.
    distinct, first, group = np.unique(keys, return_index=True, return_inverse=True)
    totals = np.bincount(group, weights)
    ranks = scramble(scramble(distinct + np.uint64(seed)))
    order = np.argsort(ranks, kind="stable")
    order = order[totals[order] > 0][:n_rows]
    return RowSample(X[first[order]], distinct[order], totals[order])
