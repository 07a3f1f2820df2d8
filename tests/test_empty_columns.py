"""Columns without tokens: fits are those of the other columns, which they do not slow."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from skcooc import (
    AspectModel,
    AsymmetricClustering,
    AveragedModels,
    ClusterAbstraction,
    ClusteringProjection,
    Dyads,
    GuidedAspectModel,
    InterpolatedModels,
    ProductSpaceMixture,
    RowBlocks,
    RowMemory,
    SymmetricClustering,
)
from skcooc.callbacks import Checkpoint, read_checkpoint
from skcooc.counts import CSRCounts
from skcooc.heldout.validation import hold_out, new_share
from skcooc.model_selection import ComponentSearchCV
from tests.contract import assert_same_fit as assert_same
from tests.data import requires_callbacks
from tests.tables import occupied, planted, refused
from tests.test_warm_starts import MODELS as WARM
from tests.watching import Stop

pytestmark = pytest.mark.usefixtures("short_starts")

X = occupied(planted(n_rows=120, n_tokens=4000).X.astype(float))
M = X.shape[1]
N_ALL = 4 * M
PLACES = np.sort(np.random.default_rng(0).choice(N_ALL - 1, M, replace=False))  # the last is empty
EMPTY = np.setdiff1d(np.arange(N_ALL), PLACES)
OPTIONS = {"random_state": 0, "max_iter": 20}


def among_empty(X):
    """The same counts in more columns."""
    shape = X.shape[0], N_ALL
    return sp.csr_array((X.data, PLACES[X.indices], X.indptr), shape=shape)


WIDE = among_empty(X)
MODELS = [
    AspectModel(3),
    AspectModel(3, beta=0.9, component_prior=0.2),
    AspectModel(3, beta=0.9, leave_one_out=True),
    AspectModel(3, beta=0.9, annealing=1.1),
    AspectModel(3, early_stopping=True, component_prior=0.1, beta=0.9),
    ProductSpaceMixture(3, 2),
    ProductSpaceMixture(3, 3, beta=0.9, leave_one_out=True),
    AsymmetricClustering(3),
    AsymmetricClustering(3, axis="columns"),
    AsymmetricClustering(3, beta=0.3, leave_one_out=True),
    AsymmetricClustering(3, hard=True),
    SymmetricClustering(3, 2),
    SymmetricClustering(3, 2, hard=True),
    ClusteringProjection(3, 4),
    ClusterAbstraction(3),
    ClusterAbstraction(3, tree="annealed"),
    AveragedModels(AspectModel(3), n_estimators=3, max_iter=5),
    AveragedModels(AspectModel(3, beta=0.9, component_prior=0.2), n_estimators=2, max_iter=5),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=repr)
EQUAL = ("beta_", "component_prior_", "smoothing_", "n_iter_", "objective_", "n_parameters_")
EXACT = ("embedding_", "weights_", "labels_", "row_labels_", "association_")


def fitted(model, table, **options):
    return (
        clone(model)
        .set_params(**{**OPTIONS, "max_iter": model.max_iter and 20} | options)
        .fit(table)
    )


@every_model
def test_a_fit_is_that_of_the_occupied_columns(model):
    narrow, wide = (fitted(model, table) for table in (X, WIDE))
    for name in EQUAL:
        assert getattr(narrow, name, None) == getattr(wide, name, None), name
    for name in EXACT:
        if getattr(model, "axis", "") == "columns" and name == "labels_":
            continue  # of columns
        np.testing.assert_array_equal(getattr(narrow, name, 0), getattr(wide, name, 0), name)
    B = wide.components_
    np.testing.assert_allclose(B.sum(axis=1), 1, rtol=1e-6)
    share = B[:, EMPTY].sum(axis=1)
    np.testing.assert_allclose(share, share[0], rtol=1e-6)  # new words tell nothing about topics
    np.testing.assert_allclose(B[:, PLACES], (1 - share[0]) * narrow.components_, rtol=1e-6)
    prior = getattr(wide, "component_prior_", None) or getattr(wide, "component_prior", 0.0)
    assert share[0] < 0.05
    if prior and prior != "auto":
        assert B[:, EMPTY].min() > 0
    folded = [one.transform(table[:20]) for one, table in ((narrow, X), (wide, WIDE))]
    np.testing.assert_allclose(*folded, atol=1e-5)


@every_model
def test_the_perplexity_differs_by_smoothing_and_the_share_of_a_prior_alone(model):
    narrow, wide = (fitted(model, table, **smooth(model)) for table in (X, WIDE))
    half = sp.csr_array(np.ceil(X.toarray() / 2))
    found, expected = (
        one.perplexity(Dyads(table)) for one, table in ((wide, among_empty(half)), (narrow, half))
    )
    share = wide.components_[:, EMPTY].sum(axis=1)[0]
    assert found == pytest.approx(expected / (1 - share), rel=1e-5)


def smooth(model):
    """Parameters of a model without smoothing."""
    if isinstance(model, AveragedModels):
        return {"estimator__smoothing": 0.0}
    return {"smoothing": 0.0}


def test_clusters_of_empty_columns_are_those_of_the_prior():
    for model in (SymmetricClustering(3, 2), AsymmetricClustering(3, axis="columns")):
        narrow, wide = (fitted(model, table, beta=0.5) for table in (X, WIDE))
        name = "column_labels_" if hasattr(model, "n_row_clusters") else "labels_"
        labels = getattr(wide, name)
        assert labels.shape == (N_ALL,)
        np.testing.assert_array_equal(labels[PLACES], getattr(narrow, name))
        assert len(set(labels[EMPTY])) == 1


def test_tied_clusters_and_known_topics_keep_their_columns():
    square = sp.csr_array((X.T @ X).toarray()[:, :20][:20])
    square = sp.block_diag([square, np.zeros((5, 5))], format="csr")
    tied = SymmetricClustering(3, 3, hard=True, tied=True, **OPTIONS).fit(square)
    assert tied.row_labels_.shape == tied.column_labels_.shape == (25,)
    silent = int(EMPTY[3])
    model = GuidedAspectModel(3, seed_features={"a": [silent]}, beta=0.9, **OPTIONS).fit(WIDE)
    assert model.components_[0, silent] > 0.02
    expected = np.zeros((3, N_ALL))
    expected[1, silent] = 50
    model = AspectModel(3, component_prior=expected, beta=0.9, **OPTIONS).fit(WIDE)
    assert model.components_[1, silent] > 10 / X.sum()


def test_a_prior_counts_for_as_many_new_columns_as_were_seen_once():
    sums = np.array([9.0, 1, 1, 5, 2])
    for n_empty, n_new in ((1, 1), (2, 2), (3, 3), (4, 3), (1000, 3)):
        table = np.append(sums, np.zeros(n_empty))
        expected = 0.5 * n_new / (18 + 0.5 * (5 + n_new))
        assert new_share(0.5, table, 1.0) == pytest.approx(expected)
    assert new_share(0.5, sums, 1.0) == new_share(0.0, table, 1.0) == 0


def test_the_tokens_that_are_held_out_do_not_depend_on_empty_columns():
    """Else a cache would be estimated on tokens that its model has seen."""
    (rest, held), (wide_rest, wide_held) = (
        hold_out(CSRCounts(table), 0.1, 7, "auto") for table in (X, WIDE)
    )
    for one, two in ((rest, wide_rest), (held.X, wide_held.X)):
        np.testing.assert_array_equal(one.table.toarray(), two.table.toarray()[:, PLACES])


@pytest.mark.parametrize(
    "model",
    [
        RowMemory(AspectModel(3, **OPTIONS), random_state=0),
        RowMemory(AspectModel(3, beta=0.9, **OPTIONS), random_state=0),
        InterpolatedModels(
            [("a", AspectModel(3, **OPTIONS)), ("c", AsymmetricClustering(3, **OPTIONS))],
            random_state=0,
        ),
    ],
    ids=repr,
)
def test_models_around_others_are_those_of_the_occupied_columns(model):
    narrow, wide = (clone(model).fit(table) for table in (X, WIDE))
    np.testing.assert_allclose(wide.embedding_, narrow.embedding_, atol=0.02)
    share = wide.components_[:, EMPTY].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        wide.components_[:, PLACES], (1 - share) * narrow.components_, rtol=1e-6, atol=1e-12
    )


def test_the_number_of_components_does_not_depend_on_empty_columns():
    narrow, wide = (AspectModel("auto", **OPTIONS).fit(table) for table in (X, WIDE))
    assert narrow.component_search_.best_params_ == wide.component_search_.best_params_
    assert narrow.component_search_.best_score_ == wide.component_search_.best_score_
    narrow, wide = (AsymmetricClustering("auto", **OPTIONS).fit(table) for table in (X, WIDE))
    assert narrow.n_clusters_ == wide.n_clusters_
    search = ComponentSearchCV(AspectModel(2, **OPTIONS), [2, 3], cv=2, random_state=0).fit(WIDE)
    assert search.best_estimator_.components_.shape == (search.best_n_components_, N_ALL)


@pytest.mark.parametrize("model", [*WARM, AspectModel(3, beta=0.9, component_prior=0.2)], ids=repr)
def test_a_warm_start_continues_exactly(model):
    options = {"warm_start": True, "tol": 0.0}
    half, whole = (fitted(model, WIDE, max_iter=n, **options) for n in (10, 20))
    half = pickle.loads(pickle.dumps(half)).set_params(max_iter=10)
    assert_same(half.fit(WIDE), whole)


def test_a_warm_start_with_other_columns():
    model = AspectModel(3, beta=0.9, component_prior=0.2, warm_start=True, **OPTIONS).fit(WIDE)
    other = WIDE.tolil()
    other[:, PLACES[0]] = 0
    other[:5, EMPTY[0]] = 9
    model.fit(other.tocsr())
    assert model.components_[:, EMPTY[0]].max() > 10 * model.components_[:, EMPTY[1]].max()
    assert model.components_[:, PLACES[0]].max() < 1e-3
    plain = AspectModel(3, beta=0.9, warm_start=True, **OPTIONS).fit(WIDE)
    message = f"1 of its columns, such as {EMPTY[0]}, have probability zero"
    refused(message, plain.fit, other.tocsr())


@requires_callbacks
def test_a_checkpoint_goes_on_and_predicts(tmp_path):
    path = tmp_path / "fit"
    for model in (AspectModel(3, beta=0.9, component_prior=0.2), AsymmetricClustering(3, beta=0.3)):
        whole = fitted(model, WIDE)
        part = clone(model).set_params(**OPTIONS, warm_start=True)
        part.set_callbacks(Checkpoint(path, every=1), Stop(14)).fit(WIDE)
        saved = read_checkpoint(path)
        assert saved.components_.shape[1] == N_ALL
        assert np.isfinite(saved.perplexity(WIDE[:9]))
        np.testing.assert_array_equal(saved.fit(WIDE).components_, whole.components_)


STREAMERS = [
    AspectModel(3, beta=0.9, component_prior=0.2),
    AspectModel(3, beta=0.9, leave_one_out=True),
    ProductSpaceMixture(3, 3, beta=0.9),
    AsymmetricClustering(3, beta=0.3),
    ClusteringProjection(3, 4, beta=0.3),
    ClusterAbstraction(3, beta=0.3),
]


@pytest.mark.parametrize("model", STREAMERS, ids=repr)
def test_a_stream_learns_columns_once_they_have_tokens(model):
    silent = X.copy()
    silent.data = np.where(silent.indices < 10, 0, silent.data)
    silent.eliminate_zeros()
    narrow, wide = clone(model).set_params(**OPTIONS), clone(model).set_params(**OPTIONS)
    for one, place in ((narrow, lambda table: table), (wide, among_empty)):
        one.partial_fit(place(silent[:60])).partial_fit(place(silent[60:]))
        before = one.components_.sum(axis=1)
        one.partial_fit(place(X[:60])).partial_fit(place(X[60:]))
        np.testing.assert_allclose(one.components_.sum(axis=1), before, rtol=1e-6)
    share = wide.components_[:, EMPTY].sum(axis=1, keepdims=True)
    assert share.max() < 0.05
    learnt = wide.components_[:, PLACES[:10]]
    assert wide.weights_.shape != (len(learnt),) or learnt.sum() > 0.02
    np.testing.assert_allclose(
        wide.components_[:, PLACES], (1 - share) * narrow.components_, rtol=0.05, atol=1e-4
    )


def test_blocks_fill_columns_that_the_sample_lacks():
    blocks = RowBlocks([WIDE[first : first + 30] for first in range(0, 120, 30)], max_passes=3)
    model = AspectModel(3, beta=0.9, component_prior=0.2, **OPTIONS).fit(blocks)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1, rtol=1e-6)
    assert model.components_[:, PLACES].sum(axis=1).min() > 0.95


SIZES = {
    "N = M = K": (3, 3),
    "one column": (5, 1),
    "N = M": (8, 8),
    "M = K": (9, 3),
    "M = C": (9, 2),
}


SINGLE = [*(m for m in MODELS if not isinstance(m, AveragedModels)), GuidedAspectModel(3)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("model", SINGLE, ids=repr)
def test_parameters_of_columns_are_told_from_others_whatever_the_sizes(model, size):
    n_columns = SIZES[size][1]
    table = np.random.default_rng(0).poisson(4.0, SIZES[size]) + 1.0
    one = fitted(model, table, max_iter=2)
    equations = one._fitted_model
    places = np.arange(n_columns) + 1
    params = equations.among(one._state.params, places, n_columns + 2)
    for narrow, again in zip(one._state.params, equations.restrict(params, places), strict=True):
        np.testing.assert_array_equal(narrow, again)
    same = equations.among(one._state.params, np.arange(n_columns), n_columns)
    for narrow, again in zip(one._state.params, same, strict=True):
        np.testing.assert_array_equal(narrow, again)
    rows, columns = equations.factors(params, one._state.rows)
    np.testing.assert_allclose(columns[places], one.components_.T, rtol=1e-6)
    np.testing.assert_array_equal(columns[[0, -1]], 0)
    np.testing.assert_array_equal(rows, one.embedding_)
