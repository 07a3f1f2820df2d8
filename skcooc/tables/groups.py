"""Groups of rows, such as the batches of cells: labels become numbers."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike

from skcooc.protocol import Array
from skcooc.protocol.scikit_learn import is_missing


def row_groups(groups: ArrayLike, n_rows: int, labels: Array | None = None) -> tuple[Array, Array]:
    """Sorted labels of groups, (G,), and the number of each row, (n_rows,); -1 where it has none.

    Or the labels given. ValueError where there is not one group for each row.

    >>> row_groups(["b", "a", None, "b"], 4)
    (array(['a', 'b'], dtype=object), array([ 1,  0, -1,  1]))
    """
    if labels is not None:
        return labels, known_groups(groups, labels, n_rows)
    given = _checked(groups, n_rows)
    missing = is_missing(given)
    if missing.all():
        raise ValueError("groups has no value that is not missing.")
    try:
        labels, codes = np.unique(given[~missing], return_inverse=True)
    except TypeError:
        raise ValueError("groups has values of several types; make all of them strings.") from None
    all_codes = np.full(n_rows, -1)
    all_codes[~missing] = codes
    return labels, all_codes


def known_groups(groups: ArrayLike, labels: Array, n_rows: int) -> Array:
    """Number the groups of new rows, (n_rows,), as those fitted; -1 where one is missing or new."""
    given, position = _checked(groups, n_rows), {label: at for at, label in enumerate(labels)}
    missing = is_missing(given)
    codes = np.array(
        [-1 if m else position.get(g, -1) for g, m in zip(given, missing, strict=True)]
    )
    new = given[(codes < 0) & ~missing]
    if len(new):
        warnings.warn(
            f"groups has values that were not fitted, such as {new[0]!r}: their {len(new)} row(s) "
            "are treated as rows without a group.",
            UserWarning,
            stacklevel=6,  # below scikit-learn's wrapper of transform
        )
    return codes.astype(np.intp)


def _checked(groups: ArrayLike, n_rows: int) -> Array:
    given = np.asarray(groups, dtype=object)
    if given.shape != (n_rows,):
        raise ValueError(
            f"groups has the shape {given.shape}; it must be ({n_rows},), one for each row of X."
        )
    return given
