"""What a user gives becomes checked counts."""

from skcooc.tables.blocks import RowBlocks, open_csr, sampled, save_csr
from skcooc.tables.dask import delayed_rows
from skcooc.tables.dyads import Dyads

__all__ = ["Dyads", "RowBlocks", "delayed_rows", "open_csr", "sampled", "save_csr"]
