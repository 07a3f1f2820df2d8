import importlib.util
import os
import pickle
import signal
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from errno import ENOSYS
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import skcooc
from skcooc import AspectModel, AsymmetricClustering, ClusterAbstraction, Dyads, RowBlocks
from skcooc.callbacks import Checkpoint, read_checkpoint, write_checkpoint
from skcooc.em import EMState, OverRelaxation
from skcooc.image import grid_coarsening
from skcooc.protocol import locks
from skcooc.protocol.locks import exclusive
from tests.cases import ESTIMATORS
from tests.contract import X, every_class, every_estimator, fitted, is_hard, quick
from tests.tables import refused
from tests.watching import At, Interruption, Stop, Watcher

ProgressBar, ScoringMonitor = (
    getattr(pytest.importorskip("sklearn.callback", reason="needs scikit-learn 1.9"), name)
    for name in ("ProgressBar", "ScoringMonitor")
)
pytestmark = pytest.mark.usefixtures("short_starts")

SHORT = {"max_iter": 9, "tol": 1e-6, "random_state": 0}
MODEL = AspectModel(3, beta=0.9, max_iter=5, random_state=0)
COARSENING = grid_coarsening((10, 8), 2)
FORMS = [
    *ESTIMATORS,
    AsymmetricClustering(3, beta=0.3, leave_one_out=True),
    AspectModel(3, n_init=3),
    AspectModel(3, beta=0.8, early_stopping=True, n_init=2, n_jobs=2),
    AsymmetricClustering(3, beta=0.4, coarsening=COARSENING),
    AsymmetricClustering(4, beta=0.6, coarsening=COARSENING, annealing=1.3, solver="momentum"),
    ClusterAbstraction(4, beta=0.4, tree="annealed", abstraction="row", row_iter=3),
    skcooc.SymmetricClustering(3, 2, beta=0.8, coarsening=COARSENING),
]


def interrupted(estimator, X, path, at, every=1):
    estimator.set_callbacks(Checkpoint(path, every=every), Interruption(at))
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X)
    return read_checkpoint(path).set_params(warm_start=True)


def fit_with_interruptions(estimator, X, path, at):
    """Fit with an interruption every few iterations; the result and their number."""
    model, n_interruptions = clone(estimator), 0
    while True:
        model.set_callbacks(Checkpoint(path, every=1), Interruption(at))
        try:
            return model.fit(X), n_interruptions
        except KeyboardInterrupt:
            model = read_checkpoint(path).set_params(warm_start=True)
            n_interruptions += 1


def copied(model):
    return pickle.loads(pickle.dumps(model))


