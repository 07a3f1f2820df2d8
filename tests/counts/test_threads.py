"""Threads of fits, and of BLAS while there are any; tiles side by side, in order."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from skcooc.counts.passes import pipelined, threads


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
