"""What the functions of inspection refuse: names of the wrong number, models of another kind."""

import sys

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
    to_pyldavis,
    top_features,
)
from tests.inspection.planted import hierarchy_model

X = np.random.default_rng(0).poisson(2.0, (20, 7))
MODEL = AspectModel(2, beta=1, random_state=0, tol=1e-2).fit(X)
LDA = LatentDirichletAllocation(2, max_iter=1).fit([[1, 2], [2, 1]])
OF_TREES = node_top_features, export_dict, export_text
OF_COMPONENTS = top_features, characteristic_features, representative_rows, describe
TREE, NEW, FEW = hierarchy_model(), AspectModel(), ["a", "b"]


@pytest.mark.parametrize(
    ("function", "arguments", "error", "message"),
    [
        (top_features, (MODEL, 2, FEW), ValueError, "7 columns"),
        (node_top_features, (TREE, 2, FEW), ValueError, "30 columns"),
        (characteristic_features, (TREE, 2, FEW), ValueError, "30 columns"),
        (export_dict, (TREE, FEW), ValueError, "30 columns"),
        (export_text, (TREE, FEW), ValueError, "30 columns"),
        (to_pyldavis, (MODEL, X, FEW), ValueError, "7 columns"),
        (to_pyldavis, (MODEL, X[:, :5]), ValueError, "features"),
        (representative_rows, (TREE, 2, FEW), ValueError, "40 rows"),
        (describe, (MODEL, list("abcdef")), ValueError, "7 columns"),
        (describe, (MODEL, list("abcdefg"), FEW), ValueError, "20 rows"),
        (nearest_rows, (np.eye(3), [0], 0), ValueError, "n_neighbors"),
        (nearest_rows, (np.eye(3), [0], 3), ValueError, "n_neighbors"),
        *((function, (MODEL,), TypeError, "AspectModel has no tree_") for function in OF_TREES),
        *((function, (NEW,), NotFittedError, None) for function in (*OF_TREES, *OF_COMPONENTS)),
        (representative_rows, (LDA,), TypeError, "LatentDirichletAllocation has no embedding_"),
        (to_pyldavis, (NEW, X), NotFittedError, None),
    ],
)
def test_bad_input(function, arguments, error, message):
    with pytest.raises(error, match=message):
        function(*arguments)


def test_unknown_and_missing_libraries(monkeypatch):
    with pytest.raises(ValueError, match="nonsense"):
        describe(MODEL, backend="nonsense")
    monkeypatch.setitem(sys.modules, "modin", None)
    with pytest.raises(ImportError, match=r"needs modin .*pip install modin"):
        describe(MODEL, backend="modin")
