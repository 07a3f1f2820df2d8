"""Phase transitions: where the unigram becomes unstable, and what annealing makes of it."""

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc import AspectModel, ClusteringProjection, ProductSpaceMixture, SymmetricClustering
from skcooc.counts import CSRCounts
from skcooc.equations import aspects
from skcooc.equations.aspects import Aspects
from skcooc.equations.coclusters import CoClusters
from skcooc.equations.row_clusters import RowClusters
from tests.equations import literal_aspects as of_aspects
from tests.equations import literal_product_aspects as of_products
from tests.equations.literal_coclusters import state_of
from tests.equations.running import step
from tests.tables import planted, random_table

X = planted(3, 3000, n_rows=30, n_columns=25).X.astype(float)
CRITICAL = Aspects(3).critical_beta(CSRCounts(X))
both_temperings = pytest.mark.parametrize("tempering", ["joint", "likelihood"])


def correlation(X):
    """The largest singular value of the table, less what margins predict, over their roots."""
    n = X.toarray()
    margins = np.outer(n.sum(axis=1), n.sum(axis=0))
    table = np.divide(n - margins / n.sum(), np.sqrt(margins), where=margins > 0, out=0 * n)
    return np.linalg.svd(table, compute_uv=False)[0]


def growth(literal_step, pi, beta, tempering, n_steps=50):
    """By what a small difference of components from the unigram grows in a literal step."""
    n, (C, D) = X.toarray(), (len(pi), pi.shape[-1])
    p, u = n.sum(axis=1) / n.sum(), n.sum(axis=0) / n.sum()
    noise = 1e-6 * u[:, None] * np.random.default_rng(0).standard_normal((len(u), D))
    p, q = np.tile(p[:, None], C), u[:, None] + noise - u[:, None] * noise.sum(axis=0)
    sizes = []
    for _ in range(n_steps):
        pi, p, q = literal_step(n, pi, p, q, beta, tempering)
        sizes.append(np.abs(q - q.mean(axis=1, keepdims=True)).sum())
    return sizes[-1] / sizes[-2]


@both_temperings
def test_aspects_coincide_below_the_critical_beta_and_separate_above(tempering):
    for times in (0.9, 1.0, 1.1):
        grown = growth(of_aspects.literal_step, np.full(2, 0.5), times * CRITICAL, tempering)
        assert grown == pytest.approx(times, rel=2e-3)


def test_aspects_separate_earlier_if_one_factor_alone_is_tempered():
    """The broken twin, P(x given z) P(y given z)^beta."""

    def twin(n, pi, p, q, beta, tempering):
        return of_aspects.literal_step(n, pi, p ** (1 / beta), q, beta, tempering)

    assert growth(twin, np.full(2, 0.5), 0.9 * CRITICAL, "joint") > 1.1


def test_the_critical_beta_follows_from_the_canonical_correlation():
    table, weights = random_table(), np.arange(12) % 3
    for given, repeated in ((None, table), (weights, table[np.repeat(np.arange(12), weights)])):
        found = Aspects(3).critical_beta(CSRCounts(table, given))
        assert found == pytest.approx(1 / (1 + correlation(sp.csr_array(repeated))), rel=1e-3)
    table = sp.csr_array(np.outer([1.0, 2, 3], [2.0, 1]))
    assert Aspects(3).critical_beta(CSRCounts(table)) == pytest.approx(1.0, abs=1e-4)


def test_pairs_of_aspects_separate_by_the_correlation_of_both_sides():
    noise = np.random.default_rng(1).dirichlet(np.ones(9)).reshape(3, 3)
    for diagonal in (0.0, 0.9):
        pi = diagonal * np.eye(3) / 3 + (1 - diagonal) * noise
        margins = np.outer(pi.sum(axis=1), pi.sum(axis=0))
        r = np.linalg.svd(pi / np.sqrt(margins), compute_uv=False)[1]
        grown = growth(of_products.literal_step, pi, 0.6, "likelihood", 40)
        assert grown == pytest.approx(0.6 * (1 + r * correlation(X)), rel=5e-3)
        assert growth(of_products.literal_step, pi, 0.6, "joint", 20) < 0.95


def test_a_single_pair_of_clusters_never_splits():
    """A difference decays to third order: half of it to an eighth."""
    left, rng = [], np.random.default_rng(0)
    noise = [rng.uniform(-1, 1, (size, 2)) for size in X.shape]
    for amount in (1e-2, 5e-3):
        sides = [0.5 + amount * (side - side.mean(axis=1, keepdims=True)) for side in noise]
        state, _, _ = step(CoClusters(2, 2), X, state_of(X, *sides), 1.0)
        left.append(np.abs(state.rows - 0.5).max())
    assert left[0] < 1e-3
    assert left[0] / left[1] == pytest.approx(8, rel=0.01)


