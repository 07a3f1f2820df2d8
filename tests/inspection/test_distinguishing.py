from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import beta

from skcooc.inspection import distinguishing_features
from skcooc.inspection.distinguishing import ColumnCounts, log_ratios
from tests.tables import refused

RNG = np.random.default_rng(0)


def stand_in(theta, q):
    return SimpleNamespace(components_=q, transform=lambda X: theta[: X.shape[0]])


def planted(n_rows, K=3, M=30, concentration=0.5, burstiness=None, rng=RNG):
    theta = rng.dirichlet(np.full(K, concentration), size=n_rows)
    p = rng.dirichlet(np.full(M, 0.3), size=K)
    P = theta @ p
    if burstiness is not None:
        P = [rng.dirichlet(burstiness * row + 1e-9) for row in P]
    return theta, p, np.array([rng.multinomial(50, row) for row in P]).astype(float)


def fitted(X, theta):
    q = RNG.dirichlet(np.full(X.shape[1], 5.0), size=theta.shape[1])
    for _ in range(80):
        q *= theta.T @ np.divide(X, theta @ q, out=np.zeros_like(X), where=X > 0)
        q /= q.sum(axis=1, keepdims=True)
    return q


def literally(X, theta, q, k, j):
    """The ratio and its interval, loop by loop."""
    N, K = theta.shape
    n = X.sum(axis=1)
    mass = [sum(n[i] * theta[i, l] for i in range(N)) for l in range(K)]
    share = mass[k] / n.sum()
    unigram = sum(mass[l] * q[l, j] for l in range(K)) / n.sum()
    others = [l for l in range(K) if l != k]
    v = [n[i] * sum(theta[i, l] * (q[l, j] + 1e-6 * unigram) for l in others) for i in range(N)]
    u, v = np.array([n[i] * theta[i, k] / mass[k] for i in range(N)]), np.array(v) / sum(v)

    def loss(at):
        pi = 1 / (1 + np.exp(-at))
        own = [X[i, j] * np.log(pi * u[i] + (1 - pi) * v[i]) for i in range(N) if X[i, j]]
        return -sum(own) - 0.5 * (share * np.log(pi) + (1 - share) * np.log(1 - pi))

    best = minimize_scalar(loss, bounds=(-30, 30), method="bounded", options={"xatol": 1e-10}).x
    pi, found, poisson = 1 / (1 + np.exp(-best)), 0.0, 0.0
    for i in range(N):
        if X[i, j]:
            surplus = pi * u[i] / (pi * u[i] + (1 - pi) * v[i]) - pi
            found += (X[i, j] - n[i] * theta[i] @ q[:, j]) ** 2 * surplus**2
            poisson += X[i, j] * surplus**2
    enough = loss(best) + max(1, found / poisson) * 3.841458820694124 / 2
    ends = [brentq(lambda at: loss(at) - enough, *within) for within in ((-30, best), (best, 30))]
    return np.array([best, *ends]) - np.log(share / (1 - share))


def test_ratios_against_their_likelihood():
    theta, _, X = planted(25)
    q = fitted(X, theta)
    table = distinguishing_features(stand_in(theta, q), X)
    assert len(table) > 6
    W = np.divide(X, theta @ q, out=np.zeros_like(X), where=X > 0)
    for line in table.itertuples():
        j = int(line.feature.removeprefix("x"))
        expected = literally(X, theta, q, line.component, j)
        np.testing.assert_allclose([line.log_ratio, line.low, line.high], expected, atol=1e-5)
        count = sum(W[i, j] * theta[i, line.component] * q[line.component, j] for i in range(25))
        assert line.count == pytest.approx(count)
        assert line.probability == pytest.approx(q[line.component, j])
    for _, lines in table.groupby("component"):
        assert (lines["low"] > 0).all()
        assert lines["low"].is_monotonic_decreasing


