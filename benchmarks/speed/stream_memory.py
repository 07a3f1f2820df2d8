"""Does the memory of a fit over blocks on disk depend on the number of rows?

Rows of 100 tokens over 20000 columns, the first ones the most frequent, are written to disk in
blocks of 1000. A fresh process fits an AspectModel to them, from disk and, beside it, as a matrix
in memory. Its peak is what it holds at most (VmHWM) over what it held before the data were opened;
where they are in memory, they are counted.
"""

from __future__ import annotations

import json
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from benchmarks import reporting
from benchmarks.speed.fit_memory import held, reset_peak
from skcooc import AspectModel, RowBlocks, open_table, save_table

BLOCK, LENGTH, COLUMNS = 1000, 100, 20_000
N_GROUPS, SHARE = 50, 0.5  # of the columns; of a row, in its group


def generated(n_rows: int) -> Iterator[sp.csr_array]:
    """Blocks of rows that belong to groups, which have columns of their own."""
    for number in range(n_rows // BLOCK):
        rng = np.random.default_rng(number)
        columns = (COLUMNS * rng.random((BLOCK, LENGTH)) ** 3).astype(np.int64)
        groups = rng.integers(N_GROUPS, size=(BLOCK, 1))
        own = columns // N_GROUPS * N_GROUPS + groups
        columns = np.where(rng.random((BLOCK, LENGTH)) < SHARE, own, columns)
        pairs = np.repeat(np.arange(BLOCK), LENGTH), np.minimum(columns, COLUMNS - 1).ravel()
        ones = np.ones(BLOCK * LENGTH, dtype=np.float32)
        yield sp.csr_array((ones, pairs), shape=(BLOCK, COLUMNS))


def measure(folder: str, storage: str, n_components: int, passes: int) -> dict[str, Any]:
    """Fit once in this process."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    model = AspectModel(n_components, beta=0.9, max_iter=12, random_state=0)
    small = next(generated(BLOCK))[:30, :50]
    model.fit(small)
    model.fit(RowBlocks([small]))
    before, began = reset_peak(), time.process_time()
    blocks = RowBlocks(open_table(folder), max_passes=passes)
    model.fit(blocks if storage == "disk" else sp.vstack(list(blocks), format="csr"))
    peak = (held("VmHWM") - before) / 2**20
    return {"storage": storage, "peak_mib": peak, "cpu_seconds": time.process_time() - began}


def compare(options: Any) -> Iterator[dict[str, Any]]:
    """Peaks for every number of rows, from disk and in memory."""
    for n_rows in options.rows:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "counts"
            save_table(path, generated(n_rows))
            size = sum(file.stat().st_size for file in path.iterdir()) / 2**20
            for storage in ("disk", "memory"):
                job = str(path), storage, options.components, options.passes
                row = reporting.in_fresh_process("benchmarks.speed.stream_memory", *job)
                yield {"rows": n_rows, "on_disk_mib": size, **row}


def main() -> None:
    parser = reporting.options(str(__doc__))
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 80_000, 320_000])
    parser.add_argument("--components", type=int, default=32)
    parser.add_argument("--passes", type=int, default=1)
    parser.add_argument("--job", help="one measurement in this process, as JSON")
    options = parser.parse_args()
    if options.job:
        print(json.dumps(measure(*json.loads(options.job))))
        return
    rows = compare(options)
    reporting.print_table(reporting.collect(rows, options.output, {}, "memory", lambda row: [row]))


if __name__ == "__main__":
    main()
