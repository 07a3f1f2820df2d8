from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist

from benchmarks import corpora
from skcooc.datasets import make_cooccurrences
from skcooc.hierarchy import binary_tree
from tests.data import requires_data
from tests.tables import refused

KINDS = ["aspects", "clusters", "coclusters", "hierarchy"]


@pytest.mark.parametrize("kind", KINDS)
def test_shapes_types_and_sums_of_counts_that_follow_the_planted_model(kind):
    data = make_cooccurrences(30, 40, 4, n_tokens=2000, kind=kind, random_state=0)
    assert isinstance(data.X, sp.csr_array)
    assert data.X.dtype == np.int64
    assert data.X.shape == (30, 40)
    assert data.X.sum() == 2000
    assert data.X.has_canonical_format
    assert data.X.data.min() > 0
    n_components = 7 if kind == "hierarchy" else 4
    assert data.mixtures.shape == (30, n_components)
    assert data.components.shape == (n_components, 40)
    np.testing.assert_allclose(data.mixtures.sum(axis=1), 1)
    np.testing.assert_allclose(data.components.sum(axis=1), 1)
    assert data.labels.shape == (30,)
    assert data.labels.dtype == np.int64
    assert (data.tree is not None) == (kind == "hierarchy")
    assert (data.column_labels is not None) == (kind == "coclusters")
    assert (data.blocks is not None) == (kind == "coclusters")
    # Pearson's chi-square over the cells stays within five standard deviations.
    options = {"n_tokens": 200_000, "concentration": 1.0, "random_state": 1}
    data = make_cooccurrences(6, 8, 3, kind=kind, **options)
    P = data.mixtures @ data.components / 6
    expected = 200_000 * P
    chi2 = ((data.X.toarray() - expected) ** 2 / expected).sum()
    degrees = P.size - 1
    assert abs(chi2 - degrees) < 5 * np.sqrt(2 * degrees)


def test_clusters_are_one_hot_and_balanced_with_block_structure():
    for kind in ("clusters", "coclusters"):
        data = make_cooccurrences(32, 40, 5, kind=kind, random_state=0)
        np.testing.assert_array_equal(data.mixtures, np.eye(5)[data.labels])
        assert sorted(np.bincount(data.labels)) == [6, 6, 6, 7, 7]
    data = make_cooccurrences(30, 40, 4, random_state=0)
    np.testing.assert_array_equal(data.labels, data.mixtures.argmax(axis=1))
    data = make_cooccurrences(
        30, 50, 4, kind="coclusters", n_column_clusters=6, concentration=1.0, random_state=0
    )
    assert data.blocks.shape == (4, 6)
    assert sorted(np.bincount(data.column_labels)) == [8, 8, 8, 8, 9, 9]
    np.testing.assert_allclose(data.components @ np.eye(6)[data.column_labels], data.blocks)
    # Within a column cluster the columns are in the same proportion for all row clusters.
    ratio = data.components / data.blocks[:, data.column_labels]
    np.testing.assert_allclose(ratio, np.broadcast_to(ratio[0], ratio.shape))
    np.testing.assert_array_equal(data.blocks.argmax(axis=1), np.arange(4))
    data = make_cooccurrences(30, 50, 5, kind="coclusters", n_column_clusters=2, random_state=0)
    np.testing.assert_array_equal(data.blocks.argmax(axis=1), [0, 1, 0, 1, 0])


@pytest.mark.parametrize("n_components", [1, 5])
def test_hierarchy_uses_the_nodes_on_the_path_of_a_row_equally(n_components):
    data = make_cooccurrences(26, 40, n_components, kind="hierarchy", random_state=0)
    tree, sizes = data.tree, np.bincount(data.labels)
    np.testing.assert_array_equal(tree.parents, binary_tree(n_components).parents)
    assert len(sizes) == n_components
    assert sizes.max() - sizes.min() <= 1
    for mixture, label in zip(data.mixtures, data.labels, strict=True):
        node = tree.leaves[label]
        expected = np.zeros(tree.n_nodes)
        while node >= 0:
            expected[node] = 1 / (tree.depths[tree.leaves[label]] + 1)
            node = tree.parents[node]
        np.testing.assert_allclose(mixture, expected)


