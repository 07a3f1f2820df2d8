"""Seconds until a model predicts held-out tokens as well as a tuned LDA at its best."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks import corpora, peers, streams
from benchmarks.baselines import as_rows, baselines
from benchmarks.experiment import Row, experiment
from benchmarks.peers import Factors
from benchmarks.process import EachIteration
from skcooc import AspectModel
from skcooc.metrics import best_smoothing, perplexity, unigram
from skcooc.model_selection import split_counts

Step = tuple[float, Factors]  # seconds so far, and a factorisation


@experiment(
    minutes=20,
    models=["AspectModel", "RowMemory"],
    quick={"data": "Reuters", "K": 8, "sweeps": 60, "word_priors": [0.1], "seeds": [0]},
)
def time_to_perplexity(
    data: str = "20 Newsgroups",
    K: int = 64,
    sweeps: int = 600,
    word_priors: Sequence[float] = (0.01, 0.02, 0.05, 0.1),
    seeds: Sequence[int] = (0,),
) -> Iterator[Row]:
    """How long until held-out tokens are predicted as well as a tuned LDA does at its best?

    A tenth of the tokens is the test part, a tenth of the others the validation part, the rest is
    fitted. The goal is the least test perplexity on the way of tomotopy's LDA, by its last sample
    or by the mean of the samples of the second half; its eta is chosen on the validation part, and
    this tuning is not counted. AspectModel's seconds contain its tuning. Two threads.
    scikit-learn's and gensim's models have their default settings, but alpha and eta of gensim
    "auto", and as many seconds as the LDA. The smoothing of all is chosen on the validation part.
    """
    warnings.simplefilter("ignore")
    X = corpora.COLLECTIONS[data]().X.astype(np.float32)
    AspectModel(K, max_iter=12).fit(X[:500])  # compiles
    for seed in seeds:
        train, test = split_counts(X, 0.1, random_state=seed)
        inner, valid = split_counts(train, 0.1, random_state=seed)
        background = unigram(inner)

        def score(factors: Factors) -> float:
            given = {"background": background}  # noqa: B023
            s = best_smoothing(valid, *factors, **given)  # noqa: B023
            return perplexity(test, *factors, **given, smoothing=s)  # noqa: B023

        shared = {"data": data, "K": K, "seed": seed}
        eta = best_eta(inner, valid, K, word_priors, sweeps // 3)
        curve = [(s, score(factors)) for s, factors in gibbs_lda(inner, K, eta, sweeps)]
        goal, longest = min(value for _, value in curve), curve[-1][0]
        yield shared | {"model": f"tomotopy LDA, eta = {eta}", **reached(curve, goal)}
        curve = [(s, score(factors)) for s, factors in aspect_model(inner, K)]
        yield shared | {"model": "AspectModel, tuning included", **reached(curve, goal)}
        for name, method in OTHERS.items():
            steps = within(passes(method, inner, K), longest)
            curve = [(s, score(factors)) for s, factors in steps]
            yield shared | {"model": name, **reached(curve, goal)}
        yield from (shared | row for row in as_rows(baselines(inner, test, seed)))


def reached(curve: list[tuple[float, float]], goal: float) -> Row:
    """Least perplexity on the way, and seconds to the goal."""
    seconds = next((s for s, value in curve if value <= goal), None)
    return {"perplexity": min(value for _, value in curve), "seconds": seconds or "never"}


def best_eta(inner: Any, valid: Any, K: int, word_priors: Sequence[float], sweeps: int) -> float:
    """The eta that predicts the validation part best; alpha starts at 5 / K and is optimised."""

    def validation(eta: float) -> float:
        model = peers.gibbs_sampler(inner, K, 5 / K, eta)
        model.train(sweeps, workers=2)
        factors, background = peers.posterior_means(model, inner), unigram(inner)
        s = best_smoothing(valid, *factors, background=background)
        return perplexity(valid, *factors, background=background, smoothing=s)

    return min(word_priors, key=validation)


class Clock:
    """Adds up the seconds of the actions that it is given."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self, action: Callable[..., Any], *arguments: Any) -> Any:
        """Do it, and return its result."""
        start = perf_counter()
        result = action(*arguments)
        self.seconds += perf_counter() - start
        return result


def gibbs_lda(X: Any, K: int, eta: float, sweeps: int) -> Iterator[Step]:
    """tomotopy's sampler every 20 sweeps: the last sample, then the mean of the second half."""
    clock, draws = Clock(), []
    model = clock(peers.gibbs_sampler, X, K, 5 / K, eta)
    for done in range(20, sweeps + 1, 20):
        clock(lambda: model.train(20, workers=2))
        draw = peers.posterior_means(model, X)
        yield clock.seconds, draw
        if done > sweeps // 2:
            draws.append(draw)
            mixtures = np.hstack([d.mixtures for d in draws]) / len(draws)
            yield clock.seconds, Factors(mixtures, np.vstack([d.components for d in draws]))


def aspect_model(X: Any, K: int) -> list[Step]:
    """AspectModel after every iteration of its final fit; the clock stands still meanwhile."""
    steps: list[Step] = []
    pauses, start = 0.0, perf_counter()

    def keep(fitted: Any) -> None:
        nonlocal pauses
        now = perf_counter()
        factors = Factors(fitted.embedding_.copy(), fitted.components_.copy())
        steps.append((now - start - pauses, factors))
        pauses += perf_counter() - now

    AspectModel(K, n_jobs=2, random_state=0).set_callbacks(EachIteration(keep)).fit(X)
    return steps


OTHERS = {
    "scikit-learn LDA, online": streams.sklearn_lda,
    "scikit-learn MiniBatchNMF": streams.minibatch_nmf,
    "gensim LDA": partial(streams.gensim_lda, dtype=np.float32),
}


def passes(method: Callable[..., streams.Passes], X: Any, K: int) -> Iterator[Step]:
    """An online method after each pass over batches of 1000 rows."""
    clock, done = Clock(), method(X, K, 1000, 0)
    while True:
        factors = clock(next, done)
        yield clock.seconds, factors(X)


def within(steps: Iterator[Step], seconds: float) -> Iterator[Step]:
    """Steps until so many seconds have passed."""
    for step in steps:
        yield step
        if step[0] > seconds:
            return
