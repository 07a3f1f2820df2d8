"""Does ClusterAbstraction put general words above special ones, and how well does it predict?

Parts, all of them optional:

depth     NeurIPS abstracts with "cluster" in the title, and with "neural" or "network", 32 leaves:
          mean document frequency of the ten most probable words of a node, averaged over the nodes
          of each depth, for several seeds. It should fall from each level to the next. Draws
          ``docs/hierarchy.png`` and ``docs/abstraction.png`` from the larger set, first seed.
memo      Table 2 of the memo: Cranfield, folds of observations, ``beta="auto"``, with weights of
          the nodes for each cluster and for each cluster and document, beside AsymmetricClustering
          on the same folds. Nothing is chosen on the test observations.
trees     A tree grown by annealing beside the binary one, with equally many leaves: Cranfield and
          CLASSIC3, a tenth of the observations held out. "classes at depth 2" is the normalised
          mutual information of the classes and the (at most four) nodes at the second level. Draws
          ``docs/splits.png``.
shapes    NeurIPS abstracts with "cluster" in the title, 12 leaves: the binary tree, that of
          clusters without one, and one that grows by its own splits. Draws ``docs/trees.png``.
speed     20 Newsgroups, float32, 32 leaves: seconds of 50 iterations of the stage "cluster", of
          all of that fit and of one with ``beta="auto"``, and peak memory, each in a fresh process.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from benchmarks import corpora, reporting
from benchmarks.papers import paper_tables
from benchmarks.quality import folds, tuned
from benchmarks.speed.fit_memory import held, reset_peak
from skcooc import AsymmetricClustering, ClusterAbstraction, Dyads
from skcooc.datasets import make_cooccurrences
from skcooc.inspection import characteristic_features
from skcooc.model_selection import split_counts
from skcooc.plotting import AbstractionDisplay, HierarchyDisplay, SplitsDisplay, style

Row = dict[str, Any]

TREES = {
    "binary": "divided in two, as evenly as can be",
    "annealed": "the splits of clusters without a tree",
    "grown": "the splits of the hierarchy itself",
}
TITLES = {"cluster": ["cluster"], "neural or network": ["neural", "network"]}
WORDS = ("network", "spike", "graph")  # of the second picture
LEAVES, TOP = 32, 10
MEMO = paper_tables.MEMO["cranfield"]["HACM"]  # all three stages, grown trees


def depth(options: argparse.Namespace) -> Iterator[Row]:
    """Document frequency by depth, and the pictures."""
    for name, titles in TITLES.items():
        corpus = corpora.neurips(titles)
        for abstraction in ("cluster", "row"):
            for seed in range(options.seeds):
                parameters = {"abstraction": abstraction, "n_jobs": 2, "random_state": seed}
                model = ClusterAbstraction(LEAVES, **parameters).fit(corpus.X)
                yield {
                    "titles": name,
                    "abstraction": abstraction,
                    "seed": seed,
                    **frequency_by_depth(model, corpus.X),
                }
                if (name, abstraction, seed) == ("neural or network", "cluster", 0):
                    draw(model, corpus.columns, options.pictures)


def frequency_by_depth(model: Any, X: Any) -> Row:
    """Mean number of documents that have the most probable words of a node."""
    documents = np.asarray((X > 0).sum(axis=0)).ravel()
    top = np.argsort(-model.components_, axis=1, kind="stable")[:, :TOP]
    nodes, depths = documents[top].mean(axis=1), model.tree_.depths
    levels = [nodes[depths == level].mean() for level in range(depths.max() + 1)]
    falls = all(above > below for above, below in pairwise(levels))
    return {
        **{f"depth {level}": value for level, value in enumerate(levels)},
        "falls": "yes" if falls else "no",
    }


def draw(model: Any, words: np.ndarray, folder: Path) -> None:
    """The tree with its words, and where three of them are."""
    from matplotlib import pyplot as plt

    tree = HierarchyDisplay.from_estimator(model, words, order="probable")
    reporting.save_picture(tree.figure_, folder / "hierarchy.png")
    with style():
        figure, axes = plt.subplots(len(WORDS), 1, figsize=(9.4, 7.5), layout="constrained")
        for word, ax in zip(WORDS, axes, strict=True):
            AbstractionDisplay.from_estimator(model, word, words, ax=ax)
    reporting.save_picture(figure, folder / "abstraction.png")
    plt.close("all")


def memo(options: argparse.Namespace) -> Iterator[Row]:
    """Folds of Cranfield."""
    dyads, parts = folds.cranfield_folds()
    estimators: dict[str, Callable[..., Any]] = {
        "AsymmetricClustering": AsymmetricClustering,
        "ClusterAbstraction, cluster": ClusterAbstraction,
        "ClusterAbstraction, row": lambda K, **parameters: ClusterAbstraction(
            K, abstraction="row", **parameters
        ),
    }
    for K in options.components:
        for name, estimator in estimators.items():
            of_memo = MEMO[K].perplexity if K in MEMO and name.endswith("row") else ""
            measured = folds.on_folds(estimator, K, dyads, parts[: options.folds], options.jobs)
            yield {"model": name, "K": K, **measured, "memo": of_memo}


def trees(options: argparse.Namespace) -> Iterator[Row]:
    """Grown trees beside binary ones."""
    for data in (corpora.cranfield, corpora.classic3):
        corpus = data()
        if data is corpora.classic3:
            draw_splits(corpus, options.pictures)
        for K in options.leaves:
            for tree in ("binary", "annealed"):
                runs = [_on_split(corpus, tree, K, seed) for seed in range(options.seeds)]
                means = {key: mean(run[key] for run in runs) for key in runs[0]}
                yield {"data": data.__name__, "K": K, "tree": tree, **means}


def draw_splits(corpus: corpora.Corpus, folder: Path) -> None:
    """At which temperatures 16 clusters come apart."""
    model = ClusterAbstraction(16, tree="annealed", n_jobs=2, random_state=0).fit(corpus.X)
    display = SplitsDisplay.from_estimator(model, corpus.columns, order="probable")
    reporting.save_picture(display.figure_, folder / "splits.png")


def _on_split(corpus: corpora.Corpus, tree: str, K: int, seed: int) -> Row:
    train, test = split_counts(corpus.X, 0.1, random_state=seed)
    model = ClusterAbstraction(K, tree=tree, n_jobs=2, random_state=seed)
    seconds = reporting.clock(model.fit, train)
    measured = {
        "perplexity": model.perplexity(Dyads(test)),
        "beta": model.beta_,
        "largest depth": int(model.tree_.depths.max()),
        "seconds": seconds,
    }
    if corpus.labels is not None:
        groups = at_depth(model, 2)
        nmi = normalized_mutual_info_score(corpus.labels, groups)
        measured["classes at depth 2"] = float(nmi)
    return measured


def at_depth(model: Any, level: int) -> np.ndarray:
    """The node at a level above the cluster of each row, or its leaf where that is higher."""
    tree = model.tree_
    nodes = tree.leaves[model.labels_]
    for _ in range(tree.depths.max()):
        nodes = np.where(tree.depths[nodes] > level, tree.parents[nodes], nodes)
    return nodes


def shapes(options: argparse.Namespace) -> Iterator[Row]:
    """Three ways to a tree, and the picture of what they come to."""
    corpus = corpora.neurips(TITLES["cluster"])
    models = {
        tree: ClusterAbstraction(12, tree=tree, n_jobs=2, random_state=0).fit(corpus.X)
        for tree in TREES
    }
    names = np.where(corpus.columns == "", "s", corpus.columns)  # Porter's stem of "s" is empty
    draw_trees(models, names, options.pictures)
    for tree, model in models.items():
        leaf_depths = model.tree_.depths[model.tree_.leaves]
        yield {
            "tree": tree,
            "leaves": model.n_clusters_,
            "beta": model.beta_,
            "depth of leaves, from": int(leaf_depths.min()),
            "to": int(leaf_depths.max()),
            "documents in the largest": int(np.bincount(model.labels_).max()),
        }


def draw_trees(models: dict[str, Any], words: np.ndarray, folder: Path) -> None:
    """Trees with their words, one below the other."""
    from matplotlib import pyplot as plt

    with style():
        figure, axes = plt.subplots(len(models), 1, figsize=(7.6, 8.4))
        figure.subplots_adjust(left=0, right=1, bottom=0, top=0.97, hspace=0.12)
        for ax, (tree, model) in zip(axes, models.items(), strict=True):
            ax.set_title(f'tree="{tree}": {TREES[tree]}', loc="left", fontsize=10)
            features = characteristic_features(model, words, n_features=4)
            HierarchyDisplay(model.tree_, features).plot(ax)
    reporting.save_picture(figure, folder / "trees.png", dpi=150)
    plt.close(figure)


def speed(options: argparse.Namespace) -> Iterator[Row]:
    """Seconds and memory on 20 Newsgroups."""
    for beta, max_iter, tol in ((0.05, 50, 0.0), ("auto", 200, 3e-6)):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
            yield fresh.submit(_fit_newsgroups, beta, max_iter, tol).result()


def _fit_newsgroups(beta: Any, max_iter: int, tol: float) -> Row:
    tuned.silence()
    parameters = {"beta": beta, "max_iter": max_iter, "tol": tol, "n_jobs": 2, "random_state": 0}
    model = ClusterAbstraction(LEAVES, **parameters)
    small = make_cooccurrences(40, 40, random_state=0).X
    model.fit(small.astype(np.float32))  # imports and compiles
    X = corpora.newsgroups20().X.astype(np.float32)
    before = reset_peak()
    seconds = reporting.clock(model.fit, X)
    last = [record.seconds for record in model.history_][-50:]
    return {
        "beta": beta,
        "beta used": model.beta_,
        "iterations": model.n_iter_,
        "seconds of the last 50": sum(last) if model.n_iter_ >= 70 else "",
        "seconds of fit": seconds,
        "peak_mib": (held("VmHWM") - before) / 2**20,
    }


PARTS = {"depth": depth, "memo": memo, "trees": trees, "shapes": shapes, "speed": speed}


def main() -> None:
    """Run the parts asked for."""
    tuned.silence()
    parser = folds.options(str(__doc__), PARTS)
    parser.add_argument("--folds", type=int, default=10, help="of 'memo'")
    parser.add_argument("--leaves", type=int, nargs="+", default=[8, 32], help="of 'trees'")
    parser.add_argument("--seeds", type=int, default=3, help="of 'depth' and 'trees'")
    parser.add_argument(
        "--pictures", type=Path, default=reporting.DOCS, help="folder of the pictures"
    )
    reporting.run_parts(PARTS, parser.parse_args())


if __name__ == "__main__":
    main()
