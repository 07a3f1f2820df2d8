"""Models fitted to one training part, each at its best settings, with the seconds that took.

What ours choose, they choose inside ``fit``; the settings of the others are chosen by tuned.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.quality import peers, remembered
from benchmarks.quality.peers import Factors
from benchmarks.quality.tuned import (
    Effort,
    Outcome,
    Split,
    Tried,
    at_best,
    divide,
    judged,
    on_grid,
    quick,
    validate,
    while_falling,
)
from skcooc import AspectModel, AsymmetricClustering, AveragedModels, RowMemory
from skcooc.datasets import make_cooccurrences


def without_topics(split: Split, effort: Effort, seed: int) -> Outcome:
    """One distribution for all rows: the unigram alone; with memory, what RowMemory(None) is."""
    factors = Factors(np.ones((split.train.shape[0], 1)), split.background[None])
    began = perf_counter()
    memory = remembered.of(RowMemory(random_state=seed).fit(split.train))
    # All weight goes to the background, which is the distribution of RowMemory(None).
    memory = memory._replace(smoothing=1.0)
    return Outcome(factors, 0.0, memory, perf_counter() - began, 0.0, memory._asdict())


def ours(split: Split, model: Any, seed: int, fits: Callable[[Any], list[Any]]) -> Outcome:
    """An estimator with the memory of rows; ``fits`` gives the fits that it ends with."""
    began = perf_counter()
    fitted = RowMemory(model, random_state=seed).fit(split.train)
    total, model, memory = perf_counter() - began, fitted.estimator_, remembered.of(fitted)
    last = sum(record.seconds for fit in fits(model) for record in fit.history_)
    settings = {"beta": model.beta_, "iterations": model.n_iter_, **memory._asdict()}
    factors = Factors(model.embedding_, model.components_)
    return Outcome(factors, model.smoothing_, memory, total - last, last, settings)


def aspect_model(split: Split, effort: Effort, seed: int, **parameters: Any) -> Outcome:
    """AspectModel."""
    return ours(split, _estimator(AspectModel, effort, seed, **parameters), seed, itself)


def average(
    split: Split, effort: Effort, seed: int, n_estimators: int = 5, **parameters: Any
) -> Outcome:
    """Aspect models averaged; the seconds are those of all members together."""
    member = _estimator(AspectModel, effort, seed, **parameters)
    model = AveragedModels(member, n_estimators, n_jobs=effort.n_jobs, random_state=seed)
    return ours(split, model, seed, attrgetter("estimators_"))


def clusters(split: Split, effort: Effort, seed: int) -> Outcome:
    """AsymmetricClustering, the clusters of rows."""
    return ours(split, _estimator(AsymmetricClustering, effort, seed), seed, itself)


def itself(model: Any) -> list[Any]:
    """The one fit of a model that is no average."""
    return [model]


def maximum_likelihood(split: Split, effort: Effort, seed: int) -> Outcome:
    """AspectModel at beta = 1 to the end, with the smoothing that validation asks for."""
    outcome, began = aspect_model(split, effort, seed, beta=1.0), perf_counter()
    model = _estimator(AspectModel, effort, seed, beta=1.0).fit(split.inner)
    _, s = validate(split, Factors(model.embedding_, model.components_))
    return outcome._replace(smoothing=s, tuning_seconds=perf_counter() - began)


def variational_lda(split: Split, effort: Effort, seed: int) -> Outcome:
    """scikit-learn's LDA; it refuses priors above one."""
    K = effort.n_components

    def fit(X: Any, alpha: float, eta: float) -> Factors:
        rest = effort.lda_iterations, effort.n_jobs, seed
        return peers.variational_lda(X, K, alpha / K, eta, *rest)

    allowed = sorted({min(alpha, float(K)) for alpha in effort.document_priors})
    return on_grid(split, replace(effort, document_priors=tuple(allowed)), fit)


def gibbs_lda(split: Split, effort: Effort, seed: int) -> Outcome:
    """tomotopy's LDA, which goes on to optimise alpha from where it starts."""
    K = effort.n_components

    def fit(X: Any, alpha: float, eta: float) -> Factors:
        rest = effort.gibbs_sweeps, effort.gibbs_samples, effort.n_jobs, seed
        return peers.gibbs_lda(X, K, alpha / K, eta, *rest)

    return on_grid(split, effort, fit)


def nmf_plsa(split: Split, effort: Effort, seed: int) -> Outcome:
    """scikit-learn's NMF as pLSA: the initialisation and the number of iterations are tuned."""

    def path(X: Any, init: str, steps: list[int]) -> Iterator[Factors]:
        return peers.plsa_by_nmf(X, effort.n_components, init, steps, effort.n_jobs, seed)

    def tried(init: str) -> Iterator[Tried]:
        steps = list(effort.nmf_steps)
        for step, factors in zip(steps, path(split.inner, init, steps), strict=True):
            yield judged(split, factors, {"init": init, "iterations": step})

    both = chain.from_iterable(while_falling(tried(init)) for init in ("nndsvda", "random"))

    def fit(init: str, iterations: int) -> Factors:
        return next(path(split.train, init, [iterations]))

    return at_best(split, both, fit)


def _estimator(make: Callable[..., Any], effort: Effort, seed: int, **parameters: Any) -> Any:
    return make(
        effort.n_components,
        max_iter=effort.em_iterations,
        n_jobs=effort.n_jobs,
        random_state=seed,
        **parameters,
    )


def warm_up() -> None:
    """Compile the loops and start the worker processes, before anything is timed."""
    X = make_cooccurrences(n_rows=60, n_columns=40, random_state=0).X
    split = divide(X.astype(np.float32), 0)
    for method in (aspect_model, variational_lda):
        method(split, quick(2, 2), 0)


METHODS: dict[str, Callable[[Split, Effort, int], Outcome]] = {
    "no topics": without_topics,
    "AspectModel, beta=1": lambda *given: aspect_model(*given, beta=1.0),
    "AspectModel, beta=1, smoothing tuned": maximum_likelihood,
    "AspectModel, beta=1, early stopping": lambda *given: aspect_model(
        *given, beta=1.0, early_stopping=True
    ),
    "AspectModel, beta='auto'": aspect_model,
    "AspectModel, burstiness='auto'": lambda *given: aspect_model(*given, burstiness="auto"),
    "AspectModel, leave_one_out=True": lambda *given: aspect_model(*given, leave_one_out=True),
    "AveragedModels, five with beta='auto'": average,
    "AveragedModels, five with leave_one_out=True": lambda *given: average(
        *given, leave_one_out=True
    ),
    "AveragedModels, five with burstiness='auto'": lambda *given: average(
        *given, burstiness="auto"
    ),
    "AsymmetricClustering": clusters,
    "scikit-learn NMF (KL) as pLSA, tuned": nmf_plsa,
    "scikit-learn LDA, tuned": variational_lda,
    "tomotopy LDA, tuned": gibbs_lda,
    "tomotopy LDA, tuned, one sample": lambda split, effort, seed: gibbs_lda(
        split, replace(effort, gibbs_samples=1), seed
    ),
}