def test_small_and_large_concentration():
    far, near = (
        make_cooccurrences(10, 2000, kind="hierarchy", concentration=c, random_state=0).components
        for c in (0.01, 10.0)
    )
    assert pdist(far, "cityblock").min() / 2 > 0.9
    assert pdist(near, "cityblock").max() / 2 < 0.3
    peaked, flat = (make_cooccurrences(concentration=c, random_state=0) for c in (0.01, 100.0))
    assert peaked.mixtures.max(axis=1).mean() > 0.9
    assert flat.mixtures.max(axis=1).mean() < 0.3


@pytest.mark.parametrize("kind", KINDS)
def test_random_state_and_extremes(kind):
    a, b, c = (make_cooccurrences(kind=kind, random_state=seed) for seed in (3, 3, 4))
    assert (a.X != b.X).nnz == 0
    np.testing.assert_array_equal(a.components, b.components)
    assert (a.X != c.X).nnz > 0
    rng = np.random.RandomState(3)
    d, e = (make_cooccurrences(kind=kind, random_state=rng) for _ in range(2))
    assert (d.X != a.X).nnz == 0
    assert (d.X != e.X).nnz > 0
    one_cell = make_cooccurrences(1, 1, 1, n_tokens=7, kind=kind, random_state=0)
    assert one_cell.X.toarray().tolist() == [[7]]
    empty = make_cooccurrences(2, 3, 1, n_tokens=0, kind=kind, random_state=0)
    assert empty.X.nnz == 0
    for concentration in (1e-6, 1e6):
        data = make_cooccurrences(kind=kind, concentration=concentration, random_state=0)
        assert data.X.sum() == 10_000
        assert np.isfinite(data.mixtures).all()
        assert np.isfinite(data.components).all()


def test_dtypes_of_counts_and_of_indices_and_large_tables():
    for dtype in (np.int64, np.float32, np.float64, np.int32):
        X = make_cooccurrences(dtype=dtype, random_state=0).X
        assert X.dtype == dtype
        assert X.sum() == 10_000
        assert X.indices.dtype == X.indptr.dtype == np.int32  # those that scikit-learn takes
    with pytest.raises(ValueError, match="does not fit into dtype=int8"):
        make_cooccurrences(1, 1, 1, n_tokens=128, dtype=np.int8)
    assert make_cooccurrences(1, 1, 1, n_tokens=127, dtype=np.int8).X.sum() == 127
    large = make_cooccurrences(200_000, 300_000, 3, n_tokens=50_000, random_state=0)
    assert large.X.sum() == 50_000  # and stays sparse


def test_bad_parameters():
    for parameters, message in (
        ({"n_rows": 0}, "The 'n_rows' parameter of make_cooccurrences must be an int"),
        ({"n_components": 2.5}, "The 'n_components' parameter of make_cooccurrences must be"),
        ({"n_tokens": -1}, "The 'n_tokens' parameter of make_cooccurrences must be"),
        ({"kind": "blobs"}, "The 'kind' parameter of make_cooccurrences must be a str among"),
        ({"concentration": 0}, "The 'concentration' parameter of make_cooccurrences must be"),
        ({"random_state": "x"}, "The 'random_state' parameter of make_cooccurrences must be"),
        ({"kind": "clusters", "n_rows": 4}, "n_components=5 should be <= n_rows=4"),
        ({"kind": "hierarchy", "n_rows": 4}, "n_components=5 should be <= n_rows=4"),
        ({"kind": "coclusters", "n_columns": 4}, "n_column_clusters=5 should be <= n_columns=4"),
    ):
        refused(message, make_cooccurrences, **parameters)


corpus_of = cache(lambda name: getattr(corpora, name)())
PAST, NEXT = slice(-1), slice(1, None)
NEWS = {f"rec.{name}": 1000 for name in ("autos", "motorcycles", "sport.baseball", "sport.hockey")}
REUTERS = {"acq": 2126, "grain": 494, "interest": 221, "money-fx": 432, "ship": 243}

