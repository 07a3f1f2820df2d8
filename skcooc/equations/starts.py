"""Where clusters begin: the best of short runs with clusters to spare, of which the likest join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from skcooc.em import Fit, Leg, OverRelaxation, State, fit, rising
from skcooc.em.annealing import mixed
from skcooc.em.legs import Part
from skcooc.equations.memberships import usual_beta
from skcooc.protocol import Array, Clustering, Counts, Joinable, Params, Statistics

SPARE = 3  # clusters for one more, so that some may share what others divide
FIRST_ITERATIONS = 4  # with those to spare
ONLY_ITERATIONS = 8  # of a run that has no others beside it
ROUNDS = (3, 4, 4)  # iterations of each round, after which the better half goes on
CLUSTERS, FEWEST, MOST = 64, 4, 8  # of all runs together, if that makes so many runs
START_ITERATIONS, START_TOL, START_RELAXATION = 30, 1e-5, 1.8


def best_start(model: Joinable[Params, Statistics], X: Counts, rng: np.random.Generator) -> State:
    """The best of a few short runs at the temperature that is usually best.

    From a random start two clusters share what is one, and one has what are two, whence EM never
    gets away. So each run begins with objects far from each other, and with more clusters than
    asked for, of which those that are alike are joined. Then the runs race: the better half goes
    on. The more clusters there are, the less the runs differ, so that there are fewer of them.
    """
    if model.n_clusters == 1:
        return State(*model.random(X, rng))
    leg = _first_leg(model, X, FIRST_ITERATIONS)
    n_runs = min(MOST, max(FEWEST, CLUSTERS // model.n_clusters))
    states = [_joined_start(model, leg, rng) for _ in range(n_runs)]
    for n_iter in ROUNDS:
        ended = ranked([_run(replace(leg, max_iter=n_iter), rng, state) for state in states])
        states = ended[: (len(ended) + 1) // 2]
    return states[0]


def short_start(model: Joinable[Params, Statistics], X: Counts, rng: np.random.Generator) -> State:
    """One such run, without a race."""
    return _joined_start(model, _first_leg(model, X, ONLY_ITERATIONS), rng)


def soft_start(
    soft: Clustering[Params, Statistics],
    X: Counts,
    rng: np.random.Generator,
    annealing: float | None = None,
) -> Fit:
    """A few steps of a soft model, at the temperature that is usually best.

    A hard model that starts at random keeps most of what chance has put together. With a number
    for ``annealing`` clusters split on the way there.
    """
    leg = Leg(soft, X, usual_beta(soft, X), START_ITERATIONS, START_TOL)
    legs: Sequence[Part] = [leg]
    if annealing is not None:
        legs = rising(annealing, soft.critical_beta)(leg)
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


def _first_leg(model: Joinable[Params, Statistics], X: Counts, n_iter: int) -> Leg:
    return Leg(model, X, usual_beta(model, X), n_iter, 0.1 * START_TOL)


def _joined_start(model: Joinable[Params, Statistics], leg: Leg, rng: np.random.Generator) -> State:
    """A short run with clusters to spare, joined until there are as many as there should be."""
    n_clusters = model.n_clusters + model.n_clusters // SPARE
    more = replace(model, n_clusters=n_clusters)  # type: ignore[type-var]
    found = _run(replace(leg, model=more), rng, State(*more.seeded(leg.X, rng)))
    state = State(found.params, found.rows)
    return mixed(model, state, joined(model.overlaps(leg.X, *state), model.n_clusters))


def _run(leg: Leg, rng: np.random.Generator, start: State) -> Fit:
    return fit([leg], rng, OverRelaxation(START_RELAXATION), start=start)
