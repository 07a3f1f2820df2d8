"""Texts with planted topics: are their number and their shares by group found in one call?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks import peers
from benchmarks.experiment import Row, experiment
from skcooc import fit_texts
from skcooc.protocol import Array

N_TEXTS, N_TOPICS, LENGTH = 2000, 8, (100, 150)
N_WORDS, N_COMMON = 300, 400  # of each topic, and of none
DESKS = {"home": 0.5, "sport": 0.3, "world": 0.2}  # shares of the texts


class Shape(NamedTuple):
    common: float  # share of the tokens that are common words
    spread: float  # concentration of the mixtures of the texts
    is_dominated: bool  # each desk by one or two topics


SHAPES = {
    "even": Shape(0.6, 1.0, False),
    "dominated": Shape(0.4, 0.6, True),
    "common words": Shape(0.8, 0.5, False),
}


N_SPARE = 4  # topics of other libraries for the common words
STEPS = 60  # of NMF and of variational LDA


@experiment(
    minutes=15,
    models=["fit_texts"],
    quick={"shapes": ["even"], "seeds": [0]},
    needs=["tomotopy", "topica"],
)
def planted_news(
    shapes: Sequence[str] = tuple(SHAPES),
    seeds: Sequence[int] = (100, 101, 102, 103, 104),
) -> Iterator[Row]:
    """Are eight planted topics, and their shares in three desks, found?

    2,000 texts of 100 to 150 words. Words of topics and common ones follow Zipf's law; 40 to 80 %
    of the tokens are common words. Desks have different mixtures of topics. Topics found are
    matched to the planted ones by their words. "Error" is the sum of the absolute errors of the
    shares in a desk, in the mean of the desks; "copies" are topics that are found again.

    `fit_texts` chooses words and the number of topics by itself. Other libraries are told the
    number, eight; or are given four topics more, and those with most of the common words are set
    aside. Both know the truth. Their counts are without words in fewer than five texts or in more
    than half of them.
    """
    for name in shapes:
        for seed in seeds:
            texts, desks, planted = news(SHAPES[name], seed)
            shared = {"shape": name, "seed": seed}
            began = process_time()
            report = fit_texts(texts, group=desks, n_jobs=1, random_state=seed)
            found, shares = report.by_group.components, report.by_group.share
            seconds = process_time() - began
            components = report.model.components_[found]
            scores = judged(components, report.column_names, shares, planted)
            yield shared | {"method": "fit_texts", **scores, "CPU s": seconds}
            vectorizer = CountVectorizer(min_df=5, max_df=0.5)
            X = sp.csr_array(vectorizer.fit_transform(texts))
            words = vectorizer.get_feature_names_out()
            for method, fit in PEERS.items():
                for n_spare in (0, N_SPARE):
                    began = process_time()
                    mixtures, components = fit(X, N_TOPICS + n_spare, seed)
                    seconds = process_time() - began
                    kept = without_common(components, words, n_spare)
                    tokens = X.sum(axis=1)[:, np.newaxis] * mixtures[:, kept]
                    sums = np.array([tokens[desks == desk].sum(axis=0) for desk in DESKS])
                    shares = sums / sums.sum(axis=1, keepdims=True)
                    scores = judged(components[kept], words, shares, planted)
                    spare = f", {n_spare} set aside" if n_spare else ""
                    yield shared | {"method": method + spare, **scores, "CPU s": seconds}


def judged(components: Array, words: Sequence[str], shares: Array, planted: Array) -> Row:
    """Error of the shares of desks (3, n), after each topic is matched to a planted one."""
    initials = np.array([word[0] for word in words])
    masses = [components[:, initials == letter(k)].sum(axis=1) for k in range(N_TOPICS)]
    matched = np.argmax(masses, axis=0)
    sums = np.zeros_like(planted)
    for k, topic in enumerate(matched):
        sums[:, topic] += shares[:, k]
    copies = len(matched) - len(set(matched.tolist()))
    error = float(abs(sums - planted).sum(axis=1).mean())
    return {"error": error, "topics": len(matched), "copies": copies}


def without_common(components: Array, words: Sequence[str], n_spare: int) -> Array:
    """Topics but for those with most of the common words."""
    is_common = np.array([word[0] == "x" for word in words])
    order = np.argsort(components[:, is_common].sum(axis=1))
    return np.sort(order[: len(order) - n_spare])


def lda(X: Any, K: int, seed: int) -> tuple[Array, Array]:
    return peers.variational_lda(X, K, 1 / K, 1 / K, STEPS, 1, seed)


def nmf(X: Any, K: int, seed: int) -> tuple[Array, Array]:
    return next(peers.plsa_by_nmf(X, K, "nndsvda", [STEPS], seed))


def tomotopy(X: Any, K: int, seed: int) -> tuple[Array, Array]:
    """The mean mixtures and topics of 20 samples of a chain that optimises alpha."""
    sampling = peers.Sampling(burn_in=300, samples=20, every=10)
    chain = peers.gibbs_chain(X, K, 5 / K, 0.01, sampling, seed)
    draws = [peers.posterior_means(model, X) for model in chain]
    return (
        np.mean([draw.mixtures for draw in draws], axis=0),
        np.mean([draw.components for draw in draws], axis=0),
    )


def topica(X: Any, K: int, seed: int) -> tuple[Array, Array]:
    """topica's LDA with its defaults: 1,000 sweeps, optimised priors, mean of five samples."""
    from topica import LDA, Corpus

    model = LDA(K, seed=seed).fit(Corpus.from_documents(peers.documents(X)))
    components = np.zeros((K, X.shape[1]))
    components[:, [int(word) for word in model.vocabulary]] = model.topic_word
    return np.asarray(model.doc_topic), components


