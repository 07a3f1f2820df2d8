"""EM with momentum: every step goes on in the direction of the one before, until that is uphill."""

from __future__ import annotations

from collections.abc import Sequence

from skcooc.em.solvers import relax
from skcooc.em.sweep import Sweep
from skcooc.protocol import Counts

FLOOR = 0.5  # of the plain step: with less, probabilities fall so fast that they never come back


class Momentum:
    """Extrapolates from the last plain steps, ever further; restarts where the objective rises.

    Nesterov's method with the restarts of O'Donoghue and Candès (Adaptive restart for accelerated
    gradient schemes, Foundations of Computational Mathematics 15, 2015), with EM's step in the
    expected counts for the gradient's: n steps after a restart it is made 1 + n / (n + 3) times as
    long, measured from the plain step before.
    """

    def __init__(self) -> None:
        self._plain: Sweep | None = None  # the last plain sweep
        self._age = 0  # steps since the restart
        self._extrapolated = False

    def undo(self, step: Sweep) -> Sweep | None:
        """The plain sweep to go back to, if the step that led to this sweep raised the objective.

        Parameters
        ----------
        step : Sweep

        Returns
        -------
        plain : Sweep or None
        """
        plain = self._plain
        if plain is None or not self._extrapolated or step.objective <= plain.objective:
            return None
        self._age, self._extrapolated = 0, False
        return plain

    def take(self, step: Sweep, blocks: Sequence[Counts]) -> Sweep:
        """The sweep of these blocks on which the M-step is to work instead of a plain one."""
        previous, self._plain = self._plain, step
        weight = self._age / (self._age + 3)
        self._age += 1
        self._extrapolated = previous is not None and weight > 0
        if previous is None or not self._extrapolated:
            return step
        return relax(previous, step, blocks, 1 + weight, FLOOR)
