"""Models in files of skops, which list their types before loading them; every object in pickles."""

import copy
import importlib
import pickle
import warnings
from types import FunctionType, ModuleType

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.feature_extraction.text import CountVectorizer

import skcooc
from skcooc import heldout, image, inspection
from skcooc.callbacks import Checkpoint
from skcooc.counts import CSRCounts, DiskCounts
from skcooc.datasets import make_cooccurrences
from skcooc.model_selection import ComponentSearchCV, CountSplit
from tests.cases import CLASSES, META
from tests.cli.odd import DOCUMENTS

X = make_cooccurrences(40, 30, 3, random_state=0).X.astype(float)
OTHERS = {"scipy.sparse._csr.csr_array", "sklearn.utils._bunch.Bunch"}
pytestmark = pytest.mark.usefixtures("short_starts")


@pytest.mark.parametrize("estimator", [*CLASSES, *META], ids=lambda estimator: repr(estimator)[:60])
def test_a_file_of_skops_holds_types_of_this_package(estimator, monkeypatch):
    skops = pytest.importorskip("skops.io", reason="needs skops")
    untrusted = pytest.importorskip("skops.io.exceptions").UntrustedTypesFoundException
    model = clone(estimator).fit(X)
    data = skops.dumps(model)
    types = skops.get_untrusted_types(data=data)
    assert types
    assert {name for name in types if not name.startswith("skcooc.")} <= OTHERS
    read = skops.loads(data, trusted=types)
    np.testing.assert_array_equal(read.transform(X), model.transform(X))
    np.testing.assert_array_equal(read.embedding_, model.embedding_)
    with pytest.raises(untrusted):
        skops.loads(data)
    with monkeypatch.context() as older:
        older.setattr("skcooc.base.predictions.__version__", "0.0.1")
        data, pickled = skops.dumps(model), pickle.dumps(model)
    with pytest.warns(InconsistentVersionWarning, match=r"was written by skcooc 0\.0\.1, and this"):
        skops.loads(data, trusted=types)
    with pytest.warns(InconsistentVersionWarning, match=r"skcooc 0\.0\.1, and this is") as caught:
        pickle.loads(pickled)
    assert caught[0].message.original_sklearn_version == "0.0.1"


MODULES = [
    value for name in skcooc.__all__ if isinstance(value := getattr(skcooc, name), ModuleType)
]
PUBLIC = {name: getattr(module, name) for module in (skcooc, *MODULES) for name in module.__all__}
TYPES = {name: value for name, value in PUBLIC.items() if isinstance(value, type)}
ESTIMATORS = {type(estimator).__name__: estimator for estimator in (*CLASSES, *META)}
ASPECTS = ESTIMATORS["AspectModel"]
FAST = {"max_iter": 5, "random_state": 0}
PAIRS = skcooc.Dyads(X).positions
TRIADS = skcooc.Triads(*PAIRS, PAIRS[0] % 4)
LABELS = np.arange(40) % 2
IMAGE = np.random.default_rng(0).random((48, 48))


def fitted():
    return clone(ASPECTS).set_params(**FAST).fit(X)


def on_disk(folder):
    skcooc.save_table(folder / "table", [X])
    return skcooc.open_table(folder / "table")


def factors():
    rng = np.random.default_rng(0)
    return heldout.Factors(rng.dirichlet(np.ones(3), 40), rng.dirichlet(np.ones(30), 3).T)


UNIGRAM = heldout.Unigram(np.full(30, 1 / 30))
# An object of each public class that needs more than its default arguments.
HELD = {
    "AspectClassifier": lambda _: skcooc.AspectClassifier(**FAST).fit(X, LABELS),
    "AspectRetriever": lambda _: skcooc.AspectRetriever(
        2, estimator=clone(ASPECTS).set_params(**FAST)
    ).fit(X),
    "NamedCounts": lambda _: skcooc.NamedCounts(CountVectorizer()).fit(["tea and jam", "ale"]),
    "TopicalColumns": lambda _: skcooc.TopicalColumns(n_components=2, random_state=0).fit(X),
    "MixtureFeatures": lambda _: skcooc.MixtureFeatures(fitted()).fit(X),
    "TriadicAspectModel": lambda _: skcooc.TriadicAspectModel(2, **FAST).fit(TRIADS),
    "GaborHistograms": lambda _: image.GaborHistograms().fit(IMAGE),
    "TextureSegmenter": lambda _: image.TextureSegmenter(2, random_state=0).fit(IMAGE),
    "ComponentSearchCV": lambda _: ComponentSearchCV(fitted(), [2, 3], cv=2, random_state=0).fit(X),
    "CountSplit": lambda _: CountSplit(3, random_state=0),
    "Checkpoint": lambda folder: Checkpoint(folder / "model", every=3),
    "TableWarning": lambda _: skcooc.TableWarning("2 rows are empty."),
    "DiskTable": on_disk,
    "counts of a DiskTable": lambda folder: on_disk(folder).counts,
    "Dyads": lambda _: skcooc.Dyads.from_pairs(*PAIRS),
    "Triads": lambda _: TRIADS,
    "RowBlocks": lambda folder: skcooc.RowBlocks(on_disk(folder)),
    "Discounted": lambda _: heldout.Discounted(X, 0.5, UNIGRAM),
    "Factors": lambda _: factors(),
    "Unigram": lambda _: UNIGRAM,
    "Interpolated": lambda _: heldout.Interpolated((factors(), UNIGRAM), (0.5, 0.5)),
    "NearestRows": lambda _: heldout.NearestRows(X),
    "Unseen": lambda _: heldout.Unseen(CSRCounts(X), factors()),
    "HeldOut": lambda _: heldout.HeldOut(CSRCounts(X), UNIGRAM.distribution),
    "Parts": lambda _: skcooc.metrics.score_parts(X, factors(), X),
    "Validation": lambda _: heldout.Validation(2.0, 0.1),
    "Explorer": lambda _: inspection.explore(fitted(), X),
    "MixtureIntervals": lambda _: inspection.mixture_intervals(fitted(), X),
    "Mixtures": lambda _: inspection.Mixtures(fitted().embedding_, names=["a", "b", "c"]),
    "TopicReport": lambda _: skcooc.fit_texts(DOCUMENTS, n_components=3, beta=0.9, random_state=0),
    "TopicStability": lambda _: inspection.topic_stability(fitted(), X, n_runs=2, random_state=0),
}


