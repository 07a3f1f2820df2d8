"""Which topics come back when a model is fitted again from another start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state

from skcooc.inspection.unwrapping import unwrap
from skcooc.protocol import Array, Components, RandomState, TableLike
from skcooc.simplex import match_rows

ALIKE = 0.8  # cosine from which a topic is found again
OFTEN = 0.5  # share of the runs


@dataclass(frozen=True)
class TopicStability:
    """The topics of one run, and how they fare in the others; see `topic_stability`.

    Attributes
    ----------
    model : fitted estimator
        The run whose topics agree best with those of all others.
    affinities : (n_runs - 1, K) array
        Cosine of each of its topics and the one matched to it in every other run.
    """

    model: Components
    affinities: Array

    @property
    def affinity(self) -> Array:
        """The mean cosine of each topic over the other runs, (K,)."""
        return self.affinities.mean(axis=0)

    @property
    def n_found(self) -> Array:
        """In how many runs each topic is found, its own included, (K,): a cosine of .8 or more."""
        return 1 + (self.affinities >= ALIKE).sum(axis=0)

    @property
    def always(self) -> Array:
        """Topics found in all runs."""
        return np.flatnonzero(self.n_found == self._n_runs)

    @property
    def often(self) -> Array:
        """Topics found in half of the runs or more, but not in all."""
        return np.flatnonzero((self._share >= OFTEN) & (self.n_found < self._n_runs))

    @property
    def seldom(self) -> Array:
        """Topics found in several runs, but in fewer than half."""
        return np.flatnonzero((self._share < OFTEN) & (self.n_found > 1))

    @property
    def once(self) -> Array:
        """Topics found in no other run."""
        return np.flatnonzero(self.n_found == 1)

    @property
    def _n_runs(self) -> int:
        return 1 + len(self.affinities)

    @property
    def _share(self) -> Array:
        return self.n_found / self._n_runs


def topic_stability(
    estimator: BaseEstimator,
    X: TableLike,
    n_runs: int = 10,
    *,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> TopicStability:
    """Fit a model from several starts, and see which of its topics come back.

    The topics of two runs are matched by the Hungarian method, so that the sum of the cosines of
    their distributions over columns is largest. Topics are those of the run that agrees best with
    all others.

    Parameters
    ----------
    estimator : estimator
        With ``components_``, here or of another library, or a pipeline that ends in one, and
        ``random_state``. Clones are fitted.
    X : array-like, sparse array or matrix of shape (N, M), or what else it takes
        Counts.
    n_runs : int, default=10
        Number of starts, at least 2.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.
    n_jobs : int, default=None
        Number of threads among which the runs are divided. Results do not depend on it.

    Returns
    -------
    stability : TopicStability
        ``affinity`` and ``n_found`` of each topic; ``always``, ``often``, ``seldom`` and ``once``,
        the numbers of the topics that are found so; and ``model``, the fit that they belong to.

    Raises
    ------
    ValueError
        Where ``n_runs`` is below 2.
    TypeError
        Where a fitted estimator has no ``components_``.

    Examples
    --------
    >>> from skcooc import AspectModel
    >>> from skcooc.datasets import make_cooccurrences
    >>> from skcooc.inspection import topic_stability
    >>> X = make_cooccurrences(60, 40, n_components=3, random_state=0).X
    >>> stability = topic_stability(AspectModel(3), X, n_runs=3, random_state=0)
    >>> stability.always.tolist(), stability.once.tolist()
    ([0, 1, 2], [])
    """
    if n_runs < 2:
        raise ValueError(f"n_runs={n_runs} should be at least 2: runs are compared.")
    seeds = check_random_state(random_state).randint(2**31 - 1, size=n_runs).tolist()
    seeded = [name for name in estimator.get_params() if name.rpartition("__")[2] == "random_state"]
    run = delayed(lambda seed: clone(estimator).set_params(**dict.fromkeys(seeded, seed)).fit(X))
    models = Parallel(n_jobs=n_jobs, require="sharedmem")(run(seed) for seed in seeds)
    components = [np.asarray(unwrap(model, "components_").model.components_) for model in models]
    # Of run s: how its topics agree with those of each other run.
    affinities = [
        np.array([match_rows(mine, its)[1] for t, its in enumerate(components) if t != s])
        for s, mine in enumerate(components)
    ]
    best = int(np.argmax([them.mean() for them in affinities]))
    return TopicStability(models[best], affinities[best])
