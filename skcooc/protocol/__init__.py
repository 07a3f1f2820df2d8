"""Protocols: what counts, equations, predictors and fitted estimators offer each other."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    cast,
)

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

Array: TypeAlias = NDArray[Any]
CSR: TypeAlias = sp.csr_array  # of non-negative floats, checked
Estimator: TypeAlias = Any  # fitted, or a fitted pipeline, search or meta-estimator around it
TableLike: TypeAlias = Any  # input of users, not checked: array-like, sparse, DataFrame, Dyads
RandomState: TypeAlias = int | np.random.RandomState | None

Rows: TypeAlias = Array  # (n, k): the state of the rows: distributions, or expected counts
Params: TypeAlias = Any  # NamedTuple of arrays; `weights` (k,) are those of an empty row
Statistics: TypeAlias = Any  # NamedTuple of sums over rows; its `free_energy` is in nats

T = TypeVar("T")
P = TypeVar("P")  # the parameters of a model
S = TypeVar("S")  # its statistics
S_co = TypeVar("S_co", covariant=True)
A = TypeVar("A")

# Capabilities of a table, which equations or parameters may need:
Capability = Literal[
    "divide",  # tokens of all rows that are held out
    "coarsen",  # rows that are tied in groups
    "exchange",  # moves of items that are rows and columns at once
    "left_out",  # leave-one-out responsibilities of tokens, or of rows
    "replaced",  # a copy with other counts at the non-zeros
    "paths",  # mixtures along the paths of a tree
    "all rows",  # all rows in one place, for the start
    "each step",  # all rows in every step
    "row states",  # states of the rows, kept from step to step
    "triples",  # a third index of every token
    "weights",  # of the rows
    "groups",  # of the rows
]


def refuse_objects(
    value: object, name: str, kind: str, *, of_anndata: str, of_model: str = ""
) -> None:
    """Raise TypeError for an AnnData, a model or a class, in place of an array or a table.

    NumPy would take an AnnData apart cell by cell, for minutes.
    """
    class_name = type(value).__name__
    bases = type(value).__mro__
    if ("anndata", "AnnData") in ((b.__module__.partition(".")[0], b.__name__) for b in bases):
        raise TypeError(
            f"{name} is an {class_name}, which holds more than {kind}: give {of_anndata}."
        )
    refuse_class(value, name)
    if hasattr(value, "get_params"):
        raise TypeError(f"{name} is an estimator, {class_name}: give {of_model or f'the {kind}'}.")


def refuse_class(value: object, name: str) -> None:
    if isinstance(value, type):
        raise TypeError(f"{name} is a class: give an instance, {value.__name__}(...).")


class TableWarning(UserWarning):
    """Warning of what is in the table that the user gave; fits to parts of it do not repeat it."""


BETWEEN = {"skcooc", "sklearn", "joblib"}  # the lines that a warning does not name


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn, naming the line of the user's code that called this package."""
    frame = sys._getframe()
    level = 1
    # Code that is executed with variables of its own may have no name of a module.
    while frame.f_back and str(frame.f_globals.get("__name__")).split(".")[0] in BETWEEN:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


class Map(Protocol):
    """The built-in map, or one that uses several threads."""

    def __call__(self, function: Callable[[A], T], arguments: Iterable[A], /) -> Iterable[T]:
        """Return function(argument) for each argument, in order."""


class FixedComponents(NamedTuple):
    """Components of new rows: a = s_i o + (1 - s_i) b / n_i.

    b_k = a_k^p sum_j n_ij B_jk / sum_l B_jl a_l^p are the expected tokens of a component.
    """

    components: Array  # (M, k): B, the tempered components
    power: float  # p, in (0, 1]
    otherwise: Array  # (k,): o, the mixture of an empty row
    prior_shares: Array | None = None  # (n,): s, in float64; None: zeros


class RowSample(NamedTuple):
    """A sample of the distinct rows of a table."""

    rows: CSR
    keys: Array  # hashes of the rows, uint64
    weights: Array  # total weight of the rows of the table that equal each


