import sys
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from skcooc import AspectModel, AsymmetricClustering, Dyads, GuidedAspectModel, TopicalColumns
from skcooc.datasets import load_bible
from skcooc.hierarchy import binary_tree
from skcooc.inspection import (
    TopicStability,
    characteristic_features,
    describe,
    export_dict,
    export_text,
    nearest_rows,
    representative_rows,
    to_linkage,
    to_pyldavis,
    top_features,
    topic_stability,
)  # fmt: skip
from skcooc.inspection.explorer.page import Explorer
from skcooc.inspection.similarity import map_positions
from skcooc.simplex import cosines
from tests.inspection.planted import EXPLICIT, hierarchy_model, stand_in
from tests.tables import planted, refused

X = np.random.default_rng(0).poisson(2.0, (20, 7))
aspects = cache(lambda: AspectModel(3, beta=1, random_state=0, tol=1e-3).fit(X))


def test_top_features_are_in_decreasing_order_of_probability():
    model = aspects()
    for q, names in zip(model.components_, top_features(model, n_features=4), strict=True):
        columns = [int(name.removeprefix("x")) for name in names]
        assert len(columns) == 4
        assert (np.diff(q[columns]) <= 0).all()
        assert q[columns].min() >= np.delete(q, columns).max()
    assert {len(set(names)) for names in top_features(model, n_features=99)} == {7}
    lda = LatentDirichletAllocation(2, max_iter=1, random_state=0).fit(X)
    first = top_features(lda, list("abcdefg"), n_features=1)[0]
    assert first == ["abcdefg"[lda.components_[0].argmax()]]
    model = hierarchy_model(5)
    expected = [[f"x{j}" for j in np.argsort(-q)[:3]] for q in model.components_]
    assert top_features(model, n_features=3) == expected


def test_names_seen_in_fit_are_used_and_rare_columns_are_not_characteristic():
    seen, given = list("abcdefg"), list("ABCDEFG")
    rows = [f"row {i}" for i in range(X.shape[0])]
    dyads = Dyads(X, row_names=rows, column_names=seen)
    model = AspectModel(2, beta=1, random_state=0, tol=1e-3).fit(dyads)
    assert set(top_features(model, n_features=7)[0]) == set(seen)
    assert set(top_features(model, given, n_features=7)[0]) == set(given)
    with pytest.raises(ValueError, match="feature_names has the names of the fit in another order"):
        top_features(model, seen[::-1])
    with pytest.raises(ValueError, match="row_names has the names of the fit in another order"):
        representative_rows(model, rows[::-1])
    halves = [f"row {i % 2}" for i in range(len(rows))]  # no names, but groups
    model.fit(Dyads(X, row_names=halves))
    assert representative_rows(model, [*halves[:-1], halves[-2]])
    model = stand_in(n_columns=4)
    assert set(top_features(model, list("abcd"), n_features=1)[0]) <= set("abcd")
    model.feature_names_in_ = np.array(list("ABCD"), dtype=object)
    assert set(characteristic_features(model)[0]) <= set("ABCD")
    q = np.array([[0.6, 0.4, 0.0], [0.5, 0.0, 0.5], [0.6, 0.4, 0.0]])
    model = stand_in(binary_tree(2), n_columns=3, components_=q)
    assert characteristic_features(model)[1:] == [["x2"], []]
    q = np.array([[0.98, 0.02, 0.0], [0.19, 0.8, 0.01], [1.0, 0.0, 0.0]])
    model = stand_in(binary_tree(2), n_columns=3, components_=q)
    assert characteristic_features(model)[1] == ["x1", "x2"]


def test_characteristic_features_and_representative_rows_against_the_definitions():
    """The reference of a node is its parent; that of roots and without a tree, the unigram."""
    hard = AsymmetricClustering(3, hard=True, random_state=0).fit(X)
    trees = hierarchy_model(5), hierarchy_model(5, tree=EXPLICIT)
    for model in (*trees, aspects(), hard):
        unigram = model.row_distribution_ @ (model.embedding_ @ model.components_)
        parents = model.tree_.parents if hasattr(model, "tree_") else [-1] * len(model.components_)
        names = characteristic_features(model, n_features=30)
        rows = representative_rows(model, n_rows=40)
        for node, q in enumerate(model.components_):
            reference = unigram if parents[node] < 0 else model.components_[parents[node]]
            pairs = zip(q, reference, strict=True)
            parts = [a * np.log(a / ((a + b) / 2)) if a > 0 else 0.0 for a, b in pairs]
            order = np.argsort(-np.array(parts), kind="stable")
            assert names[node] == [f"x{j}" for j in order if parts[j] > 0]
            x, share = model.row_distribution_, model.embedding_[:, node]
            some = [i for i in range(len(x)) if share[i] > 0]
            parts = {i: x[i] * share[i] * np.log(share[i] / (x @ share)) for i in some}
            assert rows[node] == sorted(parts, key=lambda i: -parts[i])