def assert_same(one, two):
    for name in ("components_", "embedding_", "weights_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    for name in ("beta_", "smoothing_", "objective_", "n_iter_", "converged_"):
        assert getattr(one, name) == getattr(two, name)
    assert repr(one.tuning_) == repr(two.tuning_)
    assert getattr(one, "splits_", None) == getattr(two, "splits_", None)
    one, two = ([repr(record._replace(seconds=0)) for record in m.history_] for m in (one, two))
    assert one == two


@pytest.mark.parametrize("estimator", FORMS, ids=repr)
def test_a_resumed_fit_is_an_uninterrupted_one(estimator, tmp_path):
    estimator = clone(estimator).set_params(**SHORT)
    at = 2 if is_hard(estimator) else 4
    resumed, n_interruptions = fit_with_interruptions(estimator, X, tmp_path / "model", at)
    assert n_interruptions > 0
    assert_same(resumed, clone(estimator).fit(X))


@pytest.mark.parametrize("solver", ["momentum", 1.8, 1.0])
def test_at_any_iteration(solver, tmp_path, monkeypatch):
    estimator = AspectModel(3, beta=0.9, solver=solver, max_iter=20, tol=0, random_state=0)
    whole = clone(estimator).fit(X)
    for at in (1, 2, 3, 9, 19, 20):
        half = interrupted(clone(estimator), X, tmp_path / "model", at)
        assert half.transform(X).shape == (80, 3)
        assert_same(half.fit(X), whole)
    if solver == 1.0:
        return
    # A broken twin: the parameters are kept, but not the state of the acceleration.
    monkeypatch.setattr(
        EMState,
        "copy",
        lambda run: replace(run, solver=OverRelaxation(1.0), history=[*run.history]),
    )
    half = interrupted(clone(estimator), X, tmp_path / "model", at=10)
    with pytest.raises(AssertionError):
        assert_same(half.fit(X), whole)


def test_warm_starts_resume_finished_fits_do_not_nor_other_parameters_and_data(tmp_path):
    begun = AspectModel(3, max_iter=12, random_state=0).fit(X)
    warm = {"warm_start": True, "max_iter": 30, "tol": 0}
    whole = pickle.loads(pickle.dumps(begun)).set_params(**warm).fit(X)
    half = interrupted(begun.set_params(**warm), X, tmp_path / "model", at=11)
    assert_same(half.fit(X), whole)
    assert half.tuning_
    estimator = AspectModel(3, beta=0.9, max_iter=10, warm_start=True, random_state=0)
    half = interrupted(clone(estimator), X, tmp_path / "model", at=5)
    one, two = half.fit(X), clone(estimator).fit(X)
    assert_same(one.fit(X), two.fit(X))
    # The seeds of a generator are kept.
    estimator = AspectModel(3, n_init=2, max_iter=10)
    whole = clone(estimator).set_params(random_state=np.random.RandomState(1)).fit(X)
    model = clone(estimator).set_params(random_state=np.random.RandomState(1))
    assert_same(interrupted(model, X, tmp_path / "model", at=13).fit(X), whole)
    model = AspectModel(3, max_iter=10, random_state=0)
    half = interrupted(model, X, tmp_path / "model", at=5).set_params(n_jobs=2, random_state=3)
    for name, value in {"beta": 0.5, "max_iter": 20, "solver": 1.0}.items():
        refused(f"changed: {name}. Set warm", copied(half).set_params(**{name: value}).fit, X)
    for other in (X[::-1], 2 * X):
        refused("parameters, but these have changed: X", copied(half).fit, other)
    refused("needs a completed fit.*use joblib", copied(half).partial_fit, X)
    copied(half).set_params(warm_start=False, beta=0.5).fit(2 * X)


def test_a_search_resumes_from_any_trial(tmp_path):
    estimator = AspectModel(3, max_iter=10, random_state=0)
    whole = clone(estimator).fit(X)
    for at in range(1, len(whole.tuning_) + 1):
        model = clone(estimator)
        model.set_callbacks(Checkpoint(tmp_path / "model"), Interruption(at, "beta"))
        with pytest.raises(KeyboardInterrupt):
            model.fit(X)
        assert model._unfinished is None
        half = read_checkpoint(tmp_path / "model").set_params(warm_start=True)
        with pytest.raises(NotFittedError):
            half.transform(X)
        for changed in ({"max_iter": 20}, {"n_components": 4}):
            refused(
                "parameters, but these have changed:", copied(half).set_params(**changed).fit, X
            )
        refused("parameters, but these have changed: X", copied(half).fit, 2 * X)
        assert_same(half.fit(X), whole)


def test_a_stream_resumes(tmp_path, monkeypatch):
    monkeypatch.setattr("skcooc.tables.reading.SAMPLE_ROWS", 30)
    monkeypatch.setattr("skcooc.fitting.stream.PASS_TOL", -1.0)
    blocks = RowBlocks([X[:30], X[30:60], X[60:]], max_passes=5)
    estimator = AspectModel(3, beta=0.9, max_iter=3, random_state=0)
    whole = clone(estimator).fit(blocks)
    for at in (2, 4, 6, 8):  # in the sample, after the first pass, the third, the last
        half = interrupted(clone(estimator), blocks, tmp_path / "model", at=at, every=2)
        assert_same(copied(half).fit(blocks), whole)
    refused("parameters, but these have changed: X", half.fit, RowBlocks([X[:60]]))


def test_a_stop_in_the_sample_of_a_table_in_blocks_is_one_of_the_whole_fit(monkeypatch):
    monkeypatch.setattr("skcooc.tables.reading.SAMPLE_ROWS", 30)
    blocks = RowBlocks([X[:30], X[30:60], X[60:]], max_passes=5)
    model = AspectModel(3, beta=0.9, random_state=0)
    for after in (3, 12):  # in the start, and in the last run
        early = clone(model).set_callbacks(Stop(after=after)).fit(blocks)
        assert early.n_iter_ == len(early.history_) == after
        assert early.embedding_.shape == (0, 3)
        assert early.transform(X).shape == (80, 3)
        early.set_callbacks().set_params(warm_start=True).fit(blocks)
        assert early.n_iter_ > after


@pytest.mark.parametrize("call", [(pickle, "dump"), (os, "fsync"), (os, "replace")])
def test_an_interrupted_write_keeps_the_old_file(call, tmp_path, monkeypatch):
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


def test_callbacks_are_not_written_and_bad_parameters_are_refused_before_the_fit(tmp_path):
    model = clone(MODEL).set_callbacks(Checkpoint(tmp_path / "model", every=50)).fit(X)
    assert os.listdir(tmp_path) == []  # without a search, not before the first iteration
    model.set_callbacks(Checkpoint(tmp_path / "model", every=5)).fit(X)
    assert not [name for name in vars(read_checkpoint(tmp_path / "model")) if "callback" in name]
    assert model._skl_callbacks
    for every in (0, -1, 2.5, "often"):
        refused("'every' parameter", Checkpoint, tmp_path / "model", every=every)
    missing = tmp_path / "missing" / "model"
    for path, kind in ((missing, FileNotFoundError), (tmp_path, IsADirectoryError)):
        model, begun = clone(MODEL), Interruption(at=1)
        with pytest.raises(kind, match=r"checkpoint|not a regular"):
            model.set_callbacks(Checkpoint(path, every=1), begun).fit(X)
        assert begun.seen == 0
        assert not hasattr(model, "components_")


def test_a_second_fit_with_a_checkpoint_is_refused_at_once_and_the_first_goes_on(tmp_path):
    path, begun = tmp_path / "model", Interruption(at=1)
    checkpoint, whole = Checkpoint(path, every=2), clone(MODEL).fit(X)

    def second():
        for other in (Checkpoint(path), checkpoint):
            model = clone(MODEL).set_callbacks(other, begun)
            told = f"written by process {os.getpid()} since 20.*{path.name}"
            refused(told, model.fit, X, error=BlockingIOError)
            assert not hasattr(model, "components_")

    meanwhile = At(1, second)
    assert_same(clone(MODEL).set_callbacks(checkpoint, meanwhile).fit(X), whole)
    assert (meanwhile.n_calls < 0, begun.seen) == (True, 0)
    assert os.listdir(tmp_path) == ["model"]
    interrupted(clone(MODEL), X, path, at=2)  # gives its lock back, too
    assert_same(clone(MODEL).set_callbacks(Checkpoint(path)).fit(X), whole)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_locks_of_other_processes_count_as_long_as_these_live_and_not_in_their_children(tmp_path):
    path, (ours, theirs) = tmp_path / "model", socket.socketpair()
    pid = os.fork()
    if not pid:
        with exclusive(path):
            if not os.fork():  # outlives its parent
                ours.close()
                theirs.send(b"here")
                theirs.recv(1)
                os._exit(0)
            time.sleep(60)
    ours.recv(4)
    model = clone(MODEL).set_callbacks(Checkpoint(path))
    try:
        refused(f"is being written by process {pid} since", model.fit, X, error=BlockingIOError)
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        model.fit(X)
    finally:
        ours.close()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_a_file_of_a_lock_is_removed_while_it_is_locked_and_no_removed_one_is(
    tmp_path, monkeypatch
):
    path, lock, unlink = tmp_path / "model", vars(locks)["_lock"], Path.unlink

    def refused_meanwhile():
        with pytest.raises(BlockingIOError), exclusive(path):
            pass

    def unlink_and_lock(file):
        monkeypatch.undo()
        unlink(Path(file.name))
        lock(file)

    def try_and_unlink(file, **options):
        if "lock" in file.name:
            refused_meanwhile()
        unlink(file, **options)

    monkeypatch.setattr(locks, "_lock", unlink_and_lock)  # the writer before has just ended
    with exclusive(path):
        refused_meanwhile()
        monkeypatch.setattr(Path, "unlink", try_and_unlink)
    assert os.listdir(tmp_path) == []


def test_the_locks_of_windows_are_of_the_same_byte(tmp_path, monkeypatch):
    """A stand-in of msvcrt.locking, which begins at the position of the file."""
    held = {}  # file and byte -> descriptor, as long as it is open

    def locking(file, mode, n_bytes):
        place = os.fstat(file).st_ino, os.lseek(file, 0, os.SEEK_CUR)
        if mode == "unlock":
            assert held.pop(place) == file
        elif held.setdefault(place, file) != file:
            raise PermissionError
        assert n_bytes == 1

    stand_in = SimpleNamespace(locking=locking, LK_NBLCK="lock", LK_UNLCK="unlock")
    monkeypatch.setitem(sys.modules, "msvcrt", stand_in)
    monkeypatch.setattr(sys, "platform", "win32")
    spec = importlib.util.spec_from_file_location("windows", locks.__file__)
    windows = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(windows)
    for _ in range(2):
        with windows.exclusive(tmp_path / "model"):
            told = rf"is being written by process {os.getpid()} since \d+-\d+-\d+ .*model"
            with pytest.raises(BlockingIOError, match=told), windows.exclusive(tmp_path / "model"):
                pass
        assert (held, os.listdir(tmp_path)) == ({}, [])


def test_file_systems_without_locks_warn(tmp_path, monkeypatch):
    def refuse(file):
        raise OSError(ENOSYS, "Function not implemented")

    monkeypatch.setattr("skcooc.protocol.locks._lock", refuse)
    model = clone(MODEL).set_callbacks(Checkpoint(tmp_path / "model", every=1))
    with pytest.warns(UserWarning, match="model cannot be locked .*one fit at a time"):
        model.fit(X)
    assert os.listdir(tmp_path) == ["model"]


def test_killed_writes_leave_one_file_and_parallel_ones_do_not_collide(tmp_path, monkeypatch):
    path, model = tmp_path / "model", clone(MODEL).fit(X)
    for _ in range(3):
        with monkeypatch.context() as killed:
            killed.setattr(os, "replace", lambda *paths: None)
            killed.setattr(type(path), "unlink", lambda *arguments, **options: None)
            write_checkpoint(path, model)
        assert len(os.listdir(tmp_path)) == 1
    write_checkpoint(path, model)
    assert os.listdir(tmp_path) == ["model"]
    # Parallel writes do not collide.
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: write_checkpoint(path, model), range(12)))
    assert_same(read_checkpoint(path), model)
    assert os.listdir(tmp_path) == ["model"]


