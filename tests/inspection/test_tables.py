import copy
import json
import pickle
from itertools import chain
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from anndata import AnnData
from scipy.cluster.hierarchy import dendrogram, is_monotonic, is_valid_linkage, leaders
from sklearn.base import clone
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import skcooc
from skcooc import (
    AspectClassifier,
    AspectModel,
    AsymmetricClustering,
    MixtureFeatures,
    inspection,
)
from skcooc.anndata import add_topics
from skcooc.cli import main
from skcooc.hierarchy import Tree, binary_tree, explicit_tree
from skcooc.inspection import (
    characteristic_features,
    describe,
    drop_topics,
    explore,
    export_dict,
    export_text,
    merge_topics,
    name_topics,
    set_names,
    to_linkage,
    to_pyldavis,
    top_features,
)  # fmt: skip
from skcooc.inspection import representative_rows as first_rows
from skcooc.inspection.features import associated_clusters, column_clusters
from skcooc.inspection.models import read_view, rows_by_topic
from skcooc.plotting import AssociationDisplay, HierarchyDisplay, SplitsDisplay
from tests.inspection import pages
from tests.inspection.planted import EXPLICIT, hierarchy_model, stand_in
from tests.plotting.test_hierarchy import SPLITS
from tests.tables import planted, refused

COLUMNS = [
    "component", "name", "share", "documents", "n_rows", "features", "probabilities", "rows"
]  # fmt: skip
NEAREST = ["nearest", "distance"]
X = np.random.default_rng(0).poisson(2.0, (20, 7))
ADJECTIVES, NOUNS = [f"adjective {i}" for i in range(9)], [f"noun {j}" for j in range(8)]
BLOCKS = np.random.default_rng(0).poisson(1.0 + 6 * (np.arange(9)[:, None] % 3 == np.arange(8) % 3))
PAIRS = skcooc.Dyads(BLOCKS, row_names=ADJECTIVES, column_names=NOUNS)
FRAME = pd.DataFrame(BLOCKS, index=ADJECTIVES, columns=NOUNS)


@pytest.fixture(scope="module")
def model():
    return skcooc.AspectModel(3, beta=0.9, random_state=0, tol=1e-4).fit(X)


def test_lines_against_the_definitions(model):
    table = describe(model, n_features=4, n_rows=2, order="probable")
    assert isinstance(table, pd.DataFrame)
    assert table.columns.tolist() == COLUMNS + NEAREST
    assert table["component"].tolist() == [0, 1, 2]
    top = top_features(model, n_features=7)
    for k, line in table.iterrows():
        shares = [X[i].sum() / X.sum() * model.embedding_[i, k] for i in range(20)]
        assert line["share"] == pytest.approx(sum(shares))
        assert line["n_rows"] == sum(p.argmax() == k for p in model.embedding_)
        assert line["documents"] == line["n_rows"] / len(model.embedding_)
        assert line["features"] == top[k][:4]
        by_name = dict(zip(top[k], sorted(-model.components_[k]), strict=True))
        assert line["probabilities"] == [-by_name[name] for name in line["features"]]
        assert line["rows"] == first_rows(model, n_rows=2)[k]
        p = model.components_
        apart = {other: 1 - np.sqrt(p[k] * p[other]).sum() for other in range(3) if other != k}
        assert line["nearest"] == min(apart, key=apart.get)
        assert line["distance"] == pytest.approx(np.sqrt(min(apart.values())))
    features, rows = list("abcdefg"), [f"title {i}" for i in range(20)]
    named = describe(model, features, rows, order="probable")
    assert {"".join(sorted(names)) for names in named["features"]} == {"abcdefg"}
    assert named["rows"].tolist() == [[rows[i] for i in few] for few in first_rows(model, n_rows=3)]
    model = skcooc.AsymmetricClustering(3, beta=1.0, random_state=0).fit(
        X
    )  # whose prior is uniform
    weights = describe(model)["share"]
    np.testing.assert_allclose(weights, X.sum(axis=1) @ model.embedding_ / X.sum())
    assert not np.allclose(weights, model.weights_)
    model = hierarchy_model(4)
    np.testing.assert_allclose(describe(model)["share"], model.node_weights_)