def test_representative_rows_of_a_leaf_are_in_its_cluster_and_longer_ones_are_first():
    model = hierarchy_model(5)
    rows = representative_rows(model, n_rows=3)
    for cluster, leaf in enumerate(model.tree_.leaves):
        assert set(model.labels_[rows[leaf]]) == {cluster}
    named = representative_rows(model, [f"title {i}" for i in range(40)], n_rows=3)
    assert named == [[f"title {i}" for i in few] for few in rows]
    embedding = np.array([[0.2, 0.8, 0.0], [0.2, 0.8, 0.0], [0.2, 0.0, 0.8]])
    fitted = {"embedding_": embedding, "row_distribution_": np.array([0.1, 0.3, 0.6])}
    assert representative_rows(stand_in(binary_tree(2), n_rows=3, **fitted))[1] == [1, 0]
    embedding = np.tile([0.5, 0.5, 0.0], (4, 1))
    assert representative_rows(stand_in(binary_tree(2), n_rows=4, embedding_=embedding))[2] == []
    fitted = {"embedding_": embedding[:2], "row_distribution_": np.array([0.0, 1.0])}
    assert representative_rows(stand_in(binary_tree(2), n_rows=2, **fitted)) == [[1], [1], []]


LDA = LatentDirichletAllocation(2, max_iter=1).fit([[1, 2], [2, 1]])
OF_TREES = export_dict, export_text
OF_COMPONENTS = top_features, characteristic_features, representative_rows, describe
NEW, FEW = AspectModel(), ["a", "b"]
fitted = cache(lambda: AspectModel(2, beta=1, random_state=0, tol=1e-2).fit(X))


def test_bad_input_libraries_and_folders(monkeypatch, tmp_path):
    of_trees = (*OF_TREES, to_linkage)
    for function, arguments, error, message in (
        (top_features, (fitted, FEW), ValueError, "7 columns"),
        (characteristic_features, (hierarchy_model, FEW), ValueError, "30 columns"),
        *((function, (hierarchy_model, FEW), ValueError, "30 columns") for function in OF_TREES),
        (to_pyldavis, (fitted, X, FEW), ValueError, "7 columns"),
        (to_pyldavis, (fitted, X[:, :5]), ValueError, "features"),
        (representative_rows, (hierarchy_model, FEW), ValueError, "40 rows"),
        (describe, (fitted, list("abcdef")), ValueError, "7 columns"),
        (describe, (fitted, list("abcdefg"), FEW), ValueError, "20 rows"),
        (nearest_rows, (np.eye(3), [0], 0), ValueError, "n_neighbors"),
        (nearest_rows, (np.eye(3), [0], 3), ValueError, "n_neighbors"),
        (nearest_rows, (np.eye(3), ["tea"], 1), IndexError, "position of a name"),
        (nearest_rows, (pd.DataFrame(np.eye(3), [1, 2, 3]), [1], 1), ValueError, "or a name"),
        *((function, (fitted,), TypeError, "AspectModel has no tree_") for function in of_trees),
        *((function, (NEW,), NotFittedError, None) for function in (*of_trees, *OF_COMPONENTS)),
        (representative_rows, (LDA,), TypeError, r"Allocation has no embedding_.*transform\(X\)\)"),
        (to_pyldavis, (NEW, X), NotFittedError, None),
    ):
        with pytest.raises(error, match=message):
            function(*(given() if callable(given) else given for given in arguments))
    for wrong in (-1, "a", 2.5, None):
        for function in (*OF_COMPONENTS, *OF_TREES):
            name = "n_rows" if function is representative_rows else "n_features"
            model = hierarchy_model() if function in OF_TREES else fitted()
            refused(f"'{name}' parameter of {function.__name__}", function, model, **{name: wrong})
        refused("'n_neighbors' parameter of nearest_rows", nearest_rows, np.eye(3), [0], wrong)
    refused("nonsense", describe, fitted(), backend="nonsense")
    monkeypatch.setitem(sys.modules, "modin", None)
    with pytest.raises(ImportError, match=r"needs modin .*pip install modin"):
        describe(fitted(), backend="modin")
    with pytest.raises(FileNotFoundError, match=r"There is no folder '.*new' to write"):
        Explorer({}, "A page").save(tmp_path / "new" / "topics.html")


