"""Images as co-occurrence data: histograms of texture, segmentation, and which sites to tie.

Gabor filters need scikit-image: install it with ``pip install 'skcooc[image]'``.
"""

from skcooc.image.grid import grid_coarsening
from skcooc.image.histograms import GaborHistograms
from skcooc.image.mondrian import Mondrian, make_mondrian
from skcooc.image.segmenter import TextureSegmenter

__all__ = ["GaborHistograms", "Mondrian", "TextureSegmenter", "grid_coarsening", "make_mondrian"]
