import warnings
from itertools import permutations

import numpy as np
import pytest
from sklearn.base import clone

from skcooc import AspectModel, AsymmetricClustering, Dyads, RowMemory, SymmetricClustering
from skcooc.callbacks import Checkpoint, read_checkpoint
from skcooc.fitting.recipe import draw_seeds
from skcooc.heldout.validation import hold_out
from skcooc.metrics import best_smoothing, perplexity, unseen_perplexity
from skcooc.model_selection import ComponentSearchCV, CountSplit
from skcooc.model_selection.candidates import (
    doubling_sizes,
    grow_and_refine,
    is_better,
    one_standard_error,
)
from skcooc.model_selection.folds import Data
from skcooc.model_selection.path import ComponentPath, PathPoint, are_distinct
from skcooc.simplex import match_rows
from skcooc.tables import as_counts
from tests.tables import planted
from tests.watching import Interruption

X = planted(3, 6000).X.astype(float)
MODEL = AspectModel(tol=1e-4)
SIZES = [2, 3, 4]
TINY = AspectModel(beta=0.9, tol=1e-2, max_iter=5)


def searched(estimator=MODEL, candidates=SIZES, data=X, **options):
    search = ComponentSearchCV(clone(estimator), candidates, cv=3, random_state=0)
    return search.set_params(**options).fit(data)


@pytest.fixture(scope="module")
def search():
    return searched()


def test_the_planted_number_is_found(search):
    assert search.best_n_components_ == 3
    assert not search.still_falling_
    assert search.summary().startswith("3 components: the fewest")
    results = search.cv_results_
    np.testing.assert_array_equal(results["n_distinct"], [2, 3, 3])
    np.testing.assert_array_equal(results["n_found_again"], [2, 3, 3])
    assert "Of 3, 3 are distinct and 3 found in both halves" in search.summary()
    assert min(results["half_agreement"][1], results["seed_agreement"][1]) > 0.95
    scores = np.array([results[f"split{fold}_test_score"] for fold in range(3)])
    differences = scores[:, [1]] - scores
    error = differences.std(axis=0, ddof=1) / np.sqrt(3)
    np.testing.assert_allclose(results["error_test_score"], error)
    assert (error > 0).tolist() == [True, False, True]
    assert search.best_estimator_.n_components == 3
    assert search.best_score_ == results["mean_test_score"][1]
    assert search.transform(X).shape == (80, 3)


def test_scores_are_those_of_held_out_counts(search):
    """Scores of fits of the training part, computed by public functions."""
    dyads = Dyads(X)
    for fold, (train, test) in enumerate(CountSplit(3, random_state=0).split(dyads)):
        train, test = dyads[train].to_csr(), dyads[test].to_csr()
        path = ComponentPath(MODEL, Data(train, None, {}), SEED)
        for n in (2, 4, 3):  # the largest are the first from which others can begin
            fitted = path.fit({"n_components": n})
            A, B, b, s = _factors(fitted)
            score = search.cv_results_[f"split{fold}_test_score"][SIZES.index(n)]
            np.testing.assert_allclose(
                np.exp(-score), perplexity(test, A, B, background=b, smoothing=s)
            )
        unseen = search.cv_results_[f"split{fold}_unseen_score"][1]
        assert np.exp(-unseen) == pytest.approx(unseen_perplexity(test, fitted.predictor, train))


SEED = int(np.random.RandomState(0).randint(2**31 - 1, size=2)[0])


def _factors(fitted):
    return fitted.factors.A, fitted.factors.B.T, fitted.unigram, fitted.smoothing


def test_a_curve_that_still_falls_names_no_number():
    with pytest.warns(UserWarning, match="still falling at 3 components"):
        search = searched(candidates=[2, 3], data=planted(6, 6000).X)
    assert search.still_falling_
    assert search.best_n_components_ == 3
    assert "do not determine the number" in search.summary()
    assert "Halves agree best at" in search.summary()


FOLDS = np.array([10.0, -30.0, 20.0, 0.0])  # easy and hard ones: unpaired errors are far larger
NOISE = np.array([1.0, -2.0, 3.0, -2.0])  # of differences on the same folds
ERROR = np.sqrt((1 + 4 + 9 + 4) / 3 / 4)  # of their mean: n - 1 = 3 degrees of freedom, n = 4 folds


def test_one_standard_error_of_differences_on_the_same_folds():
    """Fails if the error is dropped, doubled, unpaired, or has another number of folds."""
    best = -100 + FOLDS
    for n_errors, is_close in ((0.95, True), (1.05, False)):
        close = best - NOISE - n_errors * ERROR
        choice = one_standard_error(np.array([best - NOISE - 5 * ERROR, close, best]))
        assert (choice.chosen, choice.best) == (1 if is_close else 2, 2)
        assert choice.still_falling != is_close
        np.testing.assert_allclose(choice.errors, [ERROR, ERROR, 0])
        assert is_better(best, close) != is_close


