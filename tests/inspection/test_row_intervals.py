from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.linalg import null_space
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from skcooc import AspectModel, AsymmetricClustering, GuidedAspectModel
from skcooc.datasets import make_cooccurrences
from skcooc.inspection import mixture_intervals, row_intervals
from tests.tables import refused


def model_of(components):
    """A model with known topics, whose own mixtures of rows say nothing."""
    k = len(components)
    return SimpleNamespace(
        components_=np.asarray(components, float), embedding_=np.empty((0, k)),
        transform=lambda X: np.full((X.shape[0], k), 1 / k),
    )  # fmt: skip


def table(n_rows=60, k=3, length=40, seed=0, burstiness=None, concentration=0.3):
    return make_cooccurrences(
        n_rows, 100, k, n_tokens=n_rows * length, concentration=concentration,
        burstiness=burstiness, random_state=seed,
    )  # fmt: skip


def simplex(k, steps=200):
    """A grid of mixtures."""
    shares = np.arange(steps + 1) / steps
    grids = np.meshgrid(*[shares] * (k - 1), indexing="ij")
    grid = np.stack([*grids, 1 - sum(grids)], axis=-1).reshape(-1, k)
    return grid[grid[:, -1] > -1e-9].clip(1e-12)


def grid_interval(counts, components, topic, level=0.95):
    """The shortest interval with this part of the profile likelihood, by brute force."""
    grid = simplex(len(components))
    likelihood = np.log(grid @ components) @ counts
    profile = pd.Series(likelihood).groupby(grid[:, topic].round(6)).max()
    density = np.exp(profile - profile.max())
    best = density.sort_values(ascending=False)
    inside = best.index[: 1 + int(np.searchsorted(np.cumsum(best / best.sum()), level))]
    return inside.min(), inside.max()


@pytest.mark.parametrize(
    "mixture", [[0.4, 0.6], [0.0, 1.0], [0.5, 0.3, 0.2], [0.7, 0.3, 0.0]], ids=str
)
def test_intervals_of_long_rows_are_those_of_a_grid_of_mixtures(mixture):
    q = np.random.default_rng(3).dirichlet(np.full(30, 0.5), size=len(mixture))
    X = np.random.default_rng(4).multinomial(800, mixture @ q)[None].astype(float)
    found = mixture_intervals(model_of(q), X)
    np.testing.assert_allclose(found.mixtures[0], mixture, atol=0.07)
    for k in range(len(mixture)):
        ends = grid_interval(X[0], q, k)
        assert [found.low[0, k], found.high[0, k]] == pytest.approx(ends, abs=0.012)
        assert ends[1] - ends[0] > 0.008


def literal_parabola(counts, components, mixture, topic):
    """Mean and variance of a share, by a basis of the directions that are free."""
    free = [k for k in range(len(mixture)) if mixture[k] > 0 or k == topic]
    p, H, slope = mixture @ components, np.zeros((len(free),) * 2), np.zeros(len(free))
    for n, phi, p_j in zip(counts, components[free].T, p, strict=True):
        H += n * np.outer(phi, phi) / p_j**2
        slope += n * phi / p_j
    basis = null_space(np.ones((1, len(free))))
    covariance = basis @ np.linalg.inv(basis.T @ H @ basis) @ basis.T
    at = free.index(topic)
    return mixture[topic] + (covariance @ slope)[at], covariance[at, at]


def test_parabolas_are_those_of_a_loop_over_columns():
    q = np.random.default_rng(0).dirichlet(np.full(40, 0.5), size=4)
    X = np.random.default_rng(1).multinomial(60, [0.6, 0.3, 0.1, 0] @ q, size=8).astype(float)
    for block in row_intervals.padded_blocks(sp.csr_array(X), q):
        mixtures = row_intervals.likely_mixtures(block)
        mixtures[::2] += 0.02 * (mixtures[::2] > 0)  # not converged
        mixtures /= mixtures.sum(axis=1, keepdims=True)
        means, deviations = row_intervals.parabolas(block, mixtures)
        for b, i in enumerate(block.rows):
            for k in range(4):
                mean, variance = literal_parabola(X[i], q, mixtures[b], k)
                assert means[b, k] == pytest.approx(mean, rel=1e-3, abs=1e-4)
                assert deviations[b, k] ** 2 == pytest.approx(variance, rel=1e-3)


def test_shortest_intervals_hold_their_part_of_the_density():
    grid = np.linspace(0, 1, 100_001)
    for mean, deviation in [
        (0.3, 0.05),
        (0.04, 0.1),
        (0.97, 0.1),
        (-0.2, 0.1),
        (0.5, 3),
        (1.5, 0.2),
    ]:
        density = np.exp(-0.5 * ((grid - mean) / deviation) ** 2)
        low, high = row_intervals.shortest_intervals(np.array(mean), np.array(deviation), 0.9)
        inside = (grid >= low) & (grid <= high)
        assert density[inside].sum() / density.sum() == pytest.approx(0.9, abs=1e-3)
        outside = density[~inside].max()
        assert density[inside].min() >= outside * (1 - 1e-3)


def coverage(**options):
    held = []
    for seed in range(3):
        data = table(200, 5, seed=seed, **options)
        found = mixture_intervals(model_of(data.components), data.X)
        held += ((found.low <= data.mixtures) & (data.mixtures <= found.high)).tolist()
        assert found.low.min() >= 0
        assert found.high.max() <= 1
    return np.mean(held)


