"""Distributional clustering: rows given as counts and as distributions are the same data."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score

from skcooc import AspectModel, AsymmetricClustering, Dyads
from skcooc.counts import CSRCounts
from skcooc.datasets import make_cooccurrences
from skcooc.equations.row_clusters import RowClusters
from skcooc.model_selection import TemperatureSearchCV
from tests.equations.literal_clusters import KINDS
from tests.equations.literal_distributional import LiteralDistributions, conditional
from tests.equations.models import HERE, From, ModelCase, random_clusters

SOFT = 3.0, 6.0  # per unit of divergence

NOISE = np.random.default_rng(0).poisson(0.8, (11, 9)) + 0.05
ENDS = "at beta = 1 the clusters are the same: twins that forget the power end there"
CASES = {
    "rows, of distributions": ModelCase(
        From(RowClusters(2, object_weights="equal"), lambda X: random_clusters("rows", 2, X)),
        LiteralDistributions(),
        SOFT,
        conditional(NOISE),
        HERE | {"literal slope": ENDS},
    )
}

TRUTH = make_cooccurrences(60, 40, n_components=4, kind="clusters", random_state=0)
COUNTS = sp.csr_array(TRUTH.X, dtype=float)
ROWS = sp.csr_array(conditional(COUNTS.toarray()))
UNIT = COUNTS.sum() / 60  # observations of a row
every_axis = pytest.mark.parametrize("axis", ["rows", "columns"])


def fitted(X, **options):
    options = {"object_weights": "equal", "n_init": 3, "random_state": 0} | options
    return AsymmetricClustering(4, **options).fit(X if options.get("axis") != "columns" else X.T)


def agreement(X, **options):
    return adjusted_rand_score(TRUTH.labels, fitted(X, **options).labels_)


@pytest.mark.parametrize(("axis", "hard"), [("rows", True), ("columns", False)])
def test_clusters_are_found_in_rows_of_any_sum(axis, hard):
    for X in (COUNTS, ROWS, 1e-3 * ROWS, ROWS.astype(np.float32)):
        assert agreement(X, axis=axis, hard=hard) == 1


def test_temperatures_up_to_one_find_no_clusters_in_distributions(monkeypatch):
    monkeypatch.setattr(RowClusters, "largest_beta", 1.0)
    with pytest.warns(UserWarning, match="are the unigram"):
        assert agreement(ROWS) < 0.7
    assert agreement(COUNTS) == 1


@every_axis
def test_clusters_never_come_apart_below_one_for_a_unit_of_divergence(axis):
    """Growth rates of small differences are shares of inertia: at most one."""
    apart = np.kron(np.eye(3), np.full((4, 5), 0.2))
    for P, least in ((ROWS, 1.01), (apart, 1.0)):
        X = CSRCounts(sp.csr_array(P if axis == "rows" else P.T))
        critical = KINDS[axis](4, object_weights="equal").critical_beta(X)
        assert critical >= least * (1 - 1e-3)
    assert critical == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize(("axis", "beta"), [("rows", SOFT[0]), ("columns", SOFT[1])])
def test_a_temperature_is_that_of_the_divergence(axis, beta):
    """beta times the mean sum of an object is per unit of divergence, whatever that sum is."""
    one, other = (
        fitted(X, axis=axis, beta=beta / unit, solver=1.0, max_iter=40, n_init=1)
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
        sorted(unit * probe.beta for probe in fitted(X, axis=axis, n_init=1).tuning_)
        for X, unit in ((COUNTS, UNIT), (ROWS, 1.0))
    ]
    for betas in tried:
        assert 2 <= betas[0] < betas[-1] <= 20
    assert {round(beta, 6) for beta in tried[0]} & {round(beta, 6) for beta in tried[1]}


def test_both_forms_predict_the_same_observations_alike():
    train, test = CSRCounts(COUNTS).divide(0.1, seed=0)
    n = train.table
    rows = sp.csr_array(conditional(n.toarray()))
    perplexities = [fitted(X).perplexity(Dyads(test.table)) for X in (n, rows)]
    assert perplexities[0] == pytest.approx(perplexities[1], rel=0.02)


def test_rows_and_columns_that_are_independent_have_a_finite_temperature():
    alike = np.outer(np.ones(6), [0.5, 0.25, 0.25])
    for hard in (False, True):
        with pytest.warns(UserWarning, match="Use a larger beta"):
            model = fitted(alike, hard=hard)
        assert np.isfinite(model.beta_)
        np.testing.assert_allclose(model.components_, alike[:4])


def test_bad_temperatures_are_refused():
    for options, limit in (
        ({"object_weights": "counts"}, r"\(0.0, 1.0\]"),
        ({"beta": np.inf}, r"\(0.0, inf\)"),
    ):
        with pytest.raises(ValueError, match=f"The 'beta' parameter of .* must be .*{limit}"):
            fitted(ROWS, **({"beta": 1.5} | options))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_searches_take_the_temperatures_of_divergences():
    model = AsymmetricClustering(4, object_weights="equal", max_iter=20, random_state=0)
    search = TemperatureSearchCV(model, betas=[0.5, 6.0], cv=2).fit(ROWS)
    assert search.best_params_["beta"] == 6.0
    for estimator, betas in ((model, [6.0, np.inf]), (AspectModel(2), [6.0])):
        with pytest.raises(ValueError, match="betas should be numbers in"):
            TemperatureSearchCV(estimator, betas=betas, cv=2).fit(ROWS)
