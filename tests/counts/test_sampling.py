import numpy as np
import scipy.sparse as sp

from skcooc.counts import thin
from skcooc.counts.sampling import content_uniforms, draw, merge_draws, row_keys
from skcooc.datasets import make_cooccurrences
from tests.tables import random_table


def test_parts_add_up_and_seeds_differ():
    dtype = np.float32
    X = make_cooccurrences(random_state=0, dtype=dtype).X
    rest, drawn = thin(X, 0.3, seed=1)
    np.testing.assert_array_equal((rest + drawn).toarray(), X.toarray())
    assert (rest.data > 0).all()
    assert (drawn.data > 0).all()
    assert rest.nnz < X.nnz
    assert not any(np.shares_memory(part.indices, X.indices) for part in (rest, drawn))
    assert rest.dtype == drawn.dtype == dtype
    assert (drawn != thin(X, 0.3, seed=2)[1]).nnz > 100


def test_draws_are_binomial():
    for count in (1, 7, 1000):
        X = count * (np.random.default_rng(0).random((3000, 20)) < 0.5).astype(float)
        values = thin(sp.csr_array(X), 0.2, seed=0)[1].toarray()[X > 0]
        assert abs(values.mean() - 0.2 * count) < 4 * np.sqrt(0.16 * count / len(values))
        assert abs(values.var() / (0.16 * count) - 1) < 0.06


def test_a_row_is_divided_by_its_content_alone():
    X = sp.csr_array(make_cooccurrences(random_state=0).X.astype(float))
    order = np.random.default_rng(1).permutation(X.shape[0])[:40]
    drawn, alone = (thin(table, 0.5, seed=3)[1].toarray() for table in (X, X[order]))
    np.testing.assert_array_equal(drawn[order], alone)
    row = np.random.default_rng(0).poisson(1.0, 200)
    other = row + (np.arange(200) == 0)
    drawn = thin(sp.csr_array([row, row, other], dtype=float), 0.5, seed=0)[1].toarray()
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert (drawn[0, 1:] != drawn[2, 1:]).mean() > 0.1
    padded = X.copy()
    padded.data[::3] = 0
    compact = padded.copy()
    compact.eliminate_zeros()
    for mine, its in zip(thin(padded, 0.3, 0), thin(compact, 0.3, 0), strict=True):
        np.testing.assert_array_equal(mine.toarray(), its.toarray())


def test_fractions_and_counts_that_no_float_tells_apart_are_divided_too():
    drawn = thin(sp.csr_array(np.full((500, 2), 2.5)), 0.5, seed=0)[1]
    assert set(np.round(np.unique(drawn.toarray()) / 2.5 * 3, 6)) <= {0.0, 1.0, 2.0, 3.0}
    X = np.array([[1e30, 3.0], [1e25, 0.0], [1e9, 0.0]])
    rest, drawn = (part.toarray() for part in thin(sp.csr_array(X), 0.25, 0))
    np.testing.assert_allclose(drawn[:, 0] / X[:, 0], 0.25, rtol=1e-3)
    np.testing.assert_allclose(rest + drawn, X)
    np.testing.assert_array_equal((rest + drawn)[2], X[2])


def test_no_part_is_empty():
    drawn = thin(sp.csr_array(np.eye(51, 50)), 0.1, seed=0, occupied=True)[1]
    np.testing.assert_array_equal(drawn.sum(axis=1), [1] * 50 + [0])
    for seed in range(20):
        assert thin(sp.csr_array([[1.0, 0.0], [0.0, 1.0]]), 1e-9, seed=seed)[1].sum() >= 1


def test_rows_are_drawn_by_their_content_from_tables_and_from_blocks():
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.poisson(1.0, (40, 12)).astype(float))
    times = rng.integers(0, 4, 40)
    repeated = X[rng.permutation(np.repeat(np.arange(40), times))].astype(np.float32)
    blocks = [repeated[:20], repeated[20:25], repeated[25:]]
    for n_rows in (7, 100):
        expected = draw(X, times.astype(float), n_rows, 5)
        assert expected.rows.shape[0] == min(n_rows, np.count_nonzero(times))
        whole, *parts = (draw(T, np.ones(T.shape[0]), n_rows, 5) for T in (repeated, *blocks))
        for found in (whole, merge_draws(parts, n_rows, 5)):
            np.testing.assert_array_equal(found.rows.toarray(), expected.rows.toarray())
            np.testing.assert_array_equal(found.weights, expected.weights)


def test_all_rows_have_the_same_chance():
    X, weights = sp.csr_array(np.eye(10) + 1), np.arange(10)
    drawn = [draw(X, weights, 3, seed).rows.toarray().argmax(axis=1) for seed in range(2000)]
    shares = np.bincount(np.concatenate(drawn), minlength=10) / 2000
    assert not shares[0]
    np.testing.assert_allclose(shares[1:], 1 / 3, atol=0.05)


def test_uniforms_depend_on_the_values_not_on_their_type():
    found = []
    for dtype in (np.float64, np.float32, np.int64):
        X = random_table(dtype=dtype)
        found.append(content_uniforms(X, 7))
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], found[0])
    assert ((found[0] >= 0) & (found[0] < 1)).all()


def test_blocks_of_any_size_give_the_same_numbers(monkeypatch):
    X = sp.csr_array(np.random.default_rng(0).poisson(0.5, (40, 12)).astype(np.float32))
    X = sp.vstack([X[:0], sp.csr_array((3, 12), dtype=np.float32), X, X[:2] * 0], format="csr")
    whole = content_uniforms(X, 7), row_keys(X)
    for size in (1, 5, 100):
        monkeypatch.setattr("skcooc.counts.sampling.BLOCK", size)
        for one, other in zip(whole, (content_uniforms(X, 7), row_keys(X)), strict=True):
            np.testing.assert_array_equal(one, other)
    assert len(np.unique(whole[0])) > 0.9 * X.nnz
