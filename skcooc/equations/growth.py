"""Trees that grow while the temperature falls: how annealed clusters of rows split."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from skcooc.em import Growing, Leg, Split, fit
from skcooc.em.annealing import path
from skcooc.em.legs import Observe, Run, Solver
from skcooc.equations.memberships import temperatures
from skcooc.equations.row_clusters import Params as ClusterParams
from skcooc.equations.row_clusters import RowClusters
from skcooc.equations.splitting_trees import Params as TreeParams
from skcooc.equations.splitting_trees import SplittingTrees
from skcooc.heldout import HeldOut
from skcooc.hierarchy import SplitTree, Tree, division
from skcooc.protocol import Array, Block
from skcooc.simplex import normalise

ANNEALING = 1.1  # factor between successive inverse temperatures


class Growth(NamedTuple):
    """A tree that has grown, and what its nodes are about."""

    tree: Tree
    nodes: Array  # (M, V): P(y_j given v)
    splits: list[Split]  # parts are numbers of leaves
    failed: bool  # whether it has not grown, though nothing stood in its way


def means_below(params: ClusterParams, found: SplitTree, order: list[int], mass: Array) -> Array:
    """P(y_j given v) of all rows in the clusters below each node, (M, V)."""
    below = (params.components[:, order] * mass[order]) @ found.tree.above
    return normalise(below, axis=0, otherwise=0.0)


def own_nodes(params: TreeParams, found: SplitTree, order: list[int], mass: Array) -> Array:
    """P(y_j given v) of the node above the same clusters, (M, V); their mean where it has died."""
    components = params.nodes @ params.paths.T
    nodes = (components[:, order] * mass[order]) @ found.tree.above
    places = {tuple(np.flatnonzero(above).tolist()): v for v, above in enumerate(params.paths.T)}
    for node, group in enumerate(found.groups):
        if group in places:
            nodes[:, node] = params.nodes[:, places[group]]
    return normalise(nodes, axis=0, otherwise=0.0)


class Kind(NamedTuple):
    """What splits, and what is known of the nodes then."""

    model: Callable[[int], RowClusters | SplittingTrees]  # with so many clusters at most
    nodes: Callable[[Any, SplitTree, list[int], Array], Array]


KINDS: Mapping[str, Kind] = {
    "annealed": Kind(RowClusters, means_below),
    "grown": Kind(SplittingTrees, own_nodes),
}


def grow(
    X: Block,
    kind: Kind,
    n_clusters: int,
    max_iter: int,
    tol: float,
    solver: Solver,
    rng: np.random.Generator,
    heldout: HeldOut | None,
    observe: Observe,
    resume: Run | None = None,
) -> Growth:
    """Anneal a model from the critical temperature on, and make a tree of its splits.

    This ends where there are ``n_clusters`` of them, or where they no longer predict held-out
    observations better: memo, section 5.1. ``max_iter`` and ``tol`` are those of EM at every
    temperature; ``resume`` is where it goes on that was cut short.
    """
    model = kind.model(n_clusters)
    betas = path(model.critical_beta(X), temperatures(model, X).high, ANNEALING)
    leg = Leg(model, X, betas[-1], max_iter, tol)
    found = fit([Growing(leg, betas, heldout)], rng, solver, observe, resume=resume)
    splits = found.splits or []
    whole = division(splits)
    order = [whole.groups[leaf][0] for leaf in whole.tree.leaves] if splits else [0]
    place = np.argsort(order)
    renamed = [
        Split(beta, tuple(tuple(sorted(place[list(part)].tolist())) for part in parts))
        for beta, parts in splits
    ]
    mass = ((X.row_sums * X.row_weights)[:, None] * found.rows).sum(axis=0)
    nodes = kind.nodes(found.params, whole, order, mass)
    failed = min(n_clusters, *X.shape) > 1 and not (splits or found.stopped)
    return Growth(whole.tree, nodes, renamed, failed)
