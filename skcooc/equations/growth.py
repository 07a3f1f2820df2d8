"""Trees that grow while the temperature falls: annealed clusters of rows, and how they split."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skcooc.em import Growing, Leg, Split, fit
from skcooc.em.legs import Observe, Solver
from skcooc.em.splitting import rising
from skcooc.equations.memberships import temperatures
from skcooc.equations.row_clusters import RowClusters
from skcooc.heldout import HeldOut
from skcooc.hierarchy import Tree, division
from skcooc.protocol import Array, Counts
from skcooc.simplex import normalise

COOLING = 1.1  # factor between successive inverse temperatures


class Growth(NamedTuple):
    """A tree that has grown, and what its nodes are about."""

    tree: Tree
    nodes: Array  # (M, V): P(y_j given v), of all rows in the clusters below
    splits: list[Split]  # parts are numbers of leaves
    failed: bool  # whether it has not grown, though nothing stood in its way


def grow(
    X: Counts,
    n_clusters: int,
    max_iter: int,
    tol: float,
    solver: Solver,
    rng: np.random.Generator,
    heldout: HeldOut | None,
    observe: Observe,
) -> Growth:
    """Anneal clusters of rows from the critical temperature on, and make a tree of their splits.

    This ends where there are ``n_clusters`` of them, or where they no longer predict held-out
    observations better: memo, section 5.1. ``max_iter`` and ``tol`` are those of EM at every
    temperature.
    """
    model = RowClusters(n_clusters)
    betas = rising(model.critical_beta(X), temperatures(model, X).high, COOLING)
    leg = Leg(model, X, betas[-1], max_iter, tol)
    found = fit([Growing(leg, betas, heldout)], rng, solver, observe)
    splits = found.splits or []
    whole = division(splits)
    order = [whole.groups[leaf][0] for leaf in whole.tree.leaves] if splits else [0]
    place = np.argsort(order)
    renamed = [
        Split(beta, tuple(tuple(sorted(place[list(part)].tolist())) for part in parts))
        for beta, parts in splits
    ]
    mass = (X.row_sums * X.row_weights)[:, None] * found.rows[:, order]
    below = (found.params.components[:, order] * mass.sum(axis=0)) @ whole.tree.above
    nodes = normalise(below, axis=0, otherwise=0.0)
    failed = min(n_clusters, *X.shape) > 1 and not (splits or found.stopped)
    return Growth(whole.tree, nodes, renamed, failed)
