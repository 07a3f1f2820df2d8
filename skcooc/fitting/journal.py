"""What a fit has found so far, by which one that was cut short goes on."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

import joblib
import numpy as np
from sklearn.base import BaseEstimator

from skcooc.callbacks import keep
from skcooc.em import EMState, Record, State
from skcooc.fitting.progress import Listener
from skcooc.fitting.tuning import Trial
from skcooc.protocol import T

Name = tuple[str | int | float, ...]  # of a part: that of the whole, and more


class InterruptedRun(NamedTuple):
    """Legs of EM that have not ended."""

    run: EMState
    random: Mapping[str, Any]  # state of the generator of random numbers


class Journal:
    """What a fit has found so far, by name: what is there is not computed again.

    A fit asks for the same things, by the same names, whenever it is made with the same data,
    parameters and seeds. So one that was cut short is made again with its journal, comes at once to
    where it was, and ends bit by bit as if nothing had happened.
    """

    def __init__(self, estimator: BaseEstimator | None = None, key: str | None = None) -> None:
        self._estimator, self.key = estimator, key
        self._found: dict[Name, Any] = {}

    def get_or_compute(self, name: Name, find: Callable[[], T], *, tells: bool = False) -> T:
        """Return what has this name; compute it first if it is not there.

        Threads may ask side by side. ``tells`` is whether checkpoints are written then.
        """
        if name not in self._found:
            self.add(name, find())
            if tells:
                self.checkpoint()
        return cast(T, self._found[name])

    def add(self, name: Name, value: object) -> None:
        """Keep a finished part, and forget the parts of it."""
        self._found[name] = value
        for other in list(self._found):
            if other[:-1] == name:
                del self._found[other]

    def note(self, name: Name, value: object) -> None:
        """Keep where something is that is under way."""
        self._found[name] = value

    def noted(self, name: Name) -> Any:
        """What was kept; None where nothing was."""
        return self._found.get(name)

    def checkpoint(self, *, ended: bool = True) -> None:
        """Let checkpoints be written; ``ended`` is whether it was more than an EM iteration."""
        if hasattr(self._estimator, "_skl_callbacks"):
            keep(self._estimator, lambda: {"_unfinished": self.of(None)}, ended=ended)

    def of(self, estimator: BaseEstimator | None) -> Journal:
        """A copy, which tells the checkpoints of an estimator."""
        new = Journal(estimator, self.key)
        new._found = dict(self._found)
        return new

    def resumed(self, name: Name, rng: np.random.Generator) -> EMState | None:
        """Where legs of EM are that have not ended, with their random numbers; None at first."""
        if (before := self.noted(name)) is None:
            return None
        rng.bit_generator.state = before.random
        return cast(EMState, before.run)

    def __getstate__(self) -> dict[str, Any]:
        return {"_estimator": None, "key": self.key, "_found": dict(self._found)}


class JournalListener(Listener):
    """Notes where a run of EM is after each iteration, and lets checkpoints keep the trials.

    ``tells`` is whether checkpoints are written after an iteration, too.
    """

    def __init__(
        self,
        journal: Journal,
        name: Name = (),
        rng: np.random.Generator | None = None,
        *,
        tells: bool = False,
    ) -> None:
        self._journal, self._name, self._rng, self._tells = journal, name, rng, tells

    def trial(self, trial: Trial) -> bool:
        self._journal.checkpoint()
        return False

    def iteration(self, record: Record, state: State, run: EMState) -> bool:
        rng = cast(np.random.Generator, self._rng)
        self._journal.note(self._name, InterruptedRun(run, rng.bit_generator.state))
        if self._tells:
            self._journal.checkpoint(ended=False)
        return False


def resume_or_new(estimator: BaseEstimator, *data: object) -> Journal:
    """The journal of an interrupted fit of the same data and parameters, or one that begins.

    It stays with the estimator until ``del estimator._unfinished``. A generator of random numbers
    is no such parameter, since it changes with use: what it gave has to be in the journal.
    """
    asked = estimator.get_params(deep=True)
    for name in {"n_jobs", "refit"} & set(asked):
        del asked[name]
    for name, value in asked.items():
        if hasattr(value, "get_params"):  # its parameters are there beside it
            asked[name] = type(value)
    if isinstance(asked.get("random_state"), np.random.RandomState):
        del asked["random_state"]
    key = _hashed([sorted(asked.items()), data])
    before: Journal | None = getattr(estimator, "_unfinished", None)
    same = before is not None and key is not None and before.key == key
    estimator._unfinished = cast(Journal, before).of(estimator) if same else Journal(estimator, key)
    return cast(Journal, estimator._unfinished)


def _hashed(asked: object) -> str | None:
    """None where a part cannot be pickled, such as a lambda: then it is like no other."""
    try:
        return cast(str, joblib.hash(asked))
    except (pickle.PicklingError, AttributeError, TypeError, ValueError):
        return None
