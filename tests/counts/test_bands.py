import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

from skcooc.counts import CSRCounts, passes
from skcooc.counts.passes import Bands, pipelined, threads
from tests.tables import random_table


@pytest.fixture(params=[1, 7, 1000])
def height(request, monkeypatch):
    monkeypatch.setattr(passes, "MIN_BAND_HEIGHT", request.param)
    monkeypatch.setattr(passes, "MAX_BAND_HEIGHT", request.param)
    return request.param


def gappy_table(dtype=np.float32):
    """With empty rows and columns, among them whole bands, and unsorted indices."""
    X = random_table(40, 30, dtype=dtype).toarray()
    X[14:23], X[39], X[:, 4], X[:, 29] = 0, 0, 0, 0
    X = sp.csr_array(X)
    for i in range(40):
        row = slice(X.indptr[i], X.indptr[i + 1])
        X.indices[row], X.data[row] = X.indices[row][::-1].copy(), X.data[row][::-1].copy()
    return X


def test_every_entry_is_in_the_run_of_its_band_and_column(height):
    X = gappy_table()
    X.data[::5] = 0.25 + 100 * np.arange(len(X.data[::5]))  # no codes
    view = Bands.of_matrix(X)
    found, counts, p = np.zeros(X.shape), view.codes.astype(view.others.dtype), 0
    counts[view.codes == 0] = view.others
    for band in range(len(view)):
        first, last = view.limits[band : band + 2, 0]
        assert (np.diff(view.columns[first:last]) > 0).all()
        assert p == view.limits[band, 1]
        for run in range(first, last):
            entries = slice(p, p := p + int(view.lengths[run]))
            rows = band * view.height + view.rows[entries].astype(int)
            np.add.at(found, (rows, view.columns[run]), counts[entries])
    assert view.height == height
    np.testing.assert_array_equal(found, X.toarray())


def test_counts_of_texts_take_a_byte_and_no_others():
    view = Bands.of_matrix(sp.csr_array(np.arange(256.0).reshape(2, 128)))
    assert view.codes.dtype == np.uint8
    assert view.others.size == 0
    arrays = view.rows, view.codes, view.columns, view.lengths
    assert sum(array.nbytes for array in arrays) == 3 * 255 + 6 * 128


@pytest.mark.parametrize("n_components", [3, 20, 260])  # of which the last exceed the registers
def test_the_passes_over_several_bands_equal_dense_arithmetic(n_components, height):
    rng = np.random.default_rng(0)
    for n_ranges, weighted, others in (
        (1, False, 3),
        (3, True, None),
        (3, False, 1),
        (1, True, 1),
        (3, True, 3),
    ):
        X = gappy_table(np.float64)
        if others:
            X.data[::others] = 300.5 + np.arange(len(X.data[::others]))
        W = rng.uniform(0.5, 2, 40) if weighted else np.ones(40)
        A, B = (rng.random((size, n_components)) for size in X.shape)
        A[0] = 0
        counts = CSRCounts(X, W if weighted else None)
        counts.n_ranges_for = lambda work, n_ranges=n_ranges: n_ranges
        mixture, cells, n = counts.mixture(A, B), A @ B.T, X.toarray()
        n[0] = 0  # every component excludes this row
        cells[0] = 1
        np.testing.assert_allclose(mixture.rows, (n / cells) @ B)
        np.testing.assert_allclose(mixture.columns, (W[:, None] * n / cells).T @ A)
        np.testing.assert_allclose(mixture.log_likelihood, (W[:, None] * n * np.log(cells)).sum())
        np.testing.assert_allclose(counts.tdot(A), n.T @ (W[:, None] * A), atol=1e-14)
        np.testing.assert_array_equal(counts.as_new().mixture(A, B).rows, mixture.rows)


def test_products_do_not_depend_on_threads(height):
    X, rng = gappy_table(np.float64), np.random.default_rng(0)
    for n_components in (1, 260):
        A, B = (rng.random((size, n_components)) for size in X.shape)
        with ThreadPoolExecutor(3) as pool:
            alone, threads = CSRCounts(X), CSRCounts(X, n_threads=3, map=pool.map)
            alone.n_ranges_for, threads.n_ranges_for = lambda work: 1, lambda work: 3
            for one, three in zip(alone.mixture(A, B), threads.mixture(A, B), strict=True):
                np.testing.assert_array_equal(one, three)
            np.testing.assert_array_equal(alone.tdot(A), threads.tdot(A))


def test_runs_may_be_cut_and_bands_parted(height, monkeypatch):
    X, D = gappy_table(np.float64), np.random.default_rng(0).random((40, 3))
    X.data[::3] = 0.5
    monkeypatch.setattr(passes, "MAX_RUN", 2)
    view = Bands.of_matrix(X)
    assert view.lengths.max() <= 2
    np.testing.assert_array_equal(view.to_csr().toarray(), X.toarray())
    products = np.zeros((30, 3))
    view.add_columns(view.tiles(1), D, products)
    np.testing.assert_allclose(products, X.toarray().T @ D, atol=1e-14)
    for first, last in {(0, 1), (len(view) // 2, len(view))}:
        rows, part = slice(first * height, last * height), view.part(first, last)
        np.testing.assert_array_equal(part.to_csr().toarray(), X.toarray()[rows])
        products = np.zeros((30, 3))
        part.add_columns(part.tiles(1), D[rows], products)
        np.testing.assert_allclose(products, X.toarray()[rows].T @ D[rows], atol=1e-14)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_every_tile_comes_after_its_neighbours(n_threads):
    done = set()

    def tile(band, part):
        assert not band or (band - 1, part) in done
        assert not part or (band, part - 1) in done
        time.sleep(1e-4 * ((band + part) % 2))  # the threads would overtake one another
        done.add((band, part))

    with ThreadPoolExecutor(n_threads) as pool:
        pipelined(pool.map, tile, 6, 4)
    assert len(done) == 24
    one_by_one = []
    pipelined(map, lambda *tile: one_by_one.append(tile), 2, 2)
    assert one_by_one == [(0, 0), (1, 0), (0, 1), (1, 1)]


def test_a_failure_is_raised_and_keeps_nobody_waiting():
    def tile(band, part):
        if (band, part) == (1, 0):
            raise MemoryError("no room")

    with ThreadPoolExecutor(3) as pool, pytest.raises(MemoryError, match="no room"):
        pipelined(pool.map, tile, 5, 3)


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_blas_has_one_thread_until_the_last_of_concurrent_fits_has_ended():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        first, second = threads(1), threads(2)
        first.__enter__()
        second.__enter__()
        assert blas_threads() == {1}
        first.__exit__(None, None, None)
        assert blas_threads() == {1}  # though the one that came first has left
        second.__exit__(None, None, None)
        assert blas_threads() == before


def test_threads_map_in_order():
    for n in (1, 3):
        with threads(n) as run:
            assert list(run(abs, [-3, 2, -1])) == [3, 2, 1]
