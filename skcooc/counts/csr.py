"""Counts in memory: checks of sparse arrays, and a block of rows with all its passes."""

from __future__ import annotations

import copy
import re
from builtins import map as serial_map
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike
from sklearn.utils import check_array

from skcooc.counts.lanes import aligned_array, power
from skcooc.counts.passes import FactorProducts, Views, zeros_view
from skcooc.counts.thinning import draw, thin
from skcooc.protocol import (
    CSR,
    Array,
    Capability,
    FoldIn,
    Map,
    P,
    Rows,
    RowSample,
    S,
    Statistics,
    T,
    refuse_objects,
)
from skcooc.protocol.scikit_learn import TOO_LARGE
from skcooc.protocol.subnormals import flushed_subnormals

NUMBERS = [np.float64, np.float32, *map(np.dtype, "?bhilqBHILQ")]  # others become the first
OF_ANNDATA = "adata.X, or fit by skcooc.anndata.fit_topics(adata, model, layer='counts')"
MAX_SINGLE = 2**24  # up to here float32 holds all integers
MIN_TOTAL, MAX_TOTAL = 1e-30, 2.0**53  # sums of counts: from 2^53 on, one more is lost in float64
WORTH_A_THREAD = 2**18  # numbers to work on, below which a thread costs more than it saves
N_PARTS = 8  # of the rows, whatever the number of threads
MIN_PART = 64  # rows of a part, at least: smaller ones cost more than they save
# Capabilities of whole tables that are not in memory.
OUT_OF_CORE: frozenset[Capability] = frozenset(("paths", "each step", "row states"))

TEXTS = (
    "X holds texts or other strings, not counts: count the words of texts with a vectorizer, such "
    "as scikit-learn's CountVectorizer; for pairs, such as user and item, take Dyads.from_frame."
)
REMEDIES = (  # parts of messages of scikit-learn and NumPy, which values are meant, what to do
    (
        "Negative values",
        lambda x: x < 0,
        "Counts must be 0 or more. From HashingVectorizer? Use alternate_sign=False. Centred, "
        "scaled or embedded? Give the counts themselves.",
    ),
    (
        "contains NaN",
        np.isnan,
        "A pair that never occurs has the count 0: X.fillna(0), numpy.nan_to_num(X), or "
        "pivot_table(..., fill_value=0).",
    ),
    ("infinity or a value", np.isinf, "Logarithms of 0? Give the counts themselves."),
    (
        "array element with a sequence|with dim 3",
        None,
        "Count lists of tokens by CountVectorizer(analyzer=list), and gensim's pairs of id and "
        "count by gensim.matutils.corpus2csc(X).T.",
    ),
    (
        "real number, not '(?!dict|[a-z_]*generator)",
        None,
        "X should be a table of counts: an array, a sparse array or a data frame. Of a data set "
        "of skcooc.datasets, give its X, or count its data, which are texts.",
    ),
    (
        "Expected 2D (array|input)",
        None,
        "X is a table of counts, with a row for each document and a column for each word.",
    ),
    ("not 'dict'", None, "Dicts of counts become a table by scikit-learn's DictVectorizer."),
    ("not '[a-z_]*generator'", None, "Give rows of counts: a list or an array."),
    (
        "features, but .* is expecting",
        None,
        "Count new texts by transform of the vectorizer that was fitted. If rows and columns are "
        "exchanged, give X.T.",
    ),
    (
        "feature names should match",
        None,
        "Take the columns of the fit, with 0 where one is missing: "
        "X.reindex(columns=model.column_names_in_, fill_value=0); Dyads take like=train.",
    ),
)


class TextsError(ValueError):
    """X holds texts or other strings instead of counts."""


