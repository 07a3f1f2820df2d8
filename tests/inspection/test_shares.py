import datetime
import warnings
from decimal import Decimal
from itertools import permutations, product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import Pipeline, make_pipeline

from skcooc import AspectModel, AsymmetricClustering, ClusterAbstraction, Dyads, RowBlocks
from skcooc.datasets import make_cooccurrences
from skcooc.inspection import Mixtures, compare_shares, groups, name_topics, shares, topic_shares
from skcooc.inspection.groups import divide, period_starts, runs
from skcooc.inspection.models import read_view
from tests.tables import refused

LABELS = np.array(["b", "a", "c", "a", "b", "b", "a", "c", "b", "a"])
SIZES = np.array([0.35, 0.2, 0.15, 0.1, 0.08, 0.06, 0.04, 0.02])
CHANGED = np.array([True, False, False, True, *[False] * 4])  # they change places
without_counts = pytest.mark.filterwarnings("ignore:Without X:UserWarning")


def drawn(n=10, k=3, seed=0, longer=1.0):
    rng = np.random.default_rng(seed)
    rows = longer * rng.integers(5, 80, size=n)
    return rng.dirichlet(np.ones(k), size=n), rows.astype(float)


def model_of(mixtures, rows):
    q = np.random.default_rng(1).dirichlet(np.ones(6), size=mixtures.shape[1])
    return SimpleNamespace(components_=q, embedding_=mixtures, row_distribution_=rows / rows.sum())


def topics_of(mixtures, rows):
    return shares.mean_topics(mixtures, rows)


def planted(common, seed, n_rows=600, n_columns=800):
    """Two groups of rows, the components, and a model of them with half-shrunken mixtures."""
    rng = np.random.default_rng(seed)
    zipf = 1 / np.arange(1, n_columns + 1) ** 0.8
    own = rng.permuted(rng.gamma(0.05, size=(len(SIZES), n_columns)), axis=1) * zipf
    own /= own.sum(axis=1, keepdims=True)
    components = (1 - common) * own + common * zipf / zipf.sum()
    labels = np.arange(n_rows) % 2
    sizes = np.array([SIZES, SIZES[[3, 1, 2, 0, 4, 5, 6, 7]]])
    mixtures = np.array([rng.dirichlet(1.5 * sizes[g]) for g in labels])
    X = np.array([rng.multinomial(60, p) for p in mixtures @ components]).astype(float)
    shrunken = (mixtures + mixtures.mean(axis=0)) / 2
    model = SimpleNamespace(
        components_=components, embedding_=shrunken, transform=lambda X: shrunken[: X.shape[0]],
        row_distribution_=np.full(n_rows, 1 / n_rows),
    )  # fmt: skip
    return X, labels, model, sizes[0] - sizes[1]


def literal_mixture(counts, components):
    """The mixture of the largest likelihood, by a general optimiser over logits."""

    def loss(logits):
        p = np.exp(logits - logits.max())
        return -counts @ np.log(p / p.sum() @ components) / counts.sum()

    start = np.zeros(len(components))
    found = minimize(loss, start, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}).x
    return np.exp(found) / np.exp(found).sum()


def table_and_model(n=10, k=3, seed=0):
    rng = np.random.default_rng(seed)
    q, mixtures = rng.dirichlet(np.full(12, 0.5), size=k), rng.dirichlet(np.ones(k), size=n)
    X = np.array([rng.multinomial(80, p) for p in mixtures @ q]).astype(float)
    rows = X.sum(axis=1) / X.sum()
    model = SimpleNamespace(
        components_=q, embedding_=mixtures, row_distribution_=rows,
        transform=lambda X: np.full((X.shape[0], k), 1 / k),
    )  # fmt: skip
    return X, model


def pooled_and_literal(X, model, labels, share_of=literal_mixture):
    found = topic_shares(model, labels, X=X).pivot(index="group", columns="component")["share"]
    literal = [share_of(X[labels == g].sum(axis=0), model.components_) for g in np.unique(labels)]
    return found.to_numpy(), np.array(literal)


def test_shares_are_those_of_the_most_likely_mixture_of_all_tokens_of_a_group():
    X, model = table_and_model()
    np.testing.assert_allclose(*pooled_and_literal(X, model, LABELS), atol=3e-4)
    table = compare_shares(model, LABELS, X=X, n_permutations=9, random_state=0)
    for g, group in enumerate(np.unique(LABELS)):
        pair = [literal_mixture(X[is_in].sum(axis=0), model.components_)
                for is_in in (group == LABELS, group != LABELS)]  # fmt: skip
        lines = table[3 * g : 3 * g + 3]
        np.testing.assert_allclose(lines[["share", "rest"]], np.transpose(pair), atol=3e-4)
        np.testing.assert_allclose(lines["difference"], pair[0] - pair[1], atol=4e-4)
    mean = SimpleNamespace(**{**vars(model), "labels_": LABELS})  # a broken twin: the mean of rows
    assert np.abs(np.subtract(*pooled_and_literal(X, mean, LABELS))).max() > 0.05


