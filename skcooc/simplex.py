"""Distributions: arrays that are non-negative and sum to one along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def normalise(P: Array, axis: int, otherwise: Array | float) -> Array:
    """Divide by the sums along an axis.

    Parameters
    ----------
    P : array of shape (n, k), non-negative
    axis : {0, 1}
        Axis along which the result sums to one.
    otherwise : array, broadcast against P, or float
        What a slice without mass becomes.

    Returns
    -------
    distribution : array of shape (n, k)

    Examples
    --------
    >>> import numpy as np
    >>> normalise(np.array([[1.0, 3.0], [0.0, 0.0]]), axis=1, otherwise=0.5)
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """
    mass = P.sum(axis=axis, keepdims=True)
    if (mass > 0).all():
        return P / mass
    return np.where(mass > 0, P / np.where(mass > 0, mass, 1), otherwise).astype(P.dtype)


def entropy(p: Array, axis: int | None = None) -> Any:
    """Entropy -sum p log p along an axis, in nats; zero probabilities contribute nothing.

    Examples
    --------
    >>> import numpy as np
    >>> round(float(entropy(np.array([0.5, 0.5, 0.0]))), 4)
    0.6931
    """
    return -(p * np.log(np.where(p > 0, p, 1))).sum(axis=axis)
