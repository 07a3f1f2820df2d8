"""One pass over the data: the E-step on every block, and the sum of its statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from skcooc.counts.reduction import add_statistics, reduced
from skcooc.protocol import Counts, Model, Rows

Map = Callable[..., Iterable[Any]]


class Sweep(NamedTuple):
    """The result of an E-step, at the parameters that went into it."""

    rows: list[Rows]
    stats: Any
    objective: float  # free energy less log prior, nats


def sweep(
    model: Model,
    blocks: Sequence[Counts],
    params: Any,
    rows: Sequence[Rows],
    beta: float,
    map: Map,
) -> Sweep:
    """Apply the E-step to every block and add up the statistics.

    Parameters
    ----------
    model : Model
    blocks : sequence of Counts
    params : parameters of the model
    rows : sequence of (n_b, k) arrays, one for each block
    beta : float
        Inverse temperature.
    map : callable
        Runs the E-step over the blocks, like the built-in map.

    Returns
    -------
    sweep : Sweep
    """
    steps = list(map(lambda X, state: X.expect(model, params, state, beta), blocks, rows))
    stats = reduced(add_statistics, [stats for _, stats in steps])
    objective = float(stats.free_energy) - model.log_prior(params, beta)
    return Sweep([state for state, _ in steps], stats, objective)
