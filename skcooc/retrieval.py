"""Retrieval: documents for queries, by common words and by common aspects."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.preprocessing import normalize
from sklearn.utils import Tags, check_random_state, check_scalar, gen_batches
from sklearn.utils._chunking import get_chunk_n_rows
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from skcooc.aspect import AspectModel
from skcooc.base import CooccurrenceEstimator
from skcooc.checks import check_table
from skcooc.protocol import Array


class AspectRetriever(BaseEstimator):
    """Ranks documents by the words and by the aspects that they share with a query.

    Two similarities are mixed with the weight a of the second,

        s(q, d) = (1 - a) cos(t_q, u_d) + a mean_K cos(P(z given q)^p, P(z given d)^p).

    The first is a match of terms: t_q = f(q, w) idf_w, where f is the damped number of occurrences,
    f = 1 + log n (n itself below one), and u_d = idf_w [(1 - l) f(d, w) / f(d) + l P(w given d)] is
    a document whose words are smoothed by the aspects with the weight l (PLSI-U). With l = 0 it is
    the tf-idf cosine. The second is a match in the space of aspects, averaged over models of
    several sizes K, into which queries are folded (PLSI*). An exponent p = 1 is the cosine of the
    paper; with 1/2 it is the affinity of the two mixtures, sum_z sqrt(P(z given q) P(z given d)).

    The mean of S models is one mixture with all their components, in which P(z given x) is divided
    by S. No matrix of documents times words is made; similarities come in chunks of queries.

    Parameters
    ----------
    n_components : int or sequence of int, default=(32, 48, 64, 80, 128)
        Number K of aspects of each model.

    aspect_weight : float in [0, 1], default=1/3
        Weight a of the match in the space of aspects.

    smoothing_weight : float in [0, 1], default=0.1
        Weight l of P(w given d) in the terms of a document.

    exponent : float in (0, 1], default=0.5
        Power p of the mixtures whose cosine is taken.

    estimator : estimator of this package with ``n_components``, default=None
        The model, of which a clone is fitted for each K; None is ``AspectModel()``. Its
        ``n_components``, ``random_state`` and ``n_jobs`` are replaced.

    n_jobs : int, default=None
        Number of threads in fits, in joblib's conventions. Results do not depend on it.

    random_state : int, RandomState instance or None, default=None
        Seed of the models.

    Attributes
    ----------
    estimators_ : list of S fitted estimators
    components_ : (S K, M) array
        P(w_j given z_k) of all models.
    embedding_ : (N, S K) array
        P(z_k given d_i) of the documents under all models, divided by S; zeros for an empty one.
    idf_ : (M,) array
        log((N + 1) / (df_j + 1)) + 1, where df_j documents have the word: as in scikit-learn.
    n_features_in_ : int
        Number M of words.
    feature_names_in_ : (M,) array of str
        Names of the words, where the data has names that are strings.

    Notes
    -----
    A query, or a document, without any word of the vocabulary has similarity zero to all. The
    weights were not chosen on judged queries: see the benchmark ``retrieval.py``.

    References
    ----------
    T. Hofmann, *Probabilistic latent semantic indexing*, SIGIR 1999: section 5, PLSI-U, PLSI-Q and
    the combination of models of several sizes.

    Examples
    --------
    >>> from skcooc import AspectModel, AspectRetriever
    >>> X = [[2, 1, 0, 0], [0, 2, 1, 0], [1, 0, 2, 0], [0, 0, 0, 3]]
    >>> retriever = AspectRetriever(2, estimator=AspectModel(beta=1.0), random_state=0).fit(X)
    >>> distances, documents = retriever.kneighbors([[1, 0, 0, 0]], n_neighbors=2)
    >>> documents
    array([[0, 2]])
    """

    components_: Array
    embedding_: Array
    idf_: Array
    estimators_: list[CooccurrenceEstimator]

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "aspect_weight": [Interval(Real, 0, 1, closed="both")],
        "smoothing_weight": [Interval(Real, 0, 1, closed="both")],
        "exponent": [Interval(Real, 0, 1, closed="right")],
        "estimator": [CooccurrenceEstimator, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | Sequence[int] = (32, 48, 64, 80, 128),
        *,
        aspect_weight: float = 1 / 3,
        smoothing_weight: float = 0.1,
        exponent: float = 0.5,
        estimator: CooccurrenceEstimator | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.aspect_weight = aspect_weight
        self.smoothing_weight = smoothing_weight
        self.exponent = exponent
        self.estimator = estimator
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None) -> AspectRetriever:
        """Fit the models and index the documents.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (N, M), or Dyads
            How often each document has each word: counts, not tf-idf.
        y : None
            Ignored.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            Where X is negative, not finite, empty or all zero, or a parameter has no valid value.
        """
        sizes = np.atleast_1d(self.n_components).tolist()
        if not sizes:
            raise ValueError("n_components is empty: at least one number of aspects is needed.")
        for K in sizes:
            check_scalar(K, "n_components", Integral, min_val=1)
        new = copy.copy(self)  # a fit that fails leaves self as it was
        table = check_table(new, X, reset=True)
        new.estimators_ = self._models(table, sizes)
        new.components_ = np.vstack([model.components_ for model in new.estimators_])
        new.embedding_ = _side_by_side([model.embedding_ for model in new.estimators_], table)
        new.idf_ = _inverse_document_frequency(table)
        new._index(table)
        self.__dict__ = new.__dict__
        return self

    def similarity(self, X: Any) -> Array:
        """Similarity s(q, d) of queries and all documents.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads
            How often each query has each word.

        Returns
        -------
        similarity : (n, N) array
            Between zero and one.
        """
        check_is_fitted(self)
        return self._similarity(check_table(self, X, reset=False))

    def kneighbors(
        self, X: Any, n_neighbors: int = 5, return_distance: bool = True
    ) -> Array | tuple[Array, Array]:
        """The documents nearest to each query.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads
            How often each query has each word.
        n_neighbors : int, default=5
            Number of documents for each query.
        return_distance : bool, default=True
            Whether to return the distances too.

        Returns
        -------
        distances : (n, n_neighbors) array
            1 - s(q, d), ascending; only if ``return_distance`` is True.
        documents : (n, n_neighbors) array of int
            Positions in the table fitted; of equally near ones the first comes first.
        """
        check_is_fitted(self)
        n_documents = len(self.embedding_)
        check_scalar(n_neighbors, "n_neighbors", Integral, min_val=1, max_val=n_documents)
        table = check_table(self, X, reset=False)
        distances = np.empty((table.shape[0], n_neighbors), dtype=table.dtype)
        documents = np.empty(distances.shape, dtype=np.intp)
        chunk = get_chunk_n_rows(row_bytes=8 * n_documents, max_n_rows=max(1, len(distances)))
        for rows in gen_batches(len(distances), chunk):
            similarity = self._similarity(table[rows])
            nearest = np.argsort(-similarity, axis=1, kind="stable")[:, :n_neighbors]
            documents[rows] = nearest
            distances[rows] = 1 - np.take_along_axis(similarity, nearest, axis=1)
        return (distances, documents) if return_distance else documents

    def _models(self, table: Any, sizes: Sequence[int]) -> list[CooccurrenceEstimator]:
        """One fitted model for each number of aspects."""
        prototype = AspectModel() if self.estimator is None else self.estimator
        seeds = check_random_state(self.random_state).randint(2**31, size=len(sizes)).tolist()
        return [
            clone(prototype)
            .set_params(n_components=K, random_state=seed, n_jobs=self.n_jobs)
            .fit(table)
            for K, seed in zip(sizes, seeds, strict=True)
        ]

    def _index(self, table: Any) -> None:
        """Keep u_d / |u_d| as a sparse part and a mixture, and the directions in aspect space.

        The length of u = (1 - l) r + l E B, r sparse, E the mixtures and B the weighted components,
        is that of its parts: |u|^2 = (1 - l)^2 |r|^2 + 2 l (1 - l) r B'E' + l^2 E B B' E'.
        """
        share, E = self.smoothing_weight, self.embedding_
        B = self.components_ * self.idf_.astype(table.dtype)
        terms = (1 - share) * _weighted(normalize(_damped(table), "l1"), self.idf_)
        mixtures = share * E
        squares = terms.multiply(terms).sum(axis=1)
        squares = squares + ((2 * (terms @ B.T) + mixtures @ (B @ B.T)) * mixtures).sum(axis=1)
        scale = 1 / np.sqrt(np.where(squares > 0, squares, 1))
        self._terms = sp.diags_array(scale.astype(terms.dtype)) @ terms
        self._mixtures = mixtures * scale[:, None].astype(E.dtype)
        self._directions = self._direction(E)

    def _similarity(self, table: Any) -> Array:
        """s(q, d) for a checked table of queries."""
        weighted = normalize(_weighted(_damped(table), self.idf_))
        B = self.components_ * self.idf_.astype(table.dtype)
        folded = [model.transform(table) for model in self.estimators_]
        directions = self._direction(_side_by_side(folded, table))
        terms = (weighted @ self._terms.T).toarray() + (weighted @ B.T) @ self._mixtures.T
        aspects = directions @ self._directions.T
        a = self.aspect_weight
        similarity: Array = np.clip((1 - a) * terms + a * aspects, 0, 1)
        return similarity

    def _direction(self, E: Array) -> Array:
        """P(z given x)^p of length one under each model, by 1 / sqrt(S): products are means."""
        ends = np.cumsum([len(model.components_) for model in self.estimators_])
        parts = np.split(E**self.exponent, ends[:-1], axis=1)
        return np.hstack([normalize(part) for part in parts]) / np.sqrt(len(parts)).astype(E.dtype)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")


def _inverse_document_frequency(table: Any) -> Array:
    """log((N + 1) / (df + 1)) + 1 of every column, (M,)."""
    present = table.indices[table.data > 0]
    documents = np.bincount(present, minlength=table.shape[1])
    return np.log((table.shape[0] + 1) / (documents + 1)) + 1


def _damped(table: Any) -> Any:
    """f(n) = 1 + log n, and n below one, where it has the same value and slope."""
    f = sp.csr_array(table, copy=True)
    f.data = np.where(f.data > 1, 1 + np.log(np.maximum(f.data, 1)), f.data)
    return f


def _weighted(table: Any, weights: Array) -> Any:
    """Columns times their weights."""
    return sp.csr_array(table @ sp.diags_array(weights.astype(table.dtype)))


def _side_by_side(mixtures: Sequence[Array], table: Any) -> Array:
    """Mixtures under S models, divided by S, as one; zeros for rows without observations."""
    E = np.hstack(mixtures) / len(mixtures)
    E[table @ np.ones(table.shape[1]) == 0] = 0
    return E
