import numpy as np
import pytest

from skcooc.image import grid_coarsening


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (8, 8), (7, 5), (12, 31), (33, 2)])
def test_groups_are_blocks_without_gaps_and_are_nested(shape):
    sites = list(np.ndindex(shape))
    finer = np.arange(len(sites))
    for level, labels in enumerate(grid_coarsening(shape, int(np.ceil(np.log2(max(shape)))))):
        size = 2 ** (level + 1)
        blocks = [(y // size, x // size) for y, x in sites]
        names = dict(zip(blocks, labels, strict=True))
        assert labels.tolist() == [names[block] for block in blocks]
        assert len(set(names.values())) == len(names)
        assert labels.shape == finer.shape
        assert np.unique(labels).tolist() == list(range(labels.max() + 1))
        assert labels.max() < finer.max()
        parents = labels[np.unique(finer, return_index=True)[1]]
        np.testing.assert_array_equal(labels, parents[finer])
        finer = labels
    assert finer.max() == 0


def test_blocks_are_counted_along_the_lines():
    labels = grid_coarsening((4, 6), 1)[0]
    expected = [[0, 0, 1, 1, 2, 2]] * 2 + [[3, 3, 4, 4, 5, 5]] * 2
    np.testing.assert_array_equal(labels.reshape(4, 6), expected)
    assert grid_coarsening((8, 8), 0) == []


@pytest.mark.parametrize(
    ("shape", "sizes"),
    [
        ((256, 256), [128 * 128, 64 * 64, 32 * 32, 16 * 16, 8 * 8]),
        ((100, 100), [50 * 50, 25 * 25, 13 * 13]),
        ((1, 300), [150, 75]),
        ((8, 8), []),
    ],
)
def test_as_many_levels_by_default_as_leave_64_blocks(shape, sizes):
    assert [labels.max() + 1 for labels in grid_coarsening(shape)] == sizes


@pytest.mark.parametrize(
    ("shape", "n_levels", "error", "message"),
    [
        ((8, 8, 3), None, ValueError, r"shape=\(8, 8, 3\)"),
        ((0, 8), None, ValueError, "height == 0, must be >= 1"),
        ((8, 8.5), None, TypeError, "width must be an instance of"),
        ((8, 5), 4, ValueError, "n_levels == 4, must be <= 3"),
        ((8, 5), -1, ValueError, "n_levels == -1, must be >= 0"),
    ],
)
def test_bad_input_is_refused(shape, n_levels, error, message):
    with pytest.raises(error, match=message):
        grid_coarsening(shape, n_levels)
