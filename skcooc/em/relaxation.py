"""Over-relaxed EM: go beyond the M-step along the direction it took (memo, eq. 63)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skcooc.em.sweep import Sweep

FLOOR = 1e-3  # of the plain step: a probability that reached zero could never come back


def relax(previous: Sweep, step: Sweep, relaxation: float) -> Sweep:
    """The step (1 - eta) previous + eta step in the statistics and in the row states.

    Taking it in the expected counts, of which the M-step is a normalisation, keeps the parameters
    admissible without a projection of their own.

    Parameters
    ----------
    previous : Sweep
        The sweep, itself relaxed, which led to the parameters of ``step``.
    step : Sweep
        The sweep at these parameters.
    relaxation : float
        eta in (0, 2); 1 is the plain step.

    Returns
    -------
    relaxed : Sweep
        With the objective of ``step``.
    """
    stats = type(step.stats)(
        *(
            _beyond(old, new, relaxation)
            for old, new in zip(previous.stats, step.stats, strict=True)
        )
    )
    return step._replace(stats=stats, rows=_relax_rows(previous.rows, step.rows, relaxation))


def _relax_rows(old: Sequence[Any], new: Sequence[Any], relaxation: float) -> list[Any]:
    beyond = [_beyond(a, b, relaxation) for a, b in zip(old, new, strict=True)]
    return [state / state.sum(axis=1, keepdims=True) for state in beyond]


def _beyond(old: Any, new: Any, relaxation: float) -> Any:
    if np.ndim(new) == 0:  # the free energy
        return new
    return np.maximum((1 - relaxation) * old + relaxation * new, FLOOR * new)
