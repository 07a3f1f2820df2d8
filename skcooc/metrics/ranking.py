"""Quality of rankings: relevant documents of queries, recommended items of rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from skcooc.metrics import validation
from skcooc.metrics.validation import NOTHING_NEW
from skcooc.protocol import Array, TableLike
from skcooc.protocol.decorators import validated
from skcooc.protocol.scikit_learn import Interval, StrOptions
from skcooc.tables import Dyads, as_table, check_index, check_sparse_structure, find_names


def average_precision_by_query(relevance: TableLike, scores: ArrayLike) -> Array:
    """Average precision of the ranking of all documents, for each query.

    The mean, over the relevant documents, of the precision at the rank of each, not interpolated.
    Its mean over the queries is the mean average precision (MAP).

    Parameters
    ----------
    relevance : array-like, sparse array or matrix of shape (n_queries, n_documents)
        Which documents are relevant: non-zero entries.
    scores : array-like of shape (n_queries, n_documents)
        Documents are ranked by decreasing score; ties are broken by their order.

    Returns
    -------
    average_precision : (n_queries,) array
        In (0, 1]; NaN for a query without a relevant document, see :func:`numpy.nanmean`.

    Examples
    --------
    >>> from skcooc.metrics import average_precision_by_query
    >>> relevance = [[1, 0, 1], [0, 1, 0]]
    >>> scores = [[0.9, 0.5, 0.1], [0.2, 0.3, 0.4]]
    >>> average_precision_by_query(relevance, scores).round(3)
    array([0.833, 0.5  ])
    """
    check_index(relevance, scores=scores)
    validation.check_column_order(relevance, scores=scores)
    table = check_sparse_structure(as_table(relevance), "relevance")
    judged = check_array(table, accept_sparse="csr", dtype=None)
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
    total = (precision * hits).sum(axis=1)
    return np.divide(total, n_relevant, out=np.full(len(hits), np.nan), where=n_relevant > 0)


def recall_at_k(X: TableLike, items: ArrayLike, k: int = 10) -> float:
    """Mean share of the held-out items of a row among the first k recommended.

    The mean is over the rows with held-out items. Each item counts once. Rows with more than k
    items cannot reach one; some authors divide by k instead.

    Parameters
    ----------
    X : array-like, sparse array or matrix of shape (n, M), or Dyads
        Held-out tokens: non-zero entries, without known items of the row, which are not
        recommended.
    items : array-like of shape (n, n_items), n_items >= k
        Recommended items of each row, the best first, as :meth:`skcooc.AspectModel.recommend` or
        another library returns them. Positions of columns, or names if X is Dyads with names;
        -1 and None are no items.
    k : int, default=10
        Number of items that count.

    Returns
    -------
    recall : float
        In [0, 1].

    See Also
    --------
    ndcg_at_k : The same, with more weight on the first items.

    References
    ----------
    J. L. Herlocker, J. A. Konstan, L. G. Terveen and J. T. Riedl, Evaluating collaborative
    filtering recommender systems, ACM Transactions on Information Systems 22, 5-53, 2004.

    Examples
    --------
    >>> from skcooc.metrics import recall_at_k
    >>> recall_at_k([[1, 1, 0, 0], [0, 0, 0, 1]], [[0, 2], [3, 1]], k=2)
    0.75
    """
    hits, sizes = _hits(X, items, k)
    return float((hits.sum(axis=1)[sizes > 0] / sizes[sizes > 0]).mean())


def ndcg_at_k(X: TableLike, items: ArrayLike, k: int = 10) -> float:
    """Mean normalised discounted cumulative gain of the first k items recommended.

        DCG_i = sum_r [r-th item is held out] / log2(r + 1),   r = 1..k

    divided by the DCG of the best ranking, which has all held-out items first. Unlike recall it
    depends on the order. The mean is over the rows with held-out items; each item counts once.

    Parameters
    ----------
    X, items, k
        As in `recall_at_k`.

    Returns
    -------
    ndcg : float
        In [0, 1].

    See Also
    --------
    sklearn.metrics.ndcg_score : From scores of all columns, with any gains.

    References
    ----------
    K. Järvelin and J. Kekäläinen, Cumulated gain-based evaluation of IR techniques, ACM
    Transactions on Information Systems 20, 422-446, 2002.

    Examples
    --------
    >>> from skcooc.metrics import ndcg_at_k
    >>> round(ndcg_at_k([[1, 0, 0], [0, 0, 1]], [[0, 1], [1, 2]], k=2), 3)
    0.815
    """
    hits, sizes = _hits(X, items, k)
    gains = 1 / np.log2(np.arange(2, k + 2))
    best = np.concatenate([[0], np.cumsum(gains)])[np.minimum(sizes, k)]
    return float(((hits @ gains)[sizes > 0] / best[sizes > 0]).mean())


METRICS: dict[str, Callable[..., float]] = {"recall": recall_at_k, "ndcg": ndcg_at_k}


@validated(
    {
        "all_tokens": [Dyads, None],
        "metric": [StrOptions({"recall", "ndcg"})],
        "k": [Interval(Integral, 1, None, closed="left")],
        "min_weight": [Interval(Real, 0, None, closed="left")],
    }
)
def make_ranking_scorer(
    all_tokens: Dyads | None = None, *, metric: Literal["recall", "ndcg"] = "ndcg", k: int = 10,
    min_weight: float = 0.0,
) -> Callable[..., float]:  # fmt: skip
    """A scorer for searches: `ndcg_at_k` or `recall_at_k` of items new to the rows.

    For ``scoring`` of `GridSearchCV` and other tools of scikit-learn, with all estimators that have
    ``recommend``. Larger is better. `make_unseen_scorer` scores the probabilities of all items.

    Parameters
    ----------
    all_tokens : Dyads, default=None
        All tokens that are divided into folds, if these are Dyads. Items that a row has in the
        other folds are treated as seen and do not count as hits. Not used if rows are divided into
        folds: half of every new row is folded in, and items that only the other half has are hits.
    metric : {"ndcg", "recall"}, default="ndcg"
    k : int, default=10
        Number of items that count.
    min_weight : float, default=0.0
        Held-out items with a smaller count or weight are seen, but no hits: such as bad ratings
        that are fitted with a small weight.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y=None)``.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV, KFold
    >>> from skcooc import AspectModel, Dyads, datasets, metrics
    >>> X = Dyads(datasets.make_cooccurrences(60, 100, 3, n_tokens=2000, random_state=0).X)
    >>> model, folds = AspectModel(beta=0.9, random_state=0), KFold(2, shuffle=True, random_state=0)
    >>> options = {"scoring": metrics.make_ranking_scorer(X), "cv": folds}
    >>> GridSearchCV(model, {"n_components": [1, 3]}, **options).fit(X).best_params_
    {'n_components': 3}
    """
    function = METRICS[metric]
    return partial(_score, all_tokens=all_tokens, metric=function, k=k, min_weight=min_weight)


def _score(
    estimator: Any,
    X: TableLike,
    y: object = None,
    *,
    all_tokens: Dyads | None = None,
    metric: Callable[..., float],
    k: int,
    min_weight: float,
) -> float:
    estimator, X = validation.unwrap(estimator, X)
    X_known, X_scored = validation.split_known(estimator, X, all_tokens, "make_ranking_scorer")
    new = sp.csr_array(X_scored - X_scored.multiply(X_known > 0))
    new.data[new.data < min_weight] = 0
    new.eliminate_zeros()
    if not new.nnz:
        raise ValueError(NOTHING_NEW)
    scored_rows = np.flatnonzero(np.diff(new.indptr))
    rows: Any = X_known
    if isinstance(X, Dyads):  # fitted rows by their names or, without any, positions
        rows = np.arange(X.table_shape[0]) if X.row_names is None else X.row_names
    items = validation.without_feature_names(estimator).recommend(rows[scored_rows], k).items
    return metric(new[scored_rows], _positions(validation.column_names(X), items), k)


def _hits(X: TableLike, items: ArrayLike, k: int) -> tuple[Array, Array]:
    """Relevance of the first k items, (n, k), and number of relevant items, (n,)."""
    check_index(X, items=items)
    recommended: Any = items
    items = np.asarray(recommended.items if hasattr(recommended, "_fields") else items)
    if items.dtype.kind == "f":
        raise TypeError("items are scores: give the best columns, np.argsort(-items)[:, :k].")
    relevant = validation.check_observed(X)
    n_rows, n_columns = relevant.shape
    columns = _positions(validation.column_names(X), items)
    if k < 1 or columns.ndim != 2 or len(columns) != n_rows or columns.shape[1] < k:
        raise ValueError(
            f"items of shape {columns.shape} do not hold k={k} for each row of X of shape "
            f"{relevant.shape}. Give one line of items for each row, such as "
            "recommend(X.row_names, k).items."
        )
    columns = columns[:, :k]
    if columns.max(initial=-1) >= n_columns or columns.min(initial=-1) < -1:
        raise ValueError(f"items should be columns of X of shape {relevant.shape}, or -1.")
    ordered = np.sort(columns, axis=1)
    if ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any():
        raise ValueError("items should not hold the same item twice in a row.")
    rows = np.arange(n_rows)
    sizes = np.diff(relevant.indptr)
    keys = np.repeat(rows, sizes) * n_columns + relevant.indices
    return np.isin(rows[:, None] * n_columns + columns, keys) & (columns >= 0), sizes


def _positions(names: Array | None, items: Array) -> Array:
    """Positions of items; integers, unless of type object, are positions already."""
    if np.issubdtype(items.dtype, np.integer):
        return items.astype(np.intp, copy=False)
    if names is None:
        raise ValueError("items are names, but X has no names of columns: give Dyads with names.")
    columns = find_names(names, items).reshape(items.shape)
    unknown = (columns < 0) & (items != None)  # noqa: E711
    if unknown.any():
        raise ValueError(
            f"items should be columns of X, but {items[unknown].tolist()[0]!r} is not."
        )
    return columns
