"""Co-clusterings cut at a level of their trees."""

import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skcooc import AspectModel, SymmetricClustering
from skcooc.datasets import make_cooccurrences
from skcooc.inspection import describe, explore, merge_clusters, set_names, to_linkage
from skcooc.plotting import AssociationDisplay
from tests.tables import refused

X = make_cooccurrences(80, 50, 4, kind="coclusters", random_state=1).X
X = X[:, X.sum(axis=0) > 0]
NEW = make_cooccurrences(10, X.shape[1], 4, kind="coclusters", random_state=2).X


@pytest.fixture(scope="module", params=[{"hard": True}, {"beta": 0.4}], ids=repr)
def model(request):
    return SymmetricClustering(6, 7, **request.param, random_state=0).fit(X)


def literal_groups(model, sizes):
    """The clusters of both sides as sets, after merges one by one down to these sizes."""
    groups = [[{c} for c in range(n)] for n in model.joint_.shape]
    for axis, first, second, _ in model.merges_:
        one, other = (next(g for g in groups[axis] if c in g) for c in (first, second))
        if len(groups[axis]) > sizes[axis]:
            groups[axis].remove(other)
            one |= other
    return groups


@pytest.mark.parametrize("sizes", [(3, 4), (6, 2), (1, 7), (6, 7), (1, 1)])
def test_merged_clusters_are_unions_of_those_that_are_merged_first(model, sizes):
    before = pickle.dumps(model)
    merged = merge_clusters(model, *sizes)
    assert pickle.dumps(model) == before
    assert merged.joint_.shape == sizes
    assert merged.get_params()["n_row_clusters"] == merged.n_row_clusters_ == sizes[0]
    rows, columns = literal_groups(model, sizes)
    expected = [[model.joint_[np.ix_(list(c), list(d))].sum() for d in columns] for c in rows]
    np.testing.assert_allclose(merged.joint_, expected, rtol=1e-5)
    for posteriors, shares, groups in (
        (model.embedding_, merged.embedding_, rows),
        (model.column_posteriors_, merged.column_posteriors_, columns),
    ):
        sums = np.column_stack([posteriors[:, sorted(group)].sum(axis=1) for group in groups])
        np.testing.assert_allclose(shares, sums, atol=1e-6)
    np.testing.assert_allclose(merged.weights_, [len(group) / 6 for group in rows], rtol=1e-6)
    assert merged.predict_proba(NEW).shape == (10, sizes[0])
    assert np.isfinite(merged.perplexity(NEW))
    assert not hasattr(merged, "history_")


def test_one_number_cuts_both_trees_at_the_lowest_level_that_has_it(model):
    for axis, name in enumerate(("n_row_clusters", "n_column_clusters")):
        for n in range(1, model.joint_.shape[axis] + 1):
            merged = merge_clusters(model, **{name: n})
            assert merged.joint_.shape[axis] == n
            n_merges = sum(model.joint_.shape) - sum(merged.joint_.shape)
            assert n_merges == 0 or model.merges_[n_merges - 1].axis == axis
            later = model.merges_[n_merges:]
            if model.hard:  # posteriors of soft clusters add up, labels do not
                losses = [merge.loss for merge in merged.merges_]
                assert losses == pytest.approx([merge.loss for merge in later], rel=1e-4, abs=0.01)
                low = len(to_linkage(model)) - len(to_linkage(merged))
                heights = np.diff(to_linkage(model)[low:, 2])
                np.testing.assert_allclose(np.diff(to_linkage(merged)[:, 2]), heights, rtol=1e-3)


def test_a_level_can_be_read_drawn_and_applied_to_new_rows(model):
    merged = merge_clusters(model, 4, 4)
    assert len(describe(merged)) == len(describe(merged, axis="columns")) == 4
    assert "share" in explore(merged, X).html
    assert AssociationDisplay.from_estimator(merged, X).row_order_.shape == (4,)
    again = merged.set_params(warm_start=True).fit(X)
    assert again.joint_.shape == (4, 4)
    pipeline = make_pipeline(FunctionTransformer(), model)
    inside = merge_clusters(pipeline, 4, 4)
    np.testing.assert_array_equal(inside.joint_, merge_clusters(model, 4, 4).joint_)


def test_names_of_single_clusters_are_kept():
    model = SymmetricClustering(4, 3, hard=True, random_state=0).fit(X)
    set_names(model, list("abcd"))
    rows, _ = literal_groups(model, (3, 3))
    merged = merge_clusters(model, 3, 3)
    single = {g: "abcd"[min(group)] for g, group in enumerate(rows) if len(group) == 1}
    assert merged.component_names_ == single
    assert len(single) == 2
    assert model.component_names_ == dict(enumerate("abcd"))


def test_numbers_that_there_are_not_and_other_models_are_refused(model):
    refused("Give n_row_clusters or n_column_clusters", merge_clusters, model)
    refused("n_row_clusters=7 should be at most 6", merge_clusters, model, 7)
    refused("n_column_clusters=8 should be at most 7", merge_clusters, model, 2, 8)
    for wrong in (0, -1, 2.5, "auto"):
        refused("'n_column_clusters' parameter", merge_clusters, model, 2, wrong)
    refused("not fitted yet", merge_clusters, SymmetricClustering(), 2, error=NotFittedError)
    aspects = AspectModel(2, beta=0.9, max_iter=2, tol=1, random_state=0).fit(X)
    refused("SymmetricClustering", merge_clusters, aspects, 2, error=TypeError)
    square = make_cooccurrences(30, 30, 3, kind="coclusters", random_state=1).X
    tied = SymmetricClustering(3, 3, hard=True, tied=True, random_state=0).fit(square)
    for function in (merge_clusters, lambda model, _: to_linkage(model)):
        refused("tied=False", function, tied, 2, error=AttributeError)
