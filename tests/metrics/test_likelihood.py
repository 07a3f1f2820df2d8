"""The integrated likelihood against predictions one after the other, and against other numbers."""

import numpy as np
import pytest

from skcooc.datasets import make_cooccurrences
from skcooc.metrics import integrated_complete_likelihood as icl


def urn(sequence, m, a):
    """log P of draws whose probabilities have a Dirichlet prior: each by those before it."""
    seen, total = np.zeros(m), 0.0
    for j in sequence:
        total += np.log((seen[j] + a) / (seen.sum() + m * a))
        seen[j] += 1
    return total


def literal(X, rows, columns, a, of_labels=True):
    """Labels of rows, labels of columns, clusters of columns given rows, columns given theirs."""
    C, D = rows.max() + 1, columns.max() + 1
    total = (urn(rows, C, a) + urn(columns, D, a)) if of_labels else 0.0
    pairs = [(i, j) for i, j in np.ndindex(X.shape) for _ in range(X[i, j])]
    for c in range(C):
        total += urn([columns[j] for i, j in pairs if rows[i] == c], D, a)
    for d in range(D):
        members = np.flatnonzero(columns == d).tolist()
        total += urn([members.index(j) for _, j in pairs if columns[j] == d], len(members), a)
    return total


X = np.random.default_rng(0).poisson(1.2, (5, 6))
ROWS, COLUMNS = np.array([0, 1, 1, 0, 2]), np.array([1, 0, 0, 1, 1, 0])


def test_it_is_the_likelihood_of_a_sequence_of_draws():
    for a in (0.5, 1.3):
        expected = literal(X, ROWS, COLUMNS, a)
        np.testing.assert_allclose(icl(X, ROWS, COLUMNS, concentration=a), expected)
    assert abs(icl(X, ROWS, COLUMNS) - literal(X, ROWS, COLUMNS, 0.5, of_labels=False)) > 1
    # Without labels, each row or column is its own cluster, whose labels do not count.
    own = literal(X, ROWS, np.arange(6), 0.5) - urn(np.arange(6), 6, 0.5)
    np.testing.assert_allclose(icl(X, ROWS), own)
    own = literal(X, np.arange(5), COLUMNS, 0.5) - urn(np.arange(5), 5, 0.5)
    np.testing.assert_allclose(icl(X, None, COLUMNS), own)


def test_names_of_clusters_do_not_matter():
    names = np.array(["b", "a", "a", "b", "c"])
    assert icl(X, names, COLUMNS) == pytest.approx(icl(X, ROWS, 1 - COLUMNS))


def test_the_planted_number_of_clusters_has_the_largest_likelihood():
    data = make_cooccurrences(
        60, 40, 4, kind="coclusters", n_column_clusters=3, n_observations=4000, random_state=0
    )
    best = icl(data.X, data.labels, data.column_labels)
    rng = np.random.default_rng(0)
    more = np.where((data.labels == 0) & (rng.random(60) < 0.5), 4, data.labels)
    fewer = np.minimum(data.labels, 2)
    assert best > icl(data.X, more, data.column_labels)
    assert best > icl(data.X, fewer, data.column_labels)
    assert best > icl(data.X, data.labels, np.minimum(data.column_labels, 1))


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="row_labels has 4 labels, but X has 5"):
        icl(X, ROWS[:4])
    with pytest.raises(ValueError, match="concentration=0 should be above 0"):
        icl(X, ROWS, concentration=0)
