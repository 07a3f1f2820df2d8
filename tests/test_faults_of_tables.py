"""Tables on disk: what cannot be written truly is refused, and what was damaged is found out."""

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc import open_compact, open_csr, save_compact, save_csr

X = sp.csr_array(np.array([[3.0, 0.0, 1.0], [0.0, 2.0, 0.0], [0.5, 0.0, 4.0]]))
FORMATS = [(save_csr, open_csr), (save_compact, open_compact)]
both_formats = pytest.mark.parametrize(("save", "open_"), FORMATS)


@both_formats
@pytest.mark.parametrize(
    "blocks",
    [
        [np.array([[1, 2]], np.uint8), np.array([[300, 1]])],
        [np.array([[1, 2]]), np.array([[0.5, 0.25]])],
        [np.array([[0.1, 2]], np.float32), np.array([[0.1, 7]]), np.array([[1, 0]])],
        [np.array([[True, False]]), np.array([[2, 3]])],
        [np.array([[1, 2]], np.float32), np.empty((0, 2)), np.array([[0.1, 0]])],
    ],
)
def test_blocks_of_several_types_keep_their_counts(save, open_, blocks, tmp_path, monkeypatch):
    monkeypatch.setattr("skcooc.tables.disk.CHUNK", 1)
    save(tmp_path / "table", blocks)
    read = sp.vstack(list(open_(tmp_path / "table"))).toarray()
    np.testing.assert_array_equal(read, np.vstack(blocks).astype(float))
    assert not list((tmp_path / "table").glob("*.wider*"))


@both_formats
@pytest.mark.parametrize(
    ("block", "reason"),
    [
        (-X, "Negative values"),
        (X * np.nan, "NaN"),
        (X * np.inf, "infinity"),
        (np.array([1.0, 2.0, 3.0]), "Expected 2D"),
        (X * 1j, "Complex"),
        (sp.csr_array((1, 2**31)), "columns, a table at most"),
    ],
)
def test_what_is_no_count_is_refused_while_it_is_written(save, open_, block, reason, tmp_path):
    with pytest.raises(ValueError, match=reason):
        save(tmp_path / "table", (some for some in [block]))
    if np.shape(block)[-1] == 3:
        with pytest.raises(ValueError, match=reason):
            save(tmp_path / "table", (some for some in [X, block]))
    assert not list(tmp_path.iterdir())
