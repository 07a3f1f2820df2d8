"""Held-out perplexity of topic models and of topic-free baselines, all tuned on validation tokens.

Training tokens are divided once more, into a tenth for validation and the rest. Other libraries'
models are fitted to the rest with several settings; the best on the validation tokens are then used
for a fit of all training tokens. The models of skcooc do the same inside ``fit``. Smoothing with
the unigram and the parameters of the within-document cache are chosen on validation tokens for all.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from benchmarks import corpora, peers
from benchmarks.experiment import Row, experiment
from skcooc import (
    AspectModel,
    AsymmetricClustering,
    AveragedModels,
    ClusterAbstraction,
    InterpolatedModels,
    RowMemory,
    heldout,
)
from skcooc.heldout import NearestRows, Unigram
from skcooc.heldout.memory import Memory, best_memory, memory_cells, with_cache
from skcooc.heldout.predictors import smoothed
from skcooc.heldout.validation import add_one_unigram
from skcooc.metrics import best_weights, perplexity_of, score_parts, unigram
from skcooc.model_selection import split_counts
from skcooc.protocol import Array, Predictor
from skcooc.tables import as_counts

VALIDATION = 0.1  # of the training tokens
MAX_ITER = 500
NMF_STEPS = [10, 20, 40, 80, 160, 320]
SWEEPS, SAMPLES = 400, 20  # of LDA's Gibbs sampler; half of the sweeps while tuning
TUNING_SAMPLES = 5
ETA, ALPHA = 0.05, 5.0  # first values of LDA's priors; alpha is summed over the topics
LARGEST_STEP = 2.0**8  # of a prior, from its first value


class Split(NamedTuple):
    """Training tokens, and their division for tuning."""

    train: Any
    inner: Any
    valid: Any


class Fitted(NamedTuple):
    """A predictor of all rows, its smoothing alone, and its within-document cache."""

    predictor: Predictor
    smoothing: float
    memory: Memory
    settings: str
    below: Predictor | None = None  # what the cache backs off to; None: the predictor


class Candidate(NamedTuple):
    """A fit to the inner training tokens, and its perplexity on the validation tokens."""

    perplexity: float
    smoothing: float
    predictor: Predictor
    settings: dict[str, Any]


def divide(train: Any, seed: int) -> Split:
    """Hold out validation tokens."""
    return Split(train, *split_counts(train, VALIDATION, random_state=seed))


def continuations(known: sp.csr_array) -> Array:
    """Number of rows that have each column, plus one, as a distribution (M,).

    Kneser and Ney back off to it: a word that follows a single context, however often, is not
    expected after others.

    References
    ----------
    R. Kneser and H. Ney, Improved backing-off for m-gram language modeling, ICASSP 1995, 181-184.

    Examples
    --------
    >>> continuations(sp.csr_array([[8.0, 1.0], [0.0, 1.0]])).tolist()
    [0.4, 0.6]
    """
    return add_one_unigram(np.bincount(known.indices[known.data > 0], minlength=known.shape[1]), 1)


def as_predictor(factors: peers.Factors) -> Predictor:
    """The factors of another library's model, as the library has them."""
    return heldout.Factors(factors.mixtures, factors.components.T)


def candidate(split: Split, predictor: Predictor, settings: dict[str, Any]) -> Candidate:
    """Judge a fit to the inner training tokens, with the smoothing that is best for it."""
    b = unigram(split.inner)
    s = float(best_weights(split.valid, [predictor, Unigram(b)])[1])
    return Candidate(perplexity_of(split.valid, smoothed(predictor, b, s)), s, predictor, settings)


def refitted(best: Candidate, split: Split, fit: Callable[..., Predictor]) -> Fitted:
    """Choose the cache, and fit all training tokens with the settings of a candidate."""
    cells = memory_cells(
        split.inner, as_counts(split.valid), best.predictor, continuations(split.inner)
    )
    settings = ", ".join(f"{name} = {_short(value)}" for name, value in best.settings.items())
    predictor = fit(split.train, **best.settings)
    return Fitted(predictor, best.smoothing, best_memory(cells), settings)


def of_library(model: Any, split: Split, seed: int) -> Fitted:
    """A model of skcooc, which tunes itself inside ``fit``."""
    memory = RowMemory(model, random_state=seed).fit(split.train)
    found = Memory(memory.concentration_, memory.discount_, memory.smoothing_)
    fitted = memory.estimator_
    if fitted is None:
        return Fitted(Unigram(unigram(split.train)), 0.0, found._replace(smoothing=1.0), "")
    factors = heldout.Factors(fitted.embedding_, fitted.components_.T)
    beta = getattr(fitted, "beta_", None)
    return Fitted(factors, fitted.smoothing_, found, f"beta = {_short(beta)}" if beta else "")


def topic_free(split: Split, K: int, seed: int) -> Fitted:
    """Unigram alone; with the cache, `RowMemory(None)`."""
    return of_library(None, split, seed)


