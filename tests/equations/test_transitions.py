import numpy as np
import pytest
import scipy.sparse as sp

from skcooc import AspectModel, ClusteringProjection, ProductSpaceMixture, SymmetricClustering
from skcooc.counts import CSRCounts
from skcooc.equations import aspects
from skcooc.equations.aspects import Aspects
from skcooc.equations.row_clusters import RowClusters
from tests.equations import literal_aspects as of_aspects
from tests.equations.running import separate
from tests.tables import occupied, planted, random_table, refused

X = occupied(planted(3, 3000, n_rows=30, n_columns=25).X.astype(float))
CRITICAL = Aspects(3).critical_beta(CSRCounts(X))


def correlation(X):
    """The largest singular value of the table, less what margins predict, over their roots."""
    n = X.toarray()
    margins = np.outer(n.sum(axis=1), n.sum(axis=0))
    table = np.divide(n - margins / n.sum(), np.sqrt(margins), where=margins > 0, out=0 * n)
    return np.linalg.svd(table, compute_uv=False)[0]


def growth(beta, tempering, q_alone=False):
    """Factor by which small differences of components grow in a literal step.

    The broken twin tempers P(y given z) alone.
    """
    n, pi = X.toarray(), np.full(2, 0.5)
    p, u = n.sum(axis=1) / n.sum(), n.sum(axis=0) / n.sum()
    noise = 1e-6 * u[:, None] * np.random.default_rng(0).standard_normal((len(u), 2))
    p, q = np.tile(p[:, None], 2), u[:, None] + noise - u[:, None] * noise.sum(axis=0)
    sizes = []
    for _ in range(50):
        p = p ** (1 / beta) if q_alone else p
        pi, p, q = of_aspects.literal_step(n, pi, p, q, beta, tempering)
        sizes.append(np.abs(q - q.mean(axis=1, keepdims=True)).sum())
    return sizes[-1] / sizes[-2]


def test_aspects_coincide_below_the_critical_beta_and_separate_above():
    for times, tempering in ((0.9, "joint"), (1.0, "likelihood"), (1.1, "joint")):
        assert growth(times * CRITICAL, tempering) == pytest.approx(times, rel=2e-3)
    assert growth(0.9 * CRITICAL, "joint", q_alone=True) > 1.1


def test_the_critical_beta_follows_from_the_canonical_correlation():
    table, weights = random_table(), np.arange(12) % 3
    for given, repeated in ((None, table), (weights, table[np.repeat(np.arange(12), weights)])):
        found = Aspects(3).critical_beta(CSRCounts(table, given))
        assert found == pytest.approx(1 / (1 + correlation(sp.csr_array(repeated))), rel=1e-3)
    table = sp.csr_array(np.outer([1.0, 2, 3], [2.0, 1]))
    assert Aspects(3).critical_beta(CSRCounts(table)) == pytest.approx(1.0, abs=1e-4)


def test_annealed_aspects_split_until_all_are_apart_and_lie_as_low_as_random_ones():
    options = {"beta": 0.85, "component_prior": 0.0, "tol": 1e-8, "random_state": 0}
    annealed = AspectModel(3, annealing=1.05, **options).fit(X)
    assert separate(annealed.splits_) == {(0,), (1,), (2,)}
    splits = [split.beta for split in annealed.splits_]
    betas = [record.beta for record in annealed.history_]
    assert CRITICAL < splits[0] < 1.3 * CRITICAL
    assert splits == sorted(splits)
    assert (betas[0], betas[-1]) == (pytest.approx(CRITICAL), 0.85)
    assert annealed.beta_ == 0.85
    random = [
        AspectModel(3, **options | {"random_state": seed}).fit(X).objective_ for seed in range(5)
    ]
    assert annealed.objective_ <= np.median(random) * (1 + 1e-6)


@pytest.mark.parametrize(("noise", "latest"), [(aspects.MORE_NOISE, 1.1), (1.0, 1.3)])
def test_splits_are_found_soon_but_not_with_the_noise_of_clusters(noise, latest, monkeypatch):
    monkeypatch.setattr(aspects, "MORE_NOISE", noise)
    large = occupied(planted(4, 4000, n_rows=150, n_columns=300).X.astype(float))
    first = AspectModel(2, beta=0.8, annealing=1.05, random_state=1).fit(large).splits_[0].beta
    assert latest - 0.1 < first / Aspects(2).critical_beta(CSRCounts(large)) < latest


