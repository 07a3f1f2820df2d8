"""Models in files of skops, which list their types before loading them, and in pickles."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import InconsistentVersionWarning

from skcooc.datasets import make_cooccurrences
from tests.cases import CLASSES, META

io = pytest.importorskip("skops.io", reason="needs skops")
Untrusted = pytest.importorskip("skops.io.exceptions").UntrustedTypesFoundException

X = make_cooccurrences(40, 30, 3, random_state=0).X.astype(float)
OTHERS = {"scipy.sparse._csr.csr_array", "sklearn.utils._bunch.Bunch"}
pytestmark = pytest.mark.usefixtures("few_starts")


@pytest.mark.parametrize("estimator", [*CLASSES, *META], ids=lambda estimator: repr(estimator)[:60])
def test_a_file_of_skops_holds_types_of_this_package(estimator, monkeypatch):
    model = clone(estimator).fit(X)
    data = io.dumps(model)
    types = io.get_untrusted_types(data=data)
    assert types
    assert {name for name in types if not name.startswith("skcooc.")} <= OTHERS
    read = io.loads(data, trusted=types)
    np.testing.assert_array_equal(read.transform(X), model.transform(X))
    np.testing.assert_array_equal(read.embedding_, model.embedding_)
    with pytest.raises(Untrusted):
        io.loads(data)
    with warnings.catch_warnings(action="error"):
        again = pickle.loads(pickle.dumps(model))
    assert vars(again).keys() == vars(model).keys()
    with monkeypatch.context() as older:
        older.setattr("skcooc.base.predictions.__version__", "0.0.1")
        data, pickled = io.dumps(model), pickle.dumps(model)
    with pytest.warns(InconsistentVersionWarning, match=r"was written by skcooc 0\.0\.1, and this"):
        io.loads(data, trusted=types)
    with pytest.warns(InconsistentVersionWarning, match=r"skcooc 0\.0\.1, and this is") as caught:
        pickle.loads(pickled)
    assert caught[0].message.original_sklearn_version == "0.0.1"
