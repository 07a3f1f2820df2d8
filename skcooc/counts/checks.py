"""What counts have to be: indices of the table, a sum that can be counted, each cell once."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import scipy.sparse as sp

from skcooc.protocol import CSR, refuse_anndata

COMPRESSED = "csr", "csc", "bsr"
FIT_ANNDATA = (
    "counts: fit a model to those by skcooc.anndata.fit_topics(adata, model, layer='counts'), or "
    "give adata.X itself."
)
LEAST, MOST = 1e-30, 2.0**53  # sums of counts: from 2^53 on, one more is lost in float64


def sound(X: Any, name: str = "X") -> Any:
    """What was given, in native bytes; ValueError where a sparse array does not fit together.

    Neither SciPy, unless it is asked, nor compiled loops look whether an index is one of the table:
    they would read and write wherever it leads. The arrays of a matrix are shared, not copied.
    TypeError where it is an AnnData.
    """
    refuse_anndata(X, name, FIT_ANNDATA)
    if isinstance(X, np.ndarray) and not X.dtype.isnative:  # bytes in an order SciPy lacks
        return X.astype(X.dtype.newbyteorder("="))
    if not sp.issparse(X):
        return X
    X = X.tocsr() if X.format == "lil" else copy.copy(X)  # where the check is at home in arrays
    if not X.dtype.isnative:  # which SciPy makes, but does not convert
        X.data = X.data.astype(X.dtype.newbyteorder("="))
    try:
        if X.format in COMPRESSED:
            X.check_format(full_check=True)
        elif X.format == "coo":
            sp.coo_array((X.data, X.coords), shape=X.shape)
    except ValueError as error:
        raise ValueError(
            f"{name} is a damaged sparse array, whose indices do not fit its shape: {error}."
        ) from error
    return X


def summed_up(table: CSR) -> CSR:
    """A CSR array where no entry is stored in several parts; the same one where none was.

    Observations of a cell are held out together: parts of it would be held out one by one.
    """
    if not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    return table


def check_total(total: float, name: str = "X") -> None:
    """Raise ValueError where there are observations, but too many or too few to be counted."""
    if total and not LEAST <= total <= MOST:
        raise ValueError(
            f"The counts of {name}, by their weights, add up to {total:.3g}. They should add up to "
            f"a number from {LEAST:g} to 2^53 = {MOST:.3g}, above which floating point numbers do "
            f"not tell one more from none. Multiply {name} by a constant."
        )
