"""A model straight from its paper: slow, and easy to compare with the page."""

from __future__ import annotations

from typing import Protocol

from skcooc.protocol import Array, P, Rows


class Literal(Protocol[P]):
    """The equations of a model in slow loops over a dense table.

    Rows without observations may have any state, and contribute nothing.
    """

    def step(self, n: Array, params: P, rows: Rows, beta: float) -> tuple[P, Rows]:
        """One E-step and one M-step on counts n (N, M): the next parameters and row states."""

    def objective(self, n: Array, params: P, rows: Rows, beta: float) -> float:
        """What EM makes small, at these parameters, in nats: free energy less log prior."""