def nearest_rows(split: Split, K: int, seed: int) -> Fitted:
    """Mean of the 50 nearest rows."""
    return refitted(candidate(split, NearestRows(split.inner), {}), split, NearestRows)


def topics_and_neighbors(split: Split, K: int, seed: int) -> Fitted:
    """A default fit and the 50 nearest rows, with weights tuned alone and with the cache."""

    def fit(X: Any) -> tuple[Predictor, Predictor]:
        model = AspectModel(K, random_state=seed).fit(X)
        return heldout.Factors(model.embedding_, model.components_.T), NearestRows(X)

    inner, both = fit(split.inner), fit(split.train)
    b = Unigram(unigram(split.inner))
    *weights, smoothing = best_weights(split.valid, [*inner, b]).tolist()
    background = continuations(split.inner)
    cells = memory_cells(split.inner, as_counts(split.valid), inner[0], background, inner[1])
    found = best_memory(cells, [None] * 4)
    t = weights[1] / sum(weights)
    alone, below = (
        heldout.Interpolated(both, (1 - share, share)) for share in (t, found.neighbor_share)
    )
    settings = f"neighbours: {t:.2f}, with cache {found.neighbor_share:.2f}"
    return Fitted(alone, smoothing, found._replace(neighbor_share=0.0), settings, below)


def untempered(split: Split, K: int, seed: int) -> Fitted:
    """pLSA: EM at beta = 1 until convergence, with tuned smoothing."""

    def fit(X: Any) -> Predictor:
        model = aspect_model(K, seed, beta=1.0).fit(X)
        return heldout.Factors(model.embedding_, model.components_.T)

    return refitted(candidate(split, fit(split.inner), {}), split, fit)


def aspect_model(K: int, seed: int, **parameters: Any) -> AspectModel:
    """AspectModel on one thread."""
    return AspectModel(K, max_iter=MAX_ITER, n_jobs=1, random_state=seed, **parameters)


def aspects(split: Split, K: int, seed: int, **parameters: Any) -> Fitted:
    """AspectModel."""
    return of_library(aspect_model(K, seed, **parameters), split, seed)


def average(split: Split, K: int, seed: int, **parameters: Any) -> Fitted:
    """Mean of five aspect models."""
    model = AveragedModels(aspect_model(K, seed, **parameters), 5, n_jobs=1, random_state=seed)
    return of_library(model, split, seed)


def clusters(split: Split, K: int, seed: int) -> Fitted:
    """Clusters of rows."""
    return of_library(AsymmetricClustering(K, n_jobs=1, random_state=seed), split, seed)


def interpolated(split: Split, K: int, seed: int) -> Fitted:
    """Aspects, clusters and a tree of clusters, interpolated."""
    models = [
        ("aspects", aspect_model(K, seed)),
        ("clusters", AsymmetricClustering(K, n_jobs=1, random_state=seed)),
        ("tree", ClusterAbstraction(K, n_jobs=1, random_state=seed)),
    ]
    return of_library(InterpolatedModels(models), split, seed)


def nmf(split: Split, K: int, seed: int) -> Fitted:
    """scikit-learn's NMF, Kullback-Leibler loss; initialisation and iterations are tuned."""

    def path(X: Any, init: str, steps: list[int]) -> Iterator[Predictor]:
        return map(as_predictor, peers.plsa_by_nmf(X, K, init, steps, 1, seed))

    def candidates(init: str) -> Iterator[Candidate]:
        for step, predictor in zip(NMF_STEPS, path(split.inner, init, NMF_STEPS), strict=True):
            yield candidate(split, predictor, {"init": init, "iterations": step})

    both = chain.from_iterable(while_falling(candidates(init)) for init in ("nndsvda", "random"))

    def fit(X: Any, init: str, iterations: int) -> Predictor:
        return next(path(X, init, [iterations]))

    return refitted(min(both, key=lambda one: one.perplexity), split, fit)


def while_falling(candidates: Iterator[Candidate]) -> Iterator[Candidate]:
    """Candidates up to the second one in a row that is worse than the best."""
    best, worse = np.inf, 0
    for one in candidates:
        yield one
        worse = 0 if one.perplexity < best else worse + 1
        best = min(best, one.perplexity)
        if worse == 2:
            return


