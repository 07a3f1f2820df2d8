"""Trees that grow while the temperature falls: annealed clusters of rows, and how they split."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skcooc.em import EM, Fit, HeldOut, Split
from skcooc.em.legs import Observe
from skcooc.em.schedules import rising
from skcooc.em.splitting import Annealing
from skcooc.equations.memberships import temperatures
from skcooc.equations.row_clusters import RowClusters
from skcooc.hierarchy import Tree, division
from skcooc.protocol import Array, Counts
from skcooc.simplex import normalise

COOLING = 1.1  # factor between successive inverse temperatures
RUNS = 10  # of EM that do not predict better, once there are clusters: a factor 2.5 in beta


class Growth(NamedTuple):
    """A tree that has grown, and what its nodes are about."""

    tree: Tree
    nodes: Array  # (M, V): P(y_j given v), of all rows in the clusters below
    splits: list[Split]  # parts are numbers of leaves


def grow(
    em: EM,
    X: Counts,
    n_clusters: int,
    rng: np.random.Generator,
    heldout: HeldOut | None,
    observe: Observe,
) -> Growth:
    """Anneal clusters of rows from the critical temperature on, and make a tree of their splits.

    This ends where there are ``n_clusters`` of them, or where they no longer predict held-out
    observations better: memo, section 5.1.

    Parameters
    ----------
    em : EM
        What is run at every temperature.
    X : Counts
    n_clusters : int
    rng : numpy Generator
    heldout : HeldOut or None
    observe : callable
        See EM.fit.

    Returns
    -------
    growth : Growth

    Warns
    -----
    ConvergenceWarning
        Where no clusters come apart.
    """
    model = RowClusters(n_clusters)
    betas = rising(model.critical_beta(X), temperatures(model, X).high, COOLING)
    path = Annealing(em, betas).path(model, [X], rng, observe)
    fit = _grown(path, model, heldout)
    if min(n_clusters, *X.shape) > 1 and not (fit.splits or fit.stopped):
        warnings.warn(
            "The tree has not grown: no clusters came apart that predict better. Rows and columns "
            "are independent, or there are too few observations; try tree='binary'.",
            ConvergenceWarning,
            stacklevel=2,
        )
    found = division(fit.splits or [])
    order = [found.groups[leaf][0] for leaf in found.tree.leaves] if fit.splits else [0]
    place = np.argsort(order)
    splits = [
        Split(beta, tuple(tuple(sorted(place[list(part)].tolist())) for part in parts))
        for beta, parts in fit.splits or []
    ]
    mass = (X.row_sums * X.row_weights)[:, None] * fit.rows[0][:, order]
    below = (fit.params.components[:, order] * mass.sum(axis=0)) @ found.tree.above
    return Growth(found.tree, normalise(below, axis=0, otherwise=0.0), splits)


def _grown(path: Iterable[Fit], model: RowClusters, heldout: HeldOut | None) -> Fit:
    """Where all clusters are there; or the last time that held-out perplexity had fallen."""
    least, since = np.inf, 0
    for fit in path:
        perplexity = 0.0 if heldout is None else heldout(model, fit.params, fit.rows).perplexity
        since = 0 if heldout is None or perplexity < least or not fit.splits else since + 1
        if since == 0:
            best, least = fit, perplexity
        if since == RUNS or fit.rows[0].shape[1] == model.n_clusters:
            break
    return best
