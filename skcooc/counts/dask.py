"""Counts on the workers of a Dask cluster: blocks of rows that stay where they are."""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple, Self, cast
from uuid import uuid4
from weakref import WeakSet

import dask
import dask.array as da
import numpy as np
import scipy.sparse as sp
from dask.delayed import Delayed, delayed
from dask.sizeof import sizeof
from distributed import Client, Future, KilledWorker, wait
from distributed.comm import CommClosedError

from skcooc.counts.checks import check_block, float_table
from skcooc.counts.csr import OUT_OF_CORE, CSRCounts, add_statistics, mean_weight, tree_sum
from skcooc.counts.passes import threads
from skcooc.counts.sampling import merge_draws
from skcooc.protocol import CSR, Array, FoldIn, Map, P, Rows, RowSample, S, T, TableLike

PATIENCE = 2.0  # seconds after which a client is asked whether it is still there
PERSIST_EVERY = 10  # E-steps at least, after which states are given to the scheduler

# Without it Dask takes blocks for 56 bytes, which cost nothing to move from worker to worker.
sizeof.register(CSRCounts, lambda X: X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)


def submit(client: Client, tasks: Iterable[Delayed | Future]) -> list[Future]:
    large = {"distributed.admin.large-graph-warning-threshold": 2**62}
    with explain_failures(), dask.config.set(large):
        check_running(client)
        futures: list[Future] = client.compute(list(tasks))
        return futures


def gather(client: Client, futures: Sequence[Future]) -> list[Any]:
    with explain_failures():
        while True:
            try:
                wait(futures, timeout=PATIENCE)
                results: list[Any] = client.gather(futures)
                return results
            except TimeoutError:
                check_running(client)


@contextmanager
def explain_failures() -> Iterator[None]:
    """Raise errors that say what to do, if the cluster fails beyond repair."""
    try:
        yield
    except KilledWorker as error:
        raise RuntimeError(
            "Workers died repeatedly on one block of X, most likely out of memory. Give smaller "
            "blocks, as with X.rechunk, more workers, or a larger memory_limit. The estimator is "
            f"unchanged. Dask says: {error}"
        ) from error
    except (CancelledError, CommClosedError) as error:
        raise ConnectionError(
            "The connection to the scheduler is lost, or the scheduler has lost the data of X. "
            "Start a client and fit again; with a checkpoint (skcooc.callbacks.Checkpoint) and "
            "warm_start=True the fit resumes from there. The estimator is unchanged."
        ) from error


def check_running(client: Client) -> None:
    if client.status != "running":
        raise CommClosedError(f"the client is {client.status}")


def task(function: Callable[..., object]) -> Any:
    """A function whose calls are tasks; equal calls are not merged."""
    return delayed(function, pure=False, traverse=False)


def shared_value(value: object) -> Delayed:
    """A value that several tasks need, as a task."""
    return delayed(_same, pure=False)(value)


def _same(value: T) -> T:
    return value


class RowArray(da.Array):
    """A dask array of rows in the memory of the workers, such as ``embedding_`` after a fit.

    Unlike others, it knows the client of its workers; pickled, it becomes an array of NumPy, which
    outlives the cluster; and its product with a matrix is a RowArray, too.
    """

    __slots__ = ()

    client: Client

    def compute(self, **options: Any) -> Any:
        with explain_failures(), self.client.as_current():
            check_running(self.client)
            return super().compute(**options)

    def __reduce__(self) -> Any:
        return np.asarray, (np.asarray(self),)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self  # immutable

    def __matmul__(self, other: Any) -> da.Array:
        is_matrix = sp.issparse(other) or (isinstance(other, np.ndarray) and other.ndim == 2)
        if self.ndim == 1 or not is_matrix:
            return super().__matmul__(other)
        empty = np.empty((0, other.shape[1]), dtype=np.result_type(self.dtype, other.dtype))
        chunks = self.chunks[0], empty.shape[1:]
        result = da.map_blocks(partial(product, by=other), self, chunks=chunks, meta=empty)
        return _with_client(self.client, RowArray(result.dask, result.name, chunks, meta=empty))


def dask_rows(
    client: Client, futures: Iterable[Future], sizes: Sequence[int], empty: Array
) -> RowArray:
    """A dask array of blocks on the workers; ``empty`` has their type and width, and no rows."""
    name = f"rows-{uuid4().hex}"
    width = empty.shape[1:]
    blocks = {(name, i, *(0 for _ in width)): future for i, future in enumerate(futures)}
    chunks = tuple(sizes), *((k,) for k in width)
    return _with_client(client, RowArray(blocks, name, chunks, meta=empty))


def _with_client(client: Client, array: RowArray) -> RowArray:
    array.client = client
    return array


def product(rows: Any, by: Any) -> Any:
    return rows @ by