def test_the_library_of_the_table_and_a_line_for_each_feature(model):
    expected = -np.sort(-model.components_, axis=1)[:, :5].ravel()
    top = [name for names in top_features(model, n_features=5) for name in names]
    for backend, kind, records in (
        ("pandas", pd.DataFrame, lambda table: table.to_dict("records")),
        ("polars", pl.DataFrame, pl.DataFrame.to_dicts),
        ("pyarrow", pa.Table, pa.Table.to_pylist),
    ):
        table = describe(model, n_features=5, order="probable", backend=backend)
        assert isinstance(table, kind)
        assert records(table) == describe(model, n_features=5, order="probable").to_dict("records")
        if backend != "pyarrow":
            long = table.explode(["features", "probabilities"])
            assert list(long["features"]) == top
            np.testing.assert_allclose(np.array(long["probabilities"], dtype=float), expected)


def test_columns_are_characteristic_unless_probable_ones_are_asked_for(model):
    features = characteristic_features(model, n_features=4)
    for options in ({}, {"order": "characteristic"}):
        table = describe(model, n_features=4, **options)
        assert table["features"].tolist() == features
        assert [len(p) for p in table["probabilities"]] == [len(names) for names in features]
    refused("'order' parameter of describe", describe, model, order="best")
    single = skcooc.AspectModel(1, beta=1, tol=1e-2).fit(X.astype(np.float32))
    table = describe(single, n_features=3)
    assert table["features"].tolist() == top_features(single, n_features=3)
    assert table["probabilities"][0][0] == float(single.components_[0].max())
    alone = copy.copy(model)
    alone.embedding_, alone.row_distribution_ = np.empty((0, 3)), np.empty(0)
    q, reference = model.components_, model.weights_ @ model.components_
    parts = q * np.log(q / ((q + reference) / 2))
    expected = [[f"x{j}" for j in np.argsort(-row) if row[j] > 0] for row in parts]
    assert characteristic_features(alone) == expected
    np.testing.assert_allclose(describe(alone)["share"], model.weights_)
    assert name_topics(alone, n_features=2) == [" · ".join(names[:2]) for names in expected]


def test_shares_after_batches_are_those_of_all_of_them():
    X = planted(4, 20_000, n_rows=400).X
    rare = np.argsort(X[:, [0]].sum(axis=1))  # so that batches differ
    model = skcooc.AspectModel(4, random_state=0)
    for first in range(0, 400, 100):
        model.partial_fit(X[rare[first : first + 100]])
    table = describe(model)
    with_rows = describe(model, X=X)
    np.testing.assert_allclose(table["share"], with_rows["share"], atol=0.05)
    assert table["documents"].isna().all()
    assert not table["n_rows"].any()
    assert not any(table["rows"])
    assert with_rows["n_rows"].sum() == 400
    for fewer in (merge_topics(model, [[0, 1]]), drop_topics(model, [0])):
        shares = describe(fewer, X=X)["share"]
        np.testing.assert_allclose(describe(fewer)["share"], shares, atol=0.1)
        assert describe(fewer)["documents"].isna().all()
    assert describe(model.fit(X))["n_rows"].sum() == 400


@pytest.fixture(scope="module")
def both():
    return skcooc.SymmetricClustering(3, 3, hard=True, random_state=0).fit(PAIRS)


