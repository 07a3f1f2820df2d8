"""Tables that are not in memory: block by block, or dask arrays without a cluster."""

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc import AspectModel, RowBlocks, open_table, save_table
from skcooc.tables import CheckedBlocks
from tests.tables import random_table

X = random_table(n_rows=23, n_columns=9)


def blocks_of(X, ends):
    return [X[first:last] for first, last in zip([0, *ends[:-1]], ends, strict=True)]


def test_iterators_are_refused():
    for once in (iter([X]), (block for block in [X]), 3):
        with pytest.raises(TypeError, match="several times"):
            RowBlocks(once)


def checked(blocks):
    """Blocks without weights, whose checks let everything pass."""
    return CheckedBlocks(RowBlocks(blocks), lambda block, reset: block, None, None, reset=True)


@pytest.mark.parametrize("n_rows", [3, 50])
def test_a_sample_is_of_rows_and_the_totals_of_all(n_rows):
    blocks = checked(blocks_of(X, [1, 9, 23]))
    sample, again = blocks.sampled(n_rows, np.random.default_rng(0))
    assert sample.shape == (min(n_rows, 23), 9)
    np.testing.assert_allclose(again.column_sums, X.sum(axis=0))
    assert not again.reset
    if n_rows >= 23:
        np.testing.assert_array_equal(sample.table.toarray(), X.toarray())
    with pytest.raises(ValueError, match="no block"):
        checked([]).sampled(n_rows, np.random.default_rng(0))


def test_all_rows_have_the_same_chance():
    blocks = checked(blocks_of(sp.csr_array(np.diag(np.ones(40))), list(range(4, 41, 4))))
    rng, drawn = np.random.default_rng(0), np.zeros(40)
    for _ in range(300):
        drawn += blocks.sampled(5, rng)[0].column_sums
    expected = 300 * 5 / 40
    assert np.sum((drawn - expected) ** 2 / expected) < 73  # chi-square, p = .001
    assert drawn.sum() == 1500


class Files:
    """Blocks without len()."""

    def __iter__(self):
        return iter(blocks_of(X, [4, 17, 23]))


def test_shape_and_number_of_blocks(tmp_path):
    save_table(tmp_path / "table", [X])
    for blocks, n_blocks in [
        (RowBlocks(blocks_of(X, [4, 17, 23])), 3),
        (RowBlocks((X[:4].toarray(), X[4:].toarray().tolist())), 2),
        (RowBlocks(open_table(tmp_path / "table", batch_size=5)), 5),
    ]:
        assert (blocks.shape, len(blocks)) == (X.shape, n_blocks)
        assert repr(blocks) == f"<RowBlocks: {n_blocks} blocks of a table of shape (23, 9)>"
    assert len(RowBlocks([])) == 0
    assert RowBlocks([]).shape is None


def test_the_size_is_unknown_until_blocks_are_read():
    blocks = RowBlocks(Files())
    assert blocks  # although the length is not known
    assert blocks.shape is None
    assert repr(blocks) == "<RowBlocks: a table that has not been read yet>"
    with pytest.raises(TypeError, match="not known before they have been read: Files has no len"):
        len(blocks)
    next(iter(blocks))  # not all of them
    assert blocks.shape is None
    assert len(list(blocks)) == 3
    assert (blocks.shape, len(blocks)) == (X.shape, 3)
    assert repr(blocks) == "<RowBlocks: 3 blocks of a table of shape (23, 9)>"


def test_dask_arrays_need_a_client():
    da = pytest.importorskip("dask.array", reason="needs dask")
    pytest.importorskip("distributed", reason="needs distributed")
    with pytest.raises(ValueError, match="there is no client"):
        AspectModel(2).fit(da.from_array(np.ones((6, 4)), chunks=(3, 4)))
