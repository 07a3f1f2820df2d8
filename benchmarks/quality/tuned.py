"""How the best settings of a model are found on one training part; methods.py has the models.

Settings and smoothing are chosen on a tenth of the training observations (``Split.inner`` and
``Split.valid``); then the model is fitted to all of them. The test part is never looked at. All
peers get the smoothing and the memory of rows chosen on validation tokens, as skcooc's models do.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from operator import attrgetter
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.quality import remembered
from benchmarks.quality.peers import Factors
from skcooc.heldout.memory import Memory
from skcooc.metrics import best_smoothing, perplexity, unigram
from skcooc.model_selection import split_counts

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
    smoothing: float  # where it predicts alone
    memory: Memory  # of its rows, where they have one
    tuning_seconds: float
    fit_seconds: float
    settings: dict[str, Any]


class Tried(NamedTuple):
    """A factorisation of the inner training part, judged on the validation part."""

    perplexity: float
    smoothing: float
    factors: Factors
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
    word_priors: tuple[float, ...] = (0.01, 0.02, 0.05, 0.1, 0.2)


def quick(n_components: int, n_jobs: int) -> Effort:
    """Far too little work, to see that everything runs."""
    return Effort(n_components, n_jobs, 15, 3, (5, 10), 20, 2, (2.0,), (0.05, 0.1))


def divide(train: Any, seed: int) -> Split:
    """Hold out the validation part of the training observations."""
    inner, valid = split_counts(train, VALIDATION, random_state=seed)
    return Split(train, inner, valid, unigram(train), unigram(inner))


def scores(split: Split, test: Any, outcome: Outcome) -> dict[str, float]:
    """Perplexities of the test observations: alone, with memory, and of those not seen before."""
    background, s = split.background, outcome.smoothing
    alone = perplexity(test, *outcome.factors, background=background, smoothing=s)
    rest = remembered.scores(split.train, test, outcome.factors, outcome.memory)
    return {"alone": alone, **rest}


def validate(split: Split, factors: Factors) -> tuple[float, float]:
    """Perplexity of the validation part at its best smoothing, and this smoothing."""
    b = split.inner_background
    s = best_smoothing(split.valid, *factors, background=b)
    return perplexity(split.valid, *factors, background=b, smoothing=s), s


def judged(split: Split, factors: Factors, settings: dict[str, Any]) -> Tried:
    """What validation says of a factorisation of the inner training part."""
    return Tried(*validate(split, factors), factors, settings)


def on_grid(split: Split, effort: Effort, fit: Callable[[Any, float, float], Factors]) -> Outcome:
    """Choose both priors on validation."""
    tried = (
        judged(split, fit(split.inner, alpha, eta), {"alpha": alpha, "eta": eta})
        for alpha, eta in product(effort.document_priors, effort.word_priors)
    )
    return at_best(split, tried, lambda alpha, eta: fit(split.train, alpha, eta))


def at_best(split: Split, tried: Iterable[Tried], fit: Callable[..., Factors]) -> Outcome:
    """Take the best of what is tried, and its memory; fit all training observations so."""
    began = perf_counter()
    best = min(tried, key=attrgetter("perplexity"))
    memory = remembered.best(split.inner, split.valid, best.factors)
    tuned = perf_counter()
    factors = fit(**best.settings)
    seconds = tuned - began, perf_counter() - tuned
    settings = {**best.settings, **memory._asdict()}
    return Outcome(factors, best.smoothing, memory, *seconds, settings)


def while_falling(tried: Iterable[Tried]) -> Iterator[Tried]:
    """Those up to the second one in a row that is worse than the best."""
    best, worse = np.inf, 0
    for one in tried:
        yield one
        worse = 0 if one.perplexity < best else worse + 1
        best = min(best, one.perplexity)
        if worse == 2:
            return


def silence() -> None:
    """Runs "to the end" stop at a number of iterations, and say so."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.filterwarnings("ignore", "The training result may differ", RuntimeWarning)
