"""Counts in other containers than arrays, sparse arrays and data frames."""

from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction import DictVectorizer
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.utils import Bunch

from skcooc import AspectModel, Dyads, RowBlocks, inspection, save_table
from skcooc.counts.containers import CONTAINERS
from skcooc.metrics import npmi_coherence
from skcooc.model_selection import split_counts
from tests.tables import refused

TABLE = np.random.default_rng(0).poisson(1, (9, 6)) + np.eye(9, 6)
FRAME = pd.DataFrame(TABLE, [f"row{i}" for i in range(9)], list("abcdef"))
MODEL = AspectModel(2, beta=0.9, random_state=0).fit(TABLE)
CALLS = (
    lambda X: AspectModel(2).fit(X),
    lambda X: AspectModel(2).partial_fit(X),
    MODEL.transform,
    Dyads,
    split_counts,
    lambda X: npmi_coherence(MODEL.components_, X),
    lambda X: inspection.explore(MODEL, X),
)
TYPE = "X is of type {}, not a table of counts: give "


def cells(anndata, backed=None):
    adata = anndata.AnnData(sp.csr_matrix(TABLE), layers={"n": sp.csr_matrix(TABLE)})
    adata.raw = adata
    if backed is None:
        return adata
    adata.write_h5ad(backed / "cells.h5ad")
    return anndata.read_h5ad(backed / "cells.h5ad", backed="r")


def npz(numpy, folder):
    numpy.savez(folder / "table.npz", n=TABLE)
    return numpy.load(folder / "table.npz")


def hdf5(h5py, folder):
    file = h5py.File(folder / "table.h5", "w")
    file["n"] = TABLE
    return file


def rows(kind=dict):
    return [kind(row.to_dict()) for _, row in FRAME.iterrows()]


def by_name(kind=dict):
    return dict(zip(FRAME.index, rows(kind), strict=True))


KINDS = {  # container, how to make one, and how it becomes the table
    "anndata.Raw": (lambda anndata, _: cells(anndata).raw, "X.X"),
    "anndata._CSRDataset": (lambda anndata, folder: cells(anndata, folder).X, "X.to_memory()"),
    "anndata.Layers": (lambda anndata, _: cells(anndata).layers, "X['n']"),
    "biom.Table": (
        lambda biom, _: biom.Table(TABLE.T, FRAME.columns, FRAME.index),
        "X.to_dataframe(dense=False).T",
    ),
    "collections.Counter": (
        lambda *_: Counter(FRAME.stack().to_dict()),
        "Dyads.from_pairs(*zip(*X), list(X.values()))",
    ),
    "dict": (lambda *_: by_name(), "pandas.DataFrame.from_dict(X, orient='index').fillna(0)"),
    "collections.defaultdict": (
        lambda *_: defaultdict(Counter, by_name(Counter)),
        "pandas.DataFrame.from_dict(X, orient='index').fillna(0)",
    ),
    "h5py.File": (hdf5, "X['n']"),
    "igraph.Graph": (
        lambda igraph, _: igraph.Graph.Weighted_Adjacency(TABLE[:6]),
        "X.get_adjacency_sparse(attribute='weight')",
    ),
    "mudata.MuData": (
        lambda mudata, _: mudata.MuData({"n": cells(pytest.importorskip("anndata"))}),
        "X.mod['n'].X",
    ),
    "narwhals.DataFrame": (lambda narwhals, _: narwhals.from_native(FRAME), "X.to_native()"),
    "networkx.Graph": (
        lambda networkx, _: networkx.bipartite.from_biadjacency_matrix(sp.csr_array(TABLE)),
        "networkx.bipartite.biadjacency_matrix(X, rows, weight='weight')",
    ),
    "numpy.NpzFile": (npz, "X['n']"),
    "pandas.DataFrameGroupBy": (lambda *_: FRAME.groupby(FRAME.index), "X.sum()"),
    "polars.LazyFrame": (lambda *_: pl.from_pandas(FRAME).lazy(), "X.collect()"),
    "pyarrow.RecordBatch": (
        lambda *_: pyarrow.RecordBatch.from_pandas(FRAME),
        "X.to_pandas()",
    ),
    "sklearn.Bunch": (lambda *_: Bunch(data=TABLE), "X.data"),
    "sparse.COO": (
        lambda sparse, _: sparse.COO(TABLE),
        "X.asformat('coo').to_scipy_sparse()",
    ),
    "xarray.DataArray": (lambda xarray, _: xarray.DataArray(FRAME), "X.to_pandas()"),
    "xarray.Dataset": (
        lambda xarray, _: xarray.Dataset({"n": xarray.DataArray(FRAME)}),
        "X['n'].to_pandas()",
    ),
}


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::polars.exceptions.PerformanceWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_containers_are_refused_with_a_cure_that_works(kind, tmp_path):
    name = kind.partition(".")[0]
    library = pytest.importorskip("builtins" if name == "dict" else name, reason=f"needs {name}")
    make, cure = KINDS[kind]
    X = make(library, tmp_path)
    for call in CALLS:
        with pytest.raises(TypeError) as error:
            call(X)
        assert str(error.value).startswith(TYPE.format(kind))
        assert cure.replace("'n'", "name") in str(error.value)
    refused("blocks is of type", save_table, tmp_path / "table", X, error=TypeError)
    names = {name: library, "X": X, "rows": range(9), "pandas": pd, "Dyads": Dyads}
    table = eval(cure, names)
    table = table.to_csr() if isinstance(table, Dyads) else table
    expected = TABLE[:6] if kind == "igraph.Graph" else TABLE
    np.testing.assert_array_equal(Dyads(table).to_csr().toarray(), expected)


