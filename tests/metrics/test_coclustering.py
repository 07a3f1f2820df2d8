from functools import partial
from itertools import combinations, permutations
from math import comb, log

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from skcooc.metrics import (
    clustering_accuracy,
    coclustering_adjusted_rand,
    mutual_information,
    mutual_information_kept,
    npmi_coherence,
    perplexity,
    topic_diversity,
)  # fmt: skip
from skcooc.metrics import integrated_complete_likelihood as icl
from tests.tables import random_table, refused


def labelling(n, k, seed):
    return np.random.default_rng(seed).integers(k, size=n)


def four(share, seed):
    """True and predicted labels of rows and columns; this share of the latter is random."""
    true = labelling(15, 3, seed), np.array(list("abcd"))[labelling(11, 4, seed + 1)]
    rng = np.random.default_rng(seed)
    noisy = (np.where(rng.random(len(one)) < share, rng.permutation(one), one) for one in true)
    return *true, *noisy


def cells(rows, columns):
    return np.array([f"{row}|{column}" for row in rows for column in columns])


def test_adjusted_rand_of_all_cells_is_exact():
    for labels in (
        *(four(share, seed) for share in (0.0, 0.1, 0.4, 1.0) for seed in range(2)),
        ([0], [0], [1], [2]),
        ([0, 0], [0, 0], [0, 1], [0, 1]),
        ([0, 1], [0, 1], [0, 1], [1, 0]),
        ([0, 1], [0, 0], [0, 0], [0, 1]),
        ([0, 0, 1], [0, 0], [0, 0, 0], [0, 0]),
    ):
        expected = adjusted_rand_score(cells(*labels[:2]), cells(*labels[2:]))
        assert coclustering_adjusted_rand(*labels) == pytest.approx(expected, rel=1e-12, abs=1e-14)
    n = 20_000
    halves, quarters = np.arange(n) * 2 // n, np.arange(n) * 4 // n
    pairs = 16 * comb(n * n // 16, 2)  # together in the finer partition, thus in both
    coarse, possible = 4 * comb(n * n // 4, 2), comb(n * n, 2)
    expected = (pairs * possible - pairs * coarse) * 2
    expected /= (pairs + coarse) * possible - 2 * pairs * coarse
    assert coclustering_adjusted_rand(halves, halves, quarters, quarters) == expected


def information_by_loops(X):
    p, information = np.asarray(X, dtype=float) / X.sum(), 0.0
    for i, j in np.argwhere(p):
        information += p[i, j] * log(p[i, j] / (p[i].sum() * p[:, j].sum()))
    return information


def merged(X, rows, columns):
    table = np.zeros((max(rows) + 1, max(columns) + 1))
    for i, j in np.ndindex(X.shape):
        table[rows[i], columns[j]] += X[i, j]
    return table


def test_information_and_what_is_kept_are_the_definitions():
    X = random_table()
    twice = sp.coo_array((np.tile(X.data / 2, 2), np.tile(X.nonzero(), 2)), shape=X.shape)
    padded = X.copy()
    padded.data[0] = 0
    expected = information_by_loops(X.toarray())
    for other in (X, X.toarray(), X.tocsc().T, 1e12 * X, twice):
        assert mutual_information(other) == pytest.approx(expected)
    assert mutual_information(padded) == pytest.approx(information_by_loops(padded.toarray()))
    assert mutual_information(np.eye(7)) == pytest.approx(log(7))
    n, rows, columns = X.toarray(), labelling(12, 3, 0), labelling(9, 4, 1)
    all_rows, all_columns = range(12), range(9)
    whole = information_by_loops(n)
    for given, table in [
        ({"row_labels": rows, "column_labels": columns}, merged(n, rows, columns)),
        ({"row_labels": rows}, merged(n, rows, all_columns)),
        ({"column_labels": columns}, merged(n, all_rows, columns)),
    ]:
        expected = information_by_loops(table) / whole
        assert mutual_information_kept(X, **given) == pytest.approx(expected)
    by_names = mutual_information_kept(n, np.array(["c", "a", "b"])[rows], columns - 7)
    assert by_names == pytest.approx(mutual_information_kept(X, rows, columns))


def test_information_kept_has_its_limits_and_needs_no_dense_table():
    X = random_table()
    ones = {"row_labels": np.zeros(12), "column_labels": np.zeros(9)}
    assert mutual_information_kept(X, **ones) == 0
    assert mutual_information_kept(X, row_labels=ones["row_labels"]) == pytest.approx(0)
    assert mutual_information_kept(X) == 1
    singles = {"row_labels": np.arange(12), "column_labels": np.arange(9)}
    assert mutual_information_kept(X, **singles) == pytest.approx(1)
    X = np.outer([0.1, 0.7, 1.3], [0.3, 0.11, 2.9, 0.2])
    assert mutual_information(X) < 1e-14
    assert mutual_information_kept(X, [0, 0, 0], [0, 1, 0, 1]) == 1
    n = 300_000
    X = sp.csr_array((np.ones(n), (np.arange(n), np.arange(n))), shape=(n, n))
    assert mutual_information(X) == pytest.approx(log(n))
    labels = np.arange(n) * 10 // n
    assert mutual_information_kept(X, labels, labels) == pytest.approx(log(10) / log(n))


def test_accuracy_of_the_best_matching():
    for n_clusters in (2, 3, 4):
        true, pred = labelling(40, 3, 5), labelling(40, n_clusters, 6)
        names = range(max(3, n_clusters))
        best = max(np.mean(true == np.array(order)[pred]) for order in permutations(names))
        assert clustering_accuracy(true, pred) == pytest.approx(best)
        assert clustering_accuracy(pred, true) == pytest.approx(best)
    true = np.repeat(["a", "b", "c"], [5, 3, 2])
    assert clustering_accuracy(true, np.zeros(10)) == 0.5
    assert clustering_accuracy(true, np.arange(10)) == 0.3
    assert clustering_accuracy(true, np.repeat([2, 0, 1], [5, 3, 2])) == 1


RAND, KEPT = coclustering_adjusted_rand, mutual_information_kept


def test_bad_input_is_refused():
    for metric, arguments, message in (
        (icl, (COUNTS, ROWS[:4]), "row_labels has 4 labels, but X has 5"),
        (partial(icl, concentration=0), (COUNTS, ROWS), "concentration=0 should be above 0"),
        (RAND, ([0, 1], [0], [0], [0]), "rows_true and rows_pred: Found input variables with inc"),
        (RAND, ([0], [0, 1], [0], [0]), "columns_true and columns_pred: Found"),
        (RAND, ([[0, 1], [1, 0]], [0], [0, 1], [0]), "rows_true: y should be a 1d array"),
        (RAND, ([0], [0], [0], []), "columns_pred: Found array with 0 sample"),
        (RAND, ([0], [0], [float("nan")], [0]), "rows_pred: 1 of 1 labels are missing"),
        (KEPT, ([[0, 0]],), "X has no tokens"),
        (KEPT, ([[-1, 2]],), "Negative values in data passed to X"),
        (KEPT, ([[1, 2]], [0, 1]), "row_labels has 2 labels, but X has 1"),
        (KEPT, ([[1, 2]], None, [0]), "column_labels has 1 labels, but X has 2"),
        (KEPT, ([[1, 2]], None, [[0, 1], [1, 0]]), "column_labels: y should be a 1d"),
        (clustering_accuracy, ([0, 1], [0, 1, 1]), "labels_true and labels_pred: Found"),
        (clustering_accuracy, (["a", None], [0, 1]), "labels_true: 1 of 2 labels are missing"),
    ):
        refused(message, metric, *arguments)


def urn(sequence, m, a):
    """log P of draws whose probabilities have a Dirichlet prior: each by those before it."""
    seen, total = np.zeros(m), 0.0
    for j in sequence:
        total += np.log((seen[j] + a) / (seen.sum() + m * a))
        seen[j] += 1
    return total


def sequential_likelihood(X, rows, columns, a, of_labels=True):
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


COUNTS = np.random.default_rng(0).poisson(1.2, (5, 6))
ROWS, COLUMNS = np.array([0, 1, 1, 0, 2]), np.array([1, 0, 0, 1, 1, 0])


def test_it_is_the_likelihood_of_a_sequence_of_draws():
    for a in (0.5, 1.3):
        expected = sequential_likelihood(COUNTS, ROWS, COLUMNS, a)
        np.testing.assert_allclose(icl(COUNTS, ROWS, COLUMNS, concentration=a), expected)
    broken = sequential_likelihood(COUNTS, ROWS, COLUMNS, 0.5, of_labels=False)
    assert abs(icl(COUNTS, ROWS, COLUMNS) - broken) > 1
    # Without labels, each row or column is its own cluster, whose labels do not count.
    own = sequential_likelihood(COUNTS, ROWS, np.arange(6), 0.5) - urn(np.arange(6), 6, 0.5)
    np.testing.assert_allclose(icl(COUNTS, ROWS), own)
    own = sequential_likelihood(COUNTS, np.arange(5), COLUMNS, 0.5) - urn(np.arange(5), 5, 0.5)
    np.testing.assert_allclose(icl(COUNTS, None, COLUMNS), own)
    names = np.array(["b", "a", "a", "b", "c"])
    assert icl(COUNTS, names, COLUMNS) == pytest.approx(icl(COUNTS, ROWS, 1 - COLUMNS))


@pytest.mark.parametrize("times", [[2, 0, 1, 3, 1], [1, 2, 1, 1, 0]])  # or none of a cluster
def test_weights_of_rows_are_repetitions_in_the_likelihood(times):
    repeated = np.repeat(COUNTS, times, axis=0)
    for mine, its in ((ROWS, np.repeat(ROWS, times)), (None, None)):
        for columns in (COLUMNS, None):
            weighted = icl(COUNTS, mine, columns, sample_weight=times)
            assert weighted == pytest.approx(icl(repeated, its, columns))


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


def test_topics_name_a_column_once_and_columns_that_never_occur_are_told(X):
    for metric in (partial(npmi_coherence, X=X, feature_names=NAMES), topic_diversity):
        topics = [["word 1", "word 2"], ["word 3", "word 3"]]
        refused("Topic 1 names the column 'word 3' twice", metric, topics)
    fewer = X.copy()
    fewer[:, 2] = 0
    components = np.eye(X.shape[1])[:1] + np.eye(X.shape[1])[2:3] / 2
    with pytest.warns(UserWarning, match="1 of the 2 top columns .* such as 2: their pairs"):
        assert npmi_coherence(components, fewer, 2).tolist() == [-1]


def test_names_instead_of_components_and_limits(X, components):
    tops = [[str(NAMES[j]) for j in np.argsort(-q)[:5]] for q in components]
    expected = npmi_coherence(components, X, 5)
    np.testing.assert_array_equal(npmi_coherence(tops, X, feature_names=NAMES), expected)
    np.testing.assert_array_equal(npmi_coherence(np.array(tops), X, feature_names=NAMES), expected)
    shorter = npmi_coherence(tops, X, 3, feature_names=NAMES)
    np.testing.assert_array_equal(shorter, npmi_coherence(components, X, 3))
    topics = [["word 4", "word 5"], ["unknown", "word 5"], ["unknown", "other"]]
    with pytest.warns(UserWarning, match="3 of the 4 top columns of the topics never occur in X"):
        assert npmi_coherence(topics, X, feature_names=NAMES).tolist() == [-1, -1, -1]
    assert npmi_coherence([["a", "b"]], np.ones((5, 2)), feature_names=["a", "b"]) == [1.0]
    independent = [[1, 1], [1, 0], [0, 1], [0, 0]]
    np.testing.assert_allclose(npmi_coherence([[0.5, 0.5]], independent), [0.0], atol=1e-15)
    with np.errstate(all="raise"):
        assert np.isnan(npmi_coherence([["word 1"]], X, feature_names=NAMES)).all()


def test_topics_of_columns_that_are_called_by_dates(X):
    days = pd.date_range("2024-01-26", periods=12)
    found = npmi_coherence([[str(day) for day in days[4:6]]], X, feature_names=days)
    assert found == npmi_coherence([NAMES[4:6]], X, feature_names=NAMES)


def test_frames_and_series_in_another_order_than_the_table_are_refused():
    X = pd.DataFrame([[5, 2, 0], [0, 2, 3]], ["r", "s"], list("abc"))
    by_row, by_column = pd.Series([0, 1], X.index), pd.Series([0, 0, 1], X.columns)
    mixtures, q = pd.DataFrame(np.eye(2), X.index), X.div(X.sum(axis=1), axis=0)
    fine = [
        partial(icl, row_labels=by_row, column_labels=by_column),
        partial(mutual_information_kept, row_labels=by_row, column_labels=by_column),
        partial(perplexity, mixtures=mixtures, components=q, background=q.mean()),
    ]
    for call in fine:
        call(X)
        refused("index of the rows in another order", call, X[::-1])
        refused("columns of X in another order", call, X[["b", "a", "c"]])
    refused("columns of X in another order", npmi_coherence, q, X[["b", "a", "c"]])
    refused("in another order", npmi_coherence, [["a", "b"]], X, feature_names=["b", "a", "c"])
    refused("in another order", clustering_accuracy, by_column, by_column[::-1])
    words = X.set_axis(["column_names", "columns", "_mask"], axis=1)  # attributes elsewhere
    expected = perplexity(X, mixtures, q)
    for its in (pa.Table.from_pandas(q, preserve_index=False), pl.DataFrame(q.to_numpy())):
        assert perplexity(words, mixtures, its) == perplexity(X, mixtures, its) == expected
    assert icl(words, row_labels=by_row, column_labels=by_column) == fine[0](X)


def test_diversity_against_the_definition(components):
    for n in (1, 3, 12, 25):
        tops = [np.argsort(-q)[:n] for q in components]
        expected = len(set(np.concatenate(tops).tolist())) / sum(map(len, tops))
        assert topic_diversity(components, n) == expected
    assert topic_diversity(np.tile([0.6, 0.3, 0.1], (3, 1)), 2) == pytest.approx(1 / 3)
    for dtype in (float, np.uint8, bool):  # minus an unsigned number is no negative one
        assert topic_diversity(np.eye(4, dtype=dtype), 1) == 1
    names = [[str(j) for j in np.argsort(-q)[:4]] for q in components]
    assert topic_diversity(names) == topic_diversity(components, 4)


@pytest.mark.parametrize("column", [list, pd.Series, pl.Series])
def test_topics_of_a_column_of_a_data_frame_some_without_columns(X, column):
    topics = column([[], ["word 4", "word 5"], ["word 5"]])
    found = npmi_coherence(topics, X, feature_names=NAMES)
    assert np.isnan(found).tolist() == [True, False, True]
    assert topic_diversity(topics) == 2 / 3


def test_bad_input(X, components):
    refused("X has 11 columns, but the components have 12", npmi_coherence, components, X[:, :11])
    refused("need feature_names", npmi_coherence, [["a", "b"]], X)
    for names, message in ((list("abc"), "3 names, 3 diff"), (["a"] * 12, "12 names, 1 different")):
        refused(message, npmi_coherence, [["a", "b"]], X, feature_names=names)
    refused("Negative", npmi_coherence, components, -X)
    for metric in (lambda n: npmi_coherence(components, X, n), lambda n: topic_diversity([[1]], n)):
        refused("n_features == 0, must be >= 1", metric, 0)


def test_integrated_likelihood_counts_no_items_without_counts_as_members():
    X = np.random.default_rng(0).poisson(2.0, size=(8, 6))
    rows, columns = labelling(8, 3, seed=0), labelling(6, 2, seed=1)
    X[2] = 0
    X[:, 4] = 0
    for label in (0, 1):
        rows[2] = columns[4] = label
        clusters = np.delete(rows, 2), np.delete(columns, 4)
        expected = icl(np.delete(np.delete(X, 2, 0), 4, 1), *clusters)
        assert icl(X, rows, columns) == pytest.approx(expected, rel=1e-12)
    weights = np.arange(8) % 3
    scaled = np.repeat(X, weights, axis=0)
    expected = icl(scaled, np.repeat(rows, weights), columns)
    assert icl(X, rows, columns, sample_weight=weights) == pytest.approx(expected, rel=1e-12)
