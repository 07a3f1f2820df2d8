"""Counts: the storage of co-occurrence tables and the products that mixture models need of it."""

from skcooc.counts.bands import TALLEST, Bands
from skcooc.counts.checks import check_total, sound, summed_up
from skcooc.counts.csr import CSRCounts, NewRows
from skcooc.counts.disk import DiskCounts
from skcooc.counts.products import Mixture
from skcooc.counts.thinning import divide, thin
from skcooc.counts.triples import NewTriples, TripleCounts

__all__ = [
    "TALLEST",
    "Bands",
    "CSRCounts",
    "DiskCounts",
    "Mixture",
    "NewRows",
    "NewTriples",
    "TripleCounts",
    "check_total",
    "divide",
    "sound",
    "summed_up",
    "thin",
]