@contextmanager
def explained(X: Any) -> Iterator[None]:
    """Say what to do where scikit-learn or NumPy refuse X, with the number of invalid values."""
    try:
        yield
    except OverflowError:
        raise ValueError(f"X {TOO_LARGE}") from None
    except (TypeError, ValueError) as error:
        message = re.split(r"\n\w+ does not accept missing| This means", str(error))[0]
        message = message.removesuffix(".")
        if re.search(r"string to float|bytes/strings|^array=\[b?['\"]", message, re.MULTILINE):
            raise TextsError(f"{TEXTS}{_without_numbers(X)}") from None  # without the text itself
        for pattern, is_invalid, remedy in REMEDIES:
            if re.search(pattern, message):
                n = "" if is_invalid is None else _share_of_values(X, is_invalid)
                kind = TypeError if isinstance(error, TypeError) else ValueError
                end = "" if message.endswith(("\n", ". ")) else ". "
                raise kind(f"{message}{end}{n}{remedy}{_without_numbers(X)}") from None
        raise


def _share_of_values(X: Any, is_invalid: Callable[[Array], Array]) -> str:
    options = {"ensure_all_finite": False, "ensure_2d": False, "allow_nd": True}
    checked = check_array(X, accept_sparse=True, dtype=np.float64, **options)
    values = checked.tocoo().data if sp.issparse(checked) else checked
    return f"It has {np.count_nonzero(is_invalid(values)):,} such values, of {values.size:,}. "


def _without_numbers(X: Any) -> str:
    """Return a remedy that names the columns of a data frame that hold no numbers, if some do."""
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return ""
    names = [name for name in X.columns if _kind(X[name]) not in "biuf"]
    return (
        f" No numbers are in {_few(names)}: leave these columns out, if they are no pairs; "
        "categories, such as answers, become counts by scikit-learn's OneHotEncoder." * bool(names)
    )


def _few(names: list[Any]) -> str:
    return f"{str(names[:3])[:-1]}, ...]" if len(names) > 3 else f"{names}"


def _kind(column: Any) -> str:
    dtype = getattr(column, "dtype", None)
    return getattr(dtype, "kind", np.asarray(column).dtype.kind)


def column_types(X: Any) -> Mapping[str, Any]:
    """Types of the columns of a data frame as narwhals has them; empty if X is something else."""
    if isinstance(X, list | tuple | np.ndarray) or sp.issparse(X):
        return {}
    import narwhals.stable.v2 as narwhals  # here, for it takes a while to import

    frame = narwhals.from_native(X, pass_through=True)
    if isinstance(frame, narwhals.LazyFrame):
        raise TypeError(f"{type(X).__name__} is not in memory: give X.collect().")
    return frame.schema if isinstance(frame, narwhals.DataFrame) else {}


def check_sparse_structure(X: Any, name: str = "X") -> Any:
    """X in native byte order; ValueError if indices of a sparse array do not fit its shape.

    Compiled loops, and most of SciPy, would read and write anywhere in memory. Arrays are shared,
    not copied. TypeError if X is an AnnData or a lazy frame, or has columns of dates. ValueError if
    cells are masked: they would be read.
    """
    refuse_objects(X, name, "counts", of_anndata=OF_ANNDATA)
    if dates := [column for column, kind in column_types(X).items() if kind.is_temporal()]:
        raise TypeError(
            f"{name} holds dates or times, not counts, in {_few(dates)}: leave these columns out."
        )
    if getattr(getattr(X, "dtype", None), "kind", None) in ("m", "M"):
        raise ValueError(f"{name} holds dates or times ({X.dtype}), not counts: count them first.")
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError(f"{name} has masked cells, which are unknown: give {name}.filled(0).")
    if isinstance(X, np.ndarray) and not X.dtype.isnative:
        return X.astype(X.dtype.newbyteorder("="))
    if not sp.issparse(X):
        return X
    try:
        X = _with_checked_arrays(X)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise ValueError(
            f"{name} is a damaged sparse array, whose indices do not fit its shape: {error}."
        ) from error
    if X.format == "coo" and X.dtype.kind in "iub" and X.dtype.itemsize < 8:
        X.data = X.data.astype(np.int64)  # SciPy adds repeated cells in the type given
    return X