def stand_in(module, name):
    """An object of a class of another library, which NumPy would take for minutes."""

    def endless(self, *args, **options):
        raise AssertionError("its content should not be read")

    content = dict.fromkeys(("__array__", "__iter__", "__len__", "__getitem__"), endless)
    base = type(name, (), {**content, "__module__": f"{module}.core"})
    return type("Other", (base,), {"__module__": f"{module}.others"})()


@pytest.mark.parametrize("kind", [kind for kind in CONTAINERS if kind[0] != "builtins"])
def test_classes_are_known_by_name_and_not_read(kind, tmp_path):
    X = stand_in(*kind)
    advice = CONTAINERS[kind].format(X="X")
    for call in CALLS:
        with pytest.raises(TypeError) as error:
            call(X)
        assert str(error.value) == f"{TYPE.format(f'{kind[0]}.Other')}{advice}."


def test_blocks_of_rows_are_refused_with_the_class_that_takes_them():
    for call in CALLS[:2]:
        refused("For blocks of rows, see skcooc.RowBlocks", call, iter([TABLE]), error=TypeError)


def test_rows_of_other_types_are_refused_with_a_cure_that_works():
    sets = [set(row.index[row > 0]) for _, row in FRAME.iterrows()]
    parts = [sp.csr_array(TABLE[:4]), sp.csr_array(TABLE[4:])]
    dicts = DictVectorizer().fit_transform
    binarized = MultiLabelBinarizer().fit_transform
    for X, cure, advice in (
        (rows(), dicts, r"DictVectorizer\(\)\.fit_transform\(X\)"),
        (rows(Counter), dicts, r"DictVectorizer\(\)\.fit_transform\(X\)"),
        (pd.Series(rows()), dicts, r"DictVectorizer\(\)\.fit_transform\(X\)"),
        (np.array(rows()), dicts, r"DictVectorizer\(\)\.fit_transform\(X\)"),
        (sets, binarized, r"MultiLabelBinarizer\(\)\.fit_transform\(X\)"),
        (parts, sp.vstack, r"scipy\.sparse\.vstack\(X\)"),
        (list(map(sp.csr_matrix, parts)), sp.vstack, r"scipy\.sparse\.vstack\(X\)"),
        ((parts[0], ["labels"]), lambda X: X[0], "the table itself"),
        (np.array(sp.csr_array(TABLE)), lambda X: X.item(), "the table itself"),
        ([FRAME[:4], FRAME[4:]], pd.concat, r"pandas\.concat\(X\)"),
    ):
        for call in CALLS:
            refused(f"^X holds objects of type .*: give .*{advice}", call, X, error=TypeError)
        assert Dyads(cure(X)).table_shape[1] == 6


