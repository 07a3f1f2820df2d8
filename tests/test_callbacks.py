"""Checkpoints: a fit that was stopped goes on, and ends as the undisturbed one."""

import os
import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from skcooc import (
    AspectModel,
    AsymmetricClustering,
    ClusterAbstraction,
    RowBlocks,
    SymmetricClustering,
)
from skcooc.callbacks import Checkpoint, read_checkpoint, write_checkpoint
from skcooc.em import OverRelaxation, Run
from skcooc.image import grid_coarsening
from tests.cases import ESTIMATORS, FORMS
from tests.tables import planted
from tests.watching import Watcher

pytestmark = pytest.mark.filterwarnings("ignore:EM did not converge", "ignore:All .* components")

X = planted(n_observations=4000).X.astype(float)
SHORT = {"max_iter": 9, "tol": 1e-6, "random_state": 0}
COARSENING = grid_coarsening((10, 8), 2)
OTHERS = [
    *(estimator for estimator in ESTIMATORS if estimator.beta != "auto"),
    AspectModel(3, n_init=3),
    AspectModel(3, beta=0.8, early_stopping=True, n_init=2, n_jobs=2),
    AsymmetricClustering(3, beta=0.4, coarsening=COARSENING),
    AsymmetricClustering(4, beta=0.6, coarsening=COARSENING, cooling=1.3, relaxation="momentum"),
    ClusterAbstraction(4, beta=0.4, tree="annealed", abstraction="object", object_iter=3),
    SymmetricClustering(3, 2, beta=0.8, coarsening=COARSENING),
]


class Interruption(Watcher):
    """Ends the process, as it were, at an iteration."""

    def __init__(self, at):
        self.at, self.seen = at, 0

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.seen += fitted_estimator is not None
        if self.seen == self.at:
            raise KeyboardInterrupt


def interrupted(estimator, X, path, at, every=1):
    estimator.set_callbacks(Checkpoint(path, every=every), Interruption(at))
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X)
    return read_checkpoint(path).set_params(warm_start=True)


def patched_up(estimator, X, path, at):
    """The end of a fit that is interrupted every few iterations, and how often that was."""
    model, n_interruptions = clone(estimator), 0
    while True:
        model.set_callbacks(Checkpoint(path, every=1), Interruption(at))
        try:
            return model.fit(X), n_interruptions
        except KeyboardInterrupt:
            model = read_checkpoint(path).set_params(warm_start=True)
            n_interruptions += 1


