"""Errors of displays for invalid input and without matplotlib."""

import sys
from functools import cache

import numpy as np
import pytest
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
)  # fmt: skip
from tests.inspection.planted import hierarchy_model, stand_in
from tests.plotting.test_canvas import IMAGE, LABELS
from tests.plotting.test_curves import CURVE, component_search, results
from tests.plotting.test_hierarchy import SPLITS
from tests.tables import planted

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
