from types import SimpleNamespace

import numpy as np
import pytest

from skcooc import AspectModel, AveragedModels
from skcooc.inspection import characteristic_features, topic_shares
from skcooc.plotting import SharesDisplay, TopicsDisplay
from tests.plotting.common import aspects, assert_legible, labels

MODEL = aspects()
WEIGHTS = MODEL.row_distribution_ @ MODEL.embedding_
YEARS = 1990 + np.arange(60) % 6


def test_bars_are_probabilities_and_marks_those_of_all_observations():
    display = TopicsDisplay.from_estimator(MODEL, n_features=4, topics=[2, 0])
    words = characteristic_features(MODEL, n_features=4)
    columns = MODEL.feature_names_in_.tolist()
    unigram = WEIGHTS @ MODEL.components_
    for k, ax in zip([2, 0], display.axes_, strict=True):
        assert [text.get_text() for text in ax.get_yticklabels()] == words[k]
        at = [columns.index(word) for word in words[k]]
        np.testing.assert_allclose(
            [bar.get_width() for bar in ax.patches], MODEL.components_[k, at]
        )
        marks = [line[0, 0] for line in ax.collections[0].get_segments()]
        np.testing.assert_allclose(marks, unigram[at])
        assert ax.get_title("left").startswith(f"{WEIGHTS[k]:.1%}")
    assert_legible(display)
    display = TopicsDisplay.from_estimator(MODEL, topics=3, names=[*"abcde"], order="probable")
    largest = np.argsort(-WEIGHTS)[:3]
    assert [topic.name for topic in display.topics] == ["abcde"[k] for k in largest]
    for topics in (0, [], [5], [-1]):
        with pytest.raises(ValueError, match="topics="):
            TopicsDisplay.from_estimator(MODEL, topics=topics)


def test_intervals_of_a_consensus_are_lines():
    X = MODEL.components_.repeat(4, axis=0) * 100
    average = AveragedModels(AspectModel(2, beta=0.9, max_iter=5), 3, random_state=0).fit(X)
    agreed = average.consensus_
    display = TopicsDisplay.from_estimator(agreed, n_features=3, topics=[1])
    columns = [int(word[1:]) for word in display.topics[0].features]
    lines = [[x for x, _ in line] for line in display.ax_.collections[1].get_segments()]
    np.testing.assert_allclose(lines, agreed.component_intervals_[:, 1, columns].T)


def test_dots_are_the_shares_of_the_largest_topics_with_intervals():
    options = {"names": {0: "first"}, "random_state": 0}
    display = SharesDisplay.from_estimator(MODEL, {"letter": labels()}, topics=2, **options)
    shown = np.argsort(-WEIGHTS)[:2]
    table = topic_shares(MODEL, labels(), **options).set_index(["component", "group"])
    for k, ax in zip(shown, display.axes_, strict=True):
        overall, dots = ax.lines
        expected = table.loc[k].loc[display.division.labels]
        np.testing.assert_allclose(dots.get_xdata(), expected["share"])
        ends = np.array([line[:, 0] for line in ax.collections[0].get_segments()])
        np.testing.assert_allclose(ends, expected[["low", "high"]])
        assert overall.get_xdata()[0] == pytest.approx(WEIGHTS[k])
    assert display.figure_.get_supylabel() == "letter"


def test_numbers_and_dates_are_across_and_gaps_are_not_bridged():
    years = np.where(np.arange(60) == 7, 1970, YEARS)
    display = SharesDisplay.from_estimator(MODEL, {"year": years}, topics=[3], random_state=0)
    table = topic_shares(MODEL, years, random_state=0)
    table = table[table["component"] == 3]
    _, alone, line, dots, hollow = display.ax_.lines
    assert alone.get_xdata().tolist() == hollow.get_xdata().tolist() == [1970]
    assert hollow.get_fillstyle() == "none"
    np.testing.assert_array_equal(dots.get_xdata(), line.get_xdata())
    np.testing.assert_array_equal(line.get_xdata(), np.arange(1990, 1996))
    np.testing.assert_allclose(line.get_ydata(), table["share"][1:])
    band = display.ax_.collections[1].get_paths()[0].vertices
    for year, low, high in table[["group", "low", "high"]].values[1:]:
        at_year = band[band[:, 0] == year, 1]
        assert {round(low, 9), round(high, 9)} <= set(at_year.round(9))
    assert display.figure_.get_supxlabel().startswith("year\nline: share; band:")


def tiny_and_large(n_tiny):
    """Shares of one topic: about 0.1 in five groups, and 0.9 in the group of the first rows."""
    groups = np.arange(60) % 5
    groups[:n_tiny] = 5
    first = np.where(groups == 5, 0.9, 0.1 + 0.02 * np.cos(np.arange(60)))
    own = {"components_": MODEL.components_[:2], "embedding_": np.column_stack([first, 1 - first])}
    return SimpleNamespace(**own, row_distribution_=np.full(60, 1 / 60)), groups


@pytest.mark.parametrize("labelled", [False, True])
def test_a_tiny_group_sets_no_scale_and_is_marked(labelled):
    model, groups = tiny_and_large(2)
    by = groups.astype(str) if labelled else groups
    display = SharesDisplay.from_estimator(model, by, topics=[0], random_state=0)
    ax, at = display.ax_, 0 if labelled else 1
    end = (ax.get_xlim(), ax.get_ylim())[at][1]
    assert 0.11 < end < 0.2
    *_, hollow, arrow = ax.lines
    assert hollow.get_xydata()[0].tolist() == ([0.9, 5] if labelled else [5, 0.9])
    assert arrow.get_marker() == (">" if labelled else "^")
    assert arrow.get_xydata()[0].tolist() == ([end, 5] if labelled else [5, end])
    title = display.figure_.get_supxlabel()
    assert "hollow: fewer than 5 rows; arrow:" in title.replace("\n", " ")


def test_a_large_group_or_only_tiny_groups_set_the_scale():
    model, _ = tiny_and_large(2)
    display = SharesDisplay.from_estimator(model, np.arange(60) // 3, topics=[0], random_state=0)
    assert display.ax_.get_ylim()[1] > display.shares.share[:, 0].max()
    model, groups = tiny_and_large(20)
    display = SharesDisplay.from_estimator(model, groups, topics=[0], random_state=0)
    assert display.ax_.get_ylim()[1] > 0.9
    assert not {"^", ">"} & {line.get_marker() for line in display.ax_.lines}
    assert "arrow" not in display.figure_.get_supxlabel()


def test_texts_are_legible_the_first_month_is_written_and_titles_have_no_dots_at_ends():
    names = ["a name that is much longer than any panel can be wide, " * 2, *"bcde"]
    days = np.datetime64("2001-01-01") + 40 * np.arange(60)
    for by in (labels(), days):
        display = SharesDisplay.from_estimator(MODEL, by, topics=3, names=names, random_state=0)
        assert_legible(display)
    months = np.datetime64("2023-11") + np.arange(60) % 12
    names = ["characteristics · extraordinarily · indeed", *"bcde"]
    display = SharesDisplay.from_estimator(MODEL, months, topics=[0], names=names, random_state=0)
    ticks = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert ticks == ["2023-11", "2024-03", "2024-07"]
    lines = display.ax_.get_title("left").split("\n")
    assert len(lines) == 2
    assert all(line == line.strip(" ·") for line in lines)
