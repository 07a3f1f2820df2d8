"""Does the memory of the driver depend on the number of rows that the workers of a cluster fit?

Short rows are made by two worker processes with a thread each. A fresh process for each size fits
an AspectModel to them, with more iterations than the ten after which states may go to the
scheduler. It is the driver, and its scheduler runs in it, too. Its peak is what it holds at most
(VmHWM) over what it held after a small fit; beside it are the states of the rows, N K numbers in
float32, what is kept as long as the estimator is, and the largest peak of a worker, its start
included.
"""

from __future__ import annotations

import json
import time
import warnings
from functools import partial
from typing import Any

import dask
import numpy as np
from distributed import Client, LocalCluster
from sklearn.exceptions import ConvergenceWarning

from benchmarks import reporting
from benchmarks.speed.fit_memory import held, reset_peak
from benchmarks.speed.power_law import power_law_block
from skcooc import AspectModel, delayed_rows

LENGTH = 4.0  # mean number of observations of a row
SMALL = 2000  # rows of the fit before


def table(n_rows: int, n_columns: int, n_blocks: int) -> Any:
    """A dask array whose blocks the workers make."""
    make = dask.delayed(power_law_block, pure=True)
    blocks = [make(number, n_rows // n_blocks, n_columns, LENGTH) for number in range(n_blocks)]
    return delayed_rows(blocks, n_columns, np.float32)


def measure(
    n_rows: int, n_columns: int, n_blocks: int, n_components: int, max_iter: int
) -> dict[str, Any]:
    """Fit once, with this process for the driver."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    model = AspectModel(n_components, beta=0.9, max_iter=max_iter, tol=0.0, random_state=0)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options, memory_limit="3GiB") as cluster, Client(cluster) as client:
        model.fit(table(SMALL, n_columns, n_blocks))
        before, began = reset_peak(), time.perf_counter()
        model.fit(table(n_rows, n_columns, n_blocks))
        seconds, peak, kept = time.perf_counter() - began, held("VmHWM"), reset_peak()
        workers = client.run(held, "VmHWM")
    return {
        "rows": n_rows,
        "columns": n_columns,
        "K": n_components,
        "blocks": n_blocks,
        "iterations": model.n_iter_,
        "seconds": seconds,
        "rows_mib": n_rows * n_components * 4 / 2**20,
        "driver_peak_mib": (peak - before) / 2**20,
        "driver_keeps_mib": (kept - before) / 2**20,
        "worker_peak_mib": max(workers.values()) / 2**20,
    }


def main() -> None:
    """Measure every size asked for."""
    parser = reporting.options(str(__doc__))
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--columns", type=int, default=1000)
    parser.add_argument("--blocks", type=int, default=16)
    parser.add_argument("--components", type=int, default=8)
    parser.add_argument("--max-iter", type=int, default=12)
    parser.add_argument("--job", help="one measurement in this process, as JSON")
    options = parser.parse_args()
    if options.job:
        print(json.dumps(measure(*json.loads(options.job))))
        return
    shared = options.columns, options.blocks, options.components, options.max_iter
    run = partial(reporting.in_fresh_process, "benchmarks.speed.dask_memory")
    measured = (run(n_rows, *shared) for n_rows in options.rows)
    rows = reporting.collect(measured, options.output, {}, "rows", lambda row: [row])
    reporting.print_table(rows)


if __name__ == "__main__":
    main()
