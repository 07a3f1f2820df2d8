"""Synthetic co-occurrence counts, drawn from a model with known structure."""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike
from sklearn.utils import Bunch, check_random_state

from skcooc.hierarchy import Tree, binary_tree
from skcooc.protocol import CSR, Array
from skcooc.protocol.decorators import validated
from skcooc.protocol.scikit_learn import Interval, StrOptions

_POSITIVE = Interval(Integral, 1, None, closed="left")


class Cooccurrences(Bunch):
    X: CSR
    mixtures: Array
    components: Array
    labels: Array
    column_labels: Array | None
    blocks: Array | None
    tree: Tree | None


@validated(
    {
        "n_rows": [_POSITIVE],
        "n_columns": [_POSITIVE],
        "n_components": [_POSITIVE],
        "n_tokens": [Interval(Integral, 0, None, closed="left")],
        "kind": [StrOptions({"aspects", "clusters", "coclusters", "hierarchy"})],
        "n_column_clusters": [_POSITIVE, None],
        "concentration": [Interval(Real, 0, None, closed="neither")],
        "burstiness": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "dtype": "no_validation",
    }
)
def make_cooccurrences(
    n_rows: int = 100, n_columns: int = 200, n_components: int = 5, *,
    n_tokens: int = 10_000, kind: str = "aspects", n_column_clusters: int | None = None,
    concentration: float = 0.1, burstiness: float | None = None,
    random_state: int | np.random.RandomState | None = None, dtype: DTypeLike = np.int64,
) -> Cooccurrences:  # fmt: skip
    """Generate a sparse table of co-occurrence counts with known structure.

    A token is a pair of a row x, drawn uniformly, and a column y, drawn from
    P(y | x) = sum_z P(z | x) P(y | z). The total of a row is random, and can be 0.

    Parameters
    ----------
    n_rows, n_columns : int, default=100 and 200
        Number of rows N and of columns M.
    n_components : int, default=5
        Number K of topics or of row clusters. There are as many components P(y | z), but
        V = 2 K - 1 if `kind="hierarchy"`.
    n_tokens : int, default=10_000
        Number of tokens L, the sum of the table.
    kind : {"aspects", "clusters", "coclusters", "hierarchy"}, default="aspects"
        Kind of the planted structure.

        - "aspects": each token has a topic; P(z | x) of each row and P(y | z) of each topic are
          drawn from symmetric Dirichlet distributions.
        - "clusters": each row belongs to one of K clusters of equal size (give or take one), whose
          P(y | z) is drawn from a symmetric Dirichlet distribution.
        - "coclusters": rows and columns both belong to clusters of equal size. The probabilities
          of the column clusters given a row cluster are drawn from a symmetric Dirichlet
          distribution; the largest one of row cluster k is put at column cluster k modulo D. Within
          a column cluster, probabilities of columns are drawn uniformly from the simplex.
        - "hierarchy": as "clusters", which are the leaves of a complete binary tree. Each node has
          its own P(y | z); a token comes with equal probability from each node on the path
          from the root to the cluster of its row (cluster-abstraction model).
    n_column_clusters : int, default=None
        Number D of column clusters if `kind="coclusters"`. None means as many as row clusters.
    concentration : float, default=0.1
        Parameter of the Dirichlet distributions: small values give rows of few topics and
        components of few columns.
    burstiness : float or None, default=None
        A number a makes columns repeat within a row, the more so the smaller it is: each row draws
        its columns from a distribution of its own, drawn from the Dirichlet distribution with
        parameters a P(y | x). None for no burstiness.
    random_state : int, RandomState instance or None, default=None
        Determines the model and the tokens.
    dtype : dtype, default=numpy.int64
        Type of the counts.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        A dictionary with the attributes

        X : csr_array of shape (N, M)
            The counts.
        mixtures : ndarray of shape (N, K), or (N, V)
            P(z | x), one-hot for clusters; ``mixtures @ components`` is P(y | x).
        components : ndarray of shape (K, M), or (V, M)
            P(y | z).
        labels : ndarray of shape (N,), int64
            Cluster of each row; the most probable topic if `kind="aspects"`.
        column_labels, blocks : ndarrays of shape (M,), int64, and (K, D), or None
            Cluster of each column and P(column cluster | row cluster), if `kind="coclusters"`.
        tree : Tree or None
            The V nodes if `kind="hierarchy"`; cluster k is the node ``tree.leaves[k]``.

    Raises
    ------
    ValueError
        If there are more clusters than rows or columns, or a count does not fit into `dtype`.

    Examples
    --------
    >>> from skcooc.datasets import make_cooccurrences
    >>> data = make_cooccurrences(20, 30, 3, n_tokens=1000, kind="clusters", random_state=0)
    >>> data.X.shape, int(data.X.sum())
    ((20, 30), 1000)
    >>> data.labels[:5]
    array([2, 1, 2, 0, 1])
    """
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=4)
    rng = np.random.default_rng(seed)  # unlike RandomState, it draws one multinomial per row
    D = n_components if n_column_clusters is None else n_column_clusters
    planted = _plant(rng, kind, n_rows, n_columns, n_components, D, concentration)
    draw = _draw if burstiness is None else partial(_draw_bursts, burstiness)
    X = draw(rng, planted.mixtures, planted.components, n_tokens)
    with np.errstate(over="ignore"):
        cast = X.astype(np.dtype(dtype))
    if not np.array_equal(cast.data, X.data):
        largest = X.data.max()
        raise ValueError(f"The largest count, {largest}, does not fit into dtype={cast.dtype}.")
    return Cooccurrences(X=cast, **planted._asdict())


