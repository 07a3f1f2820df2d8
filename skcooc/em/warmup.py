"""Warm-up: a few iterations at beta = 1 before those at a lower inverse temperature."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from skcooc.em.stages import EMStage, StageSchedule, Variation
from skcooc.protocol import Counts, Model

WARMUP_ITERATIONS = 8  # enough to break the symmetry, too few to overfit


@dataclass(frozen=True)
class WarmUp(Variation):
    """A short stage at beta = 1 before the first stage, with the model for some values."""

    model: Callable[[Mapping[str, Any]], Model]

    only_from_start = True
    adds_iterations = False

    def apply(
        self, stages: list[StageSchedule], X: Counts, values: Mapping[str, Any]
    ) -> list[StageSchedule]:
        return [*with_warmup(stages[0].stage, self.model(values)), *stages[1:]]


def with_warmup(stage: EMStage, model: Model) -> list[StageSchedule]:
    """Return a short stage at beta = 1 and this one; ``max_iter`` iterations in all.

    Close to the critical temperature an initialisation would collapse to the unigram before its
    components differ.
    """
    n_iter = min(WARMUP_ITERATIONS, stage.max_iter - 1)
    if stage.beta == 1.0 or not n_iter:
        return [stage]
    first = replace(stage, model=model, beta=1.0, max_iter=n_iter, heldout=None)
    return [first, replace(stage, max_iter=stage.max_iter - n_iter, members=None)]
