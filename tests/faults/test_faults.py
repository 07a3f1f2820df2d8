"""A quick profile; SKCOOC_KILLS=200 kills each kind of fit so many times."""

import contextlib
import os
import signal
import time
from threading import Event, Thread

import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock
from sklearn.base import clone

from skcooc import callbacks, open_table, save_table
from skcooc.callbacks import Checkpoint, read_checkpoint
from skcooc.cli import main
from skcooc.fitting.journal import Journal
from skcooc.inspection import Explorer
from skcooc.protocol.decorators import compiled
from tests.cli.odd import DOCUMENTS
from tests.data import requires_callbacks
from tests.faults import resources
from tests.faults.killing import (
    ASPECTS,
    CHAIN,
    KILLS,
    KINDS,
    QUICK,
    X,
    chain,
    child,
    fitted,
    outcome,
    undisturbed,
)
from tests.watching import Stop, Watcher

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")


@requires_callbacks
@pytest.mark.parametrize("kind", QUICK if KILLS == 3 else KINDS)
def test_a_fit_that_is_killed_ends_with_the_same_result(kind):
    whole, rng, n = undisturbed(kind), np.random.default_rng(0), 0
    while n < KILLS:
        n += chain(whole, rng, min(CHAIN, KILLS - n))


class Interruption(Watcher):
    """Interrupts a fit after so many checkpoints."""

    def __init__(self, path, after):
        self.path, self.after, self.seen = path, after, set()

    def on_fit_task_end(self, estimator, context):
        if self.path.exists():
            self.seen.add(self.path.stat().st_mtime_ns)
        if len(self.seen) >= self.after:
            raise KeyboardInterrupt


def half(kind, path, every):
    """A fit that was interrupted at its third checkpoint, as it is read from that."""
    model = clone(KINDS[kind]).set_callbacks(Checkpoint(path, every=every), Interruption(path, 3))
    with contextlib.suppress(KeyboardInterrupt):
        fitted(model)
    model = read_checkpoint(path)
    return model.set_params(warm_start=True) if hasattr(model, "warm_start") else model


def found(monkeypatch, model):
    """Number of computed entries of the journal, and the outcome of a fit."""
    asked, once = [], Journal.get_or_compute

    def counted(self, name, compute, *args, **options):
        return once(self, name, lambda: asked.append(name) or compute(*args), **options)

    with monkeypatch.context() as watched:
        watched.setattr(Journal, "get_or_compute", counted)
        result = outcome(fitted(model))
    return len(asked), result


@requires_callbacks
@pytest.mark.parametrize("kind", ["grown tree", "components", "average", "mean", "memory"])
def test_results_of_a_checkpoint_are_not_computed_again(kind, tmp_path, monkeypatch):
    whole = found(monkeypatch, clone(KINDS[kind]).set_callbacks(Stop(np.inf)))
    rest = found(monkeypatch, half(kind, tmp_path / "model", every=1))
    assert rest[0] < whole[0]
    assert rest[1] == whole[1]


def test_no_room_no_memory_two_writers_threads_and_forks(tmp_path):
    path, model = tmp_path / "model", fitted(clone(ASPECTS))
    resources.written(path, model)
    assert resources.without_room(path, model, 1000) == "File too large"
    assert outcome(read_checkpoint(path)) == outcome(model)
    assert os.listdir(tmp_path) == ["model"]
    expected = outcome(model)
    assert resources.without_memory() == expected
    whole, _ = resources.meeting(path, [model, model], 0.2)
    assert whole
    assert resources.flips(path, np.random.default_rng(0), 20) == 20
    assert {*resources.side_by_side(4), *resources.after_threads(2)} == {expected}


@requires_callbacks
@pytest.mark.parametrize(
    "lock", [global_compiler_lock, callbacks.WRITING], ids=["compiler", "writing"]
)
def test_a_process_forked_while_a_thread_has_a_lock_fits(lock, tmp_path):
    taken = Event()

    def hold():
        with lock:
            taken.set()
            time.sleep(0.1)

    def fit():
        compiled(lambda x: x + 1)(2)
        return outcome(fitted(clone(ASPECTS).set_callbacks(Checkpoint(tmp_path / "model"))))

    expected = fit()
    thread = Thread(target=hold)
    thread.start()
    taken.wait()
    assert child(fit, 20.0) == expected
    thread.join()


def links_in_a_circle(path):
    path.with_name("other").symlink_to(path.name)
    path.symlink_to("other")


def link_to_a_pipe(path):
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


ODD = {
    "folder": os.mkdir,
    "pipe": os.mkfifo,
    "link to a pipe": link_to_a_pipe,
    "links in a circle": links_in_a_circle,
    "link to itself": lambda path: path.symlink_to(path),
}
OPTIONS = "--beta", ".9", "--max-iter", "2", "--jobs", "1", "--no-progress"
PLACES = {  # of what is read or written, and how
    "read.model": read_checkpoint,
    "fit.model": lambda path: fitted(clone(ASPECTS).set_callbacks(Checkpoint(path))),
    "page.html": lambda path: Explorer({}, "title").save(path),
    "opened": open_table,
    "saved": lambda path: save_table(path, [X]),
    **dict.fromkeys(["data.npz", "data.csv", "data"], lambda path: main([*OPTIONS, str(path)])),
    "seeds": lambda path: main([*OPTIONS, str(texts(path)), "--seeds", str(path)]),
    "components.csv": lambda path: main([*OPTIONS, str(texts(path)), "-o", str(path.parent)]),
    "cli.html": lambda path: main([*OPTIONS, str(texts(path)), "--html", str(path)]),
}


def kinds(folder):
    return {name: os.lstat(folder / name).st_mode for name in os.listdir(folder)}


def texts(path):
    data = path.parent / "texts"
    data.write_text("\n".join(DOCUMENTS))
    return data


@requires_callbacks
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("odd", ODD)
def test_paths_that_are_no_files_are_refused_at_once(odd, place, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Explorer, "html", "page")
    path = tmp_path / place
    ODD[odd](path)
    before = kinds(tmp_path)
    with pytest.raises((OSError, SystemExit), match=place), at_once():  # noqa: PT012
        if PLACES[place](path):
            raise SystemExit(capsys.readouterr().err)
    texts(path).unlink()
    assert kinds(tmp_path) == before


@contextlib.contextmanager
def at_once():
    """Fail after ten seconds."""
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it hangs"))
    signal.alarm(10)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
