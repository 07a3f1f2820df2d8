"""Distributions: arrays that are non-negative and sum to one along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def normalise(P: Array, axis: int, otherwise: Array | float, out: Array | None = None) -> Array:
    """Divide by the sums along an axis.

    Parameters
    ----------
    P : array of shape (n, k), non-negative
    axis : {0, 1}
        Axis along which the result sums to one.
    otherwise : array, broadcast against P, or float
        What a slice without mass becomes.
    out : array of shape (n, k), default=None
        Where the result goes; P itself is allowed.

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
    mass = np.expand_dims(sums(P, axis), axis)
    void = mass <= 0
    result = np.divide(P, np.where(void, 1, mass), out=out)
    if void.any():
        np.copyto(result, otherwise, where=void, casting="same_kind")
    return result


def sums(P: Array, axis: int) -> Array:
    """Sums along an axis of an array of shape (n, k), faster than its method ``sum``.

    Examples
    --------
    >>> import numpy as np
    >>> sums(np.array([[1.0, 3.0], [0.0, 0.5]]), axis=0)
    array([1. , 3.5])
    """
    return np.einsum("ik->k" if axis == 0 else "ik->i", P)