@pytest.fixture
def temperatures(monkeypatch):
    """Inverse temperatures of all E-steps of aspects and of clusters of rows."""
    seen = []

    def watched(expect):
        def watching(self, X, params, rows, beta):
            seen.append(beta)
            return expect(self, X, params, rows, beta)

        return watching

    for kind in (Aspects, RowClusters):
        monkeypatch.setattr(kind, "expect", watched(kind.expect))
    return seen


@pytest.mark.parametrize("model", [ProductSpaceMixture, SymmetricClustering])
def test_the_starts_of_two_sided_models_rise_from_their_critical_temperatures(model, temperatures):
    model(3, 3, beta=0.9, annealing=1.1, random_state=0, max_iter=2).fit(X)
    kind = Aspects if model is ProductSpaceMixture else RowClusters
    assert temperatures[0] == kind(3).critical_beta(CSRCounts(X))
    assert temperatures == sorted(temperatures)
    assert temperatures[-1] > 1.3 * temperatures[0]


def moves_in_a_literal_step(model):
    """By what another step at the temperature of a fit would change the components."""
    n = X.toarray()
    given = of_aspects.parameters(n, *model._state)
    q = of_aspects.literal_step(n, *given, model.beta_, model.tempering_)[2]
    return np.abs(q.T - model.components_).max()


def test_what_falls_ends_at_a_stationary_point_of_its_last_temperature():
    options = {"annealing": 0.9, "tol": 1e-13, "max_iter": 3000, "random_state": 0}
    options["tempering"] = "joint"  # the distinctive prior has an objective that may rise
    model = AspectModel(3, beta=0.8, component_prior=0.0, **options).fit(X)
    betas = np.unique([record.beta for record in model.history_ if record.stage == "fit"])
    assert (betas[0], betas[-1], len(betas)) == (0.8, 1.0, 4)
    assert not hasattr(model, "splits_")
    assert moves_in_a_literal_step(model) < 1e-5
    model.beta_ = betas[1]  # a broken twin that stops before the last
    assert moves_in_a_literal_step(model) > 1e-3


def test_tempered_em_keeps_the_temperature_that_predicted_best(temperatures):
    sparse = planted(6, 5000, n_rows=80, n_columns=60).X
    options = {"annealing": 0.9, "early_stopping": True, "random_state": 0}
    model = AspectModel(10, beta=0.4, **options).fit(sparse)
    scores = {}
    for record in model.history_:
        known = scores.get(record.beta, np.inf)
        scores[record.beta] = min(known, record.validation_perplexity)
    assert temperatures[-1] == model.beta_
    assert model.beta_ == min(scores, key=scores.get) == list(scores)[-2]
    assert 0.4 < (found := model.beta_) < 1
    assert model.set_params(warm_start=True).fit(sparse).beta_ == found
    assert model.set_params(beta=0.7).fit(sparse).beta_ == 0.7


REFUSED = [
    (AspectModel(3, leave_one_out=True, annealing=1.1), "annealing < 1, or None"),
    (AspectModel(3, annealing=1.0), "'annealing' parameter of AspectModel"),
    (AspectModel(3, annealing=0), "'annealing' parameter of AspectModel"),
    (ProductSpaceMixture(3, 3, annealing=-1.0), "'annealing' parameter of ProductSpaceMixture"),
    (SymmetricClustering(3, 3, annealing=1.1, hard=True), "needs annealing=None"),
    (ClusteringProjection(3, 3, annealing=1.1), r"in the range \(0.0, 1.0\) or None"),
]


def test_bad_annealings_are_refused():
    for model, message in REFUSED:
        refused(message, model.fit, X)
        assert not hasattr(model, "components_")


def test_merged_aspects_are_the_mean_of_their_parts():
    model = Aspects(3)
    params, _ = model.start(CSRCounts(X), np.random.default_rng(0))
    params = params._replace(weights=np.array([0.1, 0.3, 0.6]))
    merged = model.mix_components(params, np.array([[1.0, 0], [1, 0], [0, 1]]))
    np.testing.assert_allclose(merged.weights, [0.4, 0.6])
    np.testing.assert_allclose(
        merged.components @ merged.weights, params.components @ params.weights
    )
    np.testing.assert_allclose(merged.components[:, 1], params.components[:, 2])
