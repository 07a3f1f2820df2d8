import numpy as np
import pytest
import scipy.sparse as sp

from skcooc import AspectModel, Dyads, metrics
from skcooc.model_selection import split_observations
from tests.tables import planted, random_table


def test_perplexity_is_the_definition():
    X = random_table()
    rng = np.random.default_rng(0)
    A, B = rng.dirichlet(np.ones(3), X.shape[0]), rng.dirichlet(np.ones(X.shape[1]), 3)
    b = metrics.unigram(X)
    n, P = X.toarray(), 0.9 * A @ B + 0.1 * b
    expected = np.exp(-(n * np.log(P)).sum() / n.sum())
    assert metrics.perplexity(X, A, B, background=b, smoothing=0.1) == pytest.approx(expected)
    b = metrics.unigram(np.ones((5, 8)))
    assert metrics.perplexity(np.ones((5, 8)), np.ones((5, 1)), [b]) == pytest.approx(8)
    X = sp.csr_array(([2.0, 0.0], ([0, 0], [0, 1])), shape=(1, 2))
    assert metrics.perplexity(X, [[1.0]], [[1.0, 0.0]]) == 1


def test_agrees_with_the_estimators_own_score_and_best_smoothing_is_best():
    train, test = split_observations(planted().X, random_state=0)
    model = AspectModel(3, random_state=0).fit(train)
    options = {"background": metrics.unigram(train), "smoothing": model.smoothing_}
    ours = metrics.perplexity(test, model.embedding_, model.components_, **options)
    assert ours == pytest.approx(model.perplexity(Dyads(test)))
    model = AspectModel(5, beta=1.0, random_state=0).fit(train)
    b, factors = metrics.unigram(train), (model.embedding_, model.components_)
    s = metrics.best_smoothing(test, *factors, b)
    at = [
        metrics.perplexity(test, *factors, background=b, smoothing=t) for t in (s, s / 2, 1.5 * s)
    ]
    assert at[0] == min(at)


def test_impossible_observations_and_wrong_shapes():
    assert metrics.perplexity([[1, 1]], [[1.0]], [[1.0, 0.0]]) == np.inf
    with pytest.raises(ValueError, match="does not match"):
        metrics.perplexity([[1, 1]], [[1.0]], [[0.5, 0.25, 0.25]])
    for X, smoothing, message in (
        ([[0, 0]], 0.0, "no observations"),
        ([[-1, 2]], 0.0, "Negative"),
        ([[1, 1]], 7, "smoothing=7"),
    ):
        with pytest.raises(ValueError, match=message):
            metrics.perplexity(X, [[1.0]], [[0.5, 0.5]], smoothing=smoothing)
