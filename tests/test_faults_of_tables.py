import os
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import skcooc
from skcooc import (
    AspectClassifier,
    AspectModel,
    AsymmetricClustering,
    Dyads,
    GuidedAspectModel,
    RowBlocks,
    Triads,
    open_table,
    save_table,
)
from skcooc.equations.aspects import Aspects
from skcooc.inspection import Mixtures, compare_shares, explore, share_effects, to_pyldavis
from skcooc.metrics import average_precision_by_query, npmi_coherence, perplexity
from skcooc.model_selection import ComponentSearchCV, split_counts
from skcooc.plotting import AssociationDisplay, StructureDisplay
from tests.cases import CLASSES
from tests.faults.killing import child
from tests.tables import random_table, refused

RNG = np.random.default_rng(0)
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
    monkeypatch.setattr("skcooc.tables.disk.MAX_BAND_HEIGHT", 1)  # else blocks are put together
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
    (np.ma.masked_greater(X.toarray(), 1), "X has masked cells"),
    (X * np.inf, "infinity"),
    (np.array([1.0, 2.0, 3.0]), "Expected 2D"),
    (X * 1j, "Complex"),
    (sp.csr_array((1, 2**31)), "columns, a table at most"),
]


@pytest.mark.parametrize("kind", [pl.Date, pl.Datetime, pl.Duration, pl.Time], ids=str)
def test_columns_of_dates_are_refused_in_frames_of_any_library(kind, tmp_path):
    frame = pl.DataFrame({"cat": [1, 2, 3], "day": pl.Series([20_000] * 3).cast(kind)})
    for table in (frame, frame["day"].to_frame(), frame.to_arrow(), frame.to_pandas()):
        for use in (AspectModel(2).fit, Dyads, lambda X: save_table(tmp_path / "t", [X])):
            refused("in \\['day'\\]: leave these columns out", use, table, error=TypeError)
    refused("give X.collect()", AspectModel(2).fit, frame.lazy(), error=TypeError)


def test_invalid_counts_are_refused_while_they_are_written(tmp_path):
    for block, reason in INVALID:
        for blocks in ([block], [X, block]) if np.shape(block)[-1] == 3 else ([block],):
            refused(reason, save_table, tmp_path / "table", iter(blocks))
            assert not list(tmp_path.iterdir())


MODEL = AspectModel(2, beta=0.9, max_iter=3, random_state=0)


def with_index(name, place, value, format="csr"):
    invalid = X.asformat(format).copy()
    getattr(invalid, name)[place] = value
    return invalid


def wild_pointers(format, last=0, index=np.int32):
    """An array whose pointers lead anywhere, though the last one is not positive."""
    invalid = X.asformat(format).copy()
    invalid.indptr, invalid.indices = invalid.indptr.astype(index), invalid.indices.astype(index)
    invalid.indptr[[1, -1]] = 10**9, last
    return invalid


def with_array(name, change, format="csr"):
    invalid = X.asformat(format).copy()
    setattr(invalid, name, change(getattr(invalid, name)))
    return invalid


