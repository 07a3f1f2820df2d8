"""What scorers for searches share: what of the observations is known, and what is scored."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from skcooc.heldout.scoring import check_rows_known, halves
from skcooc.protocol import CSR, TableLike
from skcooc.tables import Dyads, check_same_table, read_rows

NOTHING_NEW = "X holds no observations to score: the known part has all their columns."


def parted(
    estimator: Any, X: TableLike, observations: Dyads | None, scorer: str
) -> tuple[CSR, CSR]:
    """What is known of the rows, and what is scored, two tables of the same rows.

    Of Dyads, known are those of the observations that are not scored; of new rows, one half.
    ValueError where Dyads are not among the observations, or these are not given.
    """
    if isinstance(X, Dyads):
        return _outside(X, observations, scorer), X.to_csr()
    known, scored = halves(read_rows(estimator, X))
    return known.table, scored.table


def nameless(estimator: Any) -> Any:
    """The estimator without names of columns, which have been compared already."""
    nameless = copy.copy(estimator)
    vars(nameless).pop("feature_names_in_", None)
    return nameless


def _outside(X: Dyads, observations: Dyads | None, scorer: str) -> CSR:
    """How many of the observations given to a scorer are not in X, as a table."""
    if observations is None:
        raise ValueError(
            f"X holds Dyads: give {scorer} all observations that are divided into folds."
        )
    check_same_table(observations.frame, X, scorer)
    all_of_them, scored = (one.like(one.rows, one.columns).to_csr() for one in (observations, X))
    known = all_of_them - scored
    known.eliminate_zeros()
    if known.nnz and known.data.min() < 0:
        raise ValueError(f"X holds observations that {scorer} was not given.")
    check_rows_known(np.diff(known.indptr), X.rows)
    return known
