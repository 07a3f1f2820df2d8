"""Weights of terms: damped frequencies and inverse document frequencies."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from skcooc.protocol import CSR, Array


def inverse_document_frequency(table: CSR) -> Array:
    """log((N + 1) / (df + 1)) + 1 of every column, (M,)."""
    documents = np.bincount(table.indices[table.data > 0], minlength=table.shape[1])
    return np.log((table.shape[0] + 1) / (documents + 1)) + 1


def damped(table: CSR) -> CSR:
    """f(n) = 1 + log n, and n below one, where it has the same value and slope."""
    f = sp.csr_array(table, copy=True)
    f.data = np.where(f.data > 1, 1 + np.log(np.maximum(f.data, 1)), f.data)
    return f


def weighted(table: CSR, weights: Array) -> CSR:
    """Columns times their weights."""
    return sp.csr_array(table @ sp.diags_array(weights.astype(table.dtype)))


def tf_idf(table: CSR, idf: Array) -> CSR:
    """Damped frequencies times idf, rows of length one."""
    return normalize(weighted(damped(table), idf))
