"""One style of all displays, light pages and dark, and what users have set."""

import io

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from skcooc.plotting import HierarchyDisplay, PerplexityDisplay, SplitsDisplay, style
from skcooc.plotting.canvas import NEUTRAL, colours
from tests.inspection.planted import hierarchy_model
from tests.plotting.test_perplexity import CURVE
from tests.plotting.test_splits import SPLITS

WHITE, DARK = (1.0, 1.0, 1.0), to_rgb("#14181e")


def luminance(colour):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(a, b):
    """That of the Web Content Accessibility Guidelines."""
    low, high = sorted([luminance(a), luminance(b)])
    return (high + 0.05) / (low + 0.05)


def test_text_and_lines_are_seen_on_white_and_on_dark_pages():
    with style():
        text = matplotlib.rcParams["text.color"]
        assert len(set(colours())) == 7
    for page in (WHITE, DARK):
        assert contrast(text, page) > 4
        assert contrast(NEUTRAL, page) > 3
    assert contrast("black", DARK) < 2  # what matplotlib writes in


def test_displays_are_in_it_and_leave_no_trace():
    before = dict(matplotlib.rcParams)
    ax = PerplexityDisplay([CURVE]).plot().ax_
    assert ax.figure.get_facecolor()[3] == ax.get_facecolor()[3] == 0
    assert ax.lines[0].get_color() == "#0072B2"
    assert dict(matplotlib.rcParams) == before


def test_displays_say_what_they_are():
    display = SplitsDisplay(SPLITS)
    assert repr(display) == "<SplitsDisplay: not drawn yet: call plot>"
    assert repr(display.plot()) == "<SplitsDisplay: drawn>"


def test_what_users_have_set_stays():
    with plt.rc_context({"text.color": "red", "axes.prop_cycle": plt.cycler(color=["lime"])}):
        display = SplitsDisplay(SPLITS).plot()
        with style():
            assert matplotlib.rcParams["text.color"] == "red"
            assert matplotlib.rcParams["legend.frameon"] is False
    assert tuple(display.lines_.get_color()[0]) == (0, 1, 0, 1)


def test_files_have_text_and_300_pixels_an_inch(tmp_path):
    display = SplitsDisplay(SPLITS).plot()
    file = io.StringIO()
    display.save(file, format="svg")
    assert "inverse temperature" in file.getvalue()
    display.save(tmp_path / "splits.png")
    pixels = plt.imread(tmp_path / "splits.png")
    width = display.figure_.get_size_inches()[0]
    assert pixels.shape[1] == pytest.approx(300 * width, abs=1)
    assert pixels[0, 0, 3] == 0


def test_lines_of_a_tree_are_as_wide_as_the_observations_below():
    model = hierarchy_model(4)
    display = HierarchyDisplay.from_estimator(model)
    widths = display.lines_.get_linewidths()
    joint = model.node_weights_
    below = [joint[[1, 3, 4]].sum(), joint[[2, 5, 6]].sum()]
    np.testing.assert_allclose(widths[:2], 8 * np.array(below))
    np.testing.assert_allclose(sorted(widths[2:]), sorted(np.maximum(8 * joint[3:], 0.6)))


def test_the_style_is_found_by_its_name():
    with plt.style.context("skcooc.plotting.skcooc"):
        assert matplotlib.rcParams["svg.fonttype"] == "none"