def test_names_of_rows_are_kept_if_the_table_has_them_and_name_clusters(both):
    assert both.row_names_in_.tolist() == ADJECTIVES
    aspects = skcooc.AspectModel(2, beta=0.9, max_iter=2, tol=1, random_state=0)
    assert aspects.fit(FRAME).row_names_in_.tolist() == ADJECTIVES
    assert aspects.recommend("adjective 2", 1).items.shape == (1,)
    for nameless in (BLOCKS, FRAME.reset_index(drop=True), skcooc.RowBlocks([BLOCKS])):
        assert not hasattr(aspects.fit(nameless), "row_names_in_")
    in_blocks = describe(aspects)  # keeps no rows
    assert in_blocks["documents"].isna().all()
    assert not in_blocks["n_rows"].any()
    with_rows = describe(aspects, X=FRAME)
    mixtures = aspects.transform(FRAME)
    assert with_rows["n_rows"].tolist() == np.bincount(mixtures.argmax(1), minlength=2).tolist()
    assert {row for rows in with_rows["rows"] for row in rows} <= set(ADJECTIVES)
    assert with_rows["rows"].map(len).tolist() == [3, 3]
    shown = first_rows(both, n_rows=9)
    assert shown == first_rows(both, ADJECTIVES, n_rows=9)
    assert describe(both)["rows"].tolist() == [rows[:3] for rows in shown]
    for c, name in enumerate(name_topics(both)):
        members = np.flatnonzero(both.row_labels_ == c)
        best = members[np.argsort(-BLOCKS[members].sum(axis=1), kind="stable")][:3]
        assert name == " · ".join(ADJECTIVES[i] for i in best)
    nameless = skcooc.SymmetricClustering(3, 3, hard=True, random_state=0).fit(BLOCKS)
    assert all(name.startswith("x") for name in name_topics(nameless))
    assert name_topics(nameless, NOUNS, ADJECTIVES) == name_topics(both)


def test_clusters_of_columns_against_the_definitions(both):
    table, rows = describe(both, n_features=2, axis="columns"), describe(both)
    for d, line in table.iterrows():
        members = np.flatnonzero(both.column_labels_ == d)
        sums = BLOCKS[:, members].sum(axis=0)
        best = np.argsort(-sums, kind="stable")[:2]
        assert line["share"] == pytest.approx(sums.sum() / BLOCKS.sum(), rel=1e-6)
        assert line["n_columns"] == len(members)
        assert line["features"] == [NOUNS[j] for j in members[best]]
        np.testing.assert_allclose(line["probabilities"], sums[best] / sums.sum(), rtol=1e-6)
        associated = dict(zip(line["goes_with"], line["associations"], strict=True))
        expected = {rows["name"][c]: a for c, a in enumerate(both.association_[:, d]) if a > 1}
        assert associated == pytest.approx(expected)
    assert column_clusters(both).weights.sum() == pytest.approx(1)
    joint = np.array([[0.3, 0.1, 0.1], [0.02, 0.18, 0.3]])
    first, second = associated_clusters(joint)
    assert (first[0].tolist(), second[0].tolist()) == ([0], [2, 1])
    np.testing.assert_allclose(second[1], [0.3 / (0.5 * 0.4), 0.18 / (0.5 * 0.28)])
    assert associated_clusters(joint[:, ::-1])[1][0].tolist() != second[0].tolist()


def test_the_association_display_takes_all_tables_of_the_fit(both):
    draw = AssociationDisplay.from_estimator
    for data in (PAIRS, FRAME, BLOCKS):
        display = draw(both, data)
        i, j, counts = display.pairs
        assert (BLOCKS[i, j] == counts).all()
        assert counts.sum() == BLOCKS.sum()
        assert sorted(word for few in display.rows.words for word in few) == ADJECTIVES
    refused("rows of other names, or in another order", draw, both, FRAME[::-1])
    refused("columns of other names, or in another order", draw, both, FRAME[NOUNS[::-1]])
    aspects = skcooc.AspectModel(2, beta=0.9, max_iter=2, tol=1, random_state=0).fit(BLOCKS)
    for shown in (draw, lambda model: describe(model, axis="columns")):
        refused("SymmetricClustering", shown, aspects, error=TypeError)


def test_the_command_line_has_both_sides(tmp_path, capsys):
    cells = [(a, n, BLOCKS[i, j]) for i, a in enumerate(ADJECTIVES) for j, n in enumerate(NOUNS)]
    lines = ["adjective\tnoun\tcount", *(f"{a}\t{n}\t{count}" for a, n, count in cells)]
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join(lines), encoding="utf-8")
    page, folder = tmp_path / "pairs.html", tmp_path / "result"
    to = ["--html", str(page), "--output", str(folder)]
    assert main([str(path), "--model", "symmetric", "-k", "3", *to]) == 0
    out = capsys.readouterr().out
    assert "9 values of adjective, 8 values of noun" in out
    after = out.split("most frequent members")[1]
    assert all(after.count(name) == 1 for name in ADJECTIVES + NOUNS)
    assert '"sides":["values of adjective","values of noun"]' in page.read_text(encoding="utf-8")
    for file in ("components.csv", "embedding.csv"):  # clusters have the names of the page
        _, *names = (folder / file).read_text(encoding="utf-8").splitlines()[0].split(",")
        assert {word for name in names for word in name.split(" · ")} <= {*ADJECTIVES}


