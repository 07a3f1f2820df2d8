from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np

from skcooc.plotting import SegmentationDisplay
from skcooc.plotting.segmentation import borders

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


def test_lines_are_between_different_labels():
    for labels in np.random.default_rng(0).integers(0, 3, (3, 5, 8)):
        lines = {tuple(map(tuple, line)) for line in borders(labels).tolist()}
        assert lines == slow_borders(labels)
        assert lines != slow_borders(labels.T)


def test_colours_of_labels_fade_and_coloured_images_are_unchanged():
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
