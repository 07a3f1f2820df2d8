"""Protocols of counts, and of the E-step that counts carry out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import DTypeLike

from skcooc.protocol.types import CSR, A, Array, Capability, P, Rows, S, S_co, T


class Map(Protocol):
    """The built-in map, or one like it that works side by side."""

    def __call__(self, function: Callable[[A], T], arguments: Iterable[A], /) -> Iterable[T]:
        """What a function returns for each argument, in order."""


class FixedComponents(NamedTuple):
    """What new rows are mixtures of: a_k ~ a_k^p sum_j n_ij B_jk / sum_l B_jl a_l^p."""

    components: Array  # (M, k): B, with all that tempering makes of the components
    power: float  # p, in (0, 1]
    otherwise: Array  # (k,): the mixture of a row of which nothing is known


class Drawn(NamedTuple):
    """Some of the different rows of a table."""

    rows: CSR
    keys: Array  # of their content, uint64
    weights: Array  # of all rows of the table that have this content


class Pass(Protocol):
    """What a pass over the non-zeros yields; see ``mixture`` and ``alternate`` of a Block."""

    @property
    def rows(self) -> Array:
        """(n, k)."""

    @property
    def columns(self) -> Array:
        """Rows counted by their weights, (M, k)."""

    @property
    def log_likelihood(self) -> float:
        """sum n_ij log(A[i] @ B[j]), rows counted by their weights, in nats."""


class Counts(Protocol):
    """A whole table of counts, wherever it lies: what a start and the driver of EM are given.

    A row may stand for several: what is summed over rows counts each by its weight.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows N and of columns M."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating point type of the products."""

    @property
    def column_sums(self) -> Array:
        """Observations of each column, rows by their weights, (M,)."""

    @property
    def mean_count_weight(self) -> float:
        """What an observation weighs on average, if n_ij stands for ceil(n_ij); 1 of counts."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What models may ask of it."""

    def tdot(self, D: Rows) -> Array:
        """X.T @ D, rows counted by their weights: (N, k) -> (M, k)."""

    def expect(self, model: FoldIn[P, S], params: P, rows: Rows, beta: float) -> tuple[Rows, S]:
        """The E-step of a model, where the counts are: row states and statistics."""

    def map_rows(self, function: Callable[..., Rows], *states: Rows) -> Rows:
        """function(*states), which makes states of these rows of others, where they are."""

    def map_blocks(self, function: Callable[..., Rows], *states: Rows) -> Rows:
        """function(block, *states) of all blocks, which has something for each row, where it is."""

    def total(self, function: Callable[..., Array], *states: Rows) -> Array:
        """The sum of function(block, *states) over all blocks, here."""

    def draw(self, n_rows: int, seed: int) -> Drawn:
        """Different rows drawn without replacement; all if there are fewer."""

    def collect_rows(self, states: Rows) -> Array:
        """States of these rows as an array for users, which outlives the counts."""

    def with_threads(self, n_threads: int, map: Map) -> Self:
        """The same counts, whose passes use these threads."""

    @property
    def n_blocks(self) -> int:
        """How many blocks an E-step goes through; 1 where it can tell nothing before it ends."""

    def with_progress(self, after_block: Callable[[], None]) -> Self:
        """The same counts, which say when an E-step has gone through a block, if there are many."""

    def array(self, values: Array) -> Array:
        """The same numbers, where arrays of these counts live."""


