"""Texts, or counts of their words, become checked tables of documents and of queries."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone

from skcooc.protocol import CSR, TableLike
from skcooc.tables import TextsError, check_table

N_NAMED = 5  # queries that a warning names


class Reading(Protocol):
    """What is asked of a retriever."""

    vectorizer: Any
    vectorizer_: Any  # fitted


def counts_of(self: Reading, X: TableLike | Sequence[str], *, reset: bool) -> CSR:
    """Checked counts: those given, or of the words of texts."""
    counts = X if self.vectorizer is None else _counted(self, X, reset=reset)
    try:
        table = check_table(self, counts, reset=reset)
    except TextsError as error:
        raise ValueError(
            "X holds texts: give AspectRetriever(vectorizer=CountVectorizer()), or counts."
        ) from error
    if (table.data % 1).any():
        warnings.warn(
            "X has values that are no whole numbers, as tf-idf has. AspectRetriever takes "
            "counts, and weighs words by itself.",
            stacklevel=3,
        )
    return table


def _counted(self: Reading, X: TableLike | Sequence[str], *, reset: bool) -> TableLike:
    """Counts of the words of texts."""
    shape = getattr(X, "shape", ())
    if len(shape) == 2:
        raise ValueError(
            f"X is a table of shape {shape}, but vectorizer={self.vectorizer} takes texts: "
            "give texts, or vectorizer=None."
        )
    if not reset:
        return self.vectorizer_.transform(X)
    self.vectorizer_ = clone(self.vectorizer)
    return self.vectorizer_.fit_transform(X)


def queries_of(self: Reading, X: TableLike | Sequence[str]) -> CSR:
    """Checked counts of queries; a warning names those without any word."""
    table = counts_of(self, X, reset=False)
    unknown = np.flatnonzero(table @ np.ones(table.shape[1], dtype=table.dtype) == 0).tolist()
    if unknown:
        named = ", ".join(map(str, unknown[:N_NAMED])) + ", ..." * (len(unknown) > N_NAMED)
        warnings.warn(
            f"Queries without any known word, which are like no document: {len(unknown)} of "
            f"{table.shape[0]}, at {named}.",
            stacklevel=3,
        )
    return table