def lda(split: Split, K: int, seed: int, samples: int = SAMPLES) -> Fitted:
    """tomotopy's Gibbs sampler, samples averaged; it optimises alpha, from a tuned first value.

    Eta is doubled or halved, and then alpha multiplied or divided by four, as long as that helps.
    """

    def fit(X: Any, eta: float, alpha: float) -> Predictor:
        short = X is split.inner
        work = (SWEEPS // 2, min(samples, TUNING_SAMPLES)) if short else (SWEEPS, samples)
        return as_predictor(peers.gibbs_lda(X, K, alpha / K, eta, *work, 1, seed))

    def judged(**settings: float) -> Candidate:
        return candidate(split, fit(split.inner, **settings), settings)

    best = judged(eta=ETA, alpha=ALPHA)
    for name, factor in (("eta", 2.0), ("alpha", 4.0)):
        for step in (factor, 1 / factor):
            better = _climb(best, name, step, judged)
            if better is not best:
                best = better
                break
    return refitted(best, split, fit)


def _climb(best: Candidate, name: str, step: float, judged: Callable[..., Candidate]) -> Candidate:
    """Multiply a setting as long as this helps."""
    first = best.settings[name]
    while True:
        value = best.settings[name] * step
        if not 1 / LARGEST_STEP <= value / first <= LARGEST_STEP:
            return best
        one = judged(**best.settings | {name: value})
        if one.perplexity >= best.perplexity:
            return best
        best = one


MODELS: dict[str, Callable[[Split, int, int], Fitted]] = {
    "unigram (topic-free)": topic_free,
    "50 nearest rows (topic-free)": nearest_rows,
    "pLSA: AspectModel(beta=1)": untempered,
    "AspectModel()": aspects,
    "AspectModel() + 50 nearest rows": topics_and_neighbors,
    "AspectModel(leave_one_out=True)": partial(aspects, leave_one_out=True),
    "AspectModel(burstiness='auto')": partial(aspects, burstiness="auto"),
    "AveragedModels, 5": average,
    "AveragedModels, 5, leave-one-out": partial(average, leave_one_out=True),
    "AveragedModels, 5, burstiness": partial(average, burstiness="auto"),
    "AsymmetricClustering()": clusters,
    "InterpolatedModels: aspects, clusters, tree": interpolated,
    "scikit-learn NMF (KL), tuned": nmf,
    "tomotopy LDA, tuned, 20 samples": lda,
    "tomotopy LDA, tuned, 1 sample": partial(lda, samples=1),
}
OPTIONAL = (
    "AveragedModels, 5, leave-one-out",
    "AveragedModels, 5, burstiness",
    "InterpolatedModels: aspects, clusters, tree",
    "tomotopy LDA, tuned, 1 sample",
)


def scores(split: Split, test: Any, fitted: Fitted) -> Row:
    """Perplexities of the test tokens: alone, with the cache, and of words new to the document.

    The last one is of predictions divided by their sum over the columns that the row does not have
    in training; there the cache cancels out.
    """
    alone = smoothed(fitted.predictor, unigram(split.train), fitted.smoothing)
    below = fitted.below or fitted.predictor
    cached = with_cache(split.train, below, continuations(split.train), fitted.memory)
    parts = score_parts(test, cached, split.train)
    log_likelihood = parts.seen_share * parts.seen + (1 - parts.seen_share) * parts.unseen
    return {
        "alone": perplexity_of(test, alone),
        "with cache": math.exp(-log_likelihood),
        "new words": math.exp(-parts.renormalised),
        "share of known words": parts.seen_share,
    }


def collection(name: str, words: int = 0) -> sp.csr_array:
    """Counts in single precision; of the most frequent words, or of all."""
    X = sp.csr_array(corpora.COLLECTIONS[name]().X, dtype=np.float32)
    return most_frequent(X, words) if words else X


def most_frequent(X: sp.csr_array, n_words: int) -> sp.csr_array:
    """The columns with most tokens, in their order."""
    order = np.argsort(-X.sum(axis=0), kind="stable")
    return sp.csr_array(X[:, np.sort(order[:n_words])])


@experiment(
    minutes=25,
    quick={"data": [["Cranfield", 4]], "seeds": [0]},
    needs=["tomotopy"],
)
def perplexity(
    data: Sequence[tuple[str, int]] = (
        ("Cranfield", 32),
        ("Cranfield", 128),
        ("CLASSIC3", 32),
        ("Brown pairs", 32),
    ),
    models: Sequence[str] = tuple(name for name in MODELS if name not in OPTIONAL),
    seeds: Sequence[int] = (0, 1, 2),
    test_size: float = 0.1,
    words: int = 0,
) -> Iterator[Row]:
    """Which held-out perplexity does each model reach, alone and with a within-document cache?

    A tenth of the tokens is held out for the test, another one for each seed. "alone" is a model
    smoothed with the unigram, "with cache" the model inside `RowMemory`, "new words" the perplexity
    of the test tokens whose word the known part of the row does not have. Seconds are of one
    thread, with all tuning. ``words`` keeps only the most frequent columns.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The training result may differ", RuntimeWarning)
        for name, K in data:
            X = collection(name, words)
            for seed in seeds:
                train, test = split_counts(X, test_size, random_state=seed)
                split = divide(train, seed)
                for model in models:
                    start = process_time()
                    fitted = MODELS[model](split, K, seed)
                    spent = process_time() - start
                    case = {"data": name, "K": K, "model": model, "seed": seed}
                    found = scores(split, test, fitted)
                    yield case | found | {"CPU s": spent, "settings": fitted.settings}


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
