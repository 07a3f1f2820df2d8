from itertools import combinations

import numpy as np

from skcooc.inspection.similarity import map_positions
from skcooc.plotting import TopicMapDisplay
from skcooc.plotting.topic_map import leader_line, place_names
from tests.plotting.common import aspects, assert_legible


def test_circles_are_at_their_places_with_areas_by_mass():
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


def test_names_are_legible():
    for n_topics in (1, 12, 30):
        display = TopicMapDisplay.from_estimator(aspects(n_topics=n_topics, n_columns=90))
        assert_legible(display)
        assert len(display.texts_) >= 0.8 * n_topics


def test_neither_names_nor_lines_are_over_names():
    rng = np.random.default_rng(0)
    centers, radii = rng.uniform(60, 240, size=(30, 2)), np.full(30, 9.0)
    boxes = place_names(centers, radii, [(60, 10)] * 30, (300, 300))
    kept = [(i, box) for i, box in enumerate(boxes) if box is not None]
    assert 15 < len(kept) < 30  # there is not room for all
    for (_, a), (_, b) in combinations(kept, 2):
        assert (a[2:] <= b[:2]).any() or (b[2:] <= a[:2]).any()
    for i, box in kept:
        line = leader_line(centers[i], radii[i], box)
        if line is not None:
            points = line[0] + np.linspace(0, 0.9, 30)[:, None] * (line[1] - line[0])
            for j, other in kept:
                inside = (points > other[:2] + 1) & (points < other[2:] - 1)
                assert i == j or not inside.all(axis=1).any()
