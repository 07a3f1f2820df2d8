"""What a fitted model has found: its topics with their names and weights, and its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skcooc.inspection.labels import given, name_topics
from skcooc.inspection.unwrapping import unwrap
from skcooc.protocol import Array


class Found(NamedTuple):
    """K topics of N rows and M columns."""

    components: Array  # (K, M): P(y given z)
    mixtures: Array  # (N, K): P(z given x)
    row_distribution: Array  # (N,): P(x)
    columns: Array  # (M,) names
    names: list[str]  # of the topics
    parents: Array | None  # (K,), where they are the nodes of a tree

    @property
    def weights(self) -> Array:
        """Share of the observations of each topic, (K,)."""
        return self.row_distribution @ self.mixtures


def found(
    model: Any, feature_names: ArrayLike | None, names: Sequence[str] | Mapping[int, str] | None
) -> Found:
    """Of an estimator, or of one inside of a pipeline or a search; TypeError where it has none."""
    inside = unwrap(model, "components_", "embedding_", "row_distribution_")
    columns = inside.column_names(feature_names)
    tree = getattr(inside.model, "tree_", None)
    return Found(
        np.asarray(inside.model.components_, dtype=np.float64),
        np.asarray(inside.model.embedding_, dtype=np.float64),
        np.asarray(inside.model.row_distribution_, dtype=np.float64),
        columns,
        given(names, name_topics(inside.model, columns)),
        None if tree is None else tree.parents,
    )


def chosen(weights: Array, topics: int | Sequence[int]) -> list[int]:
    """So many topics of the largest weight, largest first; or those that are given, as they are.

    ValueError where there are no such topics.
    """
    if isinstance(topics, int | np.integer):
        if topics < 1:
            raise ValueError(f"topics={topics} should be at least 1.")
        order: list[int] = np.argsort(-weights, kind="stable").tolist()
        return order[:topics]
    listed = [int(k) for k in topics]
    if not listed or not all(0 <= k < len(weights) for k in listed):
        raise ValueError(f"topics={listed} should be some of 0 to {len(weights) - 1}.")
    return listed
