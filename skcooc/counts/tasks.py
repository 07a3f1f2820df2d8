"""Tasks of a Dask cluster: sent, gathered, added up, and what to do where the cluster fails."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

import dask
from dask.delayed import Delayed, delayed
from distributed import Client, Future, KilledWorker, wait
from distributed.comm import CommClosedError

from skcooc.protocol import T

PATIENCE = 2.0  # seconds after which a client is asked whether it is still there


def begun(client: Client, tasks: Iterable[Delayed]) -> list[Future]:
    """Send tasks to the scheduler, which is meant to keep the parameters that they have."""
    large = {"distributed.admin.large-graph-warning-threshold": 2**62}
    with explained(), dask.config.set(large):
        check_running(client)
        futures: list[Future] = client.compute(list(tasks))
        return futures


def gathered(client: Client, futures: Sequence[Future]) -> list[Any]:
    """Their results. A client that has lost its scheduler would wait for them for ever."""
    with explained():
        while True:
            try:
                wait(futures, timeout=PATIENCE)
                results: list[Any] = client.gather(futures)
                return results
            except TimeoutError:
                check_running(client)


@contextmanager
def explained() -> Iterator[None]:
    """Say what to do where the cluster fails beyond what it can repair."""
    try:
        yield
    except KilledWorker as error:
        raise RuntimeError(
            "Workers died again and again over one block of X, most likely since they were out of "
            "memory. Give smaller blocks, as with X.rechunk, or more workers, or workers a larger "
            f"memory_limit. The estimator is as it was. Dask says: {error}"
        ) from error
    except (CancelledError, CommClosedError) as error:
        raise ConnectionError(
            "The connection to the scheduler is lost, or it has lost what X was made of. Start a "
            "client and fit again; with a checkpoint (skcooc.callbacks.Checkpoint) and "
            "warm_start=True the fit goes on from there. The estimator is as it was."
        ) from error


def check_running(client: Client) -> None:
    """Raise CommClosedError where a client has ended."""
    if client.status != "running":
        raise CommClosedError(f"the client is {client.status}")


def task(function: Callable[..., object]) -> Any:
    """A function whose calls are tasks, each made anew."""
    return delayed(function, pure=False, traverse=False)


def once(value: object) -> Delayed:
    """A value that several tasks need, as a task of its own."""
    return delayed(_same, pure=False)(value)


def _same(value: T) -> T:
    return value


def call(function: Delayed, *arguments: object) -> Any:
    """The task function(*arguments), of a function that is a task, too; it returns a pair."""
    return delayed(operator.call, pure=False, nout=2)(function, *arguments)
