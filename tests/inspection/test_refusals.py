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
)
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
        (node_top_features, (hierarchy_model, FEW), ValueError, "30 columns"),
        (characteristic_features, (hierarchy_model, FEW), ValueError, "30 columns"),
        (export_dict, (hierarchy_model, FEW), ValueError, "30 columns"),
        (export_text, (hierarchy_model, FEW), ValueError, "30 columns"),
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


def test_unknown_and_missing_libraries(monkeypatch):
    with pytest.raises(ValueError, match="nonsense"):
        describe(aspects(), backend="nonsense")
    monkeypatch.setitem(sys.modules, "modin", None)
    with pytest.raises(ImportError, match=r"needs modin .*pip install modin"):
        describe(aspects(), backend="modin")


@pytest.mark.parametrize("function", [*OF_COMPONENTS, *OF_TREES])
def test_numbers_of_columns_and_rows_are_not_negative_ints(function):
    name = "n_rows" if function is representative_rows else "n_features"
    model = hierarchy_model() if function in OF_TREES else aspects()
    for wrong in (-1, "a", 2.5, None):
        with pytest.raises(ValueError, match=f"'{name}' parameter of {function.__name__}"):
            function(model, **{name: wrong})
        with pytest.raises(ValueError, match="'n_neighbors' parameter of nearest_rows"):
            nearest_rows(np.eye(3), [0], wrong)


def test_a_page_is_not_written_into_a_missing_folder(tmp_path):
    page = Explorer({}, "A page")
    with pytest.raises(FileNotFoundError, match=r"There is no folder '.*new' to write"):
        page.save(tmp_path / "new" / "topics.html")
