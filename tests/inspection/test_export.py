import json

import numpy as np
import pytest

from skcooc.hierarchy import binary_tree, explicit_tree
from skcooc.inspection import (
    characteristic_features,
    export_dict,
    export_text,
    name_topics,
    node_top_features,
)
from tests.inspection.planted import EXPLICIT, hierarchy_model, stand_in

TREES = {"one node": (1,), "binary": (5,), "any": (5, 40, 30, EXPLICIT)}


@pytest.fixture(params=TREES)
def model(request):
    return hierarchy_model(*TREES[request.param])


def nodes_of(root):
    yield root
    for child in root["children"]:
        yield from nodes_of(child)


def test_text_of_a_small_and_of_a_deep_tree():
    model = stand_in(
        binary_tree(3),
        n_rows=4,
        n_columns=5,
        components_=np.eye(5),
        node_weights_=np.array([0.5, 0.125, 0.075, 0.2, 0.1]),
        labels_=np.array([0, 0, 1, 2]),
    )
    assert model.tree_.leaves.tolist() == [2, 3, 4]
    text = export_text(
        model, ["all", "drinks", "bread", "tea", "wine"], n_features=1, order="probable"
    )
    assert text.splitlines() == [
        "|--- all (50.0%)",
        "|   |--- drinks (12.5%)",
        "|   |   |--- cluster 1: tea (20.0%, 1 row)",
        "|   |   |--- cluster 2: wine (10.0%, 1 row)",
        "|   |--- cluster 0: bread (7.5%, 2 rows)",
    ]
    n = 1500
    tree = explicit_tree(np.arange(-1, n - 1))
    model = stand_in(
        tree, n_rows=2, node_weights_=np.full(n, 1 / n), components_=np.ones((n, 2)) / 2
    )
    assert len(export_text(model).splitlines()) == n
    assert export_dict(model)["weight"] == 1 / n


def test_every_node_has_a_line_with_its_words_and_its_depth(model):
    lines = export_text(model, n_features=3, order="probable").splitlines()
    tree, names = model.tree_, node_top_features(model, n_features=3)
    assert len(lines) == tree.n_nodes
    for node, line in zip(tree.preorder, lines, strict=True):
        assert line.startswith("|   " * tree.depths[node] + "|--- ")
        assert ", ".join(names[node]) in line
        assert f"({model.node_weights_[node]:.1%}" in line


def test_dictionaries_are_the_tree(model):
    root, tree = export_dict(model), model.tree_
    nodes = {node["node"]: node for node in nodes_of(root)}
    assert sorted(nodes) == list(range(tree.n_nodes))
    for v, node in nodes.items():
        assert [child["node"] for child in node["children"]] == tree.children(v).tolist()
        assert node["weight"] == model.node_weights_[v]
        for feature in node["features"]:
            j = int(feature["name"].removeprefix("x"))
            assert feature["probability"] == model.components_[v, j]
        is_leaf = not node["children"]
        assert ("cluster" in node) == ("n_rows" in node) == is_leaf
        if is_leaf:
            assert tree.leaves[node["cluster"]] == v
            assert node["n_rows"] == (model.labels_ == node["cluster"]).sum()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_json(dtype):
    model = hierarchy_model(4, dtype=dtype)
    assert model.components_.dtype == dtype
    root = export_dict(model, np.array([f"w{j}" for j in range(30)]))
    assert json.loads(json.dumps(root)) == root


def test_features_are_the_most_probable_first_those_of_the_same_name_too():
    model = hierarchy_model(4)
    for n_features in (0, 2, 99):
        names = node_top_features(model, n_features=n_features)
        for node in nodes_of(export_dict(model, n_features=n_features, order="probable")):
            assert [feature["name"] for feature in node["features"]] == names[node["node"]]
    model = hierarchy_model(2, n_columns=3)
    assert len(export_dict(model, ["same", "same", "other"], order="probable")["features"]) == 3


def test_an_empty_cluster_has_no_rows():
    model = stand_in(binary_tree(2), labels_=np.zeros(40, dtype=int))
    assert "40 rows" in export_text(model).splitlines()[1]
    assert "0 rows" in export_text(model).splitlines()[2]
    assert [leaf["n_rows"] for leaf in export_dict(model)["children"]] == [40, 0]


def test_columns_are_characteristic_unless_probable_ones_are_asked_for(model):
    expected = characteristic_features(model, n_features=3)
    lines = export_text(model, n_features=3).splitlines()
    for node, line in zip(model.tree_.preorder, lines, strict=True):
        assert line.split("|--- ")[1].split(": ")[-1].split(" (")[0] == ", ".join(expected[node])
    for node in nodes_of(export_dict(model, n_features=3)):
        assert [feature["name"] for feature in node["features"]] == expected[node["node"]]
        assert node["name"] == name_topics(model)[node["node"]]
