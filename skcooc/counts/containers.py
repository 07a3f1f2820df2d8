"""What people hold counts in that is no table of them, and what to give instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

TABLES = "an array, a sparse array or a data frame"
ENTRY = "the entry with the counts, such as {X}[name]"
READERS = "pandas.read_csv, scipy.sparse.load_npz, anndata.read_h5ad or skcooc.open_table"
PANDAS = "{X}.to_pandas()"
STACKED = "the table itself, or scipy.sparse.vstack({X}) of blocks of rows"
CONTAINERS = {  # first part of the module of a class, its name: what to give instead
    ("PIL", "Image"): "numpy.asarray({X}), or fit a skcooc.image.TextureSegmenter",
    ("anndata", "BaseCompressedSparseDataset"): "{X}.to_memory()",
    ("anndata", "Raw"): "{X}.X",
    ("biom", "Table"): "{X}.to_dataframe(dense=False).T, with a row for each sample",
    ("builtins", "NoneType"): TABLES,
    ("builtins", "dict"): "pandas.DataFrame.from_dict({X}, orient='index').fillna(0) if each "
    "entry is a row, or pandas.DataFrame({X}) if each is a column",
    ("collections", "Counter"): "scikit-learn's DictVectorizer().fit_transform([{X}]) for one row, "
    "or Dyads.from_pairs(*zip(*{X}), list({X}.values())) of counts of pairs",
    ("collections", "Mapping"): ENTRY,
    ("cupyx", "spmatrix"): "{X}.get()",
    ("duckdb", "DuckDBPyRelation"): "{X}.df()",
    ("gensim", "CorpusABC"): "gensim.matutils.corpus2csc({X}).T",
    ("gensim", "Dictionary"): "gensim.matutils.corpus2csc(corpus, num_terms=len(dictionary)).T",
    ("h5py", "Group"): ENTRY,
    ("ibis", "Table"): PANDAS,
    ("igraph", "GraphBase"): "{X}.get_adjacency_sparse(attribute='weight')",
    ("jax", "JAXSparse"): "{X}.todense()",
    ("mudata", "MuData"): "the counts of one modality, {X}.mod[name].X",
    ("narwhals", "DataFrame"): "{X}.to_native()",
    ("narwhals", "LazyFrame"): "{X}.collect().to_native()",
    ("networkx", "Graph"): "networkx.to_pandas_adjacency({X}, weight='weight'), or of a bipartite "
    "graph networkx.bipartite.biadjacency_matrix({X}, rows, weight='weight')",
    ("numpy", "NpzFile"): f"{ENTRY}; sparse arrays are read by scipy.sparse.load_npz",
    ("pandas", "BaseGroupBy"): "{X}.sum()",
    ("pathlib", "PurePath"): f"what is in the file, by {READERS}",
    ("polars", "LazyFrame"): "{X}.collect()",
    ("pyarrow", "RecordBatch"): PANDAS,
    ("pyspark", "DataFrame"): "{X}.toPandas()",
    ("sklearn", "Bunch"): "{X}.X, or {X}.data, which are counted first if they are texts",
    ("sparse", "SparseArray"): "{X}.asformat('coo').to_scipy_sparse()",
    ("spatialdata", "SpatialData"): "the counts of one table, {X}.tables[name].X",
    ("surprise", "Trainset"): "Dyads.from_frame(frame, user, item, rating)",
    ("tensorflow", "SparseTensor"): "tensorflow.sparse.to_dense({X})",
    ("xarray", "DataArray"): PANDAS,
    ("xarray", "Dataset"): "{X}[name].to_pandas()",
    ("zarr", "Group"): ENTRY,
}
ROWS = {  # the same for the entries of a list
    ("builtins", "dict"): "scikit-learn's DictVectorizer().fit_transform({X})",
    ("builtins", "frozenset"): "scikit-learn's MultiLabelBinarizer().fit_transform({X})",
    ("builtins", "set"): "scikit-learn's MultiLabelBinarizer().fit_transform({X})",
    ("pandas", "DataFrame"): "the table itself, or pandas.concat({X}) of blocks of rows",
    ("scipy", "sparray"): STACKED,
    ("scipy", "spmatrix"): STACKED,
}
LIKE_ARRAYS = ("__array__", "__array_interface__", "__dataframe__", "__getitem__")


def refuse_containers(X: object, name: str = "X") -> None:
    """Raise TypeError if X is of another library, or a dict or a path.

    Libraries are known by the names of their classes, and none is imported. NumPy would not tell
    what to do, and would take some apart cell by cell, for minutes.
    """
    if isinstance(X, sp.spmatrix | sp.sparray):  # some are dicts
        return
    if advice := _advice(X, CONTAINERS):
        raise TypeError(
            f"{name} is of type {_type_name(X)}, not a table of counts: "
            f"give {advice.format(X=name)}."
        )


def refuse_other_objects(X: Any, name: str) -> None:
    """Raise TypeError if X is no sequence or array, or one of dicts, sets or tables."""
    if not any(hasattr(X, attribute) for attribute in LIKE_ARRAYS):
        blocks = " For blocks of rows, see skcooc.RowBlocks." if hasattr(X, "__iter__") else ""
        raise TypeError(
            f"{name} is of type {_type_name(X)}, not a table of counts: give {TABLES}.{blocks}"
        )
    entries = X.flat if isinstance(X, np.ndarray) else X
    is_vector = (isinstance(X, np.ndarray) or hasattr(X, "iloc")) and X.ndim < 2
    first = next(iter(entries), None) if isinstance(X, list | tuple) or is_vector else None
    if advice := _advice(first, ROWS):
        raise TypeError(
            f"{name} holds objects of type {_type_name(first)}, and is not a table of counts: "
            f"give {advice.format(X=name)}."
        )


def _advice(value: object, table: Mapping[tuple[str, str], str]) -> str | None:
    keys = ((base.__module__.partition(".")[0], base.__name__) for base in type(value).__mro__)
    return next((table[key] for key in keys if key in table), None)


def _type_name(value: object) -> str:
    kind = type(value)
    module = kind.__module__.partition(".")[0]
    return kind.__name__ if module == "builtins" else f"{module}.{kind.__name__}"
