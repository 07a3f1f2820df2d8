"""Tables that users give, and their checks: they become counts."""

from skcooc.counts import TextsError, check_sparse_structure, check_total, explained
from skcooc.tables.blocks import CheckedBlocks, RowBlocks, delayed_rows
from skcooc.tables.disk import DiskTable, open_table, save_table
from skcooc.tables.dyads import (
    Dyads,
    TableSchema,
    as_table,
    find_names,
    observed_cells,
    without_zeros,
)
from skcooc.tables.groups import is_missing, known_groups, row_groups
from skcooc.tables.reading import (
    Table,
    all_cells,
    as_counts,
    check_same_table,
    check_same_triads,
    check_table,
    is_collection,
    is_out_of_core,
    read,
    read_batch,
    read_in_memory,
    read_new_triads,
    read_rows,
)
from skcooc.tables.triads import Triads

__all__ = [
    "CheckedBlocks",
    "DiskTable",
    "Dyads",
    "RowBlocks",
    "Table",
    "TableSchema",
    "TextsError",
    "Triads",
    "all_cells",
    "as_counts",
    "as_table",
    "check_same_table",
    "check_same_triads",
    "check_sparse_structure",
    "check_table",
    "check_total",
    "delayed_rows",
    "explained",
    "find_names",
    "is_collection",
    "is_missing",
    "is_out_of_core",
    "known_groups",
    "observed_cells",
    "open_table",
    "read",
    "read_batch",
    "read_in_memory",
    "read_new_triads",
    "read_rows",
    "row_groups",
    "save_table",
    "without_zeros",
]
