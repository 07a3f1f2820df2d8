"""What a user gives becomes checked counts. Here and in `checks` alone it is asked what X is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_n_features

from skcooc.counts import CSRCounts, DiskCounts, NewRows, NewTriples, check_total
from skcooc.protocol import CSR, Array, Block, Counts, Need, RandomState, TableLike
from skcooc.tables.blocks import CheckedBlocks, RowBlocks
from skcooc.tables.checks import check_names, check_table, check_weights, is_collection
from skcooc.tables.dask import check_needs, counts_of
from skcooc.tables.disk import DiskTable
from skcooc.tables.dyads import Dyads
from skcooc.tables.frames import Frame, cells_of, same_table
from skcooc.tables.triads import Triads

SAMPLE_ROWS = 10_000  # of a table that is not in memory


@dataclass(frozen=True)
class Table:
    """A table of counts that is to be fitted."""

    counts: Counts  # all rows, wherever they lie; of a table in blocks, those of the sample
    sample: Block  # rows on which temperatures are chosen; in memory the counts themselves
    frame: Frame  # its shape and names
    blocks: CheckedBlocks | None = None  # of a table that is read block by block

    @property
    def in_memory(self) -> bool:
        """Whether all rows are here."""
        return self.blocks is None and self.counts is self.sample


def read(
    estimator: BaseEstimator,
    X: TableLike,
    sample_weight: ArrayLike | None = None,
    *,
    needs: Mapping[Need, str] | None = None,
    continues: bool = False,
    searches: bool = True,
    random_state: RandomState = None,
) -> Table:
    """Check a table that is to be fitted: an array, Dyads, Triads, or one that is elsewhere.

    The estimator gets ``n_features_in_`` and ``feature_names_in_``, or is compared with them.
    Weights of observations (Dyads) are counted into the table. A table in blocks that ``continues``
    has the columns of those fitted before. Where temperatures are searched, rows on workers are
    drawn and brought here.

    ValueError where counts are negative, not finite, all zero or of other columns than before, or
    where the table does not offer what is needed; TypeError where X is a dask collection, but no
    array.
    """
    if "triples" in (needs or {}):
        return _read_triads(estimator, X, sample_weight)
    if is_collection(X) or isinstance(X, DiskTable):
        lacking = dict(needs or {})
        if sample_weight is not None:
            lacking["weights"] = "sample_weight is not supported; it needs None"
        counts = counts_of(estimator, X, lacking) if is_collection(X) else _on_disk(X, lacking)
        estimator.n_features_in_ = counts.shape[1]
        vars(estimator).pop("feature_names_in_", None)
        check_total(float(np.sum(counts.column_sums)))
        n_rows = SAMPLE_ROWS if searches else 1
        sample = CSRCounts(counts.sample(n_rows, seeded(random_state)))
        return Table(counts, sample, Frame(counts.shape))
    if isinstance(X, RowBlocks):
        check_needs(needs or {}, CheckedBlocks.offers, "X cannot be read in blocks")
        return _in_blocks(estimator, X, sample_weight, not continues, random_state)
    return read_in_memory(estimator, X, sample_weight)


def read_rows(estimator: BaseEstimator, X: TableLike) -> NewRows:
    """Check rows for a fitted estimator."""
    return NewRows(check_table(estimator, X, reset=False))


def as_counts(table: CSR) -> Block:
    """A checked table, with the products that predictions need of it."""
    return CSRCounts(table)


def everywhere(n_rows: int, n_columns: int, dtype: DTypeLike) -> Block:
    """One observation in each cell, (n_rows, n_columns): where all columns are asked for."""
    columns = np.tile(np.arange(n_columns, dtype=np.int32), n_rows)
    indptr = np.arange(n_rows + 1) * n_columns
    arrays = np.ones(len(columns), dtype=dtype), columns, indptr
    return CSRCounts(sp.csr_array(arrays, shape=(n_rows, n_columns)))


def check_same_table(fitted: Frame, X: Dyads, name: str) -> None:
    """Raise ValueError where observations belong to another table than the one fitted."""
    if not same_table(fitted, X.frame):
        raise ValueError(
            f"X holds observations of a table of shape {X.table_shape}, but {name} was fitted on a "
            f"table of shape {fitted.shape}, or with other names. Observations of new rows are "
            "scored as a matrix: X.to_csr()."
        )


def check_triads(estimator: BaseEstimator, X: object) -> Triads:
    """Triads; TypeError where X is something else."""
    if not isinstance(X, Triads):
        raise TypeError(
            f"{type(estimator).__name__} takes observations of three indices, skcooc.Triads; got "
            f"{type(X).__name__}."
        )
    return X


def check_same_triads(estimator: BaseEstimator, fitted: Frame, X: object) -> Triads:
    """Triads of the table fitted; ValueError where they are of another, TypeError if no Triads."""
    triads = check_triads(estimator, X)
    if not same_table(fitted, triads.frame):
        raise ValueError(
            f"X holds observations of a table of shape {triads.table_shape}, but "
            f"{type(estimator).__name__} was fitted on a table of shape {fitted.shape}, or with "
            "other names."
        )
    return triads


def read_new_triads(estimator: BaseEstimator, fitted: Frame, X: object) -> NewTriples:
    """Triads of other rows, but the same two other ways, as the table fitted; see above."""
    triads = check_triads(estimator, X)
    shape = triads.table_shape[0], *fitted.shape[1:]
    check_same_triads(estimator, fitted._replace(shape=shape, row_names=None), triads)
    return triads.to_counts().as_new()


def _read_triads(estimator: BaseEstimator, X: object, sample_weight: ArrayLike | None) -> Table:
    """Check Triads that are to be fitted."""
    triads = check_triads(estimator, X)
    if sample_weight is not None:
        triads = triads.reweighted(check_weights(sample_weight, np.empty((len(triads), 0))))
    counts = triads.to_counts()
    if not counts.observations.any():
        raise ValueError(
            f"Found array with 0 observation(s) (shape={triads.table_shape}) while a minimum of 1 "
            f"is required by {type(estimator).__name__}: all counts, or their weights, are zero."
        )
    check_total(counts.observations.sum(dtype=np.float64))
    _check_n_features(estimator, counts.table, reset=True)
    check_names(estimator, triads.names[2], reset=True)
    return Table(counts, counts, triads.frame)


def read_in_memory(
    estimator: BaseEstimator,
    X: TableLike,
    sample_weight: ArrayLike | None = None,
    *,
    reset: bool = True,
) -> Table:
    """Check a table that has to be in memory; without ``reset`` it goes on from those before."""
    if isinstance(X, Dyads) and sample_weight is not None:
        X, sample_weight = X.reweighted(check_weights(sample_weight, np.empty((len(X), 0)))), None
    table = check_table(estimator, X, reset=reset)
    weights = None if sample_weight is None else check_weights(sample_weight, table)
    observed = table.data if weights is None else (table @ np.ones(table.shape[1])) * weights
    if not observed.any():
        raise ValueError(
            f"Found array with 0 observation(s) (shape={table.shape}) while a minimum of 1 is "
            f"required by {type(estimator).__name__}: all counts, or their weights, are zero."
        )
    if weights is not None:
        check_total(observed.sum(dtype=np.float64))
    frame = X.frame if isinstance(X, Dyads) else _frame(estimator, table.shape, _row_names(X))
    counts = CSRCounts(table, weights)
    return Table(counts, counts, frame._replace(seen=cells_of(table)))


def _on_disk(X: DiskTable, needs: Mapping[Need, str]) -> DiskCounts:
    check_needs(needs, DiskCounts.offers, "X cannot be fitted as a DiskTable")
    return X.counts


def _in_blocks(
    estimator: BaseEstimator,
    X: RowBlocks,
    sample_weight: ArrayLike | None,
    reset: bool,
    random_state: RandomState,
) -> Table:
    def check(block: TableLike, reset: bool) -> CSR:
        return check_table(estimator, block, reset=reset)

    weights = None if sample_weight is None else np.asarray(sample_weight)
    some_zero = partial(check_weights, allow_all_zero_weights=True)
    blocks = CheckedBlocks(X, check, some_zero, weights, reset)
    sample, blocks = blocks.sampled(SAMPLE_ROWS, seeded(random_state))
    check_total(float(np.sum(cast(Array, blocks.column_sums))))
    return Table(sample, sample, _frame(estimator, (0, sample.shape[1])), blocks)


def seeded(random_state: RandomState) -> np.random.Generator:
    """A generator of numpy's newer kind."""
    seed = check_random_state(random_state).randint(2**31, size=1)
    return np.random.default_rng(seed.tolist()[0])


def _frame(
    estimator: BaseEstimator, shape: tuple[int, int], row_names: Array | None = None
) -> Frame:
    return Frame(shape, row_names, getattr(estimator, "feature_names_in_", None))


def _row_names(X: TableLike) -> Array | None:
    """The index of a data frame where it holds strings, as names of columns have to."""
    names = X.index if hasattr(X, "iloc") else ()
    strings = len(names) and all(isinstance(name, str) for name in names)
    return np.asarray(names, dtype=object) if strings else None
