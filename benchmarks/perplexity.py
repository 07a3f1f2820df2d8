"""Held-out perplexity of topic models and of topic-free baselines, all tuned on validation tokens.

Training tokens are divided once more, into a tenth for validation and the rest. Other libraries'
models are fitted to the rest with several settings (LDA with short chains); with the best on the
validation tokens they are fitted to all training tokens. The models of skcooc do the same inside
``fit``. Smoothing with the unigram and the parameters of the within-document cache are chosen on
validation tokens for all.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from operator import itemgetter
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from benchmarks import corpora, peers
from benchmarks.experiment import Row, experiment
from benchmarks.peers import Sampling
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
from skcooc.heldout.predictors import Growing, growth, row_sums, smoothed
from skcooc.heldout.validation import add_one
from skcooc.metrics import best_weights, perplexity_of, score_parts, unigram
from skcooc.model_selection import split_counts
from skcooc.protocol import Array, Predictor
from skcooc.tables import as_counts

VALIDATION = 0.1  # of the training tokens
MAX_ITER = 500
NMF_STEPS = [10, 20, 40, 80, 160, 320]
PENALTIES = [(0.0, 0.0), (0.003, 1.0), (0.01, 1.0), (0.003, 0.0), (0.01, 0.0)]  # alpha, l1_ratio
ALPHA = 5.0  # first value of the Gibbs sampler, which optimises it; summed over the topics
ONE_CHAIN = Sampling(burn_in=200, samples=80, every=50)
FEW_SAMPLES = Sampling(burn_in=200, samples=20, every=10)
CHAINS = Sampling(burn_in=50, samples=2, every=10, chains=16)
TUNING = Sampling(burn_in=50, samples=5, every=10)
CVB0_SWEEPS, CVB0_TUNING = 200, 100
LEAST_GAIN = 1e-3  # of a doubled or halved prior, relative


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
    settings: dict[str, Any]
    below: Predictor | None = None  # what the cache backs off to; None: the predictor
    alone_s: float = 0.0  # CPU seconds of a second fit, which is not in the cache


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
    return add_one(np.bincount(known.indices[known.data > 0], minlength=known.shape[1]))


def as_predictor(factors: peers.Factors) -> Predictor:
    """The factors of another library's model, as the library has them."""
    return heldout.Factors(factors.mixtures, factors.components.T)


def judged(split: Split, predictor: Predictor) -> tuple[float, float]:
    """Perplexity of the validation tokens, and the weight of the unigram that is best there."""
    b = unigram(split.inner)
    s = float(best_weights(split.valid, [predictor, Unigram(b)])[1])
    return perplexity_of(split.valid, smoothed(predictor, b, s)), s


@dataclass(frozen=True)
class Peer:
    """A model that does not tune itself.

    It is fitted with the settings that are best on the validation tokens, or with given ones.
    Smoothing and the cache are those that are best for a fit to the inner training tokens.
    """

    fit: Callable[..., Predictor]  # (X, K, seed, **settings)
    tune: Callable[[Split, int, int], dict[str, Any]] = lambda split, K, seed: {}

    def __call__(
        self, split: Split, K: int, seed: int, settings: dict[str, Any] | None = None
    ) -> Fitted:
        """Tune and fit."""
        settings = self.tune(split, K, seed) if settings is None else settings
        inner = self.fit(split.inner, K, seed, **settings)
        valid, background = as_counts(split.valid), continuations(split.inner)
        memory = best_memory(memory_cells(split.inner, valid, inner, background))
        _, smoothing = judged(split, inner)
        return Fitted(self.fit(split.train, K, seed, **settings), smoothing, memory, settings)


def of_library(model: Any, split: Split, seed: int, neighbors: int = 0) -> Fitted:
    """A model of skcooc, which tunes itself inside ``fit``: for predictions alone or in a cache."""
    memory = RowMemory(model, neighbors=neighbors, random_state=seed).fit(split.train)
    found = Memory(memory.concentration_, memory.discount_, memory.smoothing_)
    if model is None:
        return Fitted(Unigram(unigram(split.train)), 0.0, found._replace(smoothing=1.0), {})
    below: Predictor = factors_of(memory.estimator_)
    if neighbors:
        n, alike = row_sums(split.train), NearestRows(split.train)
        below = Growing(
            Unigram(unigram(split.train)), below, growth(n, memory.model_tokens_, power=2)
        )
        below = Growing(below, alike, memory.neighbor_share_ * growth(n, memory.neighbor_tokens_))
    start = process_time()
    alone = clone(model).fit(split.train)
    settings = {"beta": alone.beta_} if hasattr(alone, "beta_") else {}
    spent = process_time() - start
    return Fitted(factors_of(alone), alone.smoothing_, found, settings, below, spent)


