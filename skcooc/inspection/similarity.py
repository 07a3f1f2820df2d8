"""Similar rows, distances of topics on a map, and topics that recur in several runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, check_random_state, resample
from sklearn.utils.extmath import svd_flip

from skcooc.inspection.models import MIXTURES_OF_CELLS, SUM_TOLERANCE, unwrap
from skcooc.protocol import (
    Array,
    FactorModel,
    RandomState,
    TableLike,
    refuse_class,
    refuse_objects,
    warn,
)
from skcooc.protocol.decorators import validated
from skcooc.protocol.scikit_learn import Interval, num_samples
from skcooc.simplex import hellinger, match_rows
from skcooc.tables import row_names_of

SAME_TOPIC = 0.8  # affinity from which topics of two runs are the same
OFTEN = 0.5  # share of the runs
SAME_RUN = 1e-3  # difference of components, relative to the largest, up to which runs are equal


@validated({"n_neighbors": [Interval(Integral, 1, None, closed="left")]})
def nearest_rows(
    embedding: ArrayLike, rows: ArrayLike, n_neighbors: int = 5
) -> tuple[Array, Array]:
    """Return the rows whose mixtures are most similar to those of given rows.

    Mixtures are compared by the Hellinger distance, sqrt(1 - sum_k sqrt(p_k q_k)). It is 0 if they
    are equal, and 1 if they have no component in common.

    Parameters
    ----------
    embedding : array-like of shape (N, K)
        P(k given x_i), such as ``embedding_`` or the result of ``transform``.
    rows : array-like of int of shape (n,)
        Positions of the rows. A row is not its own neighbour.
    n_neighbors : int, default=5
        Number of neighbours of each row, at most N - 1.

    Returns
    -------
    distances, neighbors : (n, n_neighbors) arrays
        Distances in increasing order, and positions of the neighbours.

    Warns
    -----
    UserWarning
        If some rows with several topics have exactly equal mixtures. They are duplicates or empty
        rows, which all have the same mixture. The neighbours of an empty row are meaningless.

    Examples
    --------
    >>> from skcooc.inspection import nearest_rows
    >>> embedding = [[0.9, 0.1], [0.1, 0.9], [0.8, 0.2]]
    >>> distances, neighbors = nearest_rows(embedding, rows=[0], n_neighbors=2)
    >>> neighbors, distances.round(2)
    (array([[2, 1]]), array([[0.1 , 0.63]]))
    """
    options = {"of_anndata": MIXTURES_OF_CELLS, "of_model": "its embedding_"}
    refuse_objects(embedding, "embedding", "mixtures", **options)
    P = check_array(embedding, dtype=[np.float64, np.float32], ensure_non_negative=True)
    if (np.abs(P.sum(axis=1) - 1) > SUM_TOLERANCE).any():
        raise ValueError("embedding should be mixtures: rows that sum to one.")
    indices = np.atleast_1d(rows)
    if indices.ndim != 1 or indices.dtype.kind not in "iub":
        raise IndexError(
            f"rows should be positions, but has type {indices.dtype} and shape {indices.shape}. To "
            "find the position of a name, use np.flatnonzero(names == name)."
        )
    names = row_names_of(embedding)
    if names is not None and names.dtype.kind in "iuf" and indices.dtype.kind != "b":
        raise ValueError(
            f"{indices[0]} could be a position or a name, as rows of embedding have names such as "
            f"{names[0]}: give embedding.to_numpy(), and positions."
        )
    positions = np.arange(len(P))[indices]
    if not n_neighbors < len(P):
        raise ValueError(f"n_neighbors={n_neighbors} should be in [1, {len(P) - 1}] for N={len(P)}")
    points = np.sqrt(P / 2)  # their Euclidean distance is the Hellinger distance
    search = NearestNeighbors(n_neighbors=n_neighbors + 1).fit(points)
    distances, neighbors = search.kneighbors(points[positions])
    other = neighbors != positions[:, None]
    # Among many equal rows, a row need not be among its neighbours: drop the last one then.
    other[other.all(axis=1), -1] = False
    shape = len(positions), n_neighbors
    nearest = neighbors[other].reshape(shape)[:, 0]
    is_mixed = (P[positions] > 0).sum(axis=1) > 1  # rows of hard clusters are equal in any case
    twins = positions[is_mixed & (P[nearest] == P[positions]).all(axis=1)]
    if len(twins):
        warn(
            f"{len(twins)} of the {len(positions)} rows, such as row {twins[0]}, have exactly the "
            "mixture of another row: they are duplicates, or have no counts in the columns of the "
            "fit, and then their neighbours mean nothing. Leave out rows without counts."
        )
    return distances[other].reshape(shape), neighbors[other].reshape(shape)


def map_positions(components: Array) -> Array:
    """Positions of topics on a map, (K, 2), by scaling of their Hellinger distances."""
    if len(components) < 3:
        return np.column_stack([np.arange(len(components)), np.zeros(len(components))])
    from sklearn.manifold import smacof  # here, for it takes a while to import

    distances = hellinger(components)
    if not distances.any():
        return np.zeros((len(components), 2))
    squares = distances**2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True) + squares.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    start = svd_flip(vectors[:, :-3:-1], None)[0] * np.sqrt(np.maximum(values[:-3:-1], 0))
    points, _ = smacof(distances, init=start, n_init=1, eps=1e-6, normalized_stress=False)
    # Axes have no meaning: rotate the longest to the horizontal.
    points = points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(points, full_matrices=False)
    return points @ axes.T


def order_by_similarity(mixtures: Array) -> list[int]:
    """The topics of mixtures (n, K), those with mass in the same rows beside each other.

    >>> order_by_similarity(np.array([[0.6, 0.0, 0.4], [0.0, 1.0, 0.0], [0.5, 0.1, 0.4]]))
    [1, 2, 0]
    """
    if len(mixtures.T) < 3:
        return list(range(len(mixtures.T)))
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    rows_given_topic = mixtures.T + 1e-9
    distances = hellinger(rows_given_topic / rows_given_topic.sum(axis=1, keepdims=True))
    pairs = squareform(distances, checks=False)
    return leaves_list(linkage(pairs, "average", optimal_ordering=True)).tolist()


@dataclass(frozen=True)
class TopicStability:
    """The topics of one run, matched with those of all other runs; see `topic_stability`.

    Read more in the :doc:`how-to guide </howto/texts>`.

    Attributes
    ----------
    model : fitted estimator
        The run whose topics agree best with those of all other runs.
    affinities : (n_runs - 1, K) array
        Affinity of each topic of this run with the matching topic of every other run.
    """

    model: FactorModel
    affinities: Array

    @property
    def affinity(self) -> Array:
        """Mean affinity of each topic over the other runs, (K,)."""
        return self.affinities.mean(axis=0)

    @property
    def n_found(self) -> Array:
        """Number of runs that contain each topic, (K,): this one and those with affinity >= 0.8."""
        return 1 + (self.affinities >= SAME_TOPIC).sum(axis=0)

    @property
    def always(self) -> Array:
        """Topics found in all runs."""
        return np.flatnonzero(self._share == 1)

    @property
    def often(self) -> Array:
        """Topics found in half of the runs or more, but not in all."""
        return np.flatnonzero((self._share >= OFTEN) & (self._share < 1))

    @property
    def seldom(self) -> Array:
        """Topics found in several runs, but in fewer than half."""
        return np.flatnonzero((self._share < OFTEN) & (self.n_found > 1))

    @property
    def once(self) -> Array:
        """Topics found in no other run."""
        return np.flatnonzero(self.n_found == 1)

    @property
    def _share(self) -> Array:
        return self.n_found / (1 + len(self.affinities))


def topic_stability(
    estimator: BaseEstimator, X: TableLike, n_runs: int = 10, *,
    row_share: float = 1.0, groups: ArrayLike | None = None, random_state: RandomState = None,
    n_jobs: int | None = None,
) -> TopicStability:  # fmt: skip
    """Fit a model from several initialisations and find which of its topics recur.

    The affinity of two topics is the cosine of their Pearson residuals, (P(y given z) - m(y)) /
    sqrt(m(y)), where m is the average of all topics of two runs. It is 1 for the same topic and
    about 0 for topics of noise, even if a few frequent columns make all topics similar. For models
    with a single topic it is the cosine of P(y given z). The topics of two runs are matched by the
    Hungarian method, which maximises the sum of affinities. The reported run is the one that agrees
    best with all others.

    Parameters
    ----------
    estimator : estimator
        An estimator of this or another library with ``components_`` and ``random_state``. Its
        clones are fitted. In a pipeline, the steps before it are fitted once, so that all runs have
        the same columns.
    X : array-like, sparse array or matrix of shape (N, M), or as a pipeline takes it
        Counts.
    n_runs : int, default=10
        Number of initialisations, at least 2.
    row_share : float in (0, 1], default=1.0
        Share of the rows that each run is fitted to, drawn at random without replacement.
    groups : array-like of shape (N,), default=None
        Group of each row, if the estimator has group effects.
    random_state : int, RandomState instance or None, default=None
        Seed of the initialisations.
    n_jobs : int, default=None
        Number of threads for the runs. Results do not depend on it.

    Returns
    -------
    stability : TopicStability
        Object with these attributes:

        - ``model``: the reported run; with ``row_share``, of its part of the rows.
        - ``affinity`` and ``n_found``: mean affinity of each topic, and the number of runs that
          contain it.
        - ``always``: topics found in all runs.
        - ``often``: topics found in at least half of the runs, but not in all.
        - ``seldom``: topics found in several runs, but in fewer than half.
        - ``once``: topics found in no other run.

    Warns
    -----
    UserWarning
        If all runs are the same, because the estimator does not begin at random.

    Examples
    --------
    >>> from skcooc import AspectModel, datasets, inspection
    >>> X = datasets.make_cooccurrences(60, 40, n_components=3, random_state=0).X
    >>> stability = inspection.topic_stability(AspectModel(3), X, n_runs=3, random_state=0)
    >>> stability.always.tolist(), stability.once.tolist()
    ([0, 1, 2], [])
    """
    if n_runs < 2:
        raise ValueError(f"n_runs={n_runs} should be at least 2: runs are compared.")
    if not 0 < row_share <= 1:
        raise ValueError(f"row_share={row_share} should be a share of the rows, in (0, 1].")
    refuse_class(estimator, "estimator")
    if not hasattr(estimator, "get_params"):
        kind = type(estimator).__name__
        raise TypeError(f"estimator should be a model that is not fitted yet, got {kind}.")
    seeds = check_random_state(random_state).randint(2**31 - 1, size=n_runs).tolist()
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        pipeline = clone(estimator)
        steps = _seeded(pipeline[:-1], seeds[0])
        stability = topic_stability(
            estimator[-1],
            steps.fit_transform(X),
            n_runs,
            row_share=row_share,
            groups=groups,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        pipeline.steps = [*steps.steps, (pipeline.steps[-1][0], stability.model)]
        return replace(stability, model=pipeline)
    data = [X.to_csr() if hasattr(X, "to_csr") else X]
    if groups is not None:
        data.append(groups)

    def run(seed: int) -> BaseEstimator:
        sample = data
        if row_share < 1:
            n_rows = max(1, round(row_share * num_samples(data[0])))
            sample = resample(*data, replace=False, n_samples=n_rows, random_state=seed)
            sample = sample if len(data) > 1 else [sample]
        table, *labels = sample
        options = {"groups": labels[0]} if labels else {}
        return _seeded(clone(estimator), seed).fit(table, **options)

    models = Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(run)(seed) for seed in seeds)
    components = [np.asarray(unwrap(model, "components_").model.components_) for model in models]
    first = components[0]
    if len(first) > 1 and all(np.abs(q - first).max() < SAME_RUN * first.max() for q in components):
        warn(
            f"All {n_runs} runs found the same components in the same order: fits of this "
            f"{type(estimator).__name__} do not depend on random_state, so they tell nothing about "
            "stability. For NMF, set init='random', or draw the rows with row_share=0.9."
        )
    # Of run s, the affinities of its topics with those of each other run.
    affinities = [
        np.array([match_rows(q, other)[1] for t, other in enumerate(components) if t != s])
        for s, q in enumerate(components)
    ]
    best = int(np.argmax([of_run.mean() for of_run in affinities]))
    return TopicStability(models[best], affinities[best])


def _seeded(estimator: BaseEstimator, seed: int) -> BaseEstimator:
    names = (name for name in estimator.get_params() if name.rpartition("__")[2] == "random_state")
    return estimator.set_params(**dict.fromkeys(names, seed))