@pytest.fixture
def short():
    return skcooc.AspectModel(3, beta=0.9, max_iter=5, random_state=0).fit(X)


def test_made_names_differ_and_those_of_the_model_inside():
    short = pages.stand_in(pages.table())
    short.components_[1] = short.components_[0]
    weights = short.row_distribution_ @ short.embedding_
    names = name_topics(short, pages.WORDS, n_features=2)
    assert len(set(names)) == 3
    large, less = sorted([0, 1], key=lambda k: -weights[k])
    assert len(names[large].split(" · ")) == 2
    assert names[less].startswith(names[large])
    short.components_ = np.ones((3, 1))  # nothing is characteristic
    assert name_topics(short) == ["topic 0", "topic 1", "topic 2"]
    pipeline = make_pipeline(FunctionTransformer(), skcooc.AspectModel(2, beta=0.9, max_iter=5))
    set_names(pipeline.fit(X), ["x", "y"])
    assert pipeline[-1].get_feature_names_out().tolist() == ["x", "y"]
    leaves = skcooc.ClusterAbstraction(2, tree="binary", beta=0.5, max_iter=5, random_state=0)
    memory = skcooc.RowMemory(leaves, concentration=1, discount=0, smoothing=0).fit(X)
    set_names(memory, ["root", "left", "right"])
    assert memory.get_feature_names_out().tolist() == ["root", "left", "right"]
    assert export_dict(memory)["name"] == "root"
    lda = set_names(LatentDirichletAllocation(2, max_iter=1).fit(X), ["a", "b"])
    assert lda.component_names_ == {0: "a", 1: "b"}


def test_names_are_kept_until_another_fit_or_refused(short):
    plain = ["aspectmodel0", "aspectmodel1", "aspectmodel2"]
    assert short.get_feature_names_out().tolist() == plain
    automatic = name_topics(short)
    assert set_names(short, {1: "mine", "2": automatic[0]}) is short
    names = ["aspectmodel0", "mine", automatic[0]]
    for same in (short, pickle.loads(pickle.dumps(short))):
        assert same.get_feature_names_out().tolist() == names
        assert name_topics(same)[1:] == describe(same)["name"].tolist()[1:] == names[1:]
        assert name_topics(same)[0] not in names  # another one than has been set
    frame = short.set_output(transform="pandas").transform(X)
    assert frame.columns.tolist() == names
    features = set_names(MixtureFeatures(short).fit(X), list("abc"))
    y = np.arange(len(X)) % 3
    labelled = set_names(AspectClassifier(max_iter=2).fit(X, y), list("abc"))
    for model in (features, labelled):
        assert model.get_feature_names_out().tolist() == list("abc")
    of_classes = set_names(clone(labelled).set_params(n_free_components=1).fit(X, y), {3: "free"})
    assert name_topics(of_classes) == ["0", "1", "2", "free"]
    assert describe(short, names={1: "here"})["name"].tolist()[1:] == ["here", automatic[0]]
    assert not hasattr(clone(short), "component_names_")
    assert short.fit(X).get_feature_names_out().tolist() == plain
    assert set_names(set_names(short, list("abc")), None).get_feature_names_out().tolist() == plain
    exported = {"0": "one", "1": "two", "2": "three"}
    shown = explore(set_names(short, exported), X, names={"0": "given"}).shown["topics"]
    assert [topic["name"] for topic in shown] == ["given", "two", "three"]
    for names, message in (
        (["a"], "1 entries, but there are 3 topics"),
        ("abc", "1 entries"),
        ({3: "a"}, "names has 3, but topics are 0 to 2"),
        ({"tea": "a"}, "names has tea, but topics are 0 to 2"),
        ({0: "a", 1: "a"}, "all different"),
        ({0: ""}, "none empty"),
    ):
        refused(message, set_names, short, names)
        assert short.component_names_ == {0: "one", 1: "two", 2: "three"}
    refused(r"got 5\. Did you mean n_features=5\?", describe, short, 5, error=TypeError)
    refused("n_rows=5", describe, short, None, 5, error=TypeError)


