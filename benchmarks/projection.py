"""Clustering-projection beside pLSA, LDA and clusterings: the experiments of its paper again.

Yu, Yu, Tresp and Kriegel, A probabilistic clustering-projection model for discrete data, PKDD 2005,
section 5. Settings, and the weight of the unigram, are chosen on a tenth of the training documents;
never on test documents, and never by the classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.metrics import balanced_accuracy_score, normalized_mutual_info_score
from sklearn.svm import SVC

from benchmarks import peers
from benchmarks.baselines import baselines_of_new
from benchmarks.document_clusters import documents
from benchmarks.experiment import Row, experiment
from benchmarks.peers import shares
from skcooc import (
    AspectModel,
    AsymmetricClustering,
    ClusteringProjection,
    SymmetricClustering,
)
from skcooc.counts import CSRCounts
from skcooc.equations.dirichlet import best_prior, divergence, expected_log
from skcooc.metrics import best_smoothing, perplexity, unigram
from skcooc.model_selection import split_counts

HELD_OUT = 0.1
SAMPLING = peers.Sampling(burn_in=150, samples=10, every=15)  # of LDA
ROUNDS = 20  # of variational EM after it
FOLD_IN_ROUNDS, TRAINING_ROUNDS = 200, 10
CHANGE = 1e-4  # of expected counts, in the mean over documents and topics, where a fold-in stops
LEAST_ALPHA = 1e-4  # the sampler can take that of a topic to zero
SIZES = (20, 200)  # labelled documents

Setting = dict[str, Any]
QUICK = {"data": ["Reuters"], "methods": ["AspectModel(beta=1)"], "seeds": [0]}


@experiment(
    minutes=60,
    models=["AspectModel", "ClusteringProjection", "RowMemory"],
    quick={**QUICK, "components": [5]},
)
def projection_perplexity(
    data: Sequence[str] = ("4 newsgroups", "Reuters"),
    components: Sequence[int] = (5, 10, 20, 30, 50),
    methods: Sequence[str] = (),
    seeds: Sequence[int] = (0, 1, 2),
) -> Iterator[Row]:
    """Does clustering-projection predict new documents better than pLSA and LDA?

    Table 2 of the paper; the seed draws the tenth of the documents that are new. "completion":
    perplexity of a half of their words, the other half folded in; probabilities are mixed with the
    unigram. "bound": exp(-bound / words) of whole new documents; for pLSA, which has none, that of
    the paper, each document mixed over the training documents. Each has the setting that is best on
    validation documents by the same measure. "mean field": the posterior of the paper. LDA has 300
    sweeps by tomotopy, then 20 rounds of variational EM. Clustering-projection has as many clusters
    as documents, as in the paper, or 400, whichever validation prefers.
    """
    for name, seed in product(data, seeds):
        X = documents(name)[0]
        new = divide(X, seed)
        case = {"data": name, "seed": seed}
        topic_free = baselines_of_new(new.train, new.known, new.hidden, seed)
        for K in components:
            for model, value in topic_free.items():
                yield {**case, "K": K, "model": model, "completion": value}
            for method in methods or METHODS:
                row = measured(METHODS[method], new, K, seed)
                yield {**case, "K": K, "model": method, **row}


@experiment(
    minutes=25, models=["AspectModel", "ClusteringProjection"], quick={**QUICK, "repetitions": 2}
)
def projection_classifier(
    data: Sequence[str] = ("4 newsgroups", "Reuters"),
    methods: Sequence[str] = (),
    seeds: Sequence[int] = (0, 1),
    repetitions: int = 20,
) -> Iterator[Row]:
    """What do support vector machines learn from few labelled documents and ten topics?

    Figure 3 of the paper: one class against the rest, half of the labelled documents of either
    side, all other documents judged; SVC with its defaults; mean over the classes. Topics are
    fitted to all documents without the classes.
    """
    for name in data:
        X, classes = documents(name)
        for method in methods or METHODS:
            setting = chosen(METHODS[method], X, 10)
            for seed in seeds:
                model = METHODS[method].fit(X, 10, seed, **setting)
                Z = getattr(model, "project", model.transform)(X)
                for n_labelled, repetition in product(SIZES, range(repetitions)):
                    accuracy, balanced = rates(Z, classes, n_labelled, (n_labelled, repetition))
                    row = {"data": name, "model": method, "seed": seed, "labelled": n_labelled}
                    yield row | {"accuracy": accuracy, "balanced accuracy": balanced}


@experiment(
    minutes=15,
    models=["AsymmetricClustering", "ClusteringProjection", "SymmetricClustering"],
    quick={**QUICK, "components": [5]},
)
def projection_clusters(
    data: Sequence[str] = ("4 newsgroups", "Reuters"),
    components: Sequence[int] = (10, 20),
    methods: Sequence[str] = ("LDA", "ClusteringProjection"),
    seeds: Sequence[int] = tuple(range(10)),
) -> Iterator[Row]:
    """Do the clusters of clustering-projection agree with known classes?

    Table 3 of the paper: normalised mutual information, divided by the larger entropy. All methods
    are given the number of classes. pLSA and LDA: the best of ten k-means on the mixtures of
    documents. Priors are those that complete validation documents best.
    """
    for name in data:
        X, classes = documents(name)
        n = len(np.unique(classes))
        for seed in seeds:
            plain = AsymmetricClustering(n, random_state=seed).fit(X).labels_
            both = SymmetricClustering(n, 20, random_state=seed).fit(X).row_labels_
            found = {"AsymmetricClustering": plain, "SymmetricClustering": both}
            for K, method in product(components, methods):
                found[f"{method}, K={K}"] = labels(METHODS[method], X, n, K, seed)
            for method, of in found.items():
                NMI = normalized_mutual_info_score(classes, of, average_method="max")
                yield {"data": name, "model": method, "seed": seed, "NMI": NMI}


class New(NamedTuple):
    """Training documents and new ones."""

    train: Any
    whole: Any  # (n, M), the new ones
    known: Any  # (n, M), folded in
    hidden: Any  # (n, M), predicted
    background: np.ndarray  # (M,) unigram of the training documents


def divide(X: Any, seed: int) -> New:
    """Hold out a tenth of the documents, and half the words of each of these."""
    order = np.random.default_rng(seed).permutation(X.shape[0])
    n_new = round(HELD_OUT * len(order))
    whole, train = X[order[:n_new]], X[order[n_new:]]
    return New(train, whole, *split_counts(whole, 0.5, random_state=seed), unigram(train))


@dataclass(frozen=True)
class Method:
    """A model, the settings to choose from, and log P(new documents) in nats.

    Fitted models have ``components_`` and ``transform``, whose product predicts words.
    ``log_likelihood`` takes the model, new documents, the background and its weight.
    """

    fit: Callable[..., Any]  # (X, K, seed, **setting)
    grid: list[Setting] = field(default_factory=lambda: [{}])
    log_likelihood: Callable[[Any, Any, np.ndarray, float], float] = lambda *given: float("nan")


class Scores(NamedTuple):
    """Perplexities of new documents; smaller is better."""

    completion: float
    bound: float  # NaN where a model has none


class Tried(NamedTuple):
    """A setting, judged by documents that were held out of the training documents."""

    setting: Setting
    smoothing: float
    scores: Scores


def try_all(method: Method, train: Any, K: int, seed: int) -> list[Tried]:
    """Judge every setting of the grid."""
    inner, tried = divide(train, seed), []
    for setting in method.grid:
        model = method.fit(inner.train, K, seed, **setting)
        factors = model.transform(inner.known), model.components_
        s = best_smoothing(inner.hidden, *factors, inner.background)
        tried.append(Tried(setting, s, score(method, model, inner, s)))
    return tried


def chosen(method: Method, X: Any, K: int) -> Setting:
    """The setting that completes held-out documents best; no classes are looked at."""
    if len(method.grid) == 1:
        return method.grid[0]
    return min(try_all(method, X, K, 0), key=lambda one: one.scores.completion).setting


def score(method: Method, model: Any, new: New, s: float) -> Scores:
    """Both perplexities of the new documents; s is the weight of the background."""
    factors, b = (model.transform(new.known), model.components_), new.background
    nats = method.log_likelihood(model, new.whole, b, s)
    completion = perplexity(new.hidden, *factors, background=b, smoothing=s)
    return Scores(completion, float(np.exp(-nats / new.whole.sum())))


def measured(method: Method, new: New, K: int, seed: int) -> Row:
    """Each perplexity of new documents, of the setting that is best by the same measure."""
    tried = try_all(method, new.train, K, seed)
    row: Row = {}
    for measure in Scores._fields:
        best = min(tried, key=lambda one: getattr(one.scores, measure))
        if not np.isnan(getattr(best.scores, measure)):
            model = method.fit(new.train, K, seed, **best.setting)
            row[measure] = getattr(score(method, model, new, best.smoothing), measure)
            row[f"setting by {measure}"] = str(best.setting)
    return row


def labels(method: Method, X: Any, n_clusters: int, K: int, seed: int) -> np.ndarray:
    """Clusters of the model itself, or those of k-means on its mixtures."""
    if method.fit is not projected:
        model = method.fit(X, K, seed, **chosen(method, X, K))
        return KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(model.transform(X))
    unique = {
        str(s | {"n_clusters": n_clusters}): s | {"n_clusters": n_clusters} for s in method.grid
    }
    setting = chosen(replace(method, grid=list(unique.values())), X, K)
    return projected(X, K, seed, **setting).labels_


def rates(Z: np.ndarray, classes: np.ndarray, n_labelled: int, seed: Any) -> tuple[float, float]:
    """Accuracy and balanced accuracy on the documents without labels, means over the classes."""
    found = []
    for category in np.unique(classes):
        positive, rng = classes == category, np.random.default_rng(seed)
        labelled = np.zeros(len(Z), dtype=bool)
        for side in (positive, ~positive):
            labelled[rng.choice(np.flatnonzero(side), n_labelled // 2, replace=False)] = True
        guess = SVC().fit(Z[labelled], positive[labelled]).predict(Z[~labelled])
        true = positive[~labelled]
        found.append((np.mean(guess == true), balanced_accuracy_score(true, guess)))
    accuracy, balanced = np.mean(found, axis=0)
    return float(accuracy), float(balanced)


@dataclass(frozen=True)
class DirichletTopics:
    """LDA: the prior of the mixtures of documents, and the topics.

    Documents have the posterior Dir(gamma_d) of Blei, Ng and Jordan, Latent Dirichlet allocation,
    JMLR 3, 2003, section 5: gamma is alpha plus the expected counts of the topics.
    """

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
            model = DirichletTopics(best_prior(S, model.alpha), shares(expected))
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


def _counts(X: Any) -> CSRCounts:
    return CSRCounts(sp.csr_array(X, dtype=np.float64))


def dirichlet(X: Any, K: int, seed: int, *, eta: float) -> DirichletTopics:
    """LDA by Gibbs sampling, the mean of the last samples, then variational EM from there."""
    topics = np.zeros((K, X.shape[1]))
    for model in peers.gibbs_chain(X, K, 1 / K, eta, SAMPLING, seed):
        topics += peers.posterior_means(model, X).components
    alpha = np.maximum(model.alpha, LEAST_ALPHA)
    return DirichletTopics(alpha, shares(topics)).em(X, eta, ROUNDS)


def aspects(X: Any, K: int, seed: int, **parameters: Any) -> AspectModel:
    """PLSA."""
    return AspectModel(K, random_state=seed, **parameters).fit(X)


def untempered(X: Any, K: int, seed: int) -> AspectModel:
    """PLSA as in the paper: until the improvement is less than .01 %."""
    return aspects(X, K, seed, beta=1.0, solver="em", tol=1e-4)


def projected(
    X: Any, K: int, seed: int, n_clusters: int | None = None, **other: Any
) -> ClusteringProjection:
    """Clustering-projection; n_clusters=None is a cluster for every document, as in the paper."""
    return ClusteringProjection(K, n_clusters, random_state=seed, **other).fit(X)


def mixed_over_training(model: AspectModel, X: Any, b: np.ndarray, s: float) -> float:
    """log P(new documents) of pLSA, each mixed over the training documents.

    P(w) = mean_d prod_n P(w_n given d), Blei, Ng and Jordan, 2003, section 4.3. It is exact.
    """
    blocks = []
    for rows in np.array_split(model.embedding_, max(len(model.embedding_) // 500, 1)):
        P = (1 - s) * (rows @ model.components_).astype(np.float64) + s * b
        blocks.append(X @ np.log(P).T)
    joint = np.hstack(blocks)
    return float(np.logaddexp.reduce(joint, axis=1).sum() - len(joint) * np.log(joint.shape[1]))


def bounded(model: Any, X: Any, b: np.ndarray, s: float) -> float:
    """The lower bound of models that give one; their topics are smooth by a prior of their own."""
    return float(np.sum(model.bound(X)))


LDA_PRIORS = [{"eta": eta} for eta in (0.05, 0.1, 0.2, 0.4)]
PCP_PRIORS = [
    {"beta": 1.0, "topic_prior": 0.1, "center_prior": center, "n_clusters": n_clusters}
    for n_clusters, center in product((None, 400), (0.02, 0.05, 0.3))
]
# The bound of the authors, in which cluster and topics are independent, as in that of LDA.
MEAN_FIELD = {"inference": "variational"}

METHODS = {
    "AspectModel(beta=1)": Method(untempered, log_likelihood=mixed_over_training),
    "AspectModel": Method(aspects, log_likelihood=mixed_over_training),
    "LDA": Method(dirichlet, LDA_PRIORS, bounded),
    "ClusteringProjection(beta=1)": Method(projected, PCP_PRIORS, bounded),
    "ClusteringProjection": Method(projected, [{}], bounded),
    "ClusteringProjection(beta=1), mean field": Method(
        projected, [MEAN_FIELD | prior for prior in PCP_PRIORS], bounded
    ),
    "ClusteringProjection, mean field": Method(projected, [MEAN_FIELD], bounded),
}
