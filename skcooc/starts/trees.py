"""Starts of trees of clusters, and trees that are learned from splits of clusters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from skcooc.em import EMStage, GrowClusters, Split, State
from skcooc.em.annealing import one_cluster_start, path
from skcooc.em.stages import Runner, Solver
from skcooc.equations.growing_trees import Params, SplittingTrees
from skcooc.equations.memberships import temperatures
from skcooc.equations.row_clusters import Params as ClusterParams
from skcooc.equations.row_clusters import RowClusters
from skcooc.equations.tree_clusters import Abstractions
from skcooc.heldout import HeldOut
from skcooc.hierarchy import SplitTree, Tree, division
from skcooc.protocol import Array, Block, Counts
from skcooc.simplex import normalise
from skcooc.starts.clusters import best_start, soft_fit, ward_groups

ANNEALING_FACTOR = 1.1  # factor between successive inverse temperatures


def tree_start(
    model: Abstractions,
    X: Counts,
    rng: np.random.Generator,
    runner: Runner,
    nodes: Array | None = None,
) -> State:
    """Return the nodes (M, V) of a learned tree, or else sums of clusters of rows.

    These clusters lie at the leaves by similarity, in the order in which a tree is drawn.
    """
    noise = model.noise(X, rng)
    if nodes is None:
        clusters = RowClusters(len(model.tree.leaves))
        params, rows = best_start(clusters, X, rng, runner)
        overlaps = clusters.overlaps(X, params, rows)
        drawn = model.tree.preorder[np.isin(model.tree.preorder, model.tree.leaves)]
        order = np.empty(len(drawn), dtype=int)
        order[np.searchsorted(model.tree.leaves, drawn)] = list(ward_groups(overlaps, 1)[0])
        nodes = (params.components[:, order] * overlaps.diagonal()[order]) @ model.tree.above
    return State(*model.from_nodes(X, nodes, noise))


def hard_tree_start(
    model: Abstractions,
    X: Counts,
    rng: np.random.Generator,
    runner: Runner,
    nodes: Array | None = None,
) -> State:
    """Return a soft fit, as a hard model keeps most of a random initialisation."""
    start = partial(tree_start, nodes=nodes)
    return soft_fit(replace(model, hard=False), start, X, rng, runner).state


class Growth(NamedTuple):
    tree: Tree
    nodes: Array  # (M, V): P(y_j given v)
    splits: list[Split]  # parts are indices of leaves
    failed: bool  # whether it has not grown, for no evident reason


def means_below(
    params: ClusterParams, split_tree: SplitTree, order: list[int], mass: Array
) -> Array:
    """P(y_j given v) of all rows below each node, (M, V)."""
    below = (params.components[:, order] * mass[order]) @ split_tree.tree.above
    return normalise(below, axis=0, otherwise=0.0)


def own_nodes(params: Params, split_tree: SplitTree, order: list[int], mass: Array) -> Array:
    """P(y_j given v) of the nodes above the same clusters, (M, V), or their means."""
    components = params.nodes @ params.paths.T
    nodes = (components[:, order] * mass[order]) @ split_tree.tree.above
    places = {tuple(np.flatnonzero(above).tolist()): v for v, above in enumerate(params.paths.T)}
    for node, group in enumerate(split_tree.groups):
        if group in places:
            nodes[:, node] = params.nodes[:, places[group]]
    return normalise(nodes, axis=0, otherwise=0.0)


class Kind(NamedTuple):
    model: Callable[[int], RowClusters | SplittingTrees]  # from the largest number of clusters
    nodes: Callable[[Any, SplitTree, list[int], Array], Array]


KINDS: Mapping[str, Kind] = {
    "annealed": Kind(RowClusters, means_below),
    "grown": Kind(SplittingTrees, own_nodes),
}


def grow(
    X: Block,
    kind: Kind,
    n_clusters: int,
    solver: Solver,
    rng: np.random.Generator,
    heldout: HeldOut | None,
    runner: Runner,
) -> Growth:
    """Anneal a model from the critical temperature on, and make a tree of its splits.

    Ends with ``n_clusters`` clusters, or when held-out tokens are no longer predicted better:
    Hofmann & Puzicha (1998), section 5.1. The limits of the runner hold at each temperature.
    """
    model = kind.model(n_clusters)
    betas = path(model.critical_beta(X), temperatures(model, X).high, ANNEALING_FACTOR)
    stage = EMStage(model, X, betas[-1], runner.max_iter, runner.tol)
    start = one_cluster_start(model, X, rng, runner)
    run = runner.run([GrowClusters(stage, betas, heldout)], rng, solver, start)
    splits = run.splits or []
    split_tree = division(splits)
    order = [split_tree.groups[leaf][0] for leaf in split_tree.tree.leaves] if splits else [0]
    place = np.argsort(order)
    renamed = [
        Split(beta, tuple(tuple(sorted(place[list(part)].tolist())) for part in parts))
        for beta, parts in splits
    ]
    mass = ((X.row_sums * X.row_weights)[:, None] * run.rows).sum(axis=0)
    nodes = kind.nodes(run.params, split_tree, order, mass)
    failed = min(n_clusters, *X.shape) > 1 and not (splits or run.stopped)
    return Growth(split_tree.tree, nodes, renamed, failed)
