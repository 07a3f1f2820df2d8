"""How long is a fit of a billion counts, on one machine, and how much memory does it need?

Counts with the power laws of texts (``power_law.py``: 100 000 columns, 126 different ones in a row)
are written to disk, a block at a time, as a DiskTable: about four bytes for each. The folder is
kept, and used again by the next run. ``AspectModel(50, beta=.8)`` is fitted to them, in float32,
for as many minutes as it is given, with a progress bar that moves within an iteration; where the
output is no terminal, with a line from time to time.

How many iterations a fit needs is measured on the first rows: their fit goes on until it
converges at the default tolerance, or for the 200 iterations that are the default limit. It is an
extrapolation: more rows may need more or fewer.

Memory is the peak of what the process holds. Pages of the files that are in memory count there, but
the system takes them back where it needs them; ``own GB`` leaves them out, and is looked at after
each block.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.callback import ProgressBar

from benchmarks import reporting
from benchmarks.speed.fit_memory import held
from benchmarks.speed.power_law import power_law_counts
from benchmarks.speed.scaling import LENGTH, MILLION, N_COLUMNS, NONZEROS_OF_A_ROW
from skcooc import AspectModel, DiskTable, open_table, save_table
from skcooc.datasets import make_cooccurrences

GB = 1e9
EVERY = 15.0  # seconds between two lines
UNDER_WAY = "iteration", "block"


class Clock:
    """Ends a fit after so many seconds; says meanwhile where it is, and looks at the memory."""

    def __init__(self, seconds: float, n_blocks: int, lines: bool) -> None:
        self.seconds, self.n_blocks, self.lines = seconds, n_blocks, lines
        self.n_iter, self.n_done, self.own = 0, 0, 0

    def setup(self, estimator: Any, context: Any) -> None:
        self.began = self.said = time.perf_counter()

    def teardown(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        if context.task_name not in UNDER_WAY:
            return False
        ended = context.task_name == "iteration"
        self.n_iter, self.n_done = self.n_iter + ended, 0 if ended else self.n_done + 1
        self.own = max(self.own, held("RssAnon"))
        now = time.perf_counter()
        if self.lines and now - self.said >= EVERY:
            self.said = now
            where = f"{self.n_iter} iterations and {self.n_done} of {self.n_blocks} blocks"
            reporting.progress(where, f"{now - self.began:.0f} s,", f"{self.own / GB:.1f} GB own")
        return ended and now - self.began >= self.seconds


def written(folder: Path, millions: float) -> tuple[DiskTable, float]:
    """The table of about so many million non-zeros, and the seconds that it took to write it."""
    path, began = folder / f"power_law_{millions:g}", time.perf_counter()
    if path.exists():
        return open_table(path), 0.0
    n_rows = round(millions * MILLION / NONZEROS_OF_A_ROW)
    save_table(path, power_law_counts(n_rows, N_COLUMNS, LENGTH))
    return open_table(path), time.perf_counter() - began


def iterations_needed(table: DiskTable, millions: float, settings: dict[str, Any]) -> int:
    """How many a fit of the first rows needs."""
    blocks, n_rows = [], round(min(millions * MILLION, table.nnz) / NONZEROS_OF_A_ROW)
    for block in table:
        blocks.append(block[: n_rows - sum(b.shape[0] for b in blocks)])
        if sum(b.shape[0] for b in blocks) >= n_rows:
            break
    model = AspectModel(**settings).fit(sp.vstack(blocks, format="csr"))
    reporting.progress(f"{millions:g} million: {model.n_iter_} iterations", model.converged_)
    return int(model.n_iter_)


def fit(table: DiskTable, seconds: float, settings: dict[str, Any]) -> dict[str, Any]:
    """Fit for so long."""
    lines = not sys.stdout.isatty()
    clock = Clock(seconds, table.counts.n_blocks, lines)
    callbacks = [clock] if lines else [clock, ProgressBar()]
    model = AspectModel(**settings)
    model.set_callbacks(*callbacks).fit(table)
    each = [record.seconds for record in model.history_]
    objectives = [record.free_energy for record in model.history_]
    return {
        "nonzeros": table.nnz,
        "rows": table.shape[0],
        "blocks": len(table),
        "iterations": model.n_iter_,
        "converged": bool(model.converged_),
        "seconds an iteration": float(np.median(each)),
        "ns a non-zero": 1e9 * float(np.median(each)) / table.nnz,
        "peak GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GB,
        "own GB": clock.own / GB,
        "nats a count": [value / float(table.counts.row_sums.sum()) for value in objectives],
    }


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Write the table, or open it, and fit it."""
    settings: dict[str, Any] = {"n_components": options.components, "beta": options.beta}
    settings |= {"n_jobs": options.threads, "solver": options.solver, "random_state": 0}
    small = make_cooccurrences(random_state=0).X.astype(np.float32)
    AspectModel(**settings | {"max_iter": 12}).fit(small)  # compiles
    table, seconds = written(options.folder, options.millions)
    size = sum(file.stat().st_size for file in table.path.iterdir())
    reporting.progress(table, f"{size / table.nnz:.2f} bytes a non-zero, {seconds:.0f} s")
    if options.minutes == 0:
        return {}
    row = fit(table, 60 * options.minutes, settings)
    row |= {"seconds of writing": seconds, "bytes a non-zero": size / table.nnz}
    needed = iterations_needed(table, options.part, settings)
    hours = needed * row["seconds an iteration"] / 3600
    return row | {"iterations of a part": needed, "hours of a fit": hours}


def solver(text: str) -> float | str:
    """A number, or "momentum"."""
    return text if text == "momentum" else float(text)


def main() -> None:
    warnings.simplefilter("ignore")
    parser = reporting.options(str(__doc__))
    parser.add_argument("--millions", type=float, default=1000)
    parser.add_argument("--minutes", type=float, default=60, help="of the fit; 0 only writes")
    parser.add_argument("--components", type=int, default=50)
    parser.add_argument("--beta", type=float, default=0.8)
    parser.add_argument("--solver", type=solver, default="momentum", help="1: plain EM")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--part", type=float, default=10, help="millions, fitted to the end")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    options = parser.parse_args()
    row = run(options)
    reporting.save(options.output, {"options": reporting.given(options), "fit": row})
    curve = row.pop("nats a count", [])
    for name, value in row.items():
        print(f"{name:>22}  {value:.5g}")
    print("nats a count:", ", ".join(f"{value:.4f}" for value in curve))


if __name__ == "__main__":
    main()