def test_names_of_nodes_stand_before_their_words():
    short, words = stand_in(binary_tree(5), splits_=SPLITS), [f"w{j}" for j in range(30)]
    plain = skcooc.inspection.export_text(short, words).splitlines()
    root, leaf = short.tree_.preorder[0], short.tree_.leaves[2]
    refused("0 may be the number of a cluster.*'cluster 0' or 'node 0'", set_names, short, {0: "a"})
    set_names(short, {f"node {root}": "all of it", "cluster 2": "a leaf"})
    assert short.component_names_ == {root: "all of it", leaf: "a leaf"}
    lines = skcooc.inspection.export_text(short, words).splitlines()
    assert lines[0] == plain[0].replace("|--- ", "|--- all of it: ")
    assert lines[1:] == [line.replace("cluster 2: ", "cluster 2: a leaf: ") for line in plain[1:]]
    drawn = HierarchyDisplay.from_estimator(short, words)
    assert drawn.texts_[root].get_text().startswith("all of it: ")
    assert drawn.texts_[leaf].get_text().startswith("2: a leaf: ")
    given = HierarchyDisplay.from_estimator(short, words, names={"node 0": "other"}, n_features=0)
    assert given.texts_[0].get_text() == "other"
    words_of = top_features(short, words, n_features=3)
    labels = SplitsDisplay.from_estimator(short, words, order="probable").labels
    expected = [", ".join(words_of[node]) for node in short.tree_.leaves]
    assert labels == [*expected[:2], "a leaf", *expected[3:]]


TREES = (1,), (5,), (5, 40, 30, EXPLICIT)
CHAIN = Tree(np.array([-1, 0, 0, 0, 1, 1, 4, 4]))  # three children, and leaves at three depths
SINGLE = Tree(np.array([-1, 0, 1, 1, 2]))  # nodes with a single child


def nodes_of(root):
    yield root
    for child in root["children"]:
        yield from nodes_of(child)


def test_text_of_a_small_and_of_a_deep_tree():
    model = stand_in(
        binary_tree(3), n_rows=4, n_columns=5, components_=np.eye(5),
        node_weights_=np.array([0.5, 0.125, 0.075, 0.2, 0.1]), labels_=np.array([0, 0, 1, 2]),
    )  # fmt: skip
    words = ["all", "drinks", "bread", "tea", "wine"]
    assert export_text(model, words, n_features=1, order="probable").splitlines() == [
        "|--- all (50.0%)",
        "|   |--- drinks (12.5%)",
        "|   |   |--- cluster 1: tea (20.0%, 1 row)",
        "|   |   |--- cluster 2: wine (10.0%, 1 row)",
        "|   |--- cluster 0: bread (7.5%, 2 rows)",
    ]
    n = 1500
    tree = explicit_tree(np.arange(-1, n - 1))
    drawn = {"node_weights_": np.full(n, 1 / n), "components_": np.ones((n, 2)) / 2}
    model = stand_in(tree, n_rows=2, **drawn)
    assert len(export_text(model).splitlines()) == n
    assert export_dict(model)["weight"] == 1 / n
    model = stand_in(binary_tree(2), labels_=np.zeros(40, dtype=int))
    assert [leaf["n_rows"] for leaf in export_dict(model)["children"]] == [40, 0]


