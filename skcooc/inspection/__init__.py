"""Tools to read a fitted model: its topics, similar rows, its hierarchy, and exports."""

from skcooc.inspection.distinguishing import distinguishing_features
from skcooc.inspection.effects import share_effects
from skcooc.inspection.explorer import Explorer, explore
from skcooc.inspection.export import export_dict, export_text, to_linkage, to_pyldavis
from skcooc.inspection.features import characteristic_features, representative_rows, top_features
from skcooc.inspection.models import Mixtures
from skcooc.inspection.names import (
    drop_topics,
    merge_clusters,
    merge_topics,
    name_topics,
    set_names,
)
from skcooc.inspection.row_intervals import MixtureIntervals, mixture_intervals
from skcooc.inspection.shares import compare_shares, topic_shares
from skcooc.inspection.similarity import TopicStability, nearest_rows, topic_stability
from skcooc.inspection.tables import describe

__all__ = [
    "Explorer", "MixtureIntervals", "Mixtures", "TopicStability", "characteristic_features",
    "compare_shares", "describe", "distinguishing_features", "drop_topics", "explore",
    "export_dict", "export_text", "merge_clusters", "merge_topics", "mixture_intervals",
    "name_topics", "nearest_rows", "representative_rows", "set_names", "share_effects",
    "to_linkage", "to_pyldavis", "top_features", "topic_shares", "topic_stability",
]  # fmt: skip
