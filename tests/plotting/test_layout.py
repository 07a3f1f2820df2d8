import numpy as np
import pytest

from skcooc.hierarchy import binary_tree, explicit_tree
from skcooc.plotting.canvas import text_width, wrap
from skcooc.plotting.layout import is_end, positions

TREES = [binary_tree(1), binary_tree(7), explicit_tree([6, 6, 5, 5, 5, 6, -1])]


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: str(tree.n_nodes))
def test_leaves_have_places_of_their_own_and_others_are_above_without_crossings(tree):
    places = positions(tree)
    assert sorted(places[tree.leaves]) == list(range(len(tree.leaves)))
    for node in range(tree.n_nodes):
        below = np.sort(places[tree.leaves[tree.above[:, node]]])
        assert (np.diff(below) == 1).all()
        assert below[0] <= places[node] <= below[-1]
    for node in np.setdiff1d(np.arange(tree.n_nodes), tree.leaves):
        children = places[tree.children(node)]
        assert places[node] == (children.min() + children.max()) / 2


def test_what_is_below_the_largest_depth_is_not_drawn():
    tree = binary_tree(8)
    places = positions(tree, max_depth=2)
    np.testing.assert_array_equal(np.isnan(places), tree.depths > 2)
    assert places[tree.depths == 2].tolist() == [0, 1, 2, 3]
    assert is_end(tree, 3, 2)
    assert not is_end(tree, 3, None)


WORDS = ["a", "long", "word", "and", "short", "ones"]


def test_wrapped_words_are_all_there_in_order_and_more_lines_are_narrower():
    wrapped = [wrap(WORDS, n_lines, 8) for n_lines in range(1, 8)]
    assert [len(lines) for lines in wrapped] == [1, 2, 3, 4, 5, 6, 6]
    assert {" ".join(lines) for lines in wrapped} == {", ".join(WORDS)}
    widths = [max(text_width(line, 8) for line in lines) for lines in wrapped[:6]]
    assert (np.diff(widths) <= 0).all()
    assert widths[1] < 0.7 * widths[0]
    assert wrap([], 3, 8) == [""]
