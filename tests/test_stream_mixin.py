import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import skcooc
from skcooc import AspectModel, AsymmetricClustering, ClusteringProjection, RowBlocks, RowMemory
from skcooc.counts import CSRCounts
from skcooc.datasets import make_cooccurrences
from skcooc.fitting.recipe import draw_seeds
from skcooc.fitting.stream import Batch, held_out_share
from tests.contract import assert_same_fit as assert_same
from tests.tables import MANY_THREADS, planted, refused

pytestmark = pytest.mark.usefixtures("few_starts")

SHORT = {"max_iter": 15, "random_state": 0}
PLAIN = [
    AspectModel(3, beta=0.9, **SHORT),
    AsymmetricClustering(3, beta=0.2, **SHORT),
    AsymmetricClustering(3, hard=True, **SHORT),
    skcooc.ProductSpaceMixture(3, 4, beta=0.95, **SHORT),
    skcooc.ClusterAbstraction(3, beta=0.3, **SHORT),
    ClusteringProjection(3, 4, beta=0.3, **SHORT),
]
STREAMERS = [
    *PLAIN,
    AspectModel(3, beta=0.9, leave_one_out=True, **SHORT),
    AsymmetricClustering(3, beta=0.2, object_weights="equal", proportions="estimated", **SHORT),
    ClusteringProjection(3, 4, beta=0.3, update_priors=True, **SHORT),
]
every_streamer = pytest.mark.parametrize("estimator", STREAMERS, ids=repr)
every_plain_one = pytest.mark.parametrize("estimator", PLAIN, ids=repr)
X = planted(n_rows=240, n_tokens=12000).X.astype(float)


@pytest.fixture(autouse=True)
def short_streams(monkeypatch):
    """Long enough for samples, and for steps of the temperature."""
    monkeypatch.setattr("skcooc.em.online.FULL_STEP_TOKENS", 40.0)
    monkeypatch.setattr("skcooc.tables.reading.SAMPLE_ROWS", 60)


def batches(X, size=40, shuffled=None):
    """So many rows each, in an order that a seed may shuffle."""
    X = X if shuffled is None else X[np.random.default_rng(shuffled).permutation(X.shape[0])]
    return [X[first : first + size] for first in range(0, X.shape[0], size)]


def streamed(estimator, blocks):
    model = clone(estimator)
    for block in blocks:
        model.partial_fit(block)
    return model


@every_streamer
@pytest.mark.usefixtures("short_starts")
def test_batches_go_on_from_a_fit_also_once_pickled_and_with_threads(estimator, monkeypatch):
    fitted, begun = clone(estimator).fit(X[:120]), clone(estimator).partial_fit(X[:120])
    assert_same(begun, fitted)
    reversed_ = pickle.loads(pickle.dumps(fitted)).partial_fit(X[120:][::-1])
    assert_same(begun.partial_fit(X[120:]), fitted.partial_fit(X[120:]))
    np.testing.assert_allclose(begun.components_, reversed_.components_, rtol=1e-6, atol=1e-12)
    model = streamed(estimator, batches(X))
    half = pickle.dumps(streamed(estimator, batches(X)[:3]))
    for block in batches(X)[3:]:
        half = pickle.dumps(pickle.loads(half).partial_fit(block))
    assert_same(pickle.loads(half), model)
    for P in (model.components_, model.embedding_, model.transform(X)):
        np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_allclose(model.unigram_, (X.sum(axis=0) + 1) / (X.sum() + X.shape[1]))
    assert len(model.embedding_) == len(model.row_distribution_) == 40
    assert model.n_iter_ == len(model.history_)
    assert model.objective_ == model.history_[-1].free_energy
    assert not model.converged_
    assert model.score(skcooc.Dyads(X[-40:])) < 0
    after = model.history_[-5:]  # a temperature that is given stays
    assert {record.beta for record in after} == {model.beta_}
    assert np.isnan([record.validation_perplexity for record in after]).all()
    monkeypatch.setattr("skcooc.counts.csr.WORTH_A_THREAD", 1)
    monkeypatch.setattr("skcooc.counts.passes.config", MANY_THREADS)
    blocks = batches(X.astype(np.float32), 120)
    one, two = (streamed(clone(estimator).set_params(n_jobs=n), blocks) for n in (1, 3))
    assert_same(one, two)
    assert one.components_.dtype == one.embedding_.dtype == np.float32
    assert one.partial_fit(X[:40]).components_.dtype == np.float32


