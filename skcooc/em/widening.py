"""More components than before, some of which are split; or fewer, some of which are joined."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skcooc.em.legs import Leg, Part, Run, State
from skcooc.em.splitting import doubled, mixed, single
from skcooc.protocol import Annealable, Array, Params, Statistics

BIRTH = 15  # iterations in which two copies drift apart


@dataclass(frozen=True)
class Widening(Part):
    """EM that begins with fewer components than its model has, and splits some of them.

    All are replaced by two copies, which EM drives apart for a few iterations. Then as many as are
    missing stay two, those first whose copies are large and far from each other; the copies of all
    others are joined again. Where more than twice as many are asked for, this is done repeatedly.
    """

    leg: Leg  # of an Annealable model

    @property
    def model(self) -> Annealable[Params, Statistics]:
        """The model with all components."""
        model: Annealable[Params, Statistics] = self.leg.model  # type: ignore[assignment]
        return model

    def begin(self, rng: np.random.Generator) -> State:
        """Where a fit begins, unless it is told: with a single component."""
        return single(self.model, self.leg.X, rng)

    def at(self, run: Run) -> Leg:
        """The leg under way."""
        return replace(self.leg, max_iter=min(BIRTH, self.leg.max_iter), tol=0.0)

    def enter(self, run: Run, rng: np.random.Generator) -> None:
        """Two copies of each."""
        run.n_clusters = run.state.rows.shape[1]
        run.state = doubled(self.model, run.state, rng)

    def leave(self, run: Run) -> None:
        """As many as are missing are split; the next part, once all are there."""
        self.finish(run)
        if run.state.rows.shape[1] == self.model.n_clusters:
            run.part += 1

    def finish(self, run: Run) -> None:
        """Join the copies of all but the most different ones."""
        k = run.n_clusters
        n_missing = self.model.n_clusters - k
        components = self.model.factors(*run.state)[1]
        apart = farthest(components, run.state.params.weights, n_missing)
        parts = [(c,) if c in apart else (c, k + c) for c in range(k)]
        run.state = mixed(self.model, run.state, parts + [(k + c,) for c in apart])


def farthest(components: Array, weights: Array, n: int) -> list[int]:
    """The n components c of k that have become most unlike their copies k + c.

    By total variation, times the harmonic sum of the weights of the two: columns of (M, 2 k).
    """
    k = len(weights) // 2
    distances = np.abs(components[:, :k] - components[:, k:]).sum(axis=0) / 2
    first, second = weights[:k], weights[k:]
    both = np.maximum(first + second, np.finfo(weights.dtype).tiny)
    return np.argsort(-distances * first * second / both, kind="stable")[:n].tolist()


def narrowed(model: Annealable[Params, Statistics], state: State, n: int) -> State:
    """Fewer components: those that are most alike are joined."""
    return mixed(model, state, joined(model.factors(*state)[1], state.params.weights, n))


def joined(components: Array, weights: Array, n: int) -> list[tuple[int, ...]]:
    """Which components, (M, K), make n new ones: pairs that cost the least are joined in turn.

    The cost is the squared Hellinger distance, times the harmonic sum of the weights of the two.
    """
    groups: list[tuple[int, ...]] = [(c,) for c in range(len(weights))]
    shares = weights.astype(np.float64)
    P = components.T.astype(np.float64)
    while len(groups) > n:
        roots = np.sqrt(P)
        both = np.maximum(shares[:, None] + shares, np.finfo(np.float64).tiny)
        costs = (1 - roots @ roots.T) * shares[:, None] * shares / both
        costs[np.tril_indices(len(groups))] = np.inf
        first, second = divmod(int(costs.argmin()), len(groups))
        P[first] += shares[second] / both[first, second] * (P[second] - P[first])
        shares[first] += shares[second]
        groups[first] += groups[second]
        P, shares = np.delete(P, second, axis=0), np.delete(shares, second)
        del groups[second]
    return groups
