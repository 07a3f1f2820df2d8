"""Trees of clusters: held-out perplexity, classes at the top, general words above special ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from benchmarks import corpora
from benchmarks.baselines import as_rows, baselines
from benchmarks.experiment import Row, experiment
from skcooc import AsymmetricClustering, ClusterAbstraction, Dyads
from skcooc.model_selection import split_counts

TOP = 10  # words of a node


@experiment(
    minutes=6,
    models=["AsymmetricClustering", "ClusterAbstraction", "RowMemory"],
    quick={"data": ["Cranfield"], "components": [8], "seeds": [0]},
)
def trees(
    data: Sequence[str] = ("Cranfield", "CLASSIC3"),
    components: Sequence[int] = (8, 32),
    seeds: Sequence[int] = (0, 1, 2),
) -> Iterator[Row]:
    """Do trees of clusters predict better than clusters without one, and which shape is best?

    A tenth of the tokens is held out. All models have K leaves or clusters and choose their
    temperature and smoothing inside ``fit``. "NMI at level 2" compares the classes of CLASSIC3 with
    the (at most four) nodes of the second level.
    """
    for name in data:
        corpus = corpora.COLLECTIONS[name]()
        for seed in seeds:
            train, test = split_counts(corpus.X.astype(float), 0.1, random_state=seed)
            case = {"data": name, "seed": seed}
            topic_free = baselines(train, test, seed)
            for K in components:
                case["K"] = K
                yield from (case | row for row in as_rows(topic_free))
                model = AsymmetricClustering(K, random_state=seed).fit(train)
                perplexity = model.perplexity(Dyads(test))
                yield case | {"model": "AsymmetricClustering", "perplexity": perplexity}
                for tree in ("binary", "annealed", "grown"):
                    model = ClusterAbstraction(K, tree=tree, random_state=seed).fit(train)
                    row = {"model": f'tree="{tree}"', "perplexity": model.perplexity(Dyads(test))}
                    row |= {"beta": model.beta_, "levels": int(model.tree_.depths.max())}
                    if corpus.labels is not None:
                        found = nodes_at(model, 2)
                        row["NMI at level 2"] = normalized_mutual_info_score(corpus.labels, found)
                    yield case | row


def nodes_at(model: ClusterAbstraction, level: int) -> np.ndarray:
    """The node at a level above the cluster of each row, or its leaf where that is higher."""
    tree = model.tree_
    nodes = tree.leaves[model.labels_]
    for _ in range(tree.depths.max()):
        nodes = np.where(tree.depths[nodes] > level, tree.parents[nodes], nodes)
    return nodes


@experiment(minutes=6, models=["ClusterAbstraction"], quick={"titles": ["cluster"], "seeds": [0]})
def tree_words(
    titles: Sequence[str] = ("cluster", "neural network"),
    n_clusters: int = 32,
    seeds: Sequence[int] = tuple(range(10)),
) -> Iterator[Row]:
    """Are words of upper nodes more general than those of lower nodes?

    NeurIPS abstracts with "cluster" (157), or with "neural" or "network" (855), in their titles.
    The figures are in how many abstracts the ten most probable words of a node occur, averaged over
    the nodes of a level.
    """
    for words in titles:
        X = corpora.neurips(words.split()).X
        for abstraction in ("cluster", "row"):
            for seed in seeds:
                model = ClusterAbstraction(n_clusters, abstraction=abstraction, random_state=seed)
                levels = frequency_by_level(model.fit(X), X)
                row = {"titles": words, "abstraction": abstraction, "seed": seed}
                row |= {f"level {n}" if n else "root": value for n, value in enumerate(levels)}
                falls = all(above > below for above, below in pairwise(levels))
                yield row | {"falls, %": 100.0 * falls}


def frequency_by_level(model: Any, X: Any) -> list[float]:
    """Mean number of documents that have the most probable words of the nodes of a level."""
    documents = np.asarray((X > 0).sum(axis=0)).ravel()
    top = np.argsort(-model.components_, axis=1, kind="stable")[:, :TOP]
    nodes, depths = documents[top].mean(axis=1), model.tree_.depths
    return [float(nodes[depths == level].mean()) for level in range(depths.max() + 1)]
