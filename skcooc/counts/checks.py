"""Checks of arrays, sparse arrays and data frames that become counts, with messages for users."""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike
from sklearn.utils import check_array

from skcooc.counts.containers import READERS, refuse_containers, refuse_other_objects
from skcooc.protocol import CSR, Array, refuse_objects
from skcooc.protocol.scikit_learn import TOO_LARGE

NUMBERS = [np.float64, np.float32, *map(np.dtype, "?bhilqBHILQ")]  # others become the first
OF_ANNDATA = "adata.X, or fit by skcooc.anndata.fit_topics(adata, model, layer='counts')"
MAX_SINGLE = 2**24  # up to here float32 holds all integers
MIN_TOTAL = 1e-30  # sum of counts
MAX_TOTAL = 2.0**53  # sum of counts: from here on, one more is lost in float64

TEXTS = (
    "X holds texts or other strings, not counts: count the words of texts with a vectorizer, such "
    "as scikit-learn's CountVectorizer; for pairs, such as user and item, take Dyads.from_frame."
)
REMEDIES = (  # parts of messages of scikit-learn and NumPy, which values are meant, what to do
    (
        "Negative values",
        lambda x: x < 0,
        "Counts must be 0 or more. If X is from HashingVectorizer, use alternate_sign=False. If X "
        "was centred, scaled or embedded, give the counts themselves.",
    ),
    (
        "contains NaN",
        np.isnan,
        "A pair that never occurs has the count 0: X.fillna(0), numpy.nan_to_num(X), or "
        "pivot_table(..., fill_value=0). If X holds codes of answers, count these with "
        "pandas.get_dummies(X, columns=X.columns).",
    ),
    ("infinity or a value", np.isinf, "If these are logarithms of 0, give the counts themselves."),
    (
        "array element with a sequence|with dim 3",
        None,
        "Count lists of tokens with CountVectorizer(analyzer=list). Convert a corpus of gensim "
        "with gensim.matutils.corpus2csc(X).T, and a list of rows with numpy.vstack(X).",
    ),
    (
        "real number, not '",
        None,
        "X should be a table of counts: an array, a sparse array or a data frame.",
    ),
    (
        "Expected 2D (array|input)|must be 1D or 2D",
        None,
        "X is a table of counts, with a row for each object, such as a document or a user, and a "
        "column for each feature, such as a word or an item.",
    ),
    (
        "2-dimensional container",
        None,
        "If X is a Series of counts of pairs, as from groupby(...).size(), make it a table with "
        "X.unstack(fill_value=0).",
    ),
    (
        "fill value must be 0",
        None,
        "The fill value is the count of all cells that are not stored. If it is NaN, give "
        "X.fillna(0), otherwise X.sparse.to_dense().",
    ),
    ("Complex data", None, "Give real numbers, such as numpy.abs(X)."),
    (
        "features, but .* is expecting",
        None,
        "Count new texts with the transform method of the fitted vectorizer. If rows and columns "
        "are exchanged, give X.T. To learn new columns in a stream, use partial_fit(X, "
        "by_name=True).",
    ),
    (
        "feature names should match",
        None,
        "Give the columns of the fit, with 0 for missing ones and without new ones: "
        "X.reindex(columns=model.column_names_in_, fill_value=0), Dyads made with like=train, or "
        "counts of NamedCounts(CountVectorizer(vocabulary=model.column_names_in_)). "
        "To learn new columns in a stream, use partial_fit(X, by_name=True).",
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
        message = re.split(
            r"\n\w+ does not accept missing| This means|(?<=not supported)\n", str(error)
        )[0]
        message = message.removesuffix(".")
        if re.search(r"string to float|bytes/strings|^array=\[b?['\"]", message, re.MULTILINE):
            if formatted := _formatted_number(message):
                raise TextsError(
                    f"X holds numbers written as texts, such as {formatted!r}: read them as "
                    "numbers, with pandas.read_csv(..., thousands=',', decimal='.'), and remove "
                    "'%' and units."
                ) from None
            raise TextsError(f"{TEXTS}{_without_numbers(X)}") from None  # without the text itself
        for pattern, is_invalid, remedy in REMEDIES:
            if re.search(pattern, message):
                n = "" if is_invalid is None else _share_of_values(X, is_invalid)
                kind = TypeError if isinstance(error, TypeError) else ValueError
                end = "" if message.endswith(("\n", ". ")) else ". "
                raise kind(f"{message}{end}{n}{remedy}{_without_numbers(X)}") from None
        raise


def _formatted_number(message: str) -> str | None:
    """The text of a message of NumPy that is a number with separators or a unit, or None."""
    text = re.search(r"string to float: [a-z_.]*\(?'(.*?)'", message)
    is_number = text and re.fullmatch(r"[^\w\s]?\s*-?\d[\d.,'\s]*\s*\D?", text[1])
    return text[1] if text and is_number else None


def _share_of_values(X: Any, is_invalid: Callable[[Array], Array]) -> str:
    checked = check_array(
        X,
        accept_sparse=True,
        dtype=np.float64,
        ensure_all_finite=False,
        ensure_2d=False,
        allow_nd=True,
    )
    values = checked.tocoo().data if sp.issparse(checked) else checked
    return f"It has {np.count_nonzero(is_invalid(values)):,} such values, of {values.size:,}. "


def _without_numbers(X: Any) -> str:
    """Return advice on the columns of a data frame that hold no numbers; empty if all do."""
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return ""
    names = [name for name in X.columns if _kind(X[name]) not in "biuf"]
    if not names:
        return ""
    return (
        f" There are no numbers in {_few(names)}: leave these columns out unless they are pairs, "
        "or make them the names of the rows with X.set_index(name). To count categories, such as "
        "answers, use scikit-learn's OneHotEncoder."
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

    names = list(X.columns) if hasattr(X, "iloc") and X.ndim == 2 else []
    if len(set(names)) < len(names):  # narwhals takes none of these
        name = next(name for name, n in Counter(names).items() if n > 1)
        raise ValueError(
            f"X has several columns of the same name, such as {name!r}: rename them, or add them "
            "up by X.T.groupby(level=0).sum().T."
        )
    frame = narwhals.from_native(X, pass_through=True)
    return frame.schema if isinstance(frame, narwhals.DataFrame) else {}


def _index_columns(X: Any, types: Mapping[str, Any]) -> list[str]:
    """Columns of pyarrow and polars that were the index of a pandas data frame."""
    if hasattr(X, "iloc") or not types:
        return []
    metadata = getattr(X.schema, "pandas_metadata", None) or {}
    names = metadata.get("index_columns", [])
    return [name for name in types if name in names or name.startswith("__index_level_")]


def check_sparse_structure(X: Any, name: str = "X") -> Any:
    """X in native byte order; ValueError if indices of a sparse array do not fit its shape.

    Compiled loops, and most of SciPy, would read and write anywhere in memory. Arrays are shared,
    not copied. TypeError if counts are in another container, or columns hold dates or an index.
    ValueError if cells are masked: they would be read.
    """
    if not isinstance(X, np.ndarray | sp.spmatrix | sp.sparray) or X.dtype == object:
        refuse_containers(X, name)
        if isinstance(X, str | bytes):
            raise TextsError(f"{TEXTS} If it is the name of a file, read this by {READERS}.")
        if hasattr(type(X), "__dask_graph__"):
            raise TypeError(f"{name} is a dask collection, not in memory: give {name}.compute().")
        refuse_objects(X, name, "counts", of_anndata=OF_ANNDATA)
        refuse_other_objects(X, name)
    types = column_types(X)
    if index := _index_columns(X, types):
        raise TypeError(
            f"{name} has the index of a pandas data frame as {_few(index)}: give "
            f"{name}.to_pandas() of a pyarrow table, or leave these columns out."
        )
    if dates := [column for column, kind in types.items() if kind.is_temporal()]:
        raise TypeError(
            f"{name} holds dates or times, not counts, in {_few(dates)}: leave these columns out."
        )
    if getattr(getattr(X, "dtype", None), "kind", None) in ("m", "M"):
        raise ValueError(f"{name} holds dates or times ({X.dtype}), not counts: count them first.")
    if getattr(getattr(X, "dtype", None), "names", None):
        raise TypeError(
            f"{name} is a structured array: give pandas.DataFrame.from_records({name})."
        )
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
        raise ValueError("some of them are not arrays")
    if not all(array.dtype.kind in "iu" for array in indices):
        raise ValueError("some of them are not integers")
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
        checked = check_array(
            check_sparse_structure(X),
            accept_sparse="csr",
            dtype=dtype,
            ensure_non_negative=True,
            input_name="X",
        )
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


def without_zeros(table: CSR) -> CSR:
    if not table.data.all():
        table = table.copy()
        table.eliminate_zeros()
    return table


def check_total(total: float) -> None:
    if total and not MIN_TOTAL <= total <= MAX_TOTAL:
        raise ValueError(
            f"The weighted counts of X add up to {total:.3g}; they must add up to a number "
            f"from {MIN_TOTAL:g} to 2^53 = {MAX_TOTAL:.3g}, above which floating point numbers "
            "cannot count single tokens. Multiply X by a constant, or leave out values that are "
            "not counts, such as times and identifiers."
        )
