"""Distributions: arrays that are non-negative and sum to one along an axis."""

from __future__ import annotations

import numpy as np

from skcooc.protocol import Array

LEAST = 1e-30  # a probability of zero has the logarithm of this one: a float32 can hold it


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


def diluted(P: Array, distribution: Array, share: float) -> Array:
    """Columns of which each is, in this share, the given distribution.

    Parameters
    ----------
    P : array of shape (n, k)
        Columns sum to one.
    distribution : array of shape (n,)
    share : float in [0, 1]

    Returns
    -------
    mixed : array of shape (n, k)

    Examples
    --------
    >>> import numpy as np
    >>> diluted(np.array([[1.0, 0.5], [0.0, 0.5]]), np.array([0.0, 1.0]), 0.5)
    array([[0.5 , 0.25],
           [0.5 , 0.75]])
    """
    return (1 - share) * P + share * distribution[:, None]


def sums(P: Array, axis: int) -> Array:
    """Sums along an axis of an array of shape (n, k), faster than its method ``sum``.

    Examples
    --------
    >>> import numpy as np
    >>> sums(np.array([[1.0, 3.0], [0.0, 0.5]]), axis=0)
    array([1. , 3.5])
    """
    return np.einsum("ik->k" if axis == 0 else "ik->i", P)


def log(P: Array, out: Array | None = None) -> Array:
    """Logarithms of probabilities, finite also for zero.

    Examples
    --------
    >>> import numpy as np
    >>> log(np.array([1.0, 0.0])).round(1)
    array([  0. , -69.1])
    """
    return np.log(np.maximum(P, LEAST, out=out), out=out)


def entropy(P: Array) -> float:
    """Sum over the rows of -sum_k P_ik log P_ik, in nats.

    Examples
    --------
    >>> import numpy as np
    >>> round(entropy(np.array([[0.5, 0.5], [1.0, 0.0]])), 3)
    0.693
    """
    return -float(np.sum(P * log(P), dtype=np.float64))


def softmax(scores: Array, log_sums: Array) -> None:
    """Replace log weights by the distributions that they determine.

    Parameters
    ----------
    scores : array of shape (n, k)
        Log weights; overwritten with exp(scores) divided by its row sums.
    log_sums : array of shape (n, 1)
        Filled with the logarithms of these sums.

    Examples
    --------
    >>> import numpy as np
    >>> scores, log_sums = np.array([[1000.0, 1000.0]]), np.empty((1, 1))
    >>> softmax(scores, log_sums)
    >>> scores, log_sums.round(2)
    (array([[0.5, 0.5]]), array([[1000.69]]))
    """
    largest = scores.max(axis=1, keepdims=True)
    scores -= largest
    np.exp(scores, out=scores)
    total = sums(scores, axis=1)[:, None]
    scores /= total
    log_sums[:] = largest + np.log(total)


def hardmax(scores: Array, largest: Array) -> None:
    """Replace log weights by indicators of the largest: softmax where they are very different.

    Parameters
    ----------
    scores : array of shape (n, k)
        Overwritten.
    largest : array of shape (n, 1)
        Filled with the largest log weight of each row.

    Examples
    --------
    >>> import numpy as np
    >>> scores, largest = np.array([[1.0, 3.0]]), np.empty((1, 1))
    >>> hardmax(scores, largest)
    >>> scores, largest
    (array([[0., 1.]]), array([[3.]]))
    """
    largest[:] = scores.max(axis=1, keepdims=True)
    best = first_largest(scores)
    scores[:] = 0
    np.put_along_axis(scores, best[:, None], 1, axis=1)


def first_largest(scores: Array) -> Array:
    """Where each row is largest; the first place of those that are equal but for rounding.

    Parameters
    ----------
    scores : array of shape (n, k)

    Returns
    -------
    places : (n,) array of int

    Examples
    --------
    >>> import numpy as np
    >>> first_largest(np.array([[0.3, 0.1 + 0.2], [0.1 + 0.2, 0.3], [0.2, 0.8]]))
    array([0, 0, 1])
    """
    largest = scores.max(axis=1, keepdims=True)
    slack = 8 * np.finfo(scores.dtype).eps * (1 + np.abs(largest))
    places: Array = (scores >= largest - slack).argmax(axis=1)
    return places
