"""Small tables of counts for tests, and the check that a call is refused."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc.counts import thin
from skcooc.datasets import make_cooccurrences

MANY_THREADS = SimpleNamespace(NUMBA_NUM_THREADS=8)  # numba's limit, whatever the machine has


def random_table(n_rows=12, n_columns=9, seed=0, dtype=np.float64):
    """Dense-ish Poisson counts with one empty row and one empty column."""
    counts = np.random.default_rng(seed).poisson(0.8, (n_rows, n_columns))
    counts[3], counts[:, 4] = 0, 0
    return sp.csr_array(counts.astype(dtype))


def planted(n_components=3, n_tokens=8000, seed=0, **options):
    """Counts from a planted model whose components are easy to tell apart."""
    sizes = {"n_rows": 80, "n_columns": 60} | options
    return make_cooccurrences(
        **sizes, n_components=n_components, n_tokens=n_tokens, random_state=seed
    )


def occupied(X):
    """A table without its empty columns."""
    X = sp.csr_array(X)
    return X[:, np.flatnonzero(X.sum(axis=0))]


def held_out(X, fraction, seed):
    """The tokens that a fit leaves, and those that it holds out: empty columns do not matter."""
    columns = np.flatnonzero(X.sum(axis=0))
    parts = []
    for part in thin(occupied(X), fraction, seed):
        parts.append(sp.csr_array((part.data, columns[part.indices], part.indptr), shape=X.shape))
    return parts


def factors(X, k=3):
    """Positive ones for the rows and the columns of a table."""
    rng = np.random.default_rng(1)
    return (rng.random((size, k)).astype(X.dtype) + 0.1 for size in X.shape)


def refused(message, call, *args, error=ValueError, **options):
    """Check that a call raises an error with such a message."""
    with pytest.raises(error, match=message):
        call(*args, **options)