class Pass(NamedTuple):
    """Result of a pass over the non-zeros; see ``mixture`` of a Block."""

    rows: Array  # (n, k)
    columns: Array  # (M, k), rows counted by their weights
    log_likelihood: float  # sum n_ij log(A[i] @ B[j]), rows counted by their weights, in nats


class Counts(Protocol):
    """A whole table of counts in memory, on disk or on workers, as initialisation and EM see it.

    Rows have weights, and sums over rows count each row by its weight.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows N and of columns M."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating point type of the products."""

    @property
    def column_sums(self) -> Array:
        """Tokens of each column, rows by their weights, (M,)."""

    @property
    def mean_count_weight(self) -> float:
        """Mean weight of a token, if n_ij stands for ceil(n_ij) tokens; 1 for counts."""

    def tdot(self, D: Rows) -> Array:
        """X.T @ D, rows counted by their weights: (N, k) -> (M, k)."""

    def expect(self, model: FoldIn[P, S], params: P, rows: Rows, beta: float) -> tuple[Rows, S]:
        """Make a model's E-step on the machines of the counts; return row states and statistics."""

    def map_row_ranges(self, function: Callable[..., object], *states: Rows) -> Rows:
        """Fill states by function(*states, out), called for ranges of rows of all of them.

        The result, like the first of the states in shape and type, stays on the machines of the
        rows.
        """

    def map_blocks(self, function: Callable[..., Rows], *states: Rows) -> Rows:
        """Apply function(block, *states) to all blocks, and keep each result on its machine.

        The function returns an array with an entry for each row of the block.
        """

    def total(self, function: Callable[..., Array], *states: Rows) -> Array:
        """Return the sum of function(block, *states) over all blocks, on this machine."""

    def draw(self, n_rows: int, seed: int) -> RowSample:
        """Draw distinct rows without replacement; all if there are fewer."""

    def collect_rows(self, states: Rows) -> Array:
        """Return states of these rows as an array for users, which outlives the counts."""

    n_threads: int  # of passes on this machine
    map_ranges: Map

    def with_threads(self, n_threads: int, map: Map) -> Self:
        """Return a view whose passes use these threads."""

    @property
    def n_blocks(self) -> int:
        """Number of blocks of an E-step; 1 where progress is unknown before it ends."""

    def with_progress(self, after_block: Callable[[], None]) -> Self:
        """Return a view that calls a function after each block of an E-step."""

    def array(self, values: Array) -> Array:
        """Return an array on the machines of the counts."""

    def within(self, columns: Array) -> Self:
        """Return the table of these columns alone, (m,), which are in order."""


