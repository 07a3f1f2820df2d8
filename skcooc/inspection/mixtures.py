"""Mixtures of rows that are shown without the model that they are of."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from skcooc.inspection.labels import Names, numbered
from skcooc.protocol import Array, refuse_anndata

NEARLY = 1e-3  # by which sums of shares may differ from one


class Mixtures:
    """Mixtures of rows, for what takes a fitted model and shows its rows.

    Functions and displays show the rows that were fitted. This is for others: new rows, of which
    ``transform`` gives the mixtures, or rows whose mixtures were kept and whose model was not.
    :func:`topic_shares`, :func:`compare_shares`, :class:`skcooc.plotting.SharesDisplay` and
    :class:`skcooc.plotting.StructureDisplay` take it in the place of the model, and so does what
    else asks for no columns. It knows none, so that topics are called by their names or numbers.

    Parameters
    ----------
    mixtures : array-like of shape (N, K)
        P(topic given row).
    n_observations : array-like of shape (N,), default=None
        Observations of each row, such as ``X.sum(axis=1)``, by which rows count in shares. None
        means that all rows count alike.
    names : sequence of K str, or dict of int to str, default=None
        Names of the topics, such as those that :func:`name_topics` makes of the model.

    Attributes
    ----------
    embedding_ : (N, K) array
        The mixtures.
    row_distribution_ : (N,) array
        P(row), the share of all observations.
    components_ : (K, 0) array
        Of no columns.
    component_names_ : dict of int to str

    Raises
    ------
    ValueError
        Where rows do not sum to one, or there are not as many names as topics, or observations of
        other rows.
    TypeError
        Where an AnnData is given, and not the mixtures in it.

    Examples
    --------
    >>> from skcooc import AspectModel
    >>> from skcooc.datasets import make_cooccurrences
    >>> from skcooc.inspection import Mixtures, name_topics, topic_shares
    >>> X = make_cooccurrences(60, 40, n_components=2, random_state=0).X
    >>> model = AspectModel(2, beta=0.9, random_state=0).fit(X[:50])
    >>> new = Mixtures(model.transform(X[50:]), X[50:].sum(axis=1), names=name_topics(model))
    >>> topic_shares(new, ["a", "b"] * 5)[["group", "component", "n_rows"]].values.tolist()
    [['a', 0, 5], ['a', 1, 5], ['b', 0, 5], ['b', 1, 5]]
    """

    embedding_: Array
    row_distribution_: Array
    components_: Array
    component_names_: dict[int, str]

    def __init__(
        self,
        mixtures: ArrayLike,
        n_observations: ArrayLike | None = None,
        *,
        names: Names | None = None,
    ) -> None:
        refuse_anndata(mixtures, "mixtures", "mixtures: give adata.obsm['X_topics'].")
        self.embedding_ = check_array(mixtures, ensure_non_negative=True, input_name="mixtures")
        if (np.abs(self.embedding_.sum(axis=1) - 1) > NEARLY).any():
            raise ValueError("mixtures should be shares: rows that sum to one.")
        n_rows, n_topics = self.embedding_.shape
        self.row_distribution_ = _distribution(n_observations, n_rows)
        self.components_ = np.empty((n_topics, 0))
        self.component_names_ = {} if names is None else numbered(names, n_topics)


def _distribution(n_observations: ArrayLike | None, n_rows: int) -> Array:
    """P(row), (N,), of numbers that may be those of a matrix, (N, 1)."""
    if n_observations is None:
        return np.full(n_rows, 1 / n_rows)
    n = np.asarray(n_observations, dtype=np.float64)
    if n.shape not in ((n_rows,), (n_rows, 1)):
        raise ValueError(f"n_observations has shape {n.shape}, but there are {n_rows} mixtures.")
    if not (n >= 0).all() or not 0 < n.sum() < np.inf:
        raise ValueError("n_observations should be finite, not negative, and not all zero.")
    return n.ravel() / n.sum()