@pytest.mark.parametrize("order", ["characteristic", "probable"])
@pytest.mark.parametrize("of", TREES)
def test_lines_and_dictionaries_are_the_tree(of, order):
    model = hierarchy_model(*of)
    options = {} if order == "characteristic" else {"order": order}
    features = inspection.top_features if options else inspection.characteristic_features
    names, labels, tree = features(model, n_features=3), inspection.name_topics(model), model.tree_
    lines = export_text(model, n_features=3, **options).splitlines()
    assert len(lines) == tree.n_nodes
    for node, line in zip(tree.preorder, lines, strict=True):
        assert line.startswith("|   " * tree.depths[node] + "|--- ")
        assert line.split("|--- ")[1].split(": ")[-1].split(" (")[0] == ", ".join(names[node])
        assert f"({model.node_weights_[node]:.1%}" in line
    nodes = {node["node"]: node for node in nodes_of(export_dict(model, n_features=3, **options))}
    assert sorted(nodes) == list(range(tree.n_nodes))
    for v, node in nodes.items():
        assert [child["node"] for child in node["children"]] == tree.children(v).tolist()
        assert (node["weight"], node["name"]) == (model.node_weights_[v], labels[v])
        assert [feature["name"] for feature in node["features"]] == names[v]
        for feature in node["features"]:
            j = int(feature["name"].removeprefix("x"))
            assert feature["probability"] == model.components_[v, j]
        is_leaf = not node["children"]
        assert ("cluster" in node) == ("n_rows" in node) == is_leaf
        if is_leaf:
            assert tree.leaves[node["cluster"]] == v
            assert node["n_rows"] == (model.labels_ == node["cluster"]).sum()


def test_json_with_any_number_of_columns():
    single = stand_in(binary_tree(2))
    single.components_ = single.components_.astype(np.float32)
    for model in (single, hierarchy_model(4)):
        root = export_dict(model, np.array([f"w{j}" for j in range(30)]))
        assert json.loads(json.dumps(root)) == root
    for n_features, n_shown in ((0, 0), (99, 30)):
        for node in nodes_of(export_dict(model, n_features=n_features, order="probable")):
            assert len(node["features"]) == n_shown
    model = stand_in(binary_tree(2), n_columns=3)
    assert len(export_dict(model, ["same", "same", "other"], order="probable")["features"]) == 3


def joined_groups(Z, K):
    groups = [{k} for k in range(K)]
    for first, second, _, size in Z:
        groups.append(groups[int(first)] | groups[int(second)])
        assert len(groups[-1]) == size
    return groups[K:]


@pytest.mark.parametrize("tree", [binary_tree(7), CHAIN, SINGLE], ids=repr)
def test_linkages_have_every_node_as_a_cluster(tree):
    Z, K = to_linkage(stand_in(tree)), len(tree.leaves)
    assert is_valid_linkage(Z)
    assert is_monotonic(Z)
    assert (Z[:, 0] < Z[:, 1]).all()  # as SciPy has them
    assert len(dendrogram(Z, no_plot=True)["leaves"]) == K
    assert leaders(Z, np.ones(K, dtype=np.int32))[0].tolist() == [2 * K - 2]
    below = [set(np.flatnonzero(path)) for path in tree.above.T if path.sum() > 1]
    assert all(group in joined_groups(Z, K) for group in below)


def information(model, groups):
    """Mutual information of groups of clusters and columns, in nats, by a loop over rows."""
    joint = np.zeros((len(groups), model.components_.shape[1]))
    for share, weights, label in zip(
        model.row_distribution_, model.embedding_, model.labels_, strict=True
    ):
        (number,) = (g for g, group in enumerate(groups) if label in group)
        joint[number] += share * weights @ model.components_
    independent = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    return (joint * np.log(joint / independent)).sum()


def test_heights_of_linkages_are_the_information_lost():
    for model in (stand_in(binary_tree(7)), stand_in(SINGLE), hierarchy_model(4, tree="grown")):
        Z, K = to_linkage(model), len(model.tree_.leaves)
        model = SimpleNamespace(**vars(stand_in(model.tree_)) | vars(model))
        model.embedding_ = model.embedding_ * model.tree_.above[model.labels_]
        groups = {k: {k} for k in range(K)}
        before = information(model, [*groups.values()])
        for i, (first, second, height, _) in enumerate(Z):
            groups[K + i] = groups.pop(int(first)) | groups.pop(int(second))
            lost = before - information(model, [*groups.values()])
            is_step = i + 1 < len(Z) and Z[i + 1, 2] == height  # of a node with several children
            assert is_step or lost == pytest.approx(height, rel=1e-3, abs=1e-9)
        n_branching = np.count_nonzero(np.bincount(model.tree_.parents + 1)[1:] > 1)
        assert len(np.unique(Z[:, 2])) == n_branching
    without_rows = stand_in(binary_tree(4), n_rows=0)
    assert is_monotonic(to_linkage(without_rows))


