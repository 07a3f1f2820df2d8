"""Annealing: EM while the temperature changes, and clusters that split or merge on the way."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from skcooc.em.stages import EMStage, EMState, Runner, Split, StageSchedule, State, Variation
from skcooc.em.warmup import WARMUP_ITERATIONS
from skcooc.heldout import HeldOut
from skcooc.protocol import Array, Counts, Params, Splittable, Statistics

PERTURBATION = 1e-2  # relative size of the noise that tells two copies apart
SLOW = 1e-2  # of the tolerance: small differences, from which splits grow, hardly move it
DISTINCT = 5e-2  # total variation between copies from which they are clusters of their own
PATIENCE = 10  # stages that do not predict better, once there are clusters: a factor 2.5 in beta
COLDEST = 1.0  # inverse temperature at which a fall begins: maximum likelihood
SPLIT_ITERATIONS = 15  # iterations in which two copies drift apart


class SplitSchedule(StageSchedule):
    """Stages of a Splittable model."""

    @property
    def model(self) -> Splittable[Params, Statistics]:
        return cast(Splittable[Params, Statistics], self.stage.model)

    def merge_copies(self, run: EMState, apart: Sequence[int]) -> None:
        """Merge clusters with their copies, except those that have separated."""
        k = run.n_clusters
        parts = [(c,) if c in apart else (c, k + c) for c in range(k)]
        run.state = mix_components(self.model, run.state, parts + [(k + c,) for c in apart])


@dataclass(frozen=True)
class SplitClusters(SplitSchedule):
    """EM at rising inverse temperatures, beginning with a single cluster.

    At every temperature each cluster is replaced by two copies with a little noise. Above the
    critical temperature of the cluster they come together again; below it they drift apart, and
    the cluster splits. Its parts may split at the next temperature. See Rose, Gurewitz and Fox,
    Phys. Rev. Lett. 65, 1990; Pereira, Tishby and Lee, ACL 1993; Hofmann & Puzicha (1998), section
    5.1. Copies must separate within one stage: to wait longer finds splits earlier, but wrong ones.
    """

    stage: EMStage  # at every temperature, of a Splittable model; more patient with copies
    betas: Sequence[float]  # rising; the last is repeated until no more clusters come apart

    def current_stage(self, run: EMState) -> EMStage:
        beta = self.betas[min(run.number, len(self.betas) - 1)]
        tol = self.stage.tol if run.n_clusters == self.model.n_clusters else SLOW * self.stage.tol
        return replace(self.stage, beta=beta, tol=tol)

    def enter(self, run: EMState, rng: np.random.Generator) -> None:
        run.n_clusters = run.state.rows.shape[1]
        if run.n_clusters < self.model.n_clusters:
            run.state = duplicate_components(self.model, run.state, rng)

    def leave(self, run: EMState) -> None:
        n_before = run.n_clusters
        self._part(run)
        run.number += 1
        if run.number >= len(self.betas) and run.state.rows.shape[1] == n_before:
            self._pad_with_duplicates(run)
            super().leave(run)

    def finish(self, run: EMState) -> None:
        self._part(run)
        self._pad_with_duplicates(run)

    def _part(self, run: EMState) -> None:
        k = run.n_clusters
        beta = self.current_stage(run).beta
        splits = run.splits or []
        apart: list[int] = []
        if run.state.rows.shape[1] > k:
            components = self.model.factors(*run.state)[1]
            apart = separated(components[:, :k], components[:, k:])[: self.model.n_clusters - k]
            self.merge_copies(run, apart)
        for new, c in enumerate(apart, start=k):
            splits = [*relabel_splits(splits, c, new), Split(beta, ((c,), (new,)))]
        run.splits = splits

    def _pad_with_duplicates(self, run: EMState) -> None:
        k = run.state.rows.shape[1]
        n_clusters = self.model.n_clusters
        run.state = mix_components(self.model, run.state, [(c % k,) for c in range(n_clusters)])
        for twin in range(k, n_clusters):
            run.splits = relabel_splits(run.splits or [], twin % k, twin)


@dataclass(frozen=True)
class GrowClusters(SplitClusters):
    """Splits that end where more clusters no longer predict held-out tokens better.

    The result is what predicted best.
    """

    judge: HeldOut | None = None  # None: no reason against more clusters

    def leave(self, run: EMState) -> None:
        n_before = run.n_clusters
        self._part(run)
        run.number += 1
        self._validate(run)
        k = run.state.rows.shape[1]
        spent = run.number >= len(self.betas) and k == n_before
        if k == self.model.n_clusters or run.since_best == PATIENCE or spent:
            run.splits = run.best_splits
            StageSchedule.leave(self, run)

    def finish(self, run: EMState) -> None:
        self._part(run)
        self._validate(run)
        run.splits = run.best_splits

    def _validate(self, run: EMState) -> None:
        """Validate the present state, and keep it if it is the best."""
        if self.judge is not None:
            if not run.splits:
                run.validation = None  # one cluster is no rival
            run.judge(self.judge(self.model, *run.state), run.history[-1].beta)
        if run.since_best == 0:
            run.best = run.state
            run.best_beta = run.history[-1].beta
            run.best_splits = run.splits


def duplicate_components(
    model: Splittable[Params, Statistics], state: State, rng: np.random.Generator
) -> State:
    """Return two copies of every cluster, c and K + c, with a little noise."""
    k = state.rows.shape[1]
    pairs = mix_components(model, state, [(c % k,) for c in range(2 * k)])
    return pairs._replace(params=model.perturb(pairs.params, rng, PERTURBATION))


def mix_components(
    model: Splittable[Params, Statistics], state: State, parts: Sequence[tuple[int, ...]]
) -> State:
    """Return clusters that merge these parts; what is in several parts is divided evenly."""
    shares = np.zeros((state.rows.shape[1], len(parts)))
    for new, part in enumerate(parts):
        shares[list(part), new] = 1
    shares /= shares.sum(axis=1, keepdims=True)
    shares = shares.astype(state.rows.dtype)
    return State(model.mix_components(state.params, shares), state.rows @ shares)


def separated(components: Array, copies: Array) -> list[int]:
    """Return the clusters that differ from their copies, both (M, K), most different first."""
    distances = np.abs(components - copies).sum(axis=0) / 2
    order = np.argsort(-distances, kind="stable")
    return order[distances[order] > DISTINCT].tolist()


def relabel_splits(splits: Sequence[Split], companion: int, new: int) -> list[Split]:
    """Return the splits with a new cluster wherever its companion is.

    >>> relabel_splits([Split(0.1, ((0,), (1,)))], 1, 2)
    [Split(beta=0.1, parts=((0,), (1, 2)))]
    """
    return [
        Split(beta, tuple((*part, new) if companion in part else part for part in parts))
        for beta, parts in splits
    ]


def path(first: float, last: float, factor: float) -> list[float]:
    """Inverse temperatures from first to last, in equal steps of at most this factor.

    Only the last where the factor leads away from it.

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
    """EM at falling inverse temperatures, each from where the one before has ended.

    Where nothing is held out, the temperatures on the way have a few iterations each: what becomes
    zero near beta = 1 stays zero. Where tokens are held out, a temperature ends when they are no
    longer predicted better, the next starts from the best state, and one without any gain is the
    last: tempered EM, T. Hofmann, Machine Learning 42, 177-196, 2001.
    """

    stage: EMStage  # at the last temperature
    betas: Sequence[float]  # falling

    def current_stage(self, run: EMState) -> EMStage:
        if run.number >= len(self.betas) - 1:
            return self.stage
        stage = replace(self.stage, beta=self.betas[run.number])
        if stage.heldout is not None:
            return stage
        return replace(stage, max_iter=min(WARMUP_ITERATIONS, stage.max_iter))

    def enter(self, run: EMState, rng: np.random.Generator) -> None:
        run.state = run.best or run.state
        run.since_best = 0

    def leave(self, run: EMState) -> None:
        in_vain = run.best is not None and run.since_best == run.n_iter
        run.number += 1
        if in_vain or run.number == len(self.betas):
            super().leave(run)


