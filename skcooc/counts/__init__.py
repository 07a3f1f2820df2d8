"""Counts: the storage of co-occurrence tables and the products that mixture models need of it."""

from skcooc.counts.bands import TALLEST, Bands
from skcooc.counts.checks import check_total, sound, summed_up
from skcooc.counts.compact import CompactCounts, Margins
from skcooc.counts.csr import CSRCounts, NewRows
from skcooc.counts.products import Mixture
from skcooc.counts.thinning import divide, thin
from skcooc.counts.triples import NewTriples, TripleCounts

__all__ = [
    "TALLEST",
    "Bands",
    "CSRCounts",
    "CompactCounts",
    "Margins",
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