def factors_of(model: Any) -> heldout.Factors:
    """The prediction of a fitted model of skcooc."""
    return heldout.Factors(model.embedding_, model.components_.T)


def topic_free(split: Split, K: int, seed: int) -> Fitted:
    """Unigram alone; with the cache, `RowMemory(None)`."""
    return of_library(None, split, seed)


def topics_and_neighbors(
    model_of: Callable[[int, int], Any], split: Split, K: int, seed: int
) -> Fitted:
    """A model and the 50 nearest rows, with weights tuned alone and with the cache."""
    inner = factors_of(model_of(K, seed).fit(split.inner)), NearestRows(split.inner)
    *weights, smoothing = best_weights(
        split.valid, [*inner, Unigram(unigram(split.inner))]
    ).tolist()
    t = weights[1] / sum(weights)
    cached = of_library(model_of(K, seed), split, seed, neighbors=50)
    alone = heldout.Interpolated([cached.predictor, NearestRows(split.train)], (1 - t, t))
    return cached._replace(predictor=alone, smoothing=smoothing, settings={"neighbours": t})


def untempered(X: Any, K: int, seed: int) -> Predictor:
    """pLSA: EM at beta = 1 until convergence."""
    return factors_of(aspect_model(K, seed, beta=1.0).fit(X))


def aspect_model(K: int, seed: int, **parameters: Any) -> AspectModel:
    """AspectModel on one thread."""
    return AspectModel(K, max_iter=MAX_ITER, n_jobs=1, random_state=seed, **parameters)


def aspects(split: Split, K: int, seed: int, **parameters: Any) -> Fitted:
    """AspectModel."""
    return of_library(aspect_model(K, seed, **parameters), split, seed)


def averaged(K: int, seed: int, **parameters: Any) -> AveragedModels:
    """Mean of 16 short fits, on one thread."""
    return AveragedModels(AspectModel(K, **parameters), n_jobs=1, random_state=seed)


def average(split: Split, K: int, seed: int, **parameters: Any) -> Fitted:
    """AveragedModels."""
    return of_library(averaged(K, seed, **parameters), split, seed)


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


def nmf(
    X: Any, K: int, seed: int, init: str, alpha: float, l1_ratio: float, iterations: int
) -> Predictor:
    """scikit-learn's NMF, Kullback-Leibler loss."""
    (factors,) = peers.plsa_by_nmf(X, K, init, [iterations], seed, alpha, l1_ratio)
    return as_predictor(factors)


def best_nmf(split: Split, K: int, seed: int) -> dict[str, Any]:
    """Initialisation, regularisation, and number of iterations."""
    found = []
    for init, (alpha, l1_ratio) in product(("nndsvda", "random"), PENALTIES):
        path = peers.plsa_by_nmf(split.inner, K, init, NMF_STEPS, seed, alpha, l1_ratio)
        falling = while_falling(judged(split, as_predictor(factors))[0] for factors in path)
        settings = {"init": init, "alpha": alpha, "l1_ratio": l1_ratio}
        found += [
            (perplexity, settings | {"iterations": step})
            for step, perplexity in zip(NMF_STEPS, falling, strict=False)
        ]
    return min(found, key=itemgetter(0))[1]


def while_falling(perplexities: Iterable[float]) -> Iterator[float]:
    """Perplexities up to the second one in a row that is worse than the best."""
    best, worse = np.inf, 0
    for one in perplexities:
        yield one
        worse = 0 if one < best else worse + 1
        best = min(best, one)
        if worse == 2:
            return


def lda(X: Any, K: int, seed: int, eta: float, sampling: Sampling = ONE_CHAIN) -> Predictor:
    """Mean of the predictions of samples of tomotopy's Gibbs sampler, which optimises alpha."""
    draws = [*map(as_predictor, peers.gibbs_draws(X, K, ALPHA / K, eta, sampling, seed))]
    return heldout.Interpolated(draws, [1 / len(draws)] * len(draws))


def best_lda(split: Split, K: int, seed: int) -> dict[str, Any]:
    """The prior eta of the topics, with a short chain."""
    fit = partial(lda, split.inner, K, seed, sampling=TUNING)
    return best_priors({"eta": 0.05}, split, fit)


def cvb0(
    X: Any, K: int, seed: int, eta: float, alpha: float, sweeps: int = CVB0_SWEEPS
) -> Predictor:
    """CVB0; alpha is of one topic."""
    return as_predictor(peers.cvb0(X, K, alpha, eta, sweeps, seed))


