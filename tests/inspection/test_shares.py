import datetime
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.pipeline import Pipeline

from skcooc.inspection import compare_shares, groups, shares, topic_shares
from skcooc.inspection.groups import divide, period_starts, runs
from tests.tables import refused

LABELS = np.array(["b", "a", "c", "a", "b", "b", "a", "c", "b", "a"])


def drawn(n=10, k=3, seed=0, longer=1.0):
    rng = np.random.default_rng(seed)
    rows = longer * rng.integers(5, 80, size=n)
    return rng.dirichlet(np.ones(k), size=n), rows.astype(float)


def model_of(mixtures, rows):
    q = np.random.default_rng(1).dirichlet(np.ones(6), size=mixtures.shape[1])
    return SimpleNamespace(components_=q, embedding_=mixtures, row_distribution_=rows / rows.sum())


def mass_of(mixtures, rows):
    return shares.TopicCounts(mixtures * rows[:, None], rows)


def members_of(labels):
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


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


def test_shares_are_those_of_a_loop_over_rows():
    model = model_of(*drawn())
    table = topic_shares(model, LABELS, names={0: "first"}, random_state=0)
    assert agrees(table, literal_share)
    assert not agrees(table, unweighted_share)
    assert table["group"].tolist() == ["a"] * 3 + ["b"] * 3 + ["c"] * 3
    assert table["component"].tolist() == [0, 1, 2] * 3
    assert table["topic"][0] == "first"
    assert table["n_rows"].tolist() == [4] * 6 + [2] * 3
    assert table["share"].between(table["low"], table["high"]).all()
    pipeline = Pipeline([("as it is", "passthrough"), ("model", model)])
    table = topic_shares(pipeline, LABELS, backend="polars", random_state=0)
    assert table.columns == ["group", "component", "topic", "n_rows", "share", "low", "high"]


def literal_resamples(mass, members, n_resamples, seed, topic):
    """The share in each group of each resample, (G, R), one row after the other."""
    rng, found = np.random.default_rng(seed), []
    for rows in members:
        drawn = rows[rng.integers(len(rows), size=(n_resamples, len(rows)))]
        found.append([sum(mass.joint[r, topic]) / sum(mass.rows[r]) for r in drawn])
    return np.array(found)


def test_intervals_are_percentiles_of_resampled_rows_also_of_differences(monkeypatch):
    mass, members = mass_of(*drawn()), members_of(LABELS)
    found = shares.group_shares(mass, members, 40, 0.8, seed=3)
    differences = shares.share_differences(mass, members, 30, 0.9, seed=1)
    mixtures = mass.joint / mass.rows[:, None]
    for topic in range(3):
        for g, values in enumerate(literal_resamples(mass, members, 40, 3, topic)):
            tail = shares.expanded_tail(0.8, len(members[g]))
            ends = np.quantile(values, [tail, 1 - tail])
            assert [found.low[g, topic], found.high[g, topic]] == pytest.approx(ends)
            if len(members[g]) > 2:  # the twin: not expanded
                assert ends[0] < np.quantile(values, 0.1)
            groups = members[g], np.setdiff1d(np.arange(10), members[g])
            its, others = (literal_share(mixtures, mass.rows, of, topic) for of in groups)
            assert differences.share[g, topic] == pytest.approx(its - others)
            low, high = differences.low[g, topic], differences.high[g, topic]
            assert low < differences.share[g, topic] < high
    monkeypatch.setattr(shares, "BLOCK", 50)  # topics and resamples one by one
    np.testing.assert_allclose(shares.group_shares(mass, members, 40, 0.8, seed=3), found)
    again = shares.share_differences(mass, members, 30, 0.9, seed=1)
    np.testing.assert_allclose(again, differences)


def coverage(n, n_samples=150):
    """How often the interval of n normal rows of equal length holds their mean."""
    rng, held = np.random.default_rng(n), 0
    for seed in range(n_samples):
        share = 0.5 + 0.05 * rng.normal(size=n)
        mass = shares.TopicCounts(np.column_stack([share, 1 - share]), np.ones(n))
        found = shares.group_shares(mass, [np.arange(n)], 100, 0.9, seed)
        held += found.low[0, 0] <= 0.5 <= found.high[0, 0]
    return held / n_samples


def test_intervals_hold_the_share_as_often_as_they_say(monkeypatch):
    assert coverage(6) == pytest.approx(0.9, abs=0.05)
    assert coverage(60) == pytest.approx(0.9, abs=0.05)
    monkeypatch.setattr(shares, "expanded_tail", lambda level, _: (1 - level) / 2)  # a twin
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
    orders = list(permutations(range(len(rows))))
    found = np.array([statistic(mixtures, rows, (o[:n_first], o[n_first:])) for o in orders])
    return (found >= found[0] * (1 - 1e-9)).mean()