def test_intervals_cover_planted_mixtures(monkeypatch):
    assert 0.93 < coverage() < 0.985
    assert 0.93 < coverage(length=10) < 0.985
    assert 0.93 < coverage(concentration=1, length=100) < 0.985
    bursts = {"length": 200, "burstiness": 50}
    assert 0.93 < coverage(**bursts) < 0.985
    monkeypatch.setattr(row_intervals, "dispersion", lambda counts, *_: np.ones(counts.shape[0]))
    assert coverage(**bursts) < 0.8  # a broken twin: counts as if without bursts


def test_dispersion_is_that_of_a_dirichlet_compound_multinomial():
    for a, length in ((20, 30), (100, 150)):
        data = table(500, length=length, burstiness=a)
        found = row_intervals.dispersion(data.X, data.mixtures, data.components)
        n = data.X.sum(axis=1)
        np.testing.assert_allclose(found, (n + a) / (1 + a), rtol=0.12)
    data = table(500, length=30, burstiness=20)
    long = np.random.default_rng(0).multinomial(3000, data.mixtures[0] @ data.components)
    X, mixtures = sp.vstack([data.X, sp.csr_array(long[None])]), data.mixtures[[*range(500), 0]]
    found = row_intervals.dispersion(sp.csr_array(X), mixtures, data.components)[:500]
    np.testing.assert_allclose(found, (data.X.sum(axis=1) + 20) / 21, rtol=0.12)  # one of many
    plain = table(500)
    found = row_intervals.dispersion(plain.X, plain.mixtures, plain.components)
    np.testing.assert_allclose(found, 1, atol=0.05)


def test_order_blocks_and_formats_change_nothing(monkeypatch):
    data = table()
    model = model_of(data.components)
    expected = mixture_intervals(model, data.X)
    order = np.random.default_rng(0).permutation(60)
    for X in (data.X.toarray(), sp.csc_matrix(data.X), pd.DataFrame(data.X.toarray())):
        np.testing.assert_allclose(mixture_intervals(model, X), expected, atol=1e-9)
    shuffled = mixture_intervals(model, data.X[order])
    np.testing.assert_allclose(shuffled, np.array(expected)[:, order], atol=1e-9)
    topics = mixture_intervals(model_of(data.components[[2, 0, 1]]), data.X)
    np.testing.assert_allclose(topics, np.array(expected)[:, :, [2, 0, 1]], atol=1e-6)
    monkeypatch.setattr(row_intervals, "BLOCK", 50)  # rows one by one
    np.testing.assert_allclose(mixture_intervals(model, data.X), expected, atol=1e-9)


def test_intervals_grow_with_the_level_and_shrink_with_the_length():
    data = table(20, length=50)
    model = model_of(data.components)
    widths = [np.subtract(*mixture_intervals(model, data.X, level=x)[:0:-1]) for x in (0.5, 0.95)]
    assert (widths[0] < widths[1]).all()
    fresh = table(20, length=500)
    longer = mixture_intervals(model, fresh.X)
    assert np.mean(longer.high - longer.low) < widths[1].mean() / 2
    copied = mixture_intervals(model, 10 * data.X)  # repeated words tell nothing new
    assert np.mean(copied.high - copied.low) == pytest.approx(widths[1].mean(), rel=0.05)


def test_short_rows_equal_topics_and_single_topics_have_an_interval():
    X = np.array([[1, 0, 0, 0], [0, 3, 0, 0], [5, 5, 5, 5], [0, 0, 0, 0], [0, 0, 0, 7]])
    twins = [[0.25] * 4, [0.25] * 4, [0.1, 0.2, 0.3, 0.4]]
    for q in ([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]], twins, [[0.25] * 4], np.eye(3, 4)):
        with np.errstate(all="raise", under="ignore"):
            found = mixture_intervals(model_of(q), X)
        assert (found.low >= 0).all()
        assert (found.high <= 1).all()
        slack = 1e-9 if len(q) == 1 else 0
        assert (found.low <= found.mixtures + slack).all()
        assert (found.mixtures <= found.high + slack).all()
        assert (found.low[3].tolist(), found.high[3].tolist()) == ([0] * len(q), [1] * len(q))
    uncertain = mixture_intervals(model_of(twins), X)
    assert (uncertain.high - uncertain.low)[:, :2].min() > 0.8
    apart = model_of([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])
    sure = mixture_intervals(apart, X)  # of one topic
    np.testing.assert_allclose(sure.low[4], [0, 1 - sure.high[4, 0]])
    assert 0.1 < sure.high[4, 0] < 0.7
    X[3, [0, 3]] = 300, 1
    shares = mixture_intervals(apart, X / X.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(shares.mixtures[3], [300 / 301, 1 / 301], rtol=1e-3)


def test_pipelines_have_intervals_and_clusterings_are_refused():
    data = table(80)
    words = np.array([f"w{j:02d}" for j in range(100)])
    texts = [" ".join(np.repeat(words, row)) for row in data.X.toarray()]
    pipeline = make_pipeline(CountVectorizer(), AspectModel(3, beta=0.9, random_state=0)).fit(texts)
    found = mixture_intervals(pipeline, texts)
    expected = mixture_intervals(pipeline[-1], pipeline[0].transform(texts))
    np.testing.assert_array_equal(found, expected)
    assert found.low.shape == (80, 3)
    clusters = AsymmetricClustering(3, hard=True, random_state=0).fit(data.X)
    refused("AsymmetricClustering has one cluster for each", mixture_intervals, clusters, data.X)
    batches = GuidedAspectModel(2, beta=0.9, max_iter=5, group_effects="columns", random_state=0)
    batches.fit(data.X, groups=np.arange(80) % 2)
    for rows in (data.X, data.X[:9]):  # not only where the rows fitted are given
        refused("no intervals for a model with factors", mixture_intervals, batches, rows)
