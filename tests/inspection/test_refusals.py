"""Errors of the functions of inspection: names of a wrong number, models of another kind."""

import sys
from functools import cache

import numpy as np
import pytest
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import NotFittedError

from skcooc import AspectModel
from skcooc.inspection import (
    characteristic_features,
    describe,
    export_dict,
    export_text,
    nearest_rows,
    node_top_features,
    representative_rows,
    to_linkage,
    to_pyldavis,
    top_features,
)  # fmt: skip
from skcooc.inspection.explorer.page import Explorer
from tests.inspection.planted import hierarchy_model

X = np.random.default_rng(0).poisson(2.0, (20, 7))
LDA = LatentDirichletAllocation(2, max_iter=1).fit([[1, 2], [2, 1]])
OF_TREES = node_top_features, export_dict, export_text
OF_COMPONENTS = top_features, characteristic_features, representative_rows, describe
NEW, FEW = AspectModel(), ["a", "b"]
aspects = cache(lambda: AspectModel(2, beta=1, random_state=0, tol=1e-2).fit(X))


def test_bad_input():
    of_trees = (*OF_TREES, to_linkage)
    for function, arguments, error, message in (
        (top_features, (aspects, FEW), ValueError, "7 columns"),
        (characteristic_features, (hierarchy_model, FEW), ValueError, "30 columns"),
        *((function, (hierarchy_model, FEW), ValueError, "30 columns") for function in OF_TREES),
        (to_pyldavis, (aspects, X, FEW), ValueError, "7 columns"),
        (to_pyldavis, (aspects, X[:, :5]), ValueError, "features"),
        (representative_rows, (hierarchy_model, FEW), ValueError, "40 rows"),
        (describe, (aspects, list("abcdef")), ValueError, "7 columns"),
        (describe, (aspects, list("abcdefg"), FEW), ValueError, "20 rows"),
        (nearest_rows, (np.eye(3), [0], 0), ValueError, "n_neighbors"),
        (nearest_rows, (np.eye(3), [0], 3), ValueError, "n_neighbors"),
        *((function, (aspects,), TypeError, "AspectModel has no tree_") for function in of_trees),
        *((function, (NEW,), NotFittedError, None) for function in (*of_trees, *OF_COMPONENTS)),
        (representative_rows, (LDA,), TypeError, "LatentDirichletAllocation has no embedding_"),
        (to_pyldavis, (NEW, X), NotFittedError, None),
    ):
        with pytest.raises(error, match=message):
            function(*(given() if callable(given) else given for given in arguments))


def test_unknown_and_missing_libraries_and_folders(monkeypatch, tmp_path):
    with pytest.raises(ValueError, match="nonsense"):
        describe(aspects(), backend="nonsense")
    monkeypatch.setitem(sys.modules, "modin", None)
    with pytest.raises(ImportError, match=r"needs modin .*pip install modin"):
        describe(aspects(), backend="modin")
    with pytest.raises(FileNotFoundError, match=r"There is no folder '.*new' to write"):
        Explorer({}, "A page").save(tmp_path / "new" / "topics.html")


def test_numbers_of_columns_and_rows_are_not_negative_ints():
    for wrong in (-1, "a", 2.5, None):
        for function in (*OF_COMPONENTS, *OF_TREES):
            name = "n_rows" if function is representative_rows else "n_features"
            model = hierarchy_model() if function in OF_TREES else aspects()
            with pytest.raises(ValueError, match=f"'{name}' parameter of {function.__name__}"):
                function(model, **{name: wrong})
        with pytest.raises(ValueError, match="'n_neighbors' parameter of nearest_rows"):
            nearest_rows(np.eye(3), [0], wrong)
