"""Shares of topics in groups, their intervals, and tests between groups."""

from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from skcooc import AspectModel
from skcooc.inspection import compare_shares, topic_shares
from skcooc.inspection import shares as shares_module
from skcooc.inspection.shares import (
    TopicCounts,
    expanded_tail,
    group_shares,
    p_values,
    share_differences,
)

LABELS = np.array(["b", "a", "c", "a", "b", "b", "a", "c", "b", "a"])


def drawn(n=10, k=3, seed=0, longer=1.0):
    rng = np.random.default_rng(seed)
    rows = longer * rng.integers(5, 80, size=n)
    return rng.dirichlet(np.ones(k), size=n), rows.astype(float)


def model_of(mixtures, rows):
    q = np.random.default_rng(1).dirichlet(np.ones(6), size=mixtures.shape[1])
    return SimpleNamespace(components_=q, embedding_=mixtures, row_distribution_=rows / rows.sum())


def mass_of(mixtures, rows):
    return TopicCounts(mixtures * rows[:, None], rows)


def members_of(labels):
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


def literal_share(mixtures, rows, members, topic):
    part = sum(rows[i] * mixtures[i, topic] for i in members)
    return part / sum(rows[i] for i in members)


def unweighted_share(mixtures, rows, members, topic):
    """A broken twin: every row counts the same."""
    return np.mean([mixtures[i, topic] for i in members])


def agrees(share_of):
    mixtures, rows = drawn()
    table = topic_shares(model_of(mixtures, rows), LABELS, random_state=0)
    found = [
        share_of(mixtures, rows, np.flatnonzero(group == LABELS), k)
        for group, k in zip(table["group"], table["component"], strict=True)
    ]
    return np.allclose(table["share"], found)


def test_shares_are_those_of_a_loop_over_rows():
    assert agrees(literal_share)
    assert not agrees(unweighted_share)
    table = topic_shares(model_of(*drawn()), LABELS, names={0: "first"}, random_state=0)
    assert table["group"].tolist() == ["a"] * 3 + ["b"] * 3 + ["c"] * 3
    assert table["component"].tolist() == [0, 1, 2] * 3
    assert table["topic"][0] == "first"
    assert table["n_rows"].tolist() == [4] * 6 + [2] * 3
    assert table.groupby("group")["share"].sum().tolist() == pytest.approx([1, 1, 1])
    assert (table["low"] <= table["share"]).all()
    assert (table["share"] <= table["high"]).all()


def literal_resamples(mass, members, n_resamples, seed, topic):
    """The share in each group of each resample, (G, R), one row after the other."""
    rng, found = np.random.default_rng(seed), []
    for rows in members:
        drawn = rng.integers(len(rows), size=(n_resamples, len(rows)))
        found.append(
            [
                sum(mass.joint[rows[i], topic] for i in one) / sum(mass.rows[rows[i]] for i in one)
                for one in drawn
            ]
        )
    return np.array(found)


def test_intervals_are_percentiles_of_resampled_rows(monkeypatch):
    mass, members = mass_of(*drawn()), members_of(LABELS)
    found = group_shares(mass, members, 40, 0.8, seed=3)
    for topic in range(3):
        for g, values in enumerate(literal_resamples(mass, members, 40, 3, topic)):
            tail = expanded_tail(0.8, len(members[g]))
            ends = np.quantile(values, [tail, 1 - tail])
            assert [found.low[g, topic], found.high[g, topic]] == pytest.approx(ends)
            if len(members[g]) > 2:  # the twin: not expanded
                assert ends[0] < np.quantile(values, 0.1)
    monkeypatch.setattr(shares_module, "BLOCK", 50)  # topics and resamples one by one
    np.testing.assert_allclose(group_shares(mass, members, 40, 0.8, seed=3), found)


def test_differences_are_those_of_the_same_resamples(monkeypatch):
    mass, members = mass_of(*drawn()), members_of(LABELS)
    found = share_differences(mass, members, 30, 0.9, seed=1)
    for g, rows in enumerate(members):
        rest = np.setdiff1d(np.arange(10), rows)
        for k in range(3):
            mixtures = mass.joint / mass.rows[:, None]
            its, others = (literal_share(mixtures, mass.rows, of, k) for of in (rows, rest))
            assert found.share[g, k] == pytest.approx(its - others)
            assert found.low[g, k] < found.share[g, k] < found.high[g, k]
    monkeypatch.setattr(shares_module, "BLOCK", 50)
    np.testing.assert_allclose(share_differences(mass, members, 30, 0.9, seed=1), found)


