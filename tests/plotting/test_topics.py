from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from skcooc import AspectModel, AveragedModels
from skcooc.inspection import characteristic_features, topic_shares
from skcooc.inspection.groups import divide
from skcooc.inspection.palette import topic_ranks
from skcooc.inspection.shares import mean_topics, share_intervals
from skcooc.inspection.similarity import map_positions
from skcooc.plotting import SharesDisplay, StructureDisplay, TopicMapDisplay, TopicsDisplay, style
from skcooc.plotting.canvas import topic_colours
from skcooc.plotting.structure import sample_rows
from tests.plotting.common import GROUPS, aspects, assert_legible, labels
from tests.tables import refused

MODEL = aspects()
WEIGHTS = MODEL.row_distribution_ @ MODEL.embedding_
YEARS = 1990 + np.arange(60) % 6
pytestmark = pytest.mark.filterwarnings("ignore:Without X:UserWarning")


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
    one = display.topics[0]._replace(features=[*"abcd"])
    assert_legible(TopicsDisplay([one._replace(intervals=np.tile(one.unigram, (2, 1)))]).plot())
    display = TopicsDisplay.from_estimator(MODEL, topics=3, names=[*"abcde"], order="probable")
    largest = np.argsort(-WEIGHTS)[:3]
    assert [topic.name for topic in display.topics] == ["abcde"[k] for k in largest]
    for topics in (0, [], [5], [-1]):
        refused("topics=", TopicsDisplay.from_estimator, MODEL, topics=topics)
    mask = {"topics": [True, False, True], "error": TypeError}
    refused("Topics are given as a mask", TopicsDisplay.from_estimator, MODEL, **mask)


def test_dots_are_the_shares_also_with_counts_and_of_a_consensus():
    options = {"names": {0: "first"}}
    display = SharesDisplay.from_estimator(MODEL, {"letter": labels()}, topics=2, **options)
    shown = np.argsort(-WEIGHTS)[:2]
    table = topic_shares(MODEL, labels(), **options).set_index(["component", "group"])
    for k, ax in zip(shown, display.axes_, strict=True):
        overall, dots = ax.lines
        expected = table.loc[k].loc[display.division.labels]
        np.testing.assert_allclose(dots.get_xdata(), expected["share"])
        assert overall.get_xdata()[0] == pytest.approx(WEIGHTS[k])
    assert display.figure_.get_supylabel() == "letter"
    X = MODEL.components_.repeat(4, axis=0) * 100
    model, by = AspectModel(2, beta=0.9, max_iter=5, random_state=0).fit(X), np.arange(len(X)) % 2
    display = SharesDisplay.from_estimator(model, by, X=X, topics=2)
    expected = topic_shares(model, by, X=X)["share"].to_numpy().reshape(2, 2)
    shown = np.argsort(-model.row_distribution_ @ model.embedding_)
    np.testing.assert_allclose(display.shares, expected[:, shown])
    pooled = topic_shares(model, np.zeros(len(X)), X=X)["share"].to_numpy()
    np.testing.assert_allclose(display.overall, pooled[shown])
    average = AveragedModels(AspectModel(2, beta=0.9, max_iter=5), 3, random_state=0).fit(X)
    agreed = average.consensus_
    display = TopicsDisplay.from_estimator(agreed, n_features=3, topics=[1])
    columns = [int(word[1:]) for word in display.topics[0].features]
    lines = [[x for x, _ in line] for line in display.ax_.collections[1].get_segments()]
    np.testing.assert_allclose(lines, agreed.component_intervals_[:, 1, columns].T)


def test_intervals_of_shares_are_those_of_rows_and_a_group_of_one_row_has_none():
    groups = labels()
    groups[0] = "one"
    for by, axis in ((groups, 0), (np.where(groups == "one", 9, YEARS), 1)):
        display = SharesDisplay.from_estimator(MODEL, by, topics=[3, 1])
        topics = mean_topics(MODEL.embedding_, MODEL.row_distribution_)
        members = display.division.members
        ends = share_intervals(topics, members, topics.shares(members), 0.95)
        for k, ax in zip([3, 1], display.axes_, strict=True):
            lines = ax.collections[0].get_segments()
            drawn = [line[:, axis] for line in lines if len(line)]
            expected = [pair for pair in ends[:, :, k].T if not np.isnan(pair).any()]
            np.testing.assert_allclose(drawn, expected)
            assert len(drawn) == len(members) - 1
            end = (ax.get_xlim(), ax.get_ylim())[axis][1]
            assert end >= min(np.max(drawn), 3 * display.shares[:, 0].max())
        caption = display.figure_.get_supxlabel().replace("\n", " ")
        assert "pale: 95% interval" in caption


