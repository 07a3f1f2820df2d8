"""Tables that are refused: on disk, with invalid indices, texts, or invalid parameters."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from skcooc import (
    AspectModel,
    Dyads,
    RowBlocks,
    SymmetricClustering,
    TriadicAspectModel,
    Triads,
    open_table,
    save_table,
)
from skcooc.inspection import to_pyldavis
from skcooc.metrics import average_precision_by_query, npmi_coherence
from skcooc.model_selection import split_observations
from skcooc.plotting import AssociationDisplay

X = sp.csr_array(np.array([[3.0, 0.0, 1.0], [0.0, 2.0, 0.0], [0.5, 0.0, 4.0]]))


MIXED = [
    [np.array([[1, 2]], np.uint8), np.array([[300, 1]])],
    [np.array([[1, 2]]), np.array([[0.5, 0.25]])],
    [np.array([[0.1, 2]], np.float32), np.array([[0.1, 7]]), np.array([[1, 0]])],
    [np.array([[True, False]]), np.array([[2, 3]])],
    [np.array([[1, 2]], np.float32), np.empty((0, 2)), np.array([[0.1, 0]])],
    [X.toarray().astype(">f8")],
]


def test_blocks_of_several_types_keep_their_counts(tmp_path, monkeypatch):
    monkeypatch.setattr("skcooc.tables.disk.CHUNK", 1)
    for number, blocks in enumerate(MIXED):
        path = tmp_path / f"table{number}"
        save_table(path, blocks)
        read = sp.vstack(list(open_table(path))).toarray()
        np.testing.assert_array_equal(read, np.vstack(blocks).astype(float))
        assert not list(path.glob("*.wider*"))
    swapped = Dyads(X.toarray().astype(">f8"))
    np.testing.assert_array_equal(swapped.to_csr().toarray(), X.toarray())


INVALID = [
    (-X, "Negative values"),
    (X * np.nan, "NaN"),
    (X * np.inf, "infinity"),
    (np.array([1.0, 2.0, 3.0]), "Expected 2D"),
    (X * 1j, "Complex"),
    (sp.csr_array((1, 2**31)), "columns, a table at most"),
]


def test_invalid_counts_are_refused_while_they_are_written(tmp_path):
    for block, reason in INVALID:
        for blocks in ([block], [X, block]) if np.shape(block)[-1] == 3 else ([block],):
            with pytest.raises(ValueError, match=reason):
                save_table(tmp_path / "table", iter(blocks))
            assert not list(tmp_path.iterdir())


MODEL = AspectModel(2, beta=0.9, max_iter=3, random_state=0)


def with_index(name, place, value, format="csr"):
    invalid = X.asformat(format).copy()
    getattr(invalid, name)[place] = value
    return invalid


def test_invalid_indices_are_detected_wherever_counts_are_given(tmp_path):
    damaged = [
        with_index("indices", 1, -1),
        with_index("indices", 1, 2**30),
        with_index("indptr", 1, 2**30),
        with_index("indptr", 1, -1),
        with_index("indices", 1, -7, "csc"),
        with_index("indptr", 1, 2**30, "bsr"),
        with_index("row", 1, 2**30, "coo"),
        with_index("col", 1, -1, "coo"),
    ]
    model, pairs = clone(MODEL).fit(X), SymmetricClustering(2, 2, beta=0.5).fit(X)
    for use in (
        clone(MODEL).fit,
        clone(MODEL).partial_fit,
        model.transform,
        model.score,
        Dyads,
        split_observations,
        lambda X: npmi_coherence(model.components_, X),
        lambda X: to_pyldavis(model, X),
        lambda X: save_table(tmp_path / "table", [X]),
        lambda X: average_precision_by_query(X, np.ones((3, 3))),
        lambda X: AssociationDisplay.from_estimator(pairs, X),
    ):
        for invalid in damaged:
            with pytest.raises(ValueError, match="damaged sparse array"):
                use(invalid)


def test_other_folders_are_not_deleted(tmp_path):
    other = tmp_path / "table.partial"
    other.mkdir()
    (other / "thesis").write_text("mine")
    save_table(tmp_path / "table", [X])
    assert (other / "thesis").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table", "table.partial"]


def test_the_first_of_two_writers_leaves_its_table(tmp_path):
    def while_another_writes():
        yield X[:2]
        save_table(tmp_path / "table", [2 * X])
        yield X[2:]

    with pytest.raises(FileExistsError, match="somebody else"):
        save_table(tmp_path / "table", while_another_writes())
    assert [path.name for path in tmp_path.iterdir()] == ["table"]
    read = sp.vstack(list(open_table(tmp_path / "table")))
    np.testing.assert_array_equal(read.toarray(), 2 * X.toarray())


def test_numbers_of_rows_passes_and_samples_are_checked_at_once(tmp_path):
    save_table(tmp_path / "table", [X])
    for wrong in (0, 2.5, None):
        with pytest.raises(ValueError, match="'batch_size' parameter of open_table"):
            open_table(tmp_path / "table", batch_size=wrong)
        with pytest.raises(ValueError, match="'max_passes' parameter of RowBlocks"):
            RowBlocks([X], max_passes=wrong)
    triads = TriadicAspectModel(2, max_iter=2).fit(Triads([0, 1, 1], [0, 1, 0], [1, 0, 1]))
    for model in (clone(MODEL).fit(X), triads):
        for wrong in (-1, 2.5):
            with pytest.raises(ValueError, match="'n_samples' parameter of"):
                model.sample(wrong)


PAIRS = {"user": ["ann", "bob"], "item": ["tea", "ale"]}


def test_texts_in_place_of_counts_are_told_and_not_shown():
    model = AspectModel(2)
    for strings in (
        ["a long text " * 99],
        np.array(["tea", "ale"]),
        "tea",
        pd.DataFrame(PAIRS),
        pl.DataFrame(PAIRS),
        pd.Series(PAIRS["user"]),
    ):
        with pytest.raises(ValueError, match=r"^X holds texts or other strings, .*from_frame\.$"):
            model.fit(strings)
    assert not hasattr(model, "n_features_in_")
    written = np.array([["3", "0"], ["1", "2"]], dtype=object)  # numbers as strings are counts
    one, two = (AspectModel(1).fit(table).components_ for table in (written, written.astype(float)))
    np.testing.assert_array_equal(one, two)
