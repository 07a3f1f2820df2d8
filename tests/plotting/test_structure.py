import numpy as np
import pytest

from skcooc.inspection.groups import divide
from skcooc.plotting import StructureDisplay
from skcooc.plotting.structure import sample_rows
from tests.plotting.common import GROUPS, aspects, assert_legible, labels

MODEL = aspects(200)
LABELS = np.where(np.arange(200) < 3, "few", labels(200))


def test_rows_of_each_group_are_sampled_evenly():
    division = divide(LABELS, MODEL.row_distribution_)
    bars = sample_rows(MODEL.embedding_, division, 60)
    assert bars.labels == sorted([*GROUPS, "few"])
    assert bars.sizes[bars.labels.index("few")] == 3  # all of them
    assert len(bars.mixtures) == sum(bars.sizes) == pytest.approx(62, abs=3)
    begin = 0
    for members, size in zip(division.members, bars.sizes, strict=True):
        rows = {tuple(row) for row in MODEL.embedding_[members]}
        shown = bars.mixtures[begin : begin + size]
        assert {tuple(row) for row in shown} <= rows
        largest = shown.argmax(axis=1)
        starts = 1 + (np.diff(largest) != 0).sum()
        assert starts == len(set(largest))  # rows of one topic stand together
        totals = MODEL.embedding_[members].sum(axis=0)
        assert (np.diff(totals[list(dict.fromkeys(largest))]) <= 0).all()
        assert all((np.diff(shown[largest == k].max(axis=1)) <= 0).all() for k in set(largest))
        if size > 10:
            np.testing.assert_allclose(shown.mean(axis=0), totals / len(members), atol=0.06)
        begin += size


def test_bars_are_stacked_to_one():
    display = StructureDisplay.from_estimator(MODEL, {"side": LABELS}, n_rows=60, topics=3)
    n_groups = len(display.bars.labels)
    assert len(display.ax_.patches) == 4 * n_groups
    top = np.concatenate([patch.get_data().values for patch in display.ax_.patches[-n_groups:]])
    np.testing.assert_allclose(top, 1)
    first = np.concatenate([patch.get_data().values for patch in display.ax_.patches[:n_groups]])
    np.testing.assert_allclose(first, display.bars.mixtures[:, display.topics[0]])
    assert display.ax_.get_xlabel() == f"{len(top)} of 200 rows, by side"
    assert_legible(display)


def test_labels_of_small_groups_are_legible_and_others_come_last():
    by = np.where(np.arange(200) < 24, 1900 + np.arange(200) // 2, 2000)
    display = StructureDisplay.from_estimator(MODEL, by, topics=3)
    assert len(display.ax_.get_xticklabels()) == 13
    assert_legible(display)
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names[-1] == "others"
    display = StructureDisplay.from_estimator(MODEL)
    assert display.ax_.get_xlabel() == "200 rows"
    assert len(display.ax_.get_legend().get_texts()) == 5  # all topics, and no others
    display = StructureDisplay.from_estimator(aspects(n_topics=16))
    assert len(display.ax_.get_legend().get_texts()) == 15
    with pytest.raises(ValueError, match="15 topics are too many for 14"):
        StructureDisplay.from_estimator(aspects(n_topics=16), topics=15)
