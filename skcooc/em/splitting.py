"""Annealing through phase transitions: clusters split while the temperature falls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skcooc.em.legs import Leg, Part, Run, Split, State
from skcooc.heldout import HeldOut
from skcooc.protocol import Annealable, Array, Counts, Params, Statistics

PERTURBATION = 1e-2  # relative size of the noise that tells two copies apart
SLOW = 1e-2  # of the tolerance: small differences, from which splits grow, hardly move it
DISTINCT = 5e-2  # total variation between copies from which they are clusters of their own
PATIENCE = 10  # legs that do not predict better, once there are clusters: a factor 2.5 in beta


@dataclass(frozen=True)
class Splitting(Part):
    """EM at a rising sequence of inverse temperatures, beginning with a single cluster.

    At every temperature each cluster is replaced by two copies, which are pulled apart a little.
    Above the critical temperature of the cluster they come together again. Below it they drift
    apart: the cluster splits. Its parts may do so at the next temperature, but not before: small
    clusters are easily told apart by chance, and the slower they come the better they are. See
    Rose, Gurewitz and Fox, Phys. Rev. Lett. 65, 1990; Pereira, Tishby and Lee, ACL 1993; memo,
    section 5.1.

    Copies must get apart within one leg, which they do some way above the inverse temperature at
    which the cluster becomes unstable, at 1.3 to 2.4 times it on planted data. To wait longer finds
    splits earlier, but not better ones: where clusters hardly differ, the wrong ones part.
    """

    leg: Leg  # at every temperature, of an Annealable model; more patient where there are copies
    betas: Sequence[float]  # rising; the last is repeated until no more clusters come apart

    @property
    def model(self) -> Annealable[Params, Statistics]:
        """The model that is annealed."""
        model: Annealable[Params, Statistics] = self.leg.model  # type: ignore[assignment]
        return model

    def begin(self, rng: np.random.Generator) -> State:
        """Where a fit begins, unless it is told: with a single cluster."""
        return single(self.model, self.leg.X, rng)

    def at(self, run: Run) -> Leg:
        """The leg under way."""
        beta = self.betas[min(run.number, len(self.betas) - 1)]
        tol = self.leg.tol if run.n_clusters == self.model.n_clusters else SLOW * self.leg.tol
        return replace(self.leg, beta=beta, tol=tol)

    def enter(self, run: Run, rng: np.random.Generator) -> None:
        """Copies, where clusters are still missing."""
        run.n_clusters = run.state.rows.shape[1]
        if run.n_clusters < self.model.n_clusters:
            run.state = doubled(self.model, run.state, rng)

    def leave(self, run: Run) -> None:
        """Clusters that have come apart stay apart; the next temperature, or the next part."""
        n_before = run.n_clusters
        self._part(run)
        run.number += 1
        if run.number >= len(self.betas) and run.state.rows.shape[1] == n_before:
            self._fill(run)
            run.part, run.number = run.part + 1, 0

    def finish(self, run: Run) -> None:
        """What has come apart when it was stopped."""
        self._part(run)
        self._fill(run)

    def _part(self, run: Run) -> None:
        """Join copies, but for those which have drifted apart."""
        k, beta, splits = run.n_clusters, self.at(run).beta, run.splits or []
        apart: list[int] = []
        if run.state.rows.shape[1] > k:
            components = self.model.factors(*run.state)[1]
            apart = drifted(components[:, :k], components[:, k:])[: self.model.n_clusters - k]
            parts = [(c,) if c in apart else (c, k + c) for c in range(k)]
            run.state = mixed(self.model, run.state, parts + [(k + c,) for c in apart])
        for new, c in enumerate(apart, start=k):
            splits = [*joined_by(splits, c, new), Split(beta, ((c,), (new,)))]
        run.splits = splits

    def _fill(self, run: Run) -> None:
        """Where fewer clusters have come apart, some of them are there repeatedly."""
        k, n_clusters = run.state.rows.shape[1], self.model.n_clusters
        run.state = mixed(self.model, run.state, [(c % k,) for c in range(n_clusters)])
        for twin in range(k, n_clusters):
            run.splits = joined_by(run.splits or [], twin % k, twin)


@dataclass(frozen=True)
class Growing(Splitting):
    """Splitting that ends with as many clusters as there are good reasons for.

    It ends where all are there, or where they no longer predict held-out observations better, with
    what predicted best.
    """

    judge: HeldOut | None = None  # None knows no reason against more clusters

    def leave(self, run: Run) -> None:
        """Keep the best; the next temperature, or the end."""
        n_before = run.n_clusters
        self._part(run)
        run.number += 1
        k, judged = run.state.rows.shape[1], self._judged(run)
        spent = run.number >= len(self.betas) and k == n_before
        if k == self.model.n_clusters or judged == PATIENCE or spent:
            run.part, run.splits = run.part + 1, run.best_splits

    def finish(self, run: Run) -> None:
        """What was best when it was stopped."""
        self._part(run)
        self._judged(run)
        run.splits = run.best_splits

    def _judged(self, run: Run) -> int:
        """Number of legs since the best."""
        if self.judge is not None:
            if not run.splits:
                run.validation = None  # one cluster is no rival
            run.judge(self.judge(self.model, *run.state), run.history[-1].beta)
        if run.since_best == 0:
            run.best, run.best_splits = run.state, run.splits
        return run.since_best


def doubled(model: Annealable[Params, Statistics], state: State, rng: np.random.Generator) -> State:
    """Two copies of every cluster, c and K + c, a little apart."""
    k = state.rows.shape[1]
    pairs = mixed(model, state, [(c % k,) for c in range(2 * k)])
    return pairs._replace(params=model.perturb(pairs.params, rng, PERTURBATION))


def single(model: Annealable[Params, Statistics], X: Counts, rng: np.random.Generator) -> State:
    """One cluster, or component, made of all random ones."""
    state = State(*model.random(X, rng))
    return mixed(model, state, [tuple(range(state.rows.shape[1]))])


def mixed(
    model: Annealable[Params, Statistics], state: State, parts: Sequence[tuple[int, ...]]
) -> State:
    """Clusters that join these parts; what is in several parts is divided evenly among them."""
    shares = np.zeros((state.rows.shape[1], len(parts)))
    for new, part in enumerate(parts):
        shares[list(part), new] = 1
    shares /= shares.sum(axis=1, keepdims=True)
    shares = shares.astype(state.rows.dtype)
    return State(model.mixed(state.params, shares), state.rows @ shares)


def drifted(components: Array, copies: Array) -> list[int]:
    """The clusters that differ from their copies, both (M, K), those that differ most first."""
    distances = np.abs(components - copies).sum(axis=0) / 2
    order = np.argsort(-distances, kind="stable")
    return order[distances[order] > DISTINCT].tolist()


def joined_by(splits: Sequence[Split], companion: int, new: int) -> list[Split]:
    """The same splits, with a new cluster wherever its companion is.

    >>> joined_by([Split(0.1, ((0,), (1,)))], 1, 2)
    [Split(beta=0.1, parts=((0,), (1, 2)))]
    """
    return [
        Split(beta, tuple((*part, new) if companion in part else part for part in parts))
        for beta, parts in splits
    ]


def path(first: float, last: float, factor: float) -> list[float]:
    """Inverse temperatures from first to last, in equal steps of at most this factor.

    The last alone where the factor leads away from it.

    >>> [round(beta, 3) for beta in path(0.1, 0.4, 2.0)]
    [0.1, 0.2, 0.4]
    >>> [round(beta, 3) for beta in path(1.0, 0.49, 0.7)]
    [1.0, 0.7, 0.49]
    >>> path(0.5, 0.4, 2.0)
    [0.4]
    """
    if first == last or (first < last) != (factor > 1):
        return [last]
    n_steps = math.ceil(math.log(last / first) / math.log(factor) - 1e-9)
    return [first * (last / first) ** (step / n_steps) for step in range(n_steps)] + [last]
