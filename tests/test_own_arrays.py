"""A fitted model is its own: what the user writes to arrays that were given changes nothing."""

import contextlib
import re

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from skcooc import (
    AspectClassifier,
    AspectModel,
    AspectRetriever,
    AsymmetricClustering,
    ClusterAbstraction,
    Dyads,
    GuidedAspectModel,
    MixtureFeatures,
    RowBlocks,
    RowMemory,
    TriadicAspectModel,
    Triads,
)
from skcooc.inspection import Mixtures
from skcooc.model_selection import ComponentSearchCV
from tests.cases import CLASSES, META

pytestmark = [pytest.mark.usefixtures("short_starts"), pytest.mark.filterwarnings("ignore")]

N, M = 24, 15
COUNTS = np.random.default_rng(0).poisson(1.5, (N, M)) + 1.0
OTHERS = np.random.default_rng(1).poisson(1.5, (6, M)) + 1.0
PRIOR = np.random.default_rng(2).random((3, M))
SHORT = {"max_iter": 3, "random_state": 0}


def row_names():
    return np.array([f"row {i}" for i in range(N)], dtype=object)


def column_names():
    return np.array([f"word {j}" for j in range(M)], dtype=object)


def named_dyads(table):
    return Dyads(table, row_names=row_names(), column_names=column_names())


