"""How many iterations and seconds do other steps than those of EM save, and at what cost?

Runs with several step sizes go on from one and the same start: for the aspect model after eight
steps at beta = 1, for clusters of rows at random. The table has the iterations and seconds after
which the free energy is within 1e-4 and 1e-5 of the level that every run reached, where the default
tolerance would have stopped a run, and how far above the least free energy of all runs it ended:
runs from one start may go to different local minima, and then the last columns say which is worse.
Means over seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, cast

import numpy as np

from benchmarks import corpora, reporting
from skcooc.counts import CSRCounts
from skcooc.counts.passes import threads
from skcooc.em import SOLVERS, EMStage, State, fit, make_solver
from skcooc.em.solvers import SolverName
from skcooc.em.stages import WARMUP_ITERATIONS
from skcooc.equations.aspects import Aspects
from skcooc.equations.row_clusters import RowClusters

DATA = {
    "cranfield": corpora.cranfield,
    "classic3": corpora.classic3,
    "newsgroups20": corpora.newsgroups20,
}
TOL = 3e-6  # of AspectModel
DEFAULT = [1.0, 1.5, 1.8, 1.9, "momentum", "alternating"]

Row = dict[str, Any]
Run = tuple[np.ndarray, np.ndarray]  # free energies, and seconds since the start


def to_the_end(model: Any, X: CSRCounts, beta: float, n_iter: int) -> EMStage:
    """So many iterations, whatever the tolerance."""
    return EMStage(model, X, beta, n_iter, tol=-np.inf)


def started(case: str, X: CSRCounts, n_components: int, seed: int) -> tuple[Any, State]:
    """A model, and where its runs begin."""
    rng = np.random.default_rng(seed)
    if case == "clusters":
        model = RowClusters(n_components)
        return model, State(*model.start(X, rng))
    aspects = Aspects(n_components)
    begun = fit([to_the_end(aspects, X, 1.0, WARMUP_ITERATIONS)], rng, make_solver(1.0))
    return aspects, State(begun.params, begun.rows)


def run(model: Any, X: CSRCounts, start: State, beta: float, eta: SolverName, n_iter: int) -> Run:
    """The free energies of a run, and when they were reached."""
    leg, rng = to_the_end(model, X, beta, n_iter), np.random.default_rng(0)
    history = fit([leg], rng, make_solver(eta), start=start).history
    energies = np.array([record.free_energy for record in history])
    return energies, np.cumsum([record.seconds for record in history])


def reached(run: Run, level: float) -> tuple[int, float]:
    """Iterations and seconds to a level."""
    first = int(np.argmax(run[0] <= level))
    return first + 1, float(run[1][first])


def measures(run: Run, level: float, least: float) -> dict[str, float]:
    """What the table says of one run."""
    energies, seconds = run
    settled = np.flatnonzero(-np.diff(energies) <= TOL * abs(energies[1:]))
    stop = int(settled[0]) + 1 if settled.size else len(energies) - 1
    fast, precise = (reached(run, level + share * abs(level)) for share in (1e-4, 1e-5))
    return {
        "iterations to 1e-4": fast[0],
        "s": fast[1],
        "iterations to 1e-5": precise[0],
        "s ": precise[1],
        "iterations to tol": stop + 1,
        "s  ": float(seconds[stop]),
        "excess at tol": float((energies[stop] - least) / abs(least)),
        "excess at end": float((energies.min() - least) / abs(least)),
    }


def suited(etas: list[SolverName], case: str, beta: float) -> list[SolverName]:
    """Those that the case allows: rows and columns in turn are for aspects at beta = 1."""
    plain = (case, beta) == ("aspects", 1.0)
    return [eta for eta in etas if plain or "alternation" not in make_solver(eta).needs]


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """One row for each data set, case and step size."""
    for data in options.data:
        table = DATA[data]().X.astype(np.float32)
        with threads(options.jobs) as map:
            X = CSRCounts(table).with_threads(options.jobs, map)
            for case, beta in (("aspects", 0.8), ("aspects", 1.0), ("clusters", 0.1)):
                etas = suited(options.etas, case, beta)
                results: dict[SolverName, list[dict[str, float]]] = {eta: [] for eta in etas}
                for seed in range(options.seeds):
                    model, start = started(case, X, options.components, seed)
                    arguments = model, X, start, beta
                    runs = {eta: run(*arguments, eta, options.max_iter) for eta in etas}
                    ends = [run[0].min() for run in runs.values()]
                    for eta in etas:
                        results[eta].append(measures(runs[eta], max(ends), min(ends)))
                for eta, found in results.items():
                    means = {
                        name: float(np.mean([one[name] for one in found])) for name in found[0]
                    }
                    yield {"data": data, "model": case, "beta": beta, "eta": eta} | means


def step(text: str) -> SolverName:
    """A value of ``solver``, as it is given to the command."""
    return cast(SolverName, text if text in SOLVERS else float(text))


def main() -> None:
    parser = reporting.options(str(__doc__))
    parser.add_argument("--data", choices=DATA, nargs="+", default=list(DATA))
    parser.add_argument("--components", type=int, default=32)
    parser.add_argument("--etas", type=step, nargs="+", default=DEFAULT)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--max-iter", type=int, default=800)
    parser.add_argument("--jobs", type=int, default=2, help="threads")
    options = parser.parse_args()
    measured = rows(options)
    reporting.print_table(reporting.collect(measured, options.output, {}, "rows", dict.values))


if __name__ == "__main__":
    main()
