"""How well do known classes come back from the words alone, and in how many seconds?

CLASSIC3 (three collections), Reuters (five categories) and four newsgroups. Every method is told
the number of classes and runs once for each seed. Our models have their defaults, which is one
start; k-means, the k-means inside spectral co-clustering, CoclustMod and CoclustInfo take the best
of ten by their own objective; NMF and LDA, which have no such parameter, start once, and the
largest component is the cluster of a document.
k-means has tf-idf with logarithmic frequencies, since plain ones gave lower NMI, and NMF has random
starts, since "nndsvda" gave lower NMI on two of the three. Empty documents are left out for all
methods, as are words without counts.

"kept by rows" is the share of the mutual information of documents and words that the clusters of
documents keep, "kept by both" that of clusters of documents and clusters of words. The latter grows
with the number of word clusters: spectral co-clustering has as many as there are classes,
SymmetricClustering --column-clusters, or with "square" as many as there are classes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter
from statistics import mean
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans, SpectralCoclustering
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from threadpoolctl import threadpool_limits

from benchmarks import corpora, reporting
from benchmarks.quality import coclust, peers, tuned
from skcooc.metrics import clustering_accuracy, mutual_information_kept

DATA: dict[str, Callable[[], corpora.Corpus]] = {
    "classic3": corpora.classic3,
    "reuters5": corpora.reuters5,
    "newsgroups4": corpora.newsgroups4,
    "newsgroups20": corpora.newsgroups20,
}
STARTS = 10  # of peers that choose among starts
MEASURES = ("NMI", "ARI", "accuracy", "seconds", "kept by rows", "kept by both")

Row = dict[str, Any]


class Task(NamedTuple):
    """Documents to cluster, and how."""

    X: Any  # (N, M) counts without empty rows or columns
    n_clusters: int
    n_column_clusters: int
    n_jobs: int
    seed: int


class Clusters(NamedTuple):
    """Labels of the documents, and of the words where these are clustered too."""

    rows: np.ndarray  # (N,)
    columns: np.ndarray | None = None  # (M,)


def spectral(task: Task) -> Clusters:
    """scikit-learn's spectral co-clustering, as many clusters of words as of documents."""
    model = SpectralCoclustering(task.n_clusters, random_state=task.seed)
    model.fit(task.X)
    return Clusters(model.row_labels_, model.column_labels_)


def nmf(task: Task) -> Clusters:
    """scikit-learn's NMF with the Kullback-Leibler loss, 200 iterations from a random start."""
    fits = peers.plsa_by_nmf(task.X, task.n_clusters, "random", [200], task.n_jobs, task.seed)
    return Clusters(next(fits).mixtures.argmax(axis=1))


def k_means(task: Task) -> Clusters:
    """k-means on rows of logarithmic tf-idf of length one, the best of ten starts."""
    weighted = TfidfTransformer(sublinear_tf=True).fit_transform(task.X)
    model = KMeans(task.n_clusters, n_init=STARTS, random_state=task.seed)
    return Clusters(model.fit_predict(weighted))


def spherical(task: Task) -> Clusters:
    """k-means on the same rows by cosines, the best of ten starts."""
    weighted = TfidfTransformer(sublinear_tf=True).fit_transform(task.X)
    return Clusters(coclust.spherical_k_means(weighted, task.n_clusters, task.seed, STARTS))


def modularity(task: Task) -> Clusters:
    """CoclustMod on the counts, as many clusters of words as of documents."""
    return Clusters(*coclust.modularity(task.X, task.n_clusters, task.seed, STARTS))


def information(task: Task) -> Clusters:
    """CoclustInfo on the counts, as many clusters of words as of documents."""
    return Clusters(*coclust.information(task.X, task.n_clusters, task.seed, STARTS))


def lda(task: Task) -> Clusters:
    """scikit-learn's LDA, batch variational Bayes with its usual priors, 50 iterations."""
    K = task.n_clusters
    fit = peers.variational_lda(task.X, K, 1 / K, 1 / K, 50, task.n_jobs, task.seed)
    return Clusters(fit.mixtures.argmax(axis=1))


def asymmetric(task: Task) -> Clusters:
    """Our clusters of documents, with the temperature tuned automatically."""
    from skcooc import AsymmetricClustering

    model = AsymmetricClustering(task.n_clusters, **_ours(task))
    return Clusters(model.fit(task.X).labels_)


def symmetric(task: Task) -> Clusters:
    """Our clusters of documents and of words, with the temperature tuned automatically."""
    from skcooc import SymmetricClustering

    model = SymmetricClustering(task.n_clusters, task.n_column_clusters, **_ours(task))
    model.fit(task.X)
    return Clusters(model.row_labels_, model.column_labels_)


def square(task: Task) -> Clusters:
    """The same with as many clusters of words as of documents."""
    return symmetric(task._replace(n_column_clusters=task.n_clusters))


