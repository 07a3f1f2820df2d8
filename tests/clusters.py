"""Clusters of workers, and tables in blocks for them; what imports it is skipped without dask."""

from contextlib import contextmanager

import pytest

from skcooc import AspectModel, delayed_rows
from tests.tables import planted

dask = pytest.importorskip("dask")
cluster_of = pytest.importorskip("distributed")

SHORT = {"max_iter": 3, "tol": 0.0, "random_state": 0}
ASPECTS = AspectModel(3, beta=0.9, max_iter=13, tol=0.0, random_state=0)
X = planted(n_rows=240, n_tokens=12000).X.astype(float)


def local_cluster(n_workers, **options):
    options |= {"n_workers": n_workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    return cluster_of.LocalCluster(**options)


def blocks_of(X, *ends):
    return [X[first:last] for first, last in zip((0, *ends), (*ends, X.shape[0]), strict=True)]


def in_blocks(X, *ends):
    blocks = map(dask.delayed, blocks_of(X, *ends))
    return delayed_rows(blocks, X.shape[1], X.dtype)


@contextmanager
def workers_here(n_workers=1):
    """A client of workers that are threads of this process: for what is not of processes."""
    with local_cluster(n_workers, processes=False) as cluster, cluster_of.Client(cluster) as client:
        yield client
