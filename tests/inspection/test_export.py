"""Models for other tools: text, dictionaries, SciPy's dendrograms, pyLDAvis, topicwizard."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.cluster.hierarchy import dendrogram, is_monotonic, is_valid_linkage, leaders
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer

from skcooc import AspectModel, AsymmetricClustering, inspection
from skcooc.hierarchy import Tree, binary_tree, division, explicit_tree
from skcooc.inspection import export, export_dict, export_text, to_linkage, to_pyldavis
from tests.inspection.planted import EXPLICIT, hierarchy_model, stand_in
from tests.plotting.test_hierarchy import SPLITS

TREES = (1,), (5,), (5, 40, 30, EXPLICIT)
CHAIN = Tree(np.array([-1, 0, 0, 0, 1, 1, 4, 4]))  # three children, and leaves at three depths
SINGLE = Tree(np.array([-1, 0, 1, 1, 2]))  # nodes with a single child
TEXTS = ["tea cup milk", "goal ball net", "milk sugar tea", "ball team goal"] * 10


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
    assert len(dendrogram(Z, no_plot=True)["leaves"]) == K
    assert leaders(Z, np.ones(K, dtype=np.int32))[0].tolist() == [2 * K - 2]
    below = [set(np.flatnonzero(path)) for path in tree.above.T if path.sum() > 1]
    assert all(group in joined_groups(Z, K) for group in below)


def test_heights_of_linkages_are_levels_or_temperatures(monkeypatch):
    assert to_linkage(stand_in(CHAIN))[:, 2].tolist() == [1, 2, 3, 3]
    tree, _, betas = division(SPLITS)
    Z = to_linkage(stand_in(tree, splits_=SPLITS))
    np.testing.assert_allclose(np.unique(Z[:, 2]), np.unique(1 / betas[np.isfinite(betas)]))
    assert is_monotonic(Z)
    Z = to_linkage(stand_in(binary_tree(6)))
    again = to_linkage(stand_in(explicit_tree(Z[:, :2].astype(int))))
    one, two = (set(map(frozenset, joined_groups(rows, 6))) for rows in (Z, again))
    assert one == two
    assert to_linkage(stand_in(binary_tree(1))).shape == (0, 4)
    # A broken twin: heights the wrong way round.
    monkeypatch.setattr(export, "_levels", lambda tree: -1.0 * tree.depths[::-1])
    with pytest.raises(KeyError):
        to_linkage(stand_in(CHAIN))


X = np.random.default_rng(0).poisson(1.0, (30, 15))
X[4], X[:, 6] = 0, 0


@pytest.fixture(scope="module")
def aspects():
    return AspectModel(4, beta=0.9, component_prior=0, random_state=0, tol=1e-3).fit(X)


def test_arrays_of_pyldavis(aspects):
    arguments = to_pyldavis(aspects, sp.csr_array(X))
    np.testing.assert_allclose(arguments["topic_term_dists"], aspects.components_, atol=1e-11)
    assert arguments["topic_term_dists"].min() > 0.9e-12
    np.testing.assert_allclose(arguments["doc_topic_dists"], aspects.transform(X))
    assert arguments["doc_lengths"].tolist() == X.sum(axis=1).tolist()
    assert arguments["term_frequency"].tolist() == X.sum(axis=0).tolist()
    assert arguments["vocab"].tolist() == [f"x{j}" for j in range(15)]
    assert set(map(type, arguments.values())) == {np.ndarray}
    single = AspectModel(4, beta=0.9, tol=0.1, random_state=0).fit(X.astype(np.float32))
    lda = LatentDirichletAllocation(3, max_iter=2, random_state=0).fit(X)
    for model, data in ((single, X), (lda, X), (hierarchy_model(5), np.ones((3, 30)))):
        arguments = to_pyldavis(model, data)
        for name in ("topic_term_dists", "doc_topic_dists"):
            assert arguments[name].dtype == np.float64
            np.testing.assert_allclose(arguments[name].sum(axis=1), 1, rtol=1e-12)
        assert arguments["doc_topic_dists"].shape == (len(data), len(model.components_))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_page_of_pyldavis(aspects):
    pyLDAvis = pytest.importorskip("pyLDAvis")
    for model in (aspects, AsymmetricClustering(4, hard=True, random_state=0).fit(X)):
        prepared = pyLDAvis.prepare(**to_pyldavis(model, X), n_jobs=1, sort_topics=False)
        data = json.loads(prepared.to_json(), parse_constant=pytest.fail)
        assert set(data["tinfo"]["Term"]) <= {f"x{j}" for j in range(15)}
        words = X.sum(axis=1) @ model.transform(X) / X.sum()
        np.testing.assert_allclose(np.array(data["mdsDat"]["Freq"]) / 100, words, rtol=1e-6)
        assert "<script" in pyLDAvis.prepared_data_to_html(prepared)


@pytest.mark.filterwarnings("ignore")
def test_the_pictures_of_topicwizard():
    figures = pytest.importorskip("topicwizard.figures", reason="topic-wizard is no dependency")
    from topicwizard.pipeline import make_topic_pipeline

    model = AspectModel(3, beta=0.9, random_state=0)
    data = make_topic_pipeline(CountVectorizer(), model).fit(TEXTS).prepare_topic_data(TEXTS)
    np.testing.assert_array_equal(data["topic_term_matrix"], model.components_)
    assert data["document_topic_matrix"].shape == (len(TEXTS), 3)
    assert len(figures.topic_barcharts(data).data) == 6
