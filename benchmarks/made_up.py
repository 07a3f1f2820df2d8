"""Made-up counts of any size, a block of rows at a time: like texts, like single cells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

BLOCK = 10_000  # rows of a block
OFFSET = 20.0  # of the power law: column j occurs in proportion to 1 / (j + OFFSET)
N_TOPICS = 100  # each row draws half of its tokens from one of them
SPREAD = 0.6  # standard deviation of the logarithm of a row's length

N_COLUMNS, LENGTH, NONZEROS_OF_A_ROW = 100_000, 130.0, 126  # of tables like texts

GENES, TYPES, ACTIVITIES, MOLECULES = 30_000, 25, 5, 1000  # of tables like single cells


def text_block(number: int, n_rows: int, n_columns: int, mean_length: float) -> Any:
    """One block of rows like texts, the same for the same number.

    Columns follow Zipf's law, lengths of rows are log-normal. Half of a row's tokens come from all
    columns alike, half from a topic, which shifts the columns.

    Parameters
    ----------
    number : int
        Number of the block.
    n_rows, n_columns : int
        Its shape.
    mean_length : float
        Mean number of tokens of a row; the non-zeros are fewer, since some are repeated.

    Returns
    -------
    X : CSR array of shape (n_rows, n_columns), float32
    """
    rng = np.random.default_rng([0, number])
    lengths = mean_length * rng.lognormal(-(SPREAD**2) / 2, SPREAD, n_rows)
    lengths = np.maximum(1, lengths.astype(np.int64))
    rows = np.repeat(np.arange(n_rows, dtype=np.int32), lengths)
    growth = np.log((n_columns + OFFSET) / OFFSET)
    columns = (OFFSET * np.expm1(growth * rng.random(len(rows), dtype=np.float32))).astype(np.int64)
    topics = rng.integers(N_TOPICS, size=n_rows)[rows] + 1
    moved = (columns * 7919 + topics * (n_columns // N_TOPICS)) % n_columns
    columns = np.where(rng.random(len(rows), dtype=np.float32) < 0.5, columns, moved)
    columns = np.minimum(columns, n_columns - 1).astype(np.int32)
    ones = np.ones(len(rows), dtype=np.float32)
    X = sp.csr_array((ones, (rows, columns)), shape=(n_rows, n_columns))
    X.sum_duplicates()
    return X


def texts(millions: float) -> Iterator[Any]:
    """Blocks of a table like texts with about so many million non-zeros."""
    n_rows = round(millions * 1e6 / NONZEROS_OF_A_ROW)
    for number, first in enumerate(range(0, n_rows, BLOCK)):
        yield text_block(number, min(BLOCK, n_rows - first), N_COLUMNS, LENGTH)


def text_table(millions: float) -> Any:
    """The same as one CSR array; filled block by block, never held twice."""
    room = int(millions * 1e6 / NONZEROS_OF_A_ROW * LENGTH) + BLOCK
    data, indices = np.empty(room, dtype=np.float32), np.empty(room, dtype=np.int32)
    indptr, filled = [np.zeros(1, dtype=np.int32)], 0
    for block in texts(millions):
        data[filled : filled + block.nnz] = block.data
        indices[filled : filled + block.nnz] = block.indices
        indptr.append(block.indptr[1:].astype(np.int32) + filled)
        filled += block.nnz
    ends = np.concatenate(indptr)
    return sp.csr_array((data[:filled], indices[:filled], ends), shape=(len(ends) - 1, N_COLUMNS))


def cells(millions: float) -> Iterator[sp.csr_array]:
    """Blocks of 10,000 single cells by 30,000 genes with about so many million non-zeros.

    A cell has one of 25 types and, with probability 0.35, one of five activities; each of these
    programmes raises one gene in forty.
    """
    cumulated = _programmes()
    for number in range(max(1, round(millions / 9.77))):
        rng = np.random.default_rng((1, number))
        share = np.where(rng.random(BLOCK) < 0.35, rng.uniform(0.1, 0.7, BLOCK), 0.0)
        kinds = rng.integers(TYPES, size=BLOCK)
        activities = rng.integers(TYPES, TYPES + ACTIVITIES, size=BLOCK)
        sizes = rng.poisson(rng.lognormal(np.log(MOLECULES), 0.3, BLOCK))
        rows = np.repeat(np.arange(BLOCK, dtype=np.int32), sizes)
        active = rng.random(len(rows)) < share[rows]
        source, drawn = np.where(active, activities[rows], kinds[rows]), rng.random(len(rows))
        genes = np.empty(len(rows), dtype=np.int32)
        for k in range(TYPES + ACTIVITIES):
            genes[source == k] = np.searchsorted(cumulated[k], drawn[source == k])
        counts = np.ones(len(rows), dtype=np.float32)
        where = rows, np.minimum(genes, GENES - 1)
        yield sp.csr_array(sp.coo_array((counts, where), shape=(BLOCK, GENES)))


def _programmes() -> np.ndarray:
    rng = np.random.default_rng(0)
    levels = np.tile(rng.gamma(0.6, 1 / 0.3, GENES), (TYPES + ACTIVITIES, 1))
    raised = rng.random(levels.shape) < 0.025
    levels[raised] *= np.maximum(rng.lognormal(1.0, 1.0, int(raised.sum())), 1)
    return np.cumsum(levels / levels.sum(axis=1, keepdims=True), axis=1)
