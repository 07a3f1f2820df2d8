"""The style of all displays, how texts are fitted, segmentations; errors, and no matplotlib."""

import io
import sys
from functools import cache
from types import SimpleNamespace

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from sklearn.exceptions import NotFittedError

from skcooc import AspectModel, SymmetricClustering
from skcooc.hierarchy import binary_tree
from skcooc.image import TextureSegmenter
from skcooc.plotting import (
    AbstractionDisplay,
    AssociationDisplay,
    HierarchyDisplay,
    KSelectionDisplay,
    PerplexityDisplay,
    SegmentationDisplay,
    SharesDisplay,
    SplitsDisplay,
    StructureDisplay,
    TopicMapDisplay,
    TopicsDisplay,
    style,
)  # fmt: skip
from skcooc.plotting.canvas import NEUTRAL, colours, declutter, text_width, wrap
from skcooc.plotting.segmentation import borders
from tests.inspection.planted import hierarchy_model, stand_in
from tests.plotting.test_curves import CURVE, component_search, results
from tests.plotting.test_hierarchy import SPLITS
from tests.tables import planted

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


X = planted(n_rows=60, n_columns=40, n_observations=3000).X
NEVER_X1 = stand_in(binary_tree(2), n_columns=2, components_=np.array([[1.0, 0.0]] * 3))
blocks = cache(lambda: SymmetricClustering(4, 5, hard=True, random_state=0).fit(X))
aspects = cache(lambda: AspectModel(1, beta=1).fit([[1, 2], [2, 1]]))
searched = cache(lambda: AspectModel(2, tol=1e-2, random_state=0).fit(X[:9]))


def test_invalid_input_searches_and_images():
    for display, arguments, error, message in (
        *(
            (AbstractionDisplay, (hierarchy_model, feature), ValueError, "position of the 30")
            for feature in ("x99", 30, -31, 1.5)
        ),
        (AbstractionDisplay, (NEVER_X1, "x1"), ValueError, "'x1'"),
        (AbstractionDisplay, (aspects, 0), TypeError, "AspectModel has no tree_"),
        (AssociationDisplay, (blocks, X[:, :39]), ValueError, r"X has shape \(60, 39\)"),
        (AssociationDisplay, (blocks, None, ["a"]), ValueError, "40 columns"),
        (AssociationDisplay, (blocks, None, None, ["a"]), ValueError, "60 rows"),
        (AssociationDisplay, (blocks, {"scale": "area"}), ValueError, "scale='area'"),
        (AssociationDisplay, (SymmetricClustering(),), NotFittedError, None),
        (AssociationDisplay, (aspects,), TypeError, "AspectModel has no joint_"),
        (HierarchyDisplay, (hierarchy_model, ["a"]), ValueError, "30 columns"),
        (HierarchyDisplay, (hierarchy_model, {"max_depth": -1}), ValueError, "max_depth=-1"),
        (HierarchyDisplay, (aspects,), TypeError, "AspectModel has no tree_"),
        (PerplexityDisplay, (aspects,), ValueError, "validated nothing"),
        (PerplexityDisplay, (searched, {"over": "iterations"}), ValueError, "nothing to draw over"),
        (PerplexityDisplay, (AspectModel(),), NotFittedError, None),
        (SegmentationDisplay, (TextureSegmenter(), IMAGE), NotFittedError, None),
        (SplitsDisplay, (stand_in(),), ValueError, "annealing above 1"),
        (SplitsDisplay, (stand_in(splits_=[]),), ValueError, "annealing above 1"),
        (SplitsDisplay, (stand_in(binary_tree(5), splits_=SPLITS), ["a"]), ValueError, "30 col"),
        (SplitsDisplay, (AspectModel(),), NotFittedError, None),
        (SharesDisplay, (aspects, ["a"]), ValueError, r"by has shape \(1,\)"),
        (SharesDisplay, (aspects, ["a", "b"], {"topics": [1]}), ValueError, "topics="),
        (StructureDisplay, (aspects, ["a"]), ValueError, r"by has shape \(1,\)"),
        (StructureDisplay, (aspects, {"n_rows": -1}), ValueError, "n_rows"),
        (TopicMapDisplay, (aspects, ["a"]), ValueError, "2 columns"),
        (TopicMapDisplay, (AspectModel(),), NotFittedError, None),
        (TopicsDisplay, (aspects, {"names": ["a", "b"]}), ValueError, "names has 2 entries"),
        (TopicsDisplay, (AspectModel(),), NotFittedError, None),
    ):
        options = arguments[-1] if isinstance(arguments[-1], dict) else {}
        given = arguments[: len(arguments) - bool(options)]
        with pytest.raises(error, match=message):
            display.from_estimator(*(one() if callable(one) else one for one in given), **options)
    for betas, over, message in (
        ([0.8, 0.8], None, "does not vary"),
        ([0.8, 0.9], "max_iter", "does not vary"),
        ([0.8, "auto"], "beta", "not numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            PerplexityDisplay.from_search(results([{"beta": b} for b in betas], [20, 30]), over)
    with pytest.raises(ValueError, match=r"shape \(3, 2\)"):
        SegmentationDisplay.from_labels(IMAGE.T, LABELS)


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for display, *given in (
        (AbstractionDisplay, hierarchy_model(), 0),
        (AssociationDisplay, blocks()),
        (HierarchyDisplay, hierarchy_model()),
        (SharesDisplay, aspects(), ["a", "b"]),
        (SplitsDisplay, stand_in(binary_tree(5), splits_=SPLITS, beta_=0.1)),
        (StructureDisplay, aspects()),
        (TopicMapDisplay, aspects()),
        (TopicsDisplay, aspects()),
    ):
        with pytest.raises(ImportError, match=rf"{display.__name__} needs .*skcooc\[plot\]"):
            display.from_estimator(*given)
    for draw, given in (
        (KSelectionDisplay.from_search, component_search()),
        (lambda curves: PerplexityDisplay(curves).plot(), [CURVE]),
        (lambda image: SegmentationDisplay.from_labels(image, LABELS), IMAGE),
    ):
        with pytest.raises(ImportError, match=r"Display needs matplotlib.*skcooc\[plot\]"):
            draw(given)
