"""Tables in blocks of rows: read block by block in every pass, or as dask arrays."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from skcooc.counts import CSRCounts, refuse_containers
from skcooc.protocol import CSR, Array, Capability, TableLike, refuse_objects
from skcooc.protocol.decorators import validated
from skcooc.protocol.scikit_learn import Interval
from skcooc.tables.dyads import Tokens
from skcooc.tables.names import same_names

if TYPE_CHECKING:
    from skcooc.counts.dask import DaskCounts

MAX_PASSES = 10
POSITIVE = [Interval(Integral, 1, None, closed="left")]


class RowBlocks:
    """A table of counts that is read block by block, in every pass from the beginning.

    ``fit`` of the estimators that have ``partial_fit`` takes it, and needs memory for one block of
    rows, a sample of rows and the parameters, however many rows there are.

    Read more in the :doc:`how-to guide </howto/large_data>`.

    Parameters
    ----------
    blocks : iterable of array-likes, sparse arrays or matrices, each of shape (n, M), or one
        Blocks of rows; a row is in one of them. It is iterated over several times: a list, or an
        object whose ``__iter__`` reads them again, but not a generator. Blocks with about equally
        many tokens, each a random sample of the rows, are best.
    max_passes : int, default=10
        How often ``fit`` goes through all blocks at most, after it has drawn its sample.

    Attributes
    ----------
    shape : tuple of int, or None
        Number of rows N and of columns M. Known of a table on disk and of blocks in a list; of
        others once all of them have been read, as by ``fit``. None before.

    Raises
    ------
    TypeError
        If ``blocks`` is not iterable, or can be read only once. Also from ``len``, the number of
        blocks, if ``blocks`` has no length and has not been read yet.

    See Also
    --------
    open_table : A table on disk, whose blocks this may be.

    Examples
    --------
    >>> import numpy as np
    >>> from skcooc import AspectModel, RowBlocks, datasets
    >>> X = datasets.make_cooccurrences(n_rows=60, n_columns=40, n_components=3, random_state=0).X
    >>> blocks = RowBlocks([X[:20], X[20:40], X[40:]])
    >>> blocks
    <RowBlocks: 3 blocks of a table of shape (60, 40)>
    >>> model = AspectModel(n_components=3, random_state=0).fit(blocks)
    >>> model.components_.shape
    (3, 40)
    """

    @validated({"max_passes": POSITIVE})
    def __init__(self, blocks: Iterable[TableLike], *, max_passes: int = MAX_PASSES) -> None:
        blocks = as_blocks(blocks)
        if isinstance(blocks, Iterator) or not isinstance(blocks, Iterable):
            raise TypeError(
                "blocks should be an iterable that can be read several times, such as a list or an "
                f"object with a method __iter__. Got {type(blocks).__name__}."
            )
        self.blocks = blocks
        self.max_passes = max_passes
        self._read: list[tuple[int, ...]] | None = None  # shapes of the blocks, once all are read

    @property
    def shape(self) -> tuple[int, int] | None:
        shape: tuple[int, int] | None = getattr(self.blocks, "shape", None)
        shapes = list(map(np.shape, self.blocks)) if self._in_memory else self._read
        if not shapes or shape is not None or any(len(shape) != 2 for shape in shapes):
            return shape
        return sum(n_rows for n_rows, _ in shapes), shapes[0][1]

    def __len__(self) -> int:
        if isinstance(self.blocks, Sized):
            return len(self.blocks)
        if self._read is None:
            raise TypeError(
                "The number of blocks is not known before they have been read: "
                f"{type(self.blocks).__name__} has no len()."
            )
        return len(self._read)

    def __bool__(self) -> bool:
        return True  # also where the number of blocks is not known

    def __repr__(self) -> str:
        if not self._in_memory and self._read is None and self.shape is None:
            return "<RowBlocks: a table that has not been read yet>"
        if isinstance(self.blocks, Sized) or self._read is not None:
            return f"<RowBlocks: {len(self)} blocks of a table of shape {self.shape}>"
        return f"<RowBlocks: a table of shape {self.shape}>"

    def __iter__(self) -> Iterator[TableLike]:
        shapes = list[tuple[int, ...]]()
        for block in self.blocks:
            shapes.append(np.shape(block))
            yield block
        self._read = shapes

    @property
    def _in_memory(self) -> bool:
        return isinstance(self.blocks, list | tuple)


def as_blocks(blocks: Any) -> Any:
    """Blocks of rows, or one table as a single block; TypeError for a model or a path."""
    refuse_objects(blocks, "blocks", "tables", of_anndata="[adata.X]")
    if isinstance(blocks, str | os.PathLike):
        raise TypeError(f"blocks is a path, {str(blocks)!r}: give tables, or open_table(path).")
    refuse_containers(blocks, "blocks")
    if isinstance(blocks, list) and blocks and _is_bag_of_words(blocks[0]):
        raise TypeError(
            "blocks is a list of documents, each a list of pairs of id and count, as of gensim: "
            "give gensim.matutils.corpus2csc(blocks).T."
        )
    is_frame = hasattr(blocks, "columns") and hasattr(blocks, "schema")  # of polars or pyarrow
    is_table = isinstance(blocks, Tokens) or is_frame or getattr(blocks, "ndim", 1) == 2
    return [blocks] if is_table and not hasattr(type(blocks), "__dask_graph__") else blocks


def _is_bag_of_words(block: object) -> bool:
    pairs = block if isinstance(block, list) else []
    return bool(pairs) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs)


def check_columns(blocks: Iterable[TableLike]) -> Iterator[TableLike]:
    """Yield the blocks; ValueError if names of columns differ from those of the blocks before."""
    columns = None
    for block in blocks:
        names = getattr(block, "column_names", getattr(block, "columns", None))
        if not (columns is None or names is None or same_names(columns, names)):
            raise ValueError(
                "All blocks should have the same columns, but one has other names, or has them in "
                "another order: give frame.reindex(columns=names, fill_value=0)."
            )
        columns = columns if names is None else names
        yield block


@dataclass(frozen=True)
class CheckedBlocks:
    """The blocks of a table, each checked when it is read."""

    capabilities: ClassVar[frozenset[Capability]] = frozenset(("paths", "all rows", "weights"))

    blocks: RowBlocks
    check: Callable[[TableLike, bool], CSR]  # of a block, and whether to reset
    check_weights: Callable[[Array, CSR], Array]  # of the rows of a block
    sample_weight: Array | None  # (N,)
    reset: bool  # whether the first block defines the columns
    column_sums: Array | None = None  # (M,): of the whole table, once it has been read

    def __iter__(self) -> Iterator[CSRCounts]:
        n_rows = 0
        for block in check_columns(self.blocks):
            table = self.check(block, self.reset and n_rows == 0)
            weights = None
            if self.sample_weight is not None:
                weights = self.sample_weight[n_rows : n_rows + table.shape[0]]
                weights = self.check_weights(weights, table)
            n_rows += table.shape[0]
            yield CSRCounts(table, weights)
        if self.sample_weight is not None and len(self.sample_weight) != n_rows:
            raise ValueError(
                f"sample_weight should be of shape ({n_rows},), an entry for each row of X."
            )

    def sampled(self, n_rows: int, rng: np.random.Generator) -> tuple[CSRCounts, CheckedBlocks]:
        """Draw rows while the table is read, in its order; also returns blocks with column sums."""
        reservoir = _Reservoir(n_rows)
        column_sums = np.zeros(())
        for counts in self:
            reservoir.add(counts, rng.random(counts.shape[0]))
            column_sums = column_sums + counts.column_sums
        if not reservoir.rows:
            raise ValueError("Found no block: a table needs at least one.")
        reservoir.shrink()
        weights = None if self.sample_weight is None else np.concatenate(reservoir.weights)
        sample = CSRCounts(sp.vstack(reservoir.rows, format="csr"), weights)
        return sample, replace(self, reset=False, column_sums=column_sums)


class _Reservoir:
    """The rows with the smallest keys of all that were added."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self.limit = np.inf
        self.rows: list[CSR] = []
        self.weights: list[Array] = []
        self.keys: list[Array] = []

    def add(self, counts: CSRCounts, keys: Array) -> None:
        chosen = keys < self.limit
        self.rows.append(counts.table[chosen])
        self.weights.append(counts.row_weights[chosen])
        self.keys.append(keys[chosen])
        if sum(map(len, self.keys)) > 2 * self.n_rows:  # copies each row a few times in all
            self.shrink()

    def shrink(self) -> None:
        keys = np.concatenate(self.keys)
        if len(keys) > self.n_rows:
            self.limit = np.partition(keys, self.n_rows)[self.n_rows]
            chosen = keys < self.limit
            self.rows = [sp.vstack(self.rows, format="csr")[chosen]]
            self.weights = [np.concatenate(self.weights)[chosen]]
            self.keys = [keys[chosen]]


