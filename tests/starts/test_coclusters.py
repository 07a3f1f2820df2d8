"""The search of co-clusters: its criterion, its moves, and what it finds."""

from itertools import pairwise, product

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import gammaln
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import adjusted_rand_score

from skcooc import Dyads, SymmetricClustering
from skcooc.counts import CSRCounts
from skcooc.datasets import load_bible
from skcooc.em.stages import EMStage, PlainRunner, State
from skcooc.equations.coclusters import CoClusters
from skcooc.inspection import to_linkage
from skcooc.loops import coclusters as loops
from skcooc.starts import coclusters as starts
from skcooc.starts.coclusters import (
    GIVEN,
    MAX_TRIES,
    A,
    Frequencies,
    Partition,
    Search,
    TwoSides,
    best_frequencies,
    concentration_of_rows,
    first_tokens,
    labels_of_search,
    random_partition,
)
from tests.tables import refused

SHARES = np.array([0.5, 0.25, 0.15, 0.07, 0.03])


def diagonal_blocks(seed, n_rows=150, n_columns=100, n_tokens=15_000, bursty=False):
    """Counts with five diagonal blocks of unequal shares, and the labels of both sides."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(5, n_rows, p=SHARES)
    column_labels = rng.choice(5, n_columns, p=SHARES)
    labels[:5] = column_labels[:5] = range(5)
    frequency = rng.permutation(np.arange(1.0, n_columns + 1) ** -0.7)
    P = np.where(labels[:, None] == column_labels, 12.0, 1.0) * frequency
    if bursty:
        P = rng.gamma(50 * P / P.sum(axis=1, keepdims=True))
    P *= rng.gamma(2.0, size=n_rows)[:, None]
    counts = rng.multinomial(n_tokens, P.ravel() / P.sum()).reshape(P.shape)
    return sp.csr_array(counts.astype(float)), labels, column_labels


def evidence(counts, a):
    """Log-probability of a sequence with these counts: Dirichlet-multinomial."""
    counts = np.ravel(counts)
    total = gammaln(len(counts) * a) - gammaln(len(counts) * a + counts.sum())
    return total + np.sum(gammaln(counts + a) - gammaln(a))


def literal_icl(n, labels, column_labels, weights=None, frequencies=GIVEN):
    weights = np.ones(len(n)) if weights is None else weights
    I = np.eye(max(labels) + 1)[labels]
    J = np.eye(max(column_labels) + 1)[column_labels]
    blocks = I.T @ (n * weights[:, None]) @ J
    C, D = blocks.shape
    sizes = weights @ I, J.sum(axis=0)
    value = evidence(blocks, A) + sum(evidence(side, A) for side in sizes)
    for axis, n_others in enumerate((D, C)):
        totals = blocks.sum(axis=1 - axis)
        b = frequencies[axis].b * sizes[axis]
        if b.any():
            totals, b = totals[b > 0], b[b > 0]
            value += np.sum(gammaln(b) - gammaln(b + totals))
        else:
            value -= evidence(totals, A * n_others)
    return value


def counts_of(n, weights=None):
    return CSRCounts(sp.csr_array(np.asarray(n, dtype=float)), weights)


def random_table(seed, scale=1.0):
    rng = np.random.default_rng(seed)
    n = rng.poisson(rng.gamma(0.5, 4, size=(12, 9))) * scale
    return n + scale * (np.arange(12)[:, None] % 9 == np.arange(9))  # no side is empty


ROWS_INTEGRATED = Frequencies(3.0), Frequencies()
INTEGRATED = Frequencies(0.7), Frequencies(12.0)
TABLES = {
    "whole": (random_table(0), None, GIVEN),
    "many tokens": (random_table(1, 40_000.0), None, GIVEN),
    "weighted": (random_table(2), np.arange(12) % 3 + 1.0, GIVEN),
    "not whole": (random_table(3, 1.37), np.linspace(0.5, 2, 12), GIVEN),
    "frequencies of rows": (random_table(4), None, ROWS_INTEGRATED),
    "frequencies": (random_table(5, 1.37), np.linspace(0.5, 2, 12), INTEGRATED),
}
every_table = pytest.mark.parametrize("name", TABLES)


def sides(n, weights, frequencies):
    X = counts_of(n, weights)
    table = TwoSides.of_block(X)._replace(frequencies=frequencies)
    return table, n / X.mean_count_weight


@every_table
def test_the_criterion_is_that_of_the_formula(name):
    n, weights, frequencies = TABLES[name]
    table, n = sides(n, weights, frequencies)
    for seed in range(4):
        partition = random_partition(table, (4, 3), np.random.default_rng(seed))
        expected = literal_icl(n, *partition.labels, weights, frequencies)
        assert partition.blocks.icl == pytest.approx(expected, rel=1e-9)


@every_table
def test_an_exchange_moves_a_row_where_the_criterion_is_highest(name):
    """Row by row, against the criterion of all its moves; two rows of a cluster stay in it."""
    n, weights, frequencies = TABLES[name]
    table, n = sides(n, weights, frequencies)
    rng = np.random.default_rng(0)
    n_moved = 0
    for _ in range(5):
        partition = random_partition(table, (4, 3), rng)
        labels, column_labels = partition.labels
        for item in range(len(labels)):
            values = []
            for c in range(4):
                moved = labels.copy()
                moved[item] = c
                values.append(literal_icl(n, moved, column_labels, weights, frequencies))
            expected = int(np.argmax(values))
            found = labels.copy()
            n_moved += exchanged(partition, found, item)
            assert found[item] == expected
            np.testing.assert_array_equal(np.delete(found, item), np.delete(labels, item))
    assert n_moved > 10


def exchanged(partition, labels, item, keep=False):
    """Move one row by the compiled loop; the sums that it keeps are those of the labels."""
    side = partition.X.rows
    J = partition.blocks.J.copy()
    sums = [J.sum(axis=1), partition.blocks.sizes[0].copy(), np.bincount(labels)]
    cells = gammaln(J + A)
    n_moved = loops.exchange_items(
        *side[:3], np.array([item]), side.weights, labels, partition.labels[1], J, *sums,
        *partition.blocks.prior(0), keep, cells, np.empty(4), np.zeros(3), np.empty(3, dtype=int),
    )  # fmt: skip
    after = Partition(partition.X, labels, partition.labels[1])
    if after.blocks.J.shape == J.shape:
        np.testing.assert_allclose(J, after.blocks.J, atol=1e-9)
        np.testing.assert_allclose(sums[0], J.sum(axis=1))
        np.testing.assert_allclose(sums[1], after.blocks.sizes[0])
        np.testing.assert_array_equal(sums[2], np.bincount(labels))
    np.testing.assert_allclose(cells, gammaln(J + A), rtol=1e-9, atol=1e-9)
    return n_moved


@every_table
def test_gains_of_merges_are_differences_of_the_criterion(name):
    table, _ = sides(*TABLES[name])
    partition = random_partition(table, (4, 3), np.random.default_rng(0))
    gains = partition.blocks.merge_gains()
    pairs = [partition.blocks.pair(place) for place in range(len(gains))]
    assert len(set(pairs)) == 4 * 4 + 3 * 3
    for (axis, first, second), gain in zip(pairs, gains, strict=True):
        if first >= second:
            assert gain == -np.inf
            continue
        labels = [side.copy() for side in partition.labels]
        labels[axis][labels[axis] == second] = first
        expected = Partition(table, *labels).blocks.icl - partition.blocks.icl
        assert gain == pytest.approx(expected, rel=1e-9, abs=1e-6)


def test_exchanges_and_tries_never_lower_the_criterion_and_empty_no_cluster():
    X, *_ = diagonal_blocks(0)
    table = TwoSides.of_block(CSRCounts(X))
    for seed in range(5):
        rng = np.random.default_rng(seed)
        partition = random_partition(table, (12, 9), rng)
        values = [partition.blocks.icl]
        for _ in range(6):
            partition = partition.settled(rng, 1, keep=True)
            values.append(partition.blocks.icl)
            assert partition.shape == (12, 9)
        assert all(after >= before - 1e-8 for before, after in pairwise(values))
        assert partition.reduced(rng, (3, 7)).shape == (3, 7)


def test_the_search_raises_the_criterion_in_each_iteration():
    counts = CSRCounts(diagonal_blocks(1)[0])
    stage = EMStage(CoClusters(5, 5, hard=True), counts, 1.0, 20, 0.0)
    for seed in range(3):
        search = Search(seed, (5, 5), discounts=False)
        state = State(np.arange(100) % 5, np.arange(150) % 5)
        objectives = []
        for _ in range(6):
            state, objective = search.step(stage, state)
            objectives.append(objective)
        assert objectives == sorted(objectives, reverse=True)
        assert objectives[0] > objectives[1] + 1000


@pytest.mark.filterwarnings("ignore:.*no counts")
def test_blocks_of_unequal_size_are_found_with_any_seed():
    for seed in range(10):
        X, labels, column_labels = diagonal_blocks(seed)
        model = SymmetricClustering(5, 5, hard=True, random_state=seed).fit(X)
        assert adjusted_rand_score(labels, model.row_labels_) > 0.9, seed
        assert adjusted_rand_score(column_labels, model.column_labels_) > 0.9, seed


def web(seed, n_rows=80, n_columns=60):
    """Counts whose clusters differ in their rates: items of one are about equally frequent."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(4, n_rows, p=[0.5, 0.25, 0.15, 0.1])
    column_labels = rng.choice(3, n_columns, p=[0.6, 0.3, 0.1])
    labels[:4], column_labels[:3] = range(4), range(3)
    rates = rng.gamma(0.5, 2, size=(4, 3))[labels][:, column_labels]
    counts = rng.poisson(rates * rng.gamma(5, 0.2, size=n_rows)[:, None])
    return sp.csr_array(counts + 0.0), labels, column_labels