def test_annealed_aspects_split_until_all_are_apart_and_lie_as_low_as_random_ones():
    options = {"beta": 0.85, "component_prior": 0.0, "tol": 1e-8, "random_state": 0}
    annealed = AspectModel(3, annealing=1.05, **options).fit(X)
    parts = {(0, 1, 2)}
    for split in annealed.splits_:
        parts.remove(tuple(sorted(sum(split.parts, ()))))
        parts.update(split.parts)
    assert parts == {(0,), (1,), (2,)}
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
    large = planted(4, 4000, n_rows=150, n_columns=300).X.astype(float)
    first = AspectModel(2, beta=0.8, annealing=1.05, random_state=0).fit(large).splits_[0].beta
    assert latest - 0.1 < first / Aspects(2).critical_beta(CSRCounts(large)) < latest


def test_joined_aspects_are_the_mean_of_their_parts():
    model = Aspects(3)
    params, _ = model.start(CSRCounts(X), np.random.default_rng(0))
    params = params._replace(weights=np.array([0.1, 0.3, 0.6]))
    joined = model.mixed(params, np.array([[1.0, 0], [1, 0], [0, 1]]))
    np.testing.assert_allclose(joined.weights, [0.4, 0.6])
    np.testing.assert_allclose(
        joined.components @ joined.weights, params.components @ params.weights
    )
    np.testing.assert_allclose(joined.components[:, 1], params.components[:, 2])


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


@pytest.mark.filterwarnings("ignore:EM did not converge")
@pytest.mark.parametrize("model", [ProductSpaceMixture, SymmetricClustering])
def test_the_starts_of_two_sided_models_rise_from_their_critical_temperatures(model, temperatures):
    model(3, 3, beta=0.9, annealing=1.1, random_state=0, max_iter=2).fit(X)
    kind = Aspects if model is ProductSpaceMixture else RowClusters
    assert temperatures[0] == kind(3).critical_beta(CSRCounts(X))
    assert temperatures == sorted(temperatures)
    assert temperatures[-1] > 1.3 * temperatures[0]


def test_two_sided_models_begin_with_annealed_ones():
    """Which start at the same place whatever the seed, but for the names of components."""
    for make, beta in ((ProductSpaceMixture, 0.9), (SymmetricClustering, 0.3)):
        options = {"beta": beta, "tol": 1e-9, "max_iter": 300}
        found = [make(3, 3, annealing=1.1, random_state=s, **options).fit(X) for s in range(3)]
        random = [make(3, 3, random_state=s, **options).fit(X).objective_ for s in range(5)]
        objectives = [model.objective_ for model in found]
        assert np.ptp(objectives) < 1e-3 * np.abs(objectives).max()
        assert np.median(objectives) <= np.median(random) + 1e-3 * abs(random[0])


def moves_in_a_literal_step(model):
    """By what another step at the temperature of a fit would change the components."""
    n = X.toarray()
    given = of_aspects.parameters(n, *model._state)
    q = of_aspects.literal_step(n, *given, model.beta_, "joint")[2]
    return np.abs(q.T - model.components_).max()


def test_what_falls_ends_at_a_stationary_point_of_its_last_temperature():
    options = {"annealing": 0.9, "tol": 1e-13, "max_iter": 3000, "random_state": 0}
    model = AspectModel(3, beta=0.8, component_prior=0.0, **options).fit(X)
    betas = np.unique([record.beta for record in model.history_])
    assert (betas[0], betas[-1], len(betas)) == (0.8, 1.0, 4)
    assert not hasattr(model, "splits_")
    assert moves_in_a_literal_step(model) < 1e-5
    model.beta_ = betas[1]  # a broken twin that stops before the last
    assert moves_in_a_literal_step(model) > 1e-3


def test_tempered_em_keeps_the_temperature_that_predicted_best(temperatures):
    sparse = planted(6, 5000, n_rows=80, n_columns=60).X
    options = {"annealing": 0.9, "early_stopping": True, "random_state": 0}
    model = AspectModel(12, beta=0.4, **options).fit(sparse)
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
        with pytest.raises(ValueError, match=message):
            model.fit(X)
        assert not hasattr(model, "components_")
