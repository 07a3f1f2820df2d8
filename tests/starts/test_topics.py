import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.preprocessing import normalize

from skcooc import AspectModel
from skcooc.base.attributes import is_collapsed
from skcooc.counts import CSRCounts
from skcooc.datasets import make_cooccurrences
from skcooc.em.stages import PlainRunner, equations_start
from skcooc.equations.aspects import Aspects
from skcooc.equations.product_aspects import ProductAspects
from skcooc.simplex import hellinger
from skcooc.starts import topics
from skcooc.starts.clusters import short_start
from skcooc.starts.topics import product_start, topic_start
from tests.equations.literal_product_aspects import random_state
from tests.equations.running import run
from tests.equations.test_product_aspects import blocks
from tests.tables import planted


def programmes(seed):
    """Counts of rows that mostly are of one of eight aspects, which differ in a few columns."""
    rng = np.random.default_rng(seed)
    levels = np.tile(rng.gamma(1.0, size=160), (8, 1))
    levels[rng.random(levels.shape) < 0.06] *= 5
    mixtures = rng.dirichlet(np.full(8, 0.15), 200)
    return rng.poisson(300 * mixtures @ normalize(levels, "l1")).astype(float), mixtures


def worst_found():
    for seed in range(5):
        X, mixtures = programmes(seed)
        found = AspectModel(8, beta=1.0, tol=1e-4, random_state=seed).fit(X).embedding_
        both = np.corrcoef(mixtures.T, found.T)[:8, 8:]
        yield both[linear_sum_assignment(-both)].min()


def test_initial_clusters_recover_planted_aspects(monkeypatch):
    assert np.median(list(worst_found())) > 0.8
    monkeypatch.setattr("skcooc.estimators.aspect.topic_start", equations_start)
    assert np.median(list(worst_found())) < 0.5


def test_topics_of_a_large_table_are_merged_in_a_sample_of_its_rows(monkeypatch):
    data = make_cooccurrences(1000, 60, 4, n_tokens=100_000, random_state=0)
    shapes = []

    def start_of(X, n_non_zeros):
        monkeypatch.setattr(topics, "SAMPLED_WORK", n_non_zeros)
        monkeypatch.setattr(topics, "ROWS_OF_A_TOPIC", 25)
        return topic_start(Aspects(4), X, np.random.default_rng(0), PlainRunner())

    def recorded(model, X, *rest):
        shapes.append(X.shape)
        return short_start(model, X, *rest)

    monkeypatch.setattr(topics, "short_start", recorded)
    counts = sp.csr_array(data.X.astype(float))
    params, rows = start_of(CSRCounts(counts), counts.nnz // 5 + 1)
    assert len(rows) == 1000
    distances = hellinger(np.vstack([params.components.T, data.components]))[:4, 4:]
    assert distances[linear_sum_assignment(distances)].max() < 0.15
    order = np.random.default_rng(1).permutation(1000)
    mixed = CSRCounts(counts[order], np.ones(1000))
    np.testing.assert_array_equal(
        start_of(mixed, counts.nnz // 5 + 1)[0].components, params.components
    )
    start_of(CSRCounts(counts), 1)
    start_of(CSRCounts(counts), counts.nnz)
    assert shapes == [(200, 60), (200, 60), (100, 60), (1000, 60)]


def test_no_component_begins_with_a_zero():
    """A prior takes logarithms, and empty columns may get tokens in a warm start."""
    X = CSRCounts(sp.csr_array([[3.0, 1, 0], [1, 4, 0], [0, 2, 0]]))
    params, rows = topic_start(Aspects(2), X, np.random.default_rng(0), PlainRunner())
    assert params.components.min() > 0
    np.testing.assert_allclose(params.components.sum(axis=0), 1)
    np.testing.assert_array_equal(rows, np.full((3, 2), 0.5))


def test_starts_do_not_collapse_where_random_ones_do():
    for tempering, concentration, sizes in (
        ("joint", 0.1, (5, 6)),
        ("likelihood", 1.0, (6, 6)),
        ("likelihood", 1.0, (6, 4)),
    ):
        X = sp.csr_array(planted(6, 6000, concentration=concentration).X.astype(float))
        model = ProductAspects(*sizes, tempering)

        def ends_collapsed(state, model=model, X=X):
            fit = run(model, X, state, beta=0.85, n_iter=300)
            components = model.factors(fit.params, fit.rows)[1].T
            return is_collapsed(components, fit.params.weights, X.shape[0])

        start = product_start(model, CSRCounts(X), np.random.default_rng(0), PlainRunner())
        assert not ends_collapsed(start)
        assert ends_collapsed(random_state(X.toarray(), sizes))


@pytest.mark.parametrize("sizes", [(3, 3), (2, 4), (4, 2)])
def test_no_pair_of_components_begins_with_a_zero(sizes):
    """One that does could never get a token, as EM multiplies."""
    X = CSRCounts(blocks()[0])
    model = ProductAspects(*sizes)
    params, _ = product_start(model, X, np.random.default_rng(0), PlainRunner())
    independent = np.outer(params.joint.sum(axis=1), params.joint.sum(axis=0))
    assert (params.joint > 0.01 * independent).all()
    assert np.abs(params.joint - independent).max() > 0.05
    assert params.joint.sum() == pytest.approx(1)


def test_starts_merge_the_aspects_that_are_alike():
    """Of three kinds of rows, two use nearly the same columns: they have one component."""
    one, other = np.random.default_rng(0).dirichlet(np.ones(30), 2)
    kinds = np.stack([one, 0.8 * one + 0.2 * np.roll(one, 1), other])
    X = CSRCounts(sp.csr_array(np.round(1000 * np.repeat(kinds, 8, axis=0))))
    _, A = product_start(ProductAspects(2, 3), X, np.random.default_rng(0), PlainRunner())
    labels = A.argmax(axis=1).reshape(3, 8)
    assert (labels[:2] == labels[0, 0]).all()
    assert (labels[2] != labels[0, 0]).all()


def mixed_rows(concentration, seed):
    """Rows of 16 topics, of 40 columns each, and as many tokens of common columns."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, 41)
    topics = np.kron(np.eye(16), weights / weights.sum())
    sizes = rng.dirichlet(np.full(16, 15.0))
    mixtures = rng.dirichlet(concentration * 16 * sizes, 600)
    common = 1 / np.arange(1, 101)
    P = np.hstack([mixtures @ topics, np.tile(common / common.sum(), (600, 1))]) / 2
    return sp.csr_array(rng.multinomial(60, P / P.sum(axis=1, keepdims=True)))


@pytest.mark.parametrize(("concentration", "seed"), [(0.1, 7), (0.2, 0), (0.1, 0)])
def test_no_two_true_topics_share_one(concentration, seed):
    model = AspectModel(16, beta=0.85, random_state=seed).fit(mixed_rows(concentration, seed))
    shares = model.components_[:, : 16 * 40].reshape(16, 16, 40).sum(axis=2)
    masses = model.component_distribution_[:, None] * shares
    assert set(masses.argmax(axis=1)) == set(range(16))
