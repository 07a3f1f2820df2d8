import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from scipy.special import xlogy
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import adjusted_rand_score

from skcooc import AsymmetricClustering, Dyads, SymmetricClustering
from skcooc.counts import CSRCounts
from skcooc.datasets import make_cooccurrences
from skcooc.em.stages import PlainRunner
from skcooc.equations.row_clusters import PredictiveClusters, RowClusters
from skcooc.model_selection import split_counts
from skcooc.starts.clusters import left_out_start
from tests.equations.literal_clusters import KINDS
from tests.equations.literal_distributional import LiteralDistributions, conditional
from tests.equations.literal_predictive_clusters import LiteralPredictiveRows
from tests.equations.models import NO_PROOF, PRIOR, From, ModelCase, random_clusters
from tests.equations.running import energies, run, separate
from tests.tables import occupied, planted, refused

every_axis = pytest.mark.parametrize("axis", ["rows", "columns"])
every_weighting = pytest.mark.parametrize(
    ("axis", "object_weights"), [("rows", "counts"), ("columns", "equal")]
)


def oriented(X, axis):
    """A table with its rows along the axis."""
    return sp.csr_array(X if axis == "rows" else X.T)


def clusters(n_clusters=4, n_tokens=6000, seed=1, **sizes):
    sizes = {"n_rows": 60, "n_columns": 40} | sizes
    return planted(n_clusters, n_tokens, seed, kind="clusters", **sizes)


def found(truth, X, axis, **options):
    """Adjusted Rand index of the clusters found and those planted in the rows."""
    options = {"random_state": 0} | options
    model = AsymmetricClustering(4, axis=axis, **options).fit(oriented(X, axis))
    return adjusted_rand_score(truth.labels, model.labels_)


@every_axis
def test_recovers_planted_clusters(axis):
    truth = clusters()
    for options in (  # hard clusterings have no prior to estimate
        {"proportions": "estimated"},
        {"object_weights": "equal"},
        {"hard": True},
        {"hard": True, "object_weights": "equal"},
    ):
        assert found(truth, truth.X, axis, **options) == 1
    for X in (truth.X * 0.37, TfidfTransformer().fit_transform(truth.X) * 10):  # no counts
        assert found(truth, X, axis, hard=axis == "columns") > 0.95


def test_predictions_agree():
    X = clusters().X
    for options in ({}, {"object_weights": "equal"}, {"axis": "columns"}):
        model = AsymmetricClustering(4, random_state=0, **options).fit(X)
        np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-9)
        if options != {"axis": "columns"}:
            np.testing.assert_array_equal(model.predict_proba(X), model.transform(X))
            np.testing.assert_array_equal(model.posteriors_, model.embedding_)
            np.testing.assert_array_equal(model.predict(X), model.labels_)
            np.testing.assert_array_equal(model.posteriors_.argmax(axis=1), model.labels_)


def test_clusters_of_columns_do_not_predict_rows():
    truth = clusters()
    X = oriented(truth.X, "columns")
    model = AsymmetricClustering(4, axis="columns", random_state=0)
    np.testing.assert_array_equal(model.fit_predict(X), model.labels_)
    np.testing.assert_array_equal(model.posteriors_.argmax(axis=1), model.labels_)
    assert model.posteriors_.shape == (60, 4)
    assert model.transform(X).shape == (40, 4)
    for name in ("predict", "predict_proba"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match="axis='columns' clusters the columns"):
            getattr(model, name)


@every_axis
def test_the_search_range_of_the_temperature(axis):
    truth = clusters()
    models = []
    for factor in (1, 10):
        model = AsymmetricClustering(4, axis=axis, random_state=0)
        models.append(model.fit(oriented(truth.X * factor, axis)))
        size = factor * truth.X.sum() / 60
        betas = np.array([probe.beta for probe in model.tuning_])
        assert (betas > 2 / size).all()
        assert (betas < 20 / size).all()
        first, second = betas[1:3] if axis == "rows" else betas[:2]  # of rows, after the usual one
        assert first * second == pytest.approx(2 * 20 / size**2)  # symmetric in the logarithm
        assert model.beta_ in betas
        assert np.ptp(model.components_, axis=0).max() > 0.05  # not collapsed
    assert 4 < models[0].beta_ / models[1].beta_ < 25