def decreasing_beta(stage: EMStage, factor: float) -> list[StageSchedule]:
    """Anneal from beta = 1 to a stage, each temperature this times the one before."""
    return [DecreasingBeta(stage, path(max(COLDEST, stage.beta), stage.beta, factor))]


def increasing_beta(
    stage: EMStage, factor: float, critical_beta: Callable[[Counts], float]
) -> list[StageSchedule]:
    """Anneal from the critical temperature of the table, with one cluster, which splits."""
    betas = path(critical_beta(stage.X), stage.beta, factor)
    splitting = replace(stage, heldout=None, start=one_cluster_start)
    return [SplitClusters(splitting, betas), stage]


def one_cluster_start(
    model: Splittable[Params, Statistics], X: Counts, rng: np.random.Generator, runner: Runner
) -> State:
    """Return a single cluster made of all random ones."""
    state = State(*model.start(X, rng))
    return mix_components(model, state, [tuple(range(state.rows.shape[1]))])


@dataclass(frozen=True)
class Annealed(Variation):
    """The first stage comes to its temperature: from above, where clusters split, or from below."""

    factor: float  # above 1 beta rises, below it falls
    critical_beta: Callable[[Counts], float] = lambda X: COLDEST  # at which a rise begins
    in_short: Variation | None = None  # of short fits, whose temperature is fixed

    def in_short_fits(self, X: Counts, *, chosen: bool) -> Variation | None:
        return self.in_short

    def apply(
        self, stages: list[StageSchedule], X: Counts, values: Mapping[str, Any]
    ) -> list[StageSchedule]:
        first = stages[0].stage
        if self.factor > 1:
            return [*increasing_beta(first, self.factor, self.critical_beta), *stages[1:]]
        return [*decreasing_beta(first, self.factor), *stages[1:]]


