import matplotlib.pyplot as plt
import numpy as np

from skcooc import AsymmetricClustering
from skcooc.datasets import make_cooccurrences
from skcooc.em import Split
from skcooc.hierarchy import binary_tree, division
from skcooc.inspection import node_top_features
from skcooc.plotting import SplitsDisplay
from tests.inspection.planted import stand_in
from tests.plotting.common import assert_legible, overlaps

ORDER = (0.02, ((0, 2, 3, 4), (1,))), (0.03, ((0, 4), (2, 3))), (0.08, ((2,), (3,)))
SPLITS = [Split(*one) for one in ORDER]


def leaf_names(display):
    return [label.get_text() for label in display.ax_.get_yticklabels()]


def binary_splits(clusters, beta):
    """Halves of halves, beta growing by a quarter each time."""
    if len(clusters) < 2:
        return []
    half = len(clusters) // 2
    parts = clusters[:half], clusters[half:]
    below = [split for part in parts for split in binary_splits(part, 1.25 * beta)]
    return sorted([Split(beta, parts), *below], key=lambda split: split.beta)


def test_groups_are_divided_where_the_splits_say():
    tree, groups, betas = division(SPLITS)
    assert groups == [(0, 1, 2, 3, 4), (0, 2, 3, 4), (1,), (0, 4), (2, 3), (2,), (3,)]
    assert tree.parents.tolist() == [-1, 0, 0, 1, 1, 4, 4]
    np.testing.assert_array_equal(betas, [0.02, 0.03, np.nan, np.nan, 0.08, np.nan, np.nan])
    tree, _, _ = division([Split(0.1, ((0,), (1,), (2,)))])
    assert tree.parents.tolist() == [-1, 0, 0, 0]
    splits = [Split(0.1, ((0, 1), (2,))), Split(0.2, ((0,), (1, 2))), Split(0.3, ((1,), (2,)))]
    tree, groups, betas = division(splits)
    assert groups == [(0, 1, 2), (0, 1), (2,), (0,), (1,)]
    np.testing.assert_array_equal(betas, [0.1, 0.2, np.nan, np.nan, np.nan])
    assert len(tree.leaves) == 3


def test_lines_are_at_the_inverse_temperatures_of_the_splits_or_shared():
    display = SplitsDisplay(SPLITS, beta=0.2).plot()
    segments = np.array([np.asarray(s) for s in display.lines_.get_segments()])
    vertical = segments[segments[:, 0, 0] == segments[:, 1, 0]]
    assert sorted(vertical[:, 0, 0]) == [0.02, 0.03, 0.08]
    horizontal = segments[segments[:, 0, 1] == segments[:, 1, 1]]
    assert len(horizontal) == 7
    assert (horizontal[:, 1, 0] == 0.2).sum() == 4  # clusters go on to the end
    assert horizontal[:, 0, 0].min() < 0.02
    assert display.ax_.get_xscale() == "log"
    assert leaf_names(display) == ["1", "0, 4", "2", "3"]


def test_the_words_of_clusters_are_those_of_leaves_also_if_annealed():
    model = stand_in(binary_tree(5), splits_=SPLITS, beta_=0.1)
    words = np.array(node_top_features(model, n_features=2), dtype=object)[model.tree_.leaves]
    names = leaf_names(SplitsDisplay.from_estimator(model, n_features=2, order="probable"))
    for name, cluster in zip(names, [1, 0, 2, 3], strict=True):
        assert name.endswith(": " + ", ".join(words[cluster]))
    assert leaf_names(SplitsDisplay.from_estimator(model, n_features=0))[0] == "1"
    X = make_cooccurrences(60, 40, 4, kind="clusters", random_state=0).X
    model = AsymmetricClustering(4, beta=0.2, annealing=1.5, random_state=0).fit(X)
    display = SplitsDisplay.from_estimator(model)
    drawn = {betas for betas in display.division_.betas if not np.isnan(betas)}
    assert drawn == {split.beta for split in model.splits_}
    assert display.ax_.get_xlim()[1] >= model.beta_
    assert len(leaf_names(display)) == 4


def test_texts_are_legible_and_marks_of_the_axis_do_not_overlap():
    for n_clusters, size in ((2, None), (8, (6, 4)), (32, None), (32, (6, 4))):
        splits = binary_splits(tuple(range(n_clusters)), 0.02)
        if size is None:
            model = stand_in(binary_tree(n_clusters), splits_=splits, beta_=0.3)
            display = SplitsDisplay.from_estimator(model)
        else:
            display = SplitsDisplay(splits).plot(plt.subplots(figsize=size)[1])
        assert_legible(display)
    for ratio in (1.001, 1.2, 4, 30, 150, 1e4):
        splits = [Split(0.0001, ((0,), (1, 2))), Split(0.0001 * ratio, ((1,), (2,)))]
        figure = SplitsDisplay(splits).plot().figure_
        assert overlaps(figure) == []
        assert len(figure.axes[0].get_xticks()) > 1
