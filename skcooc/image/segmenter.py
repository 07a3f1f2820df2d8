"""Unsupervised segmentation of an image by its textures."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted

from skcooc.asymmetric import AsymmetricClustering
from skcooc.image.grid import grid_coarsening, n_blocks
from skcooc.image.histograms import GaborHistograms, block_counts, check_image
from skcooc.image.potts import Segments, TiedSites, distributions
from skcooc.protocol import CSR, Array, RandomState
from skcooc.protocol.decorators import fit_context
from skcooc.simplex import first_largest, log

LARGEST_SEED = np.iinfo(np.int32).max


class TextureSegmenter(ClusterMixin, BaseEstimator):
    """Segments of an image that differ in texture.

    Three steps, from coarse to fine:

    1. :class:`~skcooc.AsymmetricClustering` of the sites by the histograms of their windows, with
       multiscale optimisation: the memo's segmentation. It has ``n_spare`` clusters too many.
    2. Windows that straddle two textures blur the border between them, and may look like a third
       texture. So the clusters go on without overlapping windows: every response counts once, and
       neighbouring sites are tied by a Potts prior instead. Then clusters are left out until
       ``n_segments`` remain: of the two that are told apart with the least gain, the one with less
       core. A site is in the core of a cluster where the cluster holds most of its neighbourhood;
       strips along borders, where filters straddle two textures, have none. The best of
       ``n_init`` starts is the one with the least free energy.
    3. The same model on single pixels.

    Parameters
    ----------
    n_segments : int, default=2
        Number K of segments.
    features : GaborHistograms, default=None
        What the textures are told apart by. None means ``GaborHistograms()``.
    beta : float in (0, 1], default=0.15
        Inverse temperature of the first step. The responses of different filters are not
        independent, so an observation counts for less than one.
    n_spare : int, default=4
        How many clusters more than segments the first step has: for strips along borders, and for
        parts of uneven textures.
    coupling : float, default=20.0
        How much the agreement of all neighbours is worth to a pixel, in nats. A pixel has
        as many observations as there are filters. 0 means not to tie neighbours.
    reach : float, default=8.0
        Standard deviation of the Gaussian window in which pixels are neighbours, in pixels.
    n_init : int, default=3
        Number of random starts.
    max_iter : int, default=30
        Largest number of EM iterations of each run of steps two and three.
    tol : float, default=1e-5
        EM stops when the free energy falls by less than this, relative to its size.
    n_jobs : int, default=None
        Number of threads of the first step, in joblib's conventions.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.

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
    sections 5.4 and 6.3, for the first step; see ``skcooc.image.potts.TiedSites`` for the
    others, which are not in the memo.

    Examples
    --------
    >>> import numpy as np
    >>> from skcooc.image import TextureSegmenter, make_mondrian
    >>> rng = np.random.default_rng(0)
    >>> rough = rng.normal(size=(64, 64))
    >>> smooth = np.cumsum(rough, axis=1)
    >>> image, labels = make_mondrian([rough, smooth], (64, 64), random_state=0)
    >>> found = TextureSegmenter(2, random_state=0).fit_predict(image)
    >>> found.shape
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
            Grey levels, or C colours such as red, green and blue; leave out a channel that says
            how opaque pixels are.
        y : None
            Not used: segments are not known beforehand.

        Returns
        -------
        self : object

        Raises
        ------
        ImportError
            Where scikit-image is not there for the features.
        ValueError
            Where X is no image or empty, or a parameter has no valid value, such as more segments
            than there are blocks of pixels.
        """
        image = check_image(X)
        shape = image.shape[:2]
        features = GaborHistograms() if self.features is None else clone(self.features)
        bins = features.fit_bins(image)
        counts = features.histograms(bins)
        tied = self._tied(bins, features.step, features.n_features_out_)
        if self.n_segments > math.prod(tied.grid):
            raise ValueError(
                f"n_segments={self.n_segments} should be no more than the {math.prod(tied.grid)} "
                f"blocks of {features.step} x {features.step} pixels that an image of {shape} has."
            )
        rng = check_random_state(self.random_state)
        seeds = rng.randint(LARGEST_SEED, size=self.n_init)
        starts = [self._start(counts, tied, int(seed)) for seed in seeds]
        coarse, clustering = min(starts, key=lambda start: start[0].free_energy)
        pixels = self._tied(bins, 1, features.n_features_out_)
        start = prolonged(coarse.posteriors, tied.grid, shape, features.step)
        segments = pixels.fit(start, self.max_iter, self.tol)
        self.features_, self.clustering_ = features, clustering
        self.posteriors_ = segments.posteriors.reshape(*shape, self.n_segments)
        self.labels_ = first_largest(segments.posteriors).reshape(shape)
        self.components_ = segments.components.T
        self.objective_ = segments.free_energy
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Find the segments of the image fitted in another one.

        Parameters
        ----------
        X : array-like of shape (H, W) or (H, W, C)
            Grey levels or colours, on the scale of the image fitted. It need not be of its size.

        Returns
        -------
        labels : (H, W) array of int
            Most probable segment of each pixel.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        ValueError
            Where X is no image or empty, or has not the colours of the image fitted.
        """
        return self.predict_proba(X).argmax(axis=2)

    def predict_proba(self, X: ArrayLike) -> Array:
        """P(segment given pixel) of another image, (H, W, K), as :meth:`predict` finds them.

        The components stay as they are; pixels begin with what the windows around their blocks say,
        and are tied to their neighbours as in ``fit``.
        """
        check_is_fitted(self)
        image, features = check_image(X), self.features_
        shape = image.shape[:2]
        bins, components = features.bins(image), self.components_.T
        scores = self.beta * features.histograms(bins) @ log(components)
        tied = self._tied(bins, features.step, features.n_features_out_)
        em = components, self.max_iter, self.tol
        blocks = tied.assigned(distributions(scores), *em).posteriors
        start = prolonged(blocks, tied.grid, shape, features.step)
        pixels = self._tied(bins, 1, features.n_features_out_).assigned(start, *em)
        return pixels.posteriors.reshape(*shape, -1)

    def _start(
        self, counts: CSR, tied: TiedSites, seed: int
    ) -> tuple[Segments, AsymmetricClustering]:
        """The first two steps, from one random start."""
        clustering = AsymmetricClustering(
            self.n_segments + self.n_spare, beta=self.beta,
            coarsening=grid_coarsening(tied.grid), n_jobs=self.n_jobs, random_state=seed,
        ).fit(counts)  # fmt: skip
        segments = tied.fit(clustering.posteriors_, self.max_iter, self.tol)
        return tied.without_spare(segments, self.n_segments, self.max_iter, self.tol), clustering

    def _tied(self, bins: Array, step: int, n_columns: int) -> TiedSites:
        """Blocks of pixels as sites: the model of the pixels, where those of a block are one."""
        counts, grid = block_counts(bins, step, n_columns), n_blocks(bins.shape[1:], step)
        return TiedSites(counts, grid, self.coupling * step**2, self.reach / step)


def prolonged(posteriors: Array, grid: tuple[int, int], shape: tuple[int, int], step: int) -> Array:
    """Posteriors of pixels, (H * W, K), that have those of their blocks."""
    planes = posteriors.reshape(*grid, -1).repeat(step, axis=0).repeat(step, axis=1)
    return planes[: shape[0], : shape[1]].reshape(shape[0] * shape[1], -1)
