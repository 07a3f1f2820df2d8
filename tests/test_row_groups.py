"""Groups of rows: labels become numbers, and blocks of rows keep them."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from skcooc.counts import CSRCounts
from skcooc.protocol.scikit_learn import is_missing
from skcooc.tables import known_groups, row_groups
from tests.tables import random_table, refused

TABLE = random_table()
CODES = np.array([2, 0, -1, 1, 2, 2, 0, -1, 0, 2, 0, 0])
BLOCK = CSRCounts(TABLE).in_groups(CODES)


def test_labels_are_numbered_in_order_and_missing_ones_are_minus_one():
    for labels in (
        ["b", None, "a", "b"],
        np.array([2.5, np.nan, 1, 2.5]),
        pd.Series(["b", None, "a", "b"], dtype="string"),
        pd.Series(["b", None, "a", "b"], dtype="category"),
        pd.Series([7, None, 5, 7], dtype="Int64"),
    ):
        found, codes = row_groups(labels, 4)
        assert codes.tolist() == [1, -1, 0, 1]
        assert len(found) == 2
        with warnings.catch_warnings(action="error"):
            assert known_groups(labels, found, 4).tolist() == [1, -1, 0, 1]
    assert row_groups([10, 9, 10], 3)[0].tolist() == [9, 10]
    days = pd.Series(pd.to_datetime(["2020-01-02", None, "2020-01-01", "2020-01-02"]))
    for one in (days, days.to_numpy(), days.to_numpy().astype("M8[D]")):
        found, codes = row_groups(one, 4)
        assert codes.tolist() == known_groups(days, found, 4).tolist() == [1, -1, 0, 1]
    assert is_missing(np.array([None, np.nan, pd.NA, "", 0], dtype=object)).tolist() == [
        *(True, True, True),
        *(False, False),
    ]


def test_bad_groups_are_refused():
    refused(r"groups has the shape \(2,\); it must be \(3,\)", row_groups, ["a", "b"], 3)
    refused(r"groups has the shape \(3, 1\)", row_groups, np.zeros((3, 1)), 3)
    refused("groups has values of several types", row_groups, ["a", 1, "b"], 3)
    refused("All values of groups are missing", row_groups, [None, np.nan], 2)
    refused(r"it must be \(2,\)", known_groups, ["a"], np.array(["a"], dtype=object), 2)


def test_groups_that_were_not_fitted_are_none():
    labels, _ = row_groups(["a", "b"], 2)
    with pytest.warns(UserWarning, match=r"such as 'c': their 2 row\(s\)"):
        codes = known_groups(["b", "c", None, "d", "a"], labels, 5)
    assert codes.tolist() == [1, -1, -1, -1, 0]
    assert known_groups([], labels, 0).dtype == np.intp


def sums(table, codes, weights, n_groups):
    """In slow loops; the last row is of rows in none of the groups."""
    found = np.zeros((n_groups + 1, table.shape[1]))
    for row, g, w in zip(table.toarray(), codes, weights, strict=True):
        found[g if 0 <= g < n_groups else n_groups] += w * row
    return found


def test_sums_of_columns_by_group():
    weights = np.arange(12) % 3 / 2
    for n_groups in (3, 2):  # rows of further groups are in none
        block = CSRCounts(TABLE, weights).in_groups(CODES)
        expected = sums(TABLE, CODES, weights, n_groups)
        np.testing.assert_allclose(block.column_sums_by_group(n_groups), expected)
    np.testing.assert_allclose(
        CSRCounts(TABLE).column_sums_by_group(1)[1], TABLE.toarray().sum(axis=0)
    )


def test_what_is_made_of_a_block_keeps_its_groups():
    held_in, held_out = BLOCK.divide(0.3, 0)
    for block in (
        *(held_in, held_out, BLOCK.replaced(2 * BLOCK.data), BLOCK.astype(np.float32)),
        *(BLOCK.occupied()[0], BLOCK.as_new(), BLOCK.with_threads(2, map), BLOCK.part_of(1.0)),
    ):
        np.testing.assert_array_equal(block.row_groups, CODES)
        expected = sums(sp.csr_array(block.table), CODES, np.ones(12), 3)
        np.testing.assert_allclose(block.column_sums_by_group(3), expected, rtol=1e-6)
    some = BLOCK.take(np.array([4, 1, 1]))
    assert some.row_groups.tolist() == [2, 0, 0]
    assert CSRCounts(TABLE).take(np.arange(3)).row_groups is None