def zipf(seed, n_rows=300, n_columns=800):
    """Counts with four clusters of rows and six of columns, whose frequencies follow Zipf's law."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(4, size=n_rows)
    column_labels = rng.integers(6, size=n_columns)
    P = rng.gamma(0.5, size=(4, 6))[labels][:, column_labels] + 0.05
    P *= rng.permutation(1 / np.arange(1.0, n_columns + 1))
    counts = [rng.multinomial(rng.lognormal(4.4, 0.5), p / p.sum()) for p in P]
    return sp.csr_array(np.array(counts, dtype=float)), labels, column_labels


@pytest.mark.filterwarnings("ignore:.*no counts")
def test_frequencies_tell_clusters_of_a_web_but_not_of_words(monkeypatch):
    """A web is found better with them; columns as uneven as words are never divided by them."""
    scores = {}
    for integrates in (True, False):
        if not integrates:
            monkeypatch.setattr(starts, "best_frequencies", lambda *given: Frequencies())
        found = []
        for seed in range(6):
            X, labels, column_labels = web(seed)
            model = SymmetricClustering(4, 3, hard=True, random_state=seed).fit(X)
            score = adjusted_rand_score(labels, model.row_labels_)
            found.append(score + adjusted_rand_score(column_labels, model.column_labels_))
        scores[integrates] = np.mean(found) / 2
    assert scores[True] > scores[False] + 0.05
    monkeypatch.undo()
    for seed in range(3):
        X, labels, column_labels = zipf(seed)
        truth = Partition(TwoSides.of_block(CSRCounts(X)), labels, column_labels)
        assert best_frequencies(truth, 1).b == 0
        search = Search(seed, (4, 6), integrates=True)
        table = TwoSides.of_block(CSRCounts(X))
        by_frequency = search._new_by_frequency(table, np.random.default_rng(seed))
        assert by_frequency.X.frequencies[1].b == 0
    X, labels, column_labels = web(0)
    truth = Partition(TwoSides.of_block(CSRCounts(X)), labels, column_labels)
    assert 3 < best_frequencies(truth, 0).b < 10  # of gamma(5)
    assert best_frequencies(truth, 1).b > 30


@pytest.mark.parametrize("proportions", ["uniform", "estimated"])
def test_a_hard_fit_keeps_the_labels_of_its_search(monkeypatch, proportions):
    X, *_ = web(1)
    found = []

    def recorded(model, counts, *labels):
        found.append(labels)
        return state_of_labels(model, counts, *labels)

    state_of_labels = starts._state_of_labels
    monkeypatch.setattr(starts, "_state_of_labels", recorded)
    model = SymmetricClustering(4, 3, hard=True, random_state=0, proportions=proportions).fit(X)
    rows = X.sum(axis=1) > 0
    np.testing.assert_array_equal(model.row_labels_[rows], found[-1][0][rows])
    assert len(found) == 2  # without the tokens held out, then with all
    columns = X.sum(axis=0) > 0
    np.testing.assert_array_equal(model.column_labels_[columns], found[-1][1])
    assert set(np.unique(model.column_posteriors_[columns])) == {0, 1}
    if proportions == "uniform":  # an E-step would move some
        assert not np.array_equal(model.predict(X)[rows], model.row_labels_[rows])
    else:
        np.testing.assert_allclose(
            model.weights_, np.bincount(model.row_labels_[rows]) / rows.sum(), atol=1e-6
        )


def test_a_warm_start_on_other_tokens_goes_on_with_the_search():
    X, labels, column_labels = diagonal_blocks(9)
    order = np.random.default_rng(0).permutation(150)
    model = SymmetricClustering(5, 5, hard=True, random_state=0, warm_start=True).fit(X)
    model.fit(X[order])
    assert adjusted_rand_score(labels[order], model.row_labels_) > 0.95
    assert adjusted_rand_score(column_labels, model.column_labels_) > 0.95


def test_weights_of_rows_are_repetitions():
    X, labels, column_labels = diagonal_blocks(2)
    n_times = np.arange(150) % 3
    repeated = X[np.repeat(np.arange(150), n_times)]
    once = Partition(TwoSides.of_block(CSRCounts(X, n_times.astype(float))), labels, column_labels)
    twice = Partition(
        TwoSides.of_block(CSRCounts(repeated)), np.repeat(labels, n_times), column_labels
    )
    assert once.blocks.icl == pytest.approx(twice.blocks.icl, rel=1e-12)
    one, two = (concentration_of_rows(CSRCounts(*of), part) for of, part in (
        ((X, n_times.astype(float)), once), ((repeated,), twice),
    ))  # fmt: skip
    assert one == pytest.approx(two)
    fit = SymmetricClustering(5, 5, hard=True, random_state=0).fit(X, sample_weight=n_times)
    counted = n_times > 0
    assert adjusted_rand_score(labels[counted], fit.row_labels_[counted]) > 0.95


def test_shares_of_tokens_count_as_tokens():
    X, labels, column_labels = diagonal_blocks(3)
    shares = sp.csr_array(X / X.sum())
    model = SymmetricClustering(5, 5, hard=True, random_state=0).fit(shares)
    assert adjusted_rand_score(labels, model.row_labels_) > 0.7
    assert adjusted_rand_score(column_labels, model.column_labels_) > 0.7


@pytest.mark.parametrize("hard", [True, False])
def test_threads_change_nothing(hard):
    X, *_ = diagonal_blocks(4)
    options = {"hard": hard, "n_init": 2, "random_state": 7, "max_iter": 10, "tol": 1e-3}
    one, two = (SymmetricClustering(5, 5, n_jobs=n, **options).fit(X) for n in (1, 2))
    np.testing.assert_array_equal(one.embedding_, two.embedding_)
    np.testing.assert_array_equal(one.components_, two.components_)
    assert one.objective_ == two.objective_
    other = SymmetricClustering(5, 5, **options | {"random_state": 8}).fit(X)
    assert [r.free_energy for r in other.history_] != [r.free_energy for r in one.history_]


def test_items_without_tokens_change_nothing():
    X, labels, column_labels = diagonal_blocks(5)
    wider = sp.csr_array(sp.block_array([[X, None], [None, sp.csr_array((3, 4))]]))
    model = SymmetricClustering(5, 5, hard=True, random_state=0)
    with pytest.warns(UserWarning, match="no counts"):
        model.fit(wider)
    assert adjusted_rand_score(labels, model.row_labels_[:150]) > 0.95
    assert adjusted_rand_score(column_labels, model.column_labels_[:100]) > 0.95


def test_the_concentration_of_bursty_rows_is_found_and_infinite_where_they_are_not():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(200, 0.5))
    for concentration in (30.0, 100.0):
        P = rng.gamma(concentration * p, size=(800, 200))
        n = rng.multinomial(100, P / P.sum(axis=1, keepdims=True)).astype(float)
        one = random_partition(TwoSides.of_block(counts_of(n)), (1, 1), rng)
        assert concentration_of_rows(counts_of(n), one) == pytest.approx(concentration, rel=0.1)
    n = rng.multinomial(100, p, size=800)
    assert concentration_of_rows(counts_of(n), one) == np.inf
    floats = counts_of(1.5 * n)
    one = random_partition(TwoSides.of_block(floats), (1, 1), rng)
    assert concentration_of_rows(floats, one) == np.inf


def test_first_tokens_are_those_expected_of_a_polya_urn():
    """A token is new with probability s_j / (s_j + m) after m others of its column."""
    X = counts_of([[4, 0, 1], [2, 3, 0]])
    share = 20 * np.array([6, 3, 1]) / 10
    expected = [
        sum(share[j] / (share[j] + m) for m in range(int(n)))
        for n, j in zip(X.data, X.indices, strict=True)
    ]
    np.testing.assert_allclose(first_tokens(X, 20.0), expected)
    np.testing.assert_array_equal(first_tokens(X, np.inf), X.data)


@pytest.mark.parametrize("bursty", [True, False])
def test_numbers_of_clusters_are_found_at_once(bursty):
    X, *_ = diagonal_blocks(6, 400, 150, 40_000, bursty)
    model = SymmetricClustering("auto", "auto", hard=True, random_state=0).fit(X)
    assert abs(model.n_row_clusters_ - 5) <= 1
    assert abs(model.n_column_clusters_ - 5) <= 1
    assert not hasattr(model, "component_search_")
    assert model.get_params()["n_row_clusters"] == "auto"
    again = model.set_params(warm_start=True).fit(Dyads(X))
    assert (again.n_row_clusters_, again.n_column_clusters_) == again.joint_.shape
    given = SymmetricClustering(2, 2, hard=True, warm_start=True, random_state=0).fit(X)
    given.set_params(n_row_clusters="auto", n_column_clusters="auto")
    refused("continues a fit with a given number", given.fit, X)


def test_a_table_without_structure_has_one_cluster_of_each_side():
    X = np.random.default_rng(0).poisson(np.outer(np.arange(1, 61) / 20, np.arange(1, 41) / 20))
    with pytest.warns(UserWarning, match="finds no structure"):
        model = SymmetricClustering("auto", "auto", random_state=0).fit(X)
    assert (model.n_row_clusters_, model.n_column_clusters_) == (1, 1)
    assert model.merges_ == []


def test_merges_are_the_best_of_all_at_their_time():
    X, *_ = diagonal_blocks(7)
    model = SymmetricClustering(6, 5, hard=True, random_state=0).fit(X)
    labels = [model.row_labels_.copy(), model.column_labels_.copy()]
    n = X.toarray()
    value = literal_icl(n, *labels)
    for merge in model.merges_:
        losses = {}
        for axis in (0, 1):
            for first, second in product(set(labels[axis].tolist()), repeat=2):
                if first < second:
                    joined = [compact(side) for side in merged(labels, axis, first, second)]
                    losses[axis, first, second] = value - literal_icl(n, *joined)
        best = min(losses, key=losses.get)
        assert (merge.axis, merge.first, merge.second) == best
        assert merge.loss == pytest.approx(losses[best], rel=1e-6, abs=1e-4)
        labels = merged(labels, *best)
        value -= losses[best]
    assert all((side == 0).all() for side in labels)
    assert len(model.merges_) == 5 + 4
    for axis, n_clusters in (("rows", 6), ("columns", 5)):
        linkage = to_linkage(model, axis=axis)
        assert linkage.shape == (n_clusters - 1, 4)
        assert (np.diff(linkage[:, 2]) >= 0).all()
        assert linkage[-1, 3] == n_clusters
        assert sorted(linkage[:, :2].ravel()) == list(range(2 * n_clusters - 2))
    tied = SymmetricClustering(3, 3, hard=True, tied=True, random_state=0).fit(n[:100])
    assert not hasattr(tied, "merges_")


def merged(labels, axis, first, second):
    joined = [side.copy() for side in labels]
    joined[axis][joined[axis] == second] = first
    return joined


def compact(labels):
    return np.unique(labels, return_inverse=True)[1]


def test_large_tables_have_fewer_tries_and_iterations(monkeypatch):
    tried = []
    divided = Partition.divided
    monkeypatch.setattr(Partition, "divided", lambda *given: tried.append(1) or divided(*given))
    counts = CSRCounts(diagonal_blocks(8)[0])
    n_tried = []
    for work in (0, 2**18):
        search = Search(0, (5, 5), work=work)
        labels_of_search(search, CoClusters(5, 5), counts, PlainRunner())
        n_tried.append(len(tried))
        tried.clear()
    assert n_tried[0] == 2  # in the second iteration of two
    assert n_tried[1] >= MAX_TRIES


@pytest.mark.parametrize("hard", [False, True])
def test_large_tables_are_searched_in_a_sample_of_rows_that_count(monkeypatch, hard):
    table, labels, column_labels = diagonal_blocks(0, n_rows=2000, n_tokens=80_000)
    weights = np.ones(len(labels))
    weights[::2] = 0
    searched = []

    def spy(search, model, X, runner):
        searched.append(X)
        return labels_of_search(search, model, X, runner)

    monkeypatch.setattr(starts, "labels_of_search", spy)
    monkeypatch.setattr(starts, "SAMPLED_WORK", table.nnz // 10)
    monkeypatch.setattr(starts, "MIN_SAMPLED_ROWS", 100)
    X = CSRCounts(table, weights)
    model = CoClusters(5, 5, hard=hard)
    state = starts.search_start(model, X, np.random.default_rng(0), PlainRunner())
    assert 190 <= searched[0].shape[0] <= 200  # a tenth of all, of those that count and differ
    assert searched[0].row_weights.all()
    counted = weights > 0
    found = state.rows.argmax(axis=1)
    assert adjusted_rand_score(labels[counted], found[counted]) > 0.95
    assert adjusted_rand_score(column_labels, state.params.memberships.argmax(axis=1)) > 0.95
    starts.search_start(model, X.take(np.arange(100)), np.random.default_rng(0), PlainRunner())
    assert searched[1].shape == (100, 100)


@pytest.mark.parametrize("rows", ["books", "chapters"])
def test_repeated_tokens_count_where_they_are_associations(monkeypatch, rows):
    bible = load_bible()
    texts = {}
    names = bible.groups if rows == "books" else bible.names
    for name, chapter in zip(names, bible.data, strict=True):
        texts[name] = f"{texts.get(name, '')} {chapter}"
    words = CountVectorizer(stop_words="english", min_df=5, max_df=0.8)
    X = CSRCounts(sp.csr_array(words.fit_transform(texts.values()).astype(float)))
    sizes = (6, 12)

    def explained(labels):
        return Partition(TwoSides.of_block(X), *labels).mutual_information

    def searched(discounts):
        search = Search(0, sizes, discounts=discounts)
        return explained(labels_of_search(search, CoClusters(*sizes), X, PlainRunner()))

    def explained_by_fit():
        model = CoClusters(*sizes, hard=True)
        state = starts.search_start(model, X, np.random.default_rng(0), PlainRunner())
        return explained((state.rows.argmax(axis=1), state.params.memberships.argmax(axis=1)))

    of_all = searched(discounts=False)
    chosen = [searched(discounts=True), explained_by_fit()]
    with monkeypatch.context() as patch:
        patch.setattr(starts, "repeats_associate", lambda *partitions: False)
        of_first = searched(discounts=True)
    if rows == "books":
        assert of_first < 0.7 * of_all
        assert min(chosen) > 0.95 * of_all
    else:  # words that repeat in a chapter are no association
        assert of_first > 0.85 * of_all
        np.testing.assert_allclose(chosen, of_first, rtol=0.05)


def test_further_rows_join_the_clusters_of_a_sample():
    table, labels, column_labels = diagonal_blocks(0, n_rows=1000, n_tokens=80_000)
    X = CSRCounts(table)
    sample = X.take(np.arange(200))
    row_labels, _ = starts.most_likely_labels(X, sample, (labels[:200], column_labels))
    assert (row_labels == labels)[X.row_sums > 0].mean() > 0.95
