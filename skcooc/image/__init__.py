"""Images as co-occurrence data: histograms of texture, segmentation, and coarsening of grids.

Gabor filters need scikit-image: install it with ``pip install 'skcooc[image]'``.
"""

from skcooc.image.histograms import GaborHistograms
from skcooc.image.segmenter import TextureSegmenter
from skcooc.image.sites import grid_coarsening

__all__ = ["GaborHistograms", "TextureSegmenter", "grid_coarsening"]