def test_the_smoothing_of_the_search_is_that_of_held_out_counts():
    sparse = as_counts(planted(3, 600).X.astype(float))
    fitted = ComponentPath(MODEL, Data(sparse.table, None, {}), SEED).fit({"n_components": 3})
    model = clone(MODEL).set_params(n_components=3, random_state=SEED)
    recipe = model.recipe().with_seeds(draw_seeds(SEED, 1))
    rest, heldout = hold_out(sparse, *recipe.settings.division)
    A, B, b, s = _factors(fitted)
    assert s == pytest.approx(best_smoothing(heldout.X.table, A, B, b), rel=1e-6)
    assert s > 0.01  # the constant of fits without held-out counts is 0.001
    np.testing.assert_allclose(b, (rest.column_sums + 1) / (rest.column_sums + 1).sum())


def test_distinct_components_one_by_one():
    rng = np.random.default_rng(0)
    P, shares = rng.dirichlet(np.full(4, 0.4), size=12), rng.dirichlet(np.full(12, 0.5))
    kept, overall = [], shares @ P
    R = (P - overall) / np.sqrt(overall)
    for k in range(12):
        larger = [l for l in range(12) if shares[l] > shares[k]]
        alike = [R[k] @ R[l] / np.sqrt((R[k] @ R[k]) * (R[l] @ R[l])) >= 2 / 3 for l in larger]
        kept.append(bool(shares[k] >= 0.1 / 12 and not any(alike)))
    assert 2 < sum(kept) < 10
    assert are_distinct(P, shares).tolist() == kept


def test_components_are_matched_so_that_the_sum_is_largest():
    rng = np.random.default_rng(1)
    P, Q = rng.random((4, 5)) ** 2, rng.random((4, 5)) ** 2
    rows, affinities = match_rows(P, Q)
    P, Q = (A / A.sum(axis=1, keepdims=True) for A in (P, Q))
    overall = np.vstack([P, Q]).mean(axis=0)
    unit = [(A - overall) / np.sqrt(overall) for A in (P, Q)]
    unit = [A / np.linalg.norm(A, axis=1, keepdims=True) for A in unit]
    cosines = unit[0] @ unit[1].T
    best = max(permutations(range(4)), key=lambda order: cosines[range(4), order].sum())
    assert rows.tolist() == list(best)
    np.testing.assert_allclose(affinities, cosines[range(4), best])
    greedy = cosines.argmax(axis=1)  # a twin: each takes the nearest
    assert sorted(greedy) != list(range(4))


