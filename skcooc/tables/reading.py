"""Checks of everything that users can give as X, which become counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import validate_data

from skcooc.counts import (
    NUMBERS,
    CSRCounts,
    DiskCounts,
    NewRows,
    NewTriples,
    check_sparse_structure,
    check_total,
    column_types,
    explained,
    float_table,
    narrowed,
    refuse_containers,
)
from skcooc.heldout.validation import add_one, new_share
from skcooc.protocol import (
    CSR,
    Array,
    Block,
    Capability,
    Counts,
    Model,
    Params,
    RandomState,
    TableLike,
    TableWarning,
    warn,
)
from skcooc.protocol.scikit_learn import check_n_features, check_sample_weight, is_missing
from skcooc.tables import dyads
from skcooc.tables.blocks import CheckedBlocks, RowBlocks, check_row_blocks, load_on_workers
from skcooc.tables.disk import DiskTable
from skcooc.tables.doubts import doubts
from skcooc.tables.dyads import THREE_INDICES, Dyads, TableSchema, Tokens
from skcooc.tables.named import NamedCSR
from skcooc.tables.names import (
    check_index,
    column_names_of,
    find_names,
    row_names_of,
    same_names,
    unique_names,
)
from skcooc.tables.triads import Triads

if TYPE_CHECKING:
    from skcooc.counts.dask import DaskCounts

OTHER_NAMES = (
    "The feature names should match those that were passed during fit: X has other column names, "
    "or has them in another order."
)
SAMPLE_ROWS = 10_000  # of a table that is not in memory


def check_table(estimator: BaseEstimator, X: TableLike, *, reset: bool) -> CSR:
    """Turn counts into a CSR array of floats, (n, M); not copied if it is one already.

    With ``reset`` the estimator gets ``n_features_in_`` and ``feature_names_in_``, else X is
    compared with them. ValueError if counts are negative, not finite, or have another number of
    columns than fitted; TextsError if there are strings; TypeError if X is not in memory.
    """
    if is_collection(X):
        refuse_containers(X)  # of xarray, which are collections as well
        raise TypeError(
            f"{type(X).__name__} is a dask collection. Only fit, transform and predict of the "
            "estimators take it, as an array in blocks of rows. Elsewhere give its blocks, as in "
            "X.map_blocks(estimator.score_samples, dtype=float, drop_axis=1)."
        )
    if isinstance(X, Triads):
        raise TypeError(THREE_INDICES)
    if isinstance(X, RowBlocks | DiskTable):
        raise TypeError(
            f"{type(X).__name__} is a table in blocks. Only fit, transform and predict of the "
            "estimators take it. Elsewhere give its blocks, one at a time, as in "
            "[estimator.score_samples(block) for block in X]."
        )
    with explained(X):
        table = _canonical(estimator, X, reset)
        if not reset:
            _check_numbers_as_names(estimator, X)
    check_total(table.data.sum(dtype=np.float64))
    if reset and not isinstance(X, Dyads):  # of these it was said when they were made
        for message in doubts(table, row_names_of(X), column_names_of(X)):
            warn(message, TableWarning)
    return table


def _check_numbers_as_names(estimator: BaseEstimator, X: TableLike) -> None:
    """Compare column names that are numbers, here or in the fit: scikit-learn compares strings."""
    names = column_names_of(X)
    if names is None or (hasattr(estimator, "feature_names_in_") and isinstance(names[0], str)):
        return
    fitted = getattr(estimator, "column_names_in_", None)
    if fitted is None and set(names.tolist()) == set(range(len(names))):
        fitted = np.arange(len(names))  # of a frame that numbers its columns, or an array
    if not (fitted is None or same_names(fitted, names)):
        raise ValueError(OTHER_NAMES)


def _canonical(estimator: BaseEstimator, X: TableLike, reset: bool) -> CSR:
    integers = getattr(estimator, "_integers", np.float32)
    if isinstance(X, Dyads):
        table = X.to_csr()
        check_feature_names(estimator, X.column_names, reset)
        check_n_features(estimator, table, reset=reset)
        dtype = np.result_type(table.dtype, integers) if X.weights is None else table.dtype
        return table.astype(dtype, copy=False)
    options = {"accept_sparse": "csr", "dtype": NUMBERS, "ensure_non_negative": True}
    if isinstance(X, NamedCSR) and X.column_names is not None:  # scikit-learn sees no names of it
        check_feature_names(estimator, X.column_names, reset)
        checked = check_array(
            check_sparse_structure(X), estimator=estimator, input_name="X", **options
        )
        check_n_features(estimator, checked, reset=reset)
    else:
        checked = validate_data(estimator, check_sparse_structure(X), reset=reset, **options)
    if reset and hasattr(estimator, "feature_names_in_"):  # shared with the index of a frame
        estimator.feature_names_in_ = estimator.feature_names_in_.copy()
    table = float_table(checked, integers)
    return narrowed(table, integers) if _lists_integers(X) else table


def _lists_integers(X: TableLike) -> bool:
    """True for lists and data frames of integers, which scikit-learn makes float64."""
    if isinstance(X, list | tuple):
        return np.asarray(X).dtype.kind in "iub"
    types = column_types(X).values()
    return bool(types) and all(kind.is_integer() or str(kind) == "Boolean" for kind in types)


def is_collection(X: TableLike) -> bool:
    return hasattr(type(X), "__dask_graph__")


def is_out_of_core(X: TableLike) -> bool:
    return is_collection(X) or isinstance(X, RowBlocks | DiskTable)


def check_feature_names(estimator: BaseEstimator, names: Array | None, reset: bool) -> None:
    """Keep the column names of Dyads if they are strings, or compare them with those of the fit."""
    fitted = getattr(estimator, "feature_names_in_", None)
    if not reset and (names is None or fitted is None or np.array_equal(fitted, names)):
        return
    if names is not None and not all(isinstance(name, str) for name in names):
        names = None
    if not reset and names is not None:
        raise ValueError(OTHER_NAMES)
    if reset and fitted is not None:
        del estimator.feature_names_in_
    if reset and names is not None:
        estimator.feature_names_in_ = names.astype(object)


def check_weights(sample_weight: ArrayLike | None, X: CSR | Array, **options: bool) -> Array:
    if isinstance(sample_weight, Mapping):
        raise TypeError("sample_weight is a dict: give a list or a Series, with a weight per row.")
    return check_sample_weight(sample_weight, X, ensure_non_negative=True, **options)


@dataclass(frozen=True)
class Table:
    """A table of counts to fit."""

    counts: Counts  # all rows; of a table in blocks, those of the sample
    sample: Block  # rows on which hyper-parameters are tuned; in memory the counts themselves
    schema: TableSchema
    blocks: CheckedBlocks | None = None  # only of a table that is read block by block
    columns: Array | None = None  # (m,): places of those of the counts among all; None: all

    @property
    def in_memory(self) -> bool:
        return self.blocks is None and self.counts is self.sample

    def in_groups(self, row_groups: Array) -> Table:
        """Return the table, which is in memory, with the number of the group of each row, (N,)."""
        counts = self.sample.in_groups(row_groups)
        return replace(self, counts=counts, sample=counts)

    def occupied(self) -> Table:
        """Return the table without its empty columns; RowBlocks as they are.

        What is fitted to its counts then has these columns alone; the methods below add the others.
        """
        columns = np.flatnonzero(self.counts.column_sums)
        if self.blocks is not None or len(columns) == self.counts.shape[1]:
            return self
        counts = self.counts.within(columns)
        sample = cast(Block, counts) if self.in_memory else self.sample.within(columns)
        return replace(self, counts=counts, sample=sample, columns=columns)

    @property
    def n_columns(self) -> int:
        """Number of all columns."""
        return self.counts.shape[1] if self.columns is None else self.schema.shape[-1]

    def all_sums(self, X: Counts) -> Array:
        """Return the tokens of all columns in counts of this table, (M,)."""
        if self.columns is None:
            return X.column_sums
        sums = np.zeros(self.n_columns)
        sums[self.columns] = X.column_sums
        return sums

    def unigram(self, X: Counts) -> Array:
        """Return the add-one unigram of counts of this table, over all columns, (M,)."""
        return add_one(self.all_sums(X), X.mean_count_weight)

    def all_params(self, model: Model, params: Params, X: Counts) -> Params:
        """Return parameters for all columns, given those fitted to counts of this table."""
        if self.columns is None:
            return params
        share = new_share(model.column_prior, self.all_sums(X), X.mean_count_weight)
        return model.among(params, self.columns, self.n_columns, share)


def read(
    estimator: BaseEstimator,
    X: TableLike,
    sample_weight: ArrayLike | None = None,
    *,
    needs: Mapping[Capability, str] | None = None,
    continues: bool = False,
    searches: bool = True,
    random_state: RandomState = None,
) -> Table:
    """Check a table to fit: an array, Dyads, Triads, or one that is not in memory.

    The estimator gets ``n_features_in_`` and ``feature_names_in_``, or X is compared with them.
    Weights of tokens (Dyads) are counted into the table. A table in blocks that ``continues``
    has the columns of those fitted before. If ``searches``, a sample of rows on workers is fetched.

    ValueError if counts are negative, not finite, all zero or of other columns than before, or if
    the table lacks a capability; TypeError if X is a dask collection, but no array.
    """
    needs = needs or {}
    if "triples" in needs:
        return _read_triads(estimator, X, sample_weight)
    if isinstance(X, RowBlocks):
        check_needs(needs, CheckedBlocks.capabilities, "X cannot be read in blocks")
        return _read_blocks(estimator, X, sample_weight, not continues, random_state)
    if not is_out_of_core(X):
        return read_in_memory(estimator, X, sample_weight)
    counts = _counts_of(estimator, X, needs, sample_weight)
    n_rows = SAMPLE_ROWS if searches else 1
    sample = CSRCounts(counts.sample(n_rows, random_generator(random_state)))
    if searches and is_collection(X):  # a table on disk was doubted when it was written
        for message in doubts(sample.table):
            warn(message, TableWarning)
    return Table(counts, sample, TableSchema(counts.shape, column_names=column_names_of(X)).copy())


def read_rows(estimator: BaseEstimator, X: TableLike, *, scored: bool = False) -> NewRows:
    """Check new rows of a fitted estimator; ValueError if they have other columns.

    Warns of rows without tokens that the estimator knows: where there are any, or, if the rows are
    ``scored``, where all are so. Scores of such rows are zero, but their mixtures look like others.
    """
    rows, empty = read_new_rows(estimator, X)
    _warn_of_unknown_rows(empty, rows.shape[0], scored)
    return rows


def read_row_blocks(estimator: BaseEstimator, X: Iterable[CSR]) -> Iterator[NewRows]:
    """Check new rows block by block, as ``read_rows`` does; warns once, at the end."""
    positions: list[Array] = []
    n_rows = 0
    for block in X:
        rows, empty = read_new_rows(estimator, block)
        positions.append(n_rows + empty)
        n_rows += rows.shape[0]
        yield rows
    _warn_of_unknown_rows(np.concatenate(positions), n_rows, scored=False)


def read_new_rows(estimator: BaseEstimator, X: TableLike) -> tuple[NewRows, Array]:
    """Check new rows, and find those without tokens that the estimator knows; no warning."""
    table = check_table(estimator, X, reset=False)
    return NewRows(table), _rows_without_known_tokens(estimator, table)


def _warn_of_unknown_rows(rows: Array, n_rows: int, scored: bool) -> None:
    if len(rows) == n_rows > 0:
        warn(
            f"{name_unknown_rows(rows, n_rows)}: the result is that of an empty row, and means "
            "nothing. Mark it as unknown. If there should be counts, check that the columns of X "
            "are those of the fit, in the same order. Count new texts with the transform method of "
            "the fitted vectorizer."
        )
    elif len(rows) and not scored:
        warn(
            f"{name_unknown_rows(rows, n_rows)}: the result of such rows is that of an empty row, "
            "and means nothing. Leave them out, or mark them as unknown."
        )


def name_unknown_rows(rows: Array, n_rows: int) -> str:
    """The beginning of a message on rows at these positions, at least one.

    >>> name_unknown_rows(np.array([3]), 5)
    '1 of 5 rows has no counts in the columns of the fit, such as row 3'
    """
    if n_rows == 1:
        return "The row of X has no counts in the columns of the fit"
    if len(rows) == n_rows:
        return f"None of the {n_rows} rows of X has counts in the columns of the fit"
    return (
        f"{len(rows)} of {n_rows} rows {'have' if len(rows) > 1 else 'has'} no counts in the "
        f"columns of the fit, such as row {rows[0]}"
    )


def _rows_without_known_tokens(estimator: BaseEstimator, table: CSR) -> Array:
    """Return the rows that have no token in a column that tells components apart."""
    is_known = table.data > 0
    columns = getattr(estimator, "_columns", None)  # sorted
    if columns is not None:
        indices = np.unique(table.indices[is_known])
        places = np.searchsorted(columns, indices).clip(max=len(columns) - 1)
        new = indices[columns[places] != indices]
        components = estimator.components_[:, new]
        # Something may be known of columns without tokens: seeds, or expected counts.
        new = new[(components == components[0]).all(axis=0)]
        is_known &= ~np.isin(table.indices, new)
    n_known = np.concatenate([[0], np.cumsum(is_known)])
    return np.flatnonzero(np.diff(n_known[table.indptr]) == 0)


def as_counts(table: CSR, row_weights: Array | None = None) -> Block:
    return CSRCounts(table, row_weights)


def all_cells(n_rows: int, n_columns: int, dtype: DTypeLike) -> Block:
    """A table with one token in each cell, to predict all columns."""
    columns = np.tile(np.arange(n_columns, dtype=np.int32), n_rows)
    indptr = np.arange(n_rows + 1) * n_columns
    arrays = np.ones(len(columns), dtype=dtype), columns, indptr
    return CSRCounts(sp.csr_array(arrays, shape=(n_rows, n_columns)))


def check_same_table(fitted: TableSchema, X: Tokens, name: str) -> None:
    if not dyads.same_table(fitted, X.schema):
        advice = "Make X with like=train"
        if isinstance(X, Dyads):
            advice += "; tokens of new rows are scored as a matrix: X.to_csr()"
        raise ValueError(
            f"X has tokens of a table of shape {X.table_shape}, but {name} was fitted on a table "
            f"of shape {fitted.shape}, or with other names. {advice}."
        )


def check_triads(estimator: BaseEstimator, X: object) -> Triads:
    if not isinstance(X, Triads):
        raise TypeError(
            f"{type(estimator).__name__} takes tokens of three indices, skcooc.Triads; "
            f"got {type(X).__name__}."
        )
    return X


def check_same_triads(estimator: BaseEstimator, fitted: TableSchema, X: object) -> Triads:
    triads = check_triads(estimator, X)
    check_same_table(fitted, triads, type(estimator).__name__)
    return triads


def read_new_triads(
    estimator: BaseEstimator, fitted: TableSchema, X: object, *, scored: bool = False
) -> NewTriples:
    """Triads of new rows, whose two other ways are those of the table fitted; see ``read_rows``."""
    triads = check_triads(estimator, X)
    shape = triads.table_shape[0], *fitted.shape[1:]
    check_same_triads(estimator, replace(fitted, shape=shape, row_names=None), triads)
    rows = triads.to_counts().as_new()
    _warn_of_unknown_rows(np.flatnonzero(rows.row_sums == 0), shape[0], scored)
    return rows


def _read_triads(estimator: BaseEstimator, X: object, sample_weight: ArrayLike | None) -> Table:
    triads = check_triads(estimator, X)
    if sample_weight is not None:
        triads = triads.reweighted(check_weights(sample_weight, np.empty((len(triads), 0))))
    counts = triads.to_counts()
    if not counts.weighted_counts.any():
        raise _no_tokens(estimator, triads.table_shape)
    check_total(counts.weighted_counts.sum(dtype=np.float64))
    check_n_features(estimator, counts.table, reset=True)
    check_feature_names(estimator, triads.names[2], reset=True)
    return Table(counts, counts, triads.schema.copy())


def _no_tokens(estimator: BaseEstimator, shape: tuple[int, ...]) -> ValueError:
    return ValueError(
        f"Found array with 0 token(s) (shape={shape}) while a minimum of 1 is required by "
        f"{type(estimator).__name__}: all counts, or their weights, are zero."
    )


def read_in_memory(
    estimator: BaseEstimator,
    X: TableLike,
    sample_weight: ArrayLike | None = None,
    *,
    reset: bool = True,
    needs_tokens: bool = True,
) -> Table:
    """Check a table that has to be in memory; see ``check_table``."""
    if isinstance(X, Dyads) and sample_weight is not None:
        X = X.reweighted(check_weights(sample_weight, np.empty((len(X), 0))))
        sample_weight = None
    table = check_table(estimator, X, reset=reset)
    check_index(X, sample_weight=sample_weight)
    weights = None if sample_weight is None else check_weights(sample_weight, table)
    observed = table.data if weights is None else (table @ np.ones(table.shape[1])) * weights
    if needs_tokens and not observed.any():
        raise _no_tokens(estimator, table.shape)
    if weights is not None:
        check_total(observed.sum(dtype=np.float64))
    if isinstance(X, Dyads):
        schema = X.schema
    else:
        names = getattr(estimator, "feature_names_in_", column_names_of(X))
        schema = TableSchema(table.shape, row_names_of(X), names)
    seen = dyads.observed_cells(table)
    if sp.issparse(X):  # the user may write to its arrays
        seen = dyads.Cells(seen.indptr.copy(), seen.columns.copy())
    counts = CSRCounts(table, weights)
    return Table(counts, counts, replace(schema.copy(), seen=seen))


def read_batch(
    estimator: BaseEstimator,
    X: TableLike,
    sample_weight: ArrayLike | None = None,
    *,
    by_name: bool = False,
) -> Table | None:
    """Check further rows of a fitted estimator, which have its columns; None without tokens.

    With ``by_name`` they may have them in any order, lack some, and have new ones: these follow the
    known columns in the table, and in the names that the estimator gets. ValueError where there are
    no names, or some twice. Warns where there are no tokens, from which nothing is learnt.
    """
    fitted = None
    if by_name:
        fitted = _distinct(getattr(estimator, "column_names_in_", None), type(estimator).__name__)
    table = read_in_memory(estimator, X, sample_weight, reset=by_name, needs_tokens=False)
    if not table.sample.weighted_counts.any():
        remedy = "" if by_name else " To learn new columns, use partial_fit(X, by_name=True)."
        warn(
            f"partial_fit makes no step: the {table.sample.shape[0]} rows of X have no counts in "
            f"its {table.n_columns} columns.{remedy}"
        )
        return None
    if fitted is None:
        return table
    names = _distinct(table.schema.column_names, "X")
    unique_names(np.concatenate([fitted.astype(object), names.astype(object)]), "columns")
    places = find_names(fitted, names)
    new = places < 0
    if new.all():
        raise ValueError(
            f"by_name=True finds columns by their names, but none of the {len(names)} columns of "
            f"X, such as {names[0]!r}, is one of the {len(fitted)} fitted, such as {fitted[0]!r}. "
            "Check the spelling of the names, and whether rows and columns are exchanged."
        )
    places[new] = len(fitted) + np.arange(np.count_nonzero(new))
    columns = np.concatenate([fitted, names[new]])
    counts = table.sample.table
    arrays = counts.data, places[counts.indices], counts.indptr
    aligned = sp.csr_array(arrays, shape=(counts.shape[0], len(columns)))
    aligned.sort_indices()
    estimator.n_features_in_ = len(columns)
    check_feature_names(estimator, columns, reset=True)
    schema = replace(
        table.schema,
        shape=aligned.shape,
        column_names=columns,
        seen=dyads.observed_cells(aligned),
    )
    batch = CSRCounts(aligned, table.sample.weights)
    return Table(batch, batch, schema)


def _distinct(names: Array | None, owner: str) -> Array:
    """Return names of columns; ValueError where there are none, or some twice."""
    if names is None:
        raise ValueError(
            f"by_name=True finds columns by their names, but {owner} has none: give data frames, "
            "Dyads with names or counts of skcooc.NamedCounts to all calls, or set by_name=False."
        )
    if repeated := len(names) - len(unique_names(names, "columns")[0]):
        first = next(name for name, n in Counter(names.tolist()).items() if n > 1)
        raise ValueError(
            f"by_name=True needs distinct names of columns, but {repeated} of the {len(names)} "
            f"names of {owner} repeat others, such as {first!r}. Rename these columns, or add "
            "them up."
        )
    return names


def _counts_of(
    estimator: BaseEstimator,
    X: TableLike,
    needs: Mapping[Capability, str],
    sample_weight: ArrayLike | None,
) -> DaskCounts | DiskCounts:
    """Counts of a dask array or of a table on disk; sets the features of the estimator."""
    if sample_weight is not None:
        needs = {**needs, "weights": "sample_weight is not supported; set sample_weight=None"}
    counts: DaskCounts | DiskCounts
    if isinstance(X, DiskTable):
        check_needs(needs, DiskCounts.capabilities, "X cannot be fitted as a DiskTable")
        counts = X.counts
    else:
        from skcooc.counts.dask import DaskCounts  # imports dask

        check_row_blocks(X)
        check_needs(
            needs, DaskCounts.capabilities, "X cannot be fitted where it is, on the workers"
        )
        counts = load_on_workers(X, type(estimator).__name__)
        if not counts.column_sums.any():
            raise _no_tokens(estimator, counts.shape)
    estimator.n_features_in_ = counts.shape[1]
    check_feature_names(estimator, column_names_of(X), reset=True)
    check_total(float(np.sum(counts.column_sums)))
    return counts


def check_needs(
    needs: Mapping[Capability, str], capabilities: frozenset[Capability], problem: str
) -> None:
    for need, reason in needs.items():
        if need not in capabilities:
            raise ValueError(f"{problem}: {reason}.")


def _read_blocks(
    estimator: BaseEstimator,
    X: RowBlocks,
    sample_weight: ArrayLike | None,
    reset: bool,
    random_state: RandomState,
) -> Table:
    first_names = dict[str, Array | None]()  # of the first block

    def check(block: TableLike, reset: bool) -> CSR:
        first_names.setdefault("columns", column_names_of(block))
        return check_table(estimator, block, reset=reset)

    weights = None if sample_weight is None else np.asarray(sample_weight)
    check_block_weights = partial(check_weights, allow_all_zero_weights=True)
    blocks = CheckedBlocks(X, check, check_block_weights, weights, reset)
    sample, blocks = blocks.sampled(SAMPLE_ROWS, random_generator(random_state))
    check_total(float(np.sum(cast(Array, blocks.column_sums))))
    names = getattr(estimator, "feature_names_in_", first_names["columns"])
    schema = TableSchema((0, sample.shape[1]), column_names=names).copy()
    return Table(sample, sample, schema, blocks)


def random_generator(random_state: RandomState) -> np.random.Generator:
    seed = check_random_state(random_state).randint(2**31, size=1)
    return np.random.default_rng(seed.tolist()[0])


def row_groups(groups: ArrayLike, n_rows: int, labels: Array | None = None) -> tuple[Array, Array]:
    """Sorted labels of groups, (G,), and the number of each row, (n_rows,); -1 where it has none.

    Or the labels given. ValueError where there is not one group for each row.

    >>> row_groups(["b", "a", None, "b"], 4)
    (array(['a', 'b'], dtype=object), array([ 1,  0, -1,  1]))
    """
    if labels is not None:
        return labels, known_groups(groups, labels, n_rows)
    values = _check_groups(groups, n_rows)
    missing = is_missing(values)
    if missing.all():
        raise ValueError("All values of groups are missing: give labels.")
    try:
        labels, codes = np.unique(values[~missing], return_inverse=True)
    except TypeError:
        raise ValueError("groups has values of several types; make all of them strings.") from None
    all_codes = np.full(n_rows, -1)
    all_codes[~missing] = codes
    return labels, all_codes


def known_groups(groups: ArrayLike, labels: Array, n_rows: int) -> Array:
    """Number the groups of new rows, (n_rows,), as those fitted; -1 where one is missing or new."""
    values = _check_groups(groups, n_rows)
    positions = {label: g for g, label in enumerate(labels)}
    missing = is_missing(values)
    pairs = zip(values, missing, strict=True)
    codes = np.array([-1 if unknown else positions.get(value, -1) for value, unknown in pairs])
    new = values[(codes < 0) & ~missing]
    if len(new):
        warn(
            f"groups has values that were not fitted, such as {new[0]!r}: their {len(new)} row(s) "
            "are treated as rows without a group."
        )
    return codes.astype(np.intp)


def _check_groups(groups: ArrayLike, n_rows: int) -> Array:
    if isinstance(groups, np.ndarray) and groups.dtype.kind == "M":
        groups = groups.astype("M8[us]")  # as objects nanoseconds would be numbers, and days dates
    values = np.asarray(groups, dtype=object)
    if values.shape != (n_rows,):
        raise ValueError(
            f"groups has the shape {values.shape}; it must be ({n_rows},), one for each row of X."
        )
    return values
