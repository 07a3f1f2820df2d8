"""Sites of an image: their grid, and asymmetric clustering with a Potts prior over it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import prod
from numbers import Integral
from typing import NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.utils import check_scalar

from skcooc.protocol import CSR, Array
from skcooc.simplex import log, normalise, softmax

MIN_BLOCKS = 64  # of the coarsest level
PRIOR = 1e-2  # pseudo-count of a bin


def grid_coarsening(shape: tuple[int, int], n_levels: int | None = None) -> list[Array]:
    """Nested groups of the pixels of an image: blocks of 2 x 2, of 4 x 4, of 8 x 8, ...

    In multiscale optimisation (Hofmann & Puzicha, 1998, section 5.4), the sites of a block share a
    posterior. Blocks are cut off at the right and the lower edge.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the image, in pixels.
    n_levels : int, default=None
        Number of levels, at most up to a single block. None means as many as leave at least 64
        blocks, for fewer are mixtures of segments.

    Returns
    -------
    coarsening : list of n_levels (height * width,) arrays of int
        The block of each site, finest level first. Sites and blocks are numbered as in
        ``image.ravel()``.

    Examples
    --------
    >>> from skcooc.image import grid_coarsening
    >>> grid_coarsening((3, 5), n_levels=2)[0].reshape(3, 5)
    array([[0, 0, 1, 1, 2],
           [0, 0, 1, 1, 2],
           [3, 3, 4, 4, 5]])
    """
    shape = check_shape(shape)
    most = (max(shape) - 1).bit_length()
    if n_levels is None:
        levels = range(1, most + 1)
        n_levels = sum(prod(n_blocks(shape, 2**level)) >= MIN_BLOCKS for level in levels)
    check_scalar(n_levels, "n_levels", Integral, min_val=0, max_val=most)
    return [block_of_pixels(shape, 2 ** (level + 1)).ravel() for level in range(n_levels)]


def check_shape(shape: tuple[int, int]) -> tuple[int, int]:
    if np.shape(shape) != (2,):
        given = shape if isinstance(shape, tuple) else type(shape).__name__
        raise ValueError(f"shape={given} should be the height and the width of an image")
    for side, name in zip(shape, ("height", "width"), strict=True):
        check_scalar(side, name, Integral, min_val=1)
    return int(shape[0]), int(shape[1])


def n_blocks(shape: tuple[int, ...], size: int) -> tuple[int, int]:
    """Number of blocks of size x size pixels, vertically and horizontally."""
    return -(-shape[0] // size), -(-shape[1] // size)


def block_of_pixels(shape: tuple[int, ...], size: int) -> Array:
    """The number of the block of size x size pixels of each pixel, (H, W)."""
    rows, columns = np.arange(shape[0]) // size, np.arange(shape[1]) // size
    return rows[:, None] * (columns[-1] + 1) + columns


class Segments(NamedTuple):
    """Posteriors of sites and parameters of the model, at one iteration."""

    posteriors: Array  # (n, K): P(segment given site)
    components: Array  # (M, K): P(bin given segment); columns sum to one
    scores: Array  # (n, K): logarithms of the next posteriors, up to a constant of each site
    free_energy: float  # nats


@dataclass(frozen=True)
class PottsSites:
    """Mean-field EM for asymmetric clustering of sites with a Potts prior.

    The segments c_i of the sites have a Potts prior with long-range couplings,

        log P(c) = (J / 2) sum_il G_il [c_i = c_l] + const,

    where row i of G is a Gaussian window around site i. With factorised posteriors R_ic, the
    variational free energy is

        F = sum_ic R_ic log R_ic - sum_ic R_ic [sum_j n_ij log q_jc] - (J / 2) sum_c R_c' G R_c,

    and EM alternates between its minimum over q, q_jc ~ sum_i R_ic n_ij, and

        R_ic ~ exp(sum_j n_ij log q_jc + J sum_l G_il R_lc).

    G is symmetric and, but for its truncation, positive semidefinite, so the last term is concave
    and no step raises F although all sites are updated at once.

    References
    ----------
    Mean-field EM: G. Celeux, F. Forbes and N. Peyrard, EM procedures using mean field-like
    approximations for Markov model-based image segmentation, Pattern Recognition 36, 2003.
    Simultaneous steps: P. Kraehenbuehl and V. Koltun, Parameter learning and convergent inference
    for dense random fields, ICML 2013.
    """

    counts: CSR  # (n, M), without overlapping windows: the prior smooths
    grid: tuple[int, int]  # height and width, in sites; their product is n
    coupling: float  # J, nats
    reach: float  # standard deviation of the window G, in sites

    def fit(self, posteriors: Array, max_iter: int, tol: float) -> Segments:
        """Run EM from posteriors, (n, K), until F falls by less than tol, relative to its size."""
        return _iterate(self.step, posteriors, max_iter, tol)

    def fit_posteriors(
        self, posteriors: Array, components: Array, max_iter: int, tol: float
    ) -> Segments:
        """Run E-steps alone, with fixed components, (M, K)."""
        return _iterate(partial(self.evaluate, components=components), posteriors, max_iter, tol)

    def step(self, posteriors: Array) -> Segments:
        expected = self.counts.T @ posteriors + posteriors.dtype.type(PRIOR)
        return self.evaluate(posteriors, normalise(expected, axis=0, otherwise=0.0))

    def evaluate(self, posteriors: Array, components: Array) -> Segments:
        """The free energy at posteriors and components, and the next scores."""
        log_components = log(components)
        likelihoods = self.counts @ log_components
        field = self.coupling * self.neighbours(posteriors)
        terms = posteriors * (log(posteriors) - likelihoods - field / 2)
        energy = np.sum(terms, dtype=np.float64)
        prior = PRIOR * np.sum(log_components, dtype=np.float64)
        return Segments(posteriors, components, likelihoods + field, float(energy - prior))

    def neighbours(self, posteriors: Array) -> Array:
        """G @ posteriors: the share of each segment around each site, (n, K)."""
        planes = posteriors.reshape(*self.grid, -1)
        blurred: Array = gaussian_filter(planes, (self.reach, self.reach), axes=(0, 1), truncate=3)
        return blurred.reshape(posteriors.shape)

    def drop_spare(
        self, segments: Segments, n_segments: int, max_iter: int, tol: float
    ) -> Segments:
        """Remove the smaller core of the pair of least loss, run EM, until n_segments remain."""
        while segments.posteriors.shape[1] > n_segments:
            losses, sizes = self.merge_losses(segments.posteriors)
            pair = np.unravel_index(losses.argmin(), losses.shape)
            spare = min(pair, key=lambda c: sizes[c])
            start = row_softmax(np.delete(segments.scores, spare, axis=1))
            segments = self.fit(start, max_iter, tol)
        return segments

    def merge_losses(self, posteriors: Array) -> tuple[Array, Array]:
        """Losses of merging two segments, (K, K), in nats; and counts of the cores, (K,).

        A site belongs to the core of a segment with weight max(0, 2 sum_l G_il R_lc - 1): the
        segment has more than half of the window around it. Strips along the border of two textures
        attract a segment, but are too narrow for a core.

        With the counts of two cores n_aj and n_bj, the loss is sum_j [n_aj log(q_aj / q_j) +
        n_bj log(q_bj / q_j)] - J R_a' G R_b, where q_a, q_b and q are the distributions of n_a, of
        n_b and of their sum. The last term is the coupling gained. The diagonal is infinite.
        """
        around = self.neighbours(posteriors)
        expected = (self.counts.T @ np.maximum(2 * around - 1, 0)).T + PRIOR
        contact = self.coupling * (posteriors.T @ around)
        losses = np.full(contact.shape, np.inf)
        for a, b in combinations(range(len(losses)), 2):
            own, shared = expected[[a, b]], expected[[a]] + expected[[b]]
            loss = max_log_likelihood(own) - max_log_likelihood(shared)
            losses[a, b] = losses[b, a] = loss - contact[a, b]
        return losses, expected.sum(axis=1)


def _iterate(
    step: Callable[[Array], Segments], posteriors: Array, max_iter: int, tol: float
) -> Segments:
    current = step(posteriors)
    for _ in range(max_iter):
        new = step(row_softmax(current.scores))
        gain = current.free_energy - new.free_energy
        current = new
        if gain < tol * abs(new.free_energy):
            break
    return current


def max_log_likelihood(counts: Array) -> float:
    """sum_aj n_aj log(n_aj / n_a): each row of counts under its own distribution."""
    own = normalise(counts, axis=1, otherwise=0.0)
    return float(np.sum(counts * log(own), dtype=np.float64))


def row_softmax(scores: Array) -> Array:
    P = scores.copy()
    softmax(P, np.empty((len(P), 1), dtype=P.dtype))
    return P
