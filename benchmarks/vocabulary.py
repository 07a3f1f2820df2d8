"""Vocabulary: which words should go before shares of topics are compared between groups?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

from benchmarks.experiment import Row, experiment
from skcooc import AspectModel, TopicalColumns

N_COMMON, N_TOPICAL, N_OWN, N_GROUPS = 500, 2000, 200, 3
MIN_ROWS = 5  # of a word


@dataclass(frozen=True)
class Corpus:
    """How texts are made."""

    common: float = 0.6  # share of the tokens that are common words
    K: int = 8
    concentration: float = 1.0  # of the topics of a group, times K: small if one dominates
    largest: float | None = None  # share of one topic
    burstiness: float | None = None  # concentration of a row, in tokens
    own: float = 1.0  # share of a topic's words that other topics do not share
    length: int = 60
    n_rows: int = 1500


CORPORA = {
    "40 % common words": Corpus(common=0.4),
    "60 % common words": Corpus(),
    "80 % common words": Corpus(common=0.8),
    "groups of all topics": Corpus(concentration=3.0),
    "groups of few topics": Corpus(concentration=0.3),
    "topic of 60 %": Corpus(common=0.5, largest=0.6),
    "topic of 80 %": Corpus(common=0.5, largest=0.8),
    "bursty": Corpus(common=0.5, burstiness=60),
    "bursty, 80 % common words": Corpus(common=0.8, burstiness=60),
    "answers of 12 words": Corpus(length=12, n_rows=3000),
    "answers, 40 % common words": Corpus(common=0.4, length=12, n_rows=3000),
    "long texts": Corpus(common=0.7, length=250, n_rows=600),
    "weak topics": Corpus(own=0.35),
    "3 topics": Corpus(K=3),
    "20 topics": Corpus(K=20),
}


@experiment(
    minutes=6,
    models=["AspectModel", "TopicalColumns"],
    quick={"corpora": ["60 % common words"], "seeds": [0]},
)
def vocabulary(
    corpora: Sequence[str] = tuple(CORPORA), seeds: Sequence[int] = (100, 101, 102)
) -> Iterator[Row]:
    """Which words should be dropped, so that shares of topics by group are right?

    Simulated texts of three groups, which differ in their shares of K topics. Common words and the
    words of each topic follow Zipf's law. Words in fewer than five texts are dropped first. "error"
    is the sum of absolute errors of the shares of K fitted topics in a group, a mean of the groups;
    "topical" is the number of words of topics that were dropped. No method can know which words are
    "common": it is a bound.
    """
    for name in corpora:
        for seed in seeds:
            X, planted, groups, shares = draw(CORPORA[name], seed)
            row_shares = (X > 0).mean(axis=0)
            is_topical = planted.any(axis=0)
            supports = {
                "none": np.ones(X.shape[1], dtype=bool),
                "max_df=0.25": row_shares <= 0.25,
                "max_df=0.5": row_shares <= 0.5,
                "TopicalColumns": TopicalColumns(random_state=seed).fit(X).get_support(),
                "common": is_topical,
            }
            for dropped, support in supports.items():
                yield {
                    "corpus": name,
                    "seed": seed,
                    "dropped": dropped,
                    "error": error_of_shares(X, planted, groups, shares, support, seed),
                    "words": int((~support).sum()),
                    "topical": int((~support & is_topical).sum()),
                }


def draw(corpus: Corpus, seed: int) -> tuple[sp.csr_array, np.ndarray, np.ndarray, np.ndarray]:
    """Counts, the words of each topic (K, M), groups of rows, and shares of topics by group."""
    rng = np.random.default_rng(seed)
    common = np.zeros(N_COMMON + N_TOPICAL)
    common[:N_COMMON] = zipf(N_COMMON, rng.uniform(0.7, 1.0))
    topics = np.zeros((corpus.K, len(common)))
    for topic in topics:
        words = N_COMMON + rng.choice(N_TOPICAL, N_OWN, replace=False)
        topic[words] = zipf(N_OWN, rng.uniform(0.7, 1.1))
    topics = corpus.own * topics + (1 - corpus.own) * topics.mean(axis=0)
    distributions = corpus.common * common + (1 - corpus.common) * topics
    sizes = rng.dirichlet(np.full(corpus.K, 5.0))
    concentration = corpus.concentration * corpus.K
    if corpus.largest is not None:
        sizes = np.append(corpus.largest, (1 - corpus.largest) * sizes[1:] / sizes[1:].sum())
        concentration = 20.0
    sizes_by_group = rng.dirichlet(concentration * sizes, N_GROUPS)
    groups = rng.integers(N_GROUPS, size=corpus.n_rows)
    mixtures = np.array([rng.dirichlet(1.5 * sizes_by_group[g] + 1e-3) for g in groups])
    lengths = rng.poisson(corpus.length * rng.lognormal(-0.08, 0.4, corpus.n_rows)) + 3
    rows = []
    for mixture, length in zip(mixtures, lengths, strict=True):
        words = mixture @ distributions
        if corpus.burstiness is not None:
            words = rng.dirichlet(np.maximum(corpus.burstiness * words, 1e-6))
        rows.append(rng.multinomial(length, words / words.sum()))
    X = sp.csr_array(np.array(rows, dtype=np.float32))
    is_frequent = (X > 0).sum(axis=0) >= MIN_ROWS
    shares = [
        np.average(mixtures[groups == g], axis=0, weights=lengths[groups == g])
        for g in range(N_GROUPS)
    ]
    return X[:, is_frequent], topics[:, is_frequent], groups, np.array(shares)


def zipf(n: int, exponent: float) -> np.ndarray:
    """Shares of n words by rank."""
    weights = np.arange(1, n + 1) ** -exponent
    return weights / weights.sum()


def error_of_shares(
    X: sp.csr_array,
    planted: np.ndarray,
    groups: np.ndarray,
    shares: np.ndarray,
    support: np.ndarray,
    seed: int,
) -> float:
    """Sum of absolute errors of the shares of topics in a group, a mean of the groups."""
    X = X[:, support]
    model = AspectModel(len(planted), n_init=2, tempering="distinctive", random_state=seed).fit(X)
    planted = planted[:, support]
    planted = planted / np.maximum(planted.sum(axis=1, keepdims=True), 1e-12)
    order = linear_sum_assignment(-np.sqrt(planted) @ np.sqrt(model.components_).T)[1]
    masses = X.sum(axis=1)[:, None] * model.embedding_
    fitted = np.array([masses[groups == g].sum(axis=0) for g in range(N_GROUPS)])
    fitted /= fitted.sum(axis=1, keepdims=True)
    return float(abs(fitted[:, order] - shares).sum(axis=1).mean())
