import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold

from skcooc import AspectModel, AsymmetricClustering, Dyads
from skcooc.model_selection import ComponentSearchCV, CountSplit, TemperatureSearchCV
from skcooc.model_selection.folds import CountFold
from skcooc.model_selection.temperature_search import (
    SequentialElimination,
    coarse_to_fine,
    hill_climb,
    may_win,
)
from tests.cases import ESTIMATORS, FAST
from tests.tables import planted, refused

X = planted(n_tokens=2000).X.astype(float)  # so few that beta = 1 overfits
BETAS = np.linspace(0.44, 1.0, 8)
MODEL = AspectModel(8, smoothing=0.01, **FAST)
TINY = clone(MODEL).set_params(n_components=2, max_iter=5)
CV, HALVES = (CountSplit(n, random_state=0) for n in (4, 2))


def searched(data=X, betas=BETAS, estimator=MODEL, cv=CV, **options):
    return TemperatureSearchCV(estimator, betas, cv=cv, **options).fit(data)


@pytest.fixture(scope="module")
def search():
    return searched()


def table(search, name="test_score"):
    columns = [search.cv_results_[f"split{fold}_{name}"] for fold in range(search.n_splits_)]
    return np.column_stack(columns)


@pytest.fixture(scope="module")
def grid():
    return GridSearchCV(MODEL, {"beta": BETAS}, cv=CV).fit(Dyads(X))


def compared(search, grid):
    """Mask of scores of full fits, which equal those of a grid search."""
    mine, its = table(search), table(grid)
    fitted = ~np.isnan(mine)
    np.testing.assert_array_equal(mine[fitted], its[fitted])
    return fitted


def test_fits_and_results_are_those_of_grid_search(grid, search):
    fitted = compared(search, grid)
    assert 4 < fitted.sum() < 0.6 * fitted.size
    assert search.best_score_ >= grid.best_score_ - 0.01
    best = search.best_estimator_
    same = clone(MODEL).set_params(**search.best_params_).fit(X)
    np.testing.assert_array_equal(best.components_, same.components_)
    assert best.smoothing_ == 0.01
    results = search.cv_results_
    assert set(grid.cv_results_) <= set(results)
    assert results["params"] == [{"beta": beta} for beta in BETAS]
    for name in ("param_beta", "mean_test_score", "std_test_score", "rank_test_score"):
        assert results[name].shape == grid.cv_results_[name].shape
        assert results[name].dtype == grid.cv_results_[name].dtype
    visited = ~np.isnan(results["mean_test_score"])
    assert visited.any()
    assert not visited.all()
    assert (results["rank_test_score"][~visited] == visited.sum() + 1).all()
    assert (results["mean_fit_time"][visited] > 0).all()
    assert np.isnan(results["mean_fit_time"][~visited]).all()


def test_automatic_temperatures_are_resolved():
    """Relative to the best on a logarithmic scale."""
    clusters = {"estimator": AsymmetricClustering(3, **FAST)}
    for options, scale, n_near in (({}, float, 2), (clusters, np.log, 1)):
        search = searched(betas="auto", cv=HALVES, **options)
        betas = search.cv_results_["param_beta"].data.astype(float)
        assert (np.diff(betas) > 0).all()
        assert n_near == 1 or len(betas) < 18
        distances = [abs(scale(beta) - scale(search.best_params_["beta"])) for beta in betas]
        assert (np.sort(distances)[1 : 1 + n_near] <= 0.03 + 1e-9).all()


def test_few_temperatures_and_single_precision():
    for betas in ([0.8], (0.9, 0.9, 0.6)):
        search = searched(X.astype(np.float32), betas, TINY)
        assert search.best_params_["beta"] in betas
        assert len(search.cv_results_["params"]) == len(set(betas))
        assert search.best_estimator_.components_.dtype == np.float32


def division():
    dyads = Dyads(X.astype(int))
    return dyads, *next(CountSplit(5, random_state=1).split(dyads))


def with_other_test_part(dyads, test):
    """Dyads with other columns in the test part."""
    columns = dyads.columns.copy()
    columns[test] = np.random.default_rng(0).permutation(X.shape[1])[columns[test]]
    return dyads.like(dyads.rows, columns)


