"""Tables that users give, and their checks: they become counts."""

from skcooc.counts import (
    TextsError,
    check_sparse_structure,
    check_total,
    checked_copy,
    without_zeros,
)
from skcooc.tables.blocks import CheckedBlocks, RowBlocks, delayed_rows
from skcooc.tables.disk import DiskTable, open_table, save_table
from skcooc.tables.dyads import (
    Dyads,
    TableSchema,
    as_table,
    observed_cells,
)
from skcooc.tables.named import NamedCSR, in_columns_of_table, with_names
from skcooc.tables.names import (
    NameIndex,
    as_names,
    check_index,
    check_order,
    column_names_of,
    columns_of,
    find_names,
    in_another_order,
    row_names_of,
    same_names,
    unique_names,
)
from skcooc.tables.reading import (
    Table,
    all_cells,
    as_counts,
    check_same_table,
    check_same_triads,
    check_table,
    check_weights,
    is_collection,
    is_out_of_core,
    known_groups,
    name_unknown_rows,
    read,
    read_batch,
    read_in_memory,
    read_new_rows,
    read_new_triads,
    read_row_blocks,
    read_rows,
    row_groups,
)
from skcooc.tables.triads import Triads