def test_intervals_of_shares_cover_planted_ones_also_of_few_rows():
    """On other tables than those by which the method was chosen."""
    for n, length in ((6, 90), (20, 30), (100, 150)):
        covered = []
        for seed in range(100, 120):
            rng = np.random.default_rng(seed)
            q = rng.dirichlet(np.full(300, 0.1), size=12)
            sizes = rng.dirichlet(np.ones(12), size=3)
            rows = np.concatenate([rng.dirichlet(2 * size, size=n) for size in sizes])
            lengths = rng.integers(length // 3, 2 * length, size=len(rows))
            X = np.array([rng.multinomial(m, p) for m, p in zip(lengths, rows @ q, strict=True)])
            topics = shares.RowTopics(rows, X.astype(float), q)
            members = np.split(np.arange(3 * n), 3)
            share = topics.shares(members)
            low, high = shares.share_intervals(topics, members, share, 0.95)
            assert (low <= share).all()
            assert (share <= high).all()
            covered.append(((low <= sizes) & (sizes <= high)).mean())
        assert 0.92 < np.mean(covered) < 0.98, n


def test_intervals_of_shares_of_one_row_of_equal_rows_and_of_all():
    mixtures, rows = drawn()
    topics = topics_of(np.vstack([mixtures, *[mixtures[:1]] * 5]), np.r_[rows, [20.0] * 5])
    members = [np.array([0]), np.arange(10, 15), np.arange(15)]
    share = topics.shares(members)
    low, high = shares.share_intervals(topics, members, share, 0.95)
    assert np.isnan([low[0], high[0]]).all()
    np.testing.assert_allclose(high[1] - low[1], 0, atol=1e-4)
    narrow = shares.share_intervals(topics, members, share, 0.5)
    assert (low[2] < narrow[0][2]).all()
    assert (narrow[1][2] < high[2]).all()
    certain = topics_of(np.eye(3)[[0] * 4], np.full(4, 9.0))  # shares of 1 and of 0
    low, high = shares.share_intervals(certain, [np.arange(4)], np.eye(3)[:1], 0.95)
    np.testing.assert_allclose(low, np.eye(3)[:1], atol=1e-4)
    np.testing.assert_allclose(high, np.eye(3)[:1], atol=1e-4)


def test_limits_one_row_in_each_group_and_all_rows_in_one():
    X, model = table_and_model()
    np.testing.assert_allclose(*pooled_and_literal(X, model, np.arange(10)), atol=5e-4)
    np.testing.assert_allclose(*pooled_and_literal(X, model, np.zeros(10)), atol=3e-4)
    sums = np.vstack([1e4 * X[:1], X, np.zeros(X.shape[1])])  # the first one converges last
    alone = [shares.pooled_mixtures(line[None], model.components_)[0] for line in sums]
    np.testing.assert_allclose(shares.pooled_mixtures(sums, model.components_), alone, rtol=1e-9)
    components = np.eye(3)  # each column is a topic: shares are those of counts
    X = np.array([[3.0, 1, 0], [1, 2, 5], [0, 7, 2]])
    found = shares.pooled_mixtures(X, components)
    np.testing.assert_allclose(found, X / X.sum(axis=1, keepdims=True))


def test_order_blocks_and_repeated_rows_change_nothing(monkeypatch):
    X, model = table_and_model(12)
    labels = np.arange(12) % 3
    expected, _ = pooled_and_literal(X, model, labels)
    order = np.random.default_rng(0).permutation(12)
    np.testing.assert_allclose(pooled_and_literal(X[order], model, labels[order])[0], expected)
    for form in (sp.csc_matrix, pd.DataFrame, lambda X: X.astype(np.float32)):
        np.testing.assert_allclose(
            topic_shares(model, labels, X=form(X))["share"], expected.ravel()
        )
    options = {"n_permutations": 19, "random_state": 0}
    table = compare_shares(model, labels, X=X, **options)
    monkeypatch.setattr(shares, "BLOCK", 50)  # groups, topics and resamples one by one
    np.testing.assert_allclose(pooled_and_literal(X, model, labels)[0], expected)
    pd.testing.assert_frame_equal(compare_shares(model, labels, X=X, **options), table)


def test_rows_weigh_as_in_the_fit():
    X = make_cooccurrences(60, 40, n_components=3, random_state=0).X.toarray()
    labels, weights = np.arange(60) % 2, 1 + np.arange(60) % 3
    model = AspectModel(3, beta=0.9, random_state=0).fit(X, sample_weight=weights)
    found = topic_shares(model, labels, X=X)["share"]
    times = np.repeat(np.arange(60), weights)
    repeated = topic_shares(model, labels[times], X=X[times])["share"]  # other rows, of weight one
    np.testing.assert_allclose(found, repeated, atol=1e-6)
    shuffled = np.random.default_rng(0).permutation(60)  # they are not those fitted, row by row
    ones = topic_shares(model, labels[shuffled], X=X[shuffled])["share"]
    assert np.abs(found - ones).max() > 1e-3


def test_linear_estimates_are_unbiased_and_add_up_to_the_tokens():
    X, model = table_and_model()
    topics = shares.row_topics(read_view(model, X, None, None, None))
    np.testing.assert_allclose(topics.linear.sum(axis=1), X.sum(axis=1))
    exact = np.random.default_rng(2).dirichlet(np.ones(3), size=10)
    expected = shares.RowTopics(exact, 80 * exact @ model.components_, model.components_)
    np.testing.assert_allclose(expected.linear, 80 * exact, rtol=1e-6)
    mixtures, rows = drawn()
    np.testing.assert_allclose(topics_of(mixtures, rows).linear, rows[:, None] * mixtures)


def test_planted_differences_are_found_and_intervals_hold_them():
    ratios, held, false, shrunken = [], [], [], []
    for common, seed in product([0.2, 0.5, 0.7], range(7)):
        X, labels, model, truth = planted(common, seed)
        options = {"n_permutations": 199, "n_resamples": 100, "random_state": seed}
        table = compare_shares(model, labels, X=X, **options)
        assert (table["group"].tolist(), set(table["n_tests"])) == ([0] * 8, {8})
        reported = (table["p_adjusted"] < 0.05).to_numpy()
        assert reported[CHANGED].all()
        false += reported[~CHANGED].tolist()
        ratios.append(table["difference"].to_numpy()[CHANGED] / truth[CHANGED])
        held += ((table["low"] <= truth) & (truth <= table["high"])).tolist()
        with pytest.warns(UserWarning, match="Pass X"):  # the twin: the mean of rows
            mean = compare_shares(model, labels, n_permutations=1, n_resamples=2)
        shrunken.append(mean["difference"].to_numpy()[CHANGED] / truth[CHANGED])
    np.testing.assert_allclose(np.mean(ratios, axis=0), 1, atol=0.15)
    assert 0.9 < np.mean(held) < 0.98  # of 168
    assert np.mean(false) <= 0.06
    assert np.mean(shrunken) < 0.7


def test_counts_of_pipelines_of_new_rows_and_of_other_libraries():
    X, labels = make_cooccurrences(60, 40, n_components=3, random_state=0).X, np.arange(60) % 2
    words = np.array([f"w{j:02d}" for j in range(40)])
    texts = [" ".join(np.repeat(words, row)) for row in X.toarray().astype(int)]
    pipeline = make_pipeline(CountVectorizer(), AspectModel(3, beta=0.9, random_state=0)).fit(texts)
    counts, model = pipeline[0].transform(texts), pipeline[-1]
    table = topic_shares(pipeline, labels, X=texts)
    words = pipeline[0].get_feature_names_out()
    pd.testing.assert_frame_equal(table, topic_shares(model, labels, words, X=counts))
    assert table["topic"].unique().tolist() == name_topics(pipeline)
    new = topic_shares(pipeline, labels[:20], X=texts[:20])
    assert new["n_rows"].tolist() == [10] * 6
    assert new["topic"].tolist() == table["topic"].tolist()
    largest = pipeline.transform(texts[:20]).argmax(axis=1)
    parts = [np.mean(largest[labels[:20] == g] == k) for g in range(2) for k in range(3)]
    np.testing.assert_allclose(new["documents"], parts)
    dyads = topic_shares(model, labels, X=Dyads(counts))["share"]
    np.testing.assert_allclose(dyads, table["share"])
    nmf = NMF(3, init="nndsvda", beta_loss="kullback-leibler", solver="mu").fit(X)
    sums = topic_shares(nmf, labels, X=X).groupby("group")["share"].sum()
    np.testing.assert_allclose(sums, 1, atol=1e-5)
    blocks = RowBlocks([X])
    refused("X is a RowBlocks: give rows", topic_shares, model, labels, X=blocks, error=TypeError)
    without_rows = AspectModel(3, beta=0.9, max_iter=3, random_state=0).fit(blocks)
    refused("The training rows were not kept", topic_shares, without_rows, labels)
    refused("X has 9 features, but the model has 40", topic_shares, nmf, labels, X=X[:, :9])
    refused("by has shape", topic_shares, model, labels[:9], X=counts)
    mixtures = Mixtures(model.embedding_)
    refused("no columns: .* leave X out", topic_shares, mixtures, labels, X=X)


def test_clusters_and_nodes_have_the_mean_of_their_rows_without_a_warning():
    X = make_cooccurrences(60, 40, n_components=3, kind="clusters", random_state=0).X
    labels = np.arange(60) % 2
    tree = ClusterAbstraction(3, beta=0.5, random_state=0)
    for model in (AsymmetricClustering(3, hard=True, random_state=0), tree):
        model.fit(X)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found, given = (topic_shares(model, labels, X=table) for table in (None, X))
        pd.testing.assert_frame_equal(found, given, rtol=1e-5)
        tokens = X.sum(axis=1)
        of_first = (tokens * (labels == 0)) @ model.embedding_ / tokens[labels == 0].sum()
        np.testing.assert_allclose(found[found["group"] == 0]["share"], of_first, rtol=1e-5)


def literal_share(mixtures, rows, members, topic):
    part = sum(rows[i] * mixtures[i, topic] for i in members)
    return part / sum(rows[i] for i in members)


def unweighted_share(mixtures, rows, members, topic):
    """A broken twin: every row counts the same."""
    return np.mean([mixtures[i, topic] for i in members])


def agrees(table, share_of):
    found = [
        share_of(*drawn(), np.flatnonzero(group == LABELS), k)
        for group, k in zip(table["group"], table["component"], strict=True)
    ]
    return np.allclose(table["share"], found)


@without_counts
def test_shares_without_counts_are_those_of_a_loop_over_rows():
    model = model_of(*drawn())
    table = topic_shares(model, LABELS, names={0: "first"})
    assert agrees(table, literal_share)
    assert not agrees(table, unweighted_share)
    assert table["group"].tolist() == ["a"] * 3 + ["b"] * 3 + ["c"] * 3
    assert table["component"].tolist() == [0, 1, 2] * 3
    assert table["topic"][0] == "first"
    assert table["n_rows"].tolist() == [4] * 6 + [2] * 3
    for group, k, documents in table[["group", "component", "documents"]].values:
        largest = [row.argmax() for row in model.embedding_[group == LABELS]]
        assert documents == pytest.approx(largest.count(k) / len(largest))
    pipeline = Pipeline([("as it is", "passthrough"), ("model", model)])
    table = topic_shares(pipeline, LABELS, backend="polars")
    fields = ["group", "component", "topic", "n_rows", "share", "low", "high", "documents"]
    assert table.columns == fields
    topics = shares.mean_topics(model.embedding_, model.row_distribution_)
    members = [np.flatnonzero(np.array(LABELS) == group) for group in "abc"]
    ends = shares.share_intervals(topics, members, topics.shares(members), 0.95)
    np.testing.assert_allclose(table.select("low", "high").to_numpy().T, ends.reshape(2, -1))


def literal_resamples(topics, members, n_resamples, seed, topic):
    """The share in each group of each resample, (G, R), one row after the other."""
    rng, found = np.random.default_rng(seed), []
    for rows in members:
        drawn = rows[rng.integers(len(rows), size=(n_resamples, len(rows)))]
        found.append([sum(topics.linear[r, topic]) / sum(topics.tokens[r]) for r in drawn])
    return np.array(found)


@pytest.mark.parametrize("pooled", [False, True])
def test_intervals_are_percentiles_of_differences_of_resampled_rows(monkeypatch, pooled):
    X, model = table_and_model()
    view = read_view(model, X, None, None, None)
    topics = shares.row_topics(view) if pooled else topics_of(*drawn())
    members = [np.flatnonzero(LABELS == "a"), np.flatnonzero(LABELS != "a")]
    found = shares.compare_groups(topics, members, 40, 0.8, seed=3)
    tail = shares.expanded_tail(0.8, 4)
    for topic in range(3):
        first, second = literal_resamples(topics, members, 40, 3, topic)
        its, other = (topics.linear[of, topic].sum() / topics.tokens[of].sum() for of in members)
        exact = found.share[0, topic] - found.rest[0, topic]
        assert exact == pytest.approx(its - other, abs=0.02 if pooled else 1e-9)
        ends = np.quantile(first - second, [tail, 1 - tail]) - (its - other) + exact
        assert [found.low[0, topic], found.high[0, topic]] == pytest.approx(ends)
        assert ends[0] < np.quantile(first - second, 0.1) - (its - other) + exact  # not expanded
    np.testing.assert_allclose(found.low[1], -found.high[0])
    monkeypatch.setattr(shares, "BLOCK", 50)  # topics and resamples one by one
    np.testing.assert_allclose(shares.compare_groups(topics, members, 40, 0.8, seed=3), found)


def coverage(n, n_samples=150):
    """How often the interval holds the difference of two groups of n normal rows, which is 0."""
    rng, held = np.random.default_rng(n), 0
    for seed in range(n_samples):
        share = 0.5 + 0.05 * rng.normal(size=2 * n)
        topics = topics_of(np.column_stack([share, 1 - share]), np.ones(2 * n))
        members = [np.arange(n), np.arange(n, 2 * n)]
        found = shares.compare_groups(topics, members, 100, 0.9, seed)
        held += found.low[0, 0] <= 0 <= found.high[0, 0]
    return held / n_samples


def test_intervals_hold_the_difference_as_often_as_they_say(monkeypatch):
    assert coverage(4) == pytest.approx(0.93, abs=0.05)
    assert coverage(60) == pytest.approx(0.9, abs=0.05)
    monkeypatch.setattr(shares, "expanded_tail", lambda level, _: (1 - level) / 2)  # a twin
    assert coverage(4) < 0.85


def welch(mixtures, rows, members):
    """The square of a difference over its variance, by ratios of sums."""
    shares_, variances = [], []
    for of in members:
        share = sum(rows[i] * mixtures[i] for i in of) / sum(rows[i] for i in of)
        off = sum((rows[i] * (mixtures[i] - share)) ** 2 for i in of)
        shares_.append(share)
        variances.append(off / sum(rows[i] for i in of) ** 2)
    return (shares_[0] - shares_[1]) ** 2 / sum(variances)


def exact_p(mixtures, rows, n_first, statistic):
    orders = list(permutations(range(len(rows))))
    found = np.array([statistic(mixtures, rows, (o[:n_first], o[n_first:])) for o in orders])
    return (found >= found[0] * (1 - 1e-9)).mean()


def test_p_values_are_those_of_all_permutations():
    mixtures, rows = drawn(6, 2, seed=1)
    members = [np.arange(3), np.arange(3, 6)]
    found = shares.p_values(topics_of(mixtures, rows), members, 1500, seed=0)
    exact = exact_p(mixtures[:, 0], rows, 3, welch)
    assert found == pytest.approx(exact, abs=0.05)

    def plain(mixtures, rows, members):  # the twin: not divided by its error
        first, second = (literal_share(mixtures[:, None], rows, of, 0) for of in members)
        return (first - second) ** 2

    assert abs(exact_p(mixtures[:, 0], rows, 3, plain) - exact) > 0.05


@without_counts
def test_a_planted_difference_is_found_and_the_tests_are_counted():
    mixtures, rows = drawn(80, 4, seed=2)
    labels = np.array(["x", "y", "z", "z"])[np.arange(80) % 4]
    mixtures[labels == "x"] = 0.7 * mixtures[labels == "x"] + [0, 0.3, 0, 0]
    table = compare_shares(model_of(mixtures, rows), labels, n_permutations=399, random_state=0)
    assert set(table["n_tests"]) == {12}
    found = table[table["p_adjusted"] < 0.05]
    assert ("x", 1) in set(zip(found["group"], found["component"], strict=True))
    first = table[(table["group"] == "x") & (table["component"] == 1)].iloc[0]
    assert first["difference"] == pytest.approx(first["share"] - first["rest"])
    assert 0 < first["low"] < first["difference"] < first["high"]
    p = table["p"].to_numpy()
    by_size = np.sort(p)
    steps = np.array([min(by_size[j:] * 12 / np.arange(j + 1, 13)) for j in range(12)])
    np.testing.assert_allclose(table["p_adjusted"], steps[np.searchsorted(by_size, p)])


@without_counts
@pytest.mark.parametrize(("labels", "smallest"), [("aaaabbbb", 1 / 35), ("aaabbbbb", 1 / 56)])
def test_so_few_rows_that_no_difference_can_be_significant_are_a_warning(labels, smallest):
    mixtures = np.tile([0.4, 0.3, 0.3], (8, 1)) + 0.01 * np.random.default_rng(0).normal(
        size=(8, 3)
    )
    mixtures[np.array(list(labels)) == "a"] += [0.3, 0, 0]
    mixtures /= mixtures.sum(axis=1, keepdims=True)
    model = model_of(mixtures, np.ones(8))
    message = f"so p is at least {smallest:.2g}, .* among 3 at least {3 * smallest:.2g}"
    with pytest.warns(UserWarning, match=message):
        table = compare_shares(model, list(labels), random_state=0)
    assert table["p"].min() == pytest.approx(smallest)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.filterwarnings("ignore", shares.WITHOUT_COUNTS[:20])
        compare_shares(model_of(*drawn(12)), list("ab" * 6), random_state=0)


@without_counts
def test_one_strong_difference_among_many_tests_is_found():
    mixtures, rows = drawn(120, 8, seed=1)
    labels = np.arange(120) % 6
    mixtures[labels == 2, 3] += 1
    mixtures /= mixtures.sum(axis=1, keepdims=True)
    model = model_of(mixtures, rows)
    few, enough = (
        compare_shares(model, labels, n_permutations=n, random_state=0) for n in (59, "auto")
    )
    assert few["p_adjusted"].min() >= 0.05  # 48 tests, and p is at least 1 / 60
    assert enough["p_adjusted"].min() < 0.05


@without_counts
def test_thousands_of_rows_have_more_divisions_than_any_number():
    mixtures, rows = drawn(1200, 2)
    table = compare_shares(
        model_of(mixtures, rows), np.arange(1200) % 2, n_permutations=9, random_state=0
    )
    assert np.isfinite(table["p"]).all()


@without_counts
def test_groups_of_one_row_have_no_interval_and_equal_rows_no_difference():
    mixtures, rows = drawn(5)
    table = compare_shares(model_of(mixtures, rows), list("aaaab"), random_state=0)
    assert table[["p", "p_adjusted", "low", "high"]].isna().all().all()
    assert set(table["n_tests"]) == {0}
    assert set(table["group"]) == {"a"}  # of two groups only the first is listed
    np.testing.assert_allclose(table["rest"], mixtures[4])
    same = topics_of(np.tile([0.1, 0.2, 0.7], (8, 1)), np.arange(1.0, 9.0))
    assert (shares.p_values(same, [np.arange(4), np.arange(4, 8)], 99, 0) == 1).all()


@without_counts
def test_numbers_that_make_most_rows_groups_of_their_own_are_refused():
    mixtures, rows = drawn(30)
    ages = np.random.default_rng(0).normal(size=30)
    model = model_of(mixtures, rows)
    cure = r"30 groups for 30 rows.*use share_effects for numbers.*pandas\.cut\(by, 4\)"
    refused(cure, compare_shares, model, ages)
    table = compare_shares(model, pd.cut(ages, 3), random_state=0, n_permutations=9)
    assert len(table) == 9
    refused("by has one group, 'a'", compare_shares, model, ["a"] * 30)


def test_groups_of_two_columns_are_their_combinations():
    X, model = table_and_model(24)
    arm, year = np.array(["t", "c"])[np.arange(24) % 2], 2018 + np.arange(24) % 3
    joined = [f"{a}, {b}" for a, b in zip(arm, year, strict=True)]
    options = {"X": X, "n_permutations": 19, "random_state": 0}
    expected = compare_shares(model, joined, **options)
    for form in (dict, pd.DataFrame, pl.DataFrame, lambda by: pd.DataFrame([*by.values()]).T):
        both = form({"arm": arm, "year": year})
        pd.testing.assert_frame_equal(compare_shares(model, both, **options), expected)
        shared = topic_shares(model, both, X=X)
        pd.testing.assert_frame_equal(shared, topic_shares(model, joined, X=X))
    assert expected["group"].unique().tolist()[:2] == ["c, 2018", "c, 2019"]


ROWS = np.ones(4)
DAYS = [datetime.date(2001, 1, 31), datetime.date(2001, 2, 1), datetime.date(2003, 5, 6)]
ZONE = datetime.timezone(datetime.timedelta(hours=2))


def found(by, freq="auto", weights=ROWS):
    division = divide(by, weights, freq)
    return dict(zip(division.labels, [m.tolist() for m in division.members], strict=True))


def test_labels_numbers_and_rows_without():
    for by in (
        ["x", "b", None, "x"],
        np.array(["x", "b", np.nan, "x"], dtype=object),
        pd.Series(["x", "b", None, "x"]),
        pd.Series(["x", "b", pd.NA, "x"], dtype="string"),
        pl.Series(["x", "b", None, "x"]),
        {"side": ["x", "b", None, "x"]},
    ):
        assert found(by) == {"b": [1], "x": [0, 3]}
    assert found(list("abca"), weights=np.array([1, 0, 1, 1])) == {"a": [0, 3], "c": [2]}
    assert found([10, 9, None, 9]) == {"9": [1, 3], "10": [0]}
    assert found(pd.Series([10, 9, None, 9], dtype="Int64")) == {"9": [1, 3], "10": [0]}
    assert found(np.array([0.5, np.nan, 0.25, 0.5])) == {"0.25": [2], "0.5": [0, 3]}
    assert found([1, "1", 2, True]) == {"1": [0, 1], "2": [2], "True": [3]}
    for by in (["10", "9", "1.5", "9"], [Decimal(10), Decimal(9), Decimal("1.5"), Decimal(9)]):
        assert [*found(by).items()] == [("1.5", [2]), ("9", [1, 3]), ("10", [0])]
    refused("by has durations: give numbers", divide, np.arange(4).astype("m8[D]"), ROWS)
    assert divide([3, 1, 2, 3], ROWS).ordered
    assert not divide(list("abcd"), ROWS).ordered
    for by in (
        pd.Series(pd.Categorical(["low", "high", None, "mid"], ["low", "mid", "high"])),
        pl.Series(["low", "high", None, "mid"], dtype=pl.Enum(["low", "mid", "high"])),
        {"level": pd.Categorical(["low", "high", None, "mid"], ["low", "mid", "high"])},
    ):
        assert found(by) == {"low": [0], "mid": [3], "high": [1]}
    assert list(found(pd.Categorical([1, 9, None, 4], [9, 4, 1])).items()) == [
        ("9", [1]), ("4", [3]), ("1", [0]),
    ]  # fmt: skip


def test_two_columns_may_lack_labels_and_have_an_order_or_periods():
    arm = pd.Categorical(["t", "c", "t", "t"], ["t", "c"])
    assert found({"arm": arm, "x": [2, 1, 1, None]}) == {"t, 1": [2], "t, 2": [0], "c, 1": [1]}
    assert list(found({"arm": arm, "x": [2, 1, 1, 1]})) == ["t, 1", "t, 2", "c, 1"]
    by = {"arm": list("tcct"), "day": [*DAYS, None]}
    for its in (by, {**by, "day": ["2001-01-31", "2001-02-01", "2003-05", None]}):
        assert found(its, "year") == {"c, 2001": [1], "c, 2003": [2], "t, 2001": [0]}
    assert found(by, weights=np.array([1, 0, 1, 1])) == {"c, 2003-05-06": [2], "t, 2001-01-31": [0]}
    division = divide(by, ROWS)
    assert (division.name, division.ordered) == ("arm, day", False)
    assert found({"arm": list("abca")}) == {"a": [0, 3], "b": [1], "c": [2]}


def test_periods_of_dates():
    for by in (
        [*DAYS, None],
        pd.Series(pd.to_datetime([*DAYS, None])),
        pl.Series([*DAYS, None]),
        np.array([*DAYS, "NaT"], dtype="datetime64[ns]"),
        [*(datetime.datetime(*d.timetuple()[:3], 23, tzinfo=ZONE) for d in DAYS), pd.NaT],
        pd.Series(pd.to_datetime([*DAYS, None])).dt.tz_localize("Asia/Tokyo"),
        pl.Series([*DAYS, None]).cast(pl.Datetime).dt.replace_time_zone("Asia/Tokyo"),
    ):
        assert found(by) == {"2001-01-31": [0], "2001-02-01": [1], "2003-05-06": [2]}
        assert found(by, "month") == {"2001-01": [0], "2001-02": [1], "2003-05": [2]}
        assert found(by, "quarter") == {"2001 Q1": [0, 1], "2003 Q2": [2]}
        assert found(by, "year") == {"2001": [0, 1], "2003": [2]}
        assert found(by, "decade") == {"2000s": [0, 1, 2]}


ISO = ["2024-01-15", "2024-01-31T23:59:59Z", "2024-03"]
MONTHS = pd.PeriodIndex([*ISO[::2], "2024-01", None], freq="M")[[0, 2, 1, 3]]


def test_strings_and_periods_are_dates():
    months = {"2024-01": [0, 1], "2024-03": [2]}
    strings = pd.Series([*ISO, pd.NA], dtype="string")
    for by in ([*ISO, None], strings, pl.Series([*ISO, None]), MONTHS, pd.Series(MONTHS)):
        assert found(by, "month") == months
        assert found(by) == months
    assert found(["2024-02", "2023", "2024-02", "2023"]) == {"2023": [1, 3], "2024": [0, 2]}
    assert divide(["2024-02"] * 4, ROWS).ordered
    assert found(pd.Categorical(["2024-02", "2023-01"] * 2)) == {
        "2023-01": [1, 3],
        "2024-02": [0, 2],
    }
    assert divide(pd.PeriodIndex(["2024-02"] * 4, freq="M"), ROWS).labels == ["2024-02"]
    assert divide(pd.PeriodIndex(["2024", "2021"] * 2, freq="Y"), ROWS).labels == ["2021", "2024"]


def test_periods_are_complete_and_a_missing_one_is_a_gap():
    months = np.array(["2024-01", "2024-02", "2024-04"], dtype="datetime64[M]")
    assert runs(months.astype("datetime64[D]")) == [slice(0, 2), slice(2, 3)]
    friday = np.datetime64("2024-03-01")
    assert runs(friday + np.array([-2, -1, 0, 3, 4, 5])) == [slice(0, 6)]
    days = np.arange("1968-12-20", "1972-02-01", dtype="datetime64[D]")
    for freq in groups.FREQUENCIES:
        first = period_starts(days, freq)
        assert (first <= days).all()
        np.testing.assert_array_equal(period_starts(first, freq), first)
    weekdays = {day.weekday() for day in period_starts(days, "week").tolist()}
    assert weekdays == {0}
    weights = np.ones(400)
    start = np.datetime64("1987-06-01")
    assert len(divide(start + np.arange(400) // 40, weights).labels) == 10
    assert divide(start + np.arange(1200) // 4, np.ones(1200)).labels[1] == "1987-07"
    assert divide(start + 90 * np.arange(400), weights).labels[1] == "1990s"


def test_bad_input():
    for by, freq, message in (
        ([1, 2], "auto", r"by has shape \(2,\), but there are 4 rows"),
        (np.ones((4, 2)), "auto", r"shape \(4, 2\)"),
        (sp.csr_array((4, 2)), "auto", r"shape \(4, 2\): give a label"),
        ([None] * 4, "auto", "no label for any row"),
        ([0.5, -np.inf, 1, 2], "auto", "by has infinite numbers: give NaN for rows without"),
        (pd.Series([1, 2, np.inf, np.nan]), "auto", "by has infinite numbers"),
        (list("abcd"), "month", r"by: 'a' \(row 0\) is not a date or number; 4 of 4 values"),
        (["2024-01", "2024-13"] * 2, "month", r"by: '2024-13' \(row 1\) is not a date"),
        (np.arange(4).astype("datetime64[D]"), "hour", "freq='hour' should be"),
        (dict.fromkeys("abc", [1] * 4), "auto", r"3 columns, \['a', 'b', 'c'\]: give one or two"),
        (pd.DataFrame(dict.fromkeys("abc", [1] * 4)), "auto", "3 columns"),
        ({}, "auto", "by has 0 columns"),
        ({"a": [1, 1, None, None], "b": [None, None, 1, 1]}, "auto", "label in both columns"),
        ({"a": [1] * 4, "b": list("cdcd")}, "month", r"by: '1' \(row 0\) is not a date"),
    ):
        refused(message, divide, by, ROWS, freq)
    hint = r"by is a string; give the labels, such as adata\.obs\['cell_type'\]"
    refused(hint, divide, "cell_type", ROWS, error=TypeError)


def test_few_divisions_are_all_compared():
    rng = np.random.default_rng(0)
    topics = topics_of(rng.dirichlet(np.ones(3), 6), rng.integers(20, 60, 6).astype(float))
    members = [np.arange(3), np.arange(3, 6)]
    exact = shares.p_values(topics, members, 20, 0)
    np.testing.assert_allclose(20 * exact, np.round(20 * exact))
    assert exact.min() >= 0.1  # of an extreme division and its opposite
    np.testing.assert_array_equal(exact, shares.p_values(topics, members, 999, 1))
    drawn = [shares.p_values(topics, members, 19, seed) for seed in range(400)]
    np.testing.assert_allclose(np.mean(drawn, axis=0), (1 + 19 * exact) / 20, atol=0.02)
    for sizes in ([3, 3], [2, 1, 2], [4]):
        found = list(shares.divisions(tuple(range(sum(sizes))), sizes))
        assert len(set(found)) == len(found) == shares.n_divisions(np.array(sizes))
    assert shares.n_divisions(np.array([2000, 2000])) == np.inf
