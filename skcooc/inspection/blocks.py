"""The order of clusters of two sides."""

from __future__ import annotations

import numpy as np
from scipy.special import rel_entr

from skcooc.protocol import Array


def cluster_orders(joint: Array) -> tuple[Array, Array]:
    """The orders of clusters, (C,) and (D,), that bring what occurs together to the diagonal.

    Clusters of rows come by decreasing share of the observations; ``joint`` is pi_cd, their shares
    in pairs of clusters. A cluster d of columns belongs to the cluster c of rows with the largest
    pi_cd log c_cd, its part of the mutual information, and comes where that is; of several, the one
    with the largest part is first.
    """
    rows = np.argsort(-joint.sum(axis=1), kind="stable")
    parts = rel_entr(joint, np.outer(joint.sum(axis=1), joint.sum(axis=0)))[rows]
    partner = parts.argmax(axis=0)
    return rows, np.lexsort((-parts.max(axis=0), partner))
