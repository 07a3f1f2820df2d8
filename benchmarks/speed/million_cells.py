"""What would a fit of a million cells by 30,000 genes take, 900 genes in each cell?

Cells are made in blocks of 10,000, each by a seed of its own: 25 types and five activities, genes
drawn one by one. They are written to disk as a table, EM with 30 programmes at beta = 1 goes on for
a few iterations, and a fit until it has converged. `--blocks 100` is the million.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import reporting
from skcooc import AspectModel, open_table, save_table

GENES, TYPES, ACTIVITIES, BLOCK, DEPTH = 30_000, 25, 5, 10_000, 1000
K = TYPES + ACTIVITIES
FITS: dict[str, dict[str, Any]] = {"fit at beta = 1": {"beta": 1.0}, "default fit": {}}


def programmes() -> np.ndarray:
    """Cumulated probabilities of genes, (K, M)."""
    rng = np.random.default_rng(0)
    levels = np.tile(rng.gamma(0.6, 1 / 0.3, GENES), (K, 1))
    raised = rng.random(levels.shape) < 0.025
    levels[raised] *= np.maximum(rng.lognormal(1.0, 1.0, int(raised.sum())), 1)
    return np.cumsum(levels / levels.sum(axis=1, keepdims=True), axis=1)


def cells(n_blocks: int) -> Iterator[sp.csr_array]:
    """Counts of 10,000 cells each."""
    cumulated = programmes()
    for number in range(n_blocks):
        rng = np.random.default_rng((1, number))
        share = np.where(rng.random(BLOCK) < 0.35, rng.uniform(0.1, 0.7, BLOCK), 0.0)
        kinds, activities = rng.integers(TYPES, size=BLOCK), rng.integers(TYPES, K, size=BLOCK)
        sizes = rng.poisson(rng.lognormal(np.log(DEPTH), 0.3, BLOCK))
        rows = np.repeat(np.arange(BLOCK, dtype=np.int32), sizes)
        active = rng.random(len(rows)) < share[rows]
        source, drawn = np.where(active, activities[rows], kinds[rows]), rng.random(len(rows))
        genes = np.empty(len(rows), dtype=np.int32)
        for k in range(K):
            genes[source == k] = np.searchsorted(cumulated[k], drawn[source == k])
        counts = np.ones(len(rows), dtype=np.float32)
        where = rows, np.minimum(genes, GENES - 1)
        yield sp.csr_array(sp.coo_array((counts, where), shape=(BLOCK, GENES)))


def peak() -> float:
    """Largest memory of this process so far, GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def row(step: str, began: tuple[float, float]) -> dict[str, Any]:
    """What a step took."""
    seconds = perf_counter() - began[0], process_time() - began[1]
    return {"step": step, "seconds": seconds[0], "CPU seconds": seconds[1], "peak GB": peak()}


def measured(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for each step."""
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        began = perf_counter(), process_time()
        save_table(f"{folder}/cells", cells(options.blocks))
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
        table = open_table(f"{folder}/cells")
        yield row("written", began) | {"non-zeros": table.nnz, "bytes": size}
        few = {"beta": 1.0, "tol": 1e-12}
        fits = {f"{n} iterations": few | {"max_iter": n} for n in options.iterations}
        for name, parameters in (fits | FITS).items():
            began = perf_counter(), process_time()
            model = AspectModel(K, random_state=0, **parameters).fit(table)
            more = {"iterations": model.n_iter_, "beta": model.beta_}
            yield row(name, began) | {"non-zeros": table.nnz, "bytes": size} | more


def main() -> None:
    """Measure, print and save."""
    parser = reporting.options(__doc__)
    parser.add_argument("--blocks", type=int, default=10, help="of 10,000 cells")
    parser.add_argument("--iterations", type=int, nargs="+", default=[2, 12])
    parser.add_argument("--folder", help="where the table is written")
    options = parser.parse_args()
    results: dict[str, Any] = {"options": reporting.given(options)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = reporting.collect(measured(options), options.output, results, "steps")
    reporting.print_table(rows)


if __name__ == "__main__":
    main()
