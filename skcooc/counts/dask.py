"""Counts on the workers of a Dask cluster: blocks of rows that stay where they are."""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, Self, cast
from weakref import WeakSet

import dask.array as da
import numpy as np
import scipy.sparse as sp
from dask.delayed import Delayed
from distributed import Client, Future
from sklearn.utils import check_array

from skcooc.counts.checks import sound, summed_up
from skcooc.counts.csr import CSRCounts, mean_weight
from skcooc.counts.drawing import drawn_of
from skcooc.counts.row_array import RowArray, product, row_array
from skcooc.counts.sums import add_statistics, reduced
from skcooc.counts.tasks import begun, call, gathered, once, task
from skcooc.counts.threads import threads
from skcooc.protocol import CSR, Array, Drawn, FoldIn, Map, Need, P, Rows, S, TableLike

SETTLE_AFTER = 10  # E-steps at least, after which the scheduler gets states, if these are small


class DaskCounts:
    """A table whose blocks of rows lie on the workers of a Dask cluster, as futures of CSRCounts.

    To the models it is one block. Its E-step is one task for each of its blocks; the parameters are
    sent to the scheduler, from which a worker gets them, and workers pass them on among themselves.
    The statistics are added up in a tree that depends on the number of blocks alone, so that
    results do not depend on the workers, and come here. The states of the rows stay, and nothing
    else comes here that has a number for each row.

    Where a worker is lost, the scheduler makes again what it had: the counts from what they were
    made of, and the states of its rows, which depend on all steps before, from the parameters of
    these steps, which it keeps. There may be many: once they are more than the states, N K numbers,
    it gets these, and forgets them. So it holds no more than the parameters of all steps, M K
    numbers each, whatever the number of rows.
    """

    def __init__(
        self,
        client: Client,
        blocks: Sequence[Future],
        facts: Sequence[Facts],
        column_sums: Array,
    ) -> None:
        self.client, self.blocks = client, blocks
        self.sizes = [fact.n_rows for fact in facts]
        n_observations = sum(fact.n_observations for fact in facts)
        self.grain = mean_weight(sum(fact.total for fact in facts), n_observations)
        self.column_sums, self.dtype = column_sums, facts[0].dtype
        self.shape = sum(self.sizes), len(column_sums)
        self.alive: WeakSet[States] = WeakSet()
        self.n_steps, self.settle_after = 0, max(SETTLE_AFTER, math.ceil(np.divide(*self.shape)))

    offers: frozenset[Need] = frozenset(("mixture", "paths", "each step", "row states"))

    @property
    def indices(self) -> Array:
        """The columns that have observations."""
        return np.flatnonzero(self.column_sums)

    def expect(self, model: FoldIn[P, S], params: P, rows: Rows, beta: float) -> tuple[Rows, S]:
        """The E-step of a model on all blocks: states on the workers, and statistics."""
        self.n_steps += 1
        if self.n_steps % self.settle_after == 0:
            for states in list(self.alive):
                states.settle()
        mass = float(self.column_sums.sum())
        step = once(partial(_expect, model=model, params=params, beta=beta, mass=mass))
        parts = [call(step, X, piece) for X, piece in self._beside(rows)]
        total = reduced(task(add_statistics), [part[1] for part in parts])
        none = task(_none_of)(parts[0][0])
        *futures, total, none = begun(self.client, [*(part[0] for part in parts), total, none])
        stats, none = gathered(self.client, [total, none])
        return cast(Rows, States(self, futures, none)), stats

    def over_states(self, function: Callable[..., Rows], *states: Rows) -> Rows:
        """function(*states) of every block, as wide as the first of them."""
        pieces = zip(*map(self._pieces, states), strict=True)
        futures = begun(self.client, [task(function)(*these) for these in pieces])
        return cast(Rows, States(self, futures, np.empty((0, *states[0].shape[1:]), self.dtype)))

    def by_row(self, function: Callable[..., Rows], *states: Rows) -> Rows:
        """function(block, *states) of every block, with something for each of its rows."""
        step = once(function)
        parts = [task(_with_one_thread)(step, *these) for these in self._beside(*states)]
        *futures, none = begun(self.client, [*parts, task(_none_of)(parts[0])])
        return cast(Rows, States(self, futures, gathered(self.client, [none])[0]))

    def total(self, function: Callable[..., Array], *states: Rows) -> Array:
        """The sum of function(block, *states) over all blocks."""
        step = once(function)
        parts = [task(_with_one_thread)(step, *these) for these in self._beside(*states)]
        total: Array = self._results([reduced(task(operator.add), parts)])[0]
        return total

    def lasting(self, states: Rows) -> Array:
        """States of these rows as a dask array, a chunk for each block."""
        there = cast(States, states)
        return cast(Array, row_array(self.client, there.futures, self.sizes, there.none))

    def tdot(self, D: Rows) -> Array:
        """X.T @ D: (n, k) -> (M, k)."""
        return self.total(CSRCounts.tdot, D)

    def sample(self, n_rows: int, rng: np.random.Generator) -> CSR:
        """Rows drawn without replacement, in their order, brought here; all if there are fewer."""
        rows = np.sort(rng.choice(self.shape[0], min(n_rows, self.shape[0]), replace=False))
        ends = np.searchsorted(rows, self._ends)
        local = [rows[a:b] - first for (a, b), first in zip(pairwise(ends), self._ends)]  # noqa: B905
        taken = self._results(map(task(_rows_of), self.blocks, local))
        return sp.vstack(taken, format="csr")

    def draw(self, n_rows: int, seed: int) -> Drawn:
        """Different rows drawn without replacement, brought here; all if there are fewer."""
        parts = (task(CSRCounts.draw)(block, n_rows, seed) for block in self.blocks)
        return drawn_of(self._results(parts), n_rows, seed)

    def array(self, values: Array) -> Array:
        """Parameters are numpy's arrays: these."""
        return values

    n_blocks = 1  # an E-step is one round of tasks

    def watched(self, after_block: Callable[[], None]) -> Self:
        """These."""
        return self

    def spread(self, n_threads: int, map: Map) -> Self:
        """The same counts for a run of its own; threads are those of the workers."""
        new = copy.copy(self)
        new.alive, new.n_steps = WeakSet(), 0
        return new

    @property
    def _ends(self) -> Array:
        return np.concatenate([[0], np.cumsum(self.sizes)])

    def _beside(self, *rows: Rows) -> Iterable[tuple[Any, ...]]:
        return zip(self.blocks, *map(self._pieces, rows), strict=True)

    def _pieces(self, rows: Rows | States | RowArray) -> Sequence[Any]:
        """What belongs to each block; a single row stands for many that are the same."""
        if isinstance(rows, States):
            return rows.futures
        if isinstance(rows, da.Array):
            chunks: Sequence[Delayed] = rows.rechunk({0: tuple(self.sizes)}).to_delayed().ravel()
            return chunks
        if rows.strides[0] == 0:
            return [rows[:1]] * len(self.blocks)
        return [rows[first:last] for first, last in pairwise(self._ends)]

    def _results(self, tasks: Iterable[Delayed]) -> list[Any]:
        return gathered(self.client, begun(self.client, tasks))