@every_streamer
def test_a_stream_comes_near_to_a_fit_of_all(estimator):
    whole = clone(estimator).fit(X[:200])
    first, *rest = batches(X[:200], shuffled=0)
    start = clone(estimator).fit(first)
    model = streamed(estimator, [first, *rest, *(2 * [first, *rest])])
    perplexities = [m.perplexity(X[200:]) for m in (whole, model, start)]
    assert perplexities[1] < 1.04 * perplexities[0]
    assert perplexities[1] < perplexities[2]


NO_STREAMERS = [
    (AspectModel(burstiness=20.0), "burstiness replaces"),
    (skcooc.ClusterAbstraction(abstraction="row"), "abstraction='cluster'"),
    (ClusteringProjection(), "set n_clusters"),
    (ClusteringProjection(3, 4, posterior="factorial"), "posterior='structured'"),
    (AsymmetricClustering(axis="columns"), "axis='rows'"),
    (AsymmetricClustering(coarsening=[np.arange(240) // 2]), "coarsening"),
]


def test_models_that_cannot_stream_have_no_partial_fit_and_refused_batches_keep_the_model():
    for estimator, reason in NO_STREAMERS:
        assert not hasattr(estimator, "partial_fit")
        with pytest.raises(AttributeError, match=reason):
            estimator.partial_fit(X)
        refused(reason, estimator.fit, RowBlocks([X]))
    model = AspectModel(3, beta=0.9, max_iter=5, random_state=0).fit(X)
    before = pickle.dumps(model)
    for bad in (X[:, :-1], -X):
        refused(r"features|[Nn]egative", model.partial_fit, bad)
    assert pickle.dumps(model) == before
    refused("Fit anew", clone(model).fit(X).set_params(n_components=4).partial_fit, X)
    grouped = AsymmetricClustering(3, beta=0.2, coarsening=[np.arange(240) // 2]).fit(X)
    refused("changed: coarsening. Set", grouped.set_params(coarsening=None).partial_fit, X)
    for name, value in (("beta", 0.8), ("tempering", "joint"), ("component_prior", 0.1)):
        changed = clone(model).fit(X).set_params(n_jobs=2, **{name: value})
        refused(f"changed: {name}. Set them back, or fit anew", changed.partial_fit, X)
    model.set_params(n_jobs=2, max_iter=9, smoothing=0.01).partial_fit(X)
    assert model.smoothing_ == 0.01


@pytest.mark.parametrize("estimator", [AspectModel(3, beta=0.9), RowMemory(AspectModel(3))])
def test_a_batch_without_tokens_makes_no_step(estimator):
    names = [f"word {j}" for j in range(X.shape[1])]
    rows = pd.DataFrame(X.toarray(), columns=names)
    model = clone(estimator).set_params(random_state=0).partial_fit(rows)
    before = pickle.dumps(model)
    empty = 0 * rows[:3]
    new = empty.iloc[:, :5].rename(columns={"word 0": "new"})
    for batch, options in [(empty, {}), (empty, {"by_name": True}), (new, {"by_name": True})]:
        with pytest.warns(UserWarning, match="partial_fit makes no step: the 3 rows") as caught:
            assert model.partial_fit(batch, **options) is model
        assert len(caught) == 1
        assert pickle.dumps(model) == before
    refused("X.reindex.*partial_fit.X, by_name=True", model.partial_fit, new)
    refused("0 token", clone(estimator).partial_fit, empty)


def automatic(estimator):
    return clone(estimator).set_params(beta="auto")


@every_plain_one
def test_the_temperature_follows_streams_and_blocks(estimator):
    whole = automatic(estimator).fit(X[:200])
    blocks_are_fitted_as_well(automatic(estimator), whole)
    first, *rest = batches(X[:200], 20, shuffled=1)
    start = automatic(estimator).fit(first)
    model = streamed(automatic(estimator), 2 * [first, *rest])
    assert model.perplexity(X[200:]) < 1.05 * whole.perplexity(X[200:])
    assert model.perplexity(X[200:]) < start.perplexity(X[200:])
    after = model.history_[start.n_iter_ :]
    if getattr(estimator, "hard", False):
        records = [record for record in model.history_ if record.stage == "fit"]
        assert {record.beta for record in records} == {1.0}
        assert np.isnan([record.validation_perplexity for record in after]).all()
    else:
        assert model.beta_ == model.history_[-1].beta != start.beta_
        assert np.isfinite([record.validation_perplexity for record in after]).all()
        assert model.smoothing_ != start.smoothing_


def test_a_stream_that_begins_with_too_few_rows_finds_its_temperature(monkeypatch):
    """A broken twin keeps what it found first."""
    table = make_cooccurrences(500, 400, 8, n_tokens=30_000, random_state=0).X
    estimator = AspectModel(8, max_iter=60, random_state=0)
    blocks = 2 * batches(table[:450], 20)
    followed = streamed(estimator, blocks)
    monkeypatch.setattr("skcooc.em.online.FULL_STEP_TOKENS", np.inf)
    stayed = streamed(estimator, blocks)
    assert followed.beta_ > stayed.beta_ + 0.1
    assert followed.perplexity(table[450:]) < 0.95 * stayed.perplexity(table[450:])


def test_held_out_tokens_do_not_depend_on_the_batch_and_are_not_learnt():
    whole = Batch(CSRCounts(X)).divided(0.1, 5)
    parts = [Batch(CSRCounts(block)).divided(0.1, 5) for block in batches(X)]
    for side in ("X", "heldout"):
        of_whole, *of_parts = (getattr(batch, side).table for batch in (whole, *parts))
        np.testing.assert_array_equal(of_whole.toarray(), sp.vstack(of_parts).toarray())
    assert whole.n_heldout == pytest.approx(0.1 * X.sum(), rel=0.1)
    # A column that occurs only there gets no mass.
    table = sp.hstack([X, np.zeros((240, 1))]).tolil()
    model = automatic(STREAMERS[0]).set_params(leave_one_out=False)  # without a prior of columns
    model.fit(sp.csr_array(table[:120]))
    late, (seed,) = table[120:], draw_seeds(model.random_state, 1)
    late[0, 60] = 1

    def learnt(scale):
        late[0, 0] = scale  # another draw
        batch = Batch(CSRCounts(sp.csr_array(late))).divided(40 / late.sum(), seed)
        return batch.X.table[0, 60]

    assert any(learnt(scale) == 0 for scale in range(1, 9999))
    assert not model.partial_fit(sp.csr_array(late)).components_[:, 60].any()
    assert [held_out_share(0.1, n) for n in (0.0, 300.0, 800.0)] == [0.1, 0.1, 0.05]
    # A smoothing that is given stays; a batch of one token says nothing on beta.
    model = automatic(STREAMERS[0]).set_params(smoothing=0.25).fit(X[:120])
    beta = model.beta_
    assert streamed(model, batches(X)).smoothing_ == 0.25
    model.partial_fit(np.eye(1, X.shape[1]))
    assert model.beta_ == beta
    assert np.isnan(model.history_[-1].validation_perplexity)


def blocks_are_fitted_as_well(model, whole):
    model.fit(RowBlocks(batches(X[:200], 25, shuffled=0)))
    assert model.converged_
    assert model.perplexity(X[200:]) < 1.05 * whole.perplexity(X[200:])
    np.testing.assert_allclose(model.unigram_, whole.unigram_)
    assert model.n_iter_ == len(model.history_)
    assert model.objective_ == model.history_[-1].free_energy
    *_, before, last = model.history_
    if getattr(model, "hard", False):  # nothing is held out
        assert last.free_energy < before.free_energy
    else:
        assert last.validation_perplexity < 1.01 * before.validation_perplexity


@every_plain_one
def test_no_rows_are_kept_of_blocks_and_a_late_word_is_learnt(estimator):
    model = clone(estimator).fit(RowBlocks(batches(X)))
    assert model.embedding_.shape == (0, len(model.components_))
    assert len(model.row_distribution_) == len(getattr(model, "labels_", [])) == 0
    refused("Cannot sample: the training rows", model.sample, 3)
    refused(r"fitted on a table of shape \(0, 60\)", model.score, skcooc.Dyads(X))
    assert len(model.partial_fit(X[:40]).embedding_) == 40
    early, late = X[:120].tolil(), X[120:].tolil()
    early[:, 7], late[:, 7] = 0, 5
    model = streamed(estimator, [sp.csr_array(early), *batches(sp.csr_array(late), 30)])
    share = late[:, [7]].sum() / late.sum()
    assert model.weights_ @ model.components_[:, 7] > 0.5 * share


@every_plain_one
@pytest.mark.usefixtures("short_starts")
def test_weights_of_rows_in_blocks_are_repetitions(estimator, tmp_path):
    """A block without weight is passed over. The weights can be on disk."""
    weights = np.random.default_rng(0).integers(0, 3, 240)
    weights[40:80] = 0
    np.save(tmp_path / "weights.npy", weights)
    on_disk = np.load(tmp_path / "weights.npy", mmap_mode="r")
    repeated = [
        block[np.repeat(np.arange(40), weights[40 * number : 40 * (number + 1)])]
        for number, block in enumerate(batches(X))
        if number != 1
    ]
    begun = pickle.dumps(clone(estimator).fit(X[:120]).set_params(warm_start=True))
    one, two, equal = (pickle.loads(begun) for _ in range(3))
    one.fit(RowBlocks(batches(X), max_passes=2), sample_weight=on_disk)
    two.fit(RowBlocks(repeated, max_passes=2))
    equal.fit(RowBlocks(batches(X), max_passes=2))
    np.testing.assert_allclose(one.unigram_, two.unigram_)
    np.testing.assert_allclose(one.components_, two.components_, rtol=1e-6, atol=1e-12)
    assert not np.allclose(one.components_, equal.components_, rtol=1e-3)


def test_passes_end_and_go_on_with_a_warm_start(monkeypatch):
    monkeypatch.setattr("skcooc.fitting.stream.PASS_TOL", -1.0)
    table = batches(X, shuffled=0)
    estimator = AspectModel(3, beta=0.9, random_state=0)
    two, four = (clone(estimator).fit(RowBlocks(table, max_passes=n)) for n in (2, 4))
    assert not four.converged_
    two = pickle.loads(pickle.dumps(two)).set_params(warm_start=True)
    two.fit(RowBlocks(table, max_passes=2))
    np.testing.assert_array_equal(two.components_, four.components_)
    np.testing.assert_array_equal(two.embedding_, four.embedding_)


def test_blocks_of_any_kind(tmp_path):
    names = [f"w{j}" for j in range(X.shape[1])]
    frames = [pd.DataFrame(block.toarray(), columns=names) for block in batches(X, 50)]
    estimator = AspectModel(3, beta=0.9, max_iter=3, random_state=0)
    skcooc.save_table(tmp_path / "table", (block for block in batches(X, 70)))
    disk = RowBlocks(skcooc.open_table(tmp_path / "table", batch_size=50))
    kinds = disk, RowBlocks(frames), RowBlocks(batches(X, 50))
    disk, frames, lists = (clone(estimator).fit(blocks) for blocks in kinds)
    np.testing.assert_array_equal(frames.feature_names_in_, names)
    np.testing.assert_allclose(disk.components_, frames.components_)
    np.testing.assert_allclose(disk.components_, lists.components_)


def test_bad_blocks_and_weights_are_found_before_the_fit():
    model = AspectModel(3, beta=0.9, max_iter=5, random_state=0).fit(X)
    before = pickle.dumps(model)
    for bad in ([X, X[:, 1:]], [X, -X], [X * 0], []):
        refused(r"features|[Nn]egative|0 token|no block", model.fit, RowBlocks(bad))
    for wrong in (np.ones(239), np.ones(241), -np.ones(240), np.zeros(240)):
        with pytest.raises(
            ValueError,
            match="sample_weight|negative" if wrong.any() else "non-zero|weights, are zero",
        ):
            model.fit(RowBlocks(batches(X)), sample_weight=wrong)
    refused("early_stopping=True", clone(model).set_params(early_stopping=True).fit, RowBlocks([X]))
    with pytest.raises(ValueError, match="cannot be read in blocks: clusters of columns"):
        skcooc.SymmetricClustering(3).fit(RowBlocks([X]))
    assert pickle.dumps(model) == before


class Generated(int):
    """So many blocks, which are made when they are read."""

    def __iter__(self):
        for seed in range(self):
            counts = np.random.default_rng(seed).poisson(1.7, (100, 60))
            yield sp.csr_array(counts.astype(float))


def peak_memory(n_blocks):
    model = AspectModel(3, beta=0.9, max_iter=1, random_state=0)
    tracemalloc.start()
    model.fit(RowBlocks(Generated(n_blocks), max_passes=2))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_does_not_grow_with_the_number_of_rows(monkeypatch):
    monkeypatch.setattr("skcooc.tables.reading.SAMPLE_ROWS", 50)
    peak_memory(2)  # what is imported and compiled only once
    few, many = peak_memory(3), peak_memory(9)
    assert many < 1.2 * few
    monkeypatch.setattr("skcooc.tables.reading.SAMPLE_ROWS", 900)  # and that a twin is found out
    assert peak_memory(9) > 1.5 * few