def test_p_values_are_those_of_all_permutations():
    mixtures, rows = drawn(6, 2, seed=1)
    members = [np.arange(3), np.arange(3, 6)]
    found = shares.p_values(mass_of(mixtures, rows), members, 1500, seed=0)
    exact = exact_p(mixtures[:, 0], rows, 3, welch)
    assert found == pytest.approx(exact, abs=0.05)

    def plain(mixtures, rows, members):  # the twin: not divided by its error
        first, second = (literal_share(mixtures[:, None], rows, of, 0) for of in members)
        return (first - second) ** 2

    assert abs(exact_p(mixtures[:, 0], rows, 3, plain) - exact) > 0.05


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
    assert (shares.p_values(same, [np.arange(4), np.arange(4, 8)], 99, 0) == 1).all()


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
    assert divide([3, 1, 2, 3], ROWS).ordered
    assert not divide(list("abcd"), ROWS).ordered
    for by in (
        pd.Series(pd.Categorical(["low", "high", None, "mid"], ["low", "mid", "high"])),
        pl.Series(["low", "high", None, "mid"], dtype=pl.Enum(["low", "mid", "high"])),
        {"level": pd.Categorical(["low", "high", None, "mid"], ["low", "mid", "high"])},
    ):
        assert found(by) == {"low": [0], "mid": [3], "high": [1]}


def test_periods_of_dates():
    for by in (
        [*DAYS, None],
        pd.Series(pd.to_datetime([*DAYS, None])),
        pl.Series([*DAYS, None]),
        np.array([*DAYS, "NaT"], dtype="datetime64[ns]"),
        [*(datetime.datetime(*d.timetuple()[:3], 23, tzinfo=ZONE) for d in DAYS), pd.NaT],
    ):
        assert found(by) == {"2001-01-31": [0], "2001-02-01": [1], "2003-05-06": [2]}
        assert found(by, "month") == {"2001-01": [0], "2001-02": [1], "2003-05": [2]}
        assert found(by, "quarter") == {"2001 Q1": [0, 1], "2003 Q2": [2]}
        assert found(by, "year") == {"2001": [0, 1], "2003": [2]}
        assert found(by, "decade") == {"2000s": [0, 1, 2]}


ISO = ["2024-01-15", "2024-01-31T23:59:59Z", "2024-03"]
MONTHS = pd.PeriodIndex([*ISO[::2], "2024-01", None], freq="M")[[0, 2, 1, 3]]


def test_strings_and_periods_are_dates_if_there_is_a_freq():
    months = {"2024-01": [0, 1], "2024-03": [2]}
    strings = pd.Series([*ISO, pd.NA], dtype="string")
    for by in ([*ISO, None], strings, pl.Series([*ISO, None]), MONTHS, pd.Series(MONTHS)):
        assert found(by, "month") == months
        assert found(groups.parse_dates(groups.read_labels(by)).values, "month") == months
    assert found(["2024-02", "2023", "2024-02", "2023"]) == {"2023": [1, 3], "2024-02": [0, 2]}
    assert not divide(["2024-02"] * 4, ROWS).ordered
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
    assert len(divide(start + np.arange(400) // 20, weights).labels) == 20
    assert divide(start + np.arange(400), weights).labels[1] == "1987-07"
    assert divide(start + 365 * np.arange(400), weights).labels[1] == "1990s"


def test_bad_input():
    for by, freq, message in (
        ([1, 2], "auto", r"by has shape \(2,\), but there are 4 rows"),
        (np.ones((4, 2)), "auto", r"shape \(4, 2\)"),
        ([None] * 4, "auto", "no label for any row"),
        ([0.5, -np.inf, 1, 2], "auto", "by has infinite numbers: give NaN for rows without"),
        (pd.Series([1, 2, np.inf, np.nan]), "auto", "by has infinite numbers"),
        (list("abcd"), "month", r"needs dates; by has values such as 'a'.*to_datetime"),
        (["2024-01", "2024-13"] * 2, "month", "needs dates"),
        (np.arange(4).astype("datetime64[D]"), "hour", "freq='hour' should be"),
        ({"a": [1] * 4, "b": [1] * 4}, "auto", r"2 columns, \['a', 'b'\]"),
        (pd.DataFrame({"a": [1] * 4, "b": [1] * 4}), "auto", "2 columns"),
    ):
        refused(message, divide, by, ROWS, freq)
    hint = r"by is a string; give the labels, such as adata\.obs\['cell_type'\]"
    refused(hint, divide, "cell_type", ROWS, error=TypeError)