def known_to_fits(dyads, cv):
    search = searched(dyads, cv=cv, estimator=clone(MODEL).set_params(smoothing="auto"))
    names = "mean_smoothing", "mean_validation_score"
    return [search.cv_results_[name] for name in names], search.cv_results_["mean_test_score"]


def test_fits_do_not_depend_on_the_test_part():
    dyads, train, test = division()
    others = [
        known_to_fits(data, [(train, test)]) for data in (dyads, with_other_test_part(dyads, test))
    ]
    (known, scores), (known_then, scores_then) = others
    for one, two in zip(known, known_then, strict=True):
        measured = ~np.isnan(one) & ~np.isnan(two)
        assert measured.any()
        np.testing.assert_array_equal(one[measured], two[measured])
    both = ~np.isnan(scores) & ~np.isnan(scores_then)
    assert (scores[both] > scores_then[both] + 0.1).all()


def test_smoothing_is_chosen_on_the_validation_part_of_the_fold():
    auto = clone(MODEL).set_params(smoothing="auto")
    dyads, train, test = division()
    search = searched(dyads, cv=[(train, test)], estimator=auto)
    known = dyads[train].to_csr()
    for index in np.flatnonzero(~np.isnan(search.cv_results_["mean_test_score"])):
        beta = search.cv_results_["params"][index]["beta"]
        s = auto.short_fits(known)[0]({"beta": beta}).validation.smoothing
        assert search.cv_results_["mean_smoothing"][index] == s
        model = clone(auto).set_params(beta=beta, smoothing=s).fit(known)
        assert search.cv_results_["mean_test_score"][index] == model.score(dyads[test])
    best = search.cv_results_["mean_smoothing"][search.best_index_]
    assert search.best_estimator_.smoothing_ == best
    stopping = searched(estimator=AspectModel(3, early_stopping=True, **FAST))
    assert np.isnan(stopping.cv_results_["mean_smoothing"]).all()
    assert stopping.best_estimator_.smoothing == "auto"


def test_the_smoothing_of_a_fit_is_that_of_its_chosen_trial():
    model = AspectModel(3, **FAST).fit(planted(n_tokens=300, n_columns=200).X)
    (chosen,) = (trial for trial in model.tuning_ if trial.chosen)
    assert model.smoothing_ == chosen.validation.smoothing > 0.01  # no constant


