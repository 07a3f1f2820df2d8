import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist

from skcooc.datasets import make_cooccurrences
from skcooc.hierarchy import binary_tree

KINDS = ["aspects", "clusters", "coclusters", "hierarchy"]


@pytest.mark.parametrize("kind", KINDS)
def test_shapes_types_and_sums_of_counts_that_follow_the_planted_model(kind):
    data = make_cooccurrences(30, 40, 4, n_observations=2000, kind=kind, random_state=0)
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
    options = {"n_observations": 200_000, "concentration": 1.0, "random_state": 1}
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
    one_cell = make_cooccurrences(1, 1, 1, n_observations=7, kind=kind, random_state=0)
    assert one_cell.X.toarray().tolist() == [[7]]
    empty = make_cooccurrences(2, 3, 1, n_observations=0, kind=kind, random_state=0)
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
        make_cooccurrences(1, 1, 1, n_observations=128, dtype=np.int8)
    assert make_cooccurrences(1, 1, 1, n_observations=127, dtype=np.int8).X.sum() == 127
    large = make_cooccurrences(200_000, 300_000, 3, n_observations=50_000, random_state=0)
    assert large.X.sum() == 50_000  # and stays sparse


def test_bad_parameters():
    for parameters, message in (
        ({"n_rows": 0}, "The 'n_rows' parameter of make_cooccurrences must be an int"),
        ({"n_components": 2.5}, "The 'n_components' parameter of make_cooccurrences must be"),
        ({"n_observations": -1}, "The 'n_observations' parameter of make_cooccurrences must be"),
        ({"kind": "blobs"}, "The 'kind' parameter of make_cooccurrences must be a str among"),
        ({"concentration": 0}, "The 'concentration' parameter of make_cooccurrences must be"),
        ({"random_state": "x"}, "The 'random_state' parameter of make_cooccurrences must be"),
        ({"kind": "clusters", "n_rows": 4}, "n_components=5 should be <= n_rows=4"),
        ({"kind": "hierarchy", "n_rows": 4}, "n_components=5 should be <= n_rows=4"),
        ({"kind": "coclusters", "n_columns": 4}, "n_column_clusters=5 should be <= n_columns=4"),
    ):
        with pytest.raises(ValueError, match=message):
            make_cooccurrences(**parameters)
