"""What does it cost to fit rows on the workers of a cluster, instead of in memory?

Two worker processes with a thread each, beside two threads in one process, on the same machine and
on the same made-up counts, which are like texts (``power_law``). The workers make their blocks
themselves. Every iteration of the aspect model is one of EM with momentum at beta = .9, with all
that the driver does. Runs take turns, a few iterations each, so that what else the machine does
meets both; the least and the median of their iterations are told, the first of a run left aside,
and the least of the settling iterations, in which the states of the rows go to the scheduler, is
among them as often as it comes.
"""

from __future__ import annotations

from typing import Any

import dask
import numpy as np
import scipy.sparse as sp
from distributed import Client, LocalCluster

from benchmarks import reporting
from benchmarks.speed.power_law import power_law_block
from skcooc import delayed_rows
from skcooc.counts import CSRCounts
from skcooc.counts.dask import load
from skcooc.counts.passes import threads
from skcooc.em import EMResult, EMStage, fit, make_solver
from skcooc.equations.aspects import Aspects

BETA = 0.9
MEAN_LENGTH = 105.0  # observations of a row, nearly all of different columns
SIZES = {1: 20_000, 5: 50_000, 50: 100_000}  # millions of non-zeros, about, and columns


def fitted(counts: Any, n_components: int, n_iter: int) -> EMResult:
    """The same iterations for any counts."""
    leg = EMStage(Aspects(n_components), counts, BETA, n_iter, tol=-np.inf)
    return fit([leg], np.random.default_rng(0), make_solver("momentum"))


def blocks_of(millions: int, n_columns: int, n_blocks: int) -> list[Any]:
    """Delayed blocks of rows."""
    n_rows = millions * 10_000 // n_blocks
    make = dask.delayed(power_law_block, pure=True)
    return [make(number, n_rows, n_columns, MEAN_LENGTH) for number in range(n_blocks)]


def compare(client: Client, millions: int, settings: Any) -> dict[str, Any]:
    """Seconds of the iterations, and the free energies, in memory and on the workers."""
    n_columns = SIZES[millions]
    blocks = blocks_of(millions, n_columns, settings.blocks)
    far = load(client, delayed_rows(blocks, n_columns, np.float32), "AspectModel")
    table = sp.vstack([block.compute(scheduler="synchronous") for block in blocks], format="csr")
    seconds: dict[str, list[float]] = {"memory": [], "dask": []}
    energies: dict[str, float] = {}
    with threads(2) as map:
        near = CSRCounts(table).with_threads(2, map)
        for _ in range(settings.turns):
            for name, counts in (("memory", near), ("dask", far.with_threads(2, map))):
                history = fitted(counts, settings.components, settings.iterations).history
                seconds[name] += [record.seconds for record in history[1:]]
                energies[name] = history[-1].free_energy
    least, median = ({k: float(f(s)) for k, s in seconds.items()} for f in (np.min, np.median))
    return {
        "nnz": int(table.nnz),
        "rows": table.shape[0],
        "columns": n_columns,
        "K": settings.components,
        "blocks": settings.blocks,
        "memory s": least["memory"],
        "dask s": least["dask"],
        "overhead": least["dask"] / least["memory"] - 1,
        "memory median": median["memory"],
        "dask median": median["dask"],
        "median overhead": median["dask"] / median["memory"] - 1,
        "energies differ by": abs(energies["dask"] / energies["memory"] - 1),
    }


def main() -> None:
    """Compare at every size asked for."""
    parser = reporting.options(__doc__ or "")
    parser.add_argument("--millions", type=int, nargs="+", default=list(SIZES), choices=SIZES)
    parser.add_argument("--components", type=int, default=64)
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--turns", type=int, default=2, help="runs of each")
    parser.add_argument("--iterations", type=int, default=6, help="of each run")
    settings = parser.parse_args()
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options, memory_limit="4GiB") as cluster, Client(cluster) as client:
        measured = (compare(client, millions, settings) for millions in settings.millions)
        rows = reporting.collect(measured, settings.output, {}, "rows", lambda row: [row])
    reporting.print_table(rows)


if __name__ == "__main__":
    main()
