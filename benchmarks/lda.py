"""Latent Dirichlet allocation with the bound of new documents, which tomotopy does not give.

Topics come from tomotopy's Gibbs sampler and, after that, from rounds of variational EM.
Documents, the new ones too, have the variational posterior Dir(gamma_d) of Blei, Ng and Jordan,
*Latent Dirichlet allocation*, JMLR 3, 2003, section 5: this is also what a document is scored by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import digamma, gammaln, polygamma

from benchmarks import peers
from skcooc.counts import CSRCounts
from skcooc.protocol import Array
from skcooc.simplex import normalise

FOLD_IN_ROUNDS = 200
TRAINING_ROUNDS = 10  # in a round of EM, which goes on from the gammas of the last
LEAST_ALPHA = 1e-4
CHANGE = 1e-4  # of gamma in the mean over the documents and topics, at which a fold-in stops


@dataclass(frozen=True)
class DirichletTopics:
    """A fitted model: the prior of the mixtures of documents, and the topics."""

    alpha: Array  # (K,)
    components_: Array  # (K, M)

    def posteriors(self, X: Any) -> Array:
        """The Dirichlet parameters gamma (n, K) of the mixtures of documents."""
        return self._posteriors(CSRCounts(sp.csr_array(X, dtype=np.float64)), FOLD_IN_ROUNDS)

    def transform(self, X: Any) -> Array:
        """The posterior means of the mixtures of documents, (n, K)."""
        return normalise(self.posteriors(X), axis=1, otherwise=0.0)

    def bound(self, X: Any) -> float:
        """A lower bound of the log-likelihood of whole documents, in nats."""
        counts = CSRCounts(sp.csr_array(X, dtype=np.float64))
        gamma = self._posteriors(counts, FOLD_IN_ROUNDS)
        logs = _expected_logs(gamma)
        words = counts.mixture(np.exp(logs), self._columns).log_likelihood
        return float(words - _divergence(gamma, self.alpha, logs))

    def em(self, X: Any, eta: float, rounds: int) -> DirichletTopics:
        """Rounds of variational EM; eta is added to the expected count of every word."""
        counts, model, gamma = CSRCounts(sp.csr_array(X, dtype=np.float64)), self, None
        for _ in range(rounds):
            gamma = model._posteriors(counts, TRAINING_ROUNDS, gamma)
            logs, B = _expected_logs(gamma), model._columns
            expected = eta + (B * counts.mixture(np.exp(logs), B).columns).T
            topics = normalise(expected, axis=1, otherwise=0.0)
            model = DirichletTopics(_prior(logs.mean(axis=0), model.alpha), topics)
        return model

    def _posteriors(self, counts: CSRCounts, rounds: int, gamma: Array | None = None) -> Array:
        if gamma is None:
            gamma = self.alpha + counts.row_sums[:, None] / len(self.alpha)
        for _ in range(rounds):
            A = np.exp(_expected_logs(gamma))
            new = self.alpha + A * counts.mixture(A, self._columns).rows
            change, gamma = np.abs(new - gamma).mean(), new
            if change < CHANGE:
                break
        return gamma

    @property
    def _columns(self) -> Array:
        return np.ascontiguousarray(self.components_.T)


def gibbs_topics(
    X: Any, n_components: int, eta: float, sweeps: int, samples: int, seed: int
) -> DirichletTopics:
    """tomotopy's sampler, which optimises alpha; topics are means over the last samples.

    The samples are from the second half of the sweeps of one chain, so that topics keep their
    places.
    """
    model = peers.gibbs_sampler(X, n_components, 1.0 / n_components, eta, seed=seed)
    model.train(sweeps // 2, workers=1)
    words = np.array([int(word) for word in model.used_vocabs])
    topics = np.zeros((n_components, X.shape[1]))
    for _ in range(samples):
        model.train(max(sweeps // 2 // samples, 1), workers=1)
        for k in range(n_components):
            topics[k, words] += model.get_topic_word_dist(k)
    unseen = np.setdiff1d(np.arange(X.shape[1]), words)
    totals = np.array(model.get_count_by_topics(), dtype=float)
    topics[:, unseen] = (samples * eta / (totals + eta * X.shape[1]))[:, None]
    alpha = np.maximum(model.alpha, LEAST_ALPHA)  # the sampler can take a topic's to zero
    return DirichletTopics(alpha, normalise(topics, axis=1, otherwise=0.0))


def _expected_logs(gamma: Array) -> Array:
    """E[log theta] under Dir(gamma)."""
    return digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True))


def _divergence(gamma: Array, alpha: Array, logs: Array) -> float:
    """Kullback-Leibler divergence of the posteriors from the prior, summed over documents."""
    posterior = gammaln(gamma.sum(axis=1)) - gammaln(gamma).sum(axis=1)
    prior = gammaln(alpha.sum()) - gammaln(alpha).sum()
    return float((posterior - prior + ((gamma - alpha) * logs).sum(axis=1)).sum())


def _prior(logs: Array, alpha: Array) -> Array:
    """The alpha whose expected log theta is ``logs``: the fixed point of Minka, 2000."""
    for _ in range(100):
        alpha = np.maximum(_inverse_digamma(digamma(alpha.sum()) + logs), LEAST_ALPHA)
    return alpha


def _inverse_digamma(y: Array) -> Array:
    x = np.where(y >= -2.22, np.exp(y) + 0.5, -1 / (y - digamma(1.0)))
    for _ in range(5):
        x = x - (digamma(x) - y) / polygamma(1, x)
    return x