def test_auto_doubles_sizes_and_then_refines():
    for best in (2, 7, 23, 39):
        seen, repeated = {}, []

        def visit(sizes, again=False, best=best, seen=seen, repeated=repeated):
            seen[sizes] = -abs(np.log(sizes[0] / best))
            repeated += [sizes] * again
            return np.array([seen[sizes]])

        grow_and_refine(visit, (60,))
        assert abs(max(seen, key=seen.get)[0] - best) <= max(1, best // 25)
        assert len(seen) < 22
        assert repeated == [{2: (2,), 7: (8,), 23: (32,), 39: (32,)}[best]]
    assert doubling_sizes((9,)) == [(2,), (3,), (5,), (8,), (9,)]
    tried = []
    grow_and_refine(lambda sizes: tried.append(sizes) or np.array([len(tried)]), (9,))
    assert tried == doubling_sizes((9,))  # the curve still falls
    seen = {}

    def visit_both(sizes, again=False):
        seen[sizes] = -abs(sizes[0] - 6) - abs(sizes[1] - 3)
        return np.array([seen[sizes]])

    grow_and_refine(visit_both, (30, 20))
    assert max(seen, key=seen.get) == (6, 3)


def test_an_interrupted_search_resumes(tmp_path, monkeypatch):
    whole = searched(TINY)
    broken = ComponentSearchCV(clone(TINY), SIZES, cv=3, random_state=0)
    broken.set_callbacks(Checkpoint(tmp_path / "search.pickle", every=1), Interruption(2, "K = "))
    with pytest.raises(KeyboardInterrupt):
        broken.fit(X)
    assert not hasattr(broken, "best_n_components_")
    visits, fit = [], ComponentPath.fit
    monkeypatch.setattr(
        ComponentPath, "fit", lambda self, sizes: visits.append(sizes) or fit(self, sizes)
    )
    broken.set_callbacks()
    for rest in (read_checkpoint(tmp_path / "search.pickle"), broken):
        visits.clear()
        rest.fit(X)
        assert {sizes["n_components"] for sizes in visits} <= {2, 3}  # but for 4
        same(rest, whole)
    visits.clear()
    broken.fit(X)  # a finished search starts anew
    assert len(visits) == 3 * (3 + 2 + 2)


def test_an_interrupted_refit_is_repeated_without_the_search(monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    search = ComponentSearchCV(clone(TINY), SIZES, cv=3, random_state=0)
    with monkeypatch.context() as broken:
        broken.setattr("skcooc.model_selection.search.fit_task", interrupt)
        with pytest.raises(KeyboardInterrupt):
            search.fit(X)
    assert not hasattr(search, "best_n_components_")
    monkeypatch.setattr(ComponentPath, "fit", interrupt)
    assert search.fit(X).best_n_components_ in (2, 3, 4)


def same(first, second):
    for name, values in second.cv_results_.items():
        if "time" not in name and name != "params":
            np.testing.assert_array_equal(first.cv_results_[name], values)


@pytest.mark.filterwarnings("ignore:The held-out perplexity is still falling")
def test_other_data_do_not_resume_and_threads_and_the_kind_of_table_do_not_matter():
    broken = ComponentSearchCV(clone(TINY), SIZES, cv=3, random_state=0)
    broken.set_callbacks(Interruption(1, "K = "))
    with pytest.raises(KeyboardInterrupt):
        broken.fit(X)
    whole = searched(TINY, data=X[:60])
    same(broken.set_callbacks().fit(X[:60]), whole)
    same(searched(TINY, data=X[:60].toarray(), n_jobs=3), whole)


@pytest.mark.usefixtures("few_starts")
def test_hard_clusters_by_the_integrated_likelihood():
    X = planted(3, 2000, n_columns=30, kind="clusters").X
    search = searched(AsymmetricClustering(hard=True), data=X, cv=2)
    assert (search.best_n_components_, search.cv_results_["icl"].argmax()) == (3, 1)
    assert "integrated likelihood (ICL) is the largest" in search.summary()
    X = planted(3, 2000, n_columns=30, kind="coclusters", n_column_clusters=2).X
    model = SymmetricClustering(hard=True)
    search = searched(model, [(2, 2), (3, 2), (3, 3)], X, cv=2)
    assert search.best_n_components_ == (3, 2)
    assert search.best_params_ == {"n_row_clusters": 3, "n_column_clusters": 2}


def test_without_folds_the_default_and_a_single_run():
    default, five = (searched(TINY, [2], cv=cv, n_runs=1) for cv in (None, 5))
    assert default.n_splits_ == 5
    assert default.best_score_ == five.best_score_
    assert "of two runs" not in default.summary()
    assert "of two runs" in searched(TINY, [2]).summary()


REFUSED = [
    (RowMemory(), {}, TypeError, "needs an estimator of skcooc with a number of components"),
    (SymmetricClustering(hard=True, tied=True), {}, TypeError, "has one clustering of both sides"),
    (TINY, {"candidates": []}, ValueError, "candidates should be numbers, at least 1"),
    (TINY, {"candidates": [0, 2]}, ValueError, "candidates should be numbers, at least 1"),
    (TINY, {"candidates": [(2, 2)]}, ValueError, "candidates should be numbers"),
    (SymmetricClustering(), {"candidates": [2, 3]}, ValueError, "pairs of n_row_clusters and"),
    (TINY, {"cv": [([0, 1], [2])]}, ValueError, "cv has one fold"),
    (TINY, {"criterion": "icl"}, ValueError, "set hard=True"),
    (TINY, {"criterion": "bic"}, ValueError, "'criterion' parameter"),
]


def test_bad_input():
    for estimator, options, error, message in REFUSED:
        with pytest.raises(error, match=message), warnings.catch_warnings():
            searched(estimator, **options)


def test_a_size_that_is_fitted_again_can_only_gain():
    path = ComponentPath(MODEL, Data(X, None, {}), 0)
    first = [path.fit({"n_components": n}) for n in (2, 4)]
    assert path.has_warm_starts
    two = path.fit({"n_components": 2})
    assert two.work > first[0].work
    best = PathPoint(None, 0.9, 30.0, 0.1, 5)
    assert PathPoint(None, 0.8, 31.0, 0.1, 7).or_better(best) == best._replace(n_iter=12)
    assert PathPoint(None, 0.8, 29.0, 0.1, 7).or_better(best) == PathPoint(None, 0.8, 29.0, 0.1, 12)
    assert best.or_better(None) is best
    unjudged = best._replace(perplexity=np.nan)
    assert best._replace(perplexity=np.nan, beta=0.8).or_better(unjudged).beta == 0.8
