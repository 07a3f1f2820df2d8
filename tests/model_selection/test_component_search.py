import warnings
from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from skcooc import (
    AspectModel,
    AsymmetricClustering,
    Dyads,
    RowMemory,
    SymmetricClustering,
    TriadicAspectModel,
)
from skcooc.callbacks import Checkpoint, read_checkpoint
from skcooc.datasets import make_cooccurrences
from skcooc.fitting.recipe import draw_seeds
from skcooc.heldout.memory import best_memory, memory_cells
from skcooc.heldout.validation import hold_out
from skcooc.metrics import best_smoothing, perplexity, unseen_perplexity
from skcooc.model_selection import ComponentSearchCV, CountSplit
from skcooc.model_selection.candidates import (
    Score,
    doubling_sizes,
    fewest,
    grow_and_refine,
)
from skcooc.model_selection.folds import Data
from skcooc.model_selection.path import ComponentPath, PathPoint, are_distinct
from skcooc.model_selection.survey import Survey
from skcooc.simplex import match_rows
from skcooc.tables import as_counts
from tests.data import requires_callbacks
from tests.tables import occupied, planted, refused
from tests.watching import Interruption

X = occupied(planted(3, 6000).X.astype(float))
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
    assert (search.still_falling_, search.criterion_) == (False, "cache")
    table, recommendation = search.summary().split("\n\n")
    assert recommendation.startswith("Take 3 components: ")
    results = search.cv_results_
    assert search.refit_time_ > 0
    assert (results["mean_fit_time"] > 0).all()
    np.testing.assert_allclose(results["n_distinct"], [2, 3, 3], atol=0.5)
    np.testing.assert_array_equal(results["n_found_again"][1:], [3, 3])
    head, unigram, *lines = (line.split("  ") for line in table.splitlines())
    assert [cell.strip() for cell in head if cell] == [
        "K", "perplexity", "with cache", "halves agree", "found in both", "distinct"
    ]  # fmt: skip
    assert unigram[0].strip() == "none"
    perplexities = np.exp(-results["mean_test_score"]), np.exp(-results["mean_cache_score"])
    for i, line in enumerate(lines):
        K, alone, in_cache, agreement, again, distinct = (cell for cell in line if cell)
        assert K.strip() == ("3 *" if i == 1 else str(i + 2))
        assert (alone.strip(), in_cache.strip()) == tuple(f"{P[i]:.1f}" for P in perplexities)
        assert float(agreement) == pytest.approx(results["half_agreement"][i], abs=0.005)
        assert float(again) == results["n_found_again"][i]
        assert float(distinct) == pytest.approx(results["n_distinct"][i], abs=0.05)
    assert results["half_agreement"][1] > 0.95
    assert np.isnan(results["seed_agreement"]).all()
    assert np.count_nonzero(results["error_test_score"]) == 2  # not of the best
    assert search.best_estimator_.n_components == 3
    assert search.best_score_ == results["mean_cache_score"][1]
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
        in_cache = search.cv_results_[f"split{fold}_cache_score"][1]
        assert in_cache == pytest.approx(cache_score(train, test, fitted.predictor), rel=1e-4)


def cache_score(train, test, predictor):
    """By the formula, cell by cell; every second cell has the parameters of the others."""
    known, X = as_counts(train), as_counts(test)
    in_rows = (train.toarray() > 0).sum(axis=0) + 1
    b = in_rows / in_rows.sum()
    parts = [test.tocoo().data * (np.arange(test.nnz) % 2 == half) for half in range(2)]
    parts = [sp.csr_array((part, test.indices, test.indptr), test.shape) for part in parts]
    found = []
    for part in parts:
        cells = memory_cells(known.table, as_counts(part), predictor, b)
        found.append(best_memory(cells))
    P, total = predictor.cells(X), 0.0
    for place, (i, j) in enumerate(zip(*test.tocoo().coords, strict=True)):
        a, d, s, *_ = found[1 - place % 2]
        n = train[[i]].toarray()[0]
        mass = a + np.minimum(n, d).sum()
        lower = (1 - s) * P[place] + s * b[j]
        total += test[i, j] * np.log((max(n[j] - d, 0) + mass * lower) / (n.sum() + a))
    return total / test.sum()


SEED = int(np.random.RandomState(0).randint(2**31 - 1, size=2)[0])


def _factors(fitted):
    (_, unigram), (_, smoothing) = fitted.predictor
    return fitted.factors.A, fitted.factors.B.T, unigram.distribution, smoothing