STEMMED = {"cranfield", "cranfield_and_neurips", "newsgroups4", "reuters5"}


@requires_data
@pytest.mark.parametrize(
    ("name", "shape", "total", "nnz", "classes"),
    [
        ("cranfield", (1400, 1728), 110_940, 72_352, None),
        ("classic3", (3891, 4303), 256_348, None, [1033, 1460, 1398]),
        ("brown_pairs", (6054, 6961), 45_483, 33_645, None),
        ("newsgroups20", (19_997, 29_954), 2_508_129, 1_721_764, [1000] * 15 + [997] + [1000] * 4),
        ("bible", (12_842, 12_842), 913_309, 142_028, None),
        ("reuters5", (3516, 3824), 306_729, 188_472, REUTERS),
        ("newsgroups4", (4000, 7675), 403_019, 279_879, NEWS),
        ("cranfield_and_neurips", (7759, 1728), 472_270, None, [1400, 6359]),
        (["cluster"], (157, 491), 10_442, 7038, None),
        (["neural", "network"], (855, 1557), 74_111, 51_884, None),
    ],
)
def test_documented_figures(name, shape, total, nnz, classes):
    """Of corpora by their names, or of abstracts by words of their titles."""
    if isinstance(name, list) or name in STEMMED:
        pytest.importorskip("snowballstemmer")
    words = name if isinstance(name, list) else []
    X, rows, labels, columns = corpora.neurips(words) if words else corpus_of(name)
    assert X.format == "csr"
    assert X.shape == shape
    assert X.sum() == total
    assert nnz is None or X.nnz == nnz
    assert columns.shape == (shape[1],)
    assert rows is None or rows.shape == (shape[0],)
    found = None
    if labels is not None:
        found = dict(zip(*np.unique(labels, return_counts=True), strict=True))
    assert (list(found.values()) if isinstance(classes, list) else found) == classes
    if isinstance(classes, dict):
        assert X.sum(axis=1).min() > 0
        assert len(set(rows)) == shape[0]
    if words:
        assert (X > 0).sum(axis=0).min() == 5
        assert all(any(word in title.lower() for word in words) for title in rows)
    if name == "cranfield":
        p = X.sum(axis=0) / X.sum()
        assert np.exp(-(p * np.log(p)).sum()) == pytest.approx(684.6, abs=0.05)
        assert rows[X.sum(axis=1) == 0].tolist() == [471, 995]


@requires_data
def test_brown_keeps_null_and_bible_rows_are_the_preceding_words():
    corpus = corpus_of("brown_pairs")
    assert "null" in corpus.rows
    assert "" not in corpus.rows
    X, rows, _, columns = corpus_of("bible")
    index = {word: i for i, word in enumerate(columns)}
    assert X[index["in"], index["the"]] > X[index["the"], index["in"]]
    assert rows is columns
    books = corpora.bible_text()
    first, second = (np.concatenate([words[some] for words in books]) for some in (PAST, NEXT))
    assert len(books) == 66
    assert abs(X - sp.csr_array((np.ones(len(first)), (first, second)), shape=X.shape)).sum() == 0


NAMES = "cranfield classic3 brown_pairs newsgroups4 newsgroups20 reuters5 bible bible_text textures"


def test_tokens_and_a_missing_folder(tmp_path, monkeypatch):
    found = corpora.TOKEN.findall("boundary-layer's flow - 3-d re2")
    assert found == ["boundary-layer's", "flow", "d", "re"]
    monkeypatch.setenv("SKCOOC_DATA", str(tmp_path))
    assert corpora.folder() == tmp_path
    assert not corpora.available()
    for name in NAMES.split():
        refused("set SKCOOC_DATA", getattr(corpora, name), error=FileNotFoundError)
    refused("set SKCOOC_DATA", corpora.neurips, ["cluster"], error=FileNotFoundError)
