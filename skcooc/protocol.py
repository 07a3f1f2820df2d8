"""What counts and models promise to the EM driver and to the estimators. No code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
CSR: TypeAlias = sp.csr_array  # of non-negative floats, checked
TableLike: TypeAlias = Any  # what a user gives: array-like, sparse, DataFrame, Dyads, not checked
RandomState: TypeAlias = int | np.random.RandomState | None
Params = NamedTuple  # arrays; `weights` (k,) is the distribution of a row without observations
Statistics = NamedTuple  # has a field `free_energy`: the block's part of the objective, in nats
Rows = Array  # (n, k): the state of the rows of a block: distributions, or expected counts


class Mixture(Protocol):
    """Products of the ratios w_ij = n_ij / (A[i] @ B[j]) at the non-zeros."""

    @property
    def rows(self) -> Array:
        """w @ B, (n, k)."""

    @property
    def columns(self) -> Array:
        """w.T @ A, rows counted by their weights, (M, k)."""

    @property
    def log_likelihood(self) -> float:
        """sum n_ij log(A[i] @ B[j]), rows counted by their weights, in nats."""


class Counts(Protocol):
    """A block of rows of a count matrix, whatever its storage or device.

    A row may stand for several: what is summed over rows counts each by its weight.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows n and of columns M."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating point type of the products."""

    @property
    def row_sums(self) -> Array:
        """Observations of each row, (n,), without its weight."""

    @property
    def column_sums(self) -> Array:
        """Observations of each column, rows by their weights, (M,)."""

    @property
    def row_weights(self) -> Array:
        """How many rows each row stands for, (n,)."""

    def n_log_n(self, axis: Literal[0, 1]) -> Array:
        """Sums of n_ij log n_ij over each column (0), rows by their weights, or each row (1)."""

    def dot(self, D: Array) -> Array:
        """X @ D: (M, k) -> (n, k)."""

    def tdot(self, D: Array) -> Array:
        """X.T @ D, rows counted by their weights: (n, k) -> (M, k)."""

    def mixture(self, A: Array, B: Array) -> Mixture:
        """Products of the ratios with both factors; the caller multiplies them by A and B."""

    def cells(self, A: Array, B: Array) -> Array:
        """A[i] @ B[j] at the non-zeros, (nnz,)."""

    def coarsen(self, labels: Array) -> Counts:
        """Tie rows: each group becomes its mean row, with the weight of all its members."""

    def rowwise(
        self, function: Callable[..., Any], *arrays: Array, out: Array | None = None
    ) -> Array:
        """Fill an array with function(*arrays, out), range of rows by range of rows."""

    def expect(self, model: Any, params: Any, rows: Rows, beta: float) -> tuple[Rows, Any]:
        """The E-step of a model on this block, where the block is: row states and statistics."""

    def over_states(self, function: Callable[..., Any], *states: Rows) -> Rows:
        """function(*states), which makes states of these rows of others, where they are."""

    def parts(self, function: Callable[[int, int], Any]) -> list[Any]:
        """What function(start, stop) returns for parts of the rows, whatever the threads."""


class Exchangeable(Protocol):
    """Counts of a whole square table, of which rows and columns are the same objects."""

    def exchange(self, labels: Array, n_clusters: int) -> Array:
        """Labels after every object, in turn, went where it raises the mutual information most."""


class PathCounts(Counts, Protocol):
    """Counts whose rows can have mixtures of their own along the paths of a tree.

    Slot s stands for node nodes[s] on the path to the leaf c with slots[c] <= s < slots[c + 1].
    """

    def path_scores(self, tau: Array, q: Array, slots: Array, nodes: Array) -> Array:
        """sum_j n_ij log sum_s tau[i, s] q[j, nodes[s]] over the slots s of each leaf, (n, K)."""

    def path_mixture(
        self, tau: Array, q: Array, slots: Array, nodes: Array, posteriors: Array
    ) -> tuple[Array, Array]:
        """Expected counts of slots, given the leaf, (n, S), and of columns at nodes, (M, V)."""


class LeftOutCounts(Counts, Protocol):
    """Counts whose observations can have posteriors without their own contribution."""

    def left_out(
        self,
        factors: tuple[Array, Array],
        expected: tuple[Array, Array],
        totals: Array,
        mass: Array,
        powers: tuple[float, float],
    ) -> Mixture:
        """Expected counts of rows (n, k) and columns (M, k), not ratios of them as ``mixture``."""


class Predictor(Protocol):
    """How rows are folded into parameters, as pure functions: no argument is changed, nor self."""

    def expect(self, X: Counts, params: Any, rows: Rows, beta: float) -> tuple[Rows, Any]:
        """E-step on one block: the new row state, and statistics that add up over blocks."""

    def restrict(self, params: Any, columns: Array) -> Any:
        """Parameters for the given columns alone, which is all that new rows with these need."""

    def factors(self, params: Any, rows: Rows) -> tuple[Array, Array]:
        """A (n, k) and B (M, k) with P(y_j given x_i) = A[i] @ B[j]."""


class Model(Predictor, Protocol):
    """A mixture model: its equations, as pure functions."""

    def start(self, blocks: Sequence[Counts], rng: np.random.Generator) -> tuple[Any, list[Rows]]:
        """Parameters and row states to start from."""

    def maximize(self, stats: Any, params: Any, beta: float) -> Any:
        """M-step: the parameters which the statistics of all blocks determine."""

    def log_prior(self, params: Any, beta: float) -> float:
        """Terms of the objective in the parameters alone; free energy minus it never rises."""


class OnlineModel(Model, Protocol):
    """A model whose parameters can follow a stream of rows."""

    def diluted(self, params: Any, distribution: Array, share: float) -> Any:
        """Parameters of which every component is, in this share, the distribution (M,)."""


class Annealable(Model, Protocol):
    """A model of clusters that split while the temperature falls.

    Its E-step does not depend on the row states, which are posteriors of the clusters.
    """

    n_clusters: int

    def mixed(self, params: Any, shares: Array) -> Any:
        """Parameters of other clusters, to which those there give these shares, (K, K')."""

    def perturb(self, params: Any, rng: np.random.Generator, amount: float) -> Any:
        """Parameters with noise of this relative size."""


class Components(Protocol):
    """A fitted estimator of this library or of another: all that is asked of the latter."""

    components_: Array  # (K, M): P(y given z), up to a factor of each component


class FactorModel(Components, Protocol):
    """A fitted estimator, of which P(y given x) is a product of two factors."""

    embedding_: Array  # (N, K): P(z given x)
    row_distribution_: Array  # (N,): P(x)
    beta_: float

    def transform(self, X: TableLike) -> Array:
        """P(z given x) of rows, (n, K)."""