def assert_same(one, two):
    for name in ("components_", "embedding_", "weights_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    for name in ("beta_", "smoothing_", "objective_", "n_iter_", "converged_"):
        assert getattr(one, name) == getattr(two, name)
    assert repr(one.temperature_search_) == repr(two.temperature_search_)
    assert getattr(one, "splits_", None) == getattr(two, "splits_", None)
    records = ([repr(record[:-1]) for record in model.history_] for model in (one, two))
    assert len(set(map(tuple, records))) == 1


@pytest.mark.parametrize("estimator", FORMS + OTHERS, ids=repr)
def test_a_fit_goes_on_as_if_nothing_had_happened(estimator, tmp_path):
    estimator = clone(estimator).set_params(**SHORT)
    resumed, n_interruptions = patched_up(estimator, X, tmp_path / "model", at=2)
    assert n_interruptions > 0
    assert_same(resumed, clone(estimator).fit(X))


@pytest.mark.parametrize("at", [1, 2, 3, 17, 39, 40])
@pytest.mark.parametrize("relaxation", ["momentum", 1.8, 1.0])
def test_at_any_iteration(relaxation, at, tmp_path):
    estimator = AspectModel(3, beta=0.9, relaxation=relaxation, max_iter=40, tol=0, random_state=0)
    half = interrupted(clone(estimator), X, tmp_path / "model", at)
    assert half.transform(X).shape == (80, 3)
    assert_same(half.fit(X), clone(estimator).fit(X))


@pytest.mark.parametrize("relaxation", ["momentum", 1.8])
def test_speed_that_is_forgotten_is_found_out(relaxation, tmp_path, monkeypatch):
    """A broken twin: the parameters are kept, but not what makes steps longer."""
    estimator = AspectModel(3, beta=0.9, relaxation=relaxation, max_iter=40, tol=0, random_state=0)
    whole = clone(estimator).fit(X)
    monkeypatch.setattr(
        Run, "copy", lambda run: replace(run, solver=OverRelaxation(1.0), history=[*run.history])
    )
    half = interrupted(clone(estimator), X, tmp_path / "model", at=20)
    with pytest.raises(AssertionError):
        assert_same(half.fit(X), whole)


def test_warm_starts_go_on_too_and_what_ended_is_over(tmp_path):
    begun = AspectModel(3, max_iter=12, random_state=0).fit(X)
    warm = {"warm_start": True, "max_iter": 30, "tol": 0}
    whole = pickle.loads(pickle.dumps(begun)).set_params(**warm).fit(X)
    half = interrupted(begun.set_params(**warm), X, tmp_path / "model", at=11)
    assert_same(half.fit(X), whole)
    assert half.temperature_search_
    estimator = AspectModel(3, beta=0.9, max_iter=10, warm_start=True, random_state=0)
    half = interrupted(clone(estimator), X, tmp_path / "model", at=5)
    one, two = half.fit(X), clone(estimator).fit(X)
    assert_same(one.fit(X), two.fit(X))


def test_the_seeds_of_a_generator_are_kept(tmp_path):
    estimator = AspectModel(3, n_init=2, max_iter=10)
    whole = clone(estimator).set_params(random_state=np.random.RandomState(1)).fit(X)
    model = clone(estimator).set_params(random_state=np.random.RandomState(1))
    assert_same(interrupted(model, X, tmp_path / "model", at=13).fit(X), whole)


def test_a_fit_goes_on_only_as_it_was(tmp_path):
    model = AspectModel(3, max_iter=10, random_state=0)
    half = interrupted(model, X, tmp_path / "model", at=5).set_params(n_jobs=2, random_state=3)
    for changed in ({"beta": 0.5}, {"max_iter": 20}, {"relaxation": 1.0}):
        with pytest.raises(ValueError, match=f"other values of {next(iter(changed))}. Set warm"):
            clone_with_state(half).set_params(**changed).fit(X)
    for other in (X[::-1], 2 * X):
        with pytest.raises(ValueError, match="other values of X"):
            clone_with_state(half).fit(other)
    with pytest.raises(ValueError, match="came to its end"):
        clone_with_state(half).partial_fit(X)
    clone_with_state(half).set_params(warm_start=False, beta=0.5).fit(2 * X)


def clone_with_state(model):
    return pickle.loads(pickle.dumps(model))


def test_nothing_is_written_before_the_first_iteration(tmp_path):
    class InTheSearch(Interruption):
        def on_fit_task_end(self, estimator, context):
            if context.task_name.startswith("beta"):
                raise KeyboardInterrupt

    model = AspectModel(3, random_state=0)
    model.set_callbacks(Checkpoint(tmp_path / "model", every=1), InTheSearch(0))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert os.listdir(tmp_path) == []


def test_a_stream_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("skcooc.tables.reading.SAMPLE_ROWS", 30)
    monkeypatch.setattr("skcooc.fitting.stream.PASS_TOL", -1.0)
    blocks = RowBlocks([X[:30], X[30:60], X[60:]], max_passes=5)
    estimator = AspectModel(3, beta=0.9, max_iter=3, random_state=0)
    whole = clone(estimator).fit(blocks)
    for at in (2, 4, 6, 8):  # in the sample, after the first pass, the third, the last
        half = interrupted(clone(estimator), blocks, tmp_path / "model", at=at, every=2)
        assert_same(clone_with_state(half).fit(blocks), whole)
    with pytest.raises(ValueError, match="other values of X"):
        half.fit(RowBlocks([X[:60]]))


@pytest.mark.parametrize("call", [(pickle, "dump"), (os, "fsync"), (os, "replace")])
def test_a_write_that_is_interrupted_leaves_the_old_file(call, tmp_path, monkeypatch):
    path = tmp_path / "model"
    model = AspectModel(3, beta=0.9, max_iter=5, random_state=0).fit(X)
    write_checkpoint(path, model)
    before = path.read_bytes()

    def interrupt(*arguments, **options):
        if call[1] == "dump":
            arguments[1].write(b"half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(*call, interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_checkpoint(path, model)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]


def test_callbacks_are_not_written(tmp_path):
    model = AspectModel(3, beta=0.9, max_iter=30, random_state=0)
    model.set_callbacks(Checkpoint(tmp_path / "model")).fit(X)
    assert not [name for name in vars(read_checkpoint(tmp_path / "model")) if "callback" in name]
    assert model._skl_callbacks
