"""A fitted model as pyLDAvis wants it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from skcooc.inspection.unwrapping import unwrap
from skcooc.protocol import Array, FactorModel, TableLike

LEAST = 1e-12  # of probabilities of which a logarithm is taken


def to_pyldavis(
    model: FactorModel, X: TableLike, feature_names: ArrayLike | None = None
) -> dict[str, Array]:
    """The arguments of ``pyLDAvis.prepare``, as plain arrays; pyLDAvis itself is not needed.

    pyLDAvis takes logarithms: probabilities of zero, which clusterings have, become 1e-12. It has
    no place for names of topics, and numbers them by size unless ``sort_topics=False``.

    Parameters
    ----------
    model : fitted estimator
        With ``components_`` (K, M) and ``transform``; those of other libraries need not be
        normalised. pyLDAvis needs three components or more.
    X : array-like, sparse array or matrix of shape (n, M)
        Counts of the rows to show, usually those that were fitted; of a pipeline what it takes.
    feature_names : array-like of shape (M,), default=None
        Names of the columns; see :func:`top_features`.

    Returns
    -------
    arguments : dict
        For ``pyLDAvis.prepare(**arguments)``:

        topic_term_dists : (K, M) array
            P(y given z), float64.
        doc_topic_dists : (n, K) array
            P(z given x), float64.
        doc_lengths : (n,) array
            Observations of each row.
        vocab : (M,) array of str
            Names of the columns.
        term_frequency : (M,) array
            Observations of each column.

    Raises
    ------
    ValueError
        Where there are not as many names as columns, or X has another number of columns.

    Examples
    --------
    >>> from skcooc import AspectModel
    >>> from skcooc.inspection import to_pyldavis
    >>> X = [[4, 2, 0, 0], [4, 2, 0, 0], [0, 0, 3, 9], [1, 0, 3, 9]]
    >>> model = AspectModel(3, beta=1, random_state=0).fit(X)
    >>> arguments = to_pyldavis(model, X, ["tea", "cup", "ball", "goal"])
    >>> arguments["doc_lengths"], arguments["term_frequency"]
    (array([ 6.,  6., 12., 13.]), array([ 9.,  4.,  6., 18.]))
    >>> import pyLDAvis  # doctest: +SKIP
    >>> page = pyLDAvis.prepared_data_to_html(pyLDAvis.prepare(**arguments))  # doctest: +SKIP
    """
    found = unwrap(model, "components_")
    model, names, X = found.model, found.column_names(feature_names), found.table(X)
    P = np.maximum(np.asarray(model.components_, dtype=np.float64), LEAST)
    mixtures = np.asarray(model.transform(X), dtype=np.float64)  # which checks X
    counts = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_non_negative=True)
    return {
        "topic_term_dists": (P / P.sum(axis=1, keepdims=True)),
        "doc_topic_dists": mixtures / mixtures.sum(axis=1, keepdims=True),
        "doc_lengths": np.asarray(counts.sum(axis=1)).ravel(),
        "vocab": names.astype(str),
        "term_frequency": np.asarray(counts.sum(axis=0)).ravel(),
    }
