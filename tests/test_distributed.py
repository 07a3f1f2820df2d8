"""Dask arrays, fitted by a cluster: of threads, or of processes where these are killed."""

import copy
import gc
import os
import pickle
import signal
import time
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from sklearn.base import clone
from sklearn.decomposition import NMF
from sklearn.model_selection import GridSearchCV

import skcooc
from skcooc import AspectModel, AsymmetricClustering, ClusterAbstraction, Dyads, delayed_rows
from skcooc.callbacks import Checkpoint, read_checkpoint
from skcooc.model_selection import ComponentSearchCV
from tests.clusters import ASPECTS, SHORT, X, blocks_of, in_blocks, local_cluster, workers_here
from tests.contract import assert_same_fit as assert_same
from tests.data import requires_callbacks
from tests.tables import refused
from tests.watching import At

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
cluster_of = pytest.importorskip("distributed")
counts_on_workers = pytest.importorskip("skcooc.counts.dask")

pytestmark = pytest.mark.usefixtures("short_starts", "starts_of_all_tables")
ESTIMATORS = [
    AspectModel(
        3, beta=0.9, component_prior=0.01, tempering="likelihood", solver=1.8, n_init=2, **SHORT
    ),
    AspectModel(3, beta=0.9, leave_one_out=True, **SHORT),
    AsymmetricClustering(3, beta=0.1, axis="columns", **SHORT),
    AsymmetricClustering(3, beta=0.2, annealing=4.0, max_iter=3, tol=1e-2, random_state=0),
    skcooc.SymmetricClustering(3, 4, beta=0.1, **SHORT),
    skcooc.ProductSpaceMixture(3, 4, beta=0.95, **SHORT),
    skcooc.AveragedModels(AspectModel(3), 2, max_iter=3, n_jobs=2, random_state=0),
]
FEW = clone(ASPECTS).set_params(max_iter=3)  # iterations


@pytest.fixture(scope="module", autouse=True)
def patience():
    """Long timeouts for busy machines; workers are forked from a process with slow imports done."""
    options = {
        "deploy.lost-worker-timeout": "900s",
        "comm.timeouts.connect": "300s",
        "comm.timeouts.tcp": "300s",
        "scheduler.worker-ttl": "1800s",
        "worker.multiprocessing-method": "forkserver",
    }
    imports = ["distributed", "skcooc.counts.dask", "skcooc.equations.aspects"]
    with dask.config.set({f"distributed.{name}": value for name, value in options.items()}):
        cluster_of.utils.get_mp_context().set_forkserver_preload(imports)
        yield


@pytest.fixture(scope="module")
def workers():
    with workers_here(2) as client:
        yield client


