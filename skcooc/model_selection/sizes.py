"""Which parameters are numbers of components, and which numbers they may be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _num_samples

from skcooc.model_selection.candidates import Sizes
from skcooc.protocol import TableLike


def sizes_of(estimator: BaseEstimator) -> tuple[str, ...]:
    """The names of the parameters; TypeError where there are none.

    >>> from skcooc import SymmetricClustering
    >>> sizes_of(SymmetricClustering())
    ('n_row_clusters', 'n_column_clusters')
    """
    names: tuple[str, ...] = getattr(estimator, "size_parameters", ())
    if not names:
        raise TypeError(
            "ComponentSearchCV needs an estimator of skcooc with a number of components or "
            f"clusters, got {estimator!r}."
        )
    if estimator.get_params(deep=False).get("tied", False):
        raise TypeError(f"{type(estimator).__name__} with tied=True has but one clustering.")
    return names


def check_candidates(candidates: Sequence | str, names: Sequence[str]) -> list[Sizes] | None:
    """Candidates from few components to many, each once; None for "auto"."""
    if isinstance(candidates, str):
        return None
    given = np.asarray(candidates)
    shape = (len(given),) if len(names) == 1 else (len(given), len(names))
    if given.shape != shape or not given.size or given.dtype.kind not in "iu" or given.min() < 1:
        what = "numbers" if len(names) == 1 else f"pairs of {' and '.join(names)}"
        raise ValueError(f"candidates should be {what}, at least 1, got {candidates!r}.")
    sizes = {tuple(row) for row in given.reshape(len(given), -1).tolist()}
    return sorted(sizes, key=lambda them: (np.prod(them), them))


def limits_of(names: Sequence[str], X: TableLike, most: int) -> Sizes:
    """The largest numbers to be tried: no more than there are objects on its side."""
    n_rows = X.table_shape[0] if hasattr(X, "table_shape") else _num_samples(X)
    n_columns = X.table_shape[1] if hasattr(X, "table_shape") else np.shape(X)[1]
    if len(names) == 2:
        return min(n_rows, most), min(n_columns, most)
    return (min(n_rows, n_columns, most),)
