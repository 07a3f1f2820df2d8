"""Unsupervised segmentation of an image by its textures."""

from __future__ import annotations

import math
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skcooc.estimators.asymmetric import AsymmetricClustering
from skcooc.image.histograms import GaborHistograms, block_counts, check_image
from skcooc.image.sites import PottsSites, Segments, grid_coarsening, n_blocks, row_softmax
from skcooc.protocol import CSR, Array, RandomState
from skcooc.protocol.bases import BaseEstimator, ClusterMixin
from skcooc.protocol.decorators import fit_context
from skcooc.protocol.scikit_learn import HasMethods, Interval
from skcooc.simplex import first_largest, log

LARGEST_SEED = np.iinfo(np.int32).max


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
        self.n_segments, self.features = n_segments, features
        self.beta, self.n_spare = beta, n_spare
        self.coupling, self.reach = coupling, reach
        self.n_init, self.max_iter, self.tol = n_init, max_iter, tol
        self.n_jobs, self.random_state = n_jobs, random_state

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
            Without scikit-image; if X is no image, or has fewer blocks of pixels than segments.
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
        segments = pixels.fit(start, self.max_iter, self.tol)
        self.features_, self.clustering_ = features, clustering
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
        image, features = check_image(X), self.features_
        shape = image.shape[:2]
        bins, components = features.bins(image), self.components_.T
        scores = self.beta * features.histograms(bins) @ log(components)
        sites = self._sites(bins, features.step, features.n_features_out_)
        em = components, self.max_iter, self.tol
        blocks = sites.fit_posteriors(row_softmax(scores), *em).posteriors
        start = expand_blocks(blocks, sites.grid, shape, features.step)
        pixels = self._sites(bins, 1, features.n_features_out_).fit_posteriors(start, *em)
        return pixels.posteriors.reshape(*shape, -1)

    def _start(
        self, counts: CSR, sites: PottsSites, seed: int
    ) -> tuple[Segments, AsymmetricClustering]:
        """The first two steps, from one random initialisation."""
        clustering = AsymmetricClustering(
            self.n_segments + self.n_spare, beta=self.beta,
            coarsening=grid_coarsening(sites.grid), n_jobs=self.n_jobs, random_state=seed,
        )  # fmt: skip
        with warnings.catch_warnings():  # all histograms have the sum of a window
            warnings.filterwarnings("ignore", "X holds shares of rows", UserWarning)
            clustering.fit(counts)
        segments = sites.fit(clustering.posteriors_, self.max_iter, self.tol)
        return sites.drop_spare(segments, self.n_segments, self.max_iter, self.tol), clustering

    def _sites(self, bins: Array, step: int, n_columns: int) -> PottsSites:
        counts, grid = block_counts(bins, step, n_columns), n_blocks(bins.shape[1:], step)
        return PottsSites(counts, grid, self.coupling * step**2, self.reach / step)


def expand_blocks(
    posteriors: Array, grid: tuple[int, int], shape: tuple[int, int], step: int
) -> Array:
    """Posteriors of pixels, (H * W, K), each with those of its block."""
    planes = posteriors.reshape(*grid, -1).repeat(step, axis=0).repeat(step, axis=1)
    return planes[: shape[0], : shape[1]].reshape(shape[0] * shape[1], -1)
