"""Latent Dirichlet allocation with the bound of new documents, which tomotopy does not give.

Topics come from tomotopy's Gibbs sampler and, after that, from rounds of variational EM. Documents,
the new ones too, have the posterior Dir(gamma_d) of Blei, Ng and Jordan, *Latent Dirichlet
allocation*, JMLR 3, 2003, section 5: it is alpha plus the expected counts of the topics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.quality import peers
from benchmarks.shares import shares
from skcooc.counts import CSRCounts
from skcooc.equations.dirichlet import best_prior, divergence, expected_log

FOLD_IN_ROUNDS = 200
TRAINING_ROUNDS = 10  # in a round of EM, which goes on from the posteriors of the last
CHANGE = 1e-4  # of expected counts, in the mean over documents and topics, where a fold-in stops
LEAST_ALPHA = 1e-4  # the sampler can take that of a topic to zero


@dataclass(frozen=True)
class DirichletTopics:
    """A fitted model: the prior of the mixtures of documents, and the topics."""

    alpha: np.ndarray  # (K,)
    components_: np.ndarray  # (K, M)

    def posteriors(self, X: Any) -> np.ndarray:
        """The Dirichlet parameters gamma (n, K) of the mixtures of documents."""
        return self.alpha + self._expected_counts(_counts(X), FOLD_IN_ROUNDS)

    def transform(self, X: Any) -> np.ndarray:
        """The posterior means of the mixtures of documents, (n, K)."""
        return shares(self.posteriors(X))

    def bound(self, X: Any) -> float:
        """A lower bound of the log-likelihood of whole documents, in nats: their eq. (15)."""
        counts = _counts(X)
        S = self._expected_counts(counts, FOLD_IN_ROUNDS)
        words = counts.mixture(self._tilted(S), self._columns).log_likelihood
        return words - divergence(S, self.alpha, self.alpha.sum())

    def em(self, X: Any, eta: float, rounds: int) -> DirichletTopics:
        """Rounds of variational EM; eta is added to the expected count of every word."""
        counts, model, S = _counts(X), self, None
        for _ in range(rounds):
            S = model._expected_counts(counts, TRAINING_ROUNDS, S)
            B = model._columns
            expected = eta + (B * counts.mixture(model._tilted(S), B).columns).T
            topics = shares(expected)
            model = DirichletTopics(best_prior(S, model.alpha), topics)
        return model

    def _expected_counts(
        self, counts: CSRCounts, rounds: int, S: np.ndarray | None = None
    ) -> np.ndarray:
        """sum_j n_dj phi_djk, (n, K), by rounds of eqs. (6) and (7) from S or from equal shares."""
        if S is None:
            S = np.repeat(counts.row_sums[:, None] / len(self.alpha), len(self.alpha), axis=1)
        for _ in range(rounds):
            A = self._tilted(S)
            new = A * counts.mixture(A, self._columns).rows
            change, S = np.abs(new - S).mean(), new
            if change < CHANGE:
                break
        return S

    def _tilted(self, S: np.ndarray) -> np.ndarray:
        """exp E[log theta], (n, K)."""
        return np.exp(expected_log(S, self.alpha, self.alpha.sum()))

    @property
    def _columns(self) -> np.ndarray:
        return np.ascontiguousarray(self.components_.T)


def gibbs_topics(
    X: Any, n_components: int, eta: float, sweeps: int, samples: int, seed: int
) -> DirichletTopics:
    """tomotopy's sampler, which optimises alpha; topics are means over the last samples.

    The samples are from the second half of the sweeps of one chain, so that topics keep their
    places.
    """
    topics = np.zeros((n_components, X.shape[1]))
    alpha = 1.0 / n_components
    for model in peers.gibbs_chain(X, n_components, alpha, eta, sweeps, samples, 1, seed):
        words = np.array([int(word) for word in model.used_vocabs])
        for k in range(n_components):
            topics[k, words] += model.get_topic_word_dist(k)
    unseen = np.setdiff1d(np.arange(X.shape[1]), words)
    totals = np.array(model.get_count_by_topics(), dtype=float)
    topics[:, unseen] = (samples * eta / (totals + eta * X.shape[1]))[:, None]
    alpha = np.maximum(model.alpha, LEAST_ALPHA)
    return DirichletTopics(alpha, shares(topics))


def _counts(X: Any) -> CSRCounts:
    return CSRCounts(sp.csr_array(X, dtype=np.float64))