def with_lists(columns, values):
    invalid = X.tolil()
    invalid.rows[0], invalid.data[0] = columns, values
    return invalid


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a crash would end all tests")
def test_invalid_indices_are_detected_wherever_counts_are_given(tmp_path):
    damaged = [
        wild_pointers("csr"),
        wild_pointers("csr", -1),
        wild_pointers("csr", index=np.int64),
        wild_pointers("csc"),
        wild_pointers("csc", index=np.int64),
        wild_pointers("bsr"),
        with_index("indptr", 0, 1),
        with_index("indptr", -1, -1),
        with_index("indptr", -1, 2**30, "csc"),
        with_array("indptr", lambda array: array[:-1]),
        with_array("indptr", lambda array: array + 0.5),
        with_array("indptr", lambda array: array.astype(np.uint64) * 2**62),
        with_array("indptr", list),
        with_array("indices", lambda array: array * np.nan),
        with_array("indices", lambda array: array[:2], "csc"),
        with_array("data", lambda array: array[:2]),
        with_array("data", lambda array: array[:, :, :0], "bsr"),
        with_array("data", lambda array: array[:1], "dia"),
        with_array("offsets", lambda array: array[:1], "dia"),
        with_array("coords", lambda arrays: (arrays[0][:2], arrays[1]), "coo"),
        with_array("coords", lambda arrays: (arrays[0] * 1.5, arrays[1]), "coo"),
        with_lists([1], [1.0] * 1000),
        with_lists([0, 1, 2], [1.0]),
        with_lists([-1], [1.0]),
        with_lists([2**30], [1.0]),
        with_lists(["a"], [1.0]),
        with_index("indices", 1, -1),
        with_index("indices", 1, 2**30),
        with_index("indptr", 1, 2**30),
        with_index("indptr", 1, -1),
        with_index("indices", 1, -7, "csc"),
        with_index("indptr", 1, 2**30, "bsr"),
        with_index("row", 1, 2**30, "coo"),
        with_index("col", 1, -1, "coo"),
    ]
    model, pairs = clone(MODEL).fit(X), skcooc.SymmetricClustering(2, 2, beta=0.5).fit(X)
    for use in (
        clone(MODEL).fit,
        clone(MODEL).partial_fit,
        model.transform,
        model.score,
        Dyads,
        split_counts,
        lambda X: npmi_coherence(model.components_, X),
        lambda X: to_pyldavis(model, X),
        lambda X: explore(model, X),
        lambda X: save_table(tmp_path / "table", [X]),
        lambda X: average_precision_by_query(X, np.ones((3, 3))),
        lambda X: AssociationDisplay.from_estimator(pairs, X),
        lambda X: clone(MODEL).fit(RowBlocks([X])),
        skcooc.AspectRetriever().fit,
        lambda X: AspectClassifier().fit(X, [0, 1, 0]),
        ComponentSearchCV(MODEL, [1, 2], cv=2).fit,
        lambda X: model.recommend(X, 1),
        lambda X: perplexity(X, model.embedding_, model.components_),
    ):

        def refuse_all(use=use):
            for invalid in damaged:
                refused("damaged sparse array", use, invalid)
            return "all are refused"

        assert child(refuse_all) == "all are refused", use


def test_other_folders_are_not_deleted(tmp_path):
    other = tmp_path / "table.partial"
    other.mkdir()
    (other / "thesis").write_text("mine")
    save_table(tmp_path / "table", [X])
    assert (other / "thesis").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table", "table.partial"]


def test_the_second_of_two_writers_is_refused_at_once(tmp_path):
    def while_another_writes():
        yield X[:2]
        with pytest.raises(BlockingIOError, match=f"written by process {os.getpid()} since 2"):
            save_table(tmp_path / "table", [2 * X])
        yield X[2:]

    save_table(tmp_path / "table", while_another_writes())
    assert [path.name for path in tmp_path.iterdir()] == ["table"]
    read = sp.vstack(list(open_table(tmp_path / "table")))
    np.testing.assert_array_equal(read.toarray(), X.toarray())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_what_killed_writers_left_is_removed(tmp_path):
    def forever():
        while True:
            yield X

    for _ in range(2):
        assert child(lambda: save_table(tmp_path / "table", forever()), 0.1) is None
        names = {path.name for path in tmp_path.iterdir()}
        assert names == {".table.skcooc-lock", ".table.skcooc-partial"}
    save_table(tmp_path / "table", [X])
    assert [path.name for path in tmp_path.iterdir()] == ["table"]


