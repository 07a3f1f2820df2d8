"""Quality of rankings: how far in front the relevant documents of each query are."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from skcooc.protocol import Array, TableLike
from skcooc.tables import as_table, sound


def average_precision_by_query(relevance: TableLike, scores: ArrayLike) -> Array:
    """Average precision of the ranking of all documents, for each query.

    The mean, over the relevant documents, of the share of relevant ones among those down to its
    place: non-interpolated, over the full ranking. Its mean over the queries is the mean average
    precision (MAP).

    Parameters
    ----------
    relevance : array-like, sparse array or matrix of shape (n_queries, n_documents)
        Which documents are relevant: non-zero entries.
    scores : array-like of shape (n_queries, n_documents)
        The higher, the nearer to the top; of equal ones the first document comes first, as in a
        list of results.

    Returns
    -------
    average_precision : (n_queries,) array
        In (0, 1]; NaN for a query without a relevant document, see :func:`numpy.nanmean`.

    Raises
    ------
    ValueError
        Where the shapes differ, or an entry is NaN or infinite.

    See Also
    --------
    sklearn.metrics.average_precision_score : The same for one query, where no scores are equal.

    Examples
    --------
    >>> from skcooc.metrics import average_precision_by_query
    >>> relevance = [[1, 0, 1], [0, 1, 0]]
    >>> scores = [[0.9, 0.5, 0.1], [0.2, 0.3, 0.4]]
    >>> average_precision_by_query(relevance, scores).round(3)
    array([0.833, 0.5  ])
    """
    judged = check_array(sound(as_table(relevance), "relevance"), accept_sparse="csr", dtype=None)
    relevant: Array = (judged.toarray() if sp.issparse(judged) else judged).astype(bool)
    values: Array = check_array(scores, dtype=np.float64)
    if relevant.shape != values.shape:
        raise ValueError(
            f"relevance of shape {relevant.shape} does not match scores of shape {values.shape}"
        )
    ranking = np.argsort(-values, axis=1, kind="stable")
    hits = np.take_along_axis(relevant, ranking, axis=1)
    precision = hits.cumsum(axis=1) / np.arange(1, hits.shape[1] + 1)
    n_relevant = hits.sum(axis=1)
    found = (precision * hits).sum(axis=1)
    return np.divide(found, n_relevant, out=np.full(len(hits), np.nan), where=n_relevant > 0)