class States:
    """The states of the rows of all blocks, (N, k), on the workers: a future for each block.

    ``none`` is an array of their type and width, but of no rows.
    """

    def __init__(self, counts: DaskCounts, futures: list[Future], none: Array) -> None:
        self.futures, self.none = futures, none
        self.dtype, self.shape = none.dtype, (counts.shape[0], *none.shape[1:])
        self._counts = counts
        counts.alive.add(self)

    def settle(self) -> None:
        """Give the states to the scheduler, so that nothing before is needed to restore them.

        One block after the other: here is never more than one.
        """
        client = self._counts.client
        for place, future in enumerate(self.futures):
            self.futures[place : place + 1] = begun(client, map(once, gathered(client, [future])))

    def __reduce__(self) -> Any:
        """Pickled as an array: a checkpoint outlives the cluster."""
        return np.concatenate, (gathered(self._counts.client, self.futures),)

    def __matmul__(self, D: Array) -> Rows:
        of_blocks = self._counts.over_states(partial(product, by=D), cast(Rows, self))
        return cast(Rows, States(self._counts, cast(States, of_blocks).futures, self.none @ D))


class Facts(NamedTuple):
    """What is known here of a block."""

    n_rows: int
    total: float  # sum of its counts
    n_observations: float
    dtype: np.dtype
    n_columns: int


def load(client: Client, X: da.Array, name: str) -> DaskCounts:
    """Check the blocks of a dask array, (N, M) in blocks of rows, on the workers; keep them there.

    Blocks are arrays or CSR arrays or matrices; ``name`` is that of the estimator, for messages.
    ValueError is raised where counts are negative or not finite, or blocks do not fit together.
    """
    checked = [task(_checked)(block, name) for block in X.to_delayed()[:, 0]]
    blocks = begun(client, checked)
    facts: list[Facts] = gathered(client, begun(client, map(task(_facts), blocks)))
    if {fact.n_columns for fact in facts} != {X.shape[1]} or len({f.dtype for f in facts}) > 1:
        kinds = sorted({(fact.n_columns, str(fact.dtype)) for fact in facts})
        raise ValueError(
            f"All blocks of X should have {X.shape[1]} columns and one dtype. Got blocks of "
            + ", ".join(f"{n_columns} columns of {dtype}" for n_columns, dtype in kinds)
            + "."
        )
    kept = [pair for pair in zip(blocks, facts, strict=True) if pair[1].n_rows]
    if not kept:
        raise ValueError(
            f"Found array with 0 sample(s) (shape=(0, {X.shape[1]})) while a minimum of 1 is "
            f"required by {name}."
        )
    blocks, facts = (list(these) for these in zip(*kept, strict=True))
    sums = reduced(task(np.add), [task(_column_sums)(block) for block in blocks])
    return DaskCounts(client, blocks, facts, gathered(client, begun(client, [sums]))[0])


def _expect(
    X: CSRCounts, rows: Rows, model: FoldIn[P, S], params: P, beta: float, mass: float
) -> tuple[Rows, S]:
    with threads(1):
        rows = np.broadcast_to(rows, (X.shape[0], rows.shape[1]))
        states, stats = X.part_of(mass).expect(model, params, rows, beta)
    return states, stats


def _checked(block: TableLike, name: str) -> CSRCounts:
    table = check_array(
        sound(block),
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_non_negative=block.shape[0] > 0,
        ensure_min_samples=0,
        estimator=name,
        input_name="X",
    )
    return CSRCounts(summed_up(table) if sp.issparse(table) else sp.csr_array(table))


def _facts(X: CSRCounts) -> Facts:
    total = float(np.sum(X.row_sums))
    return Facts(X.shape[0], total, X.n_observations, X.dtype, X.shape[1])


def _with_one_thread(function: Callable[..., Array], *arguments: Any) -> Array:
    with threads(1):
        return function(*arguments)


def _none_of(rows: Rows) -> Rows:
    return rows[:0].copy()


def _column_sums(X: CSRCounts) -> Array:
    return X.column_sums


def _rows_of(X: CSRCounts, rows: Array) -> sp.csr_array:
    return X.table[rows]