@every_weighting
def test_annealing_splits_clusters_until_all_are_separate(axis, object_weights):
    X = oriented(clusters().X, axis)
    options = {"axis": axis, "object_weights": object_weights, "beta": 0.2, "random_state": 0}
    annealed = AsymmetricClustering(4, annealing=1.2, **options).fit(X)
    model = KINDS[axis](4, object_weights=object_weights)
    critical = model.critical_beta(CSRCounts(occupied(X).astype(float)))
    assert separate(annealed.splits_) == {(0,), (1,), (2,), (3,)}
    splits = [split.beta for split in annealed.splits_]
    assert splits == sorted(splits)
    assert critical <= splits[0]
    betas = np.unique([record.beta for record in annealed.history_])
    assert (betas[0], betas[-1]) == (pytest.approx(critical), 0.2)
    assert (betas[1:] / betas[:-1]).max() < 1.2 + 1e-9
    random = AsymmetricClustering(4, **options).fit(X)
    assert annealed.objective_ == pytest.approx(random.objective_, rel=1e-3)
    assert annealed.beta_ == random.beta_
    assert not hasattr(random, "splits_")


NESTED = [np.arange(60) // 2, np.arange(60) // 4]


REFUSED = [
    ({"coarsening": [np.arange(59)]}, "grouping of 59 rows, but X has 60"),
    ({"coarsening": NESTED[::-1]}, "nested, finest grouping first"),
    ({"coarsening": [NESTED[0], np.arange(60) // 3]}, "nested, finest grouping first"),
    ({"coarsening": [np.zeros((60, 2))]}, "1d arrays of int"),
    ({"coarsening": NESTED, "axis": "columns"}, "needs axis='rows'"),
    ({"coarsening": "pixels"}, "'coarsening' parameter"),
    ({"coarsening": NESTED, "object_weights": "equal"}, "needs object_weights='counts'"),
    ({"hard": True, "annealing": 1.5}, "needs annealing=None"),
    ({"hard": True, "proportions": "estimated"}, "set proportions='uniform'"),
    ({"annealing": 1}, "'annealing' parameter"),
    ({"axis": 0}, "'axis' parameter"),
    ({"axis": "both"}, "'axis' parameter"),
    ({"object_weights": "sizes"}, "'object_weights' parameter"),
    ({"proportions": "equal"}, "'proportions' parameter"),
    ({"n_clusters": 0}, "'n_clusters' parameter"),
    ({"beta": 1.5, "object_weights": "counts"}, r"'beta' parameter .* must be .*\(0.0, 1.0\]"),
    ({"beta": np.inf, "object_weights": "equal"}, r"'beta' parameter .* must be .*\(0.0, inf\)"),
    ({"leave_one_out": True, "hard": True}, "needs hard=False"),
    ({"leave_one_out": True, "axis": "columns"}, "needs axis='rows'"),
    ({"leave_one_out": True, "object_weights": "equal"}, "needs object_weights='counts'"),
    ({"leave_one_out": True, "coarsening": NESTED}, "needs coarsening=None"),
    ({"leave_one_out": True, "annealing": 1.1}, "needs annealing < 1, or None"),
]


def test_bad_parameters_are_refused_before_any_work(monkeypatch):
    def fail(*arguments):
        raise AssertionError

    for model in KINDS.values():
        monkeypatch.setattr(model, "start", fail)
        monkeypatch.setattr(model, "expect", fail)
    for options, message in REFUSED:
        model = AsymmetricClustering(**{"n_clusters": 4, "beta": 0.1} | options)
        refused(message, model.fit, clusters().X)
        assert not hasattr(model, "components_")


NO_SLOPE = {"bound falls": NO_PROOF["bound falls"], "literal slope": "there is no such objective"}
SKIP = PRIOR | NO_SLOPE
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


def test_em_ends_ten_iterations_after_its_least_objective_and_not_where_it_rises():
    X = planted(6, 2500, kind="clusters", n_rows=80, n_columns=60).X
    model = PredictiveClusters(RowClusters(20))
    counts = CSRCounts(X.astype(float))
    start = left_out_start(model, counts, np.random.default_rng(0), PlainRunner())
    fit = run(model, counts, start, beta=0.5, n_iter=200, tol=1e-6)
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
    train, test = split_counts(TABLE.X, random_state=0)
    left_out, plain = (
        AsymmetricClustering(
            20, leave_one_out=how, proportions="uniform", beta=0.4, random_state=0
        ).fit(train)
        for how in (True, False)
    )
    assert left_out.perplexity(Dyads(test)) < 0.97 * plain.perplexity(Dyads(test))
    found, before = (adjusted_rand_score(TABLE.labels, m.labels_) for m in (left_out, plain))
    assert found > before


def test_new_rows_are_folded_in_by_plain_em():
    options = {"beta": 0.3, "leave_one_out": True, "random_state": 0, "max_iter": 20}
    model = AsymmetricClustering(10, **options).fit(TABLE.X)
    B, X = model.components_, TABLE.X[:7].toarray()
    scores = np.exp(0.3 * (X @ np.log(B).T)) * model.weights_
    expected = scores / scores.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(TABLE.X[:7]), expected, atol=1e-6)
    assert np.abs(model.posteriors_ - model.predict_proba(TABLE.X)).max() > 1e-3


def test_goes_on_where_it_was_and_falls_in_temperature():
    options = {"leave_one_out": True, "random_state": 0, "max_iter": 8, "tol": 1e-3}
    model = AsymmetricClustering(3, beta=0.3, warm_start=True, **options).fit(TABLE.X)
    assert not hasattr(model, "partial_fit")
    before = model.objective_
    assert model.fit(TABLE.X).objective_ < before * 1.001
    decreasing_beta = AsymmetricClustering(3, beta=0.5, annealing=0.5, **options).fit(TABLE.X)
    assert decreasing_beta.beta_ == 0.5


SOFT = 3.0, 6.0  # per unit of divergence

NOISE = np.random.default_rng(0).poisson(0.8, (11, 9)) + 0.05
ENDS = "at beta = 1 the clusters are the same: twins that forget the power end there"
CASES |= {
    "rows, of distributions": ModelCase(
        From(RowClusters(2, object_weights="equal"), lambda X: random_clusters("rows", 2, X)),
        LiteralDistributions(),
        SOFT,
        conditional(NOISE),
        {"literal slope": ENDS},
    )
}

TRUTH = make_cooccurrences(60, 40, n_components=4, kind="clusters", random_state=0)
COUNTS = sp.csr_array(TRUTH.X, dtype=float)
ROWS = sp.csr_array(conditional(COUNTS.toarray()))
UNIT = COUNTS.sum() / 60  # observations of a row


def fitted(X, **options):
    options = {"object_weights": "equal", "random_state": 0} | options
    return AsymmetricClustering(4, **options).fit(X if options.get("axis") != "columns" else X.T)


def agreement(X, **options):
    return adjusted_rand_score(TRUTH.labels, fitted(X, **options).labels_)


@every_axis
def test_clusters_are_found_in_rows_of_any_sum(axis):
    for X in (COUNTS, ROWS, 1e-3 * ROWS, ROWS.astype(np.float32)):
        assert agreement(X, axis=axis, hard=axis == "rows") == 1


def test_temperatures_up_to_one_find_no_clusters_in_distributions(monkeypatch):
    monkeypatch.setattr(RowClusters, "largest_beta", 1.0)
    with pytest.warns(UserWarning, match="equal the unigram"):
        assert agreement(ROWS) < 0.7
    assert agreement(COUNTS) == 1


def test_clusters_never_come_apart_below_one_for_a_unit_of_divergence():
    """Growth rates of small differences are shares of inertia: at most one."""
    apart = np.kron(np.eye(3), np.full((4, 5), 0.2))
    for axis, kind in KINDS.items():
        tables = (CSRCounts(sp.csr_array(P if axis == "rows" else P.T)) for P in (ROWS, apart))
        betas = [kind(4, object_weights="equal").critical_beta(X) for X in tables]
        assert betas[0] > 1.01
        assert betas[1] == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize(("axis", "beta"), [("rows", SOFT[0]), ("columns", SOFT[1])])
def test_a_temperature_is_that_of_the_divergence(axis, beta):
    """beta times the mean sum of an object is per unit of divergence, whatever that sum is."""
    one, other = (
        fitted(X, axis=axis, beta=beta / unit, solver=1.0, max_iter=400, tol=0.0)
        for X, unit in ((COUNTS, UNIT), (ROWS, 1.0))
    )
    order = linear_sum_assignment(-one.posteriors_.T @ other.posteriors_)[1]  # starts may differ
    np.testing.assert_allclose(one.posteriors_, other.posteriors_[:, order], atol=1e-9)
    if axis == "rows":
        np.testing.assert_allclose(one.components_, other.components_[order], atol=1e-9)
        assert one.objective_ == pytest.approx(UNIT * other.objective_)
        folded_in = other.transform(COUNTS)[:, order]
        np.testing.assert_allclose(one.transform(ROWS), folded_in, atol=1e-9)


@every_axis
def test_the_same_temperatures_are_looked_for(axis):
    tried = [
        sorted(unit * probe.beta for probe in fitted(X, axis=axis).tuning_)
        for X, unit in ((COUNTS, UNIT), (ROWS, 1.0))
    ]
    for betas in tried:
        assert 2 <= betas[0] < betas[-1] <= 20
    assert {round(beta, 6) for beta in tried[0]} & {round(beta, 6) for beta in tried[1]}


def test_rows_and_columns_that_are_independent_have_a_finite_temperature():
    alike = np.outer(np.ones(6), [0.5, 0.25, 0.25])
    with pytest.warns(UserWarning, match="Use a larger beta"):
        model = fitted(alike)
    assert np.isfinite(model.beta_)
    np.testing.assert_allclose(model.components_, alike[:4])
    hard = fitted(alike, hard=True)
    np.testing.assert_allclose(hard.components_[hard.labels_], alike)


def test_both_forms_predict_the_same_observations_alike():
    train, test = CSRCounts(COUNTS).divide(0.1, seed=0)
    rows = sp.csr_array(conditional(train.table.toarray()))
    perplexities = [fitted(X).perplexity(Dyads(test.table)) for X in (train.table, rows)]
    assert perplexities[0] == pytest.approx(perplexities[1], rel=0.02)


UNEQUAL = make_cooccurrences(80, 40, n_components=3, kind="clusters", random_state=0)
LENGTHS = np.random.default_rng(0).geometric(0.15, 80).astype(float)


def test_a_row_of_no_weight_does_not_fill_an_empty_cluster():
    """It may be the one that is explained worst; then the next one does."""
    X = np.array([[9.0, 1, 0, 0, 0], [8, 2, 0, 0, 0], [1, 1, 6, 2, 0], [0, 0, 0, 9, 0]])
    components = np.column_stack([X.sum(axis=0) / X.sum(), np.eye(5)[4]])  # no row has the last
    alone = X / X.sum(axis=1, keepdims=True)
    gains = xlogy(X, alone * X.sum() / X.sum(axis=0).clip(1)).sum(axis=1)
    for n_weightless in range(3):
        *weightless, row = np.argsort(-gains)[: n_weightless + 1]
        weights = np.ones(4)
        weights[weightless] = 0
        counts, model = CSRCounts(sp.csr_array(X), weights), RowClusters(2, hard=True)
        params, rows = model.start(counts, np.random.default_rng(0))
        params = params._replace(components=components)
        assigned, stats = model.expect(counts, params, rows, 1.0)
        np.testing.assert_array_equal(assigned[:, 0], 1)
        np.testing.assert_array_equal(stats.spare, X[row])
        moved = model.maximize(stats, params, 1.0).components[:, 1]
        np.testing.assert_allclose(moved, X[row] / X[row].sum())


def test_weights_of_rows_differ_only_where_lengths_do():
    """Rows scaled to one length have the same clusters by all weights."""
    X = UNEQUAL.X.toarray().astype(float)
    even = sp.csr_array(X * (50 / X.sum(axis=1))[:, None])
    uneven = sp.csr_array(even.toarray() * LENGTHS[:, None])
    for table, same in ((even, True), (uneven, False)):
        counts, sqrt, equal = (
            AsymmetricClustering(3, object_weights=how, beta=0.02, random_state=0).fit(table)
            for how in ("counts", "sqrt", "equal")
        )
        for other in (sqrt, equal):
            found = np.allclose(counts.components_, other.components_, atol=1e-6)
            assert found is same


def test_weights_are_factors_of_the_counts_of_rows():
    """A fit with weights is one of the table whose rows are divided by the root of their sums."""
    X = UNEQUAL.X.toarray() * LENGTHS[:, None]
    sizes = X.sum(axis=1)
    scaled = X / np.sqrt(sizes)[:, None] * sizes.sum() / np.sqrt(sizes).sum()
    for kind, K in ((AsymmetricClustering, (3,)), (SymmetricClustering, (3, 4))):
        options = {"beta": 0.01, "solver": 1.0, "tol": 1e-9, "max_iter": 300, "random_state": 0}
        weighted = kind(*K, object_weights="sqrt", **options).fit(X)
        plain = kind(*K, object_weights="counts", **options).fit(scaled)
        assert adjusted_rand_score(weighted.labels_, plain.labels_) == 1
        assert weighted.objective_ == pytest.approx(plain.objective_, rel=1e-3)


def test_the_default_weighs_rows_by_the_root_of_their_tokens():
    X, short = UNEQUAL.X, {"max_iter": 5, "random_state": 0}
    model = AsymmetricClustering(3, **short).fit(X)
    assert model.object_weights_ == "sqrt"
    order = np.random.default_rng(1).permutation(80)
    again = AsymmetricClustering(3, object_weights="sqrt", beta=model.beta_, **short).fit(X)
    assert adjusted_rand_score(again.predict(X[order]), again.labels_[order]) == 1
    for options in (
        {"hard": True},
        {"axis": "columns"},
        {"leave_one_out": True, "beta": 0.3},
        {"annealing": 1.5, "beta": 0.3},
        {"coarsening": [np.arange(80) // 2]},
        {"coarsening": []},
    ):
        assert AsymmetricClustering(3, **options, **short).fit(X).object_weights_ == "counts"


SYMMETRIC_REFUSED = (
    {"tied": True, "hard": True},
    {"annealing": 0.5},
    {"coarsening": [np.arange(80) // 2]},
)


def test_weights_that_a_co_clustering_cannot_have_are_refused():
    for options in SYMMETRIC_REFUSED:
        for weights in ("sqrt", "equal"):
            model = SymmetricClustering(3, 3, object_weights=weights, **options)
            refused("needs object_weights='counts'", model.fit, UNEQUAL.X)
    refused("'object_weights' parameter", SymmetricClustering(3, 3, object_weights="x").fit, ROWS)
