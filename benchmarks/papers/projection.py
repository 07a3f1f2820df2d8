"""Clustering-projection beside pLSA, LDA and clustering: the experiments of its paper again.

Yu, Yu, Tresp and Kriegel, *A probabilistic clustering-projection model for discrete data*, PKDD
2005, section 5, on four newsgroups and on five categories of Reuters. The parts are

perplexity   of new documents (Table 2),
curves       of what support vector machines learn from 10 topics (Figure 3): docs/projection.png,
clusters     against the classes (Table 3),
seconds      of a fit of four newsgroups, 50 topics and 20 clusters.

Each prints its protocol. Settings, and the weight of the unigram, are chosen on a tenth of the
training documents; never on test documents, and never by the classes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from inspect import getdoc
from itertools import product
from pathlib import Path
from statistics import mean, stdev
from time import perf_counter, process_time
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

from benchmarks import reporting
from benchmarks.papers import category_curves
from benchmarks.quality import coclustering, topic_models, tuned
from benchmarks.quality.topic_models import METHODS, Method, Task

DATA = {"newsgroups4": "Four newsgroups", "reuters5": "Reuters, five categories"}
COLUMN_CLUSTERS = 20  # of SymmetricClustering
TOPICS = 10  # of the support vector machines
COMPONENTS = {"perplexity": [5, 10, 20, 30, 50], "clusters": [10, 20]}

Row = dict[str, Any]


def perplexity(options: argparse.Namespace) -> Iterator[Row]:
    """Perplexity of new documents, a tenth of all, the same ones for every model, split by split.

    completion: a random half of the words of a new document is folded in, the other half predicted.
    Comparable across all models; probabilities are mixed with the add-one unigram.

    bound: exp(-bound / words) of whole new documents. LDA: the variational bound; its topics are
    smooth by eta. PCP: its bound, in which topics are summed out; with "mean field" that of its
    authors, which is of the same kind as LDA's. pLSA has no bound: the figure is that of the paper,
    each document mixed over the training documents, an exact likelihood.

    Settings and the weight of the unigram: least perplexity of a tenth of the training documents,
    by the same measure. pLSA with beta=1 stops as in the paper, when the free energy falls by less
    than .01 %; the others by their own tolerance. LDA: 300 sweeps by tomotopy, which optimises
    alpha, mean of ten samples, then 20 rounds of variational EM. PCP has as many
    clusters as training documents, as in the paper, or 400, whichever validation prefers.
    """
    for data, split in product(options.data, range(options.splits)):
        X, _ = coclustering.documents(data)
        documents = topic_models.divide(X, split)
        case = {"data": data, "split": split}
        b = documents.background
        nats = (documents.new.hidden @ np.log(b)).sum() / documents.new.hidden.sum()
        yield {**case, "K": 1, "model": "unigram", "completion": float(np.exp(-nats))}
        for K, name in product(options.components, options.methods):
            task = Task(K, options.jobs, split)
            measured = topic_models.measured(METHODS[name], documents, task)
            yield {**case, "K": K, "model": name} | measured


def curves(options: argparse.Namespace) -> Iterator[Row]:
    """Accuracy of support vector machines (SVC with its defaults) on projections on 10 topics.

    Topics are fitted to all documents without the classes. One category against the rest, half of
    the training documents of either side, all other documents judged; mean over the categories,
    then mean and deviation over the repetitions. These draw other documents, the same for every
    model, and take turns in fits with other seeds. Projections: P(z given d) of pLSA, the
    normalised Dirichlet parameters of LDA, the normalised sum of phi of PCP.
    """
    for data in options.data:
        X, classes = coclustering.documents(data)
        for name in options.methods:
            method = METHODS[name]
            setting = topic_models.chosen(method, X, Task(TOPICS, options.jobs, 0))
            projections = [
                _project(X, method, Task(TOPICS, options.jobs, seed), setting)
                for seed in range(options.fits)
            ]
            for row in category_curves.curve(projections, classes, options.repetitions):
                yield {"data": data, "model": name, "setting": setting} | row


def _project(X: Any, method: Method, task: Task, setting: topic_models.Setting) -> np.ndarray:
    model = topic_models.fitted(method, X, task, setting)
    return getattr(model, "project", model.transform)(X)


def clusters(options: argparse.Namespace) -> Iterator[Row]:
    """Normalised mutual information with the classes, divided by the larger entropy.

    Every method is told the number of classes. NMF, AsymmetricClustering and SymmetricClustering
    as in ``quality/coclustering.py``. pLSA and LDA: the best of ten k-means on the mixtures of
    documents. PCP: its own clusters, one start. Priors are those that complete held-out documents
    best. The number of topics is not tuned: all are reported.
    """
    for data in options.data:
        X, classes = coclustering.documents(data)
        for name, label in clusterings(X, len(np.unique(classes)), options):
            began = perf_counter()
            labels = [label(seed) for seed in range(options.seeds)]
            seconds = (perf_counter() - began) / options.seeds
            nmi = [
                normalized_mutual_info_score(classes, found, average_method="max")
                for found in labels
            ]
            yield {
                "data": data,
                "method": name,
                "NMI": mean(nmi),
                "sd": stdev(nmi),
                "seconds": seconds,
                "each": nmi,
            }


def clusterings(
    X: Any, n_clusters: int, options: argparse.Namespace
) -> Iterator[tuple[str, Callable[[int], np.ndarray]]]:
    """Names of methods, and how each labels the documents with a seed."""
    for name in ("NMF (Kullback-Leibler)", "AsymmetricClustering", "SymmetricClustering"):
        yield name, partial(_by_words, name, X, n_clusters, options)
    for K in options.components:
        for name in options.methods:
            yield f"{name}, K={K}", _on_topics(X, n_clusters, K, METHODS[name], options)


def _by_words(
    name: str, X: Any, n_clusters: int, options: argparse.Namespace, seed: int
) -> np.ndarray:
    task = coclustering.Task(X, n_clusters, COLUMN_CLUSTERS, options.jobs, seed)
    return coclustering.METHODS[name](task).rows


def _on_topics(
    X: Any, n_clusters: int, K: int, method: Method, options: argparse.Namespace
) -> Callable[[int], np.ndarray]:
    """PCP's own labels, and those of k-means on the mixtures of any other model."""
    clustering = {"n_clusters": n_clusters} if method.fit is topic_models.projected else {}
    grid = [setting | clustering for setting in method.grid]
    grid = [setting for i, setting in enumerate(grid) if setting not in grid[:i]]
    setting = topic_models.chosen(replace(method, grid=grid), X, Task(K, options.jobs, 0))

    def label(seed: int) -> np.ndarray:
        model = topic_models.fitted(method, X, Task(K, options.jobs, seed), setting)
        if clustering:
            return model.labels_
        k_means = KMeans(n_clusters, n_init=10, random_state=seed)
        return k_means.fit_predict(model.transform(X))

    return label