def held(name, folder):
    """An object of a public class: fitted, or drawn."""
    if name in HELD:
        return HELD[name](folder)
    if name.endswith("Display"):
        pytest.importorskip("matplotlib", reason="needs matplotlib").use("Agg")
        make = importlib.import_module("tests.plotting.test_all_displays").make
        display = make(name, "word", n_topics=2)
        return display if hasattr(display, "ax_") else display.plot()
    model = clone(ESTIMATORS[name])
    return model.set_params(**{k: FAST[k] for k in FAST if k in model.get_params()}).fit(X)


def outcome(held):
    """What an object is used for, in arrays, numbers and texts."""
    match held:
        case skcooc.AspectRetriever():
            return held.similarity(X)
        case image.TextureSegmenter():
            return held.predict(IMAGE)
        case image.GaborHistograms():
            return held.transform(IMAGE).toarray()
        case skcooc.TriadicAspectModel():
            return held.transform(TRIADS), held.score(TRIADS)
        case skcooc.TopicalColumns():
            return held.transform(X).toarray(), held.information_
        case skcooc.NamedCounts():
            return held.transform(["jam"]).toarray(), held.get_feature_names_out()
        case CountSplit():
            return list(held.split(TRIADS))
        case BaseEstimator():
            return held.transform(X), sorted(vars(held))
        case Warning():
            return held.args
        case skcooc.DiskTable() | skcooc.RowBlocks():
            return [block.toarray() for block in held]
        case skcooc.Dyads() | skcooc.Triads():
            return held.positions, held.schema.names, held.table_shape
        case DiskCounts():
            return held.tdot(np.ones((40, 2))), held.sample(3, np.random.default_rng(0)).toarray()
        case heldout.HeldOut():
            return held.score(UNIGRAM)
        case inspection.Explorer():
            return held.html
        case skcooc.TopicReport():
            return held.names, held.shares, held.pipeline.transform(DOCUMENTS[:2])
        case inspection.TopicStability():
            return held.affinities, outcome(held.model)
    if hasattr(held, "cells"):
        return held.cells(CSRCounts(X))
    if hasattr(held, "figure_"):
        held.figure_.set_layout_engine("none")  # to arrange is most of the time
        held.figure_.draw_without_rendering()
        return [text.get_text() for text in held.figure_.findobj(lambda a: hasattr(a, "get_text"))]
    return tuple(held) if isinstance(held, tuple) else vars(held)


def copies(value, folder):
    if hasattr(value, "figure_"):  # drawing is slow
        return [pickle.loads(pickle.dumps(value))]
    joblib.dump(value, folder / "dumped")
    return pickle.loads(pickle.dumps(value)), copy.deepcopy(value), joblib.load(folder / "dumped")


@pytest.mark.parametrize("name", [*TYPES, "counts of a DiskTable"])
def test_an_object_of_every_public_class_is_the_same_once_pickled_or_copied(name, tmp_path):
    """A new class is found: it fails here until ``held`` makes one of it."""
    value = held(name, tmp_path)
    assert name not in TYPES or type(value) is TYPES[name]
    expected = outcome(value)
    with warnings.catch_warnings(action="error"):
        for again in copies(value, tmp_path):
            assert type(again) is type(value)
            np.testing.assert_equal(outcome(again), expected)


def test_functions_are_pickled_by_their_names(tmp_path):
    for name, value in PUBLIC.items():
        if isinstance(value, FunctionType):
            assert [*copies(value, tmp_path)] == [value] * 3, name


def test_a_model_with_seeds_is_not_much_larger_than_one_without():
    X = make_cooccurrences(200, 3000, 8, n_tokens=60_000, random_state=0).X
    model = skcooc.GuidedAspectModel(8, seed_features={"a": [0, 1]}, random_state=0).fit(X)
    pickled = pickle.dumps(model)
    plain = skcooc.AspectModel(8, random_state=0).fit(X)
    assert len(pickled) < 1.2 * len(pickle.dumps(plain))
    again = pickle.loads(pickled)
    guides = (fitted._fitted_model.guide for fitted in (model, again))
    for first, second in zip(*(vars(guide).items() for guide in guides), strict=True):
        np.testing.assert_equal(first, second)
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


def test_pickles_hold_the_components_once_and_those_that_were_changed():
    X = make_cooccurrences(60, 40, n_components=3, random_state=0).X
    model = skcooc.AspectModel(3, beta=0.9, random_state=0).fit(X)
    assert "components_" not in model.__getstate__()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.components_, model.components_)
    again.components_ = again.components_[::-1]
    changed = pickle.loads(pickle.dumps(again))
    np.testing.assert_array_equal(changed.components_, model.components_[::-1])
