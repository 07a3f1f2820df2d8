"""Short fits that try temperatures: what is held out for them, and what they have in common."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from skcooc.counts import CSRCounts, thin
from skcooc.em import HeldOut, State, Validation
from skcooc.em.heldout import LEAST_SMOOTHING
from skcooc.em.multiscale import coarser_levels
from skcooc.em.schedules import Schedule
from skcooc.em.temperature import PROBE_ITERATIONS
from skcooc.protocol import Array, Model
from skcooc.settings import Settings


def hold_out(X: Any, sample_weight: Array | None, settings: Settings) -> tuple[Any, HeldOut]:
    """Divide a table into observations to fit and observations held out.

    Parameters
    ----------
    X : CSR array or matrix of shape (N, M)
    sample_weight : (N,) array or None
        Factors of the rows.
    settings : Settings

    Returns
    -------
    rest : CSR array of shape (N, M)
    heldout : HeldOut
        Of one block.

    Raises
    ------
    ValueError
        Where one of the parts would be empty.
    """
    rest, drawn = thin(X, settings.validation_fraction, settings.seeds[0])
    fitted, heldout = CSRCounts(rest, sample_weight), CSRCounts(drawn, sample_weight)
    if not (fitted.observations.any() and heldout.observations.any()):
        raise ValueError(
            f"Found array with {X.shape[0]} sample(s) and {X.sum():g} observation(s), too few to "
            f"hold out validation_fraction={settings.validation_fraction} of them for beta='auto' "
            "or early_stopping=True. Give beta a number, or change validation_fraction."
        )
    # Without any smoothing a single impossible observation would make all validations infinite.
    smoothing = None if settings.smoothing == "auto" else max(settings.smoothing, LEAST_SMOOTHING)
    return rest, HeldOut([heldout], add_one_unigram(fitted), smoothing)


def add_one_unigram(counts: CSRCounts) -> Array:
    """The distribution (m_j + 1) / (L + M) of the columns, (M,), in float64."""
    m = counts.column_sums
    return (m + 1) / (m.sum() + len(m))


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
        # Over-relaxed steps are about eta times as long as plain ones.
        self._n_iter = min(round(PROBE_ITERATIONS / settings.relaxation), settings.max_iter)
        self._keep, self._lock = keep, Lock()
        self._kept: dict[Schedule, State] = {}

    def __call__(self, beta: float) -> Validation:
        """Try a temperature."""
        schedule, start = self._settings.schedule(beta, self._n_iter), None
        if self._keep:
            *burn_in, last = schedule
            schedule, start = (last,), self._after(tuple(burn_in))
        return self._heldout(self._model, *self._fit(schedule, start))

    def _after(self, burn_in: Schedule) -> State:
        """The state after the stages that do not depend on the temperature tried."""
        with self._lock:
            if burn_in not in self._kept:
                begin = self._settings.probe((), self._levels).begin
                state = begin(self._model, [self._X], self._rng)
                self._kept[burn_in] = self._fit(burn_in, state) if burn_in else state
            return self._kept[burn_in]

    def _fit(self, schedule: Schedule, start: State | None) -> State:
        optimiser = self._settings.probe(schedule, self._levels)
        fit = optimiser.fit(self._model, [self._X], self._rng, start=start)
        return State(fit.params, fit.rows)

    @property
    def _rng(self) -> np.random.Generator:
        """The same numbers for every probe."""
        return np.random.default_rng(self._settings.seeds[0])
