"""Seconds of an EM iteration beside other libraries, and iterations that solvers need."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numba import njit
from sklearn.decomposition import NMF, LatentDirichletAllocation
from threadpoolctl import threadpool_limits

from benchmarks import corpora, peers
from benchmarks.experiment import Row, experiment
from benchmarks.process import cpu_seconds_of, seconds_of
from skcooc.counts import CSRCounts
from skcooc.counts.passes import balanced_ranges, threads
from skcooc.em import EMStage, State, fit, make_solver
from skcooc.em.warmup import WARMUP_ITERATIONS
from skcooc.equations.aspects import Aspects

BETA = 0.8
ROUNDS = 2  # of fits whose difference is taken


@experiment(
    minutes=15,
    models=["AspectModel"],
    quick={"data": ["Cranfield"], "components": [8], "threads": [1], "repeats": 3},
    needs=["topica"],
)
def iteration(
    data: Sequence[str] = ("Cranfield", "CLASSIC3", "20 Newsgroups"),
    components: Sequence[int] = (8, 32, 128),
    threads: Sequence[int] = (1, 2),
    repeats: int = 20,
) -> Iterator[Row]:
    """How long is an EM iteration, beside the iterations of other libraries?

    Float32; every figure is the least of several after a warm-up, and ours is measured again beside
    each peer. Peers have one thread, and their seconds are those of the processor. For scikit-learn
    and topica it is the difference between fits of two numbers of iterations, for tomotopy a sweep;
    neither sampler optimises its priors. "Gather" is the time that fetching the factors of each
    non-zero takes, row by row and then column by column: about that of the memory.
    """
    warnings.simplefilter("ignore")
    others = {
        "scikit-learn NMF, Kullback-Leibler": nmf,
        "scikit-learn LDA, batch": lda,
        "tomotopy LDA, one sweep": tomotopy,
        "topica LDA, sparse": partial(topica, "sparse"),
        "topica LDA, warp": partial(topica, "warp"),
        "topica NMF, Kullback-Leibler": topica_nmf,
    }
    for name in data:
        X = corpora.COLLECTIONS[name]().X.astype(np.float32)
        for K in components:
            for n in threads:
                ours = [own_seconds(X, K, n, repeats)]
                found = {}
                for peer, measure in others.items() if n == 1 else ():
                    found[peer] = measure(X, K)
                    ours.append(own_seconds(X, K, n, repeats))
                least, gather = (min(seconds) for seconds in zip(*ours, strict=True))
                shared = {"data": name, "non-zeros": X.nnz, "K": K, "threads": n}
                yield shared | {"model": "AspectModel, EM", "seconds": least, "times": 1.0}
                for peer, seconds in found.items():
                    yield shared | {"model": peer, "seconds": seconds, "times": seconds / least}
                yield shared | {"model": "gather alone", "seconds": gather, "times": gather / least}


def own_seconds(X: Any, n_components: int, n_threads: int, repeats: int) -> tuple[float, float]:
    """Seconds of an E-step and M-step, and of gathering alone."""
    model, rng = Aspects(n_components), np.random.default_rng(0)
    times = []
    with threads(n_threads) as run:
        counts = CSRCounts(X).with_threads(n_threads, run)
        params, rows = model.start(counts, rng)
        for _ in range(2 + repeats):
            start = time.perf_counter()
            rows, stats = model.expect(counts, params, rows, BETA)
            params = model.maximize(stats, params, BETA)
            whole = time.perf_counter() - start
            A, B = np.ascontiguousarray(rows), np.ascontiguousarray(params.components)
            times.append((whole, seconds_of(gather_both_ways, counts, A, B, run)))
    whole, gather = zip(*times[2:], strict=True)
    return min(whole), min(gather)


@njit(nogil=True, fastmath=True)
def gather(indptr, indices, D, sums, limits):  # type: ignore[no-untyped-def]
    """Sum the rows of D that the non-zeros of rows start..stop name."""
    start, stop = limits
    for i in range(start, stop):
        total = sums[i]
        total[:] = 0
        for p in range(indptr[i], indptr[i + 1]):
            d = D[indices[p]]
            for k in range(D.shape[1]):
                total[k] += d[k]


def gather_both_ways(X: CSRCounts, A: np.ndarray, B: np.ndarray, run: Any) -> None:
    """Gather factors of columns for every row, then factors of rows for every column."""
    columns = X.views.columns
    for indptr, indices, D, n in (
        (X.indptr, X.indices, B, X.shape[0]),
        (columns.indptr, columns.indices, A, X.shape[1]),
    ):
        sums = np.empty((n, D.shape[1]), dtype=D.dtype)
        list(run(partial(gather, indptr, indices, D, sums), balanced_ranges(indptr, X.n_threads)))


def seconds_of_each(make: Callable[[int], Callable[[], Any]], few: int, many: int) -> float:
    """Seconds of the processor for an iteration, from the fastest runs of few and of many."""
    short, long = (
        min(cpu_seconds_of(make(n_iter)) for _ in range(ROUNDS)) for n_iter in (few, many)
    )
    return (long - short) / (many - few)


def per_iteration(make: Callable[[int], Any], X: Any, few: int, many: int) -> float:
    """Seconds of an iteration of an estimator of scikit-learn."""
    return seconds_of_each(lambda n_iter: partial(make(n_iter).fit, X), few, many)


def nmf(X: Any, n_components: int) -> float:
    """Seconds of a multiplicative update."""
    make = partial(
        NMF,
        n_components,
        init="random",
        solver="mu",
        beta_loss="kullback-leibler",
        tol=0,
        random_state=0,
    )
    with threadpool_limits(1):
        return per_iteration(lambda n_iter: make(max_iter=n_iter), X, 1, 4)


def lda(X: Any, n_components: int) -> float:
    """Seconds of an iteration of batch variational Bayes."""
    make = partial(
        LatentDirichletAllocation,
        n_components,
        learning_method="batch",
        evaluate_every=-1,
        random_state=0,
    )
    return per_iteration(lambda n_iter: make(max_iter=n_iter), X, 1, 2)


def tomotopy(X: Any, n_components: int) -> float:
    """Seconds of a sweep of the collapsed Gibbs sampler."""
    model = peers.gibbs_sampler(X, n_components, alpha=1 / n_components, eta=0.1, optimise=0)
    model.train(2, workers=1)
    return min(cpu_seconds_of(lambda: model.train(1, workers=1)) for _ in range(5))


def topica(sampler: str, X: Any, n_components: int) -> float:
    """Seconds of a sweep of one of topica's samplers."""
    from topica import LDA, Corpus  # only these peers need it

    corpus = Corpus.from_documents(peers.documents(X))

    def make(sweeps: int) -> Any:
        model = LDA(n_components, optimize_interval=0, sampler=sampler, seed=0)
        return lambda: model.fit(corpus, iters=sweeps, num_samples=1, keep_theta_draws=False)

    return seconds_of_each(make, 10, 40)


