"""Short fits that try temperatures, and what they have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from threading import Lock

import numpy as np

from skcooc.em import State, fit
from skcooc.em.legs import Part
from skcooc.fitting.plan import Options, Plan
from skcooc.heldout import HeldOut, Validation
from skcooc.protocol import Block, Model


class Probes:
    """Short fits at one temperature after the other, from one and the same start.

    Threads may call it side by side.

    Parameters
    ----------
    plan : Plan
    X : Block
        Observations to fit.
    heldout : HeldOut
        Observations by which a temperature is judged.
    options : Options
    keep : bool
        Whether the state in which all probes begin is kept; else each makes it again, which saves
        the memory.
    """

    def __init__(
        self, plan: Plan, X: Block, heldout: HeldOut, options: Options, keep: bool
    ) -> None:
        self._plan, self._heldout, self._options = plan, heldout, options.short
        self._tables = plan.scales(X)
        self._keep, self._lock = keep, Lock()
        self._kept: dict[int, State] = {}

    def __call__(self, beta: float, model: Model | None = None) -> Validation:
        """Try a temperature, or a model that differs in its prior."""
        plan = self._plan if model is None else replace(self._plan, equations=model)
        parts, start = plan.legs(self._tables, beta, self._options, splitting=False), None
        if self._keep:
            n_shared = len(parts) - 1 if plan.burn_in else 0  # they do not depend on beta
            start, parts = self._after(parts[:n_shared], parts[0]), parts[n_shared:]
        return self._heldout(plan.equations, *self._fitted(parts, start))

    def _after(self, shared: Sequence[Part], first: Part) -> State:
        """The state after the legs that do not depend on the temperature tried."""
        with self._lock:
            if len(shared) not in self._kept:
                state = first.begin(self._rng)
                self._kept[len(shared)] = self._fitted(shared, state) if shared else state
            return self._kept[len(shared)]

    def _fitted(self, parts: Sequence[Part], start: State | None) -> State:
        found = fit(parts, self._rng, self._options.solver, start=start)
        return State(found.params, found.rows)

    @property
    def _rng(self) -> np.random.Generator:
        """The same numbers for every probe."""
        return np.random.default_rng(self._options.seeds[0])
