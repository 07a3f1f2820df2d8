"""Short fits that try temperatures, and what they have in common."""

from __future__ import annotations

from threading import Lock

import numpy as np

from skcooc.counts import CSRCounts
from skcooc.em import HeldOut, State, Validation
from skcooc.em.multiscale import coarser_levels
from skcooc.em.schedules import Schedule
from skcooc.fitting.plan import Settings
from skcooc.protocol import Model


class Probes:
    """Short fits at one temperature after the other, from one and the same start.

    Threads may call it side by side.

    Parameters
    ----------
    model : Model
    X : CSRCounts
        Observations to fit.
    heldout : HeldOut
        Observations by which a temperature is judged.
    settings : Settings
    keep : bool
        Whether the state in which all probes begin is kept; else each makes it again, which saves
        the memory.
    """

    def __init__(
        self, model: Model, X: CSRCounts, heldout: HeldOut, settings: Settings, keep: bool
    ) -> None:
        self._model, self._X, self._heldout, self._settings = model, X, heldout, settings
        self._levels = coarser_levels(X, settings.coarsening or ())
        self._n_iter = settings.probe_iterations
        self._keep, self._lock = keep, Lock()
        self._kept: dict[Schedule, State] = {}

    def __call__(self, beta: float, model: Model | None = None) -> Validation:
        """Try a temperature, or a model that differs in its prior."""
        model = model or self._model
        schedule, start = self._settings.schedule(beta, self._n_iter), None
        if self._keep:
            *burn_in, last = schedule
            schedule, start = (last,), self._after(tuple(burn_in))
        return self._heldout(model, *self._fit(model, schedule, start))

    def _after(self, burn_in: Schedule) -> State:
        """The state after the stages that do not depend on the temperature tried."""
        with self._lock:
            if burn_in not in self._kept:
                begin = self._settings.probe((), self._levels).begin
                state = begin(self._model, [self._X], self._rng)
                self._kept[burn_in] = self._fit(self._model, burn_in, state) if burn_in else state
            return self._kept[burn_in]

    def _fit(self, model: Model, schedule: Schedule, start: State | None) -> State:
        optimiser = self._settings.probe(schedule, self._levels)
        fit = optimiser.fit(model, [self._X], self._rng, start=start)
        return State(fit.params, fit.rows)

    @property
    def _rng(self) -> np.random.Generator:
        """The same numbers for every probe."""
        return np.random.default_rng(self._settings.seeds[0])