def test_a_linkage_is_a_tree():
    Z = to_linkage(stand_in(binary_tree(6)))
    again = to_linkage(stand_in(explicit_tree(Z[:, :2].astype(int))))
    one, two = (set(map(frozenset, joined_groups(rows, 6))) for rows in (Z, again))
    assert one == two
    assert to_linkage(stand_in(binary_tree(1))).shape == (0, 4)


COUNTS = np.random.default_rng(0).poisson(1.0, (30, 15))
COUNTS[4], COUNTS[:, 6] = 0, 0


@pytest.fixture(scope="module")
def aspects():
    return AspectModel(4, beta=0.9, component_prior=0, random_state=0, tol=1e-3).fit(COUNTS)


def test_arrays_of_pyldavis(aspects):
    arguments = to_pyldavis(aspects, sp.csr_array(COUNTS))
    np.testing.assert_allclose(arguments["topic_term_dists"], aspects.components_, 1e-6, 1e-11)
    assert arguments["topic_term_dists"].min() > 0.9e-12
    mixtures = aspects.embedding_
    np.testing.assert_allclose(arguments["doc_topic_dists"], mixtures, rtol=1e-6)  # sums are exact
    for name, values in to_pyldavis(aspects, skcooc.Dyads(COUNTS)).items():
        np.testing.assert_array_equal(values, arguments[name])
    assert arguments["doc_lengths"].tolist() == COUNTS.sum(axis=1).tolist()
    assert arguments["term_frequency"].tolist() == COUNTS.sum(axis=0).tolist()
    assert arguments["vocab"].tolist() == [f"x{j}" for j in range(15)]
    assert set(map(type, arguments.values())) == {np.ndarray}
    single = AspectModel(4, beta=0.9, tol=0.1, random_state=0).fit(COUNTS.astype(np.float32))
    lda = LatentDirichletAllocation(3, max_iter=2, random_state=0).fit(COUNTS)
    for model, data in ((single, COUNTS), (lda, COUNTS), (hierarchy_model(5), np.ones((3, 30)))):
        arguments = to_pyldavis(model, data)
        for name in ("topic_term_dists", "doc_topic_dists"):
            assert arguments[name].dtype == np.float64
            np.testing.assert_allclose(arguments[name].sum(axis=1), 1, rtol=1e-12)
        assert arguments["doc_topic_dists"].shape == (len(data), len(model.components_))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_mixtures_of_nmf_count_the_sizes_of_its_components():
    nmf = NMF(3, random_state=0).fit(COUNTS)
    nmf.components_ *= np.array([[1], [20], [300]])  # any scale; W is found again
    product = nmf.transform(COUNTS) @ nmf.components_
    expected = product / np.maximum(product.sum(axis=1, keepdims=True), 1e-300)  # a row is empty
    arguments, view = to_pyldavis(nmf, COUNTS), read_view(nmf, COUNTS, None, None, None)
    adata = AnnData(COUNTS.astype(float))
    add_topics(adata, nmf)
    for mixtures, components in (
        (arguments["doc_topic_dists"], arguments["topic_term_dists"]),
        (view.mixtures, view.components),
        (adata.obsm["X_topics"], adata.varm["topics"].T),
    ):
        np.testing.assert_allclose(mixtures @ components, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_page_of_pyldavis(aspects):
    pyLDAvis = pytest.importorskip("pyLDAvis")
    for model in (aspects, AsymmetricClustering(4, hard=True, random_state=0).fit(COUNTS)):
        prepared = pyLDAvis.prepare(**to_pyldavis(model, COUNTS), n_jobs=1, sort_topics=False)
        data = json.loads(prepared.to_json(), parse_constant=pytest.fail)
        assert set(data["tinfo"]["Term"]) <= {f"x{j}" for j in range(15)}
        words = COUNTS.sum(axis=1) @ model.embedding_ / COUNTS.sum()
        np.testing.assert_allclose(np.array(data["mdsDat"]["Freq"]) / 100, words, rtol=1e-6)
        assert "<script" in pyLDAvis.prepared_data_to_html(prepared)


def test_numbers_that_are_names_of_columns_name_topics():
    numbers = 10 * np.arange(len(NOUNS)) + 101
    pairs = skcooc.Dyads(BLOCKS, row_names=ADJECTIVES, column_names=numbers)
    aspects = skcooc.AspectModel(2, beta=0.9, max_iter=2, tol=1, random_state=0).fit(pairs)
    both = skcooc.SymmetricClustering(3, 3, hard=True, random_state=0).fit(pairs)
    average = skcooc.AveragedModels(aspects, n_estimators=2, random_state=0).fit(pairs)
    known = set(map(str, numbers))
    for model in (aspects, both, average.consensus_):
        assert {word for words in describe(model)["features"] for word in words} <= known
        assert {word for words in top_features(model) for word in words} <= known
    for clusters in describe(both)["goes_with"]:
        assert {word for name in clusters for word in name.split(" · ")} <= known
    assert not {word for name in name_topics(aspects) for word in name.split(" · ")} - known
    frame = pd.DataFrame(BLOCKS, index=ADJECTIVES, columns=numbers)
    explore(aspects, frame)
    explore(aspects, pd.DataFrame(BLOCKS))
    refused("other names, or in another order", explore, aspects, frame[numbers[::-1]])


def test_rows_without_tokens_are_rows_of_no_topic():
    mixtures, rows = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]), np.array([0.0, 0.4, 0.6])
    model = SimpleNamespace(
        embedding_=mixtures, row_distribution_=rows, components_=np.full((2, 4), 0.25)
    )
    assert rows_by_topic(model).tolist() == [1, 1]


