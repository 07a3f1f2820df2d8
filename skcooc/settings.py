"""The parameters of an estimator that concern fitting, in one object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from skcooc.em import EM, HeldOut, TemperatureRange


@dataclass(frozen=True)
class Settings:
    """The parameters of an estimator that concern fitting, checked; see CooccurrenceEstimator."""

    beta: float | Literal["auto"]
    temperatures: TemperatureRange
    max_iter: int
    tol: float
    relaxation: float
    smoothing: float | Literal["auto"]
    validation_fraction: float
    early_stopping: bool
    n_threads: int
    seeds: tuple[int, ...]  # one for each restart

    @property
    def holds_out(self) -> bool:
        """Whether a part of the observations is held out."""
        return self.beta == "auto" or self.early_stopping

    def em(self, schedule: Any, heldout: HeldOut | None = None) -> EM:
        """The EM driver with these settings."""
        return EM(schedule, self.tol, self.relaxation, heldout)
