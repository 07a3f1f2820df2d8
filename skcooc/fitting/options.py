"""What the user gave to a fit: the options that all estimators share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from skcooc.counts.threads import n_threads
from skcooc.em import TemperatureRange
from skcooc.em.legs import Solver
from skcooc.heldout.validation import Division

# Of plain EM in a short fit; with less, too large a beta wins where components are many.
SHORT_ITERATIONS = 60


@dataclass(frozen=True)
class Options:
    """The parameters that all estimators share, checked; see CooccurrenceEstimator."""

    beta: float | TemperatureRange  # a number, or where to look for it
    max_iter: int
    tol: float
    solver: Solver
    smoothing: float | Literal["auto"]
    validation_fraction: float
    early_stopping: bool
    n_jobs: int | None
    seeds: tuple[int, ...]  # one for each restart
    resumable: bool  # whether another fit is to go on from where this one ends

    @property
    def n_threads(self) -> int:
        """Number of threads."""
        return n_threads(self.n_jobs)

    @property
    def searches(self) -> bool:
        """Whether the temperature is chosen on observations held out."""
        return isinstance(self.beta, TemperatureRange)

    @property
    def holds_out(self) -> bool:
        """Whether a part of the observations is held out."""
        return self.searches or self.early_stopping

    @property
    def division(self) -> Division:
        """How observations are held out and judged."""
        return Division(self.validation_fraction, self.seeds[0], self.smoothing)

    @property
    def short(self) -> Options:
        """Those of a short fit: long steps count as several plain ones."""
        n_iter = min(round(SHORT_ITERATIONS / self.solver.pace), self.max_iter)
        return replace(self, max_iter=n_iter)