class Planted(NamedTuple):
    """Parameters of the distribution of counts, for N rows, M columns, K components."""

    mixtures: Array  # (N, K) P(z_k | x_i); (N, V) for a tree
    components: Array  # (K, M) P(y_j | z_k); (V, M) for a tree
    labels: Array  # (N,)
    column_labels: Array | None = None  # (M,)
    blocks: Array | None = None  # (K, D) P(column cluster d | row cluster k)
    tree: Tree | None = None  # V nodes, K leaves


def _plant(
    rng: np.random.Generator, kind: str, N: int, M: int, K: int, D: int, concentration: float
) -> Planted:
    def dirichlet(n: int, size: int) -> Array:
        return rng.dirichlet(np.full(size, concentration), size=n)

    if kind == "aspects":
        mixtures = dirichlet(N, K)
        components = dirichlet(K, M)
        return Planted(mixtures, components, mixtures.argmax(axis=1))
    labels = _balanced_labels(rng, N, K, "n_components", "n_rows")
    if kind == "clusters":
        return Planted(np.eye(K)[labels], dirichlet(K, M), labels)
    if kind == "hierarchy":
        tree = binary_tree(K)
        levels = tree.above / tree.above.sum(axis=1, keepdims=True)
        return Planted(levels[labels], dirichlet(tree.n_nodes, M), labels, tree=tree)
    column_labels = _balanced_labels(rng, M, D, "n_column_clusters", "n_columns")
    blocks = dirichlet(K, D)
    for k, top in enumerate(blocks.argmax(axis=1)):
        blocks[k, [top, k % D]] = blocks[k, [k % D, top]]
    weights = rng.standard_exponential(M)  # normalised: uniform on the simplex of each cluster
    within = weights / np.bincount(column_labels, weights, minlength=D)[column_labels]
    components = blocks[:, column_labels] * within
    return Planted(np.eye(K)[labels], components, labels, column_labels, blocks)


def _balanced_labels(
    rng: np.random.Generator, n: int, k: int, clusters: str, members: str
) -> Array:
    """Labels 0..k-1 in random order, each for n / k members, rounded up or down."""
    if k > n:
        raise ValueError(f"{clusters}={k} should be <= {members}={n}.")
    return rng.permutation(np.arange(n) % k)


def _draw(
    rng: np.random.Generator, mixtures: np.ndarray, components: np.ndarray, L: int
) -> sp.csr_array:
    """Draw row totals, usage of components by rows, then columns by inverse CDF."""
    N = len(mixtures)
    M = components.shape[1]
    usage = rng.multinomial(rng.multinomial(L, np.full(N, 1 / N)), mixtures)
    index = np.int32 if max(N, M) < 2**31 else np.int64  # estimators of scikit-learn require int32
    rows = np.repeat(np.tile(np.arange(N, dtype=index), usage.shape[1]), usage.T.ravel())
    columns = np.empty(L, dtype=index)
    start = 0
    for n, p in zip(usage.sum(axis=0), components, strict=True):
        cdf = np.cumsum(p)
        # Without its last entry, so that rounding cannot lead past the last column.
        draws = np.searchsorted(cdf[:-1], rng.random(n) * cdf[-1], side="right")
        columns[start : start + n] = draws
        start += n
    X = sp.csr_array((np.ones(L, dtype=np.int64), (rows, columns)), shape=(N, M))
    X.sum_duplicates()
    return X


def _draw_bursts(
    a: float, rng: np.random.Generator, mixtures: np.ndarray, components: np.ndarray, L: int
) -> sp.csr_array:
    """Draw a distribution of columns for each row, and then row by row."""
    totals = rng.multinomial(L, np.full(len(mixtures), 1 / len(mixtures)))
    tiny = np.finfo(float).tiny  # a row may draw nothing but numbers too small for a float
    P = rng.gamma(a * (mixtures @ components)) + tiny * components.mean(axis=0)
    return sp.csr_array(rng.multinomial(totals, P / P.sum(axis=1, keepdims=True)))