def split_annealing(factor: float | None) -> tuple[float | None, float | None]:
    """Return the factor by which the beta of a model falls, and that by which its start's rises.

    Models without splits anneal only the clusters with which they start.
    """
    if factor is None or factor > 1:
        return None, factor
    return factor, None


@dataclass(frozen=True)
class SplitComponents(SplitSchedule):
    """EM that begins with fewer components than its model has, and splits some of them.

    All are duplicated, and EM separates the copies for a few iterations. The copies of as many as
    are missing are kept, large and different ones first; others are merged again. This is repeated
    where more than twice as many components are wanted.
    """

    stage: EMStage  # of a Splittable model

    def current_stage(self, run: EMState) -> EMStage:
        n_iter = min(SPLIT_ITERATIONS, self.stage.max_iter)
        return replace(self.stage, max_iter=n_iter, tol=-np.inf)  # the objective may rise

    def enter(self, run: EMState, rng: np.random.Generator) -> None:
        run.n_clusters = run.state.rows.shape[1]
        run.state = duplicate_components(self.model, run.state, rng)

    def leave(self, run: EMState) -> None:
        self.finish(run)
        if run.state.rows.shape[1] == self.model.n_clusters:
            super().leave(run)

    def finish(self, run: EMState) -> None:
        n_missing = self.model.n_clusters - run.n_clusters
        components = self.model.factors(*run.state)[1]
        self.merge_copies(run, farthest(components, run.state.params.weights, n_missing))


def farthest(components: Array, weights: Array, n: int) -> list[int]:
    """Return the n components c of k that differ most from their copies k + c.

    By total variation of columns of (M, 2 k), times the harmonic sum of the two weights.
    """
    k = len(weights) // 2
    distances = np.abs(components[:, :k] - components[:, k:]).sum(axis=0) / 2
    first = weights[:k]
    second = weights[k:]
    total = np.maximum(first + second, np.finfo(weights.dtype).tiny)
    return np.argsort(-distances * first * second / total, kind="stable")[:n].tolist()


def merge_components(model: Splittable[Params, Statistics], state: State, n: int) -> State:
    """Return n components: the most similar ones are merged."""
    return mix_components(
        model, state, cheapest_merges(model.factors(*state)[1], state.params.weights, n)
    )


def cheapest_merges(components: Array, weights: Array, n: int) -> list[tuple[int, ...]]:
    """Return groups of components, (M, K), that make n new ones: the cheapest pairs merge in turn.

    The cost is the squared Hellinger distance, times the harmonic sum of the two weights.
    """
    groups: list[tuple[int, ...]] = [(c,) for c in range(len(weights))]
    shares = weights.astype(np.float64)
    P = components.T.astype(np.float64)
    while len(groups) > n:
        roots = np.sqrt(P)
        totals = np.maximum(shares[:, None] + shares, np.finfo(np.float64).tiny)
        costs = (1 - roots @ roots.T) * shares[:, None] * shares / totals
        costs[np.tril_indices(len(groups))] = np.inf
        first, second = divmod(int(costs.argmin()), len(groups))
        P[first] += shares[second] / totals[first, second] * (P[second] - P[first])
        shares[first] += shares[second]
        groups[first] += groups[second]
        P = np.delete(P, second, axis=0)
        shares = np.delete(shares, second)
        del groups[second]
    return groups
