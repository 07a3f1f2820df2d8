"""What works on every Python and with every version of a library: quick, for `.ci/versions`."""

import inspect
import pickle
import re

import joblib
import numpy as np
import pytest
import scipy.io
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import skcooc
from skcooc import AspectClassifier, AspectModel, Dyads
from skcooc.callbacks import Checkpoint, read_checkpoint
from skcooc.cli import main
from skcooc.datasets import make_cooccurrences
from skcooc.protocol.scikit_learn import HAS_CALLBACKS, WithoutCallbacks
from skcooc.tables import same_names
from tests.cases import CLASSES, META

X = make_cooccurrences(40, 30, 3, random_state=0).X
MODELS = [clone(model).set_params(random_state=0) for model in [*CLASSES, *META]]
pytestmark = pytest.mark.usefixtures("short_starts")


def undocumented(kind, names):
    """Parameters or attributes that have no paragraph in a docstring."""
    text = inspect.getdoc(kind) or ""
    return [n for n in names if not re.search(rf"^(\w+, )*{n}(, \w+)* : ", text, re.MULTILINE)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_model_is_documented_fits_predicts_and_is_saved(model, tmp_path):
    short = {"max_iter": 3} if "max_iter" in model.get_params() else {}
    fitted = clone(model).set_params(**short).fit(X)
    attributes = ["components_", "embedding_", "unigram_", "n_features_in_"]
    assert undocumented(type(model), [*model.get_params(deep=False), *attributes]) == []
    assert undocumented(type(model), ["nowhere_"]) == ["nowhere_"]
    mixtures = fitted.transform(X)
    assert np.isfinite(mixtures).all()
    assert len(mixtures) == X.shape[0]
    assert np.isfinite([fitted.score(Dyads(X)), fitted.perplexity(X)]).all()
    joblib.dump(fitted, tmp_path / "model")
    for again in (joblib.load(tmp_path / "model"), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(again.transform(X), mixtures)


def test_a_classifier_passes_the_checks_of_a_classifier_and_a_model_those_of_any():
    y = np.arange(X.shape[0]) % 2
    classifier = AspectClassifier(random_state=0, max_iter=3).fit(X, y)
    assert set(classifier.predict(X)) <= {0, 1}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *args, **options: None)
        checked = check_estimator(AspectModel(3, beta=0.9, max_iter=3), on_skip=None, on_fail=None)
    assert len(checked) > 40
    failed = [(one["check_name"], one["exception"]) for one in checked if one["status"] == "failed"]
    assert failed == []


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_are_read_and_made(library):
    module = pytest.importorskip(library)
    make = module.table if library == "pyarrow" else module.DataFrame
    names = [f"word {j}" for j in range(X.shape[1])]
    frame = make(dict(zip(names, X.toarray().T, strict=True)))
    model = AspectModel(3, beta=0.9, max_iter=3, random_state=0)
    plain = clone(model).fit(X)
    if library != "pyarrow":  # scikit-learn reads no names from its tables
        named = clone(model).fit(frame)
        np.testing.assert_allclose(named.components_, plain.components_, rtol=1e-4)
        if (
            library == "pandas" or HAS_CALLBACKS
        ):  # scikit-learn 1.8 does not read those of new polars
            assert list(named.feature_names_in_) == names
        assert clone(model).set_output(transform=library).fit_transform(X).shape == (40, 3)
    pairs = make({"user": ["a", "a", "b", "c"], "item": ["x", "y", "x", "z"], "n": [2, 1, 1, 3]})
    dyads = Dyads.from_frame(pairs, "user", "item", count="n")
    assert dyads.to_csr().toarray().tolist() == [[2, 1, 0], [1, 0, 0], [0, 0, 3]]
    table = skcooc.inspection.describe(plain, names, backend=library)
    assert type(table).__module__.startswith(library)


def test_names_are_compared_and_missing_ones_are_equal():
    pandas = pytest.importorskip("pandas")
    for names in (["a", None, "b"], [1, 2, 3], ["a", "b", "c"]):
        for kind in (list, np.array, pandas.Index, pandas.Series):
            assert same_names(names, kind(names)), kind
            assert not same_names(names, kind(names[::-1])), kind
    assert same_names(["a", None], np.array(["a", np.nan], dtype=object))
    assert not same_names(["a", None], ["a", "b"])


def test_the_command_line_reads_matrices_and_tables(tmp_path, capsys):
    scipy.io.mmwrite(tmp_path / "counts.mtx", X)
    lines = ["user,film", *(f"u{i},f{j}" for i, j in zip(*X.nonzero(), strict=True))]
    (tmp_path / "pairs.csv").write_text("\n".join(lines))
    for name in ("counts.mtx", "pairs.csv"):
        options = ["-k", "3", "--beta", "0.9", "--max-iter", "3", "--jobs", "1"]
        assert main([str(tmp_path / name), *options]) == 0
        out, err = capsys.readouterr()
        assert "Topics, most frequent first" in out
        assert err == ""


def test_callbacks_follow_fits_or_say_which_version_they_need(tmp_path):
    path = tmp_path / "checkpoint"
    model = AspectModel(3, beta=0.9, max_iter=3, random_state=0)
    with pytest.raises(RuntimeError, match=r"ProgressBar and Checkpoint, need scikit-learn 1\.9"):
        WithoutCallbacks().set_callbacks(Checkpoint(path))
    assert model.set_callbacks() is model
    if HAS_CALLBACKS:
        model.set_callbacks(Checkpoint(path, every=1)).fit(X)
        np.testing.assert_array_equal(read_checkpoint(path).transform(X), model.transform(X))
    else:
        with pytest.raises(RuntimeError, match=r"later; found 1\.[78]"):
            model.set_callbacks(Checkpoint(path))
    search = skcooc.model_selection.ComponentSearchCV(model.set_callbacks(), [2, 3], cv=2)
    assert search.fit(X).best_n_components_ in (2, 3)