class Block(Counts, Protocol):
    """Rows on one machine, as an E-step sees them."""

    @property
    def row_sums(self) -> Array:
        """Tokens of each row, (n,), without its weight."""

    @property
    def row_weights(self) -> Array:
        """Weight of each row, (n,)."""

    @property
    def row_groups(self) -> Array | None:
        """Group of each row, (n,), from 0, or -1 for no group. None if there are no groups."""

    def in_groups(self, row_groups: Array | None) -> Self:
        """Return the rows with other groups."""

    def column_sums_by_group(self, n_groups: int) -> Array:
        """Return the tokens of each column in each group, and in other rows, (n_groups + 1, M)."""

    @property
    def mass(self) -> float:
        """Weighted number of tokens of the whole table to which the rows belong."""

    def part_of(self, mass: float) -> Self:
        """Return the rows as part of a table with so many tokens."""

    @property
    def weighted_counts(self) -> Array:
        """Number of tokens of each non-zero, row weights included, (nnz,)."""

    @property
    def indices(self) -> Array:
        """Columns of the non-zeros, (nnz,)."""

    def dot(self, D: Array) -> Array:
        """X @ D: (M, k) -> (n, k)."""

    def mixture(self, A: Array, B: Array) -> Pass:
        """Return w @ B and w.T @ A, with w_ij = n_ij / (A[i] @ B[j])."""

    def cells(self, A: Array, B: Array) -> Array:
        """A[i] @ B[j] at the non-zeros, (nnz,)."""

    def map_row_ranges(
        self, function: Callable[..., object], *arrays: Array, out: Array | None = None
    ) -> Array:
        """Fill an array, in place where it is given, with one row for each row of the others."""

    def power(self, P: Array, exponent: float) -> Array:
        """Return P (m, k), not negative, to the power of the exponent."""

    def map_slices(self, function: Callable[[int, int], T]) -> list[T]:
        """Return function(start, stop) for slices of the rows, the same for any threads."""

    def sum_rows(self, cells: Array) -> Array:
        """Return sums over each row of values at the non-zeros, (n,), in float64."""

    def n_log_n(self, axis: Literal[0, 1]) -> Array:
        """Return sums of n_ij log n_ij over each column (0), rows by weight, or each row (1)."""

    def coarsen(self, labels: Array) -> Self:
        """Tie rows: each group becomes its mean row, with the weight of all its members."""

    @property
    def table(self) -> CSR:
        """The counts as a sparse array of SciPy."""

    @property
    def weights(self) -> Array | None:
        """Weights of the rows, (n,); None if all are one."""

    def replaced(self, counts: Array) -> Self:
        """Return the rows with other counts at the non-zeros, (nnz,)."""

    def take(self, rows: Array) -> Self:
        """Return the given rows, in that order."""

    def occupied(self) -> tuple[Self, Array]:
        """Return the rows without empty columns, and the columns that are left.

        The same rows where no column is empty.
        """

    def among(self, columns: Array, n_columns: int) -> Self:
        """Return the rows in a table of so many columns, at these places: undoes `within`."""

    def astype(self, dtype: DTypeLike) -> Self:
        """Return the counts in this type."""

    def as_new(self) -> Block:
        """Return the rows as new rows of a fitted model."""

    def divide(self, fraction: float, seed: int, *, occupied: bool = False) -> tuple[Self, Self]:
        """Hold out this share of the tokens; return the rest, and the held-out ones.

        With ``occupied`` something of every row that has tokens is held out.
        """


class FoldIn(Protocol[P, S_co]):
    """Equations that fold rows into parameters: pure functions, which change no argument."""

    def expect(self, X: Block, params: P, rows: Rows, beta: float) -> tuple[Rows, S_co]:
        """E-step: return new row states, and statistics that add up over blocks of rows."""

    def restrict(self, params: P, columns: Array) -> P:
        """Return the parameters of these columns, which suffice for rows without other columns."""

    def factors(self, params: P, rows: Rows) -> tuple[Array, Array]:
        """Return A (n, k) and B (M, k) with P(y_j given x_i) = A[i] @ B[j]."""

    def predict(self, params: P, rows: Rows, X: Block) -> Array:
        """Return P(y_j given x_i) at the non-zeros of further counts of these rows, (nnz,)."""
        return X.cells(*self.factors(params, rows)).astype(np.float64)

    def fixed(self, X: Block, params: P, beta: float) -> FixedComponents | None:
        """Return components for the fast fold-in, or None if it must iterate ``expect``."""
        return None


class Triples(Counts, Protocol):
    """Table with the capability "triples": a middle index between rows and columns.

    In the methods of a Block, factors of rows are stacked on those of the middle index.
    """

    @property
    def sizes(self) -> tuple[int, int]:
        """Size of the middle index, M, and number of columns, L."""

    @property
    def middle_sums(self) -> Array:
        """Tokens of each value of the middle index, (M,)."""


