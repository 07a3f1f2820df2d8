"""Tables in blocks and on disk: counts come back as written, and fits are those in memory."""

import io
import os
import shutil
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import skcooc
from skcooc import (
    AspectModel,
    AsymmetricClustering,
    Dyads,
    RowBlocks,
    open_table,
    save_table,
)
from skcooc.counts import CSRCounts
from skcooc.counts import disk as disk_counts
from skcooc.datasets import make_cooccurrences
from skcooc.fitting.watching import BlockTasks
from skcooc.protocol import TableWarning
from skcooc.tables import CheckedBlocks, disk
from skcooc.tables.disk import FACTS, FILES, MAGIC
from tests.contract import assert_same_fit
from tests.data import requires_callbacks
from tests.tables import planted, random_table, refused
from tests.watching import Watcher

pytestmark = pytest.mark.usefixtures("short_starts", "starts_of_all_tables")

MAPS = Path("/proc/self/maps")
SHORT = {"max_iter": 6, "tol": 0.0, "random_state": 0}
ASPECTS = AspectModel(3, beta=0.9, **SHORT)
LEFT_OUT = AspectModel(3, beta=0.9, leave_one_out=True, **SHORT)
ESTIMATORS = [
    ASPECTS,
    LEFT_OUT,
    AsymmetricClustering(3, beta=0.2, **SHORT),
    skcooc.SymmetricClustering(3, 4, beta=0.1, **SHORT),
    skcooc.ClusterAbstraction(4, tree="binary", beta=0.2, **SHORT),
    skcooc.AveragedModels(AspectModel(3), 2, max_iter=3, random_state=0),
]
X = planted(n_rows=120, n_tokens=6000).X.astype(float)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Bands of sixteen rows, two of them in a block."""
    monkeypatch.setattr("skcooc.tables.disk.MAX_BAND_HEIGHT", 16)
    monkeypatch.setattr(disk_counts, "BLOCK", 2 * 16 * X.nnz // X.shape[0])


@pytest.fixture
def table(tmp_path):
    save_table(tmp_path / "table", [X[:7], X[7:50], X[50:]])
    return open_table(tmp_path / "table")


@pytest.mark.parametrize(
    ("dtype", "ends", "batch_size"),
    [
        (np.float32, [23], 1),
        (np.float64, [1, 2, 2, 23], 5),
        (np.int64, [16, 23], 23),
        (np.float32, [20, 21, 22, 23], 100),
    ],
)
def test_a_saved_table_is_read_in_blocks(tmp_path, dtype, ends, batch_size):
    X = random_table(n_rows=23, n_columns=9).astype(dtype)
    X.data[::3], X.data[1::5] = 255, 256  # the largest one-byte code, and a count that has none
    if dtype != np.int64:
        X.data[::4] = 0.3
    save_table(tmp_path / "t", (X[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)))
    table = open_table(tmp_path / "t", batch_size=batch_size)
    kind = np.float64 if dtype == np.float64 else np.float32
    assert (table.shape, table.nnz, table.dtype) == (X.shape, X.nnz, kind)
    assert repr(table) == f"<DiskTable: {X.nnz} counts of a table of shape (23, 9)>"
    for _ in range(2):  # every pass starts from the first row
        blocks = list(table)
        assert len(blocks) == len(table)
        assert [block.shape[0] for block in blocks[:-1]] == [batch_size] * (len(table) - 1)
        assert {block.dtype for block in blocks} == {np.dtype(kind)}
        np.testing.assert_array_equal(sp.vstack(blocks).toarray(), X.toarray().astype(kind))
    counts, here = table.counts, CSRCounts(X.astype(kind))
    for name in ("row_sums", "column_sums", "mean_count_weight"):
        np.testing.assert_allclose(getattr(counts, name), getattr(here, name), rtol=1e-6)
    arrays = np.array([0.0, 2, 3, 4]), np.array([0, 1, 1, 0]), np.array([0, 3, 4])
    save_table(tmp_path / "summed", [sp.csr_array(arrays, shape=(2, 2))])
    table = open_table(tmp_path / "summed")
    assert table.nnz == 2
    np.testing.assert_array_equal(next(iter(table)).toarray(), [[0, 5], [4, 0]])


def test_an_invalid_table_is_refused_and_leaves_no_files(tmp_path, table):
    def interrupted():
        yield X
        raise KeyboardInterrupt

    frame = pd.DataFrame([[1, 2]], columns=["tea", "ale"])
    for blocks, reason in (
        ([X, X[:, 1:]], "same number of columns"),
        ([frame, Dyads(frame[["ale", "tea"]])], "other names, or has them in another order"),
        ([], "no block"),
        ([X * 0], "All counts are zero"),
        ([np.empty((0, 3))], "No block has a row"),
    ):
        refused(reason, save_table, tmp_path / "other", blocks)
    with pytest.raises(KeyboardInterrupt):
        save_table(tmp_path / "other", interrupted())
    with pytest.raises(FileExistsError, match="give another path, or delete it"):
        save_table(tmp_path / "table", [X])
    with pytest.raises(FileNotFoundError):
        open_table(tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["table"]


DAMAGES = [
    lambda path: np.save(path / "codes.npy", np.load(path / "codes.npy")[:-1]),
    lambda path: os.truncate(path / "rows.npy", 300),
    lambda path: os.truncate(path / "others.npy", 0),
    lambda path: os.truncate(path / "facts.bin", 1000),
]


def test_files_that_were_cut_off_are_detected(tmp_path):
    save_table(tmp_path / "sound", [X[:50], X[50:], X[:1] / 2])
    for number, damage in enumerate(DAMAGES):
        path = tmp_path / f"{number} table"
        shutil.copytree(tmp_path / "sound", path)
        damage(path)
        for use in (list, clone(ASPECTS).fit, lambda table: clone(ASPECTS).fit(RowBlocks(table))):
            refused(f"{number} table is a damaged table", lambda: use(open_table(path)))  # noqa: B023


def write_in_place(path, content):
    with path.open("r+b") as file:
        file.write(content)


@pytest.mark.parametrize("before", [False, True], ids=["new", "opened before"])
def test_every_changed_byte_is_detected_and_its_file_named(tmp_path, before):
    """80 bytes of all files; also of a table that was fitted before, whose facts are known."""
    save_table(tmp_path / "table", [X])
    table, rng = open_table(tmp_path / "table"), np.random.default_rng(0)
    expected = table.counts.bands.to_csr().toarray()
    paths = sorted(path for path in table.path.iterdir() if not before or path.suffix == ".npy")
    ends = np.cumsum([path.stat().st_size for path in paths])
    for place in rng.choice(ends[-1], 80, replace=False).tolist():
        number = np.searchsorted(ends, place, side="right")
        whole, content = (kind(paths[number].read_bytes()) for kind in (bytes, bytearray))
        content[place - ends[number]] ^= rng.integers(1, 256).item()
        write_in_place(paths[number], content)
        for use in (lambda table: table.counts, list):
            used = lambda: use(table if before else open_table(table.path))  # noqa: B023, E731
            refused(rf"table: .*{paths[number].name} was", used)
        write_in_place(paths[number], whole)
    np.testing.assert_array_equal(table.counts.bands.to_csr().toarray(), expected)


def test_a_missing_file_and_another_format_are_told(tmp_path):
    save_table(tmp_path / "table", [X])
    (tmp_path / "table" / "codes.npy").unlink()
    refused("codes", open_table, tmp_path / "table", error=FileNotFoundError)
    content = (tmp_path / "table" / disk.FACTS).read_bytes().partition(b"\n")[2]
    magic = b"skcooc table, format 0"
    line = b"%s %08x\n" % (magic, zlib.crc32(magic + content))
    (tmp_path / "table" / disk.FACTS).write_bytes(line + content)
    refused("is a skcooc table, format 0; .* reads .* format 3", open_table, tmp_path / "table")


@pytest.mark.skipif(not MAPS.exists(), reason="reads the memory maps of the process")
def test_a_pass_keeps_no_file_in_memory(table):
    for _ in table:
        assert str(table.path) not in MAPS.read_text()
    counts = table.counts
    assert counts.n_blocks > 1  # a fit of all rows maps the files
    assert str(table.path) in MAPS.read_text()


def test_products_and_samples_are_those_of_the_matrix(table):
    counts, rng = table.counts, np.random.default_rng(0)
    assert counts.n_blocks == 4
    B, A = rng.random((X.shape[1], 3)), rng.random((X.shape[0], 3))
    products = counts.map_blocks(lambda block, D: block.dot(B), np.empty((X.shape[0], 1)))
    np.testing.assert_allclose(products, X @ B)
    np.testing.assert_allclose(counts.total(lambda block: block.row_sums.sum()), X.sum())
    np.testing.assert_allclose(counts.tdot(A), X.T @ A)
    np.testing.assert_array_equal(counts.map_row_ranges(np.add, A, 2 * A), 3 * A)
    for n_rows in (1, 40, 500):
        drawn = table.counts.sample(n_rows, np.random.default_rng(0)).toarray()
        rows = np.random.default_rng(0).choice(120, min(n_rows, 120), replace=False)
        np.testing.assert_array_equal(drawn, X.toarray()[np.sort(rows)])


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_a_fit_is_that_in_memory_with_any_number_of_threads(table, estimator, monkeypatch):
    model = clone(estimator).fit(table)
    assert_same_fit(model, clone(estimator).fit(X), 1e-6)
    monkeypatch.setattr("skcooc.counts.csr.WORTH_A_THREAD", 100)
    threaded = clone(estimator).set_params(n_jobs=2).fit(table)
    assert_same_fit(model, threaded)


@pytest.mark.parametrize(
    "estimator", [AspectModel(10, random_state=0), AsymmetricClustering(10, random_state=0)]
)
def test_smoothing_suits_a_fit_to_all_rows_and_not_to_the_sample(estimator, tmp_path, monkeypatch):
    monkeypatch.setattr("skcooc.tables.reading.SAMPLE_ROWS", 200)
    rows = make_cooccurrences(3000, 400, 10, n_tokens=60_000, random_state=0).X
    save_table(tmp_path / "large", [rows[:2000]])
    model = clone(estimator).fit(open_table(tmp_path / "large"))
    found = model.perplexity(rows[2000:])
    perplexities = []
    for smoothing in np.geomspace(0.001, 0.9, 8):
        model.smoothing_ = smoothing
        perplexities.append(model.perplexity(rows[2000:]))
    assert found < 1.005 * min(perplexities) < 0.9 * max(perplexities)


def test_a_fit_goes_on_and_its_rows_can_be_folded_in(table, monkeypatch):
    model = clone(ASPECTS).set_params(max_iter=30, tol=1e-5).fit(table)
    before = model.objective_
    model.set_params(warm_start=True, max_iter=20).fit(table)
    assert model.objective_ < before * (1 + 1e-9)
    first = next(iter(table))
    rows = model.embedding_[: first.shape[0]]
    np.testing.assert_allclose(model.transform(first), rows, atol=0.05)
    # The temperature is found on a sample.
    monkeypatch.setattr("skcooc.tables.reading.SAMPLE_ROWS", 30)
    model = AspectModel(3, **SHORT).fit(table)
    assert model.tuning_
    assert model.embedding_.shape == (120, 3)


def test_unsupported_parameters_and_methods_are_refused(table):
    for estimator, reason in [
        (AspectModel(3, burstiness=2.0), "burstiness replaces"),
        (AspectModel(3, early_stopping=True), "early_stopping=True holds out"),
        (skcooc.ClusteringProjection(3), "begin with all rows"),
    ]:
        refused(f"fitted as a DiskTable: .*{reason}", estimator.fit, table)
    refused("sample_weight is not supported", clone(ASPECTS).fit, table, sample_weight=np.ones(120))
    model = clone(ASPECTS).fit(X)
    for call in (model.score, model.partial_fit):
        refused("DiskTable is a table in blocks", call, table, error=TypeError)


@pytest.mark.parametrize(
    "estimator",
    [
        ASPECTS,
        skcooc.AsymmetricClustering(3, **SHORT),
        skcooc.MixtureFeatures(ASPECTS),
        skcooc.GuidedAspectModel(3, **SHORT),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_rows_of_a_table_in_blocks_are_transformed_block_by_block(estimator, table):
    fitted = clone(estimator)
    expected = fitted.fit(table).transform(X)
    np.testing.assert_array_equal(fitted.transform(table), expected)
    np.testing.assert_array_equal(fitted.transform(skcooc.RowBlocks(table)), expected)
    np.testing.assert_array_equal(clone(estimator).fit_transform(table), expected)
    if hasattr(fitted, "predict_proba"):
        np.testing.assert_array_equal(fitted.predict(table), fitted.predict(X))


class Tree(Watcher):
    """Which tasks ended: a name, and how many sub-tasks had ended in it."""

    def setup(self, estimator, context):
        self.ended, self.children = [], {}

    def on_fit_task_end(self, estimator, context):
        parent = context.parent
        self.children[id(parent)] = self.children.get(id(parent), 0) + 1
        self.ended.append((context.task_name, self.children.pop(id(context), 0)))
        if context.max_subtasks:
            assert self.ended[-1][1] <= context.max_subtasks


def watched(estimator, X):
    tree = Tree()
    clone(estimator).set_callbacks(tree).fit(X)
    return tree.ended


@requires_callbacks
def test_callbacks_hear_of_every_block_of_an_iteration(table, monkeypatch):
    gone_through, block = [], BlockTasks.block
    counting = lambda self: [gone_through.append(1), block(self)]  # noqa: E731
    monkeypatch.setattr(BlockTasks, "block", counting)
    estimator = clone(ASPECTS).set_params(max_iter=40, tempering="joint")
    iterations = [task for task in watched(estimator, table) if task[0] == "iteration"]
    assert iterations[-40:] == [("iteration", 4)] * 40
    assert len(gone_through) > 4 * 40  # repeated steps are not reported
    iterations = [task for task in watched(ASPECTS, X) if task[0] == "iteration"]
    assert iterations[-6:] == [("iteration", 0)] * 6  # in memory there are none


class Files:
    """Blocks without len()."""

    def __init__(self, X, size):
        self.X, self.size = X, size

    def __iter__(self):
        return (self.X[at : at + self.size] for at in range(0, self.X.shape[0], self.size))


@requires_callbacks
def test_callbacks_hear_of_every_block_of_a_pass(monkeypatch):
    monkeypatch.setattr("skcooc.fitting.stream.PASS_TOL", -1.0)
    for blocks in (Files(X, 50), [X[:50], X[50:60], X[60:]]):
        ended = watched(ASPECTS, RowBlocks(blocks, max_passes=2))
        assert [task for task in ended if task[0] == "pass"] == [("pass", 3)] * 2


SMALL = random_table(n_rows=23, n_columns=9)


def test_iterators_are_refused():
    for once in (iter([SMALL]), (block for block in [SMALL]), 3):
        refused("several times", RowBlocks, once, error=TypeError)


def checked(blocks):
    """Blocks without weights, whose checks let everything pass."""
    return CheckedBlocks(RowBlocks(blocks), lambda block, reset: block, None, None, reset=True)


@pytest.mark.parametrize("n_rows", [3, 50])
def test_a_sample_is_of_rows_and_the_totals_of_all(n_rows):
    blocks = checked([SMALL[:1], SMALL[1:9], SMALL[9:]])
    sample, again = blocks.sampled(n_rows, np.random.default_rng(0))
    assert sample.shape == (min(n_rows, 23), 9)
    np.testing.assert_allclose(again.column_sums, SMALL.sum(axis=0))
    assert not again.reset
    if n_rows >= 23:
        np.testing.assert_array_equal(sample.table.toarray(), SMALL.toarray())
    refused("no block", checked([]).sampled, n_rows, np.random.default_rng(0))


def test_shape_and_number_of_blocks(tmp_path):
    save_table(tmp_path / "table", [SMALL])
    for blocks, n_blocks in [
        (RowBlocks([SMALL[:4], SMALL[4:17], SMALL[17:]]), 3),
        (RowBlocks((SMALL[:4].toarray(), SMALL[4:].toarray().tolist())), 2),
        (RowBlocks(open_table(tmp_path / "table", batch_size=5)), 5),
    ]:
        assert (blocks.shape, len(blocks)) == (SMALL.shape, n_blocks)
        assert repr(blocks) == f"<RowBlocks: {n_blocks} blocks of a table of shape (23, 9)>"
    assert len(RowBlocks([])) == 0
    assert RowBlocks([]).shape is None
    files = Files(SMALL, 8)
    files.shape = SMALL.shape
    assert repr(RowBlocks(files)) == "<RowBlocks: a table of shape (23, 9)>"
    blocks = RowBlocks(Files(SMALL, 8))
    assert blocks  # although the length is not known
    assert blocks.shape is None
    assert repr(blocks) == "<RowBlocks: a table that has not been read yet>"
    refused("not known before they have been read: Files has no len", len, blocks, error=TypeError)
    next(iter(blocks))  # not all of them
    assert blocks.shape is None
    assert len(list(blocks)) == 3
    assert (blocks.shape, len(blocks)) == (SMALL.shape, 3)
    assert repr(blocks) == "<RowBlocks: 3 blocks of a table of shape (23, 9)>"


def test_dask_arrays_need_a_client():
    da = pytest.importorskip("dask.array", reason="needs dask")
    pytest.importorskip("distributed", reason="needs distributed")
    refused("there is no client", AspectModel(2).fit, da.from_array(np.ones((6, 4)), chunks=(3, 4)))


def write_facts(path, facts):
    """Write other facts about a table, with the checksum of them; None leaves one out."""
    out = io.BytesIO()
    np.savez(out, **{name: value for name, value in facts.items() if value is not None})
    line = MAGIC + b" " + b"%08x" % zlib.crc32(MAGIC + out.getvalue())
    (path / FACTS).write_bytes(line + b"\n" + out.getvalue())


def odd_values(value):
    yield from (None, "x", np.array([None], dtype=object), np.atleast_1d(value)[:0], value[None])
    yield from (value * np.nan, value + np.inf, value * 1j, value.astype("S8"), value.astype(bool))
    yield from (np.full_like(value, 0), -value.astype(float), np.full(value.shape, 1e300))
    yield from (np.full(value.shape, -1), np.full(value.shape, 2**62), np.full(value.shape, 2**32))
    yield from (np.append(value, value), np.atleast_1d(value)[:-1], value.astype("M8[s]"))


@pytest.mark.parametrize("name", ["shape", "height", "limits", "row_sums", "column_sums"])
def test_facts_that_describe_no_table_are_refused(name, tmp_path):
    save_table(tmp_path / "table", [random_table()])
    content = (tmp_path / "table" / FACTS).read_bytes().partition(b"\n")[2]
    facts = dict(np.load(io.BytesIO(content)))
    for odd in odd_values(facts[name]):
        write_facts(tmp_path / "table", facts | {name: odd})
        refused("is a damaged table", open_table, tmp_path / "table")
    for odd in (0.0, np.nan, np.inf, -1.0, 1e9, None, "x", 3):
        write_facts(tmp_path / "table", facts | {"n_tokens": odd})
        refused("is a damaged table", open_table, tmp_path / "table")
    for other in ("headers", "checksums"):
        write_facts(tmp_path / "table", facts | {other: facts[other][:0]})
        refused("is a damaged table", open_table, tmp_path / "table")
    for magic, content in ((MAGIC, b"junk"), (MAGIC, b"")):
        line = magic + b" " + b"%08x" % zlib.crc32(magic + content)
        (tmp_path / "table" / FACTS).write_bytes(line + b"\n" + content)
        refused("is a damaged table", open_table, tmp_path / "table")


@pytest.mark.parametrize(
    ("name", "value"), [("rows", 2**16 - 1), ("columns", 2**31 - 1), ("columns", -1), ("codes", 0)]
)
def test_places_outside_of_the_table_are_refused_though_checksums_agree(name, value, tmp_path):
    save_table(tmp_path / "table", [random_table()])
    file = np.load(tmp_path / "table" / f"{name}.npy", mmap_mode="r+")
    file[:] = value
    file.flush()
    content = (tmp_path / "table" / FACTS).read_bytes().partition(b"\n")[2]
    facts = dict(np.load(io.BytesIO(content)))
    facts["checksums"][0, FILES.index(name)] = zlib.crc32(np.ascontiguousarray(file).data)
    write_facts(tmp_path / "table", facts)
    table = open_table(tmp_path / "table")
    refused("is a damaged table: the content does not fit", list, table)
    refused("is a damaged table: the content does not fit", AspectModel(2).fit, table)


NAMES = ["tea", "été", "\udc80", ""], [5, 1, 2, 0], [0.5, 1, 2, 3]


@pytest.mark.parametrize("names", NAMES, ids=["strings", "integers", "floats"])
def test_names_of_columns_are_stored(names, tmp_path):
    frame = pd.DataFrame(np.arange(80).reshape(20, 4) % 7, columns=names)
    save_table(tmp_path / "table", [frame[:9], frame[9:]])
    table = open_table(tmp_path / "table")
    assert table.column_names.tolist() == names
    for X in table, RowBlocks(table):
        model = AspectModel(2, beta=0.9, max_iter=2, random_state=0).fit(X)
        assert model.column_names_in_.tolist() == names
        assert model.transform(table).shape == (20, 2)
        refused("The feature names should match", model.transform, frame[names[::-1]])


def test_a_fit_to_a_table_without_names_has_none(table, tmp_path):
    frame = pd.DataFrame(np.ones((20, 4)), columns=list("abcd"))
    model = AspectModel(2, beta=0.9, max_iter=2, random_state=0).fit(frame)
    assert not hasattr(model.fit(table), "feature_names_in_")
    dates = frame.set_axis(pd.date_range("2026-01-01", periods=4), axis=1)
    refused("Only strings and numbers .* names of columns", save_table, tmp_path / "dates", [dates])


def test_a_column_that_numbers_the_rows_is_doubted_before_it_is_written(tmp_path):
    frame = pd.DataFrame(random_table().toarray()).assign(id=range(12))
    with pytest.warns(TableWarning, match="'id' seems to number or identify the rows"):
        save_table(tmp_path / "table", [frame.set_axis(frame.columns.astype(str), axis=1)])


def test_an_empty_path_is_refused():
    refused("path is empty: give the name of a folder", save_table, "", [random_table()])