def test_what_is_no_container_is_told_by_its_type():
    for X in ((row for row in TABLE), map(list, TABLE), {1, 2}, rows()[0].items(), np, len, 5):
        for call in CALLS[:-1]:
            refused(f"of type {type(X).__name__}, not a table", call, X, error=TypeError)
    for call in CALLS[:-1]:
        refused("of type NoneType, not a table", call, None, error=TypeError)
        refused(r"file, by pandas\.read_csv", call, Path("counts.csv"), error=TypeError)
        refused(r"^X holds texts .* file, read this by pandas\.read_csv", call, "counts.csv")


def test_vectors_and_records_become_tables_as_the_messages_say():
    records = FRAME.to_records(index=False)
    for X in (records, np.array(records.tolist(), dtype=records.dtype)):
        for call in CALLS:
            refused(r"structured array: give pandas\.Data.*\.from_r", call, X, error=TypeError)
        np.testing.assert_array_equal(pd.DataFrame.from_records(X), TABLE)
    series = FRAME.stack()
    for call in CALLS:
        refused(r"X\.unstack\(fill_value=0\)", call, series)
        refused(r"numpy\.vstack\(X\)", call, pd.Series(list(TABLE)))
    np.testing.assert_array_equal(series.unstack(fill_value=0), TABLE)


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_cells_that_sparse_frames_leave_out_are_zero():
    sparse_frame = FRAME.astype(pd.SparseDtype(float, 0))
    np.testing.assert_array_equal(Dyads(sparse_frame).to_csr().toarray(), TABLE)
    unknown = FRAME.where(FRAME > 0).astype(pd.SparseDtype(float, np.nan))
    ones = FRAME.astype(pd.SparseDtype(float, 1))
    for X, cure in ((unknown, unknown.fillna(0)), (ones, ones.sparse.to_dense())):
        for call in CALLS:
            refused(r"If it is NaN, give X\.fillna\(0\), otherwise X\.sparse\.to_dense", call, X)
        np.testing.assert_array_equal(Dyads(cure).to_csr().toarray(), TABLE)


def test_an_index_is_no_column_of_counts():
    numbered = FRAME.set_axis(np.arange(9) ** 2)
    unnamed, named = (
        pyarrow.Table.from_pandas(frame) for frame in (numbered, numbered.rename_axis("year"))
    )
    for X in (unnamed, named, pl.from_arrow(unnamed)):
        for call in CALLS:
            refused("X has the index of a pandas data frame as", call, X, error=TypeError)
    for X in (unnamed.to_pandas(), named.drop_columns("year"), pl.from_pandas(numbered)):
        assert AspectModel(2, beta=1).fit(X).feature_names_in_.tolist() == list("abcdef")


def test_dask_collections_are_brought_into_memory():
    dask = pytest.importorskip("dask.array", reason="needs dask")
    for call in (Dyads, split_counts, lambda X: inspection.explore(MODEL, X)):
        refused(r"give X\.compute\(\)", call, dask.asarray(TABLE), error=TypeError)


def test_blocks_are_no_documents_of_gensim(tmp_path):
    corpus = [[(0, 1), (3, 2)], [(1, 1)]]
    for take in (RowBlocks, lambda blocks: save_table(tmp_path / "table", blocks)):
        refused(r"gensim\.matutils\.corpus2csc\(blocks\)\.T", take, corpus, error=TypeError)
    assert not list(tmp_path.iterdir())
