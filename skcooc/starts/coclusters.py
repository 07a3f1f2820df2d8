"""Starts of co-clusters: merges, random divisions and exchanges by an integrated likelihood."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple, Self, TypeGuard, cast

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import digamma, gammaln, rel_entr

from skcooc.counts import CSRCounts
from skcooc.em.stages import EMStage, PlainRunner, Runner, State
from skcooc.equations.coclusters import CoClusters, log_association
from skcooc.equations.memberships import ObjectWeights, row_factors, weight_unit
from skcooc.loops.coclusters import count_blocks, exchange_items, merge_gains
from skcooc.protocol import Array, Block, Counts, Rows
from skcooc.simplex import first_largest
from skcooc.starts import sampled_rows, short_stage
from skcooc.starts.clusters import cocluster_start

A = 0.5  # pseudo-count of a pair of clusters, and of a cluster: Jeffreys' prior
TABLE_SIZE = 2**16  # whole counts below have their log Gamma in a table
LARGEST_START = 16  # clusters of a side, where their numbers are not given
WIDE = 2, 4  # clusters of the first states for each one that is asked for
MERGED = 0.5  # share of the clusters in excess that are merged at a time
FIRST_SWEEPS, SWEEPS, LAST_SWEEPS = 8, 1, 10  # before, between and after merges
FEW = 1e-3  # share of items that still move once exchanges have settled
DIVIDED = 0.25, 0.5, 1.0  # shares of clusters that a try divides
AXES = (0,), (1,), (0, 1)
MAX_DIVISIONS = 6  # of the tries
MAX_TRIES = 12  # without a gain, after which a search has converged
MAX_ITER, TOL = 20, 1e-6
WORK = 2**18  # non-zeros in all iterations, or in all tries of one; at least two of these are made
SIZES_WORK = 8  # times this work where numbers are searched
SAMPLED_WORK, MIN_SAMPLED_ROWS = 2**21, 2**12  # non-zeros and rows to search a larger table in
LEAST_GAIN = 1e-6  # nats: less is rounding
BLUR = 0.2  # share of uniform posteriors in those with which soft clusters begin
LEAST_B = 2.0  # concentration of frequencies in clusters, above which these are a cluster's own
LOG_B = -5.0, 8.0  # range of the logarithms of concentrations of frequencies
LARGEST_LOSS = 0.15  # share of the mutual information that discounts for bursty rows may cost
LARGEST_CONCENTRATION = 1000.0  # of bursty rows: in others tokens repeat by chance


class Frequencies(NamedTuple):
    """Prior of how frequent the items of one side are in their clusters."""

    b: float = 0.0  # concentration; 0: frequencies are given, and do not tell clusters
    evidence: float = 0.0  # the part that does not depend on clusters, less that if they are given


GIVEN = Frequencies(), Frequencies()
NEARLY_EQUAL = Frequencies(20.0)  # with which some clusters begin


class Merge(NamedTuple):
    """Two clusters of one side become one, which keeps the smaller number."""

    axis: int  # 0: rows, 1: columns
    first: int
    second: int
    loss: float  # nats of the evidence; negative where merging is a gain


class Side(NamedTuple):
    """The rows of a table, or its columns."""

    indptr: Array
    indices: Array
    data: Array
    weights: Array  # (N,): how often each counts
    items: Array  # those that have tokens


class TwoSides(NamedTuple):
    """A table of float64 counts by rows and by columns, so that one loop serves both."""

    rows: Side
    columns: Side
    are_whole: bool  # counts and weights
    frequencies: tuple[Frequencies, Frequencies] = GIVEN

    @classmethod
    def of_block(
        cls,
        X: CSRCounts,
        object_weights: ObjectWeights = "counts",
        concentration: float = np.inf,
    ) -> Self:
        """Return the table, with rows counted by their weights.

        A number below 1 counts as a token, on average. Tokens that repeat others in rows of this
        concentration count less.
        """
        weights = X.row_weights.astype(np.float64)
        factors = weights / X.mean_count_weight
        if object_weights != "counts":
            unit = weight_unit(X, object_weights)
            factors = factors * row_factors(X, object_weights, unit)[:, 0]
        data = first_tokens(X, concentration) * np.repeat(factors, np.diff(X.indptr))
        indptr, indices, order = X.views.columns.structure
        are_whole = not (data % 1).any() and not (weights % 1).any()
        rows = _side(X.indptr, X.indices, data, weights)
        columns = _side(indptr, indices, data[order], np.ones(X.shape[1]))
        return cls(rows, columns, are_whole)


def first_tokens(X: CSRCounts, concentration: float) -> Array:
    """Return the expected number of tokens of each non-zero that repeat no other of their row.

    Rows are drawn from a Dirichlet compound multinomial (DCM) with the unigram as its mean. From an
    infinite concentration all tokens are drawn anew.
    """
    counts = X.data.astype(np.float64)
    if np.isinf(concentration):
        return counts
    share = concentration * (X.column_sums / X.column_sums.sum())[X.indices]
    return share * (digamma(share + counts) - digamma(share))


def _side(indptr: Array, indices: Array, data: Array, weights: Array) -> Side:
    places = np.repeat(np.arange(len(weights)), np.diff(indptr))
    items = np.flatnonzero(np.bincount(places, data, len(weights)))
    return Side(indptr, indices, data, weights, items)


@lru_cache(128)
def log_gammas(a: float, are_whole: bool) -> Array:
    """log Gamma(n + a) of whole n; empty where counts are not whole."""
    return gammaln(np.arange(TABLE_SIZE) + a) if are_whole else np.empty(0)


class Blocks:
    """Counts of pairs of clusters, and the evidence for them.

    With the tokens J (C, D) of pairs, t (C,) and t' (D,) of clusters, and their sizes s and s'

        ICL = log DM(J; a) - log DM(t; a D) - log DM(t'; a C) + log DM(s; a) + log DM(s'; a),

    where DM is the Dirichlet-multinomial evidence of a sequence. Its first part is the Bayes factor
    of P(x) P(y) c_cd against independence: how frequent an item is does not tell its cluster. It
    does on a side where the frequencies of the items of a cluster have a concentration b > 0. They
    are integrated out: sum_c log Gamma(b s_c) - log Gamma(b s_c + t_c) is in place of
    - log DM(t; a D).
    """

    def __init__(
        self,
        J: Array,
        sizes: tuple[Array, Array],
        are_whole: bool,
        frequencies: tuple[Frequencies, Frequencies] = GIVEN,
    ) -> None:
        self.J = J
        self.sizes = sizes
        self.are_whole = are_whole
        self.frequencies = frequencies

    @property
    def icl(self) -> float:
        value = self._of_numbers(self.J.shape) + sum(side.evidence for side in self.frequencies)
        for n in (self.J, *self.sizes):
            value += (gammaln(n + A) - gammaln(A)).sum()
        return float(value)

    def _of_numbers(self, shape: tuple[int, ...]) -> float:
        """The terms with the numbers of clusters, for other numbers, with the sums as they are."""
        C, D = shape
        of_pairs = gammaln(C * D * A) - gammaln(C * D * A + self.J.sum())
        value = of_pairs
        for axis, (n, n_others) in enumerate(((C, D), (D, C))):
            t = self.J.sum(axis=1 - axis)
            b = self.frequencies[axis].b
            g = b * self.sizes[axis]
            if b == 0:
                g = np.full(len(t), A * n_others)
                value -= of_pairs
            value += (gammaln(g) - gammaln(t + g)).sum()
            value += gammaln(n * A) - gammaln(n * A + self.sizes[axis].sum())
        return float(value)

    def prior(self, axis: int) -> tuple[float, float, float, Array, Array]:
        """a, g and b of the clusters of one side, with tables of log Gamma(n + a), (n + g)."""
        b = self.frequencies[axis].b
        g = A * self.J.shape[1 - axis] if b == 0 else 1.0
        return A, g, b, log_gammas(A, self.are_whole), log_gammas(g, self.are_whole)

    def merge_gains(self) -> Array:
        """What each merge adds to the ICL, (C^2 + D^2,); minus infinity where there is none."""
        gains = []
        value = self._of_numbers(self.J.shape)
        for axis in (0, 1):
            J = np.ascontiguousarray(self.J if axis == 0 else self.J.T)
            n = len(J)
            of_axis = np.full((n, n), -np.inf)
            if n > 1:
                cells = gammaln(J + A)
                prior = self.prior(axis)
                merge_gains(J, J.sum(axis=1), self.sizes[axis], *prior, cells, of_axis)
                fewer = list(self.J.shape)
                fewer[axis] -= 1
                of_axis += self._of_numbers(tuple(fewer)) - value
            gains.append(of_axis.ravel())
        return np.concatenate(gains)

    def pair(self, place: int) -> tuple[int, int, int]:
        """Axis and clusters of a merge, by its place in the gains."""
        C, D = self.J.shape
        axis = int(place >= C * C)
        return (axis, *divmod(place - axis * C * C, (C, D)[axis]))

    def merged(self, groups: tuple[Array, Array]) -> Self:
        """Return blocks of clusters in groups, numbered from 0, (C,) and (D,)."""
        R, S = (np.eye(group.max() + 1)[group] for group in groups)
        J = R.T @ self.J @ S
        sizes = self.sizes[0] @ R, self.sizes[1] @ S
        return type(self)(J, sizes, self.are_whole, self.frequencies)

    def tree(self) -> list[Merge]:
        """All merges down to one cluster of each side, each the best at its time."""
        names = [np.arange(n) for n in self.J.shape]
        blocks = self
        merges = []
        while blocks.J.size > 1:
            gains = blocks.merge_gains()
            place = int(gains.argmax())
            axis, first, second = blocks.pair(place)
            merges.append(
                Merge(axis, int(names[axis][first]), int(names[axis][second]), -float(gains[place]))
            )
            groups = [np.arange(n) for n in blocks.J.shape]
            groups[axis] = _joined(len(names[axis]), [(first, second)])
            names[axis] = np.delete(names[axis], second)
            blocks = blocks.merged((groups[0], groups[1]))
        return merges


def _joined(n: int, pairs: list[tuple[int, int]]) -> Array:
    """Groups of n clusters, numbered from 0, where these pairs are joined."""
    groups = np.arange(n)
    for first, second in pairs:
        groups[second] = first
    return np.unique(groups, return_inverse=True)[1]


class Partition:
    """Clusters of the items of both sides."""

    def __init__(self, X: TwoSides, row_labels: Array, column_labels: Array) -> None:
        self.X = X
        self.labels = [
            _numbered(labels, side.items)
            for labels, side in zip((row_labels, column_labels), X[:2], strict=True)
        ]
        C, D = (int(labels.max()) + 1 for labels in self.labels)
        J = np.zeros((C, D))
        count_blocks(*X.rows[:3], *self.labels, J)
        sizes = [
            np.bincount(labels[side.items], side.weights[side.items], n)
            for labels, side, n in zip(self.labels, X[:2], (C, D), strict=True)
        ]
        self.blocks = Blocks(J, (sizes[0], sizes[1]), X.are_whole, X.frequencies)

    @property
    def mutual_information(self) -> float:
        """Of the clusters of rows and those of columns, in nats."""
        P = self.blocks.J / self.blocks.J.sum()
        return float(np.sum(rel_entr(P, np.outer(P.sum(axis=1), P.sum(axis=0)))))

    @property
    def shape(self) -> tuple[int, int]:
        C, D = self.blocks.J.shape
        return C, D

    def settled(self, rng: np.random.Generator, n_sweeps: int, keep: bool) -> Partition:
        """Return the clusters after exchanges on either side, until hardly an item moves.

        With ``keep`` no cluster becomes empty.
        """
        labels = [side.copy() for side in self.labels]
        J = self.blocks.J.copy()
        few = FEW * sum(len(side.items) for side in self.X[:2])
        for _ in range(n_sweeps):
            n_moved = 0
            for axis, side in enumerate(self.X[:2]):
                table = np.ascontiguousarray(J if axis == 0 else J.T)
                n, n_others = table.shape
                labels_of_items = labels[axis][side.items]
                sizes = np.bincount(labels_of_items, side.weights[side.items], n)
                n_moved += exchange_items(
                    *side[:3],
                    rng.permutation(side.items),
                    side.weights,
                    labels[axis],
                    labels[1 - axis],
                    table,
                    table.sum(axis=1),
                    sizes,
                    np.bincount(labels_of_items, minlength=n),
                    *self.blocks.prior(axis),
                    keep,
                    gammaln(table + A),
                    np.empty(n),
                    np.zeros(n_others),
                    np.empty(n_others, dtype=np.intp),
                )
                J = table if axis == 0 else table.T
            if n_moved <= few:
                break
        return Partition(self.X, *labels)

    def merged(self, sizes: tuple[int, int] | None) -> Partition | None:
        """Return clusters with a part of the excess merged, or a part of the pairs that gain.

        None where nothing is to be merged.
        """
        excess = [n - least for n, least in zip(self.shape, sizes or (1, 1), strict=True)]
        room = [max(1, int(MERGED * n)) if n > 0 else 0 for n in excess]
        pairs: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
        gains = self.blocks.merge_gains()
        merging: set[tuple[int, int]] = set()
        for place in np.argsort(-gains, kind="stable").tolist():
            if not any(room) or gains[place] == -np.inf or (sizes is None and gains[place] <= 0):
                break
            axis, first, second = self.blocks.pair(place)
            if room[axis] and not {(axis, first), (axis, second)} & merging:
                merging |= {(axis, first), (axis, second)}
                pairs[axis].append((first, second))
                room[axis] -= 1
        if not merging:
            return None
        groups = [_joined(n, of_axis) for n, of_axis in zip(self.shape, pairs, strict=True)]
        rows, columns = (group[labels] for group, labels in zip(groups, self.labels, strict=True))
        return Partition(self.X, rows, columns)

    def reduced(self, rng: np.random.Generator, sizes: tuple[int, int] | None) -> Partition:
        """Return clusters merged, with exchanges in between, to these numbers.

        If these are None, as long as the ICL rises.
        """
        keep = sizes is not None
        partition = self.settled(rng, FIRST_SWEEPS, keep)
        while (merged := partition.merged(sizes)) is not None:
            partition = merged.settled(rng, SWEEPS, keep)
        return partition.settled(rng, LAST_SWEEPS, keep=True)

    def divided(self, rng: np.random.Generator) -> Partition:
        """Return clusters of which some, of one side or both, are divided at random.

        The more tokens a cluster has, the more often it is divided.
        """
        share = rng.choice(DIVIDED)
        sides = list(self.labels)
        for axis in AXES[rng.integers(len(AXES))]:
            labels, n = self.labels[axis], self.shape[axis]
            tokens = self.blocks.J.sum(axis=1 - axis)
            n_chosen = max(1, round(share * n))
            chosen = rng.choice(n, n_chosen, replace=False, p=tokens / tokens.sum())
            moved = np.isin(labels, chosen) & (rng.random(len(labels)) < 0.5)
            sides[axis] = np.where(moved, labels + n, labels)
        return Partition(self.X, *sides)


def _numbered(labels: Array, items: Array) -> Array:
    """Labels from 0 without gaps; those of other items mean nothing."""
    numbers = np.zeros(len(labels), dtype=np.intp)
    numbers[items] = np.unique(labels[items], return_inverse=True)[1]
    return numbers


def random_partition(X: TwoSides, sizes: tuple[int, int], rng: np.random.Generator) -> Partition:
    """Return random clusters of about equal size; fewer where there are fewer items."""
    sides = []
    for side, n in zip(X[:2], sizes, strict=True):
        labels = np.zeros(len(side.weights), dtype=np.intp)
        labels[side.items] = rng.permutation(np.arange(len(side.items)) % n)
        sides.append(labels)
    return Partition(X, *sides)


def best_frequencies(partition: Partition, axis: int) -> Frequencies:
    """Return the prior of the frequencies n of the items of one side with the highest evidence.

    It is log DM(n; b') - log DM(t; a D) where they are given, with one distribution of all items,
    and sum_c log DM(n of c; b) where clusters differ. The latter needs a large b: items of a
    cluster that are about equally frequent. Those of words, as uneven as by Zipf's law, are not:
    they would be divided into frequent and rare ones.
    """
    side = partition.X[:2][axis]
    weights = side.weights[side.items]
    n_items = len(side.weights)
    places = np.repeat(np.arange(n_items), np.diff(side.indptr))
    n = np.bincount(places, side.data, n_items)[side.items] / weights
    sizes = partition.blocks.sizes[axis]
    totals = partition.blocks.J.sum(axis=1 - axis)

    def of_items(b: float) -> float:
        return float(weights @ (gammaln(b + n) - gammaln(b)))

    def of_clusters(b: float, s: Array, t: Array) -> float:
        return float(np.sum(gammaln(b * s) - gammaln(b * s + t)))

    def fitted(s: Array, t: Array) -> float:
        result = minimize_scalar(
            lambda log_b: -of_items(np.exp(log_b)) - of_clusters(np.exp(log_b), s, t),
            bounds=LOG_B,
            method="bounded",
        )
        return float(np.exp(result.x))

    one = fitted(sizes.sum(), totals.sum())
    given = of_items(one) + of_clusters(one, sizes.sum(), totals.sum())
    g = A * partition.shape[1 - axis]
    n_pairs = A * partition.blocks.J.size
    chance = gammaln(n_pairs) - gammaln(n_pairs + totals.sum())
    chance += np.sum(gammaln(g + totals) - gammaln(g))
    b = fitted(sizes, totals)
    if b > LEAST_B and of_items(b) + of_clusters(b, sizes, totals) > given - chance:
        return Frequencies(b, of_items(b) - given)
    return Frequencies()


def with_best_frequencies(partition: Partition) -> Partition:
    """Return the same clusters with the priors of frequencies that have the highest evidence."""
    rows, columns = (best_frequencies(partition, axis) for axis in (0, 1))
    return Partition(partition.X._replace(frequencies=(rows, columns)), *partition.labels)


def concentration_of_rows(X: CSRCounts, partition: Partition) -> float:
    """Return the concentration of a DCM of rows, by its moments; infinite if they are not bursty.

    With p = P(y given the cluster of x), sum n_ij (n_ij - 1) is expected to be n_i (n_i - 1) times
    sum_j p_j^2 + (1 - sum_j p_j^2) / (1 + concentration).
    """
    if not partition.X.are_whole:
        return np.inf
    row_labels, column_labels = partition.labels
    J = partition.blocks.J
    shares = X.column_sums / J.sum(axis=0)[column_labels]
    squares = np.bincount(column_labels, shares**2, J.shape[1])
    chances = (J / J.sum(axis=1, keepdims=True)) ** 2 @ squares  # that two tokens are equal
    pairs = X.row_weights * X.row_sums * (X.row_sums - 1)
    n_equal = X.row_weights @ X.sum_rows(X.data * (X.data - 1.0))
    surplus = n_equal - pairs @ chances[row_labels]
    if surplus <= 0:
        return np.inf
    concentration = pairs @ (1 - chances[row_labels]) / surplus - 1
    return concentration if concentration < LARGEST_CONCENTRATION else np.inf


def repeats_associate(partition: Partition, discounted: Partition) -> bool:
    """Whether tokens repeat because clusters are associated, and not because rows are bursty.

    Then clusters of discounted counts explain much less of all counts than others do: on pairs of
    words they lost 16 to 99 % of the mutual information, on documents 1 to 14 %.
    """
    of_all = Partition(partition.X, *discounted.labels)
    return of_all.mutual_information < (1 - LARGEST_LOSS) * partition.mutual_information


@dataclass
class Search:
    """Solver whose iteration raises the ICL of labels: a state has those of columns and of rows.

    The first iteration merges random clusters, 2 and 4 for each one asked for, and takes the best
    result. It finds out whether rows are bursty: then tokens that repeat others count less from
    there on, as they would look like clusters. Priors of frequencies are those with the highest
    evidence for the clusters of each state. Each further iteration divides some clusters of
    either side at random and merges as many, until the ICL is higher. The search has converged
    when none of some tries has gained. Both are fewer in large tables.
    """

    seed: int
    sizes: tuple[int, int] | None = None  # numbers of clusters; None: those with the best ICL
    object_weights: ObjectWeights = "counts"
    discounts: bool = True  # whether tokens that repeat others count less in bursty rows
    integrates: bool = False  # frequencies out, where they tell clusters
    work: int = WORK
    concentration: float = np.inf  # of rows, once it is known
    frequencies: tuple[Frequencies, Frequencies] = GIVEN  # of the last state
    n_iter: int = 0
    pace: float = 1.0
    _table: TwoSides | None = None

    def relocated(self, move: Callable[[Rows], Rows]) -> Self:
        return replace(self, _table=None)

    def __getstate__(self) -> dict[str, object]:
        return vars(self) | {"_table": None}  # a checkpoint needs no copy of it

    def step(self, stage: EMStage, state: State) -> tuple[State, float]:
        X = cast(CSRCounts, stage.X)
        if self._table is None:
            self._table = self._table_of(X)
        rng = np.random.default_rng((self.seed, self.n_iter))
        before = Partition(self._table, state.rows, state.params)
        if any(side.b for side in self.frequencies):
            before = with_best_frequencies(before)
        if self.n_iter > 0:
            after = self._improved(before, rng, min(MAX_TRIES, self.n_affordable(X)))
        else:
            after = self._merged(X, rng)
        if after is before and self.integrates:
            after = with_best_frequencies(before)
        self.n_iter += 1
        self._table = after.X
        self.frequencies = after.X.frequencies
        row_labels, column_labels = after.labels
        return State(column_labels, row_labels), -before.blocks.icl

    def n_affordable(self, X: CSRCounts) -> int:
        """Return the largest number of iterations, and of tries in each."""
        return max(2, self.work // max(1, len(X.data)))

    def _table_of(self, X: CSRCounts) -> TwoSides:
        table = TwoSides.of_block(X, self.object_weights, self.concentration)
        return table._replace(frequencies=self.frequencies)

    def _merged(self, X: CSRCounts, rng: np.random.Generator) -> Partition:
        """Return the best of some random states with too many clusters, which are merged."""
        table = self._table or self._table_of(X)
        first = self._new(table, WIDE[0], rng)
        if self.discounts:
            self.concentration = concentration_of_rows(X, first)
        if np.isfinite(self.concentration):
            discounted = Partition(self._table_of(X), *first.labels).reduced(rng, self.sizes)
            discounted = self._best(discounted, rng)
            if self.sizes is None or not repeats_associate(first, discounted):
                return discounted
            self.concentration = np.inf
        return self._best(first, rng)

    def _best(self, first: Partition, rng: np.random.Generator) -> Partition:
        """Return the best of a state and of others of the same table."""
        states = [first, *(self._new(first.X, factor, rng) for factor in WIDE[1:])]
        return max(states, key=lambda partition: partition.blocks.icl)

    def _new(self, table: TwoSides, factor: int, rng: np.random.Generator) -> Partition:
        """Return random clusters, so many times those that are asked for, merged."""
        sizes = LARGEST_START, LARGEST_START
        if self.sizes is not None:
            sizes = factor * self.sizes[0], factor * self.sizes[1]
        return random_partition(table, sizes, rng).reduced(rng, self.sizes)

    def _new_by_frequency(self, table: TwoSides, rng: np.random.Generator) -> Partition:
        """Return new clusters that begin as if frequencies told them.

        On which side they do is judged after exchanges with frequencies given.
        """
        equal = table._replace(frequencies=(NEARLY_EQUAL, NEARLY_EQUAL))
        labels = self._new(equal, WIDE[-1], rng).labels
        partition = Partition(table._replace(frequencies=GIVEN), *labels)
        settled = with_best_frequencies(partition.settled(rng, SWEEPS, keep=True))
        return with_best_frequencies(settled.reduced(rng, self.sizes))

    def _improved(self, partition: Partition, rng: np.random.Generator, n_tries: int) -> Partition:
        """Return the first try with a higher ICL, or the same partition if there is none.

        In small tables the last tries begin anew.
        """
        least = partition.blocks.icl + LEAST_GAIN
        for number in range(n_tries):
            if number < MAX_DIVISIONS:
                other = partition.divided(rng).reduced(rng, self.sizes)
            elif self.integrates and number % 2:
                other = self._new_by_frequency(partition.X, rng)
            else:
                other = self._new(partition.X, WIDE[-1], rng)
            if other.blocks.icl > least:
                return other
        return partition


def labels_of_search(
    search: Search, model: CoClusters, X: CSRCounts, runner: Runner
) -> tuple[Array, Array]:
    """Return the labels of rows and columns with which a search ends."""
    n_iter = min(MAX_ITER, search.n_affordable(X))
    stage = short_stage(model, X, 1.0, n_iter, TOL, runner)
    rng = np.random.default_rng(search.seed)
    row_labels, column_labels = (
        rng.integers(n, size=size)
        for n, size in zip(search.sizes or (LARGEST_START, LARGEST_START), X.shape, strict=True)
    )
    start = State(column_labels, row_labels)
    column_labels, row_labels = runner.run([stage], rng, search, start).state
    return row_labels, column_labels


def is_searched(X: Counts) -> TypeGuard[CSRCounts]:
    """Whether clusters of a table are those of a search: it needs all tokens in memory."""
    return isinstance(X, CSRCounts)


def search_start(model: CoClusters, X: Counts, rng: np.random.Generator, runner: Runner) -> State:
    """Return the clusters with the best ICL that a search finds; soft ones are blurred.

    A large table is searched in a sample of its rows, before exchanges on all of them. One that is
    not in memory begins with asymmetric clusterings.
    """
    if not is_searched(X):
        return cocluster_start(model, X, rng, runner)
    search = Search(
        int(rng.integers(2**31)),
        (model.n_row_clusters, model.n_column_clusters),
        object_weights=model.object_weights,
        discounts=model.hard,
        integrates=model.hard,
    )
    sample = sampled_rows(X, rng, SAMPLED_WORK, MIN_SAMPLED_ROWS)
    labels = labels_of_search(search, model, sample, runner)
    if sample is not X:
        labels = settled_labels(model, X, rng, most_likely_labels(X, sample, labels))
    return _state_of_labels(model, X, *labels)


def most_likely_labels(
    X: CSRCounts, sample: CSRCounts, labels: tuple[Array, Array]
) -> tuple[Array, Array]:
    """Return the labels of all rows by the clusters of a sample, and those of columns."""
    J = Partition(TwoSides.of_block(sample), *labels).blocks.J + A
    column_clusters = np.eye(J.shape[1])[labels[1]]
    column_clusters[sample.column_sums == 0] = 0
    scores = X.dot(column_clusters) @ log_association(J / J.sum()).T
    return first_largest(scores), labels[1]


def settled_labels(
    model: CoClusters, X: CSRCounts, rng: np.random.Generator, labels: tuple[Array, Array]
) -> tuple[Array, Array]:
    """Return the labels of rows and columns after exchanges.

    Those of hard clusters raise the ICL with which a search of hard clusters ends.
    """
    partition = Partition(TwoSides.of_block(X, model.object_weights), *labels)
    if not model.hard:
        row_labels, column_labels = partition.settled(rng, LAST_SWEEPS, keep=True).labels
        return row_labels, column_labels

    def settled(concentration: float) -> Partition:
        table = TwoSides.of_block(X, model.object_weights, concentration)
        begun = with_best_frequencies(Partition(table, *labels))
        return begun.settled(rng, LAST_SWEEPS, keep=True)

    concentration = concentration_of_rows(X, partition)
    result = settled(concentration)
    if np.isfinite(concentration) and repeats_associate(partition, result):
        result = settled(np.inf)
    row_labels, column_labels = result.labels
    return row_labels, column_labels


def settled_start(
    model: CoClusters,
    X: Counts,
    rng: np.random.Generator,
    runner: Runner,
    state: State,
    equations: CoClusters,
) -> State:
    """Return hard clusters of a fit to other tokens, after exchanges on these.

    Those of a table that is not in memory stay as they are.
    """
    if not is_searched(X):
        return State(model.for_table(state.params, X), state.rows)
    labels = first_largest(state.rows), first_largest(state.params.memberships)
    return _state_of_labels(model, X, *settled_labels(model, X, rng, labels))


def _state_of_labels(
    model: CoClusters, X: CSRCounts, row_labels: Array, column_labels: Array
) -> State:
    n_rows, n_columns = model.n_row_clusters, model.n_column_clusters
    rows = np.eye(n_rows, dtype=X.dtype)[row_labels]
    columns = np.eye(n_columns, dtype=X.dtype)[column_labels]
    if model.hard:
        columns[X.column_sums == 0] = 1 / n_columns
    else:
        rows = (1 - BLUR) * rows + BLUR / n_rows
        columns = (1 - BLUR) * columns + BLUR / n_columns
    return State(*model.from_clusters(X, rows, columns))


def best_sizes(
    X: Block, rng: np.random.Generator, object_weights: ObjectWeights = "counts"
) -> tuple[int, int]:
    """Return the numbers of clusters of rows and of columns with the best ICL that is found."""
    search = Search(int(rng.integers(2**31)), object_weights=object_weights, work=SIZES_WORK * WORK)
    counts = cast(CSRCounts, X)  # in memory
    row_labels, column_labels = labels_of_search(search, CoClusters(1, 1), counts, PlainRunner())
    return int(row_labels.max()) + 1, int(column_labels.max()) + 1