def test_damaged_files_are_refused_and_those_of_another_version_warn(tmp_path, monkeypatch):
    path = tmp_path / "model"
    write_checkpoint(path, clone(MODEL).fit(X))
    whole = path.read_bytes()
    for place in (40, len(whole) // 2, len(whole) - 40, len(whole) - 1):
        changed = bytearray(whole)
        changed[place] ^= 1
        for damaged in (bytes(changed), whole[:place]):
            path.write_bytes(damaged)
            refused("model is a damaged checkpoint", read_checkpoint, path)
    # Other files are described.
    kinds = ["an empty file", "a pickle", "a zip archive", "begins with b'hello"]
    for content, kind in zip((b"", pickle.dumps(1), b"PK\3\4", b"hello\n"), kinds, strict=True):
        path.write_bytes(content)
        refused(f"is not a checkpoint, but .*{kind}", read_checkpoint, path)
    path, model = tmp_path / "model", clone(MODEL).fit(X)
    with monkeypatch.context() as older:
        older.setattr("skcooc.base.predictions.__version__", "0.0.1")
        older.setattr("skcooc.callbacks.__version__", "0.0.1")
        pickled = pickle.dumps(model)
        write_checkpoint(path, model)
    with pytest.warns(UserWarning, match=r"AspectModel was written by skcooc 0\.0\.1, and this is"):
        assert_same(pickle.loads(pickled), model)
    with pytest.warns(UserWarning, match=r"skcooc 0\.0\.1"):
        read_checkpoint(path)
    monkeypatch.delattr("skcooc.equations.aspects.Aspects")
    refused(r"model was written by skcooc 0\.0\.1, and cannot be read", read_checkpoint, path)


class Watch(Watcher):
    """Uses the estimator as if the fit had ended."""

    def __init__(self):
        self.scores = []

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if fitted_estimator is not None:
            self.scores.append(fitted_estimator.score(Dyads(X)))
            assert fitted_estimator.transform(X).shape == fitted_estimator.embedding_.shape


@every_estimator
def test_callbacks_stop_fits_and_see_fitted_estimators_and_interruptions_leave_no_trace(estimator):
    model = quick(estimator, n_init=1, tol=0).set_callbacks(Stop(after=2)).fit(X)
    assert model.n_iter_ == 2
    assert not model.converged_
    np.testing.assert_allclose(model.transform(X).sum(axis=1), 1)
    watch = Watch()
    model = quick(estimator, max_iter=8).set_callbacks(watch).fit(X)
    assert len(watch.scores) >= sum(record.stage == "fit" for record in model.history_)
    assert watch.scores[-1] > watch.scores[0] - 0.2  # a start may be good already, or too good
    model = quick(estimator).set_callbacks(Interruption(at=2))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert not hasattr(model, "components_")
    assert not hasattr(model, "n_features_in_")
    done = fitted(estimator)
    before = dict(vars(done))
    done.set_callbacks(Interruption(at=2))
    with pytest.raises(KeyboardInterrupt):
        done.fit(X[:, :10])
    after = {name: value for name, value in vars(done).items() if name != "_skl_callbacks"}
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)


