"""Leave-one-out clusters of rows: transcription, limits, and recovery of clusters."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from skcooc import AsymmetricClustering, Dyads
from skcooc.counts import CSRCounts, csr
from skcooc.em import State
from skcooc.equations.row_clusters import PredictiveClusters, PredictiveParams, RowClusters
from skcooc.model_selection import split_observations
from tests.equations.literal_predictive_clusters import LiteralPredictiveRows
from tests.equations.models import HERE, NO_PROOF, PRIOR, ModelCase
from tests.equations.running import energies, run
from tests.tables import planted, random_table

NO_SLOPE = {"bound falls": NO_PROOF["bound falls"], "literal slope": "there is no such objective"}
SKIP = HERE | PRIOR | NO_SLOPE
CASES = {
    "predictive rows": ModelCase(
        PredictiveClusters(RowClusters(3)), LiteralPredictiveRows(), (1.0, 0.3), skip=SKIP
    ),
    "predictive rows, estimated": ModelCase(
        PredictiveClusters(RowClusters(3, proportions="estimated"), 0.5),
        LiteralPredictiveRows(0.5, "estimated"),
        (0.3,),
        skip=SKIP,
    ),
}


def clusters_of(K):
    return PredictiveClusters(RowClusters(K))


def made_of(X, R):
    """The parameters that rows of counts, (n, M), with posteriors (n, K) make."""
    counts = X.T @ R + 0.02
    totals, K = counts.sum(axis=0), R.shape[1]
    return PredictiveParams(counts / totals, np.full(K, 1 / K), np.array(X.sum() / len(X)), totals)


def test_with_large_row_weights_it_is_plain_em():
    X, R = random_table(20, 9).toarray(), np.random.default_rng(0).dirichlet(np.ones(3), 20)
    model, plain = clusters_of(3), RowClusters(3)
    for times, (least, most) in {1: (0.1, 1), 10**6: (0, 1e-4)}.items():
        params, table = made_of(times * X, R), CSRCounts(sp.csr_array(X), np.full(20, times * 1.0))
        left_out = model.expect(table, params, R, 0.5)[0]
        far = np.abs(left_out - plain.expect(table, params.plain, R, 0.5)[0]).max()
        assert least <= far <= most


def test_a_row_that_is_alone_in_its_cluster_does_not_stay_for_its_own_sake():
    X = np.array([[4.0, 4.0, 0.0], [5.0, 3.0, 0.0], [4.0, 5.0, 0.0]])
    alone = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    params = made_of(X, alone)
    X, model = CSRCounts(sp.csr_array(X)), clusters_of(2)
    stays = RowClusters(2).expect(X, params.plain, alone, 1.0)[0]
    leaves = model.expect(X, params, alone, 1.0)[0]
    assert stays[0, 0] > 0.5 > 0.1 > leaves[0, 0]


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr(csr, "WORTH_A_THREAD", 1)
    X, model = CSRCounts(random_table(2500, 9), np.arange(2500) % 3 / 2), clusters_of(3)
    params, rows = model.start(X, np.random.default_rng(0))
    one, three = (model.expect(X.with_threads(n, map), params, rows, 0.3) for n in (1, 3))
    np.testing.assert_array_equal(one[0], three[0])
    np.testing.assert_array_equal(one[1].components, three[1].components)
    assert one[1].free_energy == three[1].free_energy


def test_em_ends_ten_iterations_after_its_least_objective_and_not_where_it_rises():
    X, model = planted(6, 2500, kind="clusters", n_rows=80, n_columns=60).X, clusters_of(20)
    fit = run(model, X.astype(float), beta=0.5, n_iter=200, tol=1e-6)
    least, last, F = np.inf, 0, energies(fit)
    for number, objective in enumerate(F):
        if least - objective > 1e-6 * objective:
            last = number
        least = min(least, objective)
    assert fit.converged
    assert len(F) == last + 1 + model.patience
    assert (np.diff(F)[:last] > 0).any()


TABLE = planted(6, 6000, kind="clusters", n_rows=400, n_columns=120)


def test_predicts_better_and_finds_the_clusters_where_rows_are_short():
    train, test = split_observations(TABLE.X, random_state=0)
    left_out, plain = (
        AsymmetricClustering(24, leave_one_out=how, beta=0.4, random_state=0).fit(train)
        for how in (True, False)
    )
    assert left_out.perplexity(Dyads(test)) < 0.97 * plain.perplexity(Dyads(test))
    found, before = (adjusted_rand_score(TABLE.labels, m.labels_) for m in (left_out, plain))
    assert found > before


@pytest.mark.filterwarnings("ignore:EM did not converge")
def test_new_rows_are_folded_in_by_plain_em():
    options = {"beta": 0.3, "leave_one_out": True, "random_state": 0, "max_iter": 20}
    model = AsymmetricClustering(12, **options).fit(TABLE.X)
    B, X = model.components_, TABLE.X[:7].toarray()
    scores = np.exp(0.3 * (X @ np.log(B).T)) * model.weights_
    expected = scores / scores.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(TABLE.X[:7]), expected, atol=1e-6)
    assert np.abs(model.posteriors_ - model.predict_proba(TABLE.X)).max() > 1e-3


REFUSED = [
    ({"hard": True}, "needs hard=False"),
    ({"axis": "columns"}, "needs axis='rows'"),
    ({"object_weights": "equal"}, "needs object_weights='counts'"),
    ({"coarsening": [np.arange(400) // 2]}, "needs coarsening=None"),
    ({"annealing": 1.1}, "needs annealing < 1, or None"),
]


def test_incompatible_parameters_and_streams_are_refused():
    for options, message in REFUSED:
        with pytest.raises(ValueError, match=message):
            AsymmetricClustering(3, leave_one_out=True, **options).fit(TABLE.X)
    with pytest.raises(AttributeError, match="partial_fit"):
        AsymmetricClustering(3, leave_one_out=True, beta=0.3).partial_fit(TABLE.X)


@pytest.mark.filterwarnings("ignore:EM did not converge")
def test_goes_on_where_it_was_and_falls_in_temperature():
    options = {"leave_one_out": True, "random_state": 0, "max_iter": 8, "tol": 1e-3}
    model = AsymmetricClustering(3, beta=0.3, warm_start=True, **options).fit(TABLE.X)
    before = model.objective_
    assert model.fit(TABLE.X).objective_ < before * 1.001
    decreasing_beta = AsymmetricClustering(3, beta=0.5, annealing=0.5, **options).fit(TABLE.X)
    assert decreasing_beta.beta_ == 0.5


def test_state_is_that_of_the_literal_equations_after_several_steps():
    X = planted(3, 400, kind="clusters", n_rows=15, n_columns=9).X.astype(float)
    model, literal = clusters_of(3), LiteralPredictiveRows()
    mine = State(*model.start(CSRCounts(X), np.random.default_rng(0)))
    theirs = mine
    for _ in range(4):
        rows, stats = model.expect(CSRCounts(X), *mine, 0.4)
        mine = State(model.maximize(stats, mine.params, 0.4), rows)
        theirs = State(*literal.step(X.toarray(), *theirs, 0.4))
    np.testing.assert_allclose(mine.rows, theirs.rows, atol=1e-9)
