"""How much memory does a fit need at its peak, over what the process held with its data?

Measured in a fresh process on 20 Newsgroups in float32, after a small fit that imports and
compiles everything. The budget: 24 bytes for each non-zero, and five times the two factors.
"""

from __future__ import annotations

import ctypes
import gc
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks import corpora, reporting
from skcooc import AspectModel
from skcooc.datasets import make_cooccurrences

BYTES_PER_NONZERO, FACTORS = 24, 5
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
DATA: dict[str, Callable[[], corpora.Corpus]] = {
    "cranfield": corpora.cranfield,
    "newsgroups20": corpora.newsgroups20,
}


def held(field: str) -> int:
    """Bytes that the process holds (VmRSS), or held at its peak since the last reset (VmHWM)."""
    for line in STATUS.read_text(encoding="ascii").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"{STATUS} has no field {field}")


def reset_peak() -> int:
    """Give free memory back to the system and forget the peak; return the bytes held now."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    CLEAR.write_text("5", encoding="ascii")
    return held("VmRSS")


def measure(data: str, n_components: int, beta: Any, n_jobs: int, max_iter: int) -> dict[str, Any]:
    """Fit once in this process and compare its peak with the budget."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    model = AspectModel(n_components, beta=beta, n_jobs=n_jobs, max_iter=max_iter, random_state=0)
    small = make_cooccurrences(n_rows=30, n_columns=20, random_state=0).X
    model.fit(small.astype(np.float32))
    X = DATA[data]().X.astype(np.float32)
    before = reset_peak()
    model.fit(X)
    above = held("VmHWM") - before
    factors = sum(X.shape) * n_components * X.dtype.itemsize
    budget = BYTES_PER_NONZERO * X.nnz + FACTORS * factors
    return {
        "data": data,
        "K": n_components,
        "beta": beta,
        "threads": n_jobs,
        "peak_mib": above / 2**20,
        "budget_mib": budget / 2**20,
        "share": above / budget,
        "bytes_per_nonzero_less_factors": (above - FACTORS * factors) / X.nnz,
    }


def compare(data: str, components: list[int], max_iter: int) -> list[dict[str, Any]]:
    """Peaks at a fixed and at a searched temperature, with one and with two threads."""
    rows = []
    for K in components:
        for beta in (0.8, "auto"):
            for n_jobs in (1, 2):
                job = data, K, beta, n_jobs, max_iter
                rows.append(reporting.in_fresh_process("benchmarks.speed.fit_memory", *job))
                reporting.progress("peak memory", data, f"K={K} beta={beta} threads={n_jobs}")
    return rows


def main() -> None:
    parser = reporting.options(str(__doc__))
    parser.add_argument("--data", choices=DATA, default="newsgroups20")
    parser.add_argument("--components", type=int, nargs="+", default=[16, 64, 256])
    parser.add_argument("--max-iter", type=int, default=12, help="the peak is reached at once")
    parser.add_argument("--job", help="one measurement in this process, as JSON")
    options = parser.parse_args()
    if options.job:
        print(json.dumps(measure(*json.loads(options.job))))
        return
    rows = compare(options.data, options.components, options.max_iter)
    reporting.print_table(rows)
    reporting.save(options.output, {"memory": rows})


if __name__ == "__main__":
    main()
