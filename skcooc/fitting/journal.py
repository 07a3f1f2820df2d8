"""Journal of a fit: results so far, from which an interrupted fit resumes."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

import joblib
import numpy as np
from sklearn.base import BaseEstimator

from skcooc.callbacks import keep
from skcooc.em import EMResult, EMState
from skcooc.protocol import T

Name = tuple[str | int | float, ...]  # of a part: that of the whole, and more


class UnfinishedRun(NamedTuple):
    """Run of EM that has not ended."""

    run: EMState
    random: Mapping[str, Any]  # state of the generator of random numbers


class FinishedRun(NamedTuple):
    """Run of EM that is a part of something that has not ended."""

    result: EMResult
    random: Mapping[str, Any]  # state of the generator of random numbers


class Journal:
    """Everything that a fit has computed so far, by name: it is not computed again.

    A fit asks for the same names whenever it has the same data, parameters and seeds. So an
    interrupted fit that is made again with its journal comes at once to where it was, and ends bit
    by bit as if nothing had happened.
    """

    def __init__(self, estimator: BaseEstimator | None = None, key: str | None = None) -> None:
        self._estimator = estimator
        self.key = key
        self._results: dict[Name, Any] = {}

    def get_or_compute(
        self, name: Name, compute: Callable[..., T], *args: Any, checkpoint: bool = False
    ) -> T:
        """Return the result of this name; compute it from the arguments if it is missing.

        Several threads may call it at a time. With ``checkpoint``, checkpoints are then written.
        """
        if name not in self._results:
            self.add(name, compute(*args))
            if checkpoint:
                self.checkpoint()
        return cast(T, self._results[name])

    def add(self, name: Name, value: object) -> None:
        """Keep a finished part, and forget its own parts."""
        self.forget(name)
        self._results[name] = value

    def forget(self, name: Name) -> None:
        """Forget a part, and its own parts."""
        for other in list(self._results):
            if other[: len(name)] == name:
                del self._results[other]

    def set(self, name: Name, value: object) -> None:
        """Keep the state of a part that has not ended."""
        self._results[name] = value

    def get(self, name: Name) -> Any:
        return self._results.get(name)

    def checkpoint(self, *, ended: bool = True) -> None:
        """Let checkpoints be written; ``ended`` is whether it was more than an EM iteration."""
        keep(self._estimator, lambda: {"_unfinished": self.copy_for(None)}, ended=ended)

    def copy_for(self, estimator: BaseEstimator | None) -> Journal:
        """Return a copy that lets the checkpoints of an estimator be written."""
        new = Journal(estimator, self.key)
        new._results = dict(self._results)
        return new

    def add_run(self, name: Name, rng: np.random.Generator, result: EMResult) -> None:
        """Keep a finished run of EM, and the state of its random numbers."""
        self.set(name, FinishedRun(result, rng.bit_generator.state))

    def get_run(self, name: Name, rng: np.random.Generator) -> EMResult | None:
        """Return a finished run of EM, after which random numbers go on; None if there is none."""
        if not isinstance(finished := self.get(name), FinishedRun):
            return None
        rng.bit_generator.state = finished.random
        return finished.result

    def resume_run(self, name: Name, rng: np.random.Generator) -> EMState | None:
        """Return the state of an interrupted run of EM, and restore its random numbers; or None."""
        if (before := self.get(name)) is None:
            return None
        rng.bit_generator.state = before.random
        return cast(EMState, before.run)

    def __getstate__(self) -> dict[str, Any]:
        return {"_estimator": None, "key": self.key, "_results": dict(self._results)}


def resume_or_new(estimator: BaseEstimator, *data: object) -> Journal:
    """Return the journal of an interrupted fit of the same data and parameters, or a new one.

    It stays with the estimator until ``del estimator._unfinished``. Random generators are left out
    of the comparison, since they change with use: what they gave must be in the journal.
    """
    params = estimator.get_params(deep=True)
    for name in {"n_jobs", "refit"} & set(params):
        del params[name]
    for name, value in params.items():
        if hasattr(value, "get_params"):  # its parameters are there beside it
            params[name] = type(value)
    if isinstance(params.get("random_state"), np.random.RandomState):
        del params["random_state"]
    try:
        key = joblib.hash([sorted(params.items()), data])
    except (pickle.PicklingError, AttributeError, TypeError, ValueError):
        key = None  # a part cannot be pickled: such a fit is like no other
    journal = Journal(estimator, key)
    before = getattr(estimator, "_unfinished", None)
    if before is not None and key is not None and before.key == key:
        journal = before.copy_for(estimator)
    estimator._unfinished = journal
    return journal
