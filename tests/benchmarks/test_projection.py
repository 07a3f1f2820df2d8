from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import digamma, gammaln
from scipy.stats import beta as beta_distribution

from benchmarks import projection
from benchmarks.projection import DirichletTopics, Method
from skcooc.datasets import make_cooccurrences


def literal_bound(model, counts, gamma):
    """Blei, Ng and Jordan, eq. (15), word by word."""
    alpha, B = model.alpha, model.components_
    logs = digamma(gamma) - digamma(gamma.sum())
    bound = gammaln(alpha.sum()) - gammaln(alpha).sum() + ((alpha - 1) * logs).sum()
    for j, n in enumerate(counts):
        phi = B[:, j] * np.exp(logs)
        phi /= phi.sum()
        bound += n * (phi @ logs + phi @ np.log(B[:, j]) - phi @ np.log(phi))
    return bound - (gammaln(gamma.sum()) - gammaln(gamma).sum() + ((gamma - 1) * logs).sum())


def exact(model, counts):
    """log P(words) of two topics, by quadrature."""
    density = beta_distribution(*model.alpha).pdf

    def integrand(t):
        return density(t) * np.prod((np.array([t, 1 - t]) @ model.components_) ** counts)

    return np.log(quad(integrand, 0, 1)[0])


def test_lda_bound_is_that_of_the_paper_with_its_prior_below_the_likelihood():
    topics = np.random.default_rng(0).dirichlet(np.ones(6), 2)
    X = np.random.default_rng(1).poisson(1.0, (5, 6)).astype(float)
    model = DirichletTopics(np.array([0.7, 1.6]), topics)

    def literal(model, factor=1.0):
        gammas = factor * model.posteriors(X)
        return sum(literal_bound(model, *row) for row in zip(X, gammas, strict=True))

    assert model.bound(X) == pytest.approx(literal(model), rel=1e-10)
    flat = DirichletTopics(np.ones(2), topics)  # without its prior
    assert model.bound(X) != pytest.approx(literal(flat), rel=1e-3)
    truth = sum(exact(model, row) for row in X)
    assert truth - 0.2 * len(X) < model.bound(X) < truth
    assert max(literal(model, 0.9), literal(model, 1.1)) < model.bound(X)


def test_em_of_lda_raises_the_bound_and_ends_where_alpha_is_best():
    X = make_cooccurrences(n_rows=80, n_columns=30, n_components=3, random_state=0).X
    topics = np.random.default_rng(0).dirichlet(np.ones(30), 3)
    path = [DirichletTopics(np.ones(3), topics)]
    for _ in range(6):
        path.append(path[-1].em(X, 0.0, 5))
    bounds = [model.bound(X) for model in path]
    assert np.all(np.diff(bounds) > -1e-3)
    last = path[-1].em(X, 0.0, 100)
    for factor in (0.9, 1.1):
        moved = DirichletTopics(last.alpha * factor, last.components_)
        assert moved.bound(X) < last.bound(X)


def test_documents_are_mixed_over_the_training_documents():
    rng = np.random.default_rng(0)
    model = SimpleNamespace(
        embedding_=rng.dirichlet(np.ones(3), 4), components_=rng.dirichlet(np.ones(5), 3)
    )
    X, b = rng.poisson(1.0, (2, 5)), np.full(5, 0.2)
    P = 0.9 * model.embedding_ @ model.components_ + 0.1 * b
    literal = sum(np.log(np.mean([np.prod(p**row) for p in P])) for row in X)
    found = projection.mixed_over_training(model, X, b, 0.1)
    assert found == pytest.approx(literal, rel=1e-10)


def test_settings_are_chosen_without_the_new_documents():
    X = make_cooccurrences(n_rows=200, n_columns=40, n_components=3, random_state=0).X
    new = projection.divide(X, 0)
    seen = []

    def fit(X, K, seed, *, beta):
        seen.append(X)
        return projection.aspects(X, K, seed, beta=beta, tol=1e-4)

    method = Method(fit, [{"beta": 0.3}, {"beta": 0.8}])
    row = projection.measured(method, new, 3, 0)
    assert row["setting by completion"] == "{'beta': 0.8}"
    assert [part.shape[0] for part in seen] == [162, 162, 180]
    assert "bound" not in row
    assert new.known.sum() + new.hidden.sum() == new.whole.sum()


def test_projections_that_tell_the_classes_are_learned():
    classes = np.repeat(["a", "b", "c"], 70)
    rng = np.random.default_rng(0)
    informed = np.eye(3)[np.repeat(range(3), 70)] + rng.normal(0, 0.1, (210, 3))
    right, _ = projection.rates(informed, classes, 20, 0)
    wrong, _ = projection.rates(rng.normal(size=(210, 3)), classes, 20, 0)
    assert right > 0.98
    assert wrong < 0.65
