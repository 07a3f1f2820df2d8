"""Annealing: EM while the temperature changes, and clusters that split or merge on the way."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skcooc.em.stages import WARMUP_ITERATIONS, EMStage, EMState, Split, StageSchedule, State
from skcooc.heldout import HeldOut
from skcooc.protocol import Array, Counts, Params, Splittable, Statistics

PERTURBATION = 1e-2  # relative size of the noise that tells two copies apart
SLOW = 1e-2  # of the tolerance: small differences, from which splits grow, hardly move it
DISTINCT = 5e-2  # total variation between copies from which they are clusters of their own
PATIENCE = 10  # legs that do not predict better, once there are clusters: a factor 2.5 in beta
COLDEST = 1.0  # inverse temperature at which a fall begins: maximum likelihood
SPLIT_ITERATIONS = 15  # iterations in which two copies drift apart

Annealing = Callable[
    [EMStage], list[StageSchedule]
]  # a leg that does not begin at its own temperature


@dataclass(frozen=True)
class SplitClusters(StageSchedule):
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

    stage: (
        EMStage  # at every temperature, of an Annealable model; more patient where there are copies
    )
    betas: Sequence[float]  # rising; the last is repeated until no more clusters come apart

    @property
    def model(self) -> Splittable[Params, Statistics]:
        """The model that is annealed."""
        model: Splittable[Params, Statistics] = self.stage.model  # type: ignore[assignment]
        return model

    def begin(self, rng: np.random.Generator) -> State:
        """Where a fit begins, unless it is told: with a single cluster."""
        return single(self.model, self.stage.X, rng)

    def at(self, run: EMState) -> EMStage:
        """The leg under way."""
        beta = self.betas[min(run.number, len(self.betas) - 1)]
        tol = self.stage.tol if run.n_clusters == self.model.n_clusters else SLOW * self.stage.tol
        return replace(self.stage, beta=beta, tol=tol)

    def enter(self, run: EMState, rng: np.random.Generator) -> None:
        """Copies, where clusters are still missing."""
        run.n_clusters = run.state.rows.shape[1]
        if run.n_clusters < self.model.n_clusters:
            run.state = duplicate_components(self.model, run.state, rng)

    def leave(self, run: EMState) -> None:
        """Clusters that have come apart stay apart; the next temperature, or the next part."""
        n_before = run.n_clusters
        self._part(run)
        run.number += 1
        if run.number >= len(self.betas) and run.state.rows.shape[1] == n_before:
            self._pad_with_duplicates(run)
            run.part, run.number = run.part + 1, 0

    def finish(self, run: EMState) -> None:
        """What has come apart when it was stopped."""
        self._part(run)
        self._pad_with_duplicates(run)

    def _part(self, run: EMState) -> None:
        """Join copies, but for those which have drifted apart."""
        k, beta, splits = run.n_clusters, self.at(run).beta, run.splits or []
        apart: list[int] = []
        if run.state.rows.shape[1] > k:
            components = self.model.factors(*run.state)[1]
            apart = separated(components[:, :k], components[:, k:])[: self.model.n_clusters - k]
            parts = [(c,) if c in apart else (c, k + c) for c in range(k)]
            run.state = mixed(self.model, run.state, parts + [(k + c,) for c in apart])
        for new, c in enumerate(apart, start=k):
            splits = [*relabel_splits(splits, c, new), Split(beta, ((c,), (new,)))]
        run.splits = splits

    def _pad_with_duplicates(self, run: EMState) -> None:
        """Where fewer clusters have come apart, some of them are there repeatedly."""
        k, n_clusters = run.state.rows.shape[1], self.model.n_clusters
        run.state = mixed(self.model, run.state, [(c % k,) for c in range(n_clusters)])
        for twin in range(k, n_clusters):
            run.splits = relabel_splits(run.splits or [], twin % k, twin)


@dataclass(frozen=True)
class GrowClusters(SplitClusters):
    """Splitting that ends with as many clusters as there are good reasons for.

    It ends where all are there, or where they no longer predict held-out observations better, with
    what predicted best.
    """

    judge: HeldOut | None = None  # None knows no reason against more clusters

    def leave(self, run: EMState) -> None:
        """Keep the best; the next temperature, or the end."""
        n_before = run.n_clusters
        self._part(run)
        run.number += 1
        k, judged = run.state.rows.shape[1], self._heldout_predictions(run)
        spent = run.number >= len(self.betas) and k == n_before
        if k == self.model.n_clusters or judged == PATIENCE or spent:
            run.part, run.splits = run.part + 1, run.best_splits

    def finish(self, run: EMState) -> None:
        """What was best when it was stopped."""
        self._part(run)
        self._heldout_predictions(run)
        run.splits = run.best_splits

    def _heldout_predictions(self, run: EMState) -> int:
        """Number of legs since the best."""
        if self.judge is not None:
            if not run.splits:
                run.validation = None  # one cluster is no rival
            run.judge(self.judge(self.model, *run.state), run.history[-1].beta)
        if run.since_best == 0:
            run.best, run.best_splits = run.state, run.splits
        return run.since_best


def duplicate_components(
    model: Splittable[Params, Statistics], state: State, rng: np.random.Generator
) -> State:
    """Two copies of every cluster, c and K + c, a little apart."""
    k = state.rows.shape[1]
    pairs = mixed(model, state, [(c % k,) for c in range(2 * k)])
    return pairs._replace(params=model.perturb(pairs.params, rng, PERTURBATION))


def single(model: Splittable[Params, Statistics], X: Counts, rng: np.random.Generator) -> State:
    """One cluster, or component, made of all random ones."""
    state = State(*model.random(X, rng))
    return mixed(model, state, [tuple(range(state.rows.shape[1]))])


def mixed(
    model: Splittable[Params, Statistics], state: State, parts: Sequence[tuple[int, ...]]
) -> State:
    """Clusters that join these parts; what is in several parts is divided evenly among them."""
    shares = np.zeros((state.rows.shape[1], len(parts)))
    for new, part in enumerate(parts):
        shares[list(part), new] = 1
    shares /= shares.sum(axis=1, keepdims=True)
    shares = shares.astype(state.rows.dtype)
    return State(model.mixed(state.params, shares), state.rows @ shares)


def separated(components: Array, copies: Array) -> list[int]:
    """The clusters that differ from their copies, both (M, K), those that differ most first."""
    distances = np.abs(components - copies).sum(axis=0) / 2
    order = np.argsort(-distances, kind="stable")
    return order[distances[order] > DISTINCT].tolist()


def relabel_splits(splits: Sequence[Split], companion: int, new: int) -> list[Split]:
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


@dataclass(frozen=True)
class DecreasingBeta(StageSchedule):
    """EM at a falling sequence of inverse temperatures, each from where the one before has ended.

    Where nothing is held out, the temperatures on the way have a few iterations each, the last as
    many as it needs: what has become zero near beta = 1 stays so, and in single precision most
    probabilities do if EM goes on until it converges there. Where something is held out, a
    temperature ends where it is no longer predicted better, the next goes on from what predicted
    best, and one that does not improve on it is the last: tempered EM, T. Hofmann, Machine Learning
    42, 177-196, 2001.
    """

    stage: EMStage  # at the last temperature
    betas: Sequence[float]  # falling

    def at(self, run: EMState) -> EMStage:
        """The leg under way."""
        number, last = run.number, len(self.betas) - 1
        if number >= last:
            return self.stage
        on_the_way = replace(self.stage, beta=self.betas[number])
        if self.stage.heldout is not None:
            return on_the_way
        return replace(on_the_way, max_iter=min(WARMUP_ITERATIONS, self.stage.max_iter))

    def enter(self, run: EMState, rng: np.random.Generator) -> None:
        """From what predicted best, with new patience."""
        run.state, run.since_best = run.best or run.state, 0

    def leave(self, run: EMState) -> None:
        """The next temperature, unless it has come to nothing."""
        in_vain = run.best is not None and run.since_best == run.n_iter
        run.number += 1
        if in_vain or run.number == len(self.betas):
            run.part, run.number = run.part + 1, 0


def decreasing_beta(factor: float) -> Annealing:
    """From beta = 1, each temperature this times the one before."""
    return lambda stage: [DecreasingBeta(stage, path(max(COLDEST, stage.beta), stage.beta, factor))]


def increasing_beta(factor: float, critical_beta: Callable[[Counts], float]) -> Annealing:
    """From the critical temperature of the table, where there is one cluster, which splits."""

    def rise(stage: EMStage) -> list[StageSchedule]:
        betas = path(critical_beta(stage.X), stage.beta, factor)
        return [SplitClusters(replace(stage, heldout=None), betas), stage]

    return rise


def annealing_schedule(
    factor: float | None, critical_beta: Callable[[Counts], float]
) -> Annealing | None:
    """Rising by a factor above 1, falling by one below, or, without any, neither."""
    if factor is None:
        return None
    return increasing_beta(factor, critical_beta) if factor > 1 else decreasing_beta(factor)


def split_start_schedule(factor: float | None) -> tuple[float | None, Annealing | None]:
    """Split ``annealing`` into the factor of the start and the schedule of the model.

    Models without splits anneal only the clusters with which they start.
    """
    if factor is None or factor > 1:
        return factor, None
    return None, decreasing_beta(factor)


@dataclass(frozen=True)
class SplitComponents(StageSchedule):
    """EM that begins with fewer components than its model has, and splits some of them.

    All are replaced by two copies, which EM drives apart for a few iterations. Then as many as are
    missing stay two, those first whose copies are large and far from each other; the copies of all
    others are joined again. Where more than twice as many are asked for, this is done repeatedly.
    """

    stage: EMStage  # of an Annealable model

    @property
    def model(self) -> Splittable[Params, Statistics]:
        """The model with all components."""
        model: Splittable[Params, Statistics] = self.stage.model  # type: ignore[assignment]
        return model

    def begin(self, rng: np.random.Generator) -> State:
        """Where a fit begins, unless it is told: with a single component."""
        return single(self.model, self.stage.X, rng)

    def at(self, run: EMState) -> EMStage:
        """The leg under way."""
        return replace(self.stage, max_iter=min(SPLIT_ITERATIONS, self.stage.max_iter), tol=0.0)

    def enter(self, run: EMState, rng: np.random.Generator) -> None:
        """Two copies of each."""
        run.n_clusters = run.state.rows.shape[1]
        run.state = duplicate_components(self.model, run.state, rng)

    def leave(self, run: EMState) -> None:
        """As many as are missing are split; the next part, once all are there."""
        self.finish(run)
        if run.state.rows.shape[1] == self.model.n_clusters:
            run.part += 1

    def finish(self, run: EMState) -> None:
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


def merge_components(model: Splittable[Params, Statistics], state: State, n: int) -> State:
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