def test_containers_agree():
    names = [f"w{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X.toarray(), columns=names)
    options = {"betas": [0.8, 1.0], "estimator": TINY, "cv": HALVES}
    first = searched(**options)
    np.testing.assert_array_equal(first.transform(X), first.best_estimator_.transform(X))
    for data in (X.toarray(), X.tocsc(), frame, Dyads(frame)):
        other = searched(data, **options)
        np.testing.assert_array_equal(table(first), table(other))
    assert list(other.feature_names_in_) == names
    assert other.n_features_in_ == len(names)


def test_rows_folds_and_splitters():
    search = searched(split="rows", cv=KFold(3), betas=[0.6, 0.8, 1.0], estimator=TINY)
    grid = GridSearchCV(TINY, {"beta": [0.6, 0.8, 1.0]}, cv=KFold(3)).fit(X)
    assert compared(search, grid).any()
    groups = np.arange(X.shape[0]) % 4
    search = TemperatureSearchCV(TINY, [0.7, 0.9], cv=GroupKFold(2), split="rows")
    assert np.isfinite(search.fit(X, groups=groups).best_score_)
    for cv, n_splits in ((3, 3), (None, 10), (KFold(3, shuffle=True, random_state=1), 3)):
        search = searched(betas=[0.9], cv=cv, estimator=TINY)
        assert search.n_splits_ == n_splits
        assert np.isfinite(search.best_score_)


def test_weights_of_rows_and_of_observations():
    unigram = clone(MODEL).set_params(n_components=1)  # any start
    weights = np.random.default_rng(0).integers(1, 4, X.shape[0]).astype(float)
    dyads = Dyads(X)
    rows, single, plain = (TemperatureSearchCV(unigram, BETAS[::3], cv=CV) for _ in range(3))
    rows.fit(X, sample_weight=weights)
    single.fit(dyads, sample_weight=weights[dyads.rows])
    for one, other, same in ((rows, single, True), (rows, plain.fit(X), False)):
        both = ~np.isnan(table(one)) & ~np.isnan(table(other))
        assert both.any()
        assert np.allclose(table(one)[both], table(other)[both], rtol=1e-6) is same
    for search in (single, ComponentSearchCV(unigram, [1, 2])):
        with pytest.raises(ValueError, match=r"sample_weight.shape == \(\d+,\), expected"):
            search.fit(dyads, sample_weight=weights)  # of rows, not of tokens
    halves = TemperatureSearchCV(TINY, [0.8], cv=2, split="rows").fit(X, sample_weight=weights)
    train, test = next(KFold(2).split(X))
    model = clone(TINY).set_params(beta=0.8).fit(X[train], sample_weight=weights[train])
    assert table(halves)[0, 0] == model.score(X[test])


@pytest.mark.filterwarnings("error:Most tokens to score")
@pytest.mark.parametrize("split", ["counts", "rows"])
def test_rows_of_no_weight_do_not_move_the_folds(split):
    weights = (np.arange(X.shape[0]) % 3 > 0).astype(float)
    searches = [TemperatureSearchCV(TINY, BETAS[::3], cv=3, split=split) for _ in range(2)]
    searches[0].fit(X, sample_weight=weights)
    searches[1].fit(X[weights > 0], sample_weight=weights[weights > 0])
    np.testing.assert_allclose(*map(table, searches), rtol=1e-9)
    refused(r"sample_weight.shape == \(7,\)", searches[0].fit, X, sample_weight=np.ones(7))


def test_other_parameters_are_crossed_with_temperatures():
    params = [{"n_components": [2, 3]}, {"n_components": [1], "tol": [1e-2]}]
    search = searched(betas=[0.7, 0.8, 0.9], cv=HALVES, param_grid=params)
    results = search.cv_results_
    assert len(results["params"]) == 9
    assert results["param_tol"].mask.tolist() == 6 * [True] + 3 * [False]
    assert search.best_params_["n_components"] == 3
    for index in (0, 3, 6):
        assert not np.isnan(results["mean_test_score"][index : index + 3]).all()
    grid = {"smoothing": [0.01, "auto"]}
    search = searched(betas=[0.8], estimator=AspectModel(3, **FAST), cv=HALVES, param_grid=grid)
    assert np.isnan(search.cv_results_["mean_smoothing"][0])
    assert search.cv_results_["mean_smoothing"][1] > 0


@pytest.mark.usefixtures("short_starts")
def test_every_estimator():
    one_fold = [next(HALVES.split(Dyads(X)))]
    for estimator in ESTIMATORS:
        estimator = clone(estimator).set_params(**{**FAST, "max_iter": 5})
        search = TemperatureSearchCV(estimator, [0.5, 1.0], cv=one_fold, refit=False)
        if getattr(estimator, "hard", False):
            refused("hard=True has no temperature", search.fit, Dyads(X))
        else:
            assert np.isfinite(search.fit(Dyads(X)).best_score_), estimator


def test_results_do_not_depend_on_n_jobs():
    auto = clone(TINY).set_params(smoothing="auto")
    first, second = (searched(X, BETAS[::3], auto, n_jobs=n_jobs) for n_jobs in (None, 2))
    for name in ("test_score", "validation_score"):
        np.testing.assert_array_equal(table(first, name), table(second, name))
    fitted = (search.best_estimator_.components_ for search in (first, second))
    np.testing.assert_array_equal(*fitted)


def test_an_interrupted_refit_keeps_the_earlier_fit(monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    search = TemperatureSearchCV(TINY, [0.8, 1.0], cv=HALVES).fit(X)
    before = {name: value for name, value in vars(search).items() if name.endswith("_")}
    monkeypatch.setattr("skcooc.model_selection.temperature_search.set_smoothing", interrupt)
    with pytest.raises(KeyboardInterrupt):
        search.set_params(betas=[0.5]).fit(X)
    after = {name: value for name, value in vars(search).items() if name.endswith("_")}
    assert all(after[name] is before[name] for name in before | after)


def test_an_interrupted_search_does_not_resume_with_other_folds(monkeypatch):
    score, scored = CountFold.score, []

    def interrupt(self, model):
        scored.append(model)
        if len(scored) == 2:
            raise KeyboardInterrupt
        return score(self, model)

    monkeypatch.setattr(CountFold, "score", interrupt)
    model = clone(MODEL).set_params(n_components=2, max_iter=3)
    for folds, n_after in ((CountSplit(3, random_state=0), 2), (CountSplit(3), 3)):
        scored.clear()
        search = TemperatureSearchCV(model, [0.8], cv=folds)
        with pytest.raises(KeyboardInterrupt):
            search.fit(X)
        search.fit(X)
        assert len(scored) == 2 + n_after


class Losses:
    """Losses by (candidate, fold), and a record of those requested."""

    def __init__(self, table):
        self.table, self.requested = np.asarray(table, dtype=float), []

    def __call__(self, pairs):
        assert not set(pairs) & set(self.requested)
        self.requested += pairs
        return [self.table[pair] for pair in pairs]


def valley(n, least, n_folds=5, noise=0.0, seed=0):
    """Losses that rise away from one candidate, with differences between folds."""
    rng = np.random.default_rng(seed)
    mean = 6 + 0.01 * np.abs(np.arange(n) - least)
    folds = rng.normal(0, 0.1, n_folds)
    return Losses(mean[:, None] + folds + noise * rng.normal(size=(n, n_folds)))


def elimination(losses, **options):
    return SequentialElimination(losses, *losses.table.shape, **options)


def test_coarse_to_fine_finds_the_least_everywhere():
    for n in (1, 2, 3, 9, 12, 40, 78):
        for least in range(n):
            candidates = elimination(valley(n, least))
            coarse_to_fine(candidates)
            assert candidates.best == least
            assert len(candidates.visited) <= max(n // 3 + 4, 17) or n <= 8
        assert n < 40 or len(candidates.visited) <= 17


def test_clearly_worse_candidates_are_dropped_and_close_ones_are_not():
    losses = valley(4, 1, n_folds=8)
    losses.table[2] = losses.table[1] + np.tile([0.05, -0.04], 4)
    losses.table[3] = losses.table[1] + [0.1, -0.02, 0.1, 0.1, 0.11, 0.1, 0.1, 0.1]
    candidates = elimination(losses)
    candidates.visit([0, 1, 2, 3])
    assert np.isnan(candidates.losses).sum(axis=1).tolist() == [5, 0, 0, 2]
    assert candidates.best == 1
    assert candidates.visited.tolist() == [0, 1, 2, 3]
    losses = valley(3, 0, n_folds=6)
    candidates = elimination(losses)
    candidates.visit([0])
    candidates.visit([2])
    assert np.isnan(candidates.losses[2]).sum() == 3
    losses.table[1] = losses.table[0] - 0.1
    candidates.visit([1])
    assert candidates.best == 1
    losses = valley(5, 2, n_folds=4)
    losses.table[0] = np.inf
    candidates = elimination(losses)
    coarse_to_fine(candidates)
    assert candidates.best == 2
    assert may_win(losses.table[0], losses.table[2])
    for n_folds in (1, 2, 3):  # too few to drop any
        candidates = elimination(valley(4, 2, n_folds))
        candidates.visit(range(4))
        assert not np.isnan(candidates.losses).any()


def test_hill_climbing_passes_the_best_and_skips_what_is_ruled_out():
    candidates = elimination(valley(12, least=9))
    hill_climb(candidates, start=5)
    assert candidates.best == 9
    assert candidates.visited.tolist() == [4, 5, 6, 7, 8, 9, 10]
    screening = elimination(valley(12, least=5))
    coarse_to_fine(screening)
    assert screening.worse_by(0.0) == [c for c in screening.visited if c != 5]
    means = screening.losses.mean(axis=1)
    gap = means[4] - means[5]
    assert 4 in screening.worse_by(0.5 * gap)
    assert 4 not in screening.worse_by(2 * gap)
    larger = [c for c in screening.worse_by(0.0) if c > 5]
    candidates = elimination(valley(12, least=4), ruled_out=larger)
    hill_climb(candidates, start=5)
    assert candidates.best == 4
    assert candidates.visited.tolist() == [3, 4, 5]


def test_noise_costs_little():
    lost = []
    for seed in range(50):
        losses = valley(12, 6, n_folds=10, noise=0.005, seed=seed)
        candidates = elimination(losses)
        coarse_to_fine(candidates)
        means = losses.table.mean(axis=1)
        lost.append(means[candidates.best] - means.min())
    assert np.mean(lost) < 0.002
    assert max(lost) < 0.01