COMPONENTS = np.eye(6)[:3] + 0.01


def test_rows_with_exactly_the_mixture_of_others_are_told():
    P = np.random.default_rng(1).dirichlet(np.ones(4), size=30)
    P[[4, 9]] = P.mean(axis=0)  # as of rows without counts
    with pytest.warns(UserWarning, match="1 of the 2 rows, such as row 4, have exactly"):
        nearest_rows(P, [3, 4], 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nearest_rows(P, [3, 5], 2)
        nearest_rows(np.eye(3)[[0, 0, 1, 2]], [0], 2)  # hard clusters


def test_nearest_rows_and_the_map_against_the_definition():
    P = np.random.default_rng(1).dirichlet(np.ones(4), size=30)
    distances, neighbors = nearest_rows(P, [3, 17], 6)
    for row, near, at in zip([3, 17], distances, neighbors, strict=True):
        expected = np.array([np.sqrt(max(0.0, 1 - np.sqrt(P[row] * q).sum())) for q in P])
        expected[row] = np.inf
        assert at.tolist() == np.argsort(expected)[:6].tolist()
        np.testing.assert_allclose(near, np.sort(expected)[:6], atol=1e-7)
    distances, _ = nearest_rows([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [0], 2)
    np.testing.assert_allclose(distances, [[0, 1]], atol=1e-7)
    np.testing.assert_array_equal(nearest_rows(P, [-1], 1)[1], nearest_rows(P, [29], 1)[1])
    rows = np.arange(50)
    with pytest.warns(UserWarning, match="50 of the 50 rows"):
        distances, neighbors = nearest_rows(np.full((50, 3), 1 / 3), rows, 4)
    assert neighbors.shape == (50, 4)
    assert (neighbors != rows[:, None]).all()
    assert (distances == 0).all()
    q = np.random.default_rng(0).dirichlet(np.ones(6), size=3)
    at = map_positions(q)
    for k, l in ((0, 1), (0, 2), (1, 2)):
        distance = np.sqrt(1 - np.sqrt(q[k] * q[l]).sum())
        assert np.linalg.norm(at[k] - at[l]) == pytest.approx(distance, rel=0.02)


class Scripted(BaseEstimator):
    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X):
        self.components_ = self.runs.pop(0)
        return self


def test_topics_are_matched_in_any_order_and_each_is_of_one_kind():
    strange = np.vstack([COMPONENTS[:2], np.repeat([[0.0, 1.0]], 3)])
    unlike = np.roll(COMPONENTS, 3, axis=1)
    Scripted.runs = [unlike, COMPONENTS, COMPONENTS[[2, 0, 1]], strange[[1, 2, 0]]]
    found = topic_stability(Scripted(), [[1]], n_runs=4, random_state=0)
    assert sorted(found.model.components_.tolist()) == sorted(COMPONENTS.tolist())
    np.testing.assert_array_equal(np.sort(found.n_found), [2, 3, 3])
    assert found.affinities.shape == (3, 3)
    np.testing.assert_allclose(found.affinities[1], 1)
    assert found.always.size == 0
    np.testing.assert_array_equal(found.often, [0, 1, 2])
    unmatched = (COMPONENTS * COMPONENTS[[2, 0, 1]]).sum(axis=1)  # a twin that does not match
    assert unmatched.max() < 0.1
    affinities = np.array([[1, 0.9, 0.9, 0.3], [1, 0.9, 0.1, 0.3], [1, 0.2, 0.1, 0.3],
                           [1, 0.1, 0.1, 0.3], [1, 0.9, 0.2, 0.3]])  # fmt: skip
    found = TopicStability(None, affinities)
    kinds = [found.always, found.often, found.seldom, found.once]
    assert [kind.tolist() for kind in kinds] == [[0], [1], [2], [3]]
    np.testing.assert_allclose(found.affinity, affinities.mean(axis=0))


def test_topics_of_noise_are_not_found_again_and_planted_ones_are_though_all_look_alike():
    rng = np.random.default_rng(0)
    base = rng.lognormal(0, 2, 400)
    depth = np.exp(rng.uniform(np.log(800), np.log(5000), 300))[:, None]
    programmes = np.tile(base, (3, 1))
    for k in range(3):
        programmes[k, rng.choice(400, 30, replace=False)] *= np.exp(1)
    programmes /= programmes.sum(axis=1, keepdims=True)
    noise = rng.poisson(depth * base / base.sum())
    planted = rng.poisson(depth * (rng.dirichlet(np.full(3, 0.3), 300) @ programmes))
    model = AspectModel(3, beta=1.0, max_iter=100)
    unstable, stable = (topic_stability(model, X, 3, random_state=0) for X in (noise, planted))
    np.testing.assert_array_equal(unstable.n_found, 1)
    np.testing.assert_array_equal(stable.n_found, 3)
    assert cosines(noise_topics := unstable.model.components_, noise_topics).min() > 0.99  # a twin
    one = topic_stability(AspectModel(1, beta=1.0), planted, 2, random_state=0)
    np.testing.assert_array_equal(one.n_found, 2)


def test_runs_that_do_not_begin_at_random_are_no_sign_of_stability():
    X = planted(3, 6000).X
    with pytest.warns(UserWarning, match="fits of this NMF do not depend on random_state"):
        topic_stability(NMF(3, max_iter=500), X, 3, random_state=0)
    for model in (NMF(3, init="random", max_iter=500), AspectModel(3), AspectModel(1)):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            topic_stability(model, X, 3, random_state=0)


def test_steps_of_a_pipeline_that_choose_columns_at_random_are_fitted_once():
    texts = load_bible().data[::4]
    pipeline = make_pipeline(CountVectorizer(min_df=5), TopicalColumns(), AspectModel(4))
    stability = topic_stability(pipeline, texts, 3, random_state=0)
    assert stability.affinities.shape == (2, 4)
    fitted = stability.model
    assert len(fitted[:-1].get_feature_names_out()) == fitted[-1].n_features_in_
    assert fitted.transform(texts[:3]).shape == (3, 4)
    assert not hasattr(pipeline[0], "vocabulary_")


def test_runs_of_a_model_with_effects_of_groups():
    X = planted(3, 6000).X
    groups = np.arange(X.shape[0]) % 2
    model = GuidedAspectModel(3, group_effects="columns", beta=0.9, max_iter=20)
    stability = topic_stability(model, X, 2, groups=groups, random_state=0)
    np.testing.assert_array_equal(stability.model.row_groups_, groups)
    np.testing.assert_array_equal(stability.n_found, 2)


def test_runs_of_parts_of_the_rows():
    X = planted(3, 6000).X
    groups = np.arange(X.shape[0]) % 2
    for table in (X, pd.DataFrame(X.toarray()), Dyads(X)):
        stability = topic_stability(AspectModel(3), table, 3, row_share=0.75, random_state=0)
        np.testing.assert_array_equal(stability.n_found, 3)
        assert len(stability.model.embedding_) == round(0.75 * X.shape[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        topic_stability(NMF(3, max_iter=500), X, 3, row_share=0.75, random_state=0)
    model = GuidedAspectModel(3, group_effects="columns", beta=0.9, max_iter=20)
    options = {"row_share": 0.75, "groups": groups, "random_state": 0}
    drawn = topic_stability(model, X, 2, **options).model
    assert len(drawn.row_groups_) == round(0.75 * X.shape[0])
    refused("row_share=0 should be a share", topic_stability, model, X, 2, row_share=0)


def test_planted_topics_are_always_found_with_any_number_of_threads_and_starts_differ():
    X = planted(3, 6000).X
    one, three = (
        topic_stability(AspectModel(3, tol=1e-4), X, 3, random_state=0, n_jobs=n) for n in (1, 3)
    )
    np.testing.assert_array_equal(one.always, [0, 1, 2])
    np.testing.assert_array_equal(one.affinities, three.affinities)
    with pytest.raises(ValueError, match="n_runs=1 should be at least 2"):
        topic_stability(AspectModel(2), [[1, 2], [2, 1]], n_runs=1)
    model = AspectModel(2, beta=0.9, max_iter=2, tol=0)
    alone, inside = (
        topic_stability(one, X, n_runs=2, random_state=0)
        for one in (model, make_pipeline("passthrough", model))
    )
    assert top_features(inside.model) != []
    assert inside.affinities.max() < 1
    np.testing.assert_array_equal(alone.affinities, inside.affinities)