def test_numbers_of_rows_passes_and_samples_are_checked_at_once(tmp_path):
    save_table(tmp_path / "table", [X])
    for wrong in (0, 2.5, None):
        with pytest.raises(ValueError, match="'batch_size' parameter of open_table"):
            open_table(tmp_path / "table", batch_size=wrong)
        refused("'max_passes' parameter of RowBlocks", RowBlocks, [X], max_passes=wrong)
    triads = skcooc.TriadicAspectModel(2, max_iter=2).fit(
        skcooc.Triads([0, 1, 1], [0, 1, 0], [1, 0, 1])
    )
    for model in (clone(MODEL).fit(X), triads):
        for wrong in (-1, 2.5):
            refused("'n_samples' parameter of", model.sample, wrong)


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
        refused(r"^X holds texts or other strings, .*from_frame\.", model.fit, strings)
    assert not hasattr(model, "n_features_in_")
    fitted = clone(model).fit(COUNTS)
    refused("^X holds texts or other strings", fitted.transform, pd.Series(PAIRS["user"]))
    written = np.array([["3", "0"], ["1", "2"]], dtype=object)  # numbers as strings are counts
    one, two = (AspectModel(1).fit(table).components_ for table in (written, written.astype(float)))
    np.testing.assert_array_equal(one, two)
    for table in (written, written.astype(str), written.astype(np.float16)):
        np.testing.assert_array_equal(Dyads(table).to_csr().toarray(), written.astype(float))


COUNTS = random_table()
FAST = {"max_iter": 3, "random_state": 0}
REFUSED = "from 1e-30 to 2"


def with_cell(value, X=COUNTS):
    table = X.copy()
    table.data[0] = value
    return table


@pytest.mark.parametrize("value", [1e17, 1e307])
def test_too_large_counts_are_refused_wherever_they_are_given(value, tmp_path):
    table, model = with_cell(value), clone(MODEL).fit(COUNTS)
    before = model.components_.copy()
    save_table(tmp_path / "table", [table])
    for use in (
        model.fit,
        model.partial_fit,
        model.transform,
        model.score,
        split_counts,
        lambda X: model.fit(random_table(), sample_weight=np.where(np.arange(12), 1, value)),
        lambda X: model.fit(RowBlocks([X[:6], X[6:]])),
        lambda X: model.fit(open_table(tmp_path / "table")),
        lambda X: perplexity(X, model.embedding_, model.components_),
        lambda X: npmi_coherence(model.components_, X),
    ):
        refused(REFUSED, use, table)
    np.testing.assert_array_equal(model.components_, before)


def test_sums_outside_the_limits_are_refused():
    for estimator in (AsymmetricClustering(), AspectModel(2, annealing=1.2)):
        for scale in (1e38, 5e-324, 2.0**52):
            refused(REFUSED, clone(estimator).fit, np.eye(4, 3) * scale)
        refused("all counts, or their weights, are zero", clone(estimator).fit, np.zeros((4, 3)))
    with pytest.raises(ValueError, match=REFUSED):
        skcooc.TriadicAspectModel(2, **FAST).fit(
            skcooc.Triads([0, 1], [0, 1], [1, 0]), sample_weight=[1, 1e17]
        )


@pytest.mark.parametrize("estimator", CLASSES, ids=repr)
def test_results_are_finite_up_to_the_limits(estimator):
    eye = sp.csr_array(np.eye(12, 9) * 2.0**49)
    for table in (with_cell(2.0**53 - 2**31), eye, COUNTS * (1e-29 / COUNTS.sum())):
        model = clone(estimator).set_params(**FAST).fit(table.astype(np.float32))
        arrays = model.components_, model.embedding_, model.weights_, model.objective_
        assert all(np.isfinite(array).all() for array in arrays)
        assert np.isfinite(model.score(table))


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_parameters_that_are_not_finite_are_refused():
    table = COUNTS.toarray().astype(np.float32)
    model = AsymmetricClustering(
        3, beta=0.2, object_weights="equal", proportions="estimated", max_iter=5, random_state=0
    ).fit(table)
    before = dict(vars(model))
    table[0] = [1e-40, *np.zeros(8)]  # whose weight overflows
    refused(r"not finite: .* for float32", model.fit, table)
    assert vars(model) == before


