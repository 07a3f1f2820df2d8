"""Time and memory of fits of large tables: in memory, on disk, on the workers of a cluster."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import corpora, made_up
from benchmarks.experiment import Row, experiment
from benchmarks.iteration import own_seconds, to_the_end
from benchmarks.process import GB, MIB, in_fresh_process, memory, reset_peak
from skcooc import AspectModel, RowBlocks, delayed_rows, open_table, save_table
from skcooc.counts import CSRCounts
from skcooc.counts.passes import threads
from skcooc.datasets import make_cooccurrences
from skcooc.em import State, fit, make_solver
from skcooc.equations.aspects import Aspects


@experiment(
    minutes=6,
    models=["AspectModel"],
    quick={"millions": [0.1], "components": [8], "n_threads": [1], "fits": []},
)
def scale(
    millions: Sequence[float] = (1, 3, 10, 30),
    components: Sequence[int] = (64,),
    n_threads: Sequence[int] = (1, 2),
    fits: Sequence[float] = (30,),
) -> Iterator[Row]:
    """How do time and memory of a fit in memory grow with the number of non-zeros?

    Made-up counts like texts: 100,000 columns, 126 non-zeros in a row, float32. An iteration is the
    least of three; memory is the peak of a fresh process, the counts included. "fit" is a whole
    fit of 50 iterations with hyper-parameters tuned on 20,000 rows.
    """
    for million in millions:
        for K in components:
            for n in n_threads:
                yield in_fresh_process(one_iteration, million, K, n)
    for million in fits:
        yield in_fresh_process(large_fit, million, components[0], n_threads[-1])


def one_iteration(millions: float, K: int, n_threads: int) -> Row:
    """Seconds of an EM iteration, and the peak memory of a short fit."""
    compile_loops(K)
    X = made_up.text_table(millions)
    reset_peak()
    AspectModel(K, beta=0.8, max_iter=3, n_jobs=n_threads, random_state=0).fit(X)
    peak = memory("VmHWM")
    seconds, _ = own_seconds(X, K, n_threads, 3)
    return {
        "what": "iteration",
        "million non-zeros": round(X.nnz / 1e6, 1),
        "rows": X.shape[0],
        "K": K,
        "threads": n_threads,
        "seconds": seconds,
        "ns per non-zero": 1e9 * seconds / X.nnz,
        "peak GB": peak / GB,
    }


def large_fit(millions: float, K: int, n_threads: int) -> Row:
    """Seconds and peak memory of a fit whose hyper-parameters are tuned on a sample of rows."""
    compile_loops(K)
    X = made_up.text_table(millions)
    reset_peak()
    settings: dict[str, Any] = {"n_jobs": n_threads, "random_state": 0}
    start = perf_counter()
    rows = np.random.default_rng(0).choice(X.shape[0], min(20_000, X.shape[0]), replace=False)
    part = AspectModel(K, **settings).fit(X[np.sort(rows)])
    for name in ("beta", "smoothing", "component_prior", "leave_one_out", "row_prior"):
        if (value := getattr(part, f"{name}_")) is not None:
            settings[name] = value
    model = AspectModel(K, max_iter=50, **settings).fit(X)
    return {
        "what": "fit",
        "million non-zeros": round(X.nnz / 1e6, 1),
        "rows": X.shape[0],
        "K": K,
        "threads": n_threads,
        "seconds": perf_counter() - start,
        "iterations": model.n_iter_,
        "peak GB": memory("VmHWM") / GB,
    }


def compile_loops(K: int) -> None:
    """Fit a small table, so that nothing is compiled or imported while time is taken."""
    warnings.simplefilter("ignore")
    small = make_cooccurrences(random_state=0).X.astype(np.float32)
    AspectModel(K, beta=0.8, max_iter=12).fit(small)


@experiment(minutes=15, models=["AspectModel"], quick={"millions": [0.2], "K": 8})
def on_disk(millions: Sequence[float] = (10, 100), K: int = 50) -> Iterator[Row]:
    """How long is a fit of a table on disk, and how much memory does it need?

    Made-up counts like texts are written as a table on disk, block by block, and fitted until EM
    converges, at beta = 0.8. Peak memory of a fresh process counts pages of files, too.
    """
    for million in millions:
        yield in_fresh_process(fit_from_disk, "texts", million, K, 0.8)


@experiment(minutes=15, models=["AspectModel"], quick={"millions": [9.77], "K": 4})
def cells_on_disk(millions: Sequence[float] = (98,), K: int = 30) -> Iterator[Row]:
    """How long is a fit of a million single cells by 30,000 genes, on disk?

    As `on_disk`, for made-up cells with 977 genes each, at beta = 1. A million cells are 977
    million non-zeros; by default there are 100,000.
    """
    for million in millions:
        yield in_fresh_process(fit_from_disk, "cells", million, K, 1.0)


def fit_from_disk(kind: str, millions: float, K: int, beta: float) -> Row:
    """Write a table and fit it."""
    compile_loops(K)
    with tempfile.TemporaryDirectory() as folder:
        start = perf_counter()
        save_table(f"{folder}/counts", getattr(made_up, kind)(millions))
        written = perf_counter() - start
        table = open_table(f"{folder}/counts")
        size = sum(file.stat().st_size for file in Path(table.path).iterdir())
        start, cpu = perf_counter(), process_time()
        model = AspectModel(K, beta=beta, n_jobs=2, random_state=0).fit(table)
        return {
            "million non-zeros": round(table.nnz / 1e6, 1),
            "rows": table.shape[0],
            "K": K,
            "bytes per non-zero": size / table.nnz,
            "s to make and write": written,
            "iterations": model.n_iter_,
            "seconds": perf_counter() - start,
            "CPU s": process_time() - cpu,
            "peak GB": memory("VmHWM") / GB,
        }


@experiment(minutes=4, models=["AspectModel"], quick={"rows": [2000]})
def blocks_of_rows(rows: Sequence[int] = (20_000, 80_000, 320_000), K: int = 32) -> Iterator[Row]:
    """Does the memory of a fit over blocks of rows depend on the number of rows?

    Rows of about 100 tokens over 20,000 columns lie on disk in blocks of 1000. A fresh process fits
    them from there by stepwise EM in one pass after the sample, or as a matrix in memory. The peak
    is counted from before the data were opened.
    """
    for n_rows in rows:
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/counts"
            blocks = (made_up.text_block(i, 1000, 20_000, 100.0) for i in range(n_rows // 1000))
            save_table(path, blocks)
            size = sum(file.stat().st_size for file in Path(path).iterdir()) / MIB
            row = {"rows": n_rows, "MiB on disk": size}
            for storage in ("blocks on disk", "matrix in memory"):
                yield row | in_fresh_process(fit_blocks, path, storage, K)


def fit_blocks(path: str, storage: str, K: int) -> Row:
    """Peak memory and CPU seconds of one fit."""
    warnings.simplefilter("ignore")
    model = AspectModel(K, beta=0.9, max_iter=12, random_state=0)
    small = made_up.text_block(0, 30, 20_000, 100.0)
    model.fit(small)
    model.fit(RowBlocks([small]))
    before, cpu = reset_peak(), process_time()
    blocks = RowBlocks(open_table(path), max_passes=1)
    model.fit(blocks if "disk" in storage else sp.vstack(list(blocks), format="csr"))
    peak = (memory("VmHWM") - before) / MIB
    return {"storage": storage, "peak MiB": peak, "CPU s": process_time() - cpu}


@experiment(
    minutes=1,
    models=["AspectModel"],
    quick={"data": ["Cranfield"], "components": [8]},
)
def memory_of_fits(
    data: Sequence[str] = ("20 Newsgroups",), components: Sequence[int] = (16, 64, 256)
) -> Iterator[Row]:
    """How much memory does a default fit need at its peak, beyond the counts it is given?

    Measured in fresh processes, float32, twelve iterations; "share of the budget" is against 24
    bytes for each non-zero and five times the two factors.
    """
    for name in data:
        for K in components:
            yield in_fresh_process(peak_of_fit, name, K)


def peak_of_fit(data: str, K: int) -> Row:
    """Peak memory of one fit."""
    compile_loops(K)
    model = AspectModel(K, max_iter=12, random_state=0)
    X = corpora.COLLECTIONS[data]().X.astype(np.float32)
    before = reset_peak()
    model.fit(X)
    peak = memory("VmHWM") - before
    budget = 24 * X.nnz + 5 * sum(X.shape) * K * 4
    return {"data": data, "K": K, "peak MiB": peak / MIB, "share of the budget": peak / budget}


@experiment(
    minutes=6,
    models=["AspectModel"],
    quick={"millions": [1], "n_blocks": 2, "K": 8},
    needs=["distributed"],
)
def workers(
    millions: Sequence[int] = (1, 5), n_blocks: int = 4, K: int = 64, turns: int = 2
) -> Iterator[Row]:
    """What does it cost to fit rows on two Dask workers, instead of two threads in memory?

    Workers have one thread each, on the same machine, and make their blocks of rows themselves.
    Runs of six iterations take turns; least and median of the iterations but the first.
    """
    import dask
    from distributed import Client, LocalCluster

    from skcooc.counts.dask import load

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options, memory_limit="4GiB") as cluster, Client(cluster) as client:
        for million in millions:
            n_columns, make = 20_000, dask.delayed(made_up.text_block, pure=True)
            n_rows = million * 10_000 // n_blocks
            blocks = [make(number, n_rows, n_columns, 105.0) for number in range(n_blocks)]
            far = load(client, delayed_rows(blocks, n_columns, np.float32), "AspectModel")
            parts = [block.compute(scheduler="synchronous") for block in blocks]
            with threads(2) as run:
                near = CSRCounts(sp.vstack(parts, format="csr")).with_threads(2, run)
                places = {"threads in memory": near, "Dask workers": far.with_threads(2, run)}
                seconds: dict[str, list[float]] = {name: [] for name in places}
                energy = {}
                model = Aspects(K)
                for _ in range(turns):
                    for name, counts in places.items():
                        rng = np.random.default_rng(0)
                        start = State(*model.start(counts, rng))
                        stage = to_the_end(model, counts, 0.9, 6)
                        history = fit([stage], rng, make_solver("momentum"), start).history
                        seconds[name] += [record.seconds for record in history[1:]]
                        energy[name] = history[-1].free_energy
            for name in places:
                yield {
                    "where": name,
                    "million non-zeros": million,
                    "K": K,
                    "blocks": n_blocks,
                    "least s": min(seconds[name]),
                    "median s": float(np.median(seconds[name])),
                    "free energy": energy[name],
                }
