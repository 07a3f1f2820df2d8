from itertools import combinations
from math import log

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc.metrics import npmi_coherence, topic_diversity

NAMES = np.array([f"word {j}" for j in range(12)])


@pytest.fixture(scope="module")
def X():
    """Row 3 is empty, column 4 never occurs, column 5 occurs in every row but the empty one."""
    counts = np.random.default_rng(0).poisson(0.7, (40, 12))
    counts[:, 5], counts[3], counts[:, 4] = 2, 0, 0
    return counts


@pytest.fixture(scope="module")
def components():
    return np.random.default_rng(1).dirichlet(np.full(12, 0.5), 4)


def literal_npmi(X, topic, empty_rows_count=True):
    """Bouma (2009), row by row and pair by pair; without the empty rows it is broken."""
    rows = [{j for j, count in enumerate(row) if count > 0} for row in np.asarray(X)]
    rows = [row for row in rows if row or empty_rows_count]
    values = []
    for i, j in combinations(topic, 2):
        p, q = (sum(k in row for row in rows) / len(rows) for k in (i, j))
        r = sum(i in row and j in row for row in rows) / len(rows)
        values.append(log(r / (p * q)) / -log(r) if 0 < r < 1 else 2 * r - 1)
    return sum(values) / len(values)


def test_coherence_against_the_definition(X, components):
    for n_features in (2, 5, 12, 99):
        expected = [
            literal_npmi(X, sorted(range(12), key=lambda j: -q[j])[:n_features]) for q in components
        ]
        found = npmi_coherence(components, X, n_features)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        assert (np.abs(found) <= 1).all()
    broken = [literal_npmi(X, np.argsort(-q)[:3], empty_rows_count=False) for q in components]
    assert not np.allclose(npmi_coherence(components, X, 3), broken, atol=1e-4)
    expected = npmi_coherence(components, X)
    for kind in (sp.csr_array, sp.csc_matrix, sp.coo_array, np.asarray):
        np.testing.assert_allclose(npmi_coherence(100 * components, kind(3.5 * X)), expected)


def test_names_instead_of_components_and_limits(X, components):
    tops = [[str(NAMES[j]) for j in np.argsort(-q)[:5]] for q in components]
    expected = npmi_coherence(components, X, 5)
    np.testing.assert_array_equal(npmi_coherence(tops, X, feature_names=NAMES), expected)
    np.testing.assert_array_equal(npmi_coherence(np.array(tops), X, feature_names=NAMES), expected)
    shorter = npmi_coherence(tops, X, 3, feature_names=NAMES)
    np.testing.assert_array_equal(shorter, npmi_coherence(components, X, 3))
    topics = [["word 4", "word 5"], ["unknown", "word 5"], ["unknown", "other"]]
    assert npmi_coherence(topics, X, feature_names=NAMES).tolist() == [-1, -1, -1]
    assert npmi_coherence([["a", "b"]], np.ones((5, 2)), feature_names=["a", "b"]) == [1.0]
    independent = [[1, 1], [1, 0], [0, 1], [0, 0]]
    np.testing.assert_allclose(npmi_coherence([[0.5, 0.5]], independent), [0.0], atol=1e-15)
    with np.errstate(all="raise"):
        assert np.isnan(npmi_coherence([["word 1"]], X, feature_names=NAMES)).all()


def test_diversity_against_the_definition(components):
    for n in (1, 3, 12, 25):
        tops = [np.argsort(-q)[:n] for q in components]
        expected = len(set(np.concatenate(tops).tolist())) / sum(map(len, tops))
        assert topic_diversity(components, n) == expected
    assert topic_diversity(np.tile([0.6, 0.3, 0.1], (5, 1)), 2) == pytest.approx(1 / 5)
    assert topic_diversity(np.eye(4), 1) == 1
    names = [[str(j) for j in np.argsort(-q)[:4]] for q in components]
    assert topic_diversity(names) == topic_diversity(components, 4)


def test_bad_input(X, components):
    with pytest.raises(ValueError, match="X has 11 columns, but the components have 12"):
        npmi_coherence(components, X[:, :11])
    with pytest.raises(ValueError, match="need feature_names"):
        npmi_coherence([["a", "b"]], X)
    with pytest.raises(ValueError, match="Negative"):
        npmi_coherence(components, -X)
    for metric in (lambda n: npmi_coherence(components, X, n), lambda n: topic_diversity([[1]], n)):
        with pytest.raises(ValueError, match="n_features=0"):
            metric(0)