def coverage(n, n_samples=150, expand=True):
    """How often the interval of n normal rows of equal length holds their mean."""
    rng, held = np.random.default_rng(n), 0
    for seed in range(n_samples):
        share = 0.5 + 0.05 * rng.normal(size=n)
        mass = TopicCounts(np.column_stack([share, 1 - share]), np.ones(n))
        level = 0.9 if expand else 0.9 - 2 * (expanded_tail(0.9, n) - 0.05)
        found = group_shares(mass, [np.arange(n)], 100, level, seed)
        held += found.low[0, 0] <= 0.5 <= found.high[0, 0]
    return held / n_samples


def test_intervals_hold_the_share_as_often_as_they_say(monkeypatch):
    assert coverage(6) == pytest.approx(0.9, abs=0.05)
    assert coverage(60) == pytest.approx(0.9, abs=0.05)
    monkeypatch.setattr(
        shares_module, "expanded_tail", lambda level, n: (1 - level) / 2
    )  # the twin
    assert coverage(6) < 0.85


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
    """Over all orders of the rows."""
    orders = list(permutations(range(len(rows))))
    found = np.array([statistic(mixtures, rows, (o[:n_first], o[n_first:])) for o in orders])
    return (found >= found[0] * (1 - 1e-9)).mean()


def test_p_values_are_those_of_all_permutations():
    mixtures, rows = drawn(6, 2, seed=1)
    members = [np.arange(3), np.arange(3, 6)]
    found = p_values(mass_of(mixtures, rows), members, 3000, seed=0)
    exact = exact_p(mixtures[:, 0], rows, 3, welch)
    assert found == pytest.approx(exact, abs=0.03)

    def plain(mixtures, rows, members):  # the twin: not divided by its error
        first, second = (literal_share(mixtures[:, None], rows, of, 0) for of in members)
        return (first - second) ** 2

    assert abs(exact_p(mixtures[:, 0], rows, 3, plain) - exact) > 0.05


def test_groups_that_do_not_differ_are_seldom_told_apart():
    """Though the rows of one are ten times as long, and it has fewer of them."""
    p = []
    for seed in range(80):
        short, long = drawn(30, 3, seed), drawn(10, 3, 1000 + seed, longer=10)
        both = (np.concatenate(pair) for pair in zip(short, long, strict=True))
        members = [np.arange(30), np.arange(30, 40)]
        p.append(p_values(mass_of(*both), members, 99, seed)[0])
    assert 0.04 < (np.array(p) <= 0.1).mean() < 0.17


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
    steps = [min(by_size[j:] * 12 / np.arange(j + 1, 13)) for j in range(12)]
    assert table["p_adjusted"].tolist() == pytest.approx(
        [steps[int(np.searchsorted(by_size, one))] for one in p]
    )


def test_neither_the_order_of_rows_nor_the_unit_of_counts_matters():
    mixtures, rows = drawn(40, 3)
    labels = np.arange(40) % 3
    order = np.random.default_rng(0).permutation(40)
    model, other = model_of(mixtures, rows), model_of(mixtures[order], 1000 * rows[order])
    first = compare_shares(model, labels, n_permutations=99, random_state=0)
    second = compare_shares(other, labels[order], n_permutations=99, random_state=0)
    np.testing.assert_allclose(first["difference"], second["difference"])
    mass, members = mass_of(mixtures, rows), members_of(labels)
    scaled = TopicCounts(0.01 * mass.joint, 0.01 * mass.rows)
    for function in (group_shares, share_differences):
        one, its = (function(of, members, 50, 0.9, 0) for of in (mass, scaled))
        np.testing.assert_allclose(one, its)
    np.testing.assert_array_equal(p_values(mass, members, 99, 0), p_values(scaled, members, 99, 0))


def test_groups_of_one_row_have_no_interval_and_equal_rows_no_difference():
    mixtures, rows = drawn(5)
    table = compare_shares(model_of(mixtures, rows), list("aaaab"), random_state=0)
    assert table[["p", "p_adjusted", "low", "high"]].isna().all().all()
    assert set(table["n_tests"]) == {0}
    table = topic_shares(model_of(mixtures, rows), list("aaaab"), random_state=0)
    one = table[table["group"] == "b"]
    np.testing.assert_allclose(one["share"], mixtures[4])
    assert one["low"].isna().all()
    assert table[table["group"] == "a"]["low"].notna().all()
    same = mass_of(np.tile([0.1, 0.2, 0.7], (8, 1)), np.arange(1.0, 9.0))
    assert (p_values(same, [np.arange(4), np.arange(4, 8)], 99, 0) == 1).all()


def test_of_a_pipeline_in_the_library_asked_for():
    texts = ["tea cup tea", "cup tea", "goal ball", "ball ball goal", "tea tea", "goal ball"]
    pipeline = make_pipeline(CountVectorizer(), AspectModel(2, beta=0.9, random_state=0))
    table = topic_shares(pipeline.fit(texts), list("ababab"), backend="polars", random_state=0)
    assert table.columns == ["group", "component", "topic", "n_rows", "share", "low", "high"]
    assert any("tea" in name for name in table["topic"])
