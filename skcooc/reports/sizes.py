"""The number of topics in a report, and topics that are nearly equal."""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.base import BaseEstimator

from skcooc.estimators.aspect import AspectModel
from skcooc.inspection import merge_topics
from skcooc.model_selection import split_counts
from skcooc.protocol import CSR, Array
from skcooc.simplex import TWINS, hellinger
from skcooc.tables import Dyads

LADDER = 4, 8, 16, 32
FEWEST = 2
ROWS_PER_TOPIC = 10
LEAST_GAIN = 0.01  # relative fall of held-out perplexity that is worth twice as many topics
SAME = 0.4  # Hellinger distance, averaged over pairs, below which topics are one
MAX_ITER = 50  # of fits that are compared
# Hyper-parameters of the smallest fit, which the others take over. Tuned for each they cost three
# times as much, and on twelve corpora the sizes were the same.
TUNED = "beta", "tempering", "component_prior", "row_prior", "leave_one_out", "smoothing"

Model = TypeVar("Model", bound=BaseEstimator)


def largest_size(X: CSR) -> int:
    """The most topics of a report: 32, or a tenth of the rows with counts if these are fewer."""
    n_rows = int((X.sum(axis=1) > 0).sum())
    return min(LADDER[-1], max(FEWEST, n_rows // ROWS_PER_TOPIC))


def find_size(X: CSR, **parameters: Any) -> int:
    """The number of topics: twice as many as long as held-out perplexity falls by a percent.

    Topics that are found several times are merged later by `merge_copies`. ``parameters`` are those
    of `AspectModel`; what is "auto" is tuned with the fewest topics.
    """
    limit = largest_size(X)
    sizes = [size for size in LADDER if size < limit] + [limit]
    if len(sizes) == 1:
        return limit
    train, test = split_counts(X, random_state=0)
    chosen = sizes[0]
    lowest = np.inf
    for size in sizes:
        model = AspectModel(size, **parameters)
        model.set_params(max_iter=min(model.max_iter, MAX_ITER))
        with warnings.catch_warnings():  # whether topics are equal or EM ends is of no interest
            warnings.simplefilter("ignore")
            perplexity = model.fit(train).perplexity(Dyads(test))
        if perplexity > (1 - LEAST_GAIN) * lowest:
            break
        chosen = size
        lowest = perplexity
        parameters |= {name: getattr(model, f"{name}_") for name in TUNED}
    return chosen


def merge_copies(model: Model) -> Model:
    """The model with nearly equal topics merged, in a copy if there are some."""
    groups = [group for group in _alike(model.components_, SAME) if len(group) > 1]
    return merge_topics(model, groups) if groups else model


def n_distinct(components: Array) -> int:
    """The number of topics that `merge_copies` would leave."""
    return len(_alike(components, SAME))


def twins(components: Array) -> list[tuple[int, int]]:
    """Pairs of topics that are nearly equal, the nearest first."""
    first, second = np.triu_indices(len(components), 1)
    distances = hellinger(components)[first, second]
    order = np.argsort(distances, kind="stable")[: np.count_nonzero(distances < TWINS)]
    return [(int(first[q]), int(second[q])) for q in order]


def _alike(components: Array, distance: float) -> list[list[int]]:
    """Topics in groups of average linkage below a distance."""
    if len(components) < 2:
        return [[k] for k in range(len(components))]
    tree = linkage(squareform(hellinger(components), checks=False), "average")
    labels = fcluster(tree, distance, "distance")
    return [np.flatnonzero(labels == label).tolist() for label in np.unique(labels)]