def bursty(K, seed=0, concentration=60.0, n_rows=250):
    """Counts of rows with 80 tokens, each from its own distribution around its mixture."""
    data = make_cooccurrences(n_rows, 200, K, n_tokens=1, random_state=seed)
    rng = np.random.default_rng(seed)
    P = rng.gamma(concentration * (data.mixtures @ data.components)) + 1e-12
    return rng.multinomial(80, P / P.sum(axis=1, keepdims=True)).astype(float)


def test_a_planted_number_with_bursts_is_found_within_a_cache():
    """By the model alone the largest number is best: components store what rows repeat."""
    options = {"max_components": 16, "refit": False, "random_state": 0}
    K = 5
    X = bursty(K, seed=1)
    search = ComponentSearchCV(AspectModel(), **options).fit(X)
    assert (search.criterion_, search.best_n_components_) == ("cache", K)
    with pytest.warns(UserWarning, match="held-out perplexity is still falling at 16 components"):
        alone = ComponentSearchCV(AspectModel(), criterion="held_out", **options).fit(X)
    assert alone.best_n_components_ == 16


def test_rows_that_mostly_repeat_are_judged_by_new_columns():
    """Columns of a row come again and again: the cache predicts most of what components do.

    By the model alone the largest number is best: components store what rows repeat.
    """
    X = bursty(5, concentration=10.0)
    options = {"candidates": [2, 5, 16], "refit": False, "random_state": 0}
    search = ComponentSearchCV(AspectModel(), **options).fit(X)
    assert (search.criterion_, search.best_n_components_) == ("unseen", 5)
    assert search.best_score_ == search.cv_results_["mean_unseen_score"][1]
    assert np.argmax(search.cv_results_["mean_test_score"]) == 2
    given = ComponentSearchCV(AspectModel(), criterion="cache", **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert given.fit(X).criterion_ == "cache"


def test_the_best_number_without_copies_is_tried(monkeypatch):
    survey = Survey.__new__(Survey)
    survey.scores = {(3,): {"cache": Score.single(-2)}, (5,): {"cache": Score.single(-1)}}
    survey.measures = {(3,): {"n_distinct": 3.0}, (5,): {"n_distinct": 3.4}}
    assert survey.without_copies("cache") == (3,)
    survey.measures[5,]["n_distinct"] = 5.0
    assert survey.without_copies("cache") is None
    monkeypatch.setattr(Survey, "without_copies", lambda self, criterion: (7,))
    search = ComponentSearchCV(clone(TINY), max_components=5, random_state=0).fit(X)
    assert 7 in search.cv_results_["param_n_components"]


def test_folds_that_are_halves_are_fitted_once():
    """By default the halves that are compared are those whose tokens are scored."""
    search = searched(TINY, [2], cv=2)
    halves = [CountSplit(2, random_state=0).split(Dyads(X))]
    components = []
    for train, _ in halves[0]:
        path = ComponentPath(TINY, Data(Dyads(X)[train].to_csr(), None, {}), SEED)
        components.append(path.fit({"n_components": 2}).factors.B.T)
    agreement = match_rows(*components)[1].mean()
    assert search.cv_results_["half_agreement"][0] == pytest.approx(agreement)
    assert searched(TINY, [2], cv=3).cv_results_["half_agreement"][0] != pytest.approx(agreement)


def test_a_curve_that_still_falls_names_no_number():
    with pytest.warns(UserWarning, match="is still falling at 3 components") as warned:
        search = searched(candidates=[2, 3], data=planted(6, 6000).X)
    assert search.still_falling_
    assert search.best_n_components_ == 3
    sentence = search.summary().split("\n\n")[1]
    assert sentence == str(warned[0].message)
    assert "do not determine the number" in sentence
    assert "halves agree best at" in sentence


TOKENS = np.array([3.0, 1.0, 4.0, 2.0])  # of four rows
LEVELS = np.array(
    [10.0, -30.0, 20.0, 0.0]
)  # rows that are easy and hard: unpaired errors are large
NOISE = np.array([0.1, -0.2, 0.3, -0.2])


def test_fewest_of_differences_in_the_same_rows():
    """Fails if the error is dropped, doubled, unpaired, or does not know the tokens of rows."""
    best = Score(-100 * TOKENS + LEVELS, TOKENS)
    noisy = best.sums - NOISE
    mean = NOISE.sum() / 10
    error = np.sqrt(((NOISE - mean * TOKENS) ** 2).sum()) / 10
    for n_errors, is_close in ((0.95, True), (1.05, False)):
        close = Score(noisy - (n_errors * error - mean) * TOKENS, TOKENS)
        np.testing.assert_allclose(best.gain(close), [n_errors * error, error])
        far = Score(noisy - 5 * error * TOKENS, TOKENS)
        choice = fewest([far, close, best])
        assert (choice.chosen, choice.best) == (1 if is_close else 2, 2)
        assert choice.still_falling != is_close
        assert best.is_better(close) != is_close


def test_the_smoothing_of_the_search_is_that_of_held_out_counts():
    sparse = as_counts(occupied(planted(3, 600).X.astype(float)))
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
            return Score.single(seen[sizes])

        grow_and_refine(visit, (60,))
        assert abs(max(seen, key=seen.get)[0] - best) <= max(1, best // 16)
        assert len(seen) < 22
        assert repeated == [{2: (2,), 7: (8,), 23: (32,), 39: (32,)}[best]]
    assert doubling_sizes((9,)) == [(2,), (3,), (5,), (8,), (9,)]
    tried = []
    grow_and_refine(lambda sizes: tried.append(sizes) or Score.single(len(tried)), (9,))
    assert tried == doubling_sizes((9,))  # the curve still falls
    seen = {}

    def visit_both(sizes, again=False):
        seen[sizes] = -abs(sizes[0] - 6) - abs(sizes[1] - 3)
        return Score.single(seen[sizes])

    grow_and_refine(visit_both, (30, 20))
    assert max(seen, key=seen.get) == (6, 3)


@requires_callbacks
def test_an_interrupted_search_resumes(tmp_path, monkeypatch):
    whole = searched(TINY, cv=2)
    broken = ComponentSearchCV(clone(TINY), SIZES, cv=2, random_state=0)
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
    assert len(visits) == 3 * 2  # folds are the halves


def test_an_interrupted_refit_is_repeated_without_the_search(monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    search = ComponentSearchCV(clone(TINY), SIZES, cv=3, random_state=0)
    with monkeypatch.context() as broken:
        broken.setattr("skcooc.model_selection.component_search.with_seed", interrupt)
        with pytest.raises(KeyboardInterrupt):
            search.fit(X)
    assert not hasattr(search, "best_n_components_")
    monkeypatch.setattr(ComponentPath, "fit", interrupt)
    assert search.fit(X).best_n_components_ in (2, 3, 4)


def same(first, second):
    for name, values in second.cv_results_.items():
        if "time" not in name and name != "params":
            np.testing.assert_array_equal(first.cv_results_[name], values)


@requires_callbacks
def test_other_data_do_not_resume_and_threads_and_the_kind_of_table_do_not_matter():
    broken = ComponentSearchCV(clone(TINY), [2, 3], cv=2, random_state=0)
    broken.set_callbacks(Interruption(1, "K = "))
    with pytest.raises(KeyboardInterrupt):
        broken.fit(X)
    whole = searched(TINY, [2, 3], X[:60], cv=2)
    same(broken.set_callbacks().fit(X[:60]), whole)
    same(searched(TINY, [2, 3], X[:60].toarray(), cv=2, n_jobs=3), whole)


@pytest.mark.usefixtures("few_starts")
def test_hard_clusters_by_the_integrated_likelihood():
    X = planted(3, 2000, n_columns=30, kind="clusters").X
    search = searched(AsymmetricClustering(hard=True), data=X, cv=2)
    assert (search.best_n_components_, search.cv_results_["icl"].argmax()) == (3, 1)
    assert "integrated likelihood (ICL) is the largest" in search.summary()
    assert (search.criterion_, "ICL" in search.summary().split("\n")[0]) == ("icl", True)
    X = planted(3, 2000, n_columns=30, kind="coclusters", n_column_clusters=2).X
    model = SymmetricClustering(hard=True)
    search = searched(model, [(2, 2), (3, 2), (3, 3)], X, cv=2)
    assert search.best_n_components_ == (3, 2)
    assert search.best_params_ == {"n_row_clusters": 3, "n_column_clusters": 2}


@pytest.mark.usefixtures("few_starts")
@pytest.mark.filterwarnings("ignore")
def test_it_says_where_no_number_is_better_than_none():
    noise = np.random.default_rng(0).poisson(0.6, (60, 100))
    with pytest.warns(UserWarning, match="none by half a percent.*: give one that people can read"):
        search = searched(data=noise, candidates=[2, 3])
    sentence = search.summary().split("\n\n")[1]
    assert sentence.startswith("No number of components is better than none by half a percent")


@pytest.mark.parametrize("weights", [np.ones(7), np.full(X.shape[0], -1.0)], ids=["few", "-1"])
def test_wrong_weights_are_refused(weights):
    search = ComponentSearchCV(AspectModel(), [2, 3])
    refused("sample_weight", search.fit, X, sample_weight=weights)


def test_rows_of_no_weight_are_left_out():
    """Of scores by the same folds, the baseline, and the integrated likelihood of clusters."""
    other, n = planted(3, 4000, n_columns=X.shape[1], kind="clusters", seed=5).X, X.shape[0]
    both = sp.vstack([X, other], format="csr")
    weights = np.repeat([1.0, 0.0], [n, other.shape[0]])
    parts = []
    for table in (X, both):
        tokens = np.arange(int(table.sum()))  # row by row
        parts.append([(tokens[tokens % 3 != i], tokens[tokens % 3 == i]) for i in range(3)])
    for model in (TINY, AsymmetricClustering(hard=True, tol=1e-2, max_iter=5)):
        left_out = searched(model, [2], cv=parts[0])
        weightless = clone(left_out).set_params(cv=parts[1]).fit(both, sample_weight=weights)
        for name in left_out.cv_results_:
            if name.endswith("_score") or name in ("icl", "coherence"):
                mine, its = (search.cv_results_[name] for search in (weightless, left_out))
                np.testing.assert_allclose(mine, its, rtol=1e-6, err_msg=name)
        none = [search.summary().splitlines()[1].split()[1:] for search in (weightless, left_out)]
        assert none[0] == none[1]


def test_without_folds_a_fifth_is_scored():
    default, five = (searched(TINY, [2], cv=cv, n_runs=2) for cv in (None, 5))
    assert (default.n_splits_, five.n_splits_) == (1, 5)
    assert default.best_score_ == five.cv_results_["split0_cache_score"][0]
    assert default.cv_results_["seed_agreement"][0] == five.cv_results_["seed_agreement"][0] > 0


REFUSED = [
    (RowMemory(), {}, TypeError, "needs an estimator of skcooc for tables of two ways"),
    (TriadicAspectModel(2), {}, TypeError, "needs an estimator of skcooc for tables of two ways"),
    (make_pipeline(AspectModel()), {}, TypeError, "For a pipeline, search over its last"),
    (SymmetricClustering(hard=True, tied=True), {}, TypeError, "has one clustering of both sides"),
    (TINY, {"candidates": []}, ValueError, "candidates should be numbers, at least 1"),
    (TINY, {"candidates": [0, 2]}, ValueError, "candidates should be numbers, at least 1"),
    (TINY, {"candidates": [(2, 2)]}, ValueError, "candidates should be numbers"),
    (SymmetricClustering(), {"candidates": [2, 3]}, ValueError, "pairs of n_row_clusters and"),
    (TINY, {"criterion": "icl"}, ValueError, "set hard=True"),
    (TINY, {"criterion": "bic"}, ValueError, "'criterion' parameter"),
]


def test_bad_input():
    for estimator, options, error, message in REFUSED:
        with pytest.raises(error, match=message), warnings.catch_warnings():
            searched(estimator, **options)


def test_fits_go_on_with_leave_one_out_where_that_is_better():
    """Rows have fewer than 2K tokens with 10 components, and more with 2."""
    short = planted(5, 2400, n_rows=200).X.astype(float)
    data = Data(short, None, {})
    for n, is_better in ((2, False), (10, True)):
        plain, auto = (
            ComponentPath(AspectModel(leave_one_out=given), data, 0).fit({"n_components": n})
            for given in (False, "auto")
        )
        assert (auto.work - plain.work == 20 * n) == is_better


def test_a_size_that_is_fitted_again_can_only_gain():
    path = ComponentPath(MODEL, Data(X, None, {}), 0)
    first = [path.fit({"n_components": n}) for n in (2, 4)]
    assert path.has_warm_starts
    two = path.fit({"n_components": 2})
    assert two.work > first[0].work
    best = PathPoint(None, None, 0.9, 30.0, 0.1, 5)
    assert PathPoint(None, None, 0.8, 31.0, 0.1, 7).or_better(best) == best._replace(n_iter=12)
    assert PathPoint(None, None, 0.8, 29.0, 0.1, 7).or_better(best) == PathPoint(
        None, None, 0.8, 29.0, 0.1, 12
    )
    assert best.or_better(None) is best
    unjudged = best._replace(perplexity=np.nan)
    assert best._replace(perplexity=np.nan, beta=0.8).or_better(unjudged).beta == 0.8
