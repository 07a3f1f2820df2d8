"""What is asked of the fits with one number of components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from skcooc.heldout.scoring import score_parts
from skcooc.metrics import integrated_complete_likelihood, npmi_coherence
from skcooc.model_selection.path import Fitted
from skcooc.protocol import CSR, Array, Block
from skcooc.simplex import cosines, match_rows

SHARE = 0.1  # of an equal share: less is no component of its own
ALIKE = 0.9  # cosine from which components are the same


class Scores(NamedTuple):
    """Mean log-likelihood of held-out observations, in nats."""

    test_score: float
    unseen_score: float  # of those in columns new to their rows, given that they are such


def scores(fitted: Fitted, known: Block, X: Block) -> Scores:
    """Of a fold, of which other observations are known."""
    parts = score_parts(X, fitted.predictor, known)
    seen = parts.seen_share * parts.seen if parts.seen_share else 0.0
    unseen = (1 - parts.seen_share) * parts.unseen if parts.seen_share < 1 else 0.0
    return Scores(seen + unseen, parts.renormalised)


def n_distinct(components: Array, shares: Array) -> int:
    """How many components, (K, M), have a mass of their own, and are unlike all larger ones.

    A tenth of an equal share of the observations, and a cosine below .9.

    >>> components = np.array([[0.6, 0.4, 0.0], [0.5, 0.5, 0.0], [0.0, 0.1, 0.9]])
    >>> n_distinct(components, np.array([0.5, 0.3, 0.2]))
    2
    >>> n_distinct(components, np.array([0.5, 0.49, 0.01]))
    1
    """
    order = np.argsort(-shares, kind="stable")
    alike = np.tril(cosines(components[order], components[order]) >= ALIKE, k=-1).any(axis=1)
    heavy = shares[order] >= SHARE / len(shares)
    return int(np.sum(heavy & ~alike))


def agreement(fits: Sequence[Fitted]) -> float:
    """Mean cosine of the components of all pairs of fits, each with its own; NaN of one alone.

    The Hungarian method finds which belong together.
    """
    components = [fitted.factors.B.T for fitted in fits]
    pairs = [(P, Q) for i, P in enumerate(components) for Q in components[:i]]
    means = [match_rows(P, Q)[1].mean() for P, Q in pairs]
    return float(np.mean(means)) if means else float("nan")


def describe_fits(X: CSR, halves: Sequence[Fitted], runs: Sequence[Fitted]) -> dict[str, float]:
    """What the fits of halves, and those of all observations, are like."""
    components = [run.factors.B.T for run in runs]
    distinct = [n_distinct(P, run.shares) for P, run in zip(components, runs, strict=True)]
    found = {
        "n_distinct": float(np.mean(distinct)),
        "half_agreement": agreement(halves),
        "seed_agreement": agreement(runs),
        "coherence": float(np.mean([npmi_coherence(P, X).mean() for P in components])),
        "beta": float(np.mean([run.beta for run in runs])),
    }
    if any(labels is not None for labels in runs[0].labels):
        found["icl"] = max(integrated_complete_likelihood(X, *run.labels) for run in runs)
    return found
