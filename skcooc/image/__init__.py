"""Images as co-occurrence data: histograms of texture, segmentation, and coarsening of grids.

Gabor filters need scikit-image: install it with ``pip install 'skcooc[image]'``.
"""

from skcooc.image.histograms import GaborHistograms, grid_coarsening
from skcooc.image.segmenter import TextureSegmenter

__all__ = ["GaborHistograms", "TextureSegmenter", "grid_coarsening"]
