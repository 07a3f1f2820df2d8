"""Pictures of the shares of topics in groups."""

import numpy as np
import pytest

from skcooc.inspection import topic_shares
from skcooc.plotting import SharesDisplay
from tests.plotting.boxes import outside, overlaps
from tests.plotting.rows import aspects, labels

MODEL = aspects()
YEARS = 1990 + np.arange(60) % 6


def test_dots_are_the_shares_of_the_largest_topics_with_their_intervals():
    options = {"names": {0: "first"}, "random_state": 0}
    display = SharesDisplay.from_estimator(MODEL, {"letter": labels()}, topics=2, **options)
    weights = MODEL.row_distribution_ @ MODEL.embedding_
    shown = np.argsort(-weights)[:2]
    table = topic_shares(MODEL, labels(), **options).set_index(["component", "group"])
    for k, ax in zip(shown, display.axes_, strict=True):
        overall, dots = ax.lines
        expected = table.loc[k].loc[display.division.labels]
        np.testing.assert_allclose(dots.get_xdata(), expected["share"])
        ends = np.array([line[:, 0] for line in ax.collections[0].get_segments()])
        np.testing.assert_allclose(ends, expected[["low", "high"]])
        assert overall.get_xdata()[0] == pytest.approx(weights[k])
    assert display.figure_.get_supylabel() == "letter"


def test_numbers_and_dates_are_across_and_gaps_are_not_bridged():
    years = np.where(np.arange(60) == 7, 1970, YEARS)
    display = SharesDisplay.from_estimator(MODEL, {"year": years}, topics=[3], random_state=0)
    table = topic_shares(MODEL, years, random_state=0)
    table = table[table["component"] == 3]
    _, alone, line = display.ax_.lines
    assert alone.get_xdata().tolist() == [1970]
    np.testing.assert_array_equal(line.get_xdata(), np.arange(1990, 1996))
    np.testing.assert_allclose(line.get_ydata(), table["share"][1:])
    band = display.ax_.collections[1].get_paths()[0].vertices
    for year, low, high in table[["group", "low", "high"]].values[1:]:
        at_year = band[band[:, 0] == year, 1]
        assert {round(low, 9), round(high, 9)} <= set(at_year.round(9))
    assert display.figure_.get_supxlabel().startswith("year\nline: share; band:")


def test_no_text_overlaps_another_or_is_cut_off():
    names = ["a name that is much longer than any panel can be wide, " * 2, *"bcde"]
    days = np.datetime64("2001-01-01") + 40 * np.arange(60)
    for by in (labels(), days):
        display = SharesDisplay.from_estimator(MODEL, by, topics=3, names=names, random_state=0)
        assert overlaps(display.figure_) == outside(display.figure_) == []


def test_the_first_month_is_written_and_no_line_of_a_title_ends_in_a_dot():
    months = np.datetime64("2023-11") + np.arange(60) % 12
    names = ["characteristics · extraordinarily · indeed", *"bcde"]
    display = SharesDisplay.from_estimator(MODEL, months, topics=[0], names=names, random_state=0)
    ticks = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert ticks == ["2023-11", "2024-03", "2024-07"]
    lines = display.ax_.get_title("left").split("\n")
    assert len(lines) == 2
    assert all(line == line.strip(" ·") for line in lines)
