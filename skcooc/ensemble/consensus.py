"""Members of an average, component by component: what they have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skcooc.heldout import Factors
from skcooc.protocol import Array
from skcooc.simplex import match_rows, normalise

WITHIN = 0.05, 0.95  # quantiles of the members between which an interval lies


@dataclass(frozen=True)
class Consensus:
    """One model made of the members of an average: each component is the mean of S that match.

    Components of the members are matched by the Hungarian method to those of the member that
    agrees best with all others, so that the sum of cosines is largest. Their means, by their shares
    of the observations, are one model with K components, which can be read as a single fit can;
    intervals say how far the members differ. It predicts worse than the average itself.

    :func:`skcooc.inspection.describe` shows it.

    Attributes
    ----------
    components_ : (K, M) array
        P(y_j given z_k), the mean of those matched.
    component_intervals_ : (2, K, M) array
        Between which nine tenths of the members lie: their quantiles .05 and .95.
    embedding_ : (N, K) array
        P(z_k given x_i) of the rows fitted, the mean over the members.
    row_distribution_ : (N,) array
        P(x_i).
    component_distribution_ : (K,) array
        P(z_k), shares of the observations.
    distribution_intervals_ : (2, K) array
        The same quantiles of these shares over the members.
    affinity_ : (K,) array
        Mean cosine of a component of the reference and those matched to it in the other members;
        one where there are none.
    reference_ : int
        Number of the member that the others are matched to.
    """

    components_: Array
    component_intervals_: Array
    embedding_: Array
    row_distribution_: Array
    component_distribution_: Array
    distribution_intervals_: Array
    affinity_: Array
    reference_: int

    def __repr__(self) -> str:
        (K, M), affinity = self.components_.shape, self.affinity_.mean()
        return f"<Consensus: {K} components of {M} columns, mean cosine {affinity:.2f}>"


def consensus(models: Sequence[Factors], row_distribution: Array) -> Consensus:
    """The consensus of models with equally many components; ValueError where they have others."""
    components = [model.B.T for model in models]
    if len({len(P) for P in components}) > 1:
        raise ValueError("Members with different numbers of components cannot be matched.")
    pairs = [[match_rows(mine, its) for its in components] for mine in components]
    agreement = [sum(affinity.mean() for _, affinity in of_mine) for of_mine in pairs]
    reference = int(np.argmax(agreement))
    orders, affinities = zip(*pairs[reference], strict=True)
    aligned = np.array([P[order] for P, order in zip(components, orders, strict=True)])
    mixtures = [model.A[:, order] for model, order in zip(models, orders, strict=True)]
    shares = np.array([row_distribution @ A for A in mixtures])
    others = np.delete(np.array(affinities), reference, axis=0)
    mean = np.einsum("sk,skm->km", shares, aligned, dtype=np.float64)
    plain = aligned.mean(axis=0)
    return Consensus(
        normalise(mean, axis=1, otherwise=plain).astype(aligned.dtype),
        np.quantile(aligned, WITHIN, axis=0),
        np.mean(mixtures, axis=0),
        row_distribution,
        shares.mean(axis=0),
        np.quantile(shares, WITHIN, axis=0),
        others.mean(axis=0) if len(others) else np.ones(len(plain)),
        reference,
    )