def topica_nmf(X: Any, n_components: int) -> float:
    """Seconds of an update of topica's NMF."""
    from topica import NMF, Corpus

    corpus = Corpus.from_documents(peers.documents(X))

    def make(n_iter: int) -> Any:
        model = NMF(
            n_components,
            beta_loss="kullback-leibler",
            init="random",
            weighting="count",
            convergence_tol=0.0,
            seed=0,
        )
        return lambda: model.fit(corpus, iters=n_iter, num_threads=1)

    return seconds_of_each(make, 2, 8)


@experiment(
    minutes=5,
    models=["AspectModel"],
    quick={"data": ["Cranfield"], "K": 8, "seeds": [0], "max_iter": 60},
)
def solvers(
    data: Sequence[str] = ("Cranfield", "CLASSIC3"),
    betas: Sequence[float] = (0.8, 1.0),
    K: int = 32,
    seeds: Sequence[int] = (0, 1, 2),
    max_iter: int = 600,
) -> Iterator[Row]:
    """How many iterations and how much time do the solvers need, and where do they end?

    All solvers go on from the same parameters, after a few steps of plain EM. Iterations and
    seconds count until the free energy is within 1e-5 of one that all of them reach; "excess" is
    the relative distance of the last free energy from the least of all solvers.
    """
    for name in data:
        table = corpora.COLLECTIONS[name]().X.astype(np.float32)
        with threads(1) as run:
            X = CSRCounts(table).with_threads(1, run)
            for beta in betas:
                for seed in seeds:
                    shared = {"data": name, "K": K, "beta": beta, "seed": seed}
                    for row in races(X, K, beta, seed, max_iter):
                        yield shared | row


# A number is the step size of over-relaxed EM.
SOLVERS: tuple[Any, ...] = ("em", 1.8, "momentum")


def races(X: CSRCounts, K: int, beta: float, seed: int, max_iter: int) -> Iterator[Row]:
    """One row for each solver, from one start."""
    model, rng = Aspects(K), np.random.default_rng(seed)
    warmup = to_the_end(model, X, 1.0, WARMUP_ITERATIONS)
    start = fit([warmup], rng, make_solver("em"), State(*model.start(X, rng))).state
    histories = {}
    for name in SOLVERS:
        fit([to_the_end(model, X, beta, 2)], rng, make_solver(name), start)  # compiles
        stage = to_the_end(model, X, beta, max_iter)
        histories[name] = fit([stage], rng, make_solver(name), start).history
    energies = {
        name: np.array([record.free_energy for record in history])
        for name, history in histories.items()
    }
    lowest = [values.min() for values in energies.values()]
    goal, least = max(lowest) + 1e-5 * abs(max(lowest)), min(lowest)
    for name, history in histories.items():
        n_iter = int(np.argmax(energies[name] <= goal)) + 1
        yield {
            "solver": str(name),
            "iterations": n_iter,
            "seconds": sum(record.seconds for record in history[:n_iter]),
            "excess": (energies[name].min() - least) / abs(least),
        }


def to_the_end(model: Any, X: CSRCounts, beta: float, n_iter: int) -> EMStage:
    """A stage of exactly so many iterations."""
    return EMStage(model, X, beta, n_iter, tol=-np.inf)