class DaskCounts:
    """A table whose blocks of rows lie on the workers of a Dask cluster, as futures of CSRCounts.

    An E-step is one task for each block. It is sent together with the longer step before it, since
    tasks and messages cost more than the pass over a small block. Parameters are sent to the
    scheduler, and workers pass them on. Statistics are added up in a tree that depends on the
    number of blocks alone, so that results do not depend on the workers, and are fetched. States
    of the rows stay on the workers.

    If a worker is lost, the scheduler recomputes its counts from X, and its states from the
    parameters of all steps before, which it keeps. Once these are more than the states, N K
    numbers, the states are given to the scheduler, and the parameters are forgotten.
    """

    def __init__(
        self, client: Client, blocks: Sequence[Future], facts: Sequence[Facts], column_sums: Array
    ) -> None:
        self.client = client
        self.blocks = blocks
        self.sizes = [fact.n_rows for fact in facts]
        n_tokens = sum(fact.n_tokens for fact in facts)
        self.mean_count_weight = mean_weight(sum(fact.total for fact in facts), n_tokens)
        self.column_sums = column_sums
        self.dtype = facts[0].dtype
        self.shape = sum(self.sizes), len(column_sums)
        self.kept_states: WeakSet[States] = WeakSet()
        self.n_steps = 0
        self.persist_every = max(PERSIST_EVERY, math.ceil(np.divide(*self.shape)))

    capabilities = OUT_OF_CORE
    n_threads = 1
    map_ranges: Map = staticmethod(map)

    def expect(self, model: FoldIn[P, S], params: P, rows: Rows, beta: float) -> tuple[Rows, S]:
        self.n_steps += 1
        if self.n_steps % self.persist_every == 0:
            for states in list(self.kept_states):
                states.persist()
        mass = float(self.column_sums.sum())
        step = shared_value(partial(_expect, model=model, params=params, beta=beta, mass=mass))
        call = delayed(operator.call, pure=False, nout=2)
        pieces = rows.pieces if isinstance(rows, States) else self._pieces(rows)
        steps = [call(step, X, piece) for X, piece in zip(self.blocks, pieces, strict=True)]
        total = tree_sum(task(add_statistics), [stats for _, stats in steps])
        *sent, total = submit(self.client, [*pieces, *(new for new, _ in steps), total])
        if isinstance(rows, States):
            rows.pieces = sent[: len(pieces)]
        (stats,) = gather(self.client, [total])
        return cast(Rows, States(self, sent[len(pieces) :])), stats

    def map_row_ranges(self, function: Callable[..., object], *states: Rows) -> Rows:
        filled = task(partial(_with_one_thread, partial(_filled, function)))
        return cast(Rows, States(self, [filled(*block) for block in self._zip_blocks(*states)]))

    def map_blocks(self, function: Callable[..., Rows], *states: Rows) -> Rows:
        return cast(Rows, States(self, submit(self.client, self._tasks(function, *states))))

    def total(self, function: Callable[..., Array], *states: Rows) -> Array:
        added = tree_sum(task(operator.add), self._tasks(function, *states))
        total: Array = self._results([added])[0]
        return total

    def collect_rows(self, states: Rows) -> Array:
        if isinstance(states, np.ndarray):  # of a checkpoint
            return states
        remote = cast(States, states)
        return cast(Array, dask_rows(self.client, remote.futures, self.sizes, remote.empty))

    def tdot(self, D: Rows) -> Array:
        return self.total(CSRCounts.tdot, D)

    def sample(self, n_rows: int, rng: np.random.Generator) -> CSR:
        rows = np.sort(rng.choice(self.shape[0], min(n_rows, self.shape[0]), replace=False))
        ends = np.searchsorted(rows, self._ends)
        local = [rows[a:b] - first for (a, b), first in zip(pairwise(ends), self._ends)]  # noqa: B905
        return sp.vstack(self._results(map(task(_rows_of), self.blocks, local)), format="csr")

    def draw(self, n_rows: int, seed: int) -> RowSample:
        parts = (task(CSRCounts.draw)(block, n_rows, seed) for block in self.blocks)
        return merge_draws(self._results(parts), n_rows, seed)

    def array(self, values: Array) -> Array:
        return values

    def within(self, columns: Array) -> Self:
        new = self.with_threads(1, map)
        shared = shared_value(columns)
        narrow = task(CSRCounts.within)
        new.blocks = submit(self.client, [narrow(block, shared) for block in self.blocks])
        new.column_sums = self.column_sums[columns]
        new.shape = self.shape[0], len(columns)
        return new

    n_blocks = 1  # an E-step is one round of tasks

    def with_progress(self, after_block: Callable[[], None]) -> Self:
        return self

    def with_threads(self, n_threads: int, map: Map) -> Self:
        new = copy.copy(self)
        new.n_threads = n_threads
        new.map_ranges = map
        new.kept_states = WeakSet()
        new.n_steps = 0
        return new

    @property
    def _ends(self) -> Array:
        return np.concatenate([[0], np.cumsum(self.sizes)])

    def _zip_blocks(self, *rows: Rows) -> Iterable[tuple[Any, ...]]:
        return zip(self.blocks, *map(self._pieces, rows), strict=True)

    def _tasks(self, function: Callable[..., Array], *states: Rows) -> list[Delayed]:
        step = shared_value(function)
        return [task(_with_one_thread)(step, *block) for block in self._zip_blocks(*states)]

    def _pieces(self, rows: Rows | States | RowArray) -> Sequence[Any]:
        """Rows of each block; a single row where all are equal."""
        if isinstance(rows, States):
            return rows.futures
        if isinstance(rows, da.Array):
            chunks: Sequence[Delayed] = rows.rechunk({0: tuple(self.sizes)}).to_delayed().ravel()
            return chunks
        if rows.strides[0] == 0:
            return [rows[:1]] * len(self.blocks)
        return [rows[first:last] for first, last in pairwise(self._ends)]

    def _results(self, tasks: Iterable[Delayed]) -> list[Any]:
        return gather(self.client, submit(self.client, tasks))


