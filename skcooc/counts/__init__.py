"""Storage of counts, and the passes over them that mixture models need."""

from skcooc.counts.checks import (
    MAX_SINGLE,
    NUMBERS,
    TextsError,
    check_block,
    check_sparse_structure,
    check_total,
    checked_copy,
    column_types,
    explained,
    float_table,
    narrowed,
    without_zeros,
)
from skcooc.counts.containers import refuse_containers
from skcooc.counts.csr import CSRCounts, NewRows
from skcooc.counts.disk import DiskCounts
from skcooc.counts.passes import MAX_BAND_HEIGHT, Bands
from skcooc.counts.sampling import divide, thin
from skcooc.counts.triples import NewTriples, TripleCounts
