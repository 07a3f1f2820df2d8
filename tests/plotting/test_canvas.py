"""The style of all displays on light and dark pages, how texts are fitted; segmentations."""

import io
from types import SimpleNamespace

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from skcooc.plotting import PerplexityDisplay, SegmentationDisplay, SplitsDisplay, style
from skcooc.plotting.canvas import NEUTRAL, colours, declutter, text_width, wrap
from skcooc.plotting.segmentation import borders
from tests.plotting.test_curves import CURVE
from tests.plotting.test_hierarchy import SPLITS

WHITE, DARK = (1.0, 1.0, 1.0), to_rgb("#14181e")
WORDS = ["a", "long", "word", "and", "short", "ones"]


def luminance(colour):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(a, b):
    low, high = sorted([luminance(a), luminance(b)])
    return (high + 0.05) / (low + 0.05)


def test_the_style_is_visible_on_all_pages_and_restored():
    with style():
        text = matplotlib.rcParams["text.color"]
        assert len(set(colours())) == 7
    for page in (WHITE, DARK):
        assert contrast(text, page) > 4
        assert contrast(NEUTRAL, page) > 3
    assert contrast("black", DARK) < 2  # matplotlib's default colour
    before = dict(matplotlib.rcParams)
    ax = PerplexityDisplay([CURVE]).plot().ax_
    assert ax.figure.get_facecolor()[3] == ax.get_facecolor()[3] == 0
    assert ax.lines[0].get_color() == "#0072B2"
    assert dict(matplotlib.rcParams) == before
    with plt.style.context("skcooc.plotting.skcooc"):
        assert matplotlib.rcParams["svg.fonttype"] == "none"
    with plt.rc_context({"text.color": "red", "axes.prop_cycle": plt.cycler(color=["lime"])}):
        display = SplitsDisplay(SPLITS).plot()
        with style():
            assert matplotlib.rcParams["text.color"] == "red"
            assert matplotlib.rcParams["legend.frameon"] is False
    assert tuple(display.lines_.get_color()[0]) == (0, 1, 0, 1)


def test_files_have_text_and_300_pixels_an_inch(tmp_path):
    display = SplitsDisplay(SPLITS)
    assert repr(display) == "<SplitsDisplay: not drawn yet: call plot>"
    assert repr(display.plot()) == "<SplitsDisplay: drawn>"
    file = io.StringIO()
    display.save(file, format="svg")
    assert "inverse temperature" in file.getvalue()
    display.save(tmp_path / "splits.png")
    pixels = plt.imread(tmp_path / "splits.png")
    width = display.figure_.get_size_inches()[0]
    assert pixels.shape[1] == pytest.approx(300 * width, abs=1)
    assert pixels[0, 0, 3] == 0


def test_words_are_wrapped_and_places_moved_as_little_as_possible():
    wrapped = [wrap(WORDS, n_lines, 8) for n_lines in range(1, 8)]
    assert [len(lines) for lines in wrapped] == [1, 2, 3, 4, 5, 6, 6]
    assert {" ".join(lines) for lines in wrapped} == {", ".join(WORDS)}
    widths = [max(text_width(line, 8) for line in lines) for lines in wrapped[:6]]
    assert (np.diff(widths) <= 0).all()
    assert widths[1] < 0.7 * widths[0]
    assert wrap([], 3, 8) == [""]
    rng = np.random.default_rng(0)
    for _ in range(20):
        places, gap = np.sort(rng.random(6)), 0.15
        moved = declutter(places, gap, 0.0, 1.0)
        assert np.diff(moved).min() >= gap - 1e-9
        assert 0 <= moved.min() <= moved.max() <= 1 + 1e-12
        # Least squares: no other feasible places are nearer.
        others = np.sort(rng.random((500, 6)) * (1 - 5 * gap), axis=1) + gap * np.arange(6)
        assert ((others - places) ** 2).sum(axis=1).min() >= ((moved - places) ** 2).sum() - 1e-12
    far = np.array([0.1, 0.4, 0.9])
    np.testing.assert_allclose(declutter(far, 0.2, 0.0, 1.0), far)
    assert declutter(np.full(6, 0.9), 0.15, 0.0, 1.0).max() <= 1 + 1e-12


LABELS = np.array([[0, 0, 1], [0, 2, 1]])
IMAGE = np.arange(6.0).reshape(2, 3)
POSTERIORS = np.eye(3)[LABELS] * 0.7 + 0.1


def slow_borders(labels):
    (height, width), edges = labels.shape, set()
    for y, x in np.ndindex(height, width):
        if x + 1 < width and labels[y, x] != labels[y, x + 1]:
            edges.add(((x + 0.5, y - 0.5), (x + 0.5, y + 0.5)))
        if y + 1 < height and labels[y, x] != labels[y + 1, x]:
            edges.add(((x - 0.5, y + 0.5), (x + 0.5, y + 0.5)))
    return edges


def test_lines_are_between_different_labels_whose_colours_fade():
    for labels in np.random.default_rng(0).integers(0, 3, (3, 5, 8)):
        lines = {tuple(map(tuple, line)) for line in borders(labels).tolist()}
        assert lines == slow_borders(labels)
        assert lines != slow_borders(labels.T)
    model = SimpleNamespace(labels_=LABELS, posteriors_=POSTERIORS)
    display = SegmentationDisplay.from_estimator(model, IMAGE)
    colours = np.asarray(display.tint_.get_array())
    assert len(np.unique(colours[..., :3].reshape(-1, 3), axis=0)) == 3
    sure = SegmentationDisplay.from_labels(IMAGE, LABELS).tint_.get_array()
    np.testing.assert_allclose(colours[..., 3], 0.8 * np.asarray(sure)[..., 3])
    np.testing.assert_array_equal(display.image_.get_array(), IMAGE)
    assert len(display.lines_.get_segments()) == len(slow_borders(LABELS))
    ax = plt.subplots()[1]
    assert SegmentationDisplay.from_labels(IMAGE, LABELS, ax=ax).ax_ is ax
    colours = np.arange(18.0).reshape(2, 3, 3) / 18
    display = SegmentationDisplay.from_labels(colours, LABELS)
    np.testing.assert_array_equal(display.image_.get_array(), colours)
