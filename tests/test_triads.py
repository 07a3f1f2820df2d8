"""Triads: observations of three indices as samples."""

import numpy as np
import pytest

from skcooc import Triads

FRAME = {
    "who": ["ann", "bob", "ann"],
    "what": ["tea", "tea", "rye"],
    "when": ["am", "pm", "am"],
    "n": [2, 1, 1],
}


def test_a_frame_gives_names_and_counts():
    triads = Triads.from_frame(FRAME, "who", "what", "when", "n")
    assert triads.table_shape == (2, 2, 2)
    assert [list(names) for names in triads.names] == [["ann", "bob"], ["rye", "tea"], ["am", "pm"]]
    np.testing.assert_array_equal(triads, [[0, 1, 0], [0, 1, 0], [1, 1, 1], [0, 0, 0]])
    assert len(Triads.from_frame(FRAME, "who", "what", "when")) == 3
    with pytest.raises(ValueError, match="'where' is not a column of the frame, which has 'who'"):
        Triads.from_frame(FRAME, "who", "what", "where")
    with pytest.raises(ValueError, match="1 of 2 third have no name"):
        Triads.from_triples(["a", "b"], ["c", "d"], ["e", None])
    assert triads.same_table(triads[:1])
    assert not triads.same_table(triads.transpose(1, 0, 2))


def test_counts_are_observations_and_weights():
    triads = Triads([0, 1], [0, 1], [1, 0], [2.5, 1.0], shape=(3, 2, 2))
    np.testing.assert_allclose(triads.weights, [2.5 / 3] * 3 + [1])
    counts = triads.to_counts()
    np.testing.assert_allclose(counts.row_sums, [2.5, 1, 0])
    np.testing.assert_allclose(counts.column_sums, [1, 2.5])
    assert counts.middle.tolist() == [0, 1]


def test_indexing_gives_observations_of_the_same_table():
    triads = Triads([0, 1, 2], [0, 1, 0], [1, 0, 1], names=(list("abc"), None, None))
    assert triads.shape == (3, 3)
    assert triads[1] == (1, 1, 0)
    for some in (triads[[0, 2]], triads[np.array([True, False, True])], triads[[0, 2], ...]):
        np.testing.assert_array_equal(some, [[0, 0, 1], [2, 0, 1]])
        assert some.same_table(triads)
    assert len(triads[[]]) == 0
    assert "3 observations of a table of shape (3, 2, 2)" in repr(triads)
    with pytest.raises(IndexError, match="indexed by observations"):
        triads[[0], 1]


def test_ways_change_places_and_are_forgotten():
    triads = Triads.from_frame(FRAME, "who", "what", "when", "n")
    turned = triads.transpose(2, 0, 1)
    np.testing.assert_array_equal(turned, np.asarray(triads)[:, [2, 0, 1]])
    assert list(turned.names[2]) == ["rye", "tea"]
    dyads = triads.dyads(0, 2)
    np.testing.assert_array_equal(dyads.to_csr().toarray(), [[3, 0], [0, 1]])
    assert list(dyads.column_names) == ["am", "pm"]


def test_invalid_tables_and_orders_are_refused():
    for positions, options, message in [
        (([0], [0], [0, 1]), {}, "inconsistent numbers of samples"),
        (([0.5], [0], [0]), {}, "first should be a 1d array of non-negative int"),
        (([0], [-1], [0]), {}, "second should be a 1d array of non-negative int"),
        (([0], [0], [2]), {"shape": (1, 1, 2)}, "should be three sizes"),
        (([0], [0], [0]), {"shape": (1, 1)}, "should be three sizes"),
        (([0], [0], [0]), {"counts": [-1]}, "Negative values"),
        (([0], [0], [0]), {"names": (["a", "b"], None, None)}, r"names, the first,.* \(1,\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            Triads(*positions, **options)
    with pytest.raises(ValueError, match="0, 1 and 2 in some order"):
        Triads([0], [0], [0]).transpose(0, 0, 1)
