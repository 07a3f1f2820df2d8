"""The prior that is a topic's share of the words that tell topics apart."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

from skcooc import AspectModel, Dyads
from skcooc.equations import aspects
from skcooc.equations.aspects import distinctive_shares
from skcooc.model_selection import split_counts
from tests.tables import planted

SIZES = np.array([0.35, 0.2, 0.15, 0.1, 0.08, 0.06, 0.04, 0.02])


def with_common_words(common, seed, n_rows=1000, n_columns=1000, length=60):
    """Counts, topics that share a part of their words, and mixtures of unequal mean."""
    rng = np.random.default_rng(seed)
    zipf = 1 / np.arange(1, n_columns + 1) ** 0.8
    zipf /= zipf.sum()
    own = np.array([rng.permutation(rng.gamma(0.05, size=n_columns)) * zipf for _ in SIZES])
    topics = (1 - common) * own / own.sum(axis=1, keepdims=True) + common * zipf
    mixtures = rng.dirichlet(SIZES * 1.5, size=n_rows)
    X = np.array([rng.multinomial(length, row @ topics) for row in mixtures])
    return sp.csr_array(X.astype(np.float32)), topics, mixtures


def error_of_shares(model, topics, mixtures):
    """Sum of absolute errors of the shares of matched topics."""
    matched = linear_sum_assignment(-np.sqrt(topics) @ np.sqrt(model.components_).T)[1]
    return np.abs(model.component_distribution_[matched] - mixtures.mean(axis=0)).sum()


@pytest.mark.parametrize(("common", "most"), [(0.0, 0.15), (0.5, 0.25), (0.7, 0.4)])
def test_planted_shares_are_found(common, most):
    errors = []
    for seed in range(3):
        X, *truth = with_common_words(common, seed)
        errors.append(error_of_shares(AspectModel(8, random_state=seed).fit(X), *truth))
    assert np.median(errors) < most


def test_other_priors_do_not_find_them(monkeypatch):
    """Broken variants: joint tempering, equal shares, and P(z) with many common words."""
    X, *truth = with_common_words(0.5, 0)

    def error(X=X, truth=truth, **options):
        return error_of_shares(AspectModel(8, beta=0.82, random_state=1, **options).fit(X), *truth)

    right = error()
    assert right < 0.25
    assert error(tempering="joint") > 2 * right
    more, *of_more = with_common_words(0.7, 0)
    assert error(more, of_more, tempering="likelihood") > 1.1 * error(more, of_more)
    equal = lambda expected, weights: np.full_like(weights, 1 / len(weights))  # noqa: E731
    monkeypatch.setattr(aspects, "distinctive_shares", equal)
    assert error() > 2 * right


def test_shares_of_disjoint_topics_are_their_sizes(monkeypatch):
    monkeypatch.setattr(aspects, "RANDOM_EXCESS", 0.0)
    sizes, n_columns = SIZES[:4] / SIZES[:4].sum(), 3
    own = np.kron(np.diag(sizes), np.ones((n_columns, 1)))  # (12, 4): three columns each
    for held in (sizes, np.full(4, 0.25)):  # who holds the common words
        expected = 1000 * np.concatenate([own / own.sum(), held[None]])
        weights = expected.sum(axis=0) / expected.sum()
        found = distinctive_shares(expected, weights)
        if held is sizes:
            np.testing.assert_allclose(found, sizes)
        else:  # the column in common has a vote, but a smaller one than in P(z)
            assert np.abs(found - sizes).sum() < 0.8 * np.abs(weights - sizes).sum()


def test_random_assignments_give_equal_shares():
    rng, weights = np.random.default_rng(0), np.array([0.5, 0.3, 0.2])
    expected = rng.multinomial(3, weights, size=500).astype(float)
    found = distinctive_shares(expected, expected.sum(axis=0) / expected.sum())
    assert found.sum() == pytest.approx(1)
    assert (found > 0.15).all()
    assert distinctive_shares(np.outer([2.0, 5, 1], weights), weights) is weights  # all are equal


def test_at_beta_one_all_temperings_are_one():
    X = planted().X
    fits = [
        AspectModel(3, beta=1.0, tempering=tempering, max_iter=12, tol=0, random_state=0).fit(X)
        for tempering in ("auto", "distinctive", "joint", "likelihood")
    ]
    for other in fits[1:]:
        np.testing.assert_array_equal(other.components_, fits[0].components_)
    assert fits[0].tempering_ == "distinctive"


def test_auto_keeps_joint_tempering_where_it_predicts_better():
    X = planted(4, 3000, n_rows=60, n_columns=50).X
    model = AspectModel(4, random_state=0).fit(X)
    tried = model.tuning_[-1]
    assert tried.values["tempering"] == "joint"
    before = min(t.validation.perplexity for t in model.tuning_[:-1] if t.n_components is None)
    better = tried.validation.perplexity < (1 - 5e-3) * before
    assert model.tempering_ == ("joint" if better else "distinctive")
    again = model.set_params(warm_start=True).fit(X)
    assert again.tempering_ == model.tempering_
    (last,) = [t for t in model.tuning_ if t.chosen]
    assert ("tempering" in last.values) == better


def test_an_empty_row_keeps_the_shares_of_all_tokens():
    X, *_ = with_common_words(0.5, 0, n_rows=300)
    model = AspectModel(8, beta=0.82, random_state=0).fit(X)
    params = model._state.params
    np.testing.assert_allclose(model.transform(0 * X[:1])[0], params.weights, rtol=1e-5)
    assert np.abs(params.prior - params.weights).max() > 0.01


def test_predictions_do_not_suffer():
    X, *_ = with_common_words(0.5, 1)
    train, test = split_counts(X, random_state=0)
    joint, found = (
        AspectModel(8, tempering=tempering, random_state=0).fit(train).perplexity(Dyads(test))
        for tempering in ("joint", "distinctive")
    )
    assert found < 1.003 * joint