class Equations(FoldIn[P, S], Protocol[P, S]):
    """A mixture model: its equations, as pure functions of a frozen object."""

    @property
    def needs(self) -> Mapping[Capability, str]:
        """Capabilities needed of a table, each with a message: the parameter, and what to set."""
        return {}

    def start(self, X: Counts, rng: np.random.Generator) -> tuple[P, Rows]:
        """Return random parameters and row states; `skcooc.starts` has better ones."""

    def for_table(self, params: P, X: Counts) -> P:
        """Adapt parameters that were fitted to another table: replace what depends on its counts.

        Otherwise the first objective of EM would not be comparable with the second.
        """
        return params

    def among(self, params: P, columns: Array, n_columns: int, share: float = 0.0) -> P:
        """Return the parameters in a table of so many columns, at these places: undoes `restrict`.

        The other columns have no tokens. Each component gives them this share in equal parts.
        """
        without: Any = self.restrict(params, np.empty(0, dtype=np.intp))

        def widened(narrow: Array, none: Array) -> Array:
            if narrow.shape == none.shape:  # it has no columns
                return narrow
            wide = np.zeros((n_columns, *narrow.shape[1:]), narrow.dtype)
            if share:
                wide[:] = share / (n_columns - len(columns))
                narrow = (1 - share) * narrow
            wide[columns] = narrow
            return wide

        return type(without)(*map(widened, cast(Any, params), without))

    @property
    def column_prior(self) -> float:
        """Pseudo-counts of a column in all components together."""
        return 0.0

    def maximize(self, stats: S, params: P, beta: float) -> P:
        """M-step: return parameters, given the statistics of all rows."""

    def log_prior(self, params: P, beta: float) -> float:
        """Return the log prior of the parameters; free energy minus it never rises."""
        return 0.0

    def free_parameters(self, params: P, n_rows: int) -> int:
        """Return the number of free parameters of P(y given x) of so many rows."""
        raise NotImplementedError

    @property
    def patience(self) -> int:
        """Iterations without a lower objective, after which EM has converged."""
        return 1

    @property
    def largest_beta(self) -> float:
        """Largest inverse temperature: 1 where it is the exponent of a likelihood."""
        return 1.0

    @property
    def stages(self) -> Sequence[tuple[Model, int | None]]:
        """Models fitted in turn, less and less constrained, and their limits of iterations."""
        return [(self, None)]

    def fold_in_equations(self, params: P) -> tuple[FoldIn[Any, Any], Params]:
        """Return equations that fold in new rows, and their parameters; default self."""
        return self, params

    @property
    def folds_in_own_rows(self) -> bool:
        """True if a fit ends by folding in its rows like new rows."""
        return False

    def mixture_prior(self, params: P) -> tuple[Array, Array] | None:
        """Return the prior of a row's mixture: weights (a,) and A (a, k), as of ``factors``.

        None where a mixture is a parameter of its row.
        """
        return None


Model: TypeAlias = Equations[Any, Any]


class OnlineModel(Equations[P, S], Protocol[P, S]):
    """A model whose parameters can follow a stream of rows."""

    column_statistics: ClassVar[tuple[str, ...]] = ("components",)  # with an entry per column

    def mix_with(self, params: P, distribution: Array, share: float) -> P:
        """Return parameters whose components have this share of a distribution, (M,)."""

    def batch_equations(self) -> FoldIn[P, Any]:
        """Return equations that fold in a mini-batch before its E-step; default self."""
        return self


class Clustering(Equations[P, S], Protocol[P, S]):
    """A model of clusters, whose best temperature depends on the size of the rows or columns."""

    def object_size(self, X: Counts) -> float:
        """Return the mean number of tokens of a clustered row or column."""

    def critical_beta(self, X: Counts) -> float:
        """Return the inverse temperature below which all clusters coincide."""


class Splittable(Equations[P, S], Protocol[P, S]):
    """A model of clusters, or of topics, that split while the temperature falls.

    The states of its rows are their posterior distributions over the clusters.
    """

    n_clusters: int

    def mix_components(self, params: P, shares: Array) -> P:
        """Return parameters of clusters that are mixtures of these, with shares (K, K')."""

    def perturb(self, params: P, rng: np.random.Generator, amount: float) -> P:
        """Return parameters with noise of this relative size."""


class MergeableClusters(Clustering[P, S], Splittable[P, S], Protocol[P, S]):
    """Clusters of rows or of columns, which begin with spare ones that are merged."""

    def seeded(self, X: Counts, rng: np.random.Generator, n_sampled: int) -> tuple[P, Rows]:
        """Return clusters that begin with n_sampled rows or columns, far from each other."""

    def overlaps(self, X: Counts, params: P, rows: Rows) -> Array:
        """Return Bhattacharyya coefficients of clusters' responsibilities, (K, K), in counts."""


