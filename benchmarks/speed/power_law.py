"""Made-up counts with the power laws of texts, of any size, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

BLOCK = 10_000  # rows of a block
OFFSET = 20.0  # of the power law: column j is met in proportion to 1 / (j + OFFSET)
N_TOPICS = 100  # each row draws half of its observations from one of them
SPREAD = 0.6  # standard deviation of the logarithm of a row's length


def power_law_block(number: int, n_rows: int, n_columns: int, mean_length: float) -> Any:
    """One block of rows; the same for the same number, wherever it is made.

    Columns follow Zipf's law, rows have log-normally distributed lengths. Half of a row's
    observations come from all columns alike, half from a topic, which moves the columns around.

    Parameters
    ----------
    number : int
        Which block.
    n_rows, n_columns : int
        Its shape.
    mean_length : float
        Mean number of observations of a row; the non-zeros are fewer, since some are repeated.

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


def power_law_counts(n_rows: int, n_columns: int, mean_length: float) -> Iterator[Any]:
    """The blocks of a table of counts, one after the other."""
    for number, first in enumerate(range(0, n_rows, BLOCK)):
        yield power_law_block(number, min(BLOCK, n_rows - first), n_columns, mean_length)
