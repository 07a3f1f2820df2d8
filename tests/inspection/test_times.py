import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skcooc import AspectModel, inspection
from skcooc.inspection.groups import divide, divide_by_time
from skcooc.inspection.times import read_times
from skcooc.plotting import StructureDisplay
from tests.tables import refused

MAY = np.datetime64("2024-05-31")
DAYS = MAY + np.arange(30)  # until 2024-06-29
STAMPS = pd.DatetimeIndex(DAYS)


def read(values):
    return read_times(np.array(values), "times").astype(str).tolist()


def written(form):
    return STAMPS.strftime(form).tolist()


@pytest.mark.parametrize(
    "values",
    [
        written("%Y-%m-%d"),
        written("%Y/%m/%d"),
        written("%Y-%m-%dT23:30:00Z"),
        written("%Y-%m-%d 23:30:00.5-08:00"),
        written("%m/%d/%Y"),
        written("%m/%d/%Y 11:30 PM"),
        written("%d/%m/%Y"),
        written("%d.%m.%Y"),
        [f"{d.day}.{d.month}.{d.year}" for d in STAMPS],
        written("%a, %d %b %Y 23:30:00 -0800"),
        written("%a, %d %b %Y 23:30:00 -0800 (PST)"),
        written("%a %b %d 23:30:00 %Y"),
        written("%a %b %d 23:30:00 +0000 %Y"),
        written("%d-%b-%Y"),
        written("%d %B %Y"),
        written("%B %d, %Y"),
        written("%Y%m%d"),
        np.array(written("%Y%m%d"), dtype=int),
        np.array(written("%Y%m%d"), dtype=float),
        STAMPS.astype("datetime64[s]").astype(int),
        STAMPS.astype("datetime64[ms]").astype(int) + 0.5,
        STAMPS.astype("datetime64[s]").astype(int).astype(str),
    ],
    ids=lambda values: str(values[0]),
)
def test_dates_in_many_formats(values):
    assert read(values) == DAYS.astype(str).tolist()


@pytest.mark.parametrize(
    "values",
    [
        written("%Y-%m"),
        written("%B %Y"),
        written("%m/%Y"),
        written("%Y%m"),
        ["2024-05", *written("%Y-%m-%d")[1:]],  # the coarsest of them
        STAMPS.to_period("M").to_list(),
        DAYS.astype("datetime64[M]"),
    ],
    ids=lambda values: str(values[1]),
)
def test_dates_that_are_months(values):
    assert read(values) == ["2024-05", *["2024-06"] * 29]
    assert divide_by_time(values, np.ones(30)).labels == ["2024-05", "2024-06"]


def test_quarters_and_years():
    for values in (["Q2 2024", "Q1 2023"], ["2024-Q2", "2023Q1"], ["q2/2024", "q1/2023"]):
        assert divide(values, np.ones(2)).labels == ["2023 Q1", "2024 Q2"]
    periods = pd.PeriodIndex(["2024Q2", "2023Q1"], freq="Q")
    assert divide(periods, np.ones(2)).labels == ["2023 Q1", "2024 Q2"]
    assert read(["2024", "2023-05-31", "2024-01-01"]) == ["2024", "2023", "2024"]
    assert read(["2024", "2019"]) == ["2024.0", "2019.0"]  # as numbers
    assert divide([2024, 2019, 2018], np.ones(3), "decade").labels == ["2010s", "2020s"]
    labels = ["2019", "2020", "unknown"]  # years that are labels
    assert divide(labels, np.ones(3)).labels == labels
    refused(
        "freq='day' is shorter than the years that by has: give freq='year' or a longer",
        divide, ["2024", "2023-05-31"], np.ones(2), "day",
    )  # fmt: skip


def test_empty_texts_are_missing():
    texts = ["", " ", "NaN", "n/a", None, "2024-05-31"]
    assert read(np.array(texts, dtype=object)) == [*["NaT"] * 5, "2024-05-31"]
    assert read(["", "2001.5"]) == ["nan", "2001.5"]
    assert divide(np.array(["", "2024-05-31"]), np.ones(2)).members[0].tolist() == [1]


def test_the_first_that_is_no_date_is_named():
    texts = [*written("%m/%d/%Y"), "soon", "later"]
    message = (
        r"times: 'soon' \(row 30\) is not a date like '\d\d/\d\d/2024'; 2 of 32 values are not"
    )
    refused(message, read, texts)
    message = (
        r"by: 'soon' \(row 30\) is not a date.* values are not\. .* give a pandas\.Categorical"
    )
    refused(message, divide, texts, np.ones(32))
    with pytest.warns(UserWarning, match="32 rows are in 32 groups, such as '05/31/2024'"):
        divide(pd.Categorical(texts, texts), np.ones(32))
    refused(r"'30\.2\.2024' \(row 1\) is not a date", read, ["1.2.2024", "30.2.2024", "28.2.2024"])
    refused(r"'0' \(row 1\) is not a Unix time in seconds", read, [1717113600, 0, 1717113600])
    refused(r"'x' \(row 2\) is not a number like '[12]'", read, ["1", "2", "x"])
    refused(r"'a' \(row 0\) is not a date or number; 2 of 2 values", read, ["a", "b"])


