"""New rows with few known tokens."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import NMF, LatentDirichletAllocation

from benchmarks import corpora, peers
from benchmarks.experiment import Row, experiment
from benchmarks.process import seconds_of
from skcooc import AspectModel
from skcooc.metrics import perplexity, unigram

ALPHA, ETA = 5.0, 0.03  # of LDA: the sum of alpha, which is optimised, is a first value
SAMPLING = peers.Sampling(burn_in=200, samples=20, every=10)
NEW = 0.2  # of the rows
FOLD_IN_STEPS = 50


@experiment(
    minutes=25,
    models=["AspectModel"],
    quick={"data": ["Cranfield"], "components": 4, "seeds": [0], "known": [1, 5]},
    needs=["tomotopy"],
)
def new_rows(
    data: Sequence[str] = ("Cranfield", "CLASSIC3", "Reuters"),
    components: int = 32,
    known: Sequence[int] = (1, 2, 5, 10, 30),
    seeds: Sequence[int] = (0, 1, 2),
) -> Iterator[Row]:
    """How well are new documents predicted from a few of their words?

    A fifth of the documents is new; those with too few words are left out. So many words of each,
    drawn at random, are known, and all others are predicted. LDA is tomotopy's sampler with eta =
    0.03 and an optimised alpha: the mean of 20 samples, each folding the known words in by
    variational steps with its own alpha. Both have the smoothing that predicts best; "before" is an
    `AspectModel` whose new rows have no prior (`row_prior` of 1e-9).
    """
    for name in data:
        X = sp.csr_array(corpora.COLLECTIONS[name]().X, dtype=np.float32)
        for seed in seeds:
            rng = np.random.default_rng(seed)
            is_new = rng.random(X.shape[0]) < NEW
            train, rest = X[~is_new], X[is_new]
            models = [
                AspectModel(components, random_state=seed, row_prior=prior).fit(train)
                for prior in ("auto", 1e-9)
            ]
            chain = peers.gibbs_chain(train, components, ALPHA / components, ETA, SAMPLING, seed)
            draws = [
                (np.array(model.alpha), peers.posterior_means(model, train).components)
                for model in chain
            ]
            background = unigram(train)
            for n in known:
                few, others = drawn(rest[rest.sum(axis=1) > n], n, rng)
                predictions = {
                    "unigram": [(np.ones((few.shape[0], 1)), background[None])],
                    "LDA": [(folded(few, *draw), draw[1]) for draw in draws],
                    "AspectModel()": [(models[0].transform(few), models[0].components_)],
                    "before": [(models[1].transform(few), models[1].components_)],
                }
                found = {f: smoothed(others, P, background) for f, P in predictions.items()}
                yield {"data": name, "seed": seed, "known tokens": n} | found


@experiment(
    minutes=3,
    models=["AspectModel"],
    quick={"data": ["Cranfield"], "components": [8]},
    needs=["tomotopy"],
)
def transform_time(
    data: Sequence[str] = ("CLASSIC3", "Reuters"), components: Sequence[int] = (32, 128)
) -> Iterator[Row]:
    """How long does a new document take, in a batch and alone?

    One thread. A tenth of the documents is new. Microseconds of a document: of all in one call, and
    the median of a hundred calls with one each. NMF has the Kullback-Leibler loss, LDA is batch
    variational Bayes; all have their default settings.
    """
    warnings.simplefilter("ignore")
    for name in data:
        X = sp.csr_array(corpora.COLLECTIONS[name]().X, dtype=np.float32)
        is_new = np.arange(X.shape[0]) % 10 == 0
        train, new = X[~is_new], X[is_new]
        for K in components:
            chain = peers.gibbs_sampler(train, K, ALPHA / K, ETA)
            chain.train(20, workers=1)
            loss = {"beta_loss": "kullback-leibler", "solver": "mu"}
            models = {
                "AspectModel": AspectModel(K, random_state=0).fit(train).transform,
                "scikit-learn NMF": NMF(K, **loss, random_state=0).fit(train).transform,
                "scikit-learn LDA": LatentDirichletAllocation(K, random_state=0)
                .fit(train)
                .transform,
                "tomotopy LDA": partial(inferred, chain),
            }
            for model, transform in models.items():
                transform(new[:1])  # compiles
                batch = min(seconds_of(transform, new) for _ in range(5)) / new.shape[0]
                alone = np.median([seconds_of(transform, new[i : i + 1]) for i in range(100)])
                microseconds = {"in a batch": 1e6 * batch, "alone": 1e6 * float(alone)}
                yield {"data": name, "K": K, "model": model} | microseconds


def inferred(model: Any, X: sp.csr_array) -> np.ndarray:
    """Mixtures of new rows by tomotopy."""
    made = [
        model.make_doc([str(j) for j in np.repeat(X.indices[start:stop], counts)])
        for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True)
        if len(counts := X.data[start:stop].astype(int))
    ]
    return np.array(model.infer(made, workers=1)[0])


def drawn(X: sp.csr_array, n: int, rng: np.random.Generator) -> tuple[sp.csr_array, sp.csr_array]:
    """n tokens of each row, and the others."""
    few = [rng.multivariate_hypergeometric(row.astype(int), n) for row in X.toarray()]
    known = sp.csr_array(np.array(few), dtype=X.dtype)
    others = sp.csr_array(X - known)
    others.eliminate_zeros()
    return known, others


def folded(X: sp.csr_array, alpha: np.ndarray, components: np.ndarray) -> np.ndarray:
    """Mixtures of new rows under the Dirichlet prior, (n, K)."""
    rows, columns, counts = sp.find(X)
    mixtures = np.tile(alpha / alpha.sum(), (X.shape[0], 1))
    by_row = sp.csr_array((counts, (rows, np.arange(len(rows)))), shape=(X.shape[0], len(rows)))
    for _ in range(FOLD_IN_STEPS):
        posteriors = mixtures[rows] * components.T[columns]
        posteriors /= posteriors.sum(axis=1, keepdims=True)
        mixtures = by_row @ posteriors + alpha
        mixtures /= mixtures.sum(axis=1, keepdims=True)
    return mixtures


def smoothed(X: sp.csr_array, predictions: Sequence[tuple[Any, Any]], b: np.ndarray) -> float:
    """Least perplexity of the mean prediction, mixed with some shares of the unigram."""
    n = len(predictions)
    A = np.hstack([mixtures / n for mixtures, _ in predictions] + [np.ones((X.shape[0], 1))])
    B = np.vstack([components for _, components in predictions] + [b])
    least = np.inf
    for share in (0.001, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.9):
        weights = np.append(np.full(A.shape[1] - 1, 1 - share), share)
        least = min(least, perplexity(X, A * weights, B))
    return float(least)
