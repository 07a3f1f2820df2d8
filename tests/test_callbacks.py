"""Checkpoints: a fit that was stopped goes on."""

import os
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from skcooc import AspectModel, AsymmetricClustering, ProductSpaceMixture, RowBlocks
from skcooc.callbacks import Checkpoint, read_checkpoint, write_checkpoint
from tests.tables import planted

pytestmark = pytest.mark.filterwarnings("ignore:EM did not converge", "ignore:All .* components")

X = planted(n_observations=4000).X.astype(float)


class Interruption:
    """Ends the process, as it were, at an iteration."""

    def __init__(self, at):
        self.at, self.seen = at, 0

    def setup(self, estimator, context):
        pass

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.seen += fitted_estimator is not None
        if self.seen == self.at:
            raise KeyboardInterrupt


def interrupted(estimator, X, path, at, every=10):
    model = clone(estimator).set_callbacks(Checkpoint(path, every=every), Interruption(at))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    return read_checkpoint(path)


def assert_same(one, two):
    np.testing.assert_array_equal(one.components_, two.components_)
    np.testing.assert_array_equal(one.embedding_, two.embedding_)
    assert (one.beta_, one.smoothing_) == (two.beta_, two.smoothing_)
    assert one.objective_ == two.objective_


@pytest.mark.parametrize(
    "estimator",
    [
        AspectModel(3, relaxation=1.0, random_state=0),
        AspectModel(3, beta=0.9, component_prior=0.01, relaxation=1.0, random_state=0),
        AsymmetricClustering(3, relaxation=1.0, random_state=0),
        AsymmetricClustering(4, hard=True, random_state=0),
        ProductSpaceMixture(3, 4, beta=0.95, relaxation=1.0, random_state=0),
    ],
    ids=repr,
)
def test_plain_em_goes_on_as_if_nothing_had_happened(estimator, tmp_path):
    estimator = clone(estimator).set_params(max_iter=60)
    whole = clone(estimator).fit(X)
    every = min(10, whole.n_iter_ - 2)
    half = interrupted(estimator, X, tmp_path / "model", at=every + 1, every=every)
    resumed = half.set_params(warm_start=True, max_iter=60 - every).fit(X)
    assert_same(resumed, whole)
    assert resumed.n_iter_ == whole.n_iter_ - every


@pytest.mark.parametrize("relaxation", ["momentum", 1.8])
def test_long_steps_end_in_the_same_place(relaxation, tmp_path):
    estimator = AspectModel(3, relaxation=relaxation, tol=1e-9, max_iter=2000, random_state=0)
    whole = clone(estimator).fit(X)
    half = interrupted(estimator, X, tmp_path / "model", at=25)
    resumed = half.set_params(warm_start=True).fit(X)
    assert (resumed.beta_, resumed.smoothing_) == (whole.beta_, whole.smoothing_)
    assert resumed.objective_ == pytest.approx(whole.objective_, rel=1e-5)
    np.testing.assert_allclose(resumed.components_, whole.components_, atol=1e-3)


def test_a_stream_goes_on_exactly(tmp_path, monkeypatch):
    monkeypatch.setattr("skcooc.stream_mixin.SAMPLE_ROWS", 30)
    monkeypatch.setattr("skcooc.stream_mixin.PASS_TOL", -1.0)
    estimator = AspectModel(3, beta=0.9, max_iter=3, random_state=0)
    blocks = [X[:30], X[30:60], X[60:]]
    whole = clone(estimator).fit(RowBlocks(blocks, max_passes=5))
    passes = RowBlocks(blocks, max_passes=5)
    half = interrupted(estimator, passes, tmp_path / "model", at=3 + 3, every=2)
    assert half.n_iter_ == 3 + 2
    half.set_params(warm_start=True).fit(RowBlocks(blocks, max_passes=3))
    assert_same(half, whole)
    assert half.n_iter_ == whole.n_iter_


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model"
    model = AspectModel(3, beta=0.9, max_iter=5, random_state=0).fit(X)
    write_checkpoint(path, model)
    before = path.read_bytes()

    def full_disk(estimator, file, protocol):
        file.write(b"half of it")
        raise OSError("No space left on device")

    monkeypatch.setattr(pickle, "dump", full_disk)
    with pytest.raises(OSError, match="space"):
        write_checkpoint(path, model)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]


def test_callbacks_are_not_written(tmp_path):
    estimator = AspectModel(3, beta=0.9, max_iter=30, random_state=0)
    model = clone(estimator).set_callbacks(Checkpoint(tmp_path / "model")).fit(X)
    assert not [name for name in vars(read_checkpoint(tmp_path / "model")) if "callback" in name]
    assert model._skl_callbacks
