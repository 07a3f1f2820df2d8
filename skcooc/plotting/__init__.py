"""Displays of topics, clusters, hierarchies, splits, perplexity and segments.

They need matplotlib (``pip install "skcooc[plot]"``), and raise ImportError without it. Displays
are used as those of scikit-learn: ``HierarchyDisplay.from_estimator(model)`` draws, and returns an
object that keeps its data and can ``plot`` them again.
"""

from skcooc.plotting.association import AssociationDisplay
from skcooc.plotting.canvas import style
from skcooc.plotting.curves import KSelectionDisplay, PerplexityDisplay
from skcooc.plotting.hierarchy import AbstractionDisplay, HierarchyDisplay, SplitsDisplay
from skcooc.plotting.segmentation import SegmentationDisplay
from skcooc.plotting.structure import StructureDisplay
from skcooc.plotting.topics import SharesDisplay, TopicMapDisplay, TopicsDisplay

__all__ = [
    "AbstractionDisplay", "AssociationDisplay", "HierarchyDisplay", "KSelectionDisplay",
    "PerplexityDisplay", "SegmentationDisplay", "SharesDisplay", "SplitsDisplay",
    "StructureDisplay", "TopicMapDisplay", "TopicsDisplay", "style",
]  # fmt: skip
