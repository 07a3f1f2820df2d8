"""Fitting in stages: ever less constrained models, each from the solution of the one before."""

from __future__ import annotations

from builtins import map as serial_map
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skcooc.em.legs import EM, Fit, Observe, Place, State, Watch, ignore
from skcooc.em.schedules import constant
from skcooc.em.sweep import Map
from skcooc.protocol import Counts


@dataclass(frozen=True)
class Staged:
    """EM with each of the stages of a model.

    Parameters
    ----------
    em : EM
        What is run in every stage. Held-out observations are looked at in the last one.
    """

    em: EM

    def begin(self, model: Any, blocks: Sequence[Counts], rng: np.random.Generator) -> State:
        """Where ``fit`` begins, unless it is told."""
        return self.em.begin(model, blocks, rng)

    def fit(
        self,
        model: Any,
        blocks: Sequence[Counts],
        rng: np.random.Generator,
        observe: Observe = ignore,
        map: Map = serial_map,
        start: State | None = None,
        resume: Place | None = None,
    ) -> Fit:
        """Run EM in every stage; see EM.fit. The model has ``stages``: models and iterations."""
        watch, (beta, n_iter) = Watch(observe), self.em.schedule[-1]
        place = resume or Place(0, start or self.begin(model, blocks, rng), [])
        for stage, limit in model.stages[place.number :]:
            last = place.number + 1 == len(model.stages)
            schedule = constant(beta, n_iter if limit is None else min(limit, n_iter))
            em = replace(self.em, schedule=schedule, heldout=self.em.heldout if last else None)
            at = watch.at(place)
            fit = em.fit(stage, blocks, rng, at, map, start=place.state, resume=place.run)
            place = place.after(fit)
            if watch.stopped:
                break
        if not last:  # the parameters are to be those of the model asked for
            once = replace(self.em, schedule=constant(beta, 1))
            fit = once.fit(model.stages[-1][0], blocks, rng, map=map, start=place.state)
            fit = fit._replace(stopped=True, objective=place.history[-1].free_energy)
        # A stage that is cut short on purpose has done what it should.
        done = not watch.stopped and (fit.converged or limit is not None)
        return fit._replace(history=place.history, converged=done)