def test_day_and_month_that_cannot_be_told_apart_are_asked_for():
    texts = ["05/06/2024", "07/06/2024"]
    message = (
        r"times: '05/06/2024' may be 2024-06-05 or 2024-05-06, .* format='%d/%m/%Y'\), or "
        r"'%m/%d/%Y'"
    )
    refused(message, read, texts)
    refused(message.replace("times", "by"), divide, texts, np.ones(2))
    assert read([*texts, "13/06/2024"])[0] == "2024-06-05"
    assert read([*texts, "06/13/2024"])[0] == "2024-05-06"
    assert read(["05.06.2024"]) == ["2024-06-05"]  # with points, the day comes first
    assert read(["06/06/2024"]) == ["2024-06-06"]
    refused(
        r"'12/31/2024' \(row 2\) is not a date", read, ["31/12/2024", "30/12/2024", "12/31/2024"]
    )


def test_numbers_that_are_no_dates():
    assert read(np.arange(1980, 2020))[0] == "1980.0"
    assert read([12345678, 123456]) == ["12345678.0", "123456.0"]
    refused(r"by: '7' \(row 0\) is not a date", divide, [7, 8], np.ones(2), "year")
    nanoseconds = STAMPS.astype("datetime64[ns]").astype(int)
    for values in (nanoseconds, written("%Y%m%d233000"), [np.inf, 1]):
        refused(r"times: '.*' \(row 0\) is not a number below 5e\+12", read, values)
    for form in ("%m/%d/%y", "%d.%m.%y", "%G-W%V-%u"):
        refused(
            r"\(row 0\) is not a date or number; 30 of 30 .* as 2024-05-31", read, written(form)
        )


def test_at_most_twelve_periods_or_intervals_remain_in_order():
    for n_days, label in (
        (12, "2024-05-31"), (70, "2024-05-27"), (300, "2024-05"), (900, "2024 Q2"),
        (4000, "2024"), (9000, "2020s"),
    ):  # fmt: skip
        shown = divide_by_time(MAY + np.arange(n_days).repeat(100), np.ones(100 * n_days))
        assert shown.labels[0] == label
        assert 3 <= len(shown.labels) <= 12
        assert (np.diff(shown.groups) > np.timedelta64(0)).all()
    for step, n_days, label in (  # of few rows, as long as four periods remain
        (1, 10, "2024-05-31"), (1, 40, "2024-05-27"), (1, 70, "2024-05"), (3, 300, "2024 Q2"),
    ):  # fmt: skip
        days = MAY + np.arange(0, n_days, step)
        assert divide_by_time(days, np.ones(len(days))).labels[0] == label
    for years, labels in (
        (np.arange(1990, 2024).repeat(2), ["1990 – 1994", "1995 – 1999", "2000 – 2004"]),
        (np.arange(-3, 15), ["-4 – -3", "-2 – -1", "0 – 1"]),
        (np.arange(40) / 100, ["0 – 0.05", "0.05 – 0.1", "0.1 – 0.15"]),
        ([*range(20), 1000], ["0 – 1", "2 – 3", "4 – 5"]),
    ):
        shown = divide_by_time(years, np.ones(len(years)))
        assert shown.labels[:3] == labels
        assert len(shown.labels) <= 12
        assert sorted(np.concatenate(shown.members)) == list(range(len(years)))
        assert (np.diff(shown.groups) > 0).all()


def test_the_same_dates_in_all_functions():
    rng = np.random.default_rng(0)
    X = rng.poisson(2, (30, 12))
    model = AspectModel(2, beta=1, max_iter=5, random_state=0).fit(X)
    tables = []
    for by in (
        written("%m/%d/%Y"), written("%a, %d %b %Y 10:00:00 +0200"), STAMPS, pd.Series(STAMPS),
        pl.Series(DAYS), STAMPS.to_period("D"), STAMPS.date.tolist(), written("%Y-%m-%d"),
    ):  # fmt: skip
        tables.append(inspection.topic_shares(model, by, X=X))
        bars = StructureDisplay.from_estimator(model, by).bars
        page = inspection.explore(model, X, times=by).shown["times"]
        assert bars.labels == page["labels"] == [
            "2024-05-27", "2024-06-03", "2024-06-10", "2024-06-17", "2024-06-24"
        ]  # fmt: skip
        pd.testing.assert_frame_equal(tables[0], tables[-1])
    assert tables[0]["group"].iloc[0] == datetime.datetime(2024, 5, 27)


def test_more_groups_than_half_of_the_rows_warn():
    many = [str(i % 16) for i in range(30)]
    message = "by: 30 rows are in 16 groups, such as '0', so many groups have a single row"
    for by in (many, list(map(int, many)), [f"a{i}" for i in many], {"x": many[::-1]}):
        with pytest.warns(UserWarning, match=message.replace("'0'", "'a?0'")):
            divide(by, np.ones(30))
    with pytest.warns(UserWarning, match="by: 30 rows are in 16 groups, such as '0, 0'"):
        divide({"x": many, "y": many}, np.ones(30))
    with warnings.catch_warnings(action="error"):
        divide([i % 15 for i in range(30)], np.ones(30))
        divide(written("%Y-%m-%d"), np.ones(30))
        divide(["a", "b"], np.ones(2))


def test_times_with_a_row_each_do_not_warn():
    years = np.arange(2015, 2024)
    with warnings.catch_warnings(action="error"):
        for times in (years, [f"{year}-05-31" for year in years]):
            assert len(divide_by_time(times, np.ones(9)).groups) == 9
        assert len(divide(written("%Y-%m-%d"), np.ones(30), "day").groups) == 30
