"""Counts: the storage of co-occurrence tables and the products that mixture models need of it."""

from skcooc.counts.csr import CSRCounts, NewRows
from skcooc.counts.products import Mixture
from skcooc.counts.stream import RowBlocks, open_csr, sampled, save_csr
from skcooc.counts.thinning import divide, thin

__all__ = [
    "CSRCounts",
    "Mixture",
    "NewRows",
    "RowBlocks",
    "divide",
    "open_csr",
    "sampled",
    "save_csr",
    "thin",
]