@every_class
def test_progress_bar_and_monitor_run(estimator, capsys):
    model = quick(estimator)
    model.set_callbacks(ProgressBar()).fit(X)
    assert type(model).__name__ in "".join(capsys.readouterr())  # the command line redirects rich
    monitor = ScoringMonitor(scoring=lambda model, X, y=None: model.score(X))
    model.set_callbacks(monitor).fit(X)


def test_a_checksum_ends_where_a_file_shrinks_while_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "model"
    write_checkpoint(path, AspectModel())
    whole = path.stat().st_size
    monkeypatch.setattr("os.fstat", lambda _: SimpleNamespace(st_size=whole + 100))
    refused("damaged checkpoint", read_checkpoint, path)


def test_the_last_short_fit_of_bursty_rows_and_runs_side_by_side_have_tasks():
    model = AspectModel(3, burstiness="auto", max_iter=6, random_state=0)
    watched = clone(model).set_callbacks(Stop(after=np.inf)).fit(X)
    assert_same(watched, clone(model).fit(X))
    model = AspectModel(3, beta=0.9, leave_one_out=True, n_init=8, max_iter=1, random_state=0)
    many = clone(model).set_params(n_jobs=4).set_callbacks(Stop(after=np.inf)).fit(X)
    assert_same(many, clone(model).fit(X))
