"""Models in files of skops, which say what they hold before anything of it is made."""

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
pytestmark = [
    pytest.mark.filterwarnings("ignore:EM did not converge", "ignore:All .* components"),
    pytest.mark.usefixtures("few_starts"),
]


@pytest.mark.parametrize("estimator", [*CLASSES, *META], ids=lambda estimator: repr(estimator)[:60])
def test_a_file_of_skops_holds_types_of_ours_alone(estimator):
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


def test_a_file_of_another_version_warns(monkeypatch):
    model = clone(CLASSES[0]).fit(X)
    monkeypatch.setattr("skcooc.base.predictions.__version__", "0.0.1")
    data = io.dumps(model)
    monkeypatch.undo()
    with pytest.warns(InconsistentVersionWarning, match=r"was written by skcooc 0\.0\.1"):
        io.loads(data, trusted=io.get_untrusted_types(data=data))


@pytest.mark.parametrize("estimator", [*CLASSES, *META], ids=lambda estimator: repr(estimator)[:60])
def test_a_pickle_of_another_version_warns_as_scikit_learns_do(estimator, monkeypatch):
    monkeypatch.setattr("skcooc.base.predictions.__version__", "0.0.1")
    data = pickle.dumps(clone(estimator))
    monkeypatch.undo()
    with pytest.warns(InconsistentVersionWarning, match=r"skcooc 0\.0\.1, and this is") as caught:
        pickle.loads(data)
    assert caught[0].message.original_sklearn_version == "0.0.1"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pickle.loads(pickle.dumps(clone(estimator)))
