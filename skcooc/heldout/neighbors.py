"""Topic-free predictions from the nearest rows, as in nearest-neighbour language models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed, effective_n_jobs

from skcooc.heldout.predictors import rows_of
from skcooc.protocol import CSR, Array, Block
from skcooc.protocol.decorators import compiled

SHARPNESS = 4  # power of the cosines that are the weights of neighbours
PART = 512  # rows that a thread works on at a time
LEAST = np.finfo(float).tiny


@dataclass(frozen=True)
class RowIndex:
    """Training rows, prepared once for many queries of `NearestRows`; see there.

    Copies and pickles have the rows and weights alone, and prepare them anew.
    """

    known: CSR
    max_rows: int | None = None
    row_weights: Array | None = None  # (N,): rows of weight zero are no neighbours; None: all one

    def __getstate__(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in ("known", "max_rows", "row_weights")}

    @cached_property
    def weights(self) -> Array:
        return np.ones(self.known.shape[0]) if self.row_weights is None else self.row_weights

    @cached_property
    def frequencies(self) -> Array:
        """Number of rows that have each column, by their weights, (M,)."""
        weights = (self.known.data > 0) * self.weights[rows_of(self.known)]
        return np.bincount(self.known.indices, weights, self.known.shape[1])

    @cached_property
    def n_rows(self) -> float:
        """Number of rows by their weights, added up as ``frequencies`` are: no rounding differs."""
        return float(np.bincount(np.zeros(len(self.weights), int), self.weights, 1)[0])

    @cached_property
    def by_column(self) -> sp.csc_array:
        """Rows of length one, (N, M), of some weight; without columns that are in too many rows."""
        rows = self.unit_rows(self.known)
        rows.data[self.weights[rows_of(rows)] == 0] = 0
        if self.max_rows is not None:
            rows.data[self.frequencies[rows.indices] > self.max_rows] = 0
        rows.eliminate_zeros()
        return sp.csc_array(rows)

    @cached_property
    def shares(self) -> Array:
        """Counts divided by the sums of their rows, (nnz,)."""
        sums = np.bincount(rows_of(self.known), self.known.data, self.known.shape[0])
        return self.known.data / np.maximum(sums, LEAST)[rows_of(self.known)]

    @cached_property
    def unigram(self) -> Array:
        counts = self.known.data * self.weights[rows_of(self.known)]
        totals = np.bincount(self.known.indices, counts, self.known.shape[1]) + 1.0
        return totals / totals.sum()

    def unit_rows(self, table: CSR) -> CSR:
        """Rows of log(1 + n) idf, of length one, without zeros: ``_nearest`` relies on that."""
        idf = np.log((self.n_rows + 1) / (self.frequencies + 1))
        values = np.log1p(table.data) * idf[table.indices]
        norms = np.sqrt(np.bincount(rows_of(table), values**2, table.shape[0]))
        values /= np.maximum(norms, LEAST)[rows_of(table)]
        rows = sp.csr_array((values, table.indices.copy(), table.indptr.copy()), shape=table.shape)
        rows.eliminate_zeros()
        return rows


@dataclass(frozen=True)
class NearestRows:
    """Topic-free predictions: the weighted average of the most similar training rows.

        P(y_j given x_i) = sum_l w_il n_lj / n_l

    The sum is over the ``n_neighbors`` training rows l with the largest cosines of log(1 + n) idf.
    Their weights w_il are proportional to the fourth power of the cosine. A row without similar
    rows is predicted by the unigram. The same idea underlies similarity-based smoothing [1]_ and
    nearest-neighbour language models [2]_. Read more in the :doc:`user guide </guide/memory>`.

    Parameters
    ----------
    known : (N, M) CSR array or RowIndex
        Counts of the training rows, or an index of them. Pass an index if you use the same rows
        several times. ``max_rows`` is then that of the index.
    rows : (n, M) CSR array, default=None
        Known counts of the rows to predict, without the tokens to be scored. None means the
        training rows.
    own : (n,) array of int, default=None
        Position of each of these rows among the training rows, so that a row is not its own
        neighbour. None or -1 for new rows.
    n_neighbors : int, default=50
        Number of neighbours.
    max_rows : int, default=None
        If set, columns that occur in more training rows than this are ignored in the cosines. This
        is faster and changes few neighbours, because the idf of such columns is small.
    n_jobs : int, default=None
        Number of threads, in joblib's conventions. Results do not depend on it.

    References
    ----------
    .. [1] I. Dagan, L. Lee and F. Pereira, Similarity-based models of word cooccurrence
       probabilities, Machine Learning 34, 43-69, 1999.
    .. [2] U. Khandelwal, O. Levy, D. Jurafsky, L. Zettlemoyer and M. Lewis, Generalization through
       memorization: Nearest neighbor language models, ICLR 2020.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from skcooc.heldout import NearestRows
    >>> known = sp.csr_array([[2.0, 1, 0, 0], [1, 2, 1, 0], [0, 0, 2, 3], [0, 0, 3, 1]])
    >>> NearestRows(known, n_neighbors=2).weights.toarray().round(1)
    array([[0., 1., 0., 0.],
           [1., 0., 0., 0.],
           [0., 0., 0., 1.],
           [0., 0., 1., 0.]])
    """

    known: CSR | RowIndex
    rows: CSR | None = None
    own: Array | None = None
    n_neighbors: int = 50
    max_rows: int | None = None
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        if self.n_neighbors < 1:
            raise ValueError(f"n_neighbors should be at least 1, got {self.n_neighbors}.")

    @cached_property
    def index(self) -> RowIndex:
        """The training rows, prepared for queries."""
        if isinstance(self.known, RowIndex):
            return self.known
        return RowIndex(self.known, self.max_rows)

    @cached_property
    def weights(self) -> CSR:
        """Weights of the neighbours of each row, (n, N). Rows sum to one, or to zero."""
        index = self.index
        N = index.known.shape[0]
        queries = index.unit_rows(index.known if self.rows is None else self.rows)
        positions = np.arange(N) if self.rows is None else self.own
        if positions is None:
            positions = np.full(queries.shape[0], -1)
        by_column = index.by_column
        columns = by_column.indptr, by_column.indices, by_column.data
        at = np.full((queries.shape[0], self.n_neighbors), -1, dtype=np.int64)
        cosines = np.zeros(at.shape)

        def find(part: slice) -> None:
            indptr = queries.indptr[part.start : part.stop + 1]
            rows = indptr, queries.indices, queries.data
            work = np.zeros(N), np.empty(N, dtype=np.int64)
            _nearest(*rows, *columns, *work, positions[part], at[part], cosines[part])

        self._for_parts(find, len(at))
        cosines **= SHARPNESS
        cosines /= np.maximum(cosines.sum(axis=1, keepdims=True), LEAST)
        mask = cosines > 0
        ends = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
        return sp.csr_array((cosines[mask], at[mask], ends), shape=(len(at), N))

    def cells(self, X: Block) -> Array:
        """Probabilities of the non-zero entries of X, (nnz,)."""
        train = self.index.known
        weights = self.weights
        table = X.table
        cells = np.zeros(len(table.indices))

        def fill(part: slice) -> None:
            ends = slice(part.start, part.stop + 1)
            of_rows = weights.indptr[ends], weights.indices, weights.data
            of_train = train.indptr, train.indices, self.index.shares
            mean = np.zeros(train.shape[1])
            _means_at(*of_rows, *of_train, mean, table.indptr[ends], table.indices, cells)

        self._for_parts(fill, weights.shape[0])
        without_neighbors = (np.diff(weights.indptr) == 0)[rows_of(table)]
        cells[without_neighbors] = self.index.unigram[table.indices[without_neighbors]]
        return cells

    def _for_parts(self, work: Callable[[slice], None], n_rows: int) -> None:
        parts = [slice(i, min(i + PART, n_rows)) for i in range(0, n_rows, PART)]
        n_jobs = min(effective_n_jobs(self.n_jobs), len(parts) or 1)
        Parallel(n_jobs, require="sharedmem")(delayed(work)(part) for part in parts)


@compiled
def _nearest(
    indptr: Array,
    indices: Array,
    data: Array,
    of_column: Array,
    rows: Array,
    values: Array,
    totals: Array,
    touched: Array,
    positions: Array,
    at: Array,
    cosines: Array,
) -> None:
    """Fill positions and cosines (n, k) of the nearest rows; ties go to the first.

    For each query row, cosines are added up over the lists of its columns: neither has zeros. The k
    largest are kept in a heap, the smallest on top. ``totals`` (N,), zeros, and ``touched`` (N,)
    are to work on.
    """
    k = at.shape[1]
    for i in range(len(indptr) - 1):
        n_touched = 0
        for c in range(indptr[i], indptr[i + 1]):
            j, value = indices[c], data[c]
            for r in range(of_column[j], of_column[j + 1]):
                row = rows[r]
                if totals[row] == 0:
                    touched[n_touched] = row
                    n_touched += 1
                totals[row] += value * values[r]
        size, best, heap = 0, cosines[i], at[i]
        for t in range(n_touched):
            row, cosine = touched[t], totals[touched[t]]
            totals[row] = 0
            if row == positions[i] or cosine <= 0:
                continue
            if size < k:  # up from the end of the heap
                place = size
                size += 1
                while place and _is_worse(cosine, row, best, heap, (place - 1) // 2):
                    up = (place - 1) // 2
                    best[place], heap[place] = best[up], heap[up]
                    place = up
            elif _is_worse(cosine, row, best, heap, 0):
                continue
            else:  # down from the top
                place = 0
                while 2 * place + 1 < k:
                    down = 2 * place + 1
                    if down + 1 < k and _is_worse(best[down + 1], heap[down + 1], best, heap, down):
                        down += 1
                    if _is_worse(cosine, row, best, heap, down):
                        break
                    best[place], heap[place] = best[down], heap[down]
                    place = down
            best[place], heap[place] = cosine, row


@compiled
def _is_worse(cosine: float, row: int, best: Array, heap: Array, place: int) -> bool:
    """Whether a row is less near than that at a place of the heap."""
    return cosine < best[place] or (cosine == best[place] and row > heap[place])


@compiled
def _means_at(
    indptr: Array,
    neighbors: Array,
    weights: Array,
    of_row: Array,
    columns: Array,
    shares: Array,
    mean: Array,
    wanted: Array,
    at: Array,
    cells: Array,
) -> None:
    """Fill in the weighted means of rows of shares at the wanted cells; ``mean`` (M,) are zeros."""
    for i in range(len(indptr) - 1):
        if wanted[i] == wanted[i + 1]:
            continue
        for n in range(indptr[i], indptr[i + 1]):
            for c in range(of_row[neighbors[n]], of_row[neighbors[n] + 1]):
                mean[columns[c]] += weights[n] * shares[c]
        for c in range(wanted[i], wanted[i + 1]):
            cells[c] = mean[at[c]]
        for n in range(indptr[i], indptr[i + 1]):
            for c in range(of_row[neighbors[n]], of_row[neighbors[n] + 1]):
                mean[columns[c]] = 0.0
