import pickle
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

import skcooc
from skcooc import (
    AspectModel,
    AsymmetricClustering,
    AveragedModels,
    ClusterAbstraction,
    InterpolatedModels,
    RowBlocks,
    RowMemory,
)
from tests.clusters import ASPECTS, X, in_blocks, local_cluster, workers_here
from tests.data import requires_callbacks
from tests.tables import refused
from tests.watching import At

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
cluster_of = pytest.importorskip("distributed")

pytestmark = pytest.mark.usefixtures("short_starts")


@pytest.fixture(scope="module")
def workers():
    with workers_here() as client:
        yield client


ONES = da.ones((6, 4))


REFUSED = [
    (ASPECTS, da.ones((6, 4), chunks=(3, 2)), ValueError, "rechunk"),
    (ASPECTS, da.ones(6), ValueError, "Expected 2D array, got 1D"),
    (ASPECTS, dask.delayed(X), TypeError, "Expected a dask array, got Delayed"),
    (ASPECTS, -ONES, ValueError, "Negative values in data"),
    (ASPECTS, da.full((6, 4), np.nan), ValueError, "contains NaN"),
    (ASPECTS, da.zeros((6, 4)), ValueError, r"Found array with 0 token\(s\)"),
    (ASPECTS, da.ones((0, 4)), ValueError, r"Found array with 0 sample\(s\)"),
    (
        ASPECTS,
        skcooc.delayed_rows(map(dask.delayed, (X, X[:, 1:])), X.shape[1]),
        ValueError,
        "Got blocks of 59, 60 columns",
    ),
    (AspectModel(early_stopping=True), ONES, ValueError, "early_stopping=True"),
    (AspectModel(burstiness="auto"), ONES, ValueError, "burstiness"),
    (skcooc.SymmetricClustering(hard=True, tied=True), ONES, ValueError, "tied=True"),
    (AsymmetricClustering(coarsening=[[0] * 6]), ONES, ValueError, "coarsening"),
    (ClusterAbstraction(tree="annealed"), ONES, ValueError, "tree='annealed'"),
    (skcooc.ClusteringProjection(), ONES, ValueError, "begin with all rows"),
    (AveragedModels(AspectModel(early_stopping=True)), ONES, ValueError, "early_stopping=True"),
    (AveragedModels(ASPECTS), RowBlocks([X]), ValueError, "in blocks: averages keep the mixtures"),
    (
        InterpolatedModels([("aspects", ASPECTS)]),
        ONES,
        TypeError,
        r"InterpolatedModels needs a table .*, got Array: fit it to a sample .*\.compute\(\)",
    ),
]


def test_tables_and_parameters_that_do_not_fit_workers_are_refused(workers):
    for estimator, table, error, message in REFUSED:
        model = clone(estimator)
        refused(message, model.fit, table, error=error)
        assert vars(model).keys() == vars(clone(estimator)).keys()
    model = clone(ASPECTS).fit(X)
    refused("sample_weight", model.fit, in_blocks(X), sample_weight=np.ones(240))
    refused("map_blocks", model.score, in_blocks(X), error=TypeError)
    cached = RowMemory(InterpolatedModels([("aspects", ASPECTS)]))
    refused("InterpolatedModels needs a table in memory", cached.fit, ONES, error=TypeError)
    refused("X should be in blocks of rows", model.transform, da.ones((6, 60), chunks=(3, 20)))


@requires_callbacks
def test_a_lost_scheduler_and_rows_that_are_lost_with_it():
    with local_cluster(1, processes=False) as cluster, cluster_of.Client(cluster):
        model = clone(ASPECTS).set_callbacks(At(3, cluster.close))
        with pytest.raises(ConnectionError, match="connection to the scheduler is lost"):
            model.fit(in_blocks(X))
    assert not hasattr(model, "components_")
    with local_cluster(1, processes=False) as cluster, cluster_of.Client(cluster):
        model = clone(ASPECTS).fit(in_blocks(X, 100))
        rows = np.asarray(model.embedding_).shape
    for lost in (model.embedding_.compute, partial(pickle.dumps, model)):
        refused("connection to the scheduler is lost", lost, error=ConnectionError)
    assert model.transform(X).shape == rows
