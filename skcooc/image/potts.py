"""Sites that are tied to their neighbours: asymmetric clustering with a Potts prior."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter

from skcooc.protocol import CSR, Array
from skcooc.simplex import log, normalise, softmax

PRIOR = 1e-2  # pseudo-count of a bin: a response that a segment has never shown is not impossible


class Segments(NamedTuple):
    """Posteriors of sites, and what determines them."""

    posteriors: Array  # (n, K): P(segment given site)
    components: Array  # (M, K): P(bin given segment); columns sum to one
    scores: Array  # (n, K): logarithms of the posteriors, up to a constant of each site
    free_energy: float  # nats


@dataclass(frozen=True)
class TiedSites:
    """EM for the asymmetric clustering model where neighbours are likely to agree.

    The segments c_i of the sites have a Potts prior with far couplings,

        log P(c) = (J / 2) sum_il G_il [c_i = c_l] + const,

    where row i of G is a Gaussian window around site i. With posteriors that factorise, R_ic, the
    variational free energy is

        F = sum_ic R_ic log R_ic - sum_ic R_ic [sum_j n_ij log q_jc] - (J / 2) sum_c R_c' G R_c,

    and EM takes turns to minimise it over q, q_jc ~ sum_i R_ic n_ij, and to put

        R_ic ~ exp(sum_j n_ij log q_jc + J sum_l G_il R_lc).

    G is symmetric and positive semidefinite, but for where the window is cut off, so the last term
    is concave and no step raises F although all sites move at once.

    References
    ----------
    Mean-field EM: G. Celeux, F. Forbes and N. Peyrard, EM procedures using mean field-like
    approximations for Markov model-based image segmentation, Pattern Recognition 36, 2003.
    Simultaneous steps: P. Kraehenbuehl and V. Koltun, Parameter learning and convergent inference
    for dense random fields, ICML 2013. The combination with histograms of texture is ours.
    """

    counts: CSR  # (n, M): every observation once, for it is the prior that smooths
    grid: tuple[int, int]  # height and width, in sites; their product is n
    coupling: float  # J, nats: what the agreement of all neighbours is worth to a site
    reach: float  # standard deviation of the window G, in sites

    def fit(self, posteriors: Array, max_iter: int, tol: float) -> Segments:
        """EM from these posteriors, (n, K), until F falls by less than tol relative to its size."""
        return _descended(self.weighed, posteriors, max_iter, tol)

    def assigned(self, posteriors: Array, components: Array, max_iter: int, tol: float) -> Segments:
        """The same with components, (M, K), that stay as they are: those of another image."""
        step = partial(self.at, components=components)
        return _descended(step, posteriors, max_iter, tol)

    def weighed(self, posteriors: Array) -> Segments:
        """The best components for these posteriors, the free energy, and the next scores."""
        expected = self.counts.T @ posteriors + posteriors.dtype.type(PRIOR)
        return self.at(posteriors, normalise(expected, axis=0, otherwise=0.0))

    def at(self, posteriors: Array, components: Array) -> Segments:
        """The free energy at posteriors and components, and the next scores."""
        log_components = log(components)
        likelihoods = self.counts @ log_components
        field = self.coupling * self.neighbours(posteriors)
        terms = posteriors * (log(posteriors) - likelihoods - field / 2)
        energy = np.sum(terms, dtype=np.float64)
        prior = PRIOR * np.sum(log_components, dtype=np.float64)
        return Segments(posteriors, components, likelihoods + field, float(energy - prior))

    def neighbours(self, posteriors: Array) -> Array:
        """G @ posteriors: the share of each segment around each site."""
        planes = posteriors.reshape(*self.grid, -1)
        blurred: Array = gaussian_filter(planes, (self.reach, self.reach), axes=(0, 1), truncate=3)
        return blurred.reshape(posteriors.shape)

    def without_spare(
        self, segments: Segments, n_segments: int, max_iter: int, tol: float
    ) -> Segments:
        """Leave out one segment after another, with EM in between.

        Of two whose union loses least by :meth:`losses`, that with less core. The search is ours.
        """
        while segments.posteriors.shape[1] > n_segments:
            losses, sizes = self.losses(segments.posteriors)
            pair = np.unravel_index(losses.argmin(), losses.shape)
            spare = min(pair, key=lambda c: sizes[c])
            start = distributions(np.delete(segments.scores, spare, axis=1))
            segments = self.fit(start, max_iter, tol)
        return segments

    def losses(self, posteriors: Array) -> tuple[Array, Array]:
        """What would be lost if two segments were one, (K, K), nats; observations of cores (K,).

        A site is in the core of a segment as far as the segment holds more than half of the window
        around it: max(0, 2 sum_l G_il R_lc - 1). Along the border of two textures responses are
        like neither and ask for a segment of their own, but such a strip is too narrow for a core.
        What is won is the coupling of neighbours in one and the other, as in brick and mortar.

        With the counts of two cores n_aj and n_bj the loss of a and b is sum_j [n_aj log(q_aj /
        q_j) + n_bj log(q_bj / q_j)] - J R_a' G R_b, where q_a, q_b and q are the distributions of
        n_a, of n_b and of their sum; on the diagonal it is infinite.
        """
        around = self.neighbours(posteriors)
        expected = (self.counts.T @ np.maximum(2 * around - 1, 0)).T + PRIOR
        contact = self.coupling * (posteriors.T @ around)
        losses = np.full(contact.shape, np.inf)
        for a, b in combinations(range(len(losses)), 2):
            own, shared = expected[[a, b]], expected[[a]] + expected[[b]]
            loss = information(own) - information(shared) - contact[a, b]
            losses[a, b] = losses[b, a] = loss
        return losses, expected.sum(axis=1)


def _descended(
    step: Callable[[Array], Segments], posteriors: Array, max_iter: int, tol: float
) -> Segments:
    """Steps from these posteriors until F falls by less than tol relative to its size."""
    current = step(posteriors)
    for _ in range(max_iter):
        new = step(distributions(current.scores))
        gain = current.free_energy - new.free_energy
        current = new
        if gain < tol * abs(new.free_energy):
            break
    return current


def information(counts: Array) -> float:
    """sum_aj n_aj log(n_aj / n_a), the likelihood of rows of counts by their own distributions."""
    own = normalise(counts, axis=1, otherwise=0.0)
    return float(np.sum(counts * log(own), dtype=np.float64))


def distributions(scores: Array) -> Array:
    """exp(scores), each row divided by its sum."""
    P = scores.copy()
    softmax(P, np.empty((len(P), 1), dtype=P.dtype))
    return P
