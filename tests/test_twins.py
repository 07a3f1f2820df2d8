"""Two nearly equal topics: further runs (``n_init``) leave such optima, and fits say so."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skcooc import (
    AspectModel,
    AsymmetricClustering,
    ClusteringProjection,
    Dyads,
    TriadicAspectModel,
    Triads,
)
from skcooc.em import State
from skcooc.em.annealing import mix_components
from skcooc.equations.aspects import Aspects, Params
from skcooc.inspection import describe
from skcooc.model_selection import split_counts
from skcooc.simplex import hellinger, match_rows, warning_of_twins
from tests.contract import assert_same_fit
from tests.data import requires_callbacks
from tests.tables import occupied, planted
from tests.watching import Stop

DATA = planted(4, 8000)
X = occupied(DATA.X.astype(float))
COMPONENTS = DATA.components[:, np.flatnonzero(DATA.X.sum(axis=0))]
MODEL = AspectModel(4, beta=0.95, random_state=0)


def unlucky(model, X, rng, runner):
    """A start in which a planted topic is there twice, and two others are one."""
    weights = DATA.mixtures.mean(axis=0)
    truth = State(Params(COMPONENTS.T.copy(), weights, weights), DATA.mixtures.copy())
    return mix_components(model, truth, [(0,), (0,), (1,), (2, 3)])


@pytest.fixture
def unlucky_start(monkeypatch):
    monkeypatch.setattr("skcooc.estimators.aspect.topic_start", unlucky)


def similarity(model):
    return match_rows(COMPONENTS, model.components_)[1].min()


def test_a_second_run_merges_and_splits(unlucky_start, monkeypatch):
    with pytest.warns(
        ConvergenceWarning, match=r"nearly equal.*: 0 and 1 \(0.0.\)\. Fit again.*above 0.95"
    ):
        once = clone(MODEL).fit(X)
    with pytest.warns(UserWarning, match=r"Topics are nearly equal.*n_init=2"):
        table = describe(once)
    assert table["nearest"].tolist()[:2] == [1, 0]
    assert (table["distance"][:2] < 0.1).all()
    with warnings.catch_warnings(action="error"):
        twice = clone(MODEL).set_params(n_init=2).fit(X)
        describe(twice)
    assert similarity(once) < 0.9 < 0.95 < similarity(twice)
    assert twice.objective_ < once.objective_ - 100
    monkeypatch.setattr("skcooc.counts.csr.WORTH_A_THREAD", 100)
    assert_same_fit(twice, clone(MODEL).set_params(n_init=2, n_jobs=2).fit(X))
    # A broken twin: copies that are not separated.
    monkeypatch.setattr("skcooc.em.merging.SEPARATION_ITERATIONS", 0)
    monkeypatch.setattr(Aspects, "perturb", lambda model, params, rng, amount: params)
    assert similarity(clone(MODEL).set_params(n_init=2).fit(X)) < 0.9


def test_merging_is_advised_only_where_it_is_possible():
    with pytest.warns(ConvergenceWarning, match=r"n_init=2 or more, or choose fewer topics\."):
        ClusteringProjection(8, beta=0.9, random_state=0).fit(X)


def test_topics_that_are_all_equal_are_no_pairs():
    assert "all 3 of them" in warning_of_twins(np.full((3, 4), 0.25))
    assert warning_of_twins(np.eye(3)) is None


def test_clusters_that_differ_enough_for_rows_are_no_twins():
    rng = np.random.default_rng(3)
    components = np.tile(rng.gamma(1.0, size=120), (5, 1))
    for k in range(5):
        components[k, 8 * k : 8 * k + 8] *= 4
    components /= components.sum(axis=1, keepdims=True)
    clusters = rng.choice(5, 400, p=[0.4, 0.25, 0.15, 0.12, 0.08])
    counts = np.array([rng.multinomial(rng.integers(60, 150), components[k]) for k in clusters])
    model = AsymmetricClustering("auto", hard=True, random_state=0).fit(counts)
    assert hellinger(model.components_)[np.triu_indices(5, 1)].min() < 0.2
    with warnings.catch_warnings(action="error"):
        describe(model)


def test_topics_of_triads_are_told_apart_by_any_index():
    rng = np.random.default_rng(0)
    z = rng.integers(3, size=6000)
    liked = rng.random(6000) < np.array([0.2, 0.8, 0.8])[z]
    rows, items = rng.integers(40, size=6000) * 3 + z, rng.integers(20, size=6000) * 3 + z
    triads = Triads(rows, items, np.where(liked, 4, 1), shape=(120, 60, 5))
    with warnings.catch_warnings(action="error"):
        model = TriadicAspectModel(3, beta=0.9, random_state=0).fit(triads)
    stars, films = (hellinger(P) + np.eye(3) for P in (model.components_, model.middle_components_))
    assert stars.min() < 0.2 < films.min()
    mixtures = [stars[[0, 0, 1, 2]] for stars in (model.components_, model.middle_components_)]
    assert "0 and 1 (0.00)." in warning_of_twins(*mixtures)


def test_held_out_tokens_are_predicted_as_well_or_better():
    gains = []
    for seed in range(4):
        train, test = split_counts(planted(8, 12_000, seed).X, random_state=seed)
        model = AspectModel(8, random_state=seed)
        one, three = (clone(model).set_params(n_init=n).fit(train) for n in (1, 3))
        gains.append(1 - three.perplexity(Dyads(test)) / one.perplexity(Dyads(test)))
        assert three.objective_ <= one.objective_
    assert min(gains) > -0.01
    assert max(gains) > 0


def test_short_fits_and_one_topic():
    for n_iter in (1, 2, 5):
        model = clone(MODEL).set_params(n_init=3, max_iter=n_iter)
        with pytest.warns(ConvergenceWarning, match="did not converge"):
            model.fit(X)
        assert sum(record.stage == "fit" for record in model.history_) <= n_iter
        assert model.components_.shape == (4, X.shape[1])
    assert_same_fit(*(AspectModel(1, n_init=n, random_state=0).fit(X) for n in (1, 3)))
    assert list(describe(AspectModel(1).fit(X)))[-1] == "rows"


def test_a_collapsed_fit_has_one_warning():
    with pytest.warns(ConvergenceWarning) as caught:
        AspectModel(4, beta=0.1, random_state=0).fit(X)
    assert [str(warning.message)[:5] for warning in caught] == ["All 4"]


@requires_callbacks
def test_a_run_that_is_stopped_while_copies_separate_is_not_kept(unlucky_start):
    once = clone(MODEL).fit(X)
    again = clone(MODEL).set_params(n_init=3).set_callbacks(Stop(after=once.n_iter_ + 3)).fit(X)
    assert_same_fit(once, again)
    early = clone(MODEL).set_params(n_init=3).set_callbacks(Stop(after=3)).fit(X)
    assert early.n_iter_ == 3