def coverage(interval, **options):
    """How often an interval of a component against the others holds the ratio that was planted."""
    rng, held = np.random.default_rng(1), []
    for _ in range(8):
        theta, p, X = planted(60, rng=rng, **options)
        q, mass = fitted(X, theta), 50 * theta.sum(axis=0)
        for k in range(3):
            others = np.delete(np.arange(3), k)
            truth = np.log(p[k] / (mass[others] @ p[others] / mass[others].sum()))
            j = np.flatnonzero(X.sum(axis=0) > 2)
            low, high = interval(X[:, j], theta, q[:, j], k)
            held += ((low <= truth[j]) & (truth[j] <= high)).tolist()
    return np.mean(held)


def profiled(X, theta, q, k, disperse=True):
    theta_k, means, mass = theta[:, k, None], theta @ q, theta.sum(axis=0)
    u, v = theta_k / mass[k] + 0 * q[k], means - theta_k * q[k] + 1e-9
    v /= v.sum(axis=0)
    rows, columns = np.nonzero(X.T)[::-1]
    x, expected = X[rows, columns], 50 * means[rows, columns]
    starts = np.searchsorted(columns, np.arange(X.shape[1]))
    of = ColumnCounts(x, expected if disperse else x, (u / (u + v))[rows, columns], starts)
    _, low, high = log_ratios(of, mass[k] / mass.sum(), 0.95)
    return low, high


def as_if_known(X, theta, q, k):
    """A broken twin: intervals of a binomial share, as if expected counts were observed."""
    own = (theta[:, k, None] * q[k] * X / (theta @ q)).sum(axis=0)
    total, share = X.sum(axis=0), theta[:, k].mean()
    ends = [beta.ppf(at, own + 0.5, total - own + 0.5) for at in (0.025, 0.975)]
    return [np.log(pi / (1 - pi)) - np.log(share / (1 - share)) for pi in ends]


def test_intervals_hold_the_truth_as_often_as_they_say_also_of_bursty_rows():
    assert 0.93 < coverage(profiled) < 0.98
    assert coverage(as_if_known) < 0.87
    assert coverage(profiled, burstiness=20) > 0.88
    assert coverage(lambda *of: profiled(*of, disperse=False), burstiness=20) < 0.84


def test_columns_of_one_component_are_first_and_equal_mixtures_distinguish_none():
    q = np.array([[0.4, 0.1, 0.5, 0.0], [0.0, 0.1, 0.5, 0.4]])
    theta = np.repeat(np.eye(2), 10, axis=0)
    X = np.round(100 * theta @ q)
    table = distinguishing_features(stand_in(theta, q), X, list("abcd"), backend="polars")
    assert table["feature"].to_list() == ["a", "d"]
    assert table["count"].to_list() == pytest.approx([400, 400])
    assert (table["high"] > table["log_ratio"]).all()
    theta, q = np.tile([0.5, 0.5], (20, 1)), np.array([[0.9, 0.1], [0.1, 0.9]])
    assert len(distinguishing_features(stand_in(theta, q), np.full((20, 2), 50))) == 0
    one = stand_in(np.ones((5, 1)), np.full((1, 3), 1 / 3))
    for level, message in ((0.95, "one component: at least two"), (95, "'level' parameter")):
        refused(message, distinguishing_features, one, np.ones((5, 3)), level=level)


def test_a_single_token_distinguishes_nothing_however_rare_its_component_is():
    """By its likelihood alone it would: one in a hundred rows is mostly of this component."""
    theta = np.where(np.arange(100)[:, None] > 0, [0.0, 1.0], [0.9, 0.1])
    for n_tokens, of_others, told in (
        (1, 0.01, ["rare"]),
        (1, 0.0, ["rare"]),  # the token is of this component with certainty
        (5, 0.01, ["rare", "single"]),
    ):
        X = np.tile([0.0, 0.0, 50.0], (100, 1))
        X[0] = 36, n_tokens, 14 - n_tokens
        share = n_tokens / 45
        q = np.array([[0.8, share, 0.2 - share], [0.0, of_others, 1 - of_others]])
        table = distinguishing_features(stand_in(theta, q), X, ["rare", "single", "common"])
        assert sorted(table[table["component"] == 0]["feature"]) == told
