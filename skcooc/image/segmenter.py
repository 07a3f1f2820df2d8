"""Unsupervised segmentation of an image by its textures, with a Potts prior over its sites."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import gaussian_filter
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skcooc.estimators.asymmetric import AsymmetricClustering
from skcooc.image.histograms import (
    GaborHistograms,
    block_counts,
    check_image,
    grid_coarsening,
    n_blocks,
)
from skcooc.protocol import CSR, Array, RandomState
from skcooc.protocol.bases import BaseEstimator, ClusterMixin
from skcooc.protocol.decorators import fit_context
from skcooc.protocol.scikit_learn import HasMethods, Interval
from skcooc.simplex import first_largest, log, normalise, softmax

LARGEST_SEED = np.iinfo(np.int32).max
PRIOR = 1e-2  # pseudo-count of a bin


class TextureSegmenter(ClusterMixin, BaseEstimator):
    """Segments of an image that differ in texture.

    Three steps, from coarse to fine:

    1. :class:`~skcooc.AsymmetricClustering` of the sites by the histograms of their windows, with
       multiscale optimisation (Hofmann & Puzicha, 1998) and ``n_spare`` additional clusters.
    2. EM without overlapping windows: every response counts once, and a Potts prior couples
       neighbouring sites. Then clusters are removed until ``n_segments`` remain: of the pair whose
       merging costs least, the one with the smaller core (sites whose neighbourhood is mostly in
       the cluster). Of ``n_init`` restarts, the one with the least free energy is kept.
    3. The same model on single pixels.

    Read more in the :doc:`how-to guide </howto/textures>`.

    Parameters
    ----------
    n_segments : int, default=2
        Number K of segments.
    features : GaborHistograms, default=None
        Features of textures. None means ``GaborHistograms()``.
    beta : float in (0, 1], default=0.15
        Inverse temperature of the first step; responses of different filters are dependent.
    n_spare : int, default=4
        Number of additional clusters of the first step: for strips along borders, where filters
        straddle two textures, and for parts of uneven textures.
    coupling : float, default=20.0
        Weight of the agreement of all neighbours of a pixel, in nats. A pixel has as many
        responses as there are filters. 0 means no coupling.
    reach : float, default=8.0
        Standard deviation of the Gaussian window in which pixels are neighbours, in pixels.
    n_init : int, default=3
        Number of initialisations.
    max_iter : int, default=30
        Largest number of EM iterations of each run of steps two and three.
    tol : float, default=1e-5
        EM stops when the free energy falls by less than this, relative to its size.
    n_jobs, random_state
        As for :class:`~skcooc.AsymmetricClustering`; default=None.

    Attributes
    ----------
    labels_ : (H, W) array of int
        Most probable segment of each pixel.
    posteriors_ : (H, W, K) array
        P(segment given pixel), in the mean-field approximation.
    components_ : (K, M) array
        P(bin given segment).
    clustering_ : AsymmetricClustering
        The first step of the best start.
    features_ : GaborHistograms
        With the bins of this image.
    objective_ : float
        Free energy of the third step, in nats.

    References
    ----------
    T. Hofmann and J. Puzicha, *Statistical Models for Co-occurrence Data*, AI Memo 1625, MIT, 1998,
    sections 5.4 and 6.3, for the first step; see ``skcooc.image.sites.PottsSites`` for the others.

    Examples
    --------
    >>> import numpy as np
    >>> from skcooc.image import TextureSegmenter
    >>> rough = np.random.default_rng(0).normal(size=(64, 32))
    >>> smooth = np.cumsum(rough, axis=1)
    >>> image = np.hstack([rough, smooth / smooth.std()])
    >>> labels = TextureSegmenter(2, random_state=0).fit_predict(image)
    >>> labels.shape
    (64, 64)
    """

    labels_: Array
    posteriors_: Array
    components_: Array
    clustering_: AsymmetricClustering
    features_: GaborHistograms
    objective_: float

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_segments": [Interval(Integral, 1, None, closed="left")],
        "features": [HasMethods(["fit_bins", "histograms"]), None],
        "beta": [Interval(Real, 0, 1, closed="right")],
        "n_spare": [Interval(Integral, 0, None, closed="left")],
        "coupling": [Interval(Real, 0, None, closed="left")],
        "reach": [Interval(Real, 0, None, closed="neither")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self, n_segments: int = 2, *, features: GaborHistograms | None = None,
        beta: float = 0.15, n_spare: int = 4, coupling: float = 20.0, reach: float = 8.0,
        n_init: int = 3, max_iter: int = 30, tol: float = 1e-5,
        n_jobs: int | None = None, random_state: RandomState = None,
    ) -> None:  # fmt: skip
        self.n_segments = n_segments
        self.features = features
        self.beta = beta
        self.n_spare = n_spare
        self.coupling = coupling
        self.reach = reach
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: object = None) -> TextureSegmenter:
        """Segment an image.

        Parameters
        ----------
        X : array-like of shape (H, W) or (H, W, C)
            Grey levels, or C colours such as red, green and blue, without an alpha channel.
        y : None
            Ignored.

        Returns
        -------
        self : object

        Raises
        ------
        ImportError, ValueError
            Without scikit-image; if X is no image, is constant, smaller than a window or has fewer
            blocks of pixels than segments, or has NaN or masked pixels, colours first, or an alpha
            channel.
        """
        image = check_image(X)
        shape = image.shape[:2]
        features = GaborHistograms() if self.features is None else clone(self.features)
        bins = features.fit_bins(image)
        counts = features.histograms(bins)
        sites = self._sites(bins, features.step, features.n_features_out_)
        if self.n_segments > math.prod(sites.grid):
            raise ValueError(
                f"n_segments={self.n_segments} should be no more than the {math.prod(sites.grid)} "
                f"blocks of {features.step} x {features.step} pixels that an image of {shape} has."
            )
        rng = check_random_state(self.random_state)
        seeds = rng.randint(LARGEST_SEED, size=self.n_init).tolist()
        starts = [self._start(counts, sites, seed) for seed in seeds]
        coarse, clustering = min(starts, key=lambda start: start[0].free_energy)
        pixels = self._sites(bins, 1, features.n_features_out_)
        start = expand_blocks(coarse.posteriors, sites.grid, shape, features.step)
        segments = pixels.fit(start)
        self.features_ = features
        self.clustering_ = clustering
        self.posteriors_ = segments.posteriors.reshape(*shape, self.n_segments)
        self.labels_ = first_largest(segments.posteriors).reshape(shape)
        self.components_ = segments.components.T
        self.objective_ = segments.free_energy
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Most probable segment of each pixel of another image, (H, W): see `predict_proba`."""
        posteriors = self.predict_proba(X)
        height, width, K = posteriors.shape
        return first_largest(posteriors.reshape(-1, K)).reshape(height, width)

    def predict_proba(self, X: ArrayLike) -> Array:
        """P(segment given pixel) of another image, (H, W) or (H, W, C), as (H, W, K).

        The image has any size, and grey levels or colours on the scale of the training image.
        Components are fixed; posteriors start from the histograms of blocks, and neighbours are
        coupled as in ``fit``.
        """
        check_is_fitted(self)
        image = check_image(X)
        shape = image.shape[:2]
        features = self.features_
        components = self.components_.T
        bins = features.bins(image)
        scores = self.beta * features.histograms(bins) @ log(components)
        sites = self._sites(bins, features.step, features.n_features_out_)
        blocks = sites.fit_posteriors(row_softmax(scores), components).posteriors
        start = expand_blocks(blocks, sites.grid, shape, features.step)
        pixels = self._sites(bins, 1, features.n_features_out_).fit_posteriors(start, components)
        return pixels.posteriors.reshape(*shape, -1)

    def _start(
        self, counts: CSR, sites: PottsSites, seed: int
    ) -> tuple[Segments, AsymmetricClustering]:
        """The first two steps, from one random initialisation."""
        clustering = AsymmetricClustering(
            min(self.n_segments + self.n_spare, math.prod(sites.grid)),
            beta=self.beta,
            coarsening=grid_coarsening(sites.grid),
            n_jobs=self.n_jobs,
            random_state=seed,
        )
        with warnings.catch_warnings():  # all histograms have the sum of a window
            warnings.filterwarnings("ignore", "X holds shares of rows", UserWarning)
            clustering.fit(counts)
        segments = sites.fit(clustering.posteriors_)
        return sites.drop_spare(segments, self.n_segments), clustering

    def _sites(self, bins: Array, step: int, n_columns: int) -> PottsSites:
        return PottsSites(
            block_counts(bins, step, n_columns),
            n_blocks(bins.shape[1:], step),
            coupling=self.coupling * step**2,
            reach=self.reach / step,
            max_iter=self.max_iter,
            tol=self.tol,
        )


