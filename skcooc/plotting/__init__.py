"""Pictures of hierarchies, clusters, splits, perplexity and segments; they need matplotlib.

Install it with ``pip install "skcooc[plot]"``.

Displays are used as those of scikit-learn: ``HierarchyDisplay.from_estimator(model)`` draws, and
returns an object that keeps what it has drawn and can ``plot`` it again.
"""

from skcooc.plotting.abstraction import AbstractionDisplay
from skcooc.plotting.association import AssociationDisplay
from skcooc.plotting.canvas import style
from skcooc.plotting.hierarchy import HierarchyDisplay
from skcooc.plotting.perplexity import PerplexityDisplay
from skcooc.plotting.segmentation import SegmentationDisplay
from skcooc.plotting.selection import KSelectionDisplay
from skcooc.plotting.shares import SharesDisplay
from skcooc.plotting.splits import SplitsDisplay
from skcooc.plotting.structure import StructureDisplay
from skcooc.plotting.topic_map import TopicMapDisplay
from skcooc.plotting.topics import TopicsDisplay

__all__ = [
    "AbstractionDisplay",
    "AssociationDisplay",
    "HierarchyDisplay",
    "KSelectionDisplay",
    "PerplexityDisplay",
    "SegmentationDisplay",
    "SharesDisplay",
    "SplitsDisplay",
    "StructureDisplay",
    "TopicMapDisplay",
    "TopicsDisplay",
    "style",
]
