"""What a user gives becomes checked counts."""

from skcooc.counts import check_sparse_structure, check_total
from skcooc.tables.blocks import CheckedBlocks, RowBlocks
from skcooc.tables.checks import TextsError, check_table, is_collection, is_elsewhere
from skcooc.tables.dask import delayed_rows
from skcooc.tables.disk import DiskTable, open_table, save_table
from skcooc.tables.dyads import Dyads, as_table
from skcooc.tables.frames import Frame, cells_of, places
from skcooc.tables.reading import (
    Table,
    as_counts,
    check_same_table,
    check_same_triads,
    everywhere,
    read,
    read_in_memory,
    read_new_triads,
    read_rows,
)
from skcooc.tables.triads import Triads

__all__ = [
    "CheckedBlocks",
    "DiskTable",
    "Dyads",
    "Frame",
    "RowBlocks",
    "Table",
    "TextsError",
    "Triads",
    "as_counts",
    "as_table",
    "cells_of",
    "check_same_table",
    "check_same_triads",
    "check_sparse_structure",
    "check_table",
    "check_total",
    "delayed_rows",
    "everywhere",
    "is_collection",
    "is_elsewhere",
    "open_table",
    "places",
    "read",
    "read_in_memory",
    "read_new_triads",
    "read_rows",
    "save_table",
]
