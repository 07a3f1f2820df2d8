"""Tiles side by side: each after the one above and the one on its left."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from skcooc.counts.pipeline import pipelined


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


def test_ranges_may_run_one_after_the_other():
    done = []
    pipelined(map, lambda *tile: done.append(tile), 2, 2)
    assert done == [(0, 0), (1, 0), (0, 1), (1, 1)]


def test_a_failure_is_raised_and_keeps_nobody_waiting():
    def tile(band, part):
        if (band, part) == (1, 0):
            raise MemoryError("no room")

    with ThreadPoolExecutor(3) as pool, pytest.raises(MemoryError, match="no room"):
        pipelined(pool.map, tile, 5, 3)
