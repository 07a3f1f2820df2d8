"""Threads of fits, and of BLAS while there are any."""

from threadpoolctl import threadpool_info, threadpool_limits

from skcooc.counts.threads import threads


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
