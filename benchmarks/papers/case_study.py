"""Fifty topics and twenty clusters of four newsgroups: the case study of clustering-projection.

Figure 2 of Yu, Yu, Tresp and Kriegel, PKDD 2005, with its settings: K = 50, M = 20, no temperature,
alpha = 1, each entry of lambda 1/K, until the bound gains less than .01 %. One start, whose seed is
0, with the default posterior, in which topics depend on the cluster; ``--posterior factorial`` is
theirs. Draws ``docs/case_study.png``: how the clusters use the topics, and which documents are in
which clusters. Clusters are in the order of the newsgroup that most of their documents are from,
which the model has not seen. Topics have their most probable words, but for the twenty that are
most frequent in all documents.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from benchmarks import corpora, reporting
from skcooc import ClusteringProjection
from skcooc.inspection import top_features
from skcooc.protocol import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

K, M = 50, 20
LEAST = 0.1  # of a topic in some cluster: fewer are not drawn
WORDS, FREQUENT = 6, 20


class Study(NamedTuple):
    """A fitted model, its topics in words, and the known groups of its documents."""

    model: ClusteringProjection
    topics: list[str]
    names: Array  # (n_groups,)
    groups: Array  # (N,)

    def counts(self) -> Array:
        """How many documents of each group are in each cluster, (n_groups, n_clusters)."""
        counts = np.zeros((len(self.names), self.model.n_clusters_), dtype=int)
        np.add.at(counts, (self.groups, self.model.labels_), 1)
        return counts

    def order(self) -> Array:
        """Clusters by the group of most of their documents, then by size."""
        counts = self.counts()
        return np.lexsort((-counts.sum(axis=0), counts.argmax(axis=0)))


def fitted(options: argparse.Namespace) -> Study:
    """The model of the newsgroups."""
    corpus = corpora.newsgroups4()
    names, groups = np.unique(corpus.labels, return_inverse=True)
    model = ClusteringProjection(
        K, M, posterior=options.posterior, beta=1.0, cluster_prior=1.0, center_prior=1 / K,
        tol=1e-4, random_state=options.seed,
    ).fit(corpus.X)  # fmt: skip
    return Study(model, words_of(model, corpus), names, groups)


def words_of(model: ClusteringProjection, corpus: corpora.Corpus) -> list[str]:
    """The most probable words of each topic, without those that are frequent everywhere."""
    everywhere = set(corpus.columns[np.argsort(-corpus.X.sum(axis=0))[:FREQUENT]])
    top = top_features(model, corpus.columns, n_features=WORDS + FREQUENT)
    return [" ".join([word for word in words if word not in everywhere][:WORDS]) for words in top]


def draw(study: Study, path: Path) -> None:
    """Topics above, documents below; a column is a cluster."""
    import matplotlib.pyplot as plt

    figure, (above, below) = plt.subplots(
        2, 1, figsize=(8.6, 9.6), layout="constrained", sharex=True, height_ratios=(1.3, 1)
    )
    draw_topics(study, above)
    draw_documents(study, below)
    main = study.counts().argmax(axis=0)[study.order()]
    for ax in (above, below):
        for edge in np.flatnonzero(np.diff(main)):
            ax.axvline(edge + 0.5, color="C3", lw=0.8)
    reporting.save_picture(figure, path, dpi=140)


def draw_topics(study: Study, ax: Axes) -> None:
    """The centers of the clusters; topics in the order of the clusters that use them most."""
    centers = study.model.cluster_centers_[study.order()]
    used = np.flatnonzero(centers.max(axis=0) >= LEAST)
    used = used[np.argsort(centers[:, used].argmax(axis=0), kind="stable")]
    image = ax.imshow(centers[:, used].T, cmap="Blues", aspect="auto", vmin=0, vmax=1)
    ax.set_yticks(range(len(used)), [study.topics[k] for k in used], fontsize=9.5)
    ax.figure.colorbar(image, ax=ax, label="P(topic given cluster)")


def draw_documents(study: Study, ax: Axes) -> None:
    """A dot for each document, group by group; within a cluster dots are put side by side."""
    column = np.argsort(study.order())[study.model.labels_]
    rank = np.argsort(np.argsort(study.groups, kind="stable"))
    aside = np.random.default_rng(0).uniform(-0.4, 0.4, len(rank))
    ax.scatter(column + aside, rank, s=1.5, color="0.2", linewidths=0)
    ends = np.bincount(study.groups).cumsum()
    ax.set_ylim(ends[-1], 0)
    ax.set_yticks((ends + np.append(0, ends[:-1])) / 2, study.names, fontsize=10)
    for end in ends[:-1]:
        ax.axhline(end - 0.5, color="C3", lw=0.8)
    counts = study.counts()[:, study.order()]
    sizes = [
        f"{most} of {n}" for most, n in zip(counts.max(axis=0), counts.sum(axis=0), strict=True)
    ]
    ax.set_xticks(range(len(sizes)), sizes, fontsize=9.5, rotation=90)
    ax.set_xlabel("clusters: documents of the main newsgroup, of all")


def main() -> None:
    """Fit, print, draw."""
    parser = reporting.options(str(__doc__))
    parser.add_argument("--posterior", choices=("structured", "factorial"), default="structured")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", type=Path, default=reporting.DOCS / "case_study.png")
    options = parser.parse_args()
    study = fitted(options)
    counts, found = study.counts(), (study.groups, study.model.labels_)
    results = {
        "options": reporting.given(options),
        "iterations": study.model.n_iter_,
        "NMI": normalized_mutual_info_score(*found, average_method="max"),
        "in clusters of their group": counts.max(axis=0).sum() / counts.sum(),
        "topics above .1 in some cluster": int(
            (study.model.cluster_centers_.max(axis=0) >= LEAST).sum()
        ),
        "in more than one": int(((study.model.cluster_centers_ >= LEAST).sum(axis=0) > 1).sum()),
    }
    print(*reporting.pairs(results), sep="\n")
    reporting.save(options.output, results)
    draw(study, options.picture)


if __name__ == "__main__":
    main()