PEERS = {
    "scikit-learn LDA": lda,
    "scikit-learn NMF": nmf,
    "tomotopy LDA": tomotopy,
    "topica LDA": topica,
}


def news(shape: Shape, seed: int) -> tuple[list[str], Array, Array]:
    """Texts, the desk of each, and shares of the topics in the desks."""
    rng = np.random.default_rng(seed)
    if shape.is_dominated:
        mixtures = np.full((len(DESKS), N_TOPICS), 0.03)
        mixtures[0, :2] = 0.4, 0.42
        mixtures[1, 2:4] = 0.31, 0.52
        mixtures[2, 4:] = 0.2, 0.25, 0.2, 0.23
    else:
        mixtures = rng.dirichlet(np.full(N_TOPICS, 2.0), len(DESKS)) + 0.01
    mixtures /= mixtures.sum(axis=1, keepdims=True)
    words = [names(letter(k), N_WORDS) for k in range(N_TOPICS)]
    common = names("x", N_COMMON)
    desks = rng.choice(len(DESKS), N_TEXTS, p=list(DESKS.values()))
    counts = np.zeros((len(DESKS), N_TOPICS))
    texts = []
    for desk in desks:
        mixture = rng.dirichlet(shape.spread * mixtures[desk] + 1e-3)
        length = rng.integers(*LENGTH)
        n_common = rng.binomial(length, shape.common)
        sizes = rng.multinomial(length - n_common, mixture)
        counts[desk] += sizes
        drawn = [rng.choice(words[k], n, p=zipf(N_WORDS)) for k, n in enumerate(sizes)]
        tokens = np.concatenate([*drawn, rng.choice(common, n_common, p=zipf(N_COMMON))])
        texts.append(" ".join(rng.permutation(tokens)))
    return texts, np.array(list(DESKS))[desks], counts / counts.sum(axis=1, keepdims=True)


def letter(k: int) -> str:
    return chr(ord("a") + k)


def names(first: str, n: int) -> list[str]:
    """Words of five letters that begin with these."""
    letters = "bcdfghjklmnpqrstvw"
    size = len(letters)
    return [
        f"{first}o{letters[j // size**2]}{letters[j // size % size]}{letters[j % size]}"
        for j in range(n)
    ]


def zipf(n: int) -> Array:
    p = 1 / np.arange(1, n + 1)
    return p / p.sum()
