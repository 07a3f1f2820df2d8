"""Distributions made of what the factors of a peer add up to."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.preprocessing import normalize


def shares(masses: NDArray[np.floating], otherwise: ArrayLike = 0.0) -> NDArray[np.floating]:
    """Rows (n, k) divided by their sums; otherwise, a number or (k,), where a row is void."""
    rows: NDArray[np.floating] = normalize(masses, norm="l1")
    rows[~masses.any(axis=1)] = otherwise
    return rows