def seconds(options: argparse.Namespace) -> Iterator[Row]:
    """Seconds of a fit of PCP to four newsgroups with 50 topics; loops are compiled before."""
    X, _ = coclustering.documents("newsgroups4")
    models: dict[str, Any] = {
        "PCP, beta=1, 20 clusters": {"n_clusters": 20, "beta": 1.0},
        "PCP, beta='auto', 20 clusters": {"n_clusters": 20},
        "PCP, beta=1, as many clusters as documents": {"beta": 1.0},
    }
    topic_models.projected(X[:50], 2, options.jobs, 0, 2)
    for name, setting in models.items():
        for seed in range(options.seeds):
            began, began_cpu = perf_counter(), process_time()
            model = topic_models.projected(X, 50, options.jobs, seed, **setting)
            yield {
                "model": name,
                "seed": seed,
                "threads": options.jobs,
                "seconds": perf_counter() - began,
                "seconds of the cores": process_time() - began_cpu,
                "iterations": model.n_iter_,
                "converged": model.converged_,
                "clusters left": model.n_clusters_,
            }


PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Row]]] = {
    "perplexity": perplexity,
    "curves": curves,
    "clusters": clusters,
    "seconds": seconds,
}


def main() -> None:
    """Run one part."""
    tuned.silence()
    parser = reporting.options(str(__doc__))
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--data", choices=DATA, nargs="+", default=list(DATA))
    parser.add_argument("--components", type=int, nargs="+", help="instead of each part's own")
    parser.add_argument("--methods", choices=METHODS, nargs="+", default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=10, help="of 'clusters' and 'seconds'")
    parser.add_argument("--splits", type=int, default=1, help="of 'perplexity'")
    parser.add_argument("--fits", type=int, default=5, help="of each model in 'curves'")
    parser.add_argument("--repetitions", type=int, default=50, help="of 'curves'")
    parser.add_argument("--jobs", type=int, default=1, help="threads of every model but LDA")
    parser.add_argument("--picture", type=Path, default=category_curves.PICTURE)
    parser.add_argument("--redraw", type=Path, nargs="+", help="JSON of earlier 'curves'")
    options = parser.parse_args()
    options.components = options.components or COMPONENTS.get(options.part, [TOPICS])
    print(getdoc(PARTS[options.part]), flush=True)
    rows = _earlier(options.redraw) if options.redraw else _measured(options)
    reporting.print_table(rows, [key for key in rows[-1] if key != "each"])
    if options.part == "curves":
        category_curves.draw(rows, DATA, options.picture)


def _measured(options: argparse.Namespace) -> list[Row]:
    results = {"options": reporting.given(options)}
    return reporting.collect(PARTS[options.part](options), options.output, results, "rows")


def _earlier(paths: list[Path]) -> list[Row]:
    return [row for path in paths for row in json.loads(path.read_text())["rows"]]


if __name__ == "__main__":
    main()