class Predictor(Protocol):
    """Prediction of further tokens of the rows of one table."""

    def cells(self, X: Block) -> Array:
        """Return P(y_j given x_i) at the non-zeros of other counts of these rows, (nnz,)."""


class FactorModel(Protocol):
    """A fitted estimator whose P(y given x) is a product of two factors."""

    components_: Array  # (K, M): P(y given z), up to a factor of each component
    embedding_: Array  # (N, K): P(z given x)
    row_distribution_: Array  # (N,): P(x)
    weights_: Array  # (K,): the prior, P(z given a row without tokens)
    beta_: float

    def transform(self, X: TableLike) -> Array:
        """Return P(z given x) of rows, (n, K)."""


@cache
def _public_names(kind: type) -> frozenset[str]:
    """Public names of the attributes of a class, and of the annotated ones of its instances."""
    annotated = (vars(base).get("__annotations__", ()) for base in kind.__mro__)
    names = {*dir(kind)}.union(*annotated)
    return frozenset(name for name in names if not name.startswith("_"))


class AttributeHints:
    """Mixin class: an AttributeError names the attribute that is meant, if there is one."""

    _instead: ClassVar[Mapping[str, str]] = {  # attributes of other libraries, and what to use
        **dict.fromkeys(("labels_", "topics_", "fit_predict"), "embedding_.argmax(axis=1)"),
        "predict": "transform(X).argmax(axis=1)",
        "predict_proba": "transform(X)",
        **dict.fromkeys(("posteriors_", "row_posteriors_"), "predict_proba(X)"),
        **dict.fromkeys(("cluster_centers_", "coef_", "means_", "topic_word_"), "components_"),
        "get_topics": "components_",
        **dict.fromkeys(("search", "query", "rank"), "kneighbors(X)"),
        **dict.fromkeys(("best_k_", "best_n_topics_", "n_components_"), "best_n_components_"),
        "doc_topic_": "embedding_",
        **dict.fromkeys(
            ("inertia_", "bound_", "reconstruction_err_", "loglikelihood_"), "objective_"
        ),
        **dict.fromkeys(("perplexity_", "bound", "log_perplexity"), "perplexity(Dyads(test))"),
        **dict.fromkeys(
            ("show_topics", "print_topics", "get_topic_info", "get_topic"),
            "skcooc.inspection.describe(model)",
        ),
    }

    _unset = "not fitted yet, call fit first"

    if not TYPE_CHECKING:  # it would hide misspelt names

        def __getattr__(self, name: str) -> Any:
            """Raise AttributeError, with the name that is meant, if there is one."""
            if hasattr(type(self), name):  # a property or a method that says why it is missing
                try:
                    return object.__getattribute__(self, name)
                except AttributeError as error:  # of available_if, whose cause is the reason
                    raise error.__cause__ or error from None
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            if not name.startswith("_"):
                message += self._hint(name)
            raise AttributeError(message, name=name, obj=self)

    def _hint(self, name: str) -> str:
        """Return what to use instead of an attribute that is missing; empty if that is unknown."""
        attributes = [attribute for attribute in vars(self) if not attribute.startswith("_")]
        names = _public_names(type(self)).union(attributes)  # type: ignore[arg-type]
        if name in names:
            is_fitted = any(attribute.endswith("_") for attribute in attributes)
            return "" if is_fitted else f": {self._unset}"
        hints = []
        if name.endswith("_"):
            hints = sorted(longer for longer in names if longer.endswith(f"_{name}"))
        # One of two sides is not meant.
        if len(hints) < 2 and (hint := self._instead.get(name)):
            is_valid = re.split(r"\W", hint)[0] in {"skcooc", "matplotlib", *names}
            hints = [hint] if is_valid else []
        hints = hints or get_close_matches(name, names, 1, 0.8)
        return f". Use {' or '.join(hints)}" if hints else ""
