"""Where clusters begin: the best of short runs with clusters to spare, of which the likest join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from skcooc.em import Fit, Leg, OverRelaxation, State, fit, rising
from skcooc.em.legs import Part
from skcooc.em.splitting import mixed
from skcooc.equations.memberships import usual_beta
from skcooc.protocol import Array, Clustering, Counts, Joinable, Params, Statistics

SPARE = 2  # as many clusters as asked for, of which some will share what others divide
ROUNDS = (16, 8, 3)  # runs of each round
ROUND_ITERATIONS = 8
START_ITERATIONS, START_TOL, START_RELAXATION = 30, 1e-5, 1.8


def best_start(model: Joinable[Params, Statistics], X: Counts, rng: np.random.Generator) -> State:
    """The best of sixteen short runs at the temperature that is usually best.

    From a random start two clusters share what is one, and one has what are two, whence EM never
    gets away. So each run begins with more clusters than asked for, and those that are alike are
    joined. Then the runs race: the better half goes on.
    """
    if model.n_clusters == 1:
        return State(*model.random(X, rng))
    beta = usual_beta(model, X)
    states = [_joined_start(model, X, beta, rng) for _ in range(ROUNDS[0])]
    for n_runs in ROUNDS:
        states = ranked([_run(model, X, beta, rng, state) for state in states[:n_runs]])
    return states[0]


def soft_start(
    soft: Clustering[Params, Statistics],
    X: Counts,
    rng: np.random.Generator,
    cooling: float | None = None,
) -> Fit:
    """A few steps of a soft model, at the temperature that is usually best.

    A hard model that starts at random keeps most of what chance has put together. With a number
    for ``cooling`` clusters split on the way there.
    """
    leg = Leg(soft, X, usual_beta(soft, X), START_ITERATIONS, START_TOL)
    legs: Sequence[Part] = [leg] if cooling is None else rising(cooling, soft.critical_beta)(leg)
    return fit(legs, rng, OverRelaxation(1.0))


def ranked(runs: Sequence[Fit]) -> list[State]:
    """Where runs have ended, the best first; of equals, but for rounding, the first."""
    least = min(run.objective for run in runs)
    unit = START_TOL * (abs(least) or 1.0)  # a table of one column leaves nothing to say
    order = sorted(runs, key=lambda run: (run.objective - least) // unit)
    return [State(run.params, run.rows) for run in order]


def joined(overlaps: Array, n_clusters: int) -> list[tuple[int, ...]]:
    """Which clusters become one, those first that are alike: Ward's method.

    ``overlaps`` (K, K) are the scalar products of the roots of what clusters have of each object;
    the diagonal is what they have in all. So they are weighted points, at Hellinger's distance.
    """
    cost, masses = _ward(overlaps), overlaps.diagonal().astype(np.float64)
    parts: dict[int, tuple[int, ...]] = {c: (c,) for c in range(len(cost))}
    while len(parts) > n_clusters:
        alive = np.array(list(parts))
        nearest = divmod(int(cost[np.ix_(alive, alive)].argmin()), len(alive))
        a, b = alive[sorted(nearest)].tolist()
        others = alive[(alive != a) & (alive != b)]
        far = [(masses[c] + masses[others]) * cost[c, others] for c in (a, b)]
        total = masses[a] + masses[b] + masses[others]
        further = far[0] + far[1] - masses[others] * cost[a, b]
        cost[a, others] = cost[others, a] = further / np.maximum(total, np.finfo(float).tiny)
        masses[a] += masses[b]
        parts[a] += parts.pop(b)
    return list(parts.values())


def _ward(overlaps: Array) -> Array:
    """How much further from its center what two clusters have would be, if they were one."""
    masses, least = overlaps.diagonal().astype(np.float64), np.finfo(float).tiny
    cosines = overlaps / np.sqrt(np.maximum(np.outer(masses, masses), least))
    weights = np.outer(masses, masses) / np.maximum(np.add.outer(masses, masses), least)
    cost: Array = weights * (2 - 2 * cosines)
    np.fill_diagonal(cost, np.inf)
    return cost


def _joined_start(
    model: Joinable[Params, Statistics], X: Counts, beta: float, rng: np.random.Generator
) -> State:
    """A short run with clusters to spare, joined until there are as many as there should be."""
    more = replace(model, n_clusters=SPARE * model.n_clusters)  # type: ignore[type-var]
    found = _run(more, X, beta, rng)
    state = State(found.params, found.rows)
    return mixed(model, state, joined(model.overlaps(X, *state), model.n_clusters))


def _run(
    model: Joinable[Params, Statistics],
    X: Counts,
    beta: float,
    rng: np.random.Generator,
    start: State | None = None,
) -> Fit:
    leg = Leg(model, X, beta, ROUND_ITERATIONS, 0.1 * START_TOL)
    begin = start or State(*model.random(X, rng))
    return fit([leg], rng, OverRelaxation(START_RELAXATION), start=begin)
