"""Short fits, by which hyper-parameters are judged on observations held out."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple

import numpy as np

from skcooc.em import State
from skcooc.em import fit as fit_legs
from skcooc.em.legs import Part
from skcooc.fitting.options import Options
from skcooc.fitting.plan import Plan
from skcooc.fitting.tuning import Values
from skcooc.heldout import HeldOut, Validation
from skcooc.heldout.predictors import Known
from skcooc.protocol import Block, Model, Params


class ShortFit(NamedTuple):
    """How well it predicts the observations held out, what it predicts, and its parameters."""

    validation: Validation
    predicted: Known
    params: Params


class ShortFits:
    """Fits of a few iterations with some values of hyper-parameters.

    All begin in one state, which is kept: after the burn-in, if the plan has one. Threads may call
    it side by side.
    """

    def __init__(self, plan: Plan, X: Block, heldout: HeldOut, options: Options) -> None:
        self._plan, self._heldout, self._options = plan, heldout, options.short
        self._tables = plan.scales(X)
        self._lock = Lock()
        self._starts: dict[tuple[int, Model], State] = {}

    def __call__(self, values: Values) -> ShortFit:
        """Fit with these."""
        plan = self._plan.at(values)
        parts = plan.legs(self._tables, values["beta"], self._options, cooled=False)
        # What comes before the last leg does not depend on beta, where there is a burn-in.
        n_shared = len(parts) - 1 - (plan.bursts is not None) if plan.burn_in else 0
        start = self._start(parts[:n_shared], parts[0], plan.warm_up or self._plan.equations)
        state = self._fitted(parts[n_shared:], start)
        predicted = self._heldout.predicted(plan.equations, *state)
        return ShortFit(self._heldout.score(predicted), predicted, state.params)

    def _start(self, shared: Sequence[Part], first: Part, warm_up: Model) -> State:
        with self._lock:
            if (key := (len(shared), warm_up)) not in self._starts:
                state = first.begin(self._rng)
                self._starts[key] = self._fitted(shared, state) if shared else state
            return self._starts[key]

    def _fitted(self, parts: Sequence[Part], start: State) -> State:
        found = fit_legs(parts, self._rng, self._options.solver, start=start)
        return State(found.params, found.rows)

    @property
    def _rng(self) -> np.random.Generator:
        """The same numbers for every one."""
        return np.random.default_rng(self._options.seeds[0])
