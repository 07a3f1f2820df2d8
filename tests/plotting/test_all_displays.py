"""What every display can do: given axes, any style, long names, a place in the documentation."""

import inspect
from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from skcooc import plotting
from skcooc.em import Split
from skcooc.hierarchy import binary_tree
from skcooc.plotting.association import MatrixSide
from skcooc.plotting.curves import Curve
from tests.inspection.planted import stand_in
from tests.plotting.common import aspects, assert_legible, labels
from tests.plotting.test_curves import component_search
from tests.tables import refused

DISPLAYS = [getattr(plotting, name) for name in plotting.__all__ if name.endswith("Display")]
PANELS = {"KSelectionDisplay", "SharesDisplay", "TopicsDisplay"}
GALLERY = Path(__file__).parents[2] / "docs/examples/GALLERY_HEADER.rst"
LONG = "a very long name_of a thing/with parts,of all kinds_and still more of them to be broken"
pytestmark = pytest.mark.filterwarnings("ignore:Without X:UserWarning")


def make(name, word, n_topics=5):
    """A display, not drawn yet or drawn on a figure of its own, whose names begin with a word."""
    model = aspects(n_topics=n_topics)
    model.feature_names_in_ = np.array([f"{word}{j}" for j in range(30)])
    by = {word: [f"{word} {label}" for label in labels()]}
    tree = binary_tree(4)
    if name == "AbstractionDisplay":
        return plotting.AbstractionDisplay(tree, np.full(tree.n_nodes, 1 / tree.n_nodes), word)
    if name == "AssociationDisplay":
        side = MatrixSide(np.arange(3), np.full(3, 1 / 3), [[f"{word}{j}"] for j in range(3)])
        tree = np.array([[0.0, 2.0, 1.5e3, 2.0], [1.0, 3.0, 2e4, 3.0]])
        joint = np.full((3, 3), 1 / 9)
        return plotting.AssociationDisplay(joint, side, side, linkages=(tree, tree))
    if name == "HierarchyDisplay":
        return plotting.HierarchyDisplay.from_estimator(stand_in(), model.feature_names_in_)
    if name == "KSelectionDisplay":
        searched = SimpleNamespace(component_search_=component_search())
        return plotting.KSelectionDisplay.from_estimator(searched)
    if name == "PerplexityDisplay":
        x = np.arange(1.0, 4.0)
        curves = [Curve(f"{word} {k}", x, 20 + k + x) for k in range(3)]
        return plotting.PerplexityDisplay(curves, over=word)
    if name == "SegmentationDisplay":
        return plotting.SegmentationDisplay(np.zeros((2, 3)), np.array([[0, 0, 1], [0, 1, 1]]))
    if name == "SplitsDisplay":
        splits = [Split(0.02, ((0, 2), (1,))), Split(0.05, ((0,), (2,)))]
        return plotting.SplitsDisplay(splits, labels=[f"{word} {k}" for k in range(3)])
    display = getattr(plotting, name)
    if name in ("SharesDisplay", "StructureDisplay"):
        return display.from_estimator(model, by)
    return display.from_estimator(model)


@pytest.mark.parametrize("display", DISPLAYS, ids=lambda one: one.__name__)
def test_all_draw_fitted_models_on_given_axes_in_any_style_with_any_name(display):
    price = "$\\frac$\ud83d"  # no formula, and half a surrogate pair: matplotlib raises for both
    sides = {"sides": (price, price)} if display is plotting.AssociationDisplay else {}
    for method in (display.from_estimator, display.plot):
        assert inspect.signature(method).parameters["ax"].default is None
    with plt.style.context("dark_background"):
        figure, (left, right) = plt.subplots(1, 2, figsize=(14, 6))
        drawn = make(display.__name__, price, 2).plot(right, **sides)
        assert drawn.figure_.figure is figure
        assert (display.__name__ in PANELS) == (right not in figure.axes)
        assert (drawn.ax_ is right) == (display.__name__ not in PANELS)
        assert left in figure.axes
        figure.draw_without_rendering()
        if display.__name__ in PANELS:
            boxes = [panel.get_window_extent() for panel in np.ravel(drawn.axes_)]
            assert min(box.x0 for box in boxes) > left.get_window_extent().x1
            assert min(box.height for box in boxes) > 30


def test_panels_need_a_place_in_a_grid():
    for name in sorted(PANELS):
        display = make(name, "word", 2)
        refused("not of add_axes", display.plot, plt.figure().add_axes((0, 0, 1, 1)))


@pytest.mark.parametrize("display", DISPLAYS, ids=lambda one: one.__name__)
def test_no_text_is_beyond_its_figure(display):
    n_topics = 2 if display in (plotting.TopicsDisplay, plotting.SharesDisplay) else 5  # slow
    assert_legible(make(display.__name__, LONG.replace(" ", "_"), n_topics).plot())


def test_a_word_that_cannot_be_broken_is_not_beyond_its_figure():
    for display in ("HierarchyDisplay", "SplitsDisplay"):
        assert_legible(make(display, "w" * 90).plot())


def test_the_gallery_has_a_line_for_every_display():
    lines = GALLERY.read_text().splitlines()
    for display in DISPLAYS:
        assert sum(f"plotting.{display.__name__}`" in line for line in lines) == 1, display
