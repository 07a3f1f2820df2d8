import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import average_precision_score, label_ranking_average_precision_score

from skcooc.metrics import average_precision_by_query

RNG = np.random.default_rng(0)
RELEVANCE = (RNG.random((8, 30)) < 0.2).astype(int)
RELEVANCE[:, 0] = 1
SCORES = RNG.permuted(np.tile(np.arange(30.0), (8, 1)), axis=1)


def by_definition(relevance, scores):
    ranking = sorted(range(len(scores)), key=lambda d: -scores[d])
    places = [k for k, d in enumerate(ranking, 1) if relevance[d]]
    return np.mean([(n + 1) / k for n, k in enumerate(places)])


def test_it_is_the_definition_and_that_of_scikit_learn_and_ties_go_by_the_order():
    ours = average_precision_by_query(RELEVANCE, SCORES)
    pairs = list(zip(RELEVANCE, SCORES, strict=True))
    np.testing.assert_allclose(ours, [by_definition(*pair) for pair in pairs])
    np.testing.assert_allclose(ours, [average_precision_score(*pair) for pair in pairs])
    assert ours.mean() == pytest.approx(label_ranking_average_precision_score(RELEVANCE, SCORES))
    np.testing.assert_allclose(average_precision_by_query([[0, 1, 0, 1]], [[1, 1, 1, 1]]), 0.5)
    np.testing.assert_allclose(average_precision_by_query([[1, 0, 0, 0]], [[1, 1, 1, 1]]), 1)


def test_sparse_relevance_any_weight_queries_without_any_and_bad_input():
    relevance = RELEVANCE.copy()
    relevance[2] = 0
    ours = average_precision_by_query(sp.csr_array(3 * relevance), SCORES)
    np.testing.assert_allclose(ours, average_precision_by_query(relevance, SCORES))
    assert np.flatnonzero(np.isnan(ours)).tolist() == [2]
    with pytest.raises(ValueError, match="does not match"):
        average_precision_by_query(RELEVANCE, SCORES[:, 1:])
    with pytest.raises(ValueError, match="NaN"):
        average_precision_by_query(RELEVANCE, SCORES * np.nan)
