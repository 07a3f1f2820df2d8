"""Models fitted to one training part, each at its best settings, with the seconds that took.

Settings and smoothing are chosen on a tenth of the training observations (``Split.inner`` and
``Split.valid``); then the model is fitted to all of them. The test part is never looked at. All
peers get the smoothing that validation asks for, as skcooc does by itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.quality import peers
from benchmarks.quality.peers import Factors
from skcooc import AspectModel, AveragedModels
from skcooc.datasets import make_cooccurrences
from skcooc.metrics import best_smoothing, perplexity, unigram
from skcooc.model_selection import split_observations

VALIDATION = 0.1


class Split(NamedTuple):
    """Training observations, and their division for tuning."""

    train: Any
    inner: Any
    valid: Any
    background: np.ndarray  # unigram of the training part
    inner_background: np.ndarray


class Outcome(NamedTuple):
    """A fitted factorisation and what it cost."""

    factors: Factors
    smoothing: float
    tuning_seconds: float
    fit_seconds: float
    settings: dict[str, Any]


@dataclass(frozen=True)
class Effort:
    """How much work goes into each fit; the same cores for everyone."""

    n_components: int
    n_jobs: int = 2
    em_iterations: int = 500
    lda_iterations: int = 50
    nmf_steps: tuple[int, ...] = (5, 10, 15, 20, 30, 40, 60, 80, 120, 160, 220, 300)
    gibbs_sweeps: int = 500
    gibbs_samples: int = 10
    document_priors: tuple[float, ...] = (2.0, 5.0, 10.0, 20.0)  # sum over the components
    word_priors: tuple[float, ...] = (0.05, 0.1, 0.2)


def quick(n_components: int, n_jobs: int) -> Effort:
    """Far too little work, to see that everything runs."""
    return Effort(n_components, n_jobs, 15, 3, (5, 10), 20, 2, (2.0,), (0.05, 0.1))


def divide(train: Any, seed: int) -> Split:
    """Hold out the validation part of the training observations."""
    inner, valid = split_observations(train, VALIDATION, random_state=seed)
    return Split(train, inner, valid, unigram(train), unigram(inner))


def score(split: Split, test: Any, outcome: Outcome) -> float:
    """Perplexity of the test observations."""
    background, s = split.background, outcome.smoothing
    return perplexity(test, *outcome.factors, background=background, smoothing=s)


def only_unigram(split: Split, effort: Effort, seed: int) -> Outcome:
    """One distribution for all rows."""
    ones = np.ones((split.train.shape[0], 1))
    return Outcome(Factors(ones, split.background[None]), 0.0, 0.0, 0.0, {})


def aspect_model(split: Split, effort: Effort, seed: int, **parameters: Any) -> Outcome:
    """AspectModel by itself: what it tunes, it tunes inside ``fit``."""
    began = perf_counter()
    model = _aspect_model(effort, seed, **parameters).fit(split.train)
    total, last = perf_counter() - began, sum(record.seconds for record in model.history_)
    tuning = total - last if model.temperature_search_ else 0.0
    settings = {"beta": model.beta_, "iterations": model.n_iter_}
    return Outcome(_factors(model), model.smoothing_, tuning, total - tuning, settings)


def average(split: Split, effort: Effort, seed: int, **parameters: Any) -> Outcome:
    """Five aspect models averaged; seconds are not told apart."""
    began = perf_counter()
    member = _aspect_model(effort, seed, **parameters)
    model = AveragedModels(member, n_jobs=effort.n_jobs, random_state=seed).fit(split.train)
    settings = {"beta": model.beta_, "iterations": model.n_iter_}
    return Outcome(_factors(model), model.smoothing_, 0.0, perf_counter() - began, settings)


def maximum_likelihood(split: Split, effort: Effort, seed: int) -> Outcome:
    """AspectModel at beta = 1 to the end, with the smoothing that validation asks for."""
    began = perf_counter()
    _, s = validate(split, _factors(_aspect_model(effort, seed, beta=1.0).fit(split.inner)))
    tuning = perf_counter() - began
    outcome = aspect_model(split, effort, seed, beta=1.0)
    return outcome._replace(smoothing=s, tuning_seconds=tuning)


def variational_lda(split: Split, effort: Effort, seed: int) -> Outcome:
    """scikit-learn's LDA; it refuses priors above one."""
    K = effort.n_components

    def fit(X: Any, alpha: float, eta: float) -> Factors:
        rest = effort.lda_iterations, effort.n_jobs, seed
        return peers.variational_lda(X, K, alpha / K, eta, *rest)

    allowed = sorted({min(alpha, float(K)) for alpha in effort.document_priors})
    return _on_grid(split, replace(effort, document_priors=tuple(allowed)), fit)