METHODS: dict[str, Callable[[Task], Clusters]] = {
    "SpectralCoclustering": spectral,
    "NMF (Kullback-Leibler)": nmf,
    "KMeans on tf-idf": k_means,
    "spherical k-means on tf-idf": spherical,
    "CoclustMod": modularity,
    "CoclustInfo": information,
    "LDA": lda,
    "AsymmetricClustering": asymmetric,
    "SymmetricClustering": symmetric,
    "SymmetricClustering, square": square,
}


def runs(options: argparse.Namespace) -> Iterator[Row]:
    """One row for each data set, method and seed."""
    for data in options.data:
        X, classes = documents(data)
        K = len(np.unique(classes))
        for method in options.methods:
            warm_up(method, options)
            for seed in range(options.seeds):
                task = Task(X, K, options.column_clusters, options.jobs, seed)
                clusters, seconds = timed(METHODS[method], task)
                row = {"data": data, "method": method, "seed": seed, "seconds": seconds}
                yield row | quality(X, classes, clusters)


def documents(data: str) -> tuple[Any, np.ndarray]:
    """Counts and classes of the documents that are not empty."""
    corpus = DATA[data]()
    assert corpus.labels is not None
    X, rows = occupied(corpus.X)
    dropped = corpus.X.shape[0] - X.shape[0], corpus.X.shape[1] - X.shape[1]
    reporting.progress(data, "dropped {} empty documents and {} unseen words".format(*dropped))
    return X, corpus.labels[rows]


def occupied(X: Any) -> tuple[Any, np.ndarray]:
    """Counts in float32 without empty rows and columns, and the positions of the rows kept."""
    rows, columns = (np.flatnonzero(X.sum(axis=axis)) for axis in (1, 0))
    return X[rows][:, columns].astype(np.float32), rows


def timed(method: Callable[[Task], Clusters], task: Task) -> tuple[Clusters, float]:
    """What a method finds, and its seconds on the given number of threads."""
    with threadpool_limits(task.n_jobs):
        start = perf_counter()
        clusters = method(task)
        return clusters, perf_counter() - start


def warm_up(method: str, options: argparse.Namespace) -> None:
    """Compile loops and start worker processes, before anything is timed."""
    X, _ = occupied(sp.csr_array(np.random.default_rng(0).poisson(1.0, (60, 40))))
    METHODS[method](Task(X, 2, 2, options.jobs, 0))


def quality(X: Any, classes: np.ndarray, clusters: Clusters) -> Row:
    """Agreement with the classes, and information kept."""
    rows, columns = clusters
    measures = {
        "NMI": normalized_mutual_info_score(classes, rows),
        "ARI": adjusted_rand_score(classes, rows),
        "accuracy": clustering_accuracy(classes, rows),
        "kept by rows": mutual_information_kept(X, rows),
    }
    if columns is not None:
        measures["kept by both"] = mutual_information_kept(X, rows, columns)
    return measures


def summary(rows: list[Row]) -> list[Row]:
    """Mean, standard deviation and least over the seeds."""
    lines = []
    for (data, method), group in groupby(rows, key=lambda row: (row["data"], row["method"])):
        members = list(group)
        line: Row = {"data": data, "method": method}
        for measure in (name for name in MEASURES if name in members[0]):
            values = [row[measure] for row in members]
            line[measure] = mean(values)
            line[f"{measure} sd"] = reporting.deviation(values)
            line[f"{measure} least"] = min(values)
        lines.append(line)
    return lines


def print_summary(lines: list[Row]) -> None:
    """One table for each data set, with the deviations beside the agreement with the classes."""
    columns = [
        "method",
        *(m + of for m in MEASURES[:3] for of in ("", " sd", " least")),
        *MEASURES[3:],
    ]
    for data, group in groupby(lines, key=lambda line: line["data"]):
        print(f"\n{data}")
        reporting.print_table([_rounded(line) for line in group], columns)


def _rounded(line: Row) -> Row:
    return {key: round(v, 3) if isinstance(v, float) else v for key, v in line.items()}


def _ours(task: Task) -> dict[str, Any]:
    return {"n_jobs": task.n_jobs, "random_state": task.seed}


def main() -> None:
    tuned.silence()
    parser = reporting.options(str(__doc__))
    parser.add_argument("--data", choices=DATA, nargs="+", default=list(DATA)[:3])
    parser.add_argument("--methods", choices=METHODS, nargs="+", default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--column-clusters", type=int, default=20, help="of SymmetricClustering")
    parser.add_argument("--jobs", type=int, default=2, help="threads or processes of every method")
    options = parser.parse_args()
    results: dict[str, Any] = {"options": reporting.given(options)}
    told = itemgetter("data", "method", "seed", "NMI", "seconds")
    lines = summary(reporting.collect(runs(options), options.output, results, "runs", told))
    print_summary(lines)
    reporting.save(options.output, results | {"summary": lines})


if __name__ == "__main__":
    main()
