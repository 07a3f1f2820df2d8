"""What do time and memory of EM depend on, up to 100 million non-zeros?

Made-up counts with the power laws of texts (``power_law.py``): 100 000 columns, 126 different
ones in a row on average. Every measurement is in a fresh process, after a small fit that compiles
everything. An iteration is an E-step and an M-step of the aspect model at beta = .8 in float32;
its seconds are the least of a few, and the gather limit is as in ``em_iteration.py``. Memory is
what the process holds at its peak in a fit, the counts included.

* rows: from 1 to 100 million non-zeros, at the same number of columns, so that what grows is N;
* components and threads: at one size;
* large: ``AspectModel.fit`` on the largest table; it is tuned on 20,000 of its rows.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import reporting
from benchmarks.speed import em_iteration
from benchmarks.speed.fit_memory import held, reset_peak
from benchmarks.speed.power_law import power_law_counts
from skcooc import AspectModel
from skcooc.datasets import make_cooccurrences

N_COLUMNS, LENGTH = 100_000, 130.0
NONZEROS_OF_A_ROW = 126
MILLION = 10**6
SAMPLE = 20_000  # rows


def table(millions: float) -> Any:
    """About so many million non-zeros; filled block by block, never held twice."""
    n_rows = round(millions * MILLION / NONZEROS_OF_A_ROW)
    room = int(n_rows * LENGTH)  # observations; the non-zeros are fewer
    data, indices = np.empty(room, dtype=np.float32), np.empty(room, dtype=np.int32)
    indptr, filled = [np.zeros(1, dtype=np.int32)], 0
    for block in power_law_counts(n_rows, N_COLUMNS, LENGTH):
        data[filled : filled + block.nnz] = block.data
        indices[filled : filled + block.nnz] = block.indices
        indptr.append(block.indptr[1:].astype(np.int32) + filled)
        filled += block.nnz
    arrays = data[:filled], indices[:filled], np.concatenate(indptr)
    return sp.csr_array(arrays, shape=(n_rows, N_COLUMNS))


def iteration(millions: float, n_components: int, n_threads: int, repeats: int) -> dict[str, Any]:
    """One EM iteration, and the memory of a fit that has few."""
    X = table(millions)
    reset_peak()
    AspectModel(n_components, beta=0.8, max_iter=3, n_jobs=n_threads, random_state=0).fit(X)
    peak = held("VmHWM")
    seconds = em_iteration.ours(X, n_components, n_threads, repeats)
    return {
        "nonzeros": X.nnz,
        "rows": X.shape[0],
        "K": n_components,
        "threads": n_threads,
        "seconds": seconds["seconds"],
        "ns for each non-zero": 1e9 * seconds["seconds"] / X.nnz,
        "gather/whole": seconds["gather/whole"],
        "peak GB": peak / 1e9,
        "input GB": sum(a.nbytes for a in (X.data, X.indices, X.indptr)) / 1e9,
    }


def fit(millions: float, n_components: int, n_threads: int, max_iter: int) -> dict[str, Any]:
    """A whole fit; hyper-parameters are tuned on a sample of the rows."""
    X = table(millions)
    reset_peak()
    settings: dict[str, Any] = {"n_jobs": n_threads, "random_state": 0}
    began = time.perf_counter()
    rows = np.random.default_rng(0).choice(X.shape[0], min(SAMPLE, X.shape[0]), replace=False)
    part = AspectModel(n_components, **settings).fit(X[np.sort(rows)])
    found = time.perf_counter()
    for name in ("beta", "smoothing", "component_prior", "leave_one_out", "row_prior"):
        if (value := getattr(part, f"{name}_")) is not None:
            settings[name] = value
    settings["max_iter"] = max_iter
    model = AspectModel(n_components, **settings).fit(X)
    return {
        "nonzeros": X.nnz,
        "rows": X.shape[0],
        "K": n_components,
        "threads": n_threads,
        "beta": model.beta_,
        "iterations": model.n_iter_,
        "seconds of the sample": found - began,
        "seconds": time.perf_counter() - found,
        "peak GB": held("VmHWM") / 1e9,
    }


JOBS = {"iteration": iteration, "fit": fit}


def measured(job: str, *arguments: Any) -> dict[str, Any]:
    """Run a job in a fresh process, and print its seconds."""
    row = reporting.in_fresh_process("benchmarks.speed.scaling", job, *arguments)
    reporting.progress(job, *arguments, round(row["seconds"], 3), "s")
    return row


def measurements(options: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    """The part that a row belongs to, and the row."""
    size, K, repeats = options.size, options.components[0], options.repeats
    if "rows" in options.parts:
        for millions in options.millions:
            for n_threads in options.threads:
                yield "rows", measured("iteration", millions, K, n_threads, repeats)
    if "components" in options.parts:
        for other in options.components[1:]:
            arguments = size, other, options.threads[-1], repeats
            yield "components", measured("iteration", *arguments)
    if "large" in options.parts:
        arguments = max(options.millions), K, options.threads[-1], options.max_iter
        yield "large", measured("fit", *arguments)


def main() -> None:
    warnings.simplefilter("ignore")
    parser = reporting.options(str(__doc__))
    parser.add_argument("--parts", nargs="+", default=["rows", "components", "large"])
    parser.add_argument("--millions", type=float, nargs="+", default=[1, 3, 10, 30, 100])
    parser.add_argument("--size", type=float, default=10, help="millions, where K varies")
    parser.add_argument("--components", type=int, nargs="+", default=[64, 16, 32, 128, 256])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--max-iter", type=int, default=50)
    parser.add_argument("--job", help="one measurement in this process, as JSON")
    options = parser.parse_args()
    if options.job:
        name, *arguments = json.loads(options.job)
        AspectModel(2).fit(make_cooccurrences(random_state=0).X.astype(np.float32))
        print(json.dumps(JOBS[name](*arguments), default=float))
        return
    results: dict[str, Any] = {}
    for part, row in measurements(options):
        results.setdefault(part, []).append(row)
        reporting.save(options.output, results)
    for rows in results.values():
        reporting.print_table(rows)


if __name__ == "__main__":
    main()
