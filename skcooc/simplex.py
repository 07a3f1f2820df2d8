"""Distributions: non-negative arrays that sum to one along an axis."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from skcooc.protocol import Array

LEAST = 1e-30  # stands for zero probabilities in logarithms; a float32 can hold it
NOTHING = 1e-9  # roots of probabilities that are taken as zero
TWINS = 0.2  # Hellinger distance below which topics are nearly equal
TWINS_OF_ROWS = 0.05  # and clusters, which all tokens of a row tell apart
N_NAMED = 3  # pairs of such topics that a message names


def normalise(P: Array, axis: int, otherwise: Array | float, out: Array | None = None) -> Array:
    """Divide P (n, k) by its sums along an axis; zero slices become ``otherwise``, broadcast.

    >>> normalise(np.array([[1.0, 3.0], [0.0, 0.0]]), axis=1, otherwise=0.5)
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """
    mass = sums(P, axis)[None] if axis == 0 else sums(P, axis)[:, None]
    void = mass <= 0
    if not void.any():
        return np.divide(P, mass, out=out)
    result = np.divide(P, np.where(void, 1, mass), out=out)
    np.copyto(result, otherwise, where=void, casting="same_kind")
    return result


def mix_with(P: Array, distribution: Array, share: float) -> Array:
    """Mix each column of P (n, k) with a distribution (n,) of weight ``share``."""
    return (1 - share) * P + share * distribution[:, None]


def sums(P: Array, axis: int) -> Array:
    """Sums of P (n, k) along an axis, faster than its method ``sum``."""
    return np.einsum("ik->k" if axis == 0 else "ik->i", P)


def log(P: Array, out: Array | None = None) -> Array:
    """Logarithms of probabilities, clipped at ``LEAST`` so that they are finite."""
    return np.log(np.maximum(P, LEAST, out=out), out=out)


def entropy(P: Array) -> float:
    """Sum over the rows of -sum_k P_ik log P_ik, in nats."""
    return -float(np.sum(P * log(P), dtype=np.float64))


def softmax(scores: Array, log_sums: Array) -> None:
    """Replace log weights (n, k) by normalised weights, in place.

    ``log_sums`` (n, 1) is filled with log sum_k exp(scores_ik).

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
    """Replace log weights (n, k) by indicators of the largest, the limit of softmax.

    ``largest`` (n, 1) is filled with the largest log weight of each row.
    """
    largest[:] = scores.max(axis=1, keepdims=True)
    best = first_largest(scores)
    scores[:] = 0
    np.put_along_axis(scores, best[:, None], 1, axis=1)


def first_largest(scores: Array) -> Array:
    """Argmax of each row of (n, k), (n,): the first of entries equal but for rounding.

    >>> first_largest(np.array([[0.3, 0.1 + 0.2], [0.1 + 0.2, 0.3], [0.2, 0.8]]))
    array([0, 0, 1])
    """
    largest = scores.max(axis=1, keepdims=True)
    slack = 8 * np.finfo(scores.dtype).eps * (1 + np.abs(largest))
    return (scores >= largest - slack).argmax(axis=1)


def cosines(P: Array, Q: Array) -> Array:
    """Return the cosines of rows of P (k, n) and Q (l, n), (k, l); zero for rows of zeros.

    >>> cosines(np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([[1.0, 0.0]])).round(6).tolist()
    [[1.0], [0.6]]
    """
    double = (A.astype(np.float64) for A in (P, Q))
    P, Q = (A / np.maximum(np.linalg.norm(A, axis=1, keepdims=True), LEAST) for A in double)
    return np.clip(P @ Q.T, -1, 1)


def residuals(P: Array, overall: Array) -> Array:
    """Pearson residuals (P - overall) / sqrt(overall) of rows of P (k, n); zero where both are.

    >>> P, overall = np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]), np.array([0.25, 0.75, 0.0])
    >>> residuals(P, overall).round(2)
    array([[ 0.5 , -0.29,  0.  ],
           [-0.5 ,  0.29,  0.  ]])
    """
    return (P - overall) / np.sqrt(np.maximum(overall, LEAST))


def hellinger(components: Array) -> Array:
    """Distances sqrt(1 - sum_j sqrt(p_j q_j)) of all pairs of distributions, (K, K)."""
    roots = np.sqrt(components)
    roots[roots < NOTHING] = 0  # the smallest numbers are slow to multiply
    distances = np.sqrt(np.maximum(1 - roots @ roots.T, 0))
    np.fill_diagonal(distances, 0)
    return (distances + distances.T) / 2


def nearest_other(components: Array) -> tuple[Array, Array]:
    """The nearest other one of each of K > 1 distributions, and its distance, (K,)."""
    distances = hellinger(components)
    np.fill_diagonal(distances, np.inf)
    return distances.argmin(axis=1), distances.min(axis=1)


def warning_of_twins(*components: Array, noun: str = "topic", can_merge: bool = True) -> str | None:
    """Return a message that names nearly equal topics; None if there are none, or one column.

    ``components`` (K, M) are their distributions over each index that they describe.
    """
    limit = TWINS if noun == "topic" else TWINS_OF_ROWS
    first, second = np.triu_indices(len(components[0]), 1)
    distances = np.max([hellinger(P)[first, second] for P in components], axis=0)
    order = np.argsort(distances, kind="stable")[: np.count_nonzero(distances < limit)]
    if not len(order) or components[0].shape[1] == 1:
        return None
    if len(order) == len(first) > 1:
        return (
            f"{noun.capitalize()}s are nearly equal, all {len(components[0])} of them, at a "
            f"Hellinger distance below {limit}: either X shows none, or beta is too small."
        )
    pairs = [f"{first[q]} and {second[q]} ({distances[q]:.2f})" for q in order[:N_NAMED]]
    more = f" and {len(order) - N_NAMED} more pairs" if len(order) > N_NAMED else ""
    merge = ", merge them with skcooc.inspection.merge_topics" if can_merge else ""
    return (
        f"{noun.capitalize()}s are nearly equal, at a Hellinger distance below {limit}: "
        f"{', '.join(pairs)}{more}. Fit again with n_init=2 or more{merge}, or choose fewer "
        f"{noun}s."
    )


def match_rows(P: Array, Q: Array) -> tuple[Array, Array]:
    """Match each row of P (k, n) to a different row of Q (l, n), l >= k.

    Returns the rows of Q and the affinities of the pairs, (k,) each: cosines of Pearson residuals
    from the mean of all rows, so that what all rows have in common counts for nothing; but cosines
    of the rows where P has one. The Hungarian method maximises the sum of the affinities.

    >>> rows, affinities = match_rows(np.array([[0.9, 0.1], [0.6, 0.4]]), np.eye(2)[::-1])
    >>> rows.tolist(), affinities.round(2).tolist()
    ([1, 0], [1.0, 1.0])
    """
    P, Q = (A / np.maximum(A.sum(axis=1, keepdims=True), LEAST) for A in (P, Q))
    if len(P) > 1:
        overall = (P.mean(axis=0) + Q.mean(axis=0)) / 2
        P = residuals(P, overall)
        Q = residuals(Q, overall)
    affinities = cosines(P, Q)
    rows, columns = linear_sum_assignment(affinities, maximize=True)
    return columns, affinities[rows, columns]
