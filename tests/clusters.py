"""Clusters of workers, and tables in blocks for them; what imports it is skipped without dask."""

from contextlib import contextmanager

import numpy as np
import pytest

from skcooc import AspectModel, delayed_rows
from tests.tables import planted
from tests.watching import Watcher

dask = pytest.importorskip("dask")
cluster_of = pytest.importorskip("distributed")

SHORT = {"max_iter": 3, "tol": 0.0, "random_state": 0}
ASPECTS = AspectModel(3, beta=0.9, max_iter=13, tol=0.0, random_state=0)
X = planted(n_rows=240, n_observations=12000).X.astype(float)


def local_cluster(n_workers, **options):
    options |= {"n_workers": n_workers, "threads_per_worker": 1, "dashboard_address": None}
    return cluster_of.LocalCluster(**options)


def blocks_of(X, *ends):
    return [X[first:last] for first, last in zip((0, *ends), (*ends, X.shape[0]), strict=True)]


def in_blocks(X, *ends):
    blocks = map(dask.delayed, blocks_of(X, *ends))
    return delayed_rows(blocks, X.shape[1], X.dtype)


def assert_same(one, two, tolerance):
    for name in ("components_", "embedding_", "weights_", "unigram_", "row_distribution_"):
        values = getattr(one, name), getattr(two, name)
        np.testing.assert_allclose(*values, rtol=tolerance, atol=1e-3 * tolerance, err_msg=name)
    np.testing.assert_allclose(one.objective_, two.objective_, rtol=tolerance)
    assert (one.beta_, one.smoothing_) == (two.beta_, two.smoothing_)


class At(Watcher):
    """A callback that does something once, after so many iterations."""

    def __init__(self, n_calls, function):
        self.n_calls, self.function = n_calls, function

    def on_fit_task_end(self, estimator, context):
        self.n_calls -= 1
        if self.n_calls == 0:
            self.function()


@contextmanager
def workers_here():
    """A client of one worker, a thread of this process: for what is not of processes."""
    with local_cluster(1, processes=False) as cluster, cluster_of.Client(cluster) as client:
        yield client
