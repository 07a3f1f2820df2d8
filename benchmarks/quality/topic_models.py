"""The models of ``papers/projection.py``; their settings are chosen without the test documents.

Every fitted model has ``components_`` and ``transform(X)``, whose product predicts words. A setting
is fitted to nine tenths of the training documents and judged by the others; then the model is
fitted to all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks.quality.lda import gibbs_topics
from skcooc import AspectModel, ClusteringProjection
from skcooc.metrics import best_smoothing, perplexity, unigram
from skcooc.model_selection import split_counts

HELD_OUT = 0.1
SWEEPS, SAMPLES, ROUNDS = 300, 10, 20  # of LDA

Setting = dict[str, Any]


class Part(NamedTuple):
    """New documents, and their words in two halves."""

    whole: Any  # (n, M)
    known: Any  # (n, M), folded in
    hidden: Any  # (n, M), predicted


class Documents(NamedTuple):
    """Training documents and new ones."""

    train: Any
    new: Part
    background: np.ndarray  # (M,) add-one unigram of the training documents


class Scores(NamedTuple):
    """Perplexities of new documents; smaller is better."""

    completion: float
    bound: float  # NaN where a model has none


def divide(X: Any, seed: int) -> Documents:
    """Hold out a tenth of the documents, and half the words of each of these."""
    order = np.random.default_rng(seed).permutation(X.shape[0])
    n_new = round(HELD_OUT * len(order))
    whole, train = X[order[:n_new]], X[order[n_new:]]
    return Documents(
        train, Part(whole, *split_counts(whole, 0.5, random_state=seed)), unigram(train)
    )


@dataclass(frozen=True)
class Method:
    """How to fit a model, the settings to choose from, and log P(new documents) in nats.

    ``log_likelihood`` takes the model, new documents, the background and its weight.
    """

    fit: Callable[..., Any]  # (X, n_components, n_jobs, seed, **setting)
    grid: list[Setting] = field(default_factory=lambda: [{}])
    log_likelihood: Callable[[Any, Any, np.ndarray, float], float] = lambda *given: float("nan")


@dataclass(frozen=True)
class Task:
    """The training documents with what is common to all fits to them."""

    n_components: int
    n_jobs: int
    seed: int


class Tried(NamedTuple):
    """A setting, judged by documents that were held out of the training documents."""

    setting: Setting
    smoothing: float
    scores: Scores


def try_all(method: Method, train: Any, task: Task) -> list[Tried]:
    """Judge every setting of the grid."""
    inner = divide(train, task.seed)
    tried = []
    for setting in method.grid:
        model = fitted(method, inner.train, task, setting)
        factors = model.transform(inner.new.known), model.components_
        s = best_smoothing(inner.new.hidden, *factors, inner.background)
        tried.append(Tried(setting, s, score(method, model, inner, s)))
    return tried


def best(tried: list[Tried], measure: str) -> Tried:
    """The setting with the least perplexity, by "completion" or by "bound"."""
    return min(tried, key=lambda one: getattr(one.scores, measure))


def chosen(method: Method, X: Any, task: Task) -> Setting:
    """The setting that completes held-out documents best; no classes are looked at."""
    if len(method.grid) == 1:
        return method.grid[0]
    return best(try_all(method, X, task), "completion").setting


def score(method: Method, model: Any, documents: Documents, s: float) -> Scores:
    """Both perplexities of the new documents; s is the weight of the background."""
    new, b = documents.new, documents.background
    factors = model.transform(new.known), model.components_
    nats = method.log_likelihood(model, new.whole, b, s)
    return Scores(
        perplexity(new.hidden, *factors, background=b, smoothing=s),
        float(np.exp(-nats / new.whole.sum())),
    )


def measured(method: Method, documents: Documents, task: Task) -> dict[str, Any]:
    """Each perplexity of new documents, of the setting that is best by the same measure."""
    began = perf_counter()
    tried = try_all(method, documents.train, task)
    tuned = perf_counter()
    row: dict[str, Any] = {}
    models: list[tuple[Setting, Any]] = []
    for measure in Scores._fields:
        setting, s, scores = best(tried, measure)
        if np.isnan(getattr(scores, measure)):
            continue
        known = [model for other, model in models if other == setting]
        model = known[0] if known else fitted(method, documents.train, task, setting)
        models.append((setting, model))
        row[measure] = getattr(score(method, model, documents, s), measure)
        row[f"setting by {measure}"] = setting
        row.setdefault("smoothing", s)
        row.setdefault("tuning s", tuned - began)
        row.setdefault("fit s", perf_counter() - tuned)
    return row


def fitted(method: Method, X: Any, task: Task, setting: Setting) -> Any:
    """The model with a setting, fitted to documents."""
    return method.fit(X, task.n_components, task.n_jobs, task.seed, **setting)


def aspects(X: Any, n_components: int, n_jobs: int, seed: int, **parameters: Any) -> AspectModel:
    """PLSA."""
    return AspectModel(n_components, n_jobs=n_jobs, random_state=seed, **parameters).fit(X)


def untempered(X: Any, n_components: int, n_jobs: int, seed: int) -> AspectModel:
    """PLSA as in the paper: until the improvement is less than .01 %."""
    return aspects(X, n_components, n_jobs, seed, beta=1.0, solver=1.0, tol=1e-4)


def dirichlet(X: Any, n_components: int, n_jobs: int, seed: int, *, eta: float) -> Any:
    """LDA by Gibbs sampling, then variational EM from there; ``n_jobs`` is not used."""
    return gibbs_topics(X, n_components, eta, SWEEPS, SAMPLES, seed).em(X, eta, ROUNDS)


def projected(
    X: Any, n_components: int, n_jobs: int, seed: int, n_clusters: int | None = None, **other: Any
) -> ClusteringProjection:
    """PCP; n_clusters=None is a cluster for every document, as in the paper."""
    model = ClusteringProjection(
        n_components, n_clusters, n_jobs=n_jobs, random_state=seed, **other
    )
    return model.fit(X)


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
    {"topic_prior": 0.1, "center_prior": center, "n_clusters": n_clusters}
    for n_clusters, center in product((None, 400), (0.02, 0.05, 0.3))
]

# The bound of the authors, in which cluster and topics are independent, as in that of LDA.
MEAN_FIELD = {"inference": "variational"}

METHODS = {
    "pLSA, beta=1": Method(untempered, log_likelihood=mixed_over_training),
    "pLSA, beta='auto'": Method(aspects, log_likelihood=mixed_over_training),
    "LDA": Method(dirichlet, LDA_PRIORS, bounded),
    "PCP, beta=1": Method(projected, [{"beta": 1.0} | prior for prior in PCP_PRIORS], bounded),
    "PCP, beta='auto'": Method(projected, [{}], bounded),
    "PCP, beta=1, mean field": Method(
        projected, [{"beta": 1.0} | MEAN_FIELD | prior for prior in PCP_PRIORS], bounded
    ),
    "PCP, beta='auto', mean field": Method(projected, [MEAN_FIELD], bounded),
}