def test_a_step_that_is_not_finite_is_refused(monkeypatch):
    model = clone(MODEL).fit(COUNTS)
    before = dict(vars(model))
    maximize = Aspects.maximize

    def without_weights(self, *arguments):
        params = maximize(self, *arguments)
        return params._replace(weights=np.full_like(params.weights, np.nan))

    monkeypatch.setattr(Aspects, "maximize", without_weights)
    for fit in (model.partial_fit, model.fit, lambda X: model.fit(RowBlocks([X[:6], X[6:]]))):
        refused("parameters that are not finite", fit, COUNTS)
        assert vars(model) == before


@pytest.mark.filterwarnings("ignore")
def test_values_of_rows_in_another_order_are_refused():
    frame = pd.DataFrame(random_table(12, 8).toarray(), index=[f"r{i}" for i in range(12)])
    frame = frame.astype(int)
    ones, other = pd.Series(1.0, frame.index), pd.Series(1.0, frame.index[::-1])
    model = AspectModel(2, beta=0.9, max_iter=5, random_state=0).fit(frame, sample_weight=ones)
    grouped = GuidedAspectModel(2, group_effects="topics", beta=0.9, max_iter=5, random_state=0)
    grouped.fit(frame, groups=ones.reset_index(drop=True))  # of another index, as in scikit-learn
    some = frame.iloc[[0, 0, 1]]
    refused(r"sample_weight.shape == \(2,\)", model.fit, some, sample_weight=ones[:2])
    told = "has the index of the rows in another order"
    refused(f"^sample_weight {told}", model.fit, frame, sample_weight=other)
    refused(f"^sample_weight {told}", ComponentSearchCV(model).fit, frame, sample_weight=other)
    refused(f"^groups {told}", grouped.fit, frame, groups=other)
    refused(f"^groups {told}", grouped.transform, frame, groups=other)
    refused(f"^y {told}", AspectClassifier().fit, frame, other)
    for X in (frame, None, frame.to_numpy()):  # the last has the names of the rows fitted
        refused(f"^by {told}", compare_shares, model, other, X=X)
    refused(f"^by {told}", StructureDisplay.from_estimator, model, other)
    refused(f"^design {told}", share_effects, model, frame, other.to_frame())
    refused(rf"^design\['a'\] {told}", share_effects, model, frame, {"a": other})
    refused(rf"^by\[1\] {told}", compare_shares, model, {1: other}, X=frame)
    refused(f"^times {told}", explore, model, frame, times=other)
    assert len(Dyads.from_pairs(np.array([1, 0]), pd.Series(["a", "b"]))) == 2  # no index
    refused(f"^columns {told}", Dyads.from_pairs, ones, other)
    refused(f"^counts {told}", Triads.from_triples, ones, ones, ones, other)
    named = pd.Series([f"text {i}" for i in range(12)], other.index)
    refused(f"^texts {told}", explore, model, frame, texts=named)
    refused(f"^row_names {told}", explore, model, frame, row_names=named)
    mixtures = pd.DataFrame(model.embedding_, frame.index)
    refused(f"^n_tokens {told}", Mixtures, mixtures, other)
    refused(f"^by {told}", compare_shares, Mixtures(mixtures, ones), named)
    refused(f"^scores {told}", average_precision_by_query, frame, frame[::-1])
    labelled = AspectClassifier(random_state=0).fit(frame, named.to_numpy()[::-1] > "text 4")
    refused(f"^y {told}", labelled.score, frame, other)


@pytest.mark.filterwarnings("ignore")
def test_values_of_the_rows_of_tokens_and_named_counts_are_matched_by_their_names():
    """Rows of pairs are sorted by name: r0, r1, r10, ..."""
    frame = pd.DataFrame(RNG.poisson(2.0, (12, 8)), index=[f"r{i}" for i in range(12)])
    values = pd.Series(list("ababababaabb"), frame.index)
    pairs = frame.stack().rename("n").rename_axis(["row", "column"])
    train, _ = split_counts(frame, random_state=0)
    grouped = GuidedAspectModel(2, group_effects="topics", beta=0.9, max_iter=5, random_state=0)
    told = "has the index of the rows in another order"
    for X, y in ((Dyads.from_frame(pairs, "row", "column", "n"), values), (train, values[::-1])):
        refused(f"^y {told}", AspectClassifier().fit, X, y)
        refused(f"^groups {told}", grouped.fit, X, groups=y)
        ordered = AspectClassifier(random_state=0).fit(X, y[X.row_names])
        assert ordered.score(X, y[X.row_names]) > 0.5
    weights = pd.Series(1.0, frame.index[::-1])
    refused(f"^sample_weight {told}", clone(MODEL).fit, train, sample_weight=weights)