def expand_blocks(
    posteriors: Array, grid: tuple[int, int], shape: tuple[int, int], step: int
) -> Array:
    """Posteriors of pixels, (H * W, K), each with those of its block."""
    planes = posteriors.reshape(*grid, -1).repeat(step, axis=0).repeat(step, axis=1)
    return planes[: shape[0], : shape[1]].reshape(shape[0] * shape[1], -1)


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

        F = sum_ic R_ic log R_ic - sum_ic R_ic [sum_j n_ij log q_jc] - (J / 2) sum_c R_c' G R_c
            - a sum_jc log q_jc,

    with the pseudo-count a = PRIOR. EM alternates between its minimum over q,
    q_jc ~ a + sum_i R_ic n_ij, and

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
    max_iter: int
    tol: float  # least fall of F in an iteration, relative to its size

    def fit(self, posteriors: Array) -> Segments:
        """Run EM from posteriors, (n, K)."""
        return self._iterate(self.step, posteriors)

    def fit_posteriors(self, posteriors: Array, components: Array) -> Segments:
        """Run E-steps alone, with fixed components, (M, K)."""
        return self._iterate(partial(self.evaluate, components=components), posteriors)

    def _iterate(self, step: Callable[[Array], Segments], posteriors: Array) -> Segments:
        current = step(posteriors)
        for _ in range(self.max_iter):
            new = step(row_softmax(current.scores))
            gain = current.free_energy - new.free_energy
            current = new
            if gain < self.tol * abs(new.free_energy):
                break
        return current

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

    def drop_spare(self, segments: Segments, n_segments: int) -> Segments:
        """Remove the smaller core of the pair of least loss, run EM, until n_segments remain."""
        while segments.posteriors.shape[1] > n_segments:
            losses, sizes = self.merge_losses(segments.posteriors)
            pair = np.unravel_index(losses.argmin(), losses.shape)
            spare = min(pair, key=lambda c: sizes[c])
            segments = self.fit(row_softmax(np.delete(segments.scores, spare, axis=1)))
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
            shared = max_log_likelihood(expected[[a]] + expected[[b]])
            loss = max_log_likelihood(expected[[a, b]]) - shared - contact[a, b]
            losses[a, b] = losses[b, a] = loss
        return losses, expected.sum(axis=1)


def max_log_likelihood(counts: Array) -> float:
    """sum_aj n_aj log(n_aj / n_a): each row of counts under its own distribution."""
    distributions = normalise(counts, axis=1, otherwise=0.0)
    return float(np.sum(counts * log(distributions), dtype=np.float64))


def row_softmax(scores: Array) -> Array:
    P = scores.copy()
    softmax(P, np.empty((len(P), 1), dtype=P.dtype))
    return P
