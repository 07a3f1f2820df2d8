"""Protocols: what counts, equations, predictors and fitted estimators offer each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeAlias, TypeVar, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

Array: TypeAlias = NDArray[Any]
CSR: TypeAlias = sp.csr_array  # of non-negative floats, checked
TableLike: TypeAlias = Any  # what a user gives: array-like, sparse, DataFrame, Dyads, not checked
RandomState: TypeAlias = int | np.random.RandomState | None

Rows: TypeAlias = Array  # (n, k): the state of the rows: distributions, or expected counts
Params: TypeAlias = Any  # NamedTuple of arrays; `weights` (k,) are those of an empty row
Statistics: TypeAlias = Any  # NamedTuple of sums over rows; its `free_energy` is in nats

T = TypeVar("T")
P = TypeVar("P")  # the parameters of a model
S = TypeVar("S")  # its statistics
S_co = TypeVar("S_co", covariant=True)
A = TypeVar("A")

# What equations or parameters may ask of a table, and a table may have on offer:
Capability = Literal[
    "divide",  # observations that are held out, of all rows
    "coarsen",  # rows that are tied in groups
    "exchange",  # moves of objects that are rows and columns at once
    "alternation",  # steps of the rows at fixed columns, and of the columns
    "left_out",  # posteriors of observations, or rows, that leave themselves out
    "mixture",  # products of ratios with factors
    "replaced",  # other counts in the place of its own
    "paths",  # mixtures along the paths of a tree
    "all rows",  # all of them in one place, for the start
    "each step",  # all of them in every step
    "row states",  # states of the rows, kept from step to step
    "triples",  # a third index of every observation
    "weights",  # of the rows
]
EVERYTHING: frozenset[Capability] = frozenset(get_args(Capability))


def refuse_anndata(given: object, name: str, instead: str) -> None:
    """TypeError where an AnnData is given, which numpy takes apart cell by cell, for minutes."""
    kinds = ((kind.__module__.partition(".")[0], kind.__name__) for kind in type(given).__mro__)
    if ("anndata", "AnnData") in kinds:  # and not a view of its arrays
        kind = type(given).__name__
        raise TypeError(f"{name} is an {kind}, which holds more than {instead}")


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


class Equations(FoldIn[P, S], Protocol[P, S]):
    """A mixture model: its equations, as pure functions of a frozen object."""

    @property
    def needs(self) -> Mapping[Capability, str]:
        """What it needs of a table: which parameter asks for it, and what to set instead."""

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[P, Rows]:
        """Parameters and row states to start from."""

    def maximize(self, stats: S, params: P, beta: float) -> P:
        """M-step: the parameters which the statistics of all rows determine."""

    def log_prior(self, params: P, beta: float) -> float:
        """Terms of the objective in the parameters alone; free energy minus it never rises."""

    def free_parameters(self, params: P, n_rows: int) -> int:
        """How many numbers are free in P(y given x) of so many rows; see ``base/criteria.py``."""
        raise NotImplementedError

    @property
    def patience(self) -> int:
        """Iterations in which the objective falls no further, after which EM has converged.

        One, unless a model says otherwise: that of EM never rises.
        """
        return 1

    @property
    def largest_beta(self) -> float:
        """Largest inverse temperature: 1 where it is the exponent of a likelihood."""
        return 1.0

    @property
    def stages(self) -> Sequence[tuple[Model, int | None]]:
        """Models fitted in turn, ever less constrained, and their largest numbers of iterations."""
        return [(self, None)]

    @property
    def supports_alternating(self) -> bool:
        """Whether rows and columns can be fitted in turn at beta = 1; see Alternating."""
        return False

    def fold_in_equations(self, params: P) -> tuple[FoldIn[Any, Any], Params]:
        """What new rows are folded in by: equations, and the parameters that they need.

        These, unless a model says otherwise.
        """
        return self, params

    def prediction_factors(self, params: P, rows: Rows) -> tuple[Array, Array]:
        """What ``cells`` of these rows predicts observations from.

        The factors, unless a model says otherwise.
        """
        return self.factors(params, rows)

    def mixture_prior(self, params: P) -> tuple[Array, Array] | None:
        """The prior of the mixture of a row: weights (a,) and A (a, k); see ``factors``.

        None where there is none: a mixture is then a parameter of its row.
        """
        return None


Model: TypeAlias = Equations[Any, Any]


class OnlineModel(Equations[P, S], Protocol[P, S]):
    """A model whose parameters can follow a stream of rows."""

    def mix_with(self, params: P, distribution: Array, share: float) -> P:
        """Parameters of which every component is, in this share, the distribution (M,)."""

    def batch_equations(self) -> FoldIn[P, Any]:
        """What folds rows of a batch in, before the E-step of these equations: these themselves."""
        return self


class Alternating(Equations[P, S], Protocol[P, S]):
    """A model whose rows and columns can be fitted in turn, at beta = 1."""

    def alternate(self, X: Block, params: P, rows: Rows) -> tuple[Rows, S]:
        """Row states that suit the parameters better, and statistics of which M-steps make better
        parameters for these; the free energy is that before, and with neither higher."""


class Clustering(Equations[P, S], Protocol[P, S]):
    """A model of clusters, whose best temperature depends on the size of the objects clustered."""

    def object_size(self, X: Counts) -> float:
        """Mean number of observations of an object."""

    def critical_beta(self, X: Counts) -> float:
        """The inverse temperature below which all clusters are the same."""


class Splittable(Equations[P, S], Protocol[P, S]):
    """A model of clusters, or of aspects, that split while the temperature falls.

    The states of its rows are their posterior distributions over the clusters.
    """

    n_clusters: int

    def random(self, X: Counts, rng: np.random.Generator) -> tuple[P, Rows]:
        """Clusters that chance has put together, from which a single one is made."""
        return self.start(X, rng)

    def mixed(self, params: P, shares: Array) -> P:
        """Parameters of other clusters, to which those there give these shares, (K, K')."""

    def perturb(self, params: P, rng: np.random.Generator, amount: float) -> P:
        """Parameters with noise of this relative size."""


class MergeableClusters(Clustering[P, S], Splittable[P, S], Protocol[P, S]):
    """Clusters of the objects of one side, which begin with more, of which some are joined."""

    def seeded(self, X: Counts, rng: np.random.Generator) -> tuple[P, Rows]:
        """Clusters that begin with objects far from each other."""

    def overlaps(self, X: Counts, params: P, rows: Rows) -> Array:
        """Scalar products of the roots of what clusters have of each object, (K, K), in counts."""


class Predictor(Protocol):
    """A prediction of further observations, bound to the rows of one table."""

    def cells(self, X: Block) -> Array:
        """P(y_j given x_i) at the non-zeros of other counts of these rows, (nnz,), float64."""


class Components(Protocol):
    """A fitted estimator of this library or of another: all that is asked of the latter."""

    components_: Array  # (K, M): P(y given z), up to a factor of each component


class FactorModel(Components, Protocol):
    """A fitted estimator, of which P(y given x) is a product of two factors."""

    embedding_: Array  # (N, K): P(z given x)
    row_distribution_: Array  # (N,): P(x)
    weights_: Array  # (K,): the prior, P(z given a row without observations)
    beta_: float

    def transform(self, X: TableLike) -> Array:
        """P(z given x) of rows, (n, K)."""
