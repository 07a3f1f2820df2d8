"""What a fitted model has found: its topics with their names and weights, and its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skcooc.inspection.features import OF_ROWS
from skcooc.inspection.labels import Names, given, name_topics
from skcooc.inspection.ranking import masses
from skcooc.inspection.unwrapping import unwrap
from skcooc.protocol import Array, FactorModel


class Found(NamedTuple):
    """K topics of N rows and M columns."""

    model: Any
    components: Array  # (K, M): P(y given z)
    mixtures: Array  # (N, K): P(z given x)
    row_distribution: Array  # (N,): P(x)
    columns: Array  # (M,) names
    names: list[str]  # of the topics

    @property
    def weights(self) -> Array:
        """Share of the observations of each topic, (K,); P(z) where no rows are kept."""
        if not len(self.mixtures):
            return masses(self.model)
        return self.row_distribution @ self.mixtures


def found(model: FactorModel, feature_names: ArrayLike | None, names: Names | None) -> Found:
    """Of an estimator, or of one inside of a pipeline or a search; TypeError where it has none."""
    inside = unwrap(model, *OF_ROWS)
    columns = inside.column_names(feature_names)
    return Found(
        inside.model,
        np.asarray(inside.model.components_, dtype=np.float64),
        np.asarray(inside.model.embedding_, dtype=np.float64),
        np.asarray(inside.model.row_distribution_, dtype=np.float64),
        columns,
        given(names, name_topics(inside.model, columns)),
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