@pytest.mark.filterwarnings("ignore")
def test_rows_and_columns_without_counts_are_members_of_no_cluster():
    counts = np.pad(BLOCKS, ((0, 2), (0, 3)))
    names = [*ADJECTIVES, "empty row 1", "empty row 2"], [*NOUNS, "gap 1", "gap 2", "gap 3"]
    model = skcooc.SymmetricClustering(3, 3, hard=True, random_state=0).fit(counts)
    rows, columns = (describe(model, names[1], names[0], axis=axis) for axis in ("rows", "columns"))
    assert rows["n_rows"].sum() == len(ADJECTIVES)
    assert columns["n_columns"].sum() == len(NOUNS)
    assert sorted(chain(*columns["features"])) == sorted(NOUNS)
    assert set(chain(*rows["rows"])) <= set(ADJECTIVES)
    assert not [
        name for name in [*rows["name"], *columns["name"]] if "empty" in name or "gap" in name
    ]
    for scale in ("counts", "equal"):
        display = AssociationDisplay.from_estimator(model, None, names[1], names[0], n_features=9)
        display = display.plot(scale=scale)
        for side, expected in ((display.rows, ADJECTIVES), (display.columns, NOUNS)):
            assert sorted(chain(*side.words)) == sorted(expected)
        sizes = np.diff(
            sorted({x for segment in display.lines_.get_segments()[:4] for x in segment[:, 1]})
        )
        if scale == "equal":
            n_rows = sorted(rows["n_rows"])
            np.testing.assert_allclose(np.sort(sizes) / sizes.sum(), np.divide(n_rows, sum(n_rows)))
    blocks = explore(model, counts, feature_names=names[1]).shown["blocks"]
    assert sum(n for n, _ in blocks["row_members"]) == len(ADJECTIVES)
    assert sum(n for n, _ in blocks["column_members"]) == len(NOUNS)


@pytest.mark.filterwarnings("ignore")
def test_rows_without_counts_are_at_no_leaf():
    counts = np.pad(BLOCKS, ((0, 5), (0, 0)))
    model = skcooc.ClusterAbstraction(2, beta=0.5, random_state=0).fit(counts)
    sizes = np.bincount(model.labels_[:9], minlength=2).tolist()
    assert [leaf["n_rows"] for leaf in export_dict(model)["children"]] == sizes
    for n_rows in sizes:
        assert f", {n_rows} row" in export_text(model)
    for shown in (explore(model, counts).shown, explore(model, counts[[*range(9), 9, 10]]).shown):
        leaves = [shown["tree"]["leaves"][str(leaf)] for leaf in model.tree_.leaves]
        assert [leaf["n_rows"] for leaf in leaves] == sizes
        assert [len(leaf["rows"]) for leaf in leaves] == sizes