TABLES = {
    "array": COUNTS.copy,
    "array of float32": lambda: COUNTS.astype(np.float32),
    "CSR": lambda: sp.csr_array(COUNTS),
    "CSR of float32": lambda: sp.csr_matrix(COUNTS.astype(np.float32)),
    "CSC": lambda: sp.csc_array(COUNTS),
    "frame": lambda: pd.DataFrame(COUNTS.copy(), row_names(), column_names()),
    "frame with numbers": lambda: pd.DataFrame(COUNTS.copy(), columns=np.arange(5, 5 + M)),
    "Dyads": lambda: named_dyads(COUNTS),
    "weighted Dyads": lambda: named_dyads(COUNTS / 2),
    "blocks": lambda: RowBlocks([sp.csr_array(COUNTS[:9]), sp.csr_array(COUNTS[9:])]),
}
ASPECTS = AspectModel(3, beta=0.9, **SHORT)
GROUPS = {"groups": lambda: np.array([f"group {i % 3}" for i in range(N)], dtype=object)}
LABELS = {"y": lambda: np.array([f"class {i % 2}" for i in range(N)], dtype=object)}
SEEDS = {"a": ["word 1"], "b": np.array(["word 2"])}
# Models with parameters that can be written to, and what their fit is given besides the table.
MODELS = [
    *((clone(model).set_params(**SHORT), {}) for model in CLASSES),
    *((clone(model), {}) for model in META),
    (AspectModel(3, beta=0.9, component_prior=PRIOR, **SHORT), {}),
    (
        GuidedAspectModel(
            3, beta=0.9, seed_features=SEEDS, feature_names=column_names(), group_effects="both",
            **SHORT,
        ),
        GROUPS,
    ),
    (GuidedAspectModel(3, beta=0.9, fixed_components={"given": PRIOR[0]}, **SHORT), {}),
    (GuidedAspectModel(3, beta=0.9, fixed_components=PRIOR[:2], **SHORT), {}),
    (ClusterAbstraction(3, tree=np.array([-1, 0, 0, 1, 1]), beta=0.4, **SHORT), {}),
    (AsymmetricClustering(3, beta=0.3, coarsening=[np.arange(N) // 2], **SHORT), {}),
    (RowMemory(None, neighbors=3, random_state=0), {}),
    (
        AspectClassifier(
            seed_features={"class 0": ["word 1"]}, feature_names=column_names(), **SHORT
        ),
        LABELS,
    ),
    (ComponentSearchCV(ASPECTS, np.array([2, 3]), cv=2), {}),
    (AspectRetriever(np.array([2, 3])), {}),
    (MixtureFeatures(ASPECTS), {}),
]  # fmt: skip


def results(model):
    """Digest of everything that a fitted model shows and predicts."""
    names = [name for name in [*dir(type(model)), *vars(model)] if re.search("[^_]_$", name)]
    shown = {}
    for name in sorted({*names} - {"scorer_", "model_", "estimator_", "best_estimator_"}):
        with contextlib.suppress(AttributeError):
            shown[name] = getattr(model, name)
    for method, *given in (
        ("transform", OTHERS.copy()),
        ("predict", OTHERS.copy()),
        ("predict_proba", OTHERS.copy()),
        ("kneighbors", OTHERS.copy()),
        ("recommend", [1, 2], 4),
        ("recommend", ["row 1"], 4),
        ("recommend", OTHERS.copy(), 4),
        ("sample", 9, 0),
        ("get_feature_names_out",),
        ("score", Dyads(COUNTS, row_names=row_names(), column_names=column_names())),
        ("score", OTHERS.copy()),
        ("bic", Dyads(COUNTS)),
    ):
        try:
            shown[f"{method} {given}"] = getattr(model, method)(*given)
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            shown[f"{method} {given}"] = str(error)
    for inner in ("model_", "estimator_", "best_estimator_"):
        if getattr(model, inner, None) is not None:
            shown[inner] = results(getattr(model, inner))
    return joblib.hash({name: _plain(value) for name, value in shown.items()})


def _plain(value):
    """Values that have an own digest each: objects would be compared by their arrays alone."""
    if isinstance(value, Dyads):
        value = [*value.positions, value.weights, value.row_names, value.column_names]
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items() if "time" not in str(name)}
    if isinstance(value, list | tuple | np.ma.MaskedArray):
        return [_plain(part) for part in list(value)]
    if isinstance(value, np.ndarray) and value.dtype == object:
        return [_plain(part) for part in value.tolist()]
    if hasattr(value, "get_params"):
        return results(value)
    return None if callable(value) else value


def overwrite(value):
    """Write to all arrays, lists and dicts that were given, at any depth."""
    if isinstance(value, np.ndarray):
        if value.flags.writeable:
            value[...] = "other" if value.dtype.kind in "OU" else 1
    elif isinstance(value, list | tuple):
        for part in value:
            overwrite(part)
        if isinstance(value, list):
            value.clear()
    elif isinstance(value, dict):
        overwrite([*value.values()])
        value.clear()
    elif isinstance(value, pd.DataFrame):
        value.iloc[:, :] = 1
        overwrite([np.asarray(index) for index in value.axes])
    elif sp.issparse(value):
        overwrite([value.data, value.indices, value.indptr])
    elif isinstance(value, Dyads):
        overwrite([*value.positions, value.weights, value.row_names, value.column_names])
    elif isinstance(value, RowBlocks):
        overwrite(value.blocks)
    elif hasattr(value, "get_params"):
        overwrite([*value.get_params(deep=False).values()])


# All models with the tables whose arrays a fit may keep, and models that keep most with all tables.
KEPT = "array", "CSR of float32", "frame", "Dyads"
KEEPERS = AspectModel, RowMemory, ComponentSearchCV
CASES = [
    pytest.param(name, model, options, id=f"{name}-{str(model)[:60]}")
    for name in TABLES
    for model, options in MODELS
    if name in KEPT or isinstance(model, KEEPERS)
]


@pytest.mark.parametrize(("name", "model", "options"), CASES)
def test_a_fitted_model_does_not_change_with_what_it_was_given(name, model, options):
    X, given = TABLES[name](), {key: make() for key, make in options.items()}
    model = clone(model)  # whose parameters are copied
    if name == "blocks" and not hasattr(model, "partial_fit"):
        return
    if hasattr(X, "positions") and "groups" in given:
        return
    if not isinstance(model, AspectRetriever):
        given["sample_weight"] = np.ones(X.shape[0])
    inputs = [getattr(X, "blocks", X), given]  # RowBlocks note how many rows were read
    before = joblib.hash(inputs)
    model.fit(X, **given)
    expected = results(model)
    assert joblib.hash(inputs) == before
    overwrite([X, given, model.get_params(deep=False)])
    assert results(model) == expected


def test_tokens_do_not_change_with_the_arrays_they_are_made_of():
    arrays = [np.array([0, 1, 1]), np.array([2, 0, 1]), np.array([0.5, 2.0, 1.0])]
    names = [np.array(list("abc"), dtype=object) for _ in range(3)]
    table = sp.csr_array(COUNTS[:3, :3])
    dyads = Dyads(table, row_names=names[0], column_names=names[1])
    triads = Triads(*arrays[:2], arrays[0], arrays[2], shape=(3, 3, 3), names=names)
    tokens = [dyads, dyads.like(*arrays), Dyads.from_pairs(*names[:2], arrays[2]), triads]
    model = TriadicAspectModel(2, **SHORT).fit(triads)
    expected = [joblib.hash(vars(one)) for one in tokens], results(model)
    overwrite([table, arrays, names])
    assert [joblib.hash(vars(one)) for one in tokens] == expected[0]
    overwrite([[*triads.positions], [*triads.names], triads.weights])
    assert results(model) == expected[1]


def test_models_made_of_arrays_and_streams_do_not_change_with_them():
    shares, n = np.random.default_rng(0).dirichlet(np.ones(3), N), np.ones(N)
    names = ["one", "two", "three"]
    mixtures = Mixtures(shares, n, names=names)
    batches = [TABLES["frame"](), TABLES["frame"]()]
    stream = clone(ASPECTS)
    for batch in batches:
        stream.partial_fit(batch)
    expected = results(mixtures), results(stream)
    overwrite([shares, n, names, batches])
    assert (results(mixtures), results(stream)) == expected


def test_changed_parameters_are_told_although_they_were_changed_in_place():
    prior = PRIOR.copy()
    model = AspectModel(3, beta=0.9, component_prior=prior, warm_start=True, **SHORT)
    model.fit(COUNTS).partial_fit(COUNTS)
    model.component_prior[0] = 7
    with pytest.raises(ValueError, match="component_prior"):
        model.partial_fit(COUNTS)