def best_cvb0(split: Split, K: int, seed: int) -> dict[str, Any]:
    """Both priors, after few sweeps."""
    fit = partial(cvb0, split.inner, K, seed, sweeps=CVB0_TUNING)
    return best_priors({"eta": 0.05, "alpha": 0.1}, split, fit)


def best_priors(
    first: dict[str, float], split: Split, fit: Callable[..., Predictor]
) -> dict[str, Any]:
    """Double one prior after the other, or else halve it, as long as it gains LEAST_GAIN."""
    best = judged(split, fit(**first))[0], first
    for name in first:
        start = best
        for step in (2.0, 0.5):
            while True:
                settings = best[1] | {name: best[1][name] * step}
                perplexity, _ = judged(split, fit(**settings))
                if perplexity > (1 - LEAST_GAIN) * best[0]:
                    break
                best = perplexity, settings
            if best is not start:
                break
    return best[1]


MODELS: dict[str, Callable[..., Fitted]] = {
    "unigram (topic-free)": topic_free,
    "50 nearest rows (topic-free)": Peer(lambda X, K, seed: NearestRows(X)),
    "pLSA: AspectModel(beta=1)": Peer(untempered),
    "AspectModel()": aspects,
    "AspectModel() + 50 nearest rows": partial(topics_and_neighbors, aspect_model),
    "AspectModel(leave_one_out=True)": partial(aspects, leave_one_out=True),
    "AspectModel(burstiness='auto')": partial(aspects, burstiness="auto"),
    "AveragedModels": average,
    "AveragedModels + 50 nearest rows": partial(topics_and_neighbors, averaged),
    "AveragedModels, leave-one-out": partial(average, leave_one_out=True),
    "AveragedModels, burstiness": partial(average, burstiness="auto"),
    "AsymmetricClustering()": clusters,
    "InterpolatedModels: aspects, clusters, tree": interpolated,
    "scikit-learn NMF (KL), tuned": Peer(nmf, best_nmf),
    "CVB0 (LDA), tuned": Peer(cvb0, best_cvb0),
    "tomotopy LDA, tuned, 20 samples": Peer(partial(lda, sampling=FEW_SAMPLES), best_lda),
    "tomotopy LDA, tuned, 1 chain": Peer(lda, best_lda),
    "tomotopy LDA, tuned, 8 chains": Peer(
        partial(lda, sampling=CHAINS._replace(chains=8)), best_lda
    ),
    "tomotopy LDA, tuned, 16 chains": Peer(partial(lda, sampling=CHAINS), best_lda),
}
OPTIONAL = (
    "AveragedModels, leave-one-out",
    "AveragedModels, burstiness",
    "InterpolatedModels: aspects, clusters, tree",
    "tomotopy LDA, tuned, 20 samples",
    "tomotopy LDA, tuned, 1 chain",
    "tomotopy LDA, tuned, 8 chains",
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
    minutes=30,
    models=["AspectModel", "AsymmetricClustering", "AveragedModels", "RowMemory"],
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
    tune_once: bool = True,
) -> Iterator[Row]:
    """Which held-out perplexity does each model reach, alone and with a within-document cache?

    A tenth of the tokens is held out for the test, another one for each seed. "alone" is a model
    smoothed with the unigram, "with cache" a second one inside `RowMemory`, tuned for it, "new
    words" the perplexity of the test tokens whose word the known part of the row does not have.
    Seconds are of one thread, with all tuning; of models of skcooc those with the cache. ``words``
    keeps only the most frequent columns. With ``tune_once`` the settings of other libraries' models
    are those of the first split.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The training result may differ", RuntimeWarning)
        for name, K in data:
            X, tuned = collection(name, words), dict[str, Any]()
            for seed in seeds:
                train, test = split_counts(X, test_size, random_state=seed)
                split = divide(train, seed)
                for model in models:
                    start = process_time()
                    known = {"settings": tuned[model]} if model in tuned else {}
                    fitted = MODELS[model](split, K, seed, **known)
                    spent = process_time() - start - fitted.alone_s
                    case = {"data": name, "K": K, "model": model, "seed": seed}
                    found = scores(split, test, fitted)
                    if tune_once and isinstance(MODELS[model], Peer):
                        tuned[model] = fitted.settings
                    settings = ", ".join(f"{k} = {_short(v)}" for k, v in fitted.settings.items())
                    yield case | found | {"CPU s": spent, "settings": settings}


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