def test_numbers_and_dates_are_across_and_gaps_are_not_bridged():
    years = np.where(np.arange(60) == 7, 1970, YEARS)
    display = SharesDisplay.from_estimator(MODEL, {"year": years}, topics=[3])
    table = topic_shares(MODEL, years)
    table = table[table["component"] == 3]
    _, alone, line, dots, hollow = display.ax_.lines
    assert alone.get_xdata().tolist() == hollow.get_xdata().tolist() == [1970]
    assert hollow.get_fillstyle() == "none"
    np.testing.assert_array_equal(dots.get_xdata(), line.get_xdata())
    np.testing.assert_array_equal(line.get_xdata(), np.arange(1990, 1996))
    np.testing.assert_allclose(line.get_ydata(), table["share"][1:])
    assert display.figure_.get_supxlabel().startswith("year\nline: share; dashed:")


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
    display = SharesDisplay.from_estimator(model, by, topics=[0])
    ax, at = display.ax_, 0 if labelled else 1
    end = (ax.get_xlim(), ax.get_ylim())[at][1]
    assert 0.11 < end < 0.2
    *_, hollow, arrow = ax.lines
    assert hollow.get_xydata()[0].tolist() == ([0.9, 5] if labelled else [5, 0.9])
    assert arrow.get_marker() == (">" if labelled else "^")
    assert arrow.get_xydata()[0].tolist() == ([end, 5] if labelled else [5, end])
    title = display.figure_.get_supxlabel()
    assert "hollow: fewer than 5 rows; arrow:" in title.replace("\n", " ")


def test_texts_are_legible_the_first_month_is_written_and_titles_have_no_dots_at_ends():
    names = ["a name that is much longer than any panel can be wide, " * 2, *"bcde"]
    days = np.datetime64("2001-01-01") + 40 * np.arange(60)
    for by in (labels(), days):
        display = SharesDisplay.from_estimator(MODEL, by, topics=3, names=names)
        assert_legible(display)
    months = np.datetime64("2023-11") + np.arange(60) % 12
    names = ["characteristics · extraordinarily · indeed", *"bcde"]
    display = SharesDisplay.from_estimator(MODEL, months, freq="month", topics=[0], names=names)
    ticks = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert ticks == ["2023-11", "2024-04", "2024-09"]
    lines = display.ax_.get_title("left").split("\n")
    assert len(lines) == 2
    assert all(line == line.strip(" ·") for line in lines)


LARGE, LETTERS = aspects(200), "ABCDEFGHIJKLMNOPQRSTUVWX"
LABELS = np.where(np.arange(200) < 3, "few", labels(200))


def test_rows_of_each_group_are_sampled_evenly():
    division = divide(LABELS, LARGE.row_distribution_)
    bars = sample_rows(LARGE.embedding_, division, 60)
    assert bars.labels == sorted([*GROUPS, "few"])
    assert bars.sizes[bars.labels.index("few")] == 3  # all of them
    assert len(bars.mixtures) == sum(bars.sizes) == pytest.approx(62, abs=3)
    begin = 0
    for members, size in zip(division.members, bars.sizes, strict=True):
        rows = {tuple(row) for row in LARGE.embedding_[members]}
        shown = bars.mixtures[begin : begin + size]
        assert {tuple(row) for row in shown} <= rows
        largest = shown.argmax(axis=1)
        starts = 1 + (np.diff(largest) != 0).sum()
        assert starts == len(set(largest))  # rows of one topic stand together
        totals = LARGE.embedding_[members].sum(axis=0)
        assert (np.diff(totals[list(dict.fromkeys(largest))]) <= 0).all()
        assert all((np.diff(shown[largest == k].max(axis=1)) <= 0).all() for k in set(largest))
        if size > 10:
            np.testing.assert_allclose(shown.mean(axis=0), totals / len(members), atol=0.06)
        begin += size


