"""How long is an EM iteration of the aspect model, beside the iterations of its peers?

Data: 20 Newsgroups, float32. Every figure is the least of several, after warm-up: on a shared
machine all else is noise, which hits those most that are limited by memory. One iteration is

* skcooc: E-step and M-step at beta = .8; ``passes`` are the two passes over the non-zeros, and the
  rest is powers and normalisations of the factors;
* gather: the time that gathering alone takes: for each non-zero, row by row, K floats of the column
  factor are added up, then the same column by column for the row factor. No iteration that fetches
  a factor anew for each non-zero can be faster, whatever it computes; ``gather/passes`` and
  ``gather/whole`` are shares of that limit. Bands of rows fetch less: they may be above one;
* scikit-learn's NMF (Kullback-Leibler, multiplicative updates) and batch LDA: the difference
  between fits of two numbers of iterations, in which start-up and final steps cancel;
* tomotopy's LDA: a sweep of its collapsed Gibbs sampler, without optimising its priors.

NMF has no number of jobs; what it does in BLAS is given as many threads.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numba import njit
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks import reporting
from benchmarks.quality import peers
from benchmarks.speed import fit_memory
from skcooc.counts import CSRCounts
from skcooc.counts.passes import balanced_ranges, threads
from skcooc.equations.aspects import Aspects

BETA = 0.8
WARM_UP = 2
ROUNDS = 2  # of the fits whose difference is taken
PEERS = ("nmf", "lda", "tomotopy")

Seconds = dict[str, float]


@njit(nogil=True, fastmath=True)
def gather(indptr, indices, D, sums, limits):  # type: ignore[no-untyped-def]
    """Rows start..stop: the sum of the rows of D that the non-zeros name."""
    start, stop = limits
    for i in range(start, stop):
        total = sums[i]
        total[:] = 0
        for p in range(indptr[i], indptr[i + 1]):
            d = D[indices[p]]
            for k in range(D.shape[1]):
                total[k] += d[k]


def gather_both_ways(X: CSRCounts, A: np.ndarray, B: np.ndarray, map: Any) -> None:
    """Gather columns' rows for every row, then rows' rows for every column."""
    columns = X.views.columns
    for indptr, indices, D, n in (
        (X.indptr, X.indices, B, X.shape[0]),
        (columns.indptr, columns.indices, A, X.shape[1]),
    ):
        sums = np.empty((n, D.shape[1]), dtype=D.dtype)
        ranges = balanced_ranges(indptr, X.n_threads)

        loop = partial(gather, indptr, indices, D, sums)
        list(map(loop, ranges))


def ours(X: Any, n_components: int, n_threads: int, repeats: int) -> Seconds:
    """Seconds of an iteration, of its passes over the data, and of gathering alone."""
    model, rng = Aspects(n_components), np.random.default_rng(0)
    with threads(n_threads) as map:
        counts = CSRCounts(X).with_threads(n_threads, map)
        params, rows = model.start(counts, rng)
        times: list[tuple[float, float, float]] = []
        for _ in range(WARM_UP + repeats):
            began = time.perf_counter()
            rows, stats = model.expect(counts, params, rows, BETA)
            params = model.maximize(stats, params, BETA)
            whole = time.perf_counter() - began
            A, B = np.ascontiguousarray(rows), np.ascontiguousarray(params.components)
            passes = reporting.clock(counts.mixture, A, B)
            limit = reporting.clock(gather_both_ways, counts, A, B, map)
            times.append((whole, passes, limit))
    whole, passes, limit = (min(column) for column in zip(*times[WARM_UP:], strict=True))
    return {
        "seconds": whole,
        "passes": passes,
        "gather": limit,
        "gather/passes": limit / passes,
        "gather/whole": limit / whole,
    }


def per_iteration(make: Callable[[int], Any], X: Any, few: int, many: int) -> Seconds:
    """Seconds of an iteration of an estimator, from the fastest fits of few and of many."""
    short, long = (
        min(reporting.clock(make(n_iter).fit, X) for _ in range(ROUNDS)) for n_iter in (few, many)
    )
    return {"seconds": (long - short) / (many - few)}


def nmf(X: Any, n_components: int, n_threads: int) -> Seconds:
    """scikit-learn's multiplicative updates for the Kullback-Leibler loss, one start for both."""

    def make(n_iter: int) -> NMF:
        return NMF(
            n_components,
            init="random",
            solver="mu",
            beta_loss="kullback-leibler",
            tol=0,
            max_iter=n_iter,
            random_state=0,
        )

    with threadpool_limits(n_threads):
        return per_iteration(make, X, 1, 4)


def lda(X: Any, n_components: int, n_threads: int) -> Seconds:
    """scikit-learn's batch variational Bayes."""

    def make(n_iter: int) -> LatentDirichletAllocation:
        return LatentDirichletAllocation(
            n_components,
            learning_method="batch",
            evaluate_every=-1,
            max_iter=n_iter,
            n_jobs=n_threads,
            random_state=0,
        )

    make(1).fit(X[:100])  # starts the worker processes
    return per_iteration(make, X, 1, 3)


def tomotopy(X: Any, n_components: int, n_threads: int, sweeps: int = 5) -> Seconds:
    """tomotopy's collapsed Gibbs sampler."""
    model = peers.gibbs_sampler(X, n_components, alpha=1 / n_components, eta=0.1, optimise=0)
    model.train(WARM_UP, workers=n_threads)
    each = [reporting.clock(lambda: model.train(1, workers=n_threads)) for _ in range(sweeps)]
    return {"seconds": min(each)}


def measurements(X: Any, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One row for each number of components, peer and number of threads."""
    functions = {"nmf": nmf, "lda": lda, "tomotopy": tomotopy}
    for K in options.components:
        mine = {n: ours(X, K, n, options.repeats) for n in options.threads}
        theirs = []
        for peer in options.peers:
            for n in options.threads:
                theirs.append({"K": K, "what": peer, "threads": n} | functions[peer](X, K, n))
                for m in options.threads:  # between the peers too: the machine has its moods
                    again = ours(X, K, m, options.repeats)
                    mine[m] = min(mine[m], again, key=lambda times: times["seconds"])
        for n, times in mine.items():
            yield {"K": K, "what": "skcooc", "threads": n, **times, "times ours": 1.0}
        for times in theirs:
            yield times | {"times ours": times["seconds"] / mine[times["threads"]]["seconds"]}


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.filterwarnings("ignore", "The training result may differ", RuntimeWarning)
    parser = reporting.options(str(__doc__))
    parser.add_argument("--data", choices=fit_memory.DATA, default="newsgroups20")
    parser.add_argument("--components", type=int, nargs="+", default=[16, 64, 256])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--peers", choices=PEERS, nargs="*", default=list(PEERS))
    parser.add_argument("--repeats", type=int, default=30, help="iterations of ours to time")
    parser.add_argument("--no-memory", action="store_true", help="leave out the peak memory")
    options = parser.parse_args()
    X = fit_memory.DATA[options.data]().X.astype(np.float32)
    results: dict[str, Any] = {"data": options.data, "nonzeros": X.nnz}
    rows = reporting.collect(
        measurements(X, options),
        options.output,
        results,
        "iterations",
        lambda row: (row["what"], f"K={row['K']} threads={row['threads']}"),
    )
    reporting.print_table(rows)
    if not options.no_memory:
        results["memory"] = fit_memory.compare(options.data, options.components, max_iter=12)
        reporting.print_table(results["memory"])
    reporting.save(options.output, results)


if __name__ == "__main__":
    main()