def gibbs_lda(split: Split, effort: Effort, seed: int) -> Outcome:
    """tomotopy's LDA, which goes on to optimise alpha from where it starts."""
    K = effort.n_components

    def fit(X: Any, alpha: float, eta: float) -> Factors:
        rest = effort.gibbs_sweeps, effort.gibbs_samples, effort.n_jobs, seed
        return peers.gibbs_lda(X, K, alpha / K, eta, *rest)

    return _on_grid(split, effort, fit)


def nmf_plsa(split: Split, effort: Effort, seed: int) -> Outcome:
    """scikit-learn's NMF as pLSA: the initialisation and the number of iterations are tuned."""
    began = perf_counter()

    def path(X: Any, init: str, steps: list[int]) -> Iterator[Factors]:
        return peers.plsa_by_nmf(X, effort.n_components, init, steps, effort.n_jobs, seed)

    tried = []
    for init in ("nndsvda", "random"):
        steps = list(effort.nmf_steps)
        validated = _while_falling(validate(split, f) for f in path(split.inner, init, steps))
        tried += [(*v, init, step) for v, step in zip(validated, steps, strict=False)]
    _, s, init, step = min(tried)
    tuned = perf_counter()
    factors = next(path(split.train, init, [step]))
    settings = {"init": init, "iterations": step}
    return Outcome(factors, s, tuned - began, perf_counter() - tuned, settings)


METHODS: dict[str, Callable[[Split, Effort, int], Outcome]] = {
    "unigram": only_unigram,
    "AspectModel, beta=1": lambda *given: aspect_model(*given, beta=1.0),
    "AspectModel, beta=1, smoothing tuned": maximum_likelihood,
    "AspectModel, beta=1, early stopping": lambda *given: aspect_model(
        *given, beta=1.0, early_stopping=True
    ),
    "AspectModel, beta='auto'": aspect_model,
    "AveragedModels, five of these": average,
    "scikit-learn NMF (KL) as pLSA, tuned": nmf_plsa,
    "scikit-learn LDA, tuned": variational_lda,
    "tomotopy LDA, tuned": gibbs_lda,
    "tomotopy LDA, tuned, one sample": lambda split, effort, seed: gibbs_lda(
        split, replace(effort, gibbs_samples=1), seed
    ),
}


def _aspect_model(effort: Effort, seed: int, **parameters: Any) -> AspectModel:
    return AspectModel(
        effort.n_components,
        max_iter=effort.em_iterations,
        n_jobs=effort.n_jobs,
        random_state=seed,
        **parameters,
    )


def _factors(model: AspectModel | AveragedModels) -> Factors:
    return Factors(model.embedding_, model.components_)


def validate(split: Split, factors: Factors) -> tuple[float, float]:
    """Perplexity of the validation part at its best smoothing, and this smoothing."""
    b = split.inner_background
    s = best_smoothing(split.valid, *factors, background=b)
    return perplexity(split.valid, *factors, background=b, smoothing=s), s


def _on_grid(split: Split, effort: Effort, fit: Callable[[Any, float, float], Factors]) -> Outcome:
    """Choose both priors on validation, then fit all training observations."""
    began = perf_counter()
    tried = [
        (*validate(split, fit(split.inner, alpha, eta)), alpha, eta)
        for alpha, eta in product(effort.document_priors, effort.word_priors)
    ]
    _, s, alpha, eta = min(tried)
    tuned = perf_counter()
    factors = fit(split.train, alpha, eta)
    settings = {"alpha sum": alpha, "eta": eta}
    return Outcome(factors, s, tuned - began, perf_counter() - tuned, settings)


def _while_falling(validated: Iterable[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Validations up to the second one in a row that is worse than the best."""
    best, worse = np.inf, 0
    for perplexity_, s in validated:
        yield perplexity_, s
        worse = 0 if perplexity_ < best else worse + 1
        best = min(best, perplexity_)
        if worse == 2:
            return


def warm_up() -> None:
    """Compile the loops and start the worker processes, before anything is timed."""
    X = make_cooccurrences(n_rows=60, n_columns=40, random_state=0).X
    split = divide(X.astype(np.float32), 0)
    for method in (aspect_model, variational_lda):
        method(split, quick(2, 2), 0)


def silence() -> None:
    """Runs "to the end" stop at a number of iterations, and say so."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.filterwarnings("ignore", "The training result may differ", RuntimeWarning)