def test_bars_are_stacked_to_one_with_labels_of_small_groups():
    display = StructureDisplay.from_estimator(LARGE, {"side": LABELS}, n_rows=60, topics=3)
    n_groups = len(display.bars.labels)
    assert len(display.ax_.patches) == 4 * n_groups
    top = np.concatenate([patch.get_data().values for patch in display.ax_.patches[-n_groups:]])
    np.testing.assert_allclose(top, 1)
    first = np.concatenate([patch.get_data().values for patch in display.ax_.patches[:n_groups]])
    np.testing.assert_allclose(first, display.bars.mixtures[:, display.topics[0]])
    assert display.ax_.get_xlabel() == f"{len(top)} of 200 rows, by side"
    assert_legible(display)
    by = np.where(np.arange(200) < 24, 1900 + np.arange(200) // 2, 2000)
    display = StructureDisplay.from_estimator(LARGE, by, topics=3)
    assert len(display.ax_.get_xticklabels()) == 13
    assert_legible(display)
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names[-1] == "others"
    display = StructureDisplay.from_estimator(LARGE)
    assert display.ax_.get_xlabel() == "200 rows"
    assert len(display.ax_.get_legend().get_texts()) == 5  # all topics, and no others
    display = StructureDisplay.from_estimator(aspects(n_topics=25))
    assert len(display.ax_.get_legend().get_texts()) == 25
    with pytest.raises(ValueError, match="topics selects 73, but there are 72 colours"):
        StructureDisplay.from_estimator(aspects(n_topics=74), topics=73)


def separated(n_topics, n_rows=480):
    """Rows that are nearly of one topic each; topics 2t and 2t + 1 are mixed with each other."""
    model = aspects(n_rows, n_topics, n_columns=4 * n_topics)
    main = np.arange(n_rows) % n_topics
    model.embedding_ = np.full((n_rows, n_topics), 0.05 / n_topics)
    model.embedding_[np.arange(n_rows), main] += 0.8
    model.embedding_[np.arange(n_rows), main ^ 1] += 0.15
    return model


def test_24_topics_have_a_colour_each_a_name_in_the_bars_and_similar_neighbours():
    model = separated(24)
    display = StructureDisplay.from_estimator(model, np.arange(480) % 24 // 6, names=[*LETTERS])
    colours = {patch.get_facecolor() for patch in display.ax_.patches}
    assert len(colours) == 24
    at = np.argsort(display.topics)  # of each topic, from below
    assert (np.abs(at[::2] - at[1::2]) == 1).all()
    assert len(display.texts_) == 24
    assert_legible(display)
    layers = {label.get_text(): [] for label in display.ax_.get_legend().get_texts()}
    for at, patch in enumerate(display.ax_.patches):
        layers[LETTERS[display.topics[at // 4]]].append(patch.get_data())
    pixels = display.ax_.transData.inverted()
    for text in display.texts_.values():
        box = text.get_window_extent().transformed(pixels)
        (inside,) = (data for data in layers[text.get_text()] if holds(data, box.x0, box.x1))
        own = (inside.edges[:-1] < box.x1) & (inside.edges[1:] > box.x0)
        assert (inside.baseline[own] <= box.y0).all()
        assert (box.y1 <= inside.values[own]).all()


def holds(data, left, right):
    return data.edges[0] <= left and right <= data.edges[-1]


def test_a_topic_has_one_colour_in_all_displays():
    with style():
        palette = [to_rgba(colour) for colour in topic_colours(topic_ranks(WEIGHTS))]
    bars = TopicsDisplay.from_estimator(MODEL, topics=[3, 1])
    assert [ax.patches[0].get_facecolor() for ax in bars.axes_] == [palette[3], palette[1]]
    dots = SharesDisplay.from_estimator(MODEL, labels(), topics=[3, 1])
    assert [to_rgba(ax.lines[1].get_color()) for ax in dots.axes_] == [palette[3], palette[1]]
    rows = StructureDisplay.from_estimator(MODEL, topics=[3, 1])
    assert [patch.get_facecolor() for patch in rows.ax_.patches[:2]] == [palette[3], palette[1]]
    circles = TopicMapDisplay.from_estimator(MODEL).circles_.get_facecolors()
    by_size = [palette[k][:3] for k in np.argsort(-WEIGHTS)]
    assert [tuple(colour[:3]) for colour in circles] == by_size
    many = StructureDisplay.from_estimator(aspects(n_topics=16), topics=range(2, 16))
    drawn = [patch.get_facecolor() for patch in many.ax_.patches[:-1]]
    assert len(set(drawn)) == 14  # grey stands for others, and all others have a colour


def test_circles_are_at_their_places_with_legible_names():
    model = aspects()
    display = TopicMapDisplay.from_estimator(model)
    weights = model.row_distribution_ @ model.embedding_
    order = np.argsort(-weights)
    areas = display.circles_.get_sizes()
    np.testing.assert_allclose(areas / areas.sum(), weights[order])
    at, drawn = map_positions(model.components_)[order], display.circles_.get_offsets()
    pairs = list(combinations(range(5), 2))
    ratios = [np.linalg.norm(drawn[a] - drawn[b]) / np.linalg.norm(at[a] - at[b]) for a, b in pairs]
    np.testing.assert_allclose(ratios, ratios[0])
    for n_topics in (1, 12, 30):
        display = TopicMapDisplay.from_estimator(aspects(n_topics=n_topics, n_columns=90))
        assert_legible(display)
        assert len(display.texts_) >= 0.8 * n_topics