@pytest.fixture(scope="module")
def client():
    with (
        local_cluster(2, memory_limit="1GB") as cluster,
        cluster_of.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def processes(client):
    client.wait_for_workers(2, timeout=900)
    with client.as_current():
        yield client


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_it_is_the_fit_in_memory(workers, estimator):
    near = clone(estimator).fit(X)  # first, for workers that load what is compiled here
    model = clone(estimator).fit(in_blocks(X, 30, 30, 131))
    assert_same(model, near, 1e-6)
    assert isinstance(model.embedding_, counts_on_workers.RowArray)  # stays on the workers
    assert pickle.loads(pickle.dumps(model)).sample(5).table_shape == X.shape


def test_other_blocks(workers):
    shares = X / 7
    one = clone(FEW).set_params(max_iter=1)
    near, far = (clone(one).fit(table) for table in (shares, in_blocks(shares, 30)))
    np.testing.assert_allclose(far.unigram_, near.unigram_)
    near = clone(FEW).fit(X.astype(np.float32))
    model = clone(FEW).fit(in_blocks(X.astype(np.float32)))  # one block: bit by bit
    assert model.components_.dtype == model.embedding_.dtype == np.float32
    assert_same(model, near, 0)
    matrices = [dask.delayed(sp.csr_matrix)(block) for block in blocks_of(X, 100)]
    dense = da.from_array(X.toarray().astype(int), chunks=(100, -1))
    delayed = delayed_rows(matrices, X.shape[1])
    for table, same, rtol in ((dense, X.astype(int), 1e-5), (delayed, X, 1e-6)):
        near = clone(FEW).fit(same)
        assert_same(clone(FEW).fit(table), near, rtol)


def test_the_temperature_is_found_on_a_sample(workers, monkeypatch):
    estimator = AspectModel(3, max_iter=4, random_state=0)
    near, far = clone(estimator).fit(X), clone(estimator).fit(in_blocks(X, 100))
    assert_same(far, near, 1e-4)  # the sample is all there is
    assert far.component_prior_ == near.component_prior_
    monkeypatch.setattr("skcooc.tables.reading.SAMPLE_ROWS", 60)
    part = clone(estimator).fit(in_blocks(X, 100))
    assert part.beta_ in [probe.beta for probe in part.tuning_]
    assert part.tuning_ != far.tuning_
    assert part.objective_ == pytest.approx(far.objective_, rel=0.2)  # of all rows


def test_a_column_that_numbers_the_rows_is_doubted(workers):
    numbered = np.column_stack([X.toarray(), np.arange(X.shape[0])])
    with pytest.warns(skcooc.TableWarning, match="seems to number or identify the rows"):
        AspectModel(3, max_iter=2, random_state=0).fit(da.from_array(numbered, chunks=(100, -1)))


def test_transform_is_lazy(workers):
    model = clone(FEW).fit(X)
    for table in (in_blocks(X, 30, 131), da.from_array(X.toarray(), chunks=(100, -1))):
        mixtures = model.transform(table)
        assert isinstance(mixtures, da.Array)
        assert mixtures.dtype == float
        np.testing.assert_allclose(mixtures.compute(), model.transform(X), atol=1e-4)
    assert mixtures.shape == (240, 3)
    fitted = clone(FEW).fit_transform(in_blocks(X, 30))
    np.testing.assert_allclose(fitted.compute(), model.transform(X), atol=1e-4)


COMPOSED = [
    skcooc.AveragedModels(ASPECTS, 2, random_state=0),
    skcooc.InterpolatedModels([("aspects", ASPECTS), ("nmf", NMF(2, max_iter=5, random_state=0))]),
    skcooc.RowMemory(ASPECTS, concentration=20.0, discount=0.2, smoothing=0.1),
]


@pytest.mark.filterwarnings("ignore:Maximum number of iterations")
@pytest.mark.parametrize("estimator", COMPOSED, ids=lambda estimator: type(estimator).__name__)
def test_composed_models_transform_lazily(workers, estimator):
    model = clone(estimator).fit(X)
    mixtures = model.transform(in_blocks(X, 30))
    assert isinstance(mixtures, da.Array)
    np.testing.assert_allclose(mixtures.compute(), model.transform(X), atol=1e-4)


@pytest.mark.filterwarnings("ignore:Maximum number of iterations")
@pytest.mark.parametrize("estimator", [clone(ASPECTS).set_params(warm_start=True), *COMPOSED])
def test_what_is_sent_to_workers_does_not_grow_with_the_rows(estimator):
    sizes = []
    for n in (1, 4):
        table = sp.vstack([X] * n, format="csr")
        names = np.arange(table.shape[0]).astype(str)
        model = clone(estimator).fit(Dyads(table, row_names=names))
        sizes.append(len(pickle.dumps(model._without_rows())))
    assert sizes[1] < sizes[0] + 200


@requires_callbacks
def test_a_fit_goes_on_from_a_checkpoint_or_a_warm_start(workers, tmp_path):
    table, begun = in_blocks(X, 100), clone(ASPECTS).set_params(max_iter=9, warm_start=True)
    begun.set_callbacks(Checkpoint(tmp_path / "model", every=5)).fit(table)
    resumed = read_checkpoint(tmp_path / "model").fit(table)
    assert_same(resumed, begun, 0)
    assert resumed.partial_fit(X[:50]).embedding_.shape == (50, 3)
    # With momentum, wherever rows are.
    begun.set_callbacks()
    whole = clone(ASPECTS).set_params(max_iter=18).fit(X)
    for table in (in_blocks(X, 70), X):
        assert_same(copy.copy(begun).fit(table), whole, 1e-6)
    assert_same(pickle.loads(pickle.dumps(begun)).fit(X), whole, 1e-6)


LONG, WIDE = 6000, 20  # parameters are much less than the states of the rows


def made_there(number):
    rng = np.random.default_rng(number)
    return sp.csr_array(rng.poisson(0.3, (LONG // 3, WIDE)).astype(float))


class Brought:
    """Records the size of the largest result that is gathered."""

    def __init__(self, gather):
        self.gather, self.largest = gather, 0

    def __call__(self, client, futures):
        results = self.gather(client, futures)
        self.largest = max(self.largest, *(len(pickle.dumps(result)) for result in results))
        return results


def rows_brought(monkeypatch):
    def collect_rows(self, states):
        return np.concatenate(counts_on_workers.gather(self.client, states.futures))

    monkeypatch.setattr(counts_on_workers.DaskCounts, "collect_rows", collect_rows)


@pytest.mark.parametrize("broken", [None, rows_brought])
def test_no_array_with_a_number_for_each_row_is_fetched(workers, monkeypatch, broken):
    """Of 6000 rows: not in 12 iterations with momentum, and not at the end."""
    brought = Brought(counts_on_workers.gather)
    monkeypatch.setattr(counts_on_workers, "gather", brought)
    X = delayed_rows(map(dask.delayed(made_there), range(3)), WIDE)
    if broken is not None:
        broken(monkeypatch)
    clone(ASPECTS).set_params(max_iter=12 if broken is None else 3).fit(X)
    block = 8 * LONG // 3  # bytes of one number for each row of a block
    assert (brought.largest < block) == (broken is None)


def test_attributes_of_rows_are_dask_arrays(workers):
    estimator = ClusterAbstraction(4, tree="binary", beta=0.2, abstraction="row", **SHORT)
    near, far = clone(estimator).fit(X), clone(estimator).fit(in_blocks(X, 30, 131))
    assert_same(far, near, 1e-6)
    for name in ("embedding_", "row_distribution_", "labels_", "posteriors_", "row_components_"):
        there, here = getattr(far, name), getattr(near, name)
        assert isinstance(there, da.Array), name
        assert (there.shape, there.dtype) == (here.shape, here.dtype), name
        np.testing.assert_allclose(there.compute(), here, atol=1e-9, err_msg=name)
    assert far.embedding_.chunks[0] == (30, 101, 109)
    components = far.components_
    for other in (far.weights_, components, sp.csr_array(components), components.tolist()):
        product = near.embedding_ @ (other if sp.issparse(other) else np.asarray(other))
        np.testing.assert_allclose((far.embedding_ @ other).compute(), product, atol=1e-9)
    for name in ("component_distribution_", "column_embedding_", "node_weights_"):
        assert isinstance(getattr(far, name), np.ndarray)
        np.testing.assert_allclose(getattr(far, name), getattr(near, name), err_msg=name)
    pairs = [0, 5, 239], [1, 2, -1]
    np.testing.assert_allclose(far.joint_distribution(*pairs), near.joint_distribution(*pairs))
    np.testing.assert_allclose(far.bic(Dyads(X)), near.bic(Dyads(X)))
    assert far.sample(5).table_shape == X.shape
    recommended = (model.recommend([200, 3], 5, exclude_seen=False) for model in (far, near))
    np.testing.assert_array_equal(*(found.items for found in recommended))
    refused("non-zero columns of training rows are not kept", far.recommend, [0])
    tables = (skcooc.inspection.describe(model, backend="pandas") for model in (far, near))
    np.testing.assert_allclose(*(table["share"] for table in tables))
    np.testing.assert_array_equal(far.predict(in_blocks(X, 100)).compute(), near.predict(X))


def test_a_pickle_has_the_rows_and_a_copy_shares_them(workers):
    model = clone(FEW).fit(in_blocks(X, 100))
    loaded = pickle.loads(pickle.dumps(model))
    assert isinstance(loaded.embedding_, np.ndarray)
    assert isinstance(loaded._state.rows, np.ndarray)
    assert_same(loaded, model, 0)
    for copied in (copy.copy(model), copy.deepcopy(model)):
        assert copied.embedding_ is model.embedding_
    for estimator in (loaded, model):  # a warm start, in memory and there, from rows here and there
        estimator.set_params(warm_start=True, max_iter=2)
    models = [copy.copy(one).fit(X) for one in (model, loaded)]
    models += [copy.copy(one).fit(in_blocks(X, 50)) for one in (model, loaded)]
    for other in models[1:]:
        assert_same(other, models[0], 1e-6)


def assert_left(client, n_futures, before):
    """Wait until the client has released all other futures, but for those that it had before."""
    deadline = time.monotonic() + 900
    while len(client.futures.keys() - before) != n_futures:
        assert time.monotonic() < deadline
        gc.collect()
        time.sleep(0.05)


@requires_callbacks
def test_no_futures_are_left_behind(workers):
    def stop():
        raise ZeroDivisionError

    before = set(workers.futures)  # of other tests
    table = in_blocks(X, 100)
    model = clone(FEW).fit(table)
    assert_left(workers, 4, before)  # of two blocks: mixtures and shares
    kept = model.embedding_
    with pytest.raises(ZeroDivisionError):
        model.set_callbacks(At(2, stop)).fit(table)
    assert model.embedding_ is kept
    assert_left(workers, 4, before)
    del model, kept
    assert_left(workers, 0, before)


@cache
def undisturbed():
    return pickle.loads(pickle.dumps(clone(ASPECTS).fit(in_blocks(X, 131))))


@pytest.mark.parametrize(("victims", "persist_every"), [([0], 10), ([0, 1], 1000)], ids=str)
@requires_callbacks
def test_a_fit_outlives_its_workers(processes, victims, persist_every, monkeypatch):
    """Lost rows are recomputed, from the last states that the scheduler has or from the start."""
    whole = undisturbed()
    monkeypatch.setattr(counts_on_workers, "PERSIST_EVERY", persist_every)
    addresses, numbers = zip(*sorted(processes.run(os.getpid).items()), strict=True)
    killed = {addresses[victim] for victim in victims}

    def kill():
        for victim in victims:
            os.kill(numbers[victim], signal.SIGKILL)
        while killed & processes.run_on_scheduler(
            lambda dask_scheduler: set(dask_scheduler.workers)
        ):
            time.sleep(0.05)  # to ask a worker for results that it had may take very long

    disturbed = clone(ASPECTS).set_callbacks(At(12, kill)).fit(in_blocks(X, 131))
    assert_same(disturbed, whole, 0)
    survivors = set(processes.run(os.getpid).values())
    assert survivors.isdisjoint(numbers[victim] for victim in victims)


def test_searches_run_on_the_workers(workers):
    model = AspectModel(3, max_iter=5, random_state=0)
    for search in (
        GridSearchCV(model, {"beta": [0.7, 0.9]}, cv=2),
        ComponentSearchCV(model, [2, 3], cv=2, random_state=0),
    ):
        here = clone(search).fit(Dyads(X))
        with parallel_config("dask"):
            there = clone(search).fit(Dyads(X))
        np.testing.assert_allclose(here.best_score_, there.best_score_)
        assert here.best_params_ == there.best_params_


def hungry(X):
    kept = []
    while True:
        kept.append(np.ones(2**22))
        time.sleep(0.01)


def test_workers_out_of_memory(processes):
    scheduler, model = processes.cluster.scheduler, clone(ASPECTS).fit(X)
    before, kept = model.components_, scheduler.allowed_failures
    scheduler.allowed_failures = 0
    blocks = [dask.delayed(X), dask.delayed(hungry)(X)]
    try:
        refused("smaller blocks", model.fit, delayed_rows(blocks, X.shape[1]), error=RuntimeError)
    finally:
        scheduler.allowed_failures = kept
    assert model.components_ is before
