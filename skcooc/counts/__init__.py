"""Counts: the storage of co-occurrence tables and the products that mixture models need of it."""

from skcooc.counts.csr import CSRCounts, NewRows
from skcooc.counts.products import Mixture
from skcooc.counts.thinning import divide, thin
from skcooc.counts.triples import NewTriples, TripleCounts

__all__ = ["CSRCounts", "Mixture", "NewRows", "NewTriples", "TripleCounts", "divide", "thin"]
