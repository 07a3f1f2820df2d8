"""Rows in groups: by labels, numbers and dates, and rows without any."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skcooc.inspection import groups
from skcooc.inspection.groups import divide, period_starts, runs

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
        with pytest.raises(ValueError, match=message):
            divide(by, ROWS, freq)
