"""Log-likelihoods of held-out observations, one by one and row by row; sampling."""

from __future__ import annotations

import numpy as np

from skcooc.heldout.predictors import log_cells
from skcooc.protocol import Array, Block, Predictor


def score_pairs(X: Block, order: Array, predictor: Predictor) -> Array:
    """log P(y given x) of single observations.

    Parameters
    ----------
    X : Block of shape (N, M)
        Its non-zeros are the observations, row by row; see ``Dyads.listed``.
    order : (L,) array of int
        Where the observations of its non-zeros are in the list.
    predictor : Predictor

    Returns
    -------
    log_likelihood : (L,) array, nats
    """
    log_likelihood = np.empty(len(order))
    log_likelihood[order] = log_cells(predictor, X)
    return log_likelihood


def score_rows(X: Block, predictor: Predictor) -> tuple[Array, Array]:
    """Mean of log P(y given x) over the observations of each row.

    Parameters
    ----------
    X : Block of shape (n, M)
    predictor : Predictor

    Returns
    -------
    log_likelihood : (n,) array, nats
        Zero where a row has no observations.
    counts : (n,) array
        Number of observations of each row.
    """
    sums, counts = X.summed(X.observations * log_cells(predictor, X)), X.row_sums
    return sums / np.where(counts > 0, counts, 1), counts


def draw(
    n_samples: int, row_distribution: Array, A: Array, components: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Draw observations: a row, a component given the row, a column given the component.

    Parameters
    ----------
    n_samples : int
    row_distribution : (N,) array
    A : (N, K) array
    components : (K, M) array
    rng : numpy Generator

    Returns
    -------
    rows, columns : (n_samples,) arrays of int
    """
    per_row = rng.multinomial(n_samples, row_distribution)
    per_component = rng.multinomial(per_row, _exactly(A))  # (N, K)
    rows = [np.repeat(np.arange(len(A)), n) for n in per_component.T]
    columns = [
        rng.choice(len(p), size=n, p=p)
        for p, n in zip(_exactly(components), per_component.sum(axis=0), strict=True)
    ]
    order = rng.permutation(n_samples)
    return np.concatenate(rows)[order], np.concatenate(columns)[order]


def _exactly(P: Array) -> Array:
    """Distributions in float64 whose sums numpy accepts as one."""
    P = P.astype(np.float64)
    return P / P.sum(axis=1, keepdims=True)