def delayed_rows(
    blocks: Iterable[object], n_columns: int, dtype: DTypeLike = np.float64
) -> TableLike:
    """A dask array of blocks of rows that are still to be read or made.

    Parameters
    ----------
    blocks : iterable of Delayed or Future
        Each a CSR array or matrix, or a numpy array, of shape (n, n_columns); n need not be known.
    n_columns : int
    dtype : dtype, default=float64
        Of the blocks.

    Returns
    -------
    X : dask array of shape (N, n_columns)
        For ``fit`` and ``transform`` of the estimators.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from dask import delayed
    >>> from skcooc import delayed_rows
    >>> blocks = [delayed(sp.random_array)((100, 40), density=0.1, format="csr") for _ in range(3)]
    >>> delayed_rows(blocks, n_columns=40).numblocks
    (3, 1)
    """
    try:
        import dask.array as da
        from dask import delayed
    except ImportError as error:
        raise ImportError(
            "Blocks on workers need dask. Install it with `pip install 'skcooc[dask]'`."
        ) from error

    meta = sp.csr_array((0, n_columns), dtype=dtype)
    shape = (np.nan, n_columns)
    arrays = [da.from_delayed(delayed(block), shape, meta=meta) for block in blocks]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)


def load_on_workers(X: TableLike, name: str) -> DaskCounts:
    """Check the blocks of a dask array, and keep them on the workers of the current client.

    ValueError for the estimator of that name if X is negative or not finite, or there is no client;
    RuntimeError if blocks kill the workers, ConnectionError if the scheduler is lost.
    """
    from distributed import get_client

    from skcooc.counts.dask import load

    try:
        client = get_client()
    except ValueError as error:
        raise ValueError(
            "X is a dask array, which is fitted by the workers of a cluster, but there is no "
            "client. Start one with distributed.Client(), or give X.compute()."
        ) from error
    return load(client, X, name)


def check_row_blocks(X: TableLike) -> None:
    refuse_containers(X)
    if not hasattr(type(X), "map_blocks"):
        raise TypeError(
            f"Expected a dask array, got {type(X).__name__} instead. A dataframe has "
            "to_dask_array(lengths=True); for delayed blocks use skcooc.delayed_rows."
        )
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: X has shape {X.shape}.")
    if X.numblocks[1] != 1:
        raise ValueError(
            f"X should be in blocks of rows, but its columns are divided into {X.numblocks[1]} "
            "chunks. Use X.rechunk({1: -1}) first."
        )