class States:
    """States of the rows of all blocks, (N, k), on the workers: a future for each block.

    Tasks of a longer step wait, and are sent with those of the next E-step.
    """

    def __init__(self, counts: DaskCounts, pieces: Sequence[Future | Delayed]) -> None:
        self.pieces = pieces
        self._counts = counts
        counts.kept_states.add(self)

    @property
    def futures(self) -> list[Future]:
        if isinstance(self.pieces[0], Delayed):
            self.pieces = submit(self._counts.client, self.pieces)
        return cast(list[Future], self.pieces)

    @cached_property
    def empty(self) -> Array:
        """Array of the same width and type, without rows."""
        empty: Array = self._counts._results([task(_no_rows)(self.futures[0])])[0]
        return empty

    @property
    def dtype(self) -> np.dtype:
        return self.empty.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self._counts.shape[0], *self.empty.shape[1:]

    def persist(self) -> None:
        """Give the states to the scheduler, so that no earlier step is needed to restore them."""
        client = self._counts.client
        futures = self.futures
        for place, future in enumerate(futures):  # one by one, to save memory
            (block,) = gather(client, [future])
            futures[place : place + 1] = submit(client, [shared_value(block)])

    def __reduce__(self) -> Any:
        # An array, so that a checkpoint outlives the cluster.
        return np.concatenate, (gather(self._counts.client, self.futures),)

    def __matmul__(self, D: Array) -> Rows:
        products = [task(product)(future, D) for future in self.futures]
        return cast(Rows, States(self._counts, submit(self._counts.client, products)))


class Facts(NamedTuple):
    n_rows: int
    total: float  # sum of its counts
    n_tokens: float
    dtype: np.dtype
    n_columns: int


def load(client: Client, X: da.Array, name: str) -> DaskCounts:
    """Check the blocks of rows of a dask array, (N, M), on the workers, and keep them there.

    Blocks are arrays or CSR arrays or matrices; ``name`` is that of the estimator, for messages.
    ValueError is raised where counts are negative or not finite, or blocks do not fit together.
    """
    checked = [task(_checked)(block, name) for block in X.to_delayed()[:, 0]]
    blocks = submit(client, checked)
    facts: list[Facts] = gather(client, submit(client, map(task(_facts), blocks)))
    if (widths := {fact.n_columns for fact in facts}) != {X.shape[1]}:
        raise ValueError(
            f"All blocks of X should have {X.shape[1]} columns. Got blocks of "
            f"{', '.join(map(str, sorted(widths)))} columns."
        )
    if len(types := {fact.dtype for fact in facts}) > 1:
        dtype = np.result_type(*types)
        blocks = submit(client, [task(CSRCounts.astype)(block, dtype) for block in blocks])
        facts = [fact._replace(dtype=dtype) for fact in facts]
    pairs = [pair for pair in zip(blocks, facts, strict=True) if pair[1].n_rows]
    if not pairs:
        raise ValueError(
            f"Found array with 0 sample(s) (shape=(0, {X.shape[1]})) while a minimum of 1 is "
            f"required by {name}."
        )
    blocks, facts = map(list, zip(*pairs, strict=True))
    column_sums = map(task(operator.attrgetter("column_sums")), blocks)
    total = tree_sum(task(np.add), list(column_sums))
    return DaskCounts(client, blocks, facts, gather(client, submit(client, [total]))[0])


def _expect(
    X: CSRCounts, rows: Rows, model: FoldIn[P, S], params: P, beta: float, mass: float
) -> tuple[Rows, S]:
    with threads(1):
        rows = np.broadcast_to(rows, (X.shape[0], rows.shape[1]))
        return X.part_of(mass).expect(model, params, rows, beta)


def _checked(block: TableLike, name: str) -> CSRCounts:
    return CSRCounts(float_table(check_block(block, estimator=name)))


def _facts(X: CSRCounts) -> Facts:
    total = float(np.sum(X.row_sums))
    return Facts(X.shape[0], total, X.n_tokens, X.dtype, X.shape[1])


def _with_one_thread(function: Callable[..., Array], *arguments: Any) -> Array:
    with threads(1):
        return function(*arguments)


def _filled(function: Callable[..., object], X: CSRCounts, *states: Rows) -> Rows:
    return X.map_row_ranges(function, *states)


def _no_rows(rows: Rows) -> Rows:
    return rows[:0].copy()


def _rows_of(X: CSRCounts, rows: Array) -> sp.csr_array:
    return X.table[rows]
