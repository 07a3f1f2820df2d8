"""Tables that are drawn at random, as literals, and the containers that they come in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from hypothesis import strategies as st

from skcooc import Dyads, RowBlocks

USUAL = [0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 5.0, 17.0]
ODD = [0.5, 0.1, -0.0, 3e5, 1e-3]
EXTREME = [1e-300, 5e-324, 1e-30, 1e15, 2.0**53, 1e17, 1e300, np.inf, np.nan, -1.0]
FORMS = [
    "array", "list", "csr_array", "csr_matrix", "csc_array", "csc_matrix", "coo_array",
    "coo_matrix", "bsr_array", "lil_array", "dok_array", "dia_array", "pandas", "sparse pandas",
    "polars", "dyads", "pairs", "blocks", "masked", "object",
]  # fmt: skip
DTYPES = [
    "<f8", ">f8", "<f4", ">f4", "f2", "g", "u1", "u2", "i1", "<i4", ">i4", "i8", "u8", "?", "c16",
]  # fmt: skip
TRAITS = ["plain", "fortran", "reversed", "read-only", "zeros", "twice", "unsorted", "long"]
MOSTLY = 3  # how often what is usual is drawn, for once that it is not


@dataclass(frozen=True)
class Table:
    """A table as it is written down."""

    values: tuple[tuple[float, ...], ...]
    form: str = "csr_array"
    dtype: str = "<f8"
    trait: str = "plain"

    @property
    def width(self) -> int:
        return len(self.values[0]) if self.values else 3

    @property
    def dense(self) -> np.ndarray:
        """Counts after conversion to the type, (N, M)."""
        values = np.array(self.values, dtype=float).reshape(len(self.values), self.width)
        kind = np.dtype(self.dtype).kind
        if kind in "iu":
            ends = np.iinfo(self.dtype)
            values = np.clip(np.nan_to_num(values), max(ends.min, -9e15), min(ends.max, 9e15))
        with np.errstate(all="ignore"):
            return values.astype(self.dtype)

    @property
    def plain(self) -> sp.csr_array:
        """In the type in which the table is fitted: objects, too, are floats."""
        integers = self.dense.dtype.kind in "iub" and self.form != "object"
        with np.errstate(all="ignore"):
            return sp.csr_array(self.dense.astype(np.int64 if integers else float))

    @property
    def is_exact(self) -> bool:
        """True if all containers have the same counts in float64, bit by bit."""
        return np.dtype(self.dtype).char not in "feg" and np.dtype(self.dtype).kind != "c"

    def made(self) -> Any:
        dense = self.dense
        if self.form.endswith(("_array", "_matrix")):
            return self._sparse(dense)
        if self.form in ("array", "masked"):
            dense = self._strided(dense)
            return dense if self.form == "array" else np.ma.masked_array(dense)
        return OTHERS[self.form](dense)

    def _strided(self, dense: np.ndarray) -> np.ndarray:
        if self.trait == "fortran":
            return np.asfortranarray(dense)
        if self.trait == "reversed":
            return np.ascontiguousarray(dense[::-1, ::-1])[::-1, ::-1]
        dense.flags.writeable = self.trait != "read-only"
        return dense

    def _sparse(self, dense: np.ndarray) -> Any:
        dense = dense.astype("<f4") if dense.dtype.char in "eg" else dense  # SciPy has no others
        with_zeros = self.trait == "zeros"
        rows, columns = np.nonzero(np.ones_like(dense, dtype=bool) if with_zeros else dense)
        data = dense[rows, columns]
        if self.trait == "twice":
            halves = data / 2 if data.dtype.kind == "f" else data * 0
            data = np.concatenate([data - halves, halves])
            rows, columns = np.tile(rows, 2), np.tile(columns, 2)
        native = data.astype(data.dtype.newbyteorder("="))
        table = sp.coo_array((native, (rows, columns)), shape=dense.shape)
        made = getattr(sp, self.form)(table)
        if self.form[:3] in ("csr", "csc", "coo", "bsr"):  # as they are read from a file
            made.data = made.data.astype(dense.dtype)
        if self.trait == "unsorted" and self.form.startswith("csr"):
            made.indices, made.data = _backwards(made, made.indices), _backwards(made, made.data)
            made.has_sorted_indices = False
        if self.trait == "long" and hasattr(made, "indptr"):
            made.indices, made.indptr = made.indices.astype("i8"), made.indptr.astype("i8")
        if self.trait == "read-only" and hasattr(made, "indptr"):
            for part in (made.data, made.indices, made.indptr):
                part.flags.writeable = False
        return made


def _backwards(made: sp.csr_array, values: np.ndarray) -> np.ndarray:
    """Entries of each row in reverse order."""
    ends = zip(made.indptr[:-1], made.indptr[1:], strict=True)
    return np.concatenate([values[a:b][::-1] for a, b in ends] or [values])


def _frame(dense: np.ndarray) -> Any:
    names = [f"column {j}" for j in range(dense.shape[1])]
    return pd.DataFrame(dense.astype(dense.dtype.newbyteorder("=")), columns=names)


def _polars(dense: np.ndarray) -> Any:
    dense = dense.astype("<f8") if dense.dtype.char in "eg" or dense.dtype.kind == "c" else dense
    dense = dense.astype(dense.dtype.newbyteorder("="))
    return pl.DataFrame({f"column {j}": dense[:, j] for j in range(dense.shape[1])})


def _pairs(dense: np.ndarray) -> Any:
    rows, columns = np.nonzero(dense)
    return Dyads.from_pairs(rows, columns, dense[rows, columns])


OTHERS = {
    "list": lambda dense: dense.tolist(),
    "object": lambda dense: dense.astype(object),
    "pandas": _frame,
    "sparse pandas": lambda dense: pd.DataFrame.sparse.from_spmatrix(
        sp.csr_array(dense.real.astype(float))
    ),
    "polars": _polars,
    "dyads": Dyads,
    "pairs": _pairs,
    "blocks": lambda dense: RowBlocks([dense[: len(dense) // 2], dense[len(dense) // 2 :]]),
}


@st.composite
def mostly(draw: Any, usual: Any, unusual: Any) -> Any:
    """Draw from the usual, and now and then from the unusual."""
    return draw(usual if draw(st.integers(0, MOSTLY)) else unusual)


@st.composite
def values(draw: Any, n_columns: int | None = None) -> tuple[tuple[float, ...], ...]:
    """Mostly small counts, with some empty rows and columns."""
    n = draw(mostly(st.integers(3, 9), st.integers(0, 2)))
    m = draw(mostly(st.integers(3, 8), st.integers(0, 2))) if n_columns is None else n_columns
    numbers = draw(st.sampled_from([USUAL, USUAL, USUAL + ODD, USUAL + ODD + EXTREME]))
    row = st.lists(st.sampled_from(numbers), min_size=m, max_size=m).map(tuple)
    return tuple(draw(st.lists(row, min_size=n, max_size=n)))


@st.composite
def tables(draw: Any, n_columns: int | None = None) -> Table:
    return Table(
        draw(values(n_columns)),
        draw(st.sampled_from(FORMS)),
        draw(mostly(st.sampled_from(["<f8", "i8"]), st.sampled_from(DTYPES))),
        draw(st.sampled_from(TRAITS)),
    )