@pytest.mark.filterwarnings("ignore")
def test_values_of_other_rows_are_refused():
    frame = pd.DataFrame(RNG.poisson(2.0, (12, 8)), index=[f"r{i}" for i in range(12)])
    values = pd.Series(list("ababababaabb"), frame.index)
    X, y = frame.drop("r3"), values.drop("r7")
    told = "has the index of other rows, such as 'r3' for the row 'r4'"
    model = AspectModel(2, beta=0.9, max_iter=5, random_state=0).fit(X)
    refused(f"^y {told}", AspectClassifier().fit, X, y)
    refused(f"^sample_weight {told}", model.fit, X, sample_weight=y == "a")
    refused(f"^by {told}", compare_shares, model, y, X=X)
    for index in (range(11), range(20, 31), [f"sample {i}" for i in range(11)]):
        AspectClassifier(random_state=0).fit(X, y.set_axis(index))
    AspectClassifier(random_state=0).fit(X.reset_index(drop=True), y.set_axis(range(1, 12)))
    once = frame.iloc[[0, 0, 1]]
    refused(
        "^y has the index of other rows", AspectClassifier().fit, once, values[["r0", "r1", "r1"]]
    )


def test_values_of_columns_are_no_values_of_rows():
    """As where features are rows, and metadata are those of samples."""
    frame = pd.DataFrame(RNG.poisson(2.0, (8, 8)), list("abcdefgh"), list("stuvwxyz"))
    values = pd.Series(list("mmmmnnnn"), frame.columns)
    model = AspectModel(2, beta=0.9, max_iter=5, random_state=0).fit(frame)
    told = "should have a value for each row, but its index is that of the columns of X"
    for X in (frame, Dyads(frame)):
        refused(f"^y {told}", AspectClassifier().fit, X, values[::-1])
    refused(f"^by {told}", compare_shares, model, values, X=frame)
    AspectClassifier(random_state=0).fit(frame.set_axis(frame.columns, axis=0), values)


def test_dicts_are_no_values_of_rows():
    frame = pd.DataFrame(RNG.poisson(2.0, (12, 8)))
    model = AspectModel(2, beta=0.9, max_iter=5, random_state=0).fit(frame)
    ones = dict.fromkeys(range(12), 1.0)
    refused("sample_weight is a dict", model.fit, frame, sample_weight=ones, error=TypeError)
    fixed = GuidedAspectModel(2, fixed_components={"a": ones})
    refused("'a' of fixed_components is a dict", fixed.fit, frame, error=TypeError)
    refused("texts is a dict", explore, model, frame, texts=ones, error=TypeError)


@pytest.mark.filterwarnings("ignore")
def test_frames_that_cannot_be_read_are_refused_with_the_cure():
    frame = pd.DataFrame(RNG.poisson(2.0, (12, 3)), columns=["tea", "tea", "ale"])
    for call in (clone(MODEL).fit, Dyads, split_counts):
        refused("several columns of the same name, such as 'tea': rename", call, frame)
    for text in ("3,000", "1.234,5", "12%", "$3,000.00", "1 000", "5 €"):
        table = pd.DataFrame([["1", "2"], [text, "3"]])
        message = f"numbers written as texts, such as {re.escape(repr(text))}: read them"
        refused(message, clone(MODEL).fit, table)
    refused("X holds texts", clone(MODEL).fit, pd.DataFrame([["1", "2"], ["3 cups", "3"]]))
    refused(r"not supported\. Give real numbers", clone(MODEL).fit, np.eye(3) + 1j)