class Block(Counts, Protocol):
    """Rows in one place: what the E-step of a model is given."""

    @property
    def row_sums(self) -> Array:
        """Observations of each row, (n,), without its weight."""

    @property
    def row_weights(self) -> Array:
        """How many rows each row stands for, (n,)."""

    @property
    def mass(self) -> float:
        """Observations of the whole table that these rows are of, by their weights."""

    def part_of(self, mass: float) -> Self:
        """The same rows, as some of a table with so many observations."""

    @property
    def observations(self) -> Array:
        """How many observations each non-zero stands for, row weights included, (nnz,)."""

    @property
    def indices(self) -> Array:
        """Columns of the non-zeros, (nnz,)."""

    def dot(self, D: Array) -> Array:
        """X @ D: (M, k) -> (n, k)."""

    def mixture(self, A: Array, B: Array) -> Pass:
        """w @ B and w.T @ A, with w_ij = n_ij / (A[i] @ B[j]); the caller multiplies by A and B."""

    def alternate(self, A: Array, B: Array) -> Pass:
        """Steps of A, then of B, which raise the likelihood of counts with means A[i] @ B[j].

        What is found of each, times the totals of the other; the likelihood before.
        """

    def cells(self, A: Array, B: Array) -> Array:
        """A[i] @ B[j] at the non-zeros, (nnz,)."""

    def map_row_ranges(
        self, function: Callable[..., object], *arrays: Array, out: Array | None = None
    ) -> Array:
        """Fill an array with function(*arrays, out), range of rows by range of rows."""

    def power(self, P: Array, exponent: float) -> Array:
        """P (m, k), not negative, to the power of the exponent."""

    def parts(self, function: Callable[[int, int], T]) -> list[T]:
        """What function(start, stop) returns for parts of the rows, whatever the threads."""

    def summed(self, cells: Array) -> Array:
        """Sums over each row of what stands at the non-zeros, (n,), in float64."""

    def n_log_n(self, axis: Literal[0, 1]) -> Array:
        """Sums of n_ij log n_ij over each column (0), rows by their weights, or each row (1)."""

    def coarsen(self, labels: Array) -> Self:
        """Tie rows: each group becomes its mean row, with the weight of all its members."""

    @property
    def table(self) -> CSR:
        """The counts as SciPy has them."""

    @property
    def weights(self) -> Array | None:
        """How many rows each row stands for, (n,), where that was given."""

    def replaced(self, counts: Array) -> Self:
        """The same rows with other counts at the non-zeros, (nnz,)."""

    def take(self, rows: Array) -> Self:
        """The given rows, in that order."""

    def occupied(self) -> tuple[Self, Array]:
        """The same rows without columns that have no entry; and the columns that are left."""

    def astype(self, dtype: DTypeLike) -> Self:
        """The same counts in this type."""

    def as_new(self) -> Block:
        """The same rows, to be folded into a fitted model."""

    def solve_mixtures(self, fixed: FixedComponents, rows: Rows, tol: float, max_iter: int) -> Rows:
        """The mixtures at which EM settles, (n, k), each row by itself, from those given."""

    def divide(self, fraction: float, seed: int, *, occupied: bool = False) -> tuple[Self, Self]:
        """Hold out this share of the observations: the rest, and what is held out.

        Where ``occupied``, something of every row that has observations.
        """

    def exchange(self, labels: Array, n_clusters: int) -> Array:
        """Labels after every object, in turn, went where it raises the mutual information most.

        For a square table whose rows and columns are the same objects.
        """

    def path_scores(self, tau: Array, q: Array, slots: Array, nodes: Array) -> Array:
        """sum_j n_ij log sum_s tau[i, s] q[j, nodes[s]] over the slots s of each leaf, (n, K).

        Slot s stands for node nodes[s] on the path to the leaf c with slots[c] <= s < slots[c + 1].
        """

    def path_mixture(
        self, tau: Array, q: Array, slots: Array, nodes: Array, posteriors: Array
    ) -> tuple[Array, Array]:
        """Expected counts of slots, given the leaf, (n, S), and of columns at nodes, (M, V)."""

    def left_out(
        self,
        means: tuple[Array, Array],
        powers: tuple[Array, Array],
        per_total: tuple[Array, Array],
        pseudo_counts: tuple[Array, float],
        beta: float,
    ) -> Pass:
        """Expected counts of rows and columns from posteriors that leave the observation out."""

    def left_out_rows(self, shares: Array, B: Array, totals: Array, prior: float) -> Array:
        """Changes of sum_j n_ij log B[j, k], (n, k), where rows leave their own counts out."""


class FoldIn(Protocol[P, S_co]):
    """How rows are folded into parameters, as pure functions: no argument is changed, nor self."""

    def expect(self, X: Block, params: P, rows: Rows, beta: float) -> tuple[Rows, S_co]:
        """E-step: the new row states, and statistics that add up over blocks of rows."""

    def restrict(self, params: P, columns: Array) -> P:
        """Parameters for the given columns alone, which is all that new rows with these need."""

    def factors(self, params: P, rows: Rows) -> tuple[Array, Array]:
        """A (n, k) and B (M, k) with P(y_j given x_i) = A[i] @ B[j]."""

    def fixed(self, X: Block, params: P, beta: float) -> FixedComponents | None:
        """What the rows are mixtures of, if the E-step does with them what it says there."""
        return None


class Triples(Counts, Protocol):
    """A table that offers "triples": rows by columns, and an index more between the two.

    Factors of rows, in what a Block has, are then those of the rows and, below them, those of it.
    """

    @property
    def sizes(self) -> tuple[int, int]:
        """Of the index between, M, and number of columns, L."""

    @property
    def middle_sums(self) -> Array:
        """Observations of each value of the index between, (M,)."""
