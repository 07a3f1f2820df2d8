"""Words that all promises are made of."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypeVar, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
CSR: TypeAlias = sp.csr_array  # of non-negative floats, checked
TableLike: TypeAlias = Any  # what a user gives: array-like, sparse, DataFrame, Dyads, not checked
RandomState: TypeAlias = int | np.random.RandomState | None

Rows: TypeAlias = Array  # (n, k): the state of the rows: distributions, or expected counts
Params: TypeAlias = Any  # NamedTuple of arrays; `weights` (k,) are those of an empty row
Statistics: TypeAlias = Any  # NamedTuple of sums over rows; its `free_energy` is in nats

T = TypeVar("T")
P = TypeVar("P")  # the parameters of a model
S = TypeVar("S")  # its statistics
S_co = TypeVar("S_co", covariant=True)
A = TypeVar("A")

# What equations or parameters may ask of a table, and a table may have on offer:
Capability = Literal[
    "divide",  # observations that are held out, of all rows
    "coarsen",  # rows that are tied in groups
    "exchange",  # moves of objects that are rows and columns at once
    "alternation",  # steps of the rows at fixed columns, and of the columns
    "left_out",  # posteriors of observations, or rows, that leave themselves out
    "mixture",  # products of ratios with factors
    "replaced",  # other counts in the place of its own
    "paths",  # mixtures along the paths of a tree
    "all rows",  # all of them in one place, for the start
    "each step",  # all of them in every step
    "row states",  # states of the rows, kept from step to step
    "triples",  # a third index of every observation
    "weights",  # of the rows
]
EVERYTHING: frozenset[Capability] = frozenset(get_args(Capability))


def refuse_anndata(given: object, name: str, instead: str) -> None:
    """TypeError where an AnnData is given, which numpy takes apart cell by cell, for minutes."""
    kinds = ((kind.__module__.partition(".")[0], kind.__name__) for kind in type(given).__mro__)
    if ("anndata", "AnnData") in kinds:  # and not a view of its arrays
        kind = type(given).__name__
        raise TypeError(f"{name} is an {kind}, which holds more than {instead}")