def _with_checked_arrays(X: Any) -> Any:
    """Another sparse array that shares the arrays of X; of lists or a dict a CSR array.

    Each of these errors means damage. SciPy looks at ``indptr`` only if its last entry is positive,
    and reads and writes anywhere if lists, blocks or diagonals have other lengths than expected.
    """
    if X.format == "lil":
        for columns, values in zip(X.rows, X.data, strict=True):
            if len(columns) != len(values):
                raise ValueError(f"a row has {len(columns)} columns and {len(values)} values")
    X = X.tocsr() if X.format in ("lil", "dok") else copy.copy(X)
    if X.format == "coo":
        indices = X.coords
    else:
        indices = (X.offsets,) if X.format == "dia" else (X.indptr, X.indices)
    if not all(isinstance(array, np.ndarray) for array in (X.data, *indices)):
        raise ValueError("some are no arrays")
    if not all(array.dtype.kind in "iu" for array in indices):
        raise ValueError("some are no integers")
    if not X.dtype.isnative:
        X.data = X.data.astype(X.dtype.newbyteorder("="))
    if X.format == "coo":
        sp.coo_array((X.data, X.coords), shape=X.shape)
    elif X.format == "dia":
        sp.dia_array((X.data, X.offsets), shape=X.shape)
    else:
        if X.format == "bsr" and (0 in X.data.shape[1:] or np.mod(X.shape, X.blocksize).any()):
            raise ValueError(f"it cannot be divided into blocks of shape {X.data.shape[1:]}")
        if X.indptr[:1].any() or (X.indptr[1:] < X.indptr[:-1]).any():
            raise ValueError("indptr should begin with 0 and never fall")
        X.check_format(full_check=True)  # also that it ends within the indices and values
    return X


def check_block(X: Any, **options: Any) -> Any:
    """Checked counts, an array or in CSR form, that may have no rows; ValueError as for X."""
    with explained(X):
        return check_array(
            check_sparse_structure(X),
            accept_sparse="csr",
            dtype=NUMBERS if hasattr(X, "dtype") else "numeric",  # lists of integers stay so
            ensure_non_negative=np.shape(X)[:1] != (0,),
            ensure_min_samples=0,
            input_name="X",
            **options,
        )


def checked_copy(X: Any, dtype: Any) -> CSR:
    """Copy of checked counts, without repeated cells and stored zeros; ValueError as for X."""
    with explained(X):
        options = {"accept_sparse": "csr", "dtype": dtype, "ensure_non_negative": True}
        checked = check_array(check_sparse_structure(X), input_name="X", **options)
    table = sp.csr_array(checked, copy=True)
    table.sum_duplicates()
    table.eliminate_zeros()
    return table


def float_table(X: Any, integers: DTypeLike = np.float32) -> CSR:
    """A CSR array of floats without repeated cells, whose parts would be held out one by one.

    Float32 and float64 stay as they are. Integers up to 2^24 get the type given, as float32
    holds them exactly. All else becomes float64.
    """
    table = sp.csr_array(X if X.dtype in (np.float32, np.float64) else X.astype(np.float64))
    if not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    return narrowed(table, integers) if X.dtype.kind in "iub" else table


def narrowed(table: CSR, dtype: DTypeLike = np.float32) -> CSR:
    """The table in the type given, or as it is if a count exceeds 2^24."""
    return table.astype(dtype) if table.data.max(initial=0) <= MAX_SINGLE else table


def check_total(total: float) -> None:
    if total and not MIN_TOTAL <= total <= MAX_TOTAL:
        raise ValueError(
            f"The weighted counts of X add up to {total:.3g}; they must add up to a number "
            f"from {MIN_TOTAL:g} to 2^53 = {MAX_TOTAL:.3g}, above which floating point numbers "
            "cannot count single tokens. Multiply X by a constant."
        )


def tree_sum(add: Callable[[T, T], T], parts: Sequence[T]) -> T:
    """Sum in a binary tree that depends on the number of parts: ((a + b) + (c + d)) + e."""
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        rest = parts[len(parts) - len(parts) % 2 :]
        parts = [*(add(*pair) for pair in pairs), *rest]
    return parts[0]


def add_statistics(one: Statistics, other: Statistics) -> Statistics:
    return type(one)(*(mine + its for mine, its in zip(one, other, strict=True)))


