"""Two published co-clusterings of documents and words, transcribed, and spherical k-means.

Co-clusterings alternate hard assignments of both sides from random labels of the words, until what
they maximise no longer rises; the best of several starts by that is taken.

M. Ailem, F. Role and M. Nadif, Graph modularity maximization as an effective method for
co-clustering text data, Knowledge-Based Systems 109, 2016 (CoclustMod).

G. Govaert and M. Nadif, Mutual information, phi-squared and model-based co-clustering for
contingency tables, Advances in Data Analysis and Classification 12, 2018 (CoclustInfo).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

MAX_ITER, TOL = 100, 1e-9
LEAST = 1e-12  # of a block, before its logarithm

Labels = tuple[np.ndarray, np.ndarray]


def modularity(X: Any, K: int, seed: int, n_init: int) -> Labels:
    """CoclustMod: labels that maximise trace(Z' B W) / L with B = X - a b' / L."""

    def step(P: Any, Z: np.ndarray, W: np.ndarray) -> np.ndarray:
        a, b = P.sum(axis=1), P.sum(axis=0)
        return P @ W - np.outer(a, b @ W)

    def value(P: Any, Z: np.ndarray, W: np.ndarray) -> float:
        return float(np.sum(Z * step(P, Z, W)))

    return _best(X, K, seed, n_init, step, value)


def information(X: Any, K: int, seed: int, n_init: int) -> Labels:
    """CoclustInfo: labels that maximise the mutual information of the table of blocks."""

    def log_ratios(P: Any, Z: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        blocks = np.maximum(Z.T @ (P @ W), LEAST)
        return blocks, np.log(blocks / np.outer(blocks.sum(axis=1), blocks.sum(axis=0)))

    def step(P: Any, Z: np.ndarray, W: np.ndarray) -> np.ndarray:
        return (P @ W) @ log_ratios(P, Z, W)[1].T

    def value(P: Any, Z: np.ndarray, W: np.ndarray) -> float:
        blocks, ratios = log_ratios(P, Z, W)
        return float(np.sum(blocks * ratios))

    return _best(X, K, seed, n_init, step, value)


def spherical_k_means(X: Any, K: int, seed: int, n_init: int) -> np.ndarray:
    """Directions: the cosine to the center decides, and a center is the normalised sum."""
    rng, best = np.random.default_rng(seed), (-np.inf, np.empty(0, int))
    for _ in range(n_init):
        centers, before = X[rng.choice(X.shape[0], K, replace=False)].toarray(), -np.inf
        for _ in range(MAX_ITER):
            centers = centers / np.maximum(np.linalg.norm(centers, axis=1, keepdims=True), LEAST)
            cosines = X @ centers.T
            labels, total = cosines.argmax(axis=1), float(cosines.max(axis=1).sum())
            if total - before <= TOL * abs(total):
                break
            before, centers = total, (X.T @ np.eye(K)[labels]).T
        best = max(best, (total, labels), key=lambda found: found[0])
    return best[1]


def _best(
    X: Any,
    K: int,
    seed: int,
    n_init: int,
    step: Callable[..., np.ndarray],
    value: Callable[..., float],
) -> Labels:
    """The best of several alternations, each from random labels."""
    P, rng = X.astype(float) / float(X.sum()), np.random.default_rng(seed)
    found = []
    for _ in range(n_init):
        Z, W = (np.eye(K)[rng.integers(K, size=n)] for n in P.shape)
        last = -np.inf
        for _ in range(MAX_ITER):
            Z = np.eye(K)[step(P, Z, W).argmax(axis=1)]
            W = np.eye(K)[step(P.T, W, Z).argmax(axis=1)]
            now = value(P, Z, W)
            if now - last <= TOL:
                break
            last = now
        found.append((now, Z.argmax(axis=1), W.argmax(axis=1)))
    return max(found, key=lambda one: one[0])[1:]