def mean_weight(total: float, n_tokens: float) -> float:
    return total / n_tokens if n_tokens else 1.0


class CSRCounts(FactorProducts):
    """A block of rows of a count matrix (n, M), float32 or float64, with weights of its rows, (n,).

    Rows may be in groups: ``row_groups`` (n,) are their numbers from 0, or -1 for none.
    X is never written to, nor copied, except for 64-bit indices where 32 bits suffice. Indices need
    not be sorted, entries may be zero. A pass is cut into a range for each of ``n_threads``, which
    ``map``, such as that of a thread pool, runs in parallel; results are bitwise the same for all.
    """

    row_groups: Array | None = None  # (n,); None: they are in none
    _by_group: Array | None = None

    def __init__(
        self, X: CSR, row_weights: Array | None = None, *, n_threads: int = 1, map: Map = serial_map
    ) -> None:
        self.shape: tuple[int, int] = X.shape
        # Loops are compiled for each type: one of them, unless there are 2^31 non-zeros.
        index = np.int32 if max(X.data.size, *X.shape) < 2**31 else np.int64
        self.indptr = X.indptr.astype(index, copy=False)
        self.indices = X.indices.astype(index, copy=False)
        self.data = X.data
        self.weights = row_weights
        self.n_threads = n_threads
        self.map_ranges = map
        self.views = Views(self)  # shared by copies

    @cached_property
    def row_sums(self) -> Array:
        return self.sum_rows(self.data)

    @cached_property
    def mean_count_weight(self) -> float:
        return mean_weight(float(np.sum(self.row_sums * self.row_weights)), self.n_tokens)

    @property
    def n_tokens(self) -> float:
        """sum_ij ceil(n_ij), rows by their weights."""
        return float(np.sum(self.sum_rows(np.ceil(self.data)) * self.row_weights))

    def sum_rows(self, cells: Array) -> Array:
        sums = np.zeros(self.shape[0])
        occupied = np.flatnonzero(np.diff(self.indptr))
        if occupied.size:
            sums[occupied] = np.add.reduceat(cells, self.indptr[occupied], dtype=np.float64)
        return sums

    @cached_property
    def mass(self) -> float:
        return float(np.sum(self.column_sums))

    def n_log_n(self, axis: Literal[0, 1]) -> Array:
        counts = self.data.astype(np.float64)
        terms = np.log(np.where(counts > 0, counts, 1))
        terms *= self.weighted_counts if axis == 0 else counts
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))
        places = self.indices if axis == 0 else rows
        return np.bincount(places, weights=terms, minlength=self.shape[1 - axis])

    @cached_property
    def column_sums(self) -> Array:
        return np.asarray(self.table.T @ self.row_weights)

    @flushed_subnormals()
    def expect(self, model: FoldIn[P, S], params: P, rows: Rows, beta: float) -> tuple[Rows, S]:
        return model.expect(self, params, rows, beta)

    def array(self, values: Array) -> Array:
        return np.asarray(values)

    def map_row_ranges(
        self, function: Callable[..., object], *arrays: Array, out: Array | None = None
    ) -> Array:
        # In C order, whatever the arrays have: so that no product has to copy it.
        out = aligned_array(arrays[0].shape, arrays[0].dtype) if out is None else out
        n_rows, n_ranges = len(out), self.n_ranges_for(out.size)
        ends = [n_rows * r // n_ranges for r in range(n_ranges + 1)]
        ranges = [tuple(array[i:j] for array in (*arrays, out)) for i, j in pairwise(ends)]
        self.run_each(function, ranges, out.size)
        return out

    def map_rows(
        self, function: Callable[..., Rows], *states: Rows, out: Rows | None = None
    ) -> Rows:
        def fill(*arrays: Array) -> None:
            *these, out = arrays
            out[:] = function(*these)

        return self.map_row_ranges(fill, *states, out=out)

    def map_blocks(self, function: Callable[..., Rows], *states: Rows) -> Rows:
        return function(self, *states)

    def total(self, function: Callable[..., Array], *states: Rows) -> Array:
        return function(self, *states)

    def collect_rows(self, states: Rows) -> Array:
        return states

    def power(self, P: Array, exponent: float) -> Array:
        return self.map_row_ranges(lambda some, out: power(some, exponent, out), P)

    def map_slices(self, function: Callable[[int, int], T]) -> list[T]:
        n_rows = self.shape[0]
        height = max(MIN_PART, -(-n_rows // N_PARTS))
        parts = [(start, min(start + height, n_rows)) for start in range(0, n_rows, height)]
        return list(self.map_ranges(lambda part: flushed_subnormals()(function)(*part), parts))

    def with_threads(self, n_threads: int, map: Map) -> Self:
        new = copy.copy(self)
        new.n_threads, new.map_ranges = n_threads, map
        return new

    def part_of(self, mass: float) -> Self:
        new = copy.copy(self)
        new.mass = mass
        return new

    n_blocks = 1

    def with_progress(self, after_block: Callable[[], None]) -> Self:
        return self

    def replaced(self, counts: Array) -> Self:
        return self._same_rows(sp.csr_array((counts, self.indices, self.indptr), shape=self.shape))

    def draw(self, n_rows: int, seed: int) -> RowSample:
        return draw(self.table, self.row_weights, n_rows, seed)

    def take(self, rows: Array) -> Self:
        weights = None if self.weights is None else self.weights[rows]
        groups = None if self.row_groups is None else self.row_groups[rows]
        return self._like(self.table[rows], weights).in_groups(groups)

    def occupied(self) -> tuple[Self, Array]:
        seen = np.zeros(self.shape[1], dtype=bool)
        seen[self.indices] = True
        columns, places = np.flatnonzero(seen), np.cumsum(seen, dtype=self.indices.dtype) - 1
        shape = self.shape[0], len(columns)
        table = sp.csr_array((self.data, places[self.indices], self.indptr), shape=shape)
        return self._same_rows(table), columns

    def coarsen(self, labels: Array) -> Self:
        mass = np.bincount(labels, weights=self.row_weights)
        shares = self.row_weights / np.where(mass > 0, mass, 1)[labels]
        members = (shares.astype(self.dtype), (labels, np.arange(self.shape[0])))
        mean = sp.csr_array(members, shape=(len(mass), self.shape[0])) @ self.table
        return self._like(mean, mass)

    def divide(self, fraction: float, seed: int, *, occupied: bool = False) -> tuple[Self, Self]:
        rest, drawn = thin(self, fraction, seed, occupied=occupied)
        return self._same_rows(rest), self._same_rows(drawn)

    def column_sums_by_group(self, n_groups: int) -> Array:
        if self._by_group is None:
            groups = np.full(self.shape[0], -1) if self.row_groups is None else self.row_groups
            places = np.where(groups < n_groups, groups, -1) % (n_groups + 1)
            members = self.row_weights, (places, np.arange(self.shape[0]))
            sums = sp.csr_array(members, shape=(n_groups + 1, self.shape[0])) @ self.table
            self._by_group = sums.toarray()
        return self._by_group

    def _like(self, X: CSR, row_weights: Array | None) -> Self:
        return type(self)(X, row_weights, n_threads=self.n_threads, map=self.map_ranges)

    def _same_rows(self, X: CSR) -> Self:
        return self._like(X, self.weights).in_groups(self.row_groups)

    def in_groups(self, row_groups: Array | None) -> Self:
        new = copy.copy(self)
        new.row_groups, new._by_group = row_groups, None
        return new

    def n_ranges_for(self, work: int) -> int:
        return max(1, min(self.n_threads, work // WORTH_A_THREAD))

    def astype(self, dtype: DTypeLike) -> Self:
        return self if self.dtype == dtype else self._same_rows(self.table.astype(dtype))

    def as_new(self) -> NewRows:
        new = NewRows(self.table, n_threads=self.n_threads, map=self.map_ranges)
        return new.in_groups(self.row_groups)


class NewRows(CSRCounts):
    """Rows to fold in, which contribute nothing to columns."""

    is_new = True

    def tdot(self, D: Array) -> Array:
        return zeros_view(np.empty((self.shape[1], D.shape[1]), self.dtype))
