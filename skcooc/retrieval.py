"""Retrieval: documents for queries, by common words and by common topics."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.preprocessing import normalize
from sklearn.utils import Tags, check_random_state, check_scalar, gen_batches
from sklearn.utils.validation import check_is_fitted

from skcooc.base import A_MODEL, CooccurrenceEstimator, attributes
from skcooc.estimators.aspect import AspectModel
from skcooc.protocol import CSR, Array, RandomState, TableLike, warn
from skcooc.protocol.bases import BaseEstimator
from skcooc.protocol.decorators import fit_context
from skcooc.protocol.scikit_learn import HasMethods, Interval, get_chunk_n_rows
from skcooc.tables import TextsError, check_table, read_in_memory, with_names

__all__ = ["AspectRetriever"]

N_NAMED = 5  # queries that a warning names


class AspectRetriever(BaseEstimator):
    """Rank documents by the words and the topics that they share with a query.

    The similarity of a query q and a document d is a weighted average of two cosines:

        s(q, d) = (1 - a) cos(t_q, u_d) + a mean_K cos(e_q, e_d)

    The first cosine compares words. The weight of word w in a query is t_qw = f(q, w) idf_w, where
    f = 1 + log n is the damped number n of its occurrences (f = n if n < 1). In a document it is
    u_dw = idf_w [(1 - l) f(d, w) / f(d) + l P(w given d)], where the topics smooth the words with
    weight l (PLSI-U). With l = 0 this is the cosine of tf-idf vectors.

    The second cosine compares topics, averaged over models of several sizes K (PLSI*). The topics
    are e_x = sum_w t_xw P(z given w). This is one EM step from P(z), with word weights instead of
    counts. The paper folds counts in until convergence.

    Finally, half the average of the first documents found is added to the words of the query, and
    the documents are ranked again (feedback). Feedback may harm the search for one known text.

    Read more in the :doc:`how-to guide </howto/retrieval>`.

    Parameters
    ----------
    n_components : int or sequence of int, default=(32, 48, 64, 80, 128)
        Number K of topics of each model.
    aspect_weight : float in [0, 1], default=0.4
        Weight a of the topics in the similarity.
    smoothing_weight : float in [0, 1], default=0.1
        Weight l of P(w given d) in the words of a document.
    n_feedback : int, default=5
        Number of first documents used for feedback. 0 turns feedback off.
    estimator : estimator of this package with ``n_components``, default=None
        The model. A clone is fitted for each K. Its ``n_components``, ``random_state`` and
        ``n_jobs`` are replaced by those of the retriever. None means ``AspectModel(beta=0.75,
        tol=1e-4)``, which is much faster than ``beta="auto"``.
    vectorizer : CountVectorizer or the like, default=None
        Counts the words of texts. A clone is fitted, and `fit`, `kneighbors` and `similarity` take
        texts. With None, they take counts.
    n_jobs, random_state
        As for :class:`~skcooc.AspectModel`; default=None.

    Attributes
    ----------
    estimators_ : list of S fitted estimators
        The fitted models.
    components_ : (S K, M) array
        P(w_j given z_k) of all models.
    embedding_ : (N, S K) array
        P(z_k given d_i) of the documents under all models, divided by S. Rows of empty documents
        are zero.
    idf_ : (M,) array
        log((N + 1) / (df_j + 1)) + 1 for a word that occurs in df_j documents, as in scikit-learn.
    vectorizer_ : fitted vectorizer
        The fitted clone, if there is a ``vectorizer``.
    n_features_in_, feature_names_in_ : int, and (M,) array of str
        Number M of words, and their names if they are strings.
    column_names_in_ : (M,) array
        Names of the words, of any type, if the data has names.

    Notes
    -----
    Queries and documents without any word of the vocabulary have similarity zero to all others.
    ``benchmarks/retrieval.py`` compares the retriever with latent semantic indexing.

    References
    ----------
    T. Hofmann, *Probabilistic latent semantic indexing*, SIGIR 1999, section 5, for PLSI-U, PLSI-Q
    and the combination of models of several sizes.

    J. J. Rocchio, *Relevance feedback in information retrieval*, in G. Salton (ed.), The SMART
    retrieval system, 1971.

    Examples
    --------
    >>> from skcooc import AspectModel, AspectRetriever
    >>> X = [[2, 1, 0, 0], [0, 2, 1, 0], [1, 0, 2, 0], [0, 0, 0, 3]]
    >>> retriever = AspectRetriever(2, estimator=AspectModel(beta=1.0), random_state=0).fit(X)
    >>> distances, documents = retriever.kneighbors([[1, 0, 0, 0]], n_neighbors=2)
    >>> documents
    array([[0, 2]])

    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> texts = ["tea and milk", "milk and honey", "a ball of wool", "wool of sheep"]
    >>> retriever = AspectRetriever(
    ...     2, estimator=AspectModel(beta=0.9), vectorizer=CountVectorizer(), random_state=0
    ... ).fit(texts)
    >>> retriever.kneighbors(["honey"], n_neighbors=1, return_distance=False)
    array([[1]])
    """

    components_: Array
    embedding_: Array
    idf_: Array
    vectorizer_: Any
    n_features_in_: int
    feature_names_in_: Array
    column_names_in_: Array
    estimators_: list[CooccurrenceEstimator]

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "aspect_weight": [Interval(Real, 0, 1, closed="both")],
        "smoothing_weight": [Interval(Real, 0, 1, closed="both")],
        "n_feedback": [Interval(Integral, 0, None, closed="left")],
        "estimator": [A_MODEL, None],
        "vectorizer": [HasMethods(["fit_transform", "transform"]), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self, n_components: int | Sequence[int] = (32, 48, 64, 80, 128), *,
        aspect_weight: float = 0.4, smoothing_weight: float = 0.1, n_feedback: int = 5,
        estimator: CooccurrenceEstimator | None = None, vectorizer: Any = None,
        n_jobs: int | None = None, random_state: RandomState = None,
    ) -> None:  # fmt: skip
        self.n_components = n_components
        self.aspect_weight = aspect_weight
        self.smoothing_weight = smoothing_weight
        self.n_feedback = n_feedback
        self.estimator = estimator
        self.vectorizer = vectorizer
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: TableLike | Sequence[str], y: object = None) -> Self:
        """Fit the models and index the documents.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (N, M), or Dyads
            Counts of words in documents, not tf-idf. With a ``vectorizer``, N texts.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The documents are rows of ``embedding_``.

        Raises
        ------
        ValueError
            If counts are negative or not finite. If X contains texts but there is no vectorizer, or
            counts although there is one.

        Warns
        -----
        UserWarning
            If X contains values that are not whole numbers, such as tf-idf.
        """
        sizes = np.atleast_1d(self.n_components).tolist()
        if not sizes:
            raise ValueError("n_components is empty: give at least one number of topics.")
        for K in sizes:
            check_scalar(K, "n_components", Integral, min_val=1)
        new = copy.copy(self)  # a fit that fails does not change self
        attributes.set_fitted_attributes(new, {})
        table = new._counts(X, reset=True)
        named = with_names(table, getattr(new, "column_names_in_", None))
        prototype = AspectModel(beta=0.75, tol=1e-4) if self.estimator is None else self.estimator
        seeds = check_random_state(self.random_state).randint(2**31, size=len(sizes)).tolist()
        new.estimators_ = []
        for K, seed in zip(sizes, seeds, strict=True):
            model = clone(prototype)
            model.set_params(n_components=K, random_state=seed, n_jobs=self.n_jobs)
            new.estimators_.append(model.fit(named))
        new.components_ = np.vstack([model.components_ for model in new.estimators_])
        new.embedding_ = np.hstack([model.embedding_ for model in new.estimators_]) / len(sizes)
        new.embedding_[table @ np.ones(table.shape[1]) == 0] = 0
        documents = np.bincount(table.indices[table.data > 0], minlength=table.shape[1])
        new.idf_ = np.log((table.shape[0] + 1) / (documents + 1)) + 1
        index = DocumentIndex(new, table)
        self.__dict__ = new.__dict__
        self._index = index
        return self

    def similarity(self, X: TableLike | Sequence[str]) -> Array:
        """Similarity s(q, d) of each query and each document.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads
            Counts of words in queries. With a ``vectorizer``, n texts.

        Returns
        -------
        similarity : (n, N) array
            Between zero and one. Queries without a known word have similarity zero.

        Warns
        -----
        UserWarning
            If a query contains no known word.
        """
        check_is_fitted(self)
        return self._index.similarity(self._queries(X), self.n_feedback)

    def kneighbors(
        self, X: TableLike | Sequence[str], n_neighbors: int = 5, return_distance: bool = True
    ) -> Array | tuple[Array, Array]:
        """Find the documents nearest to each query.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads
            The queries, as for :meth:`similarity`.
        n_neighbors : int, default=5
            Number of documents for each query.
        return_distance : bool, default=True
            Whether to return the distances as well.

        Returns
        -------
        distances : (n, n_neighbors) array
            1 - s(q, d), ascending. Only returned if ``return_distance`` is True.
        documents : (n, n_neighbors) array of int
            Positions of the documents in the training table. Ties keep the order of the table.
        """
        check_is_fitted(self)
        check_scalar(n_neighbors, "n_neighbors", Integral, min_val=1, max_val=len(self.embedding_))
        table = self._queries(X)
        distances = np.empty((table.shape[0], n_neighbors), dtype=table.dtype)
        documents = np.empty(distances.shape, dtype=np.intp)
        row_bytes = 8 * len(self.embedding_)
        chunk = get_chunk_n_rows(row_bytes=row_bytes, max_n_rows=max(1, len(distances)))
        for rows in gen_batches(len(distances), chunk):
            similarity = self._index.similarity(table[rows], self.n_feedback)
            documents[rows], largest = nearest(similarity, n_neighbors)
            distances[rows] = 1 - largest
        return (distances, documents) if return_distance else documents

    def _counts(self, X: TableLike | Sequence[str], *, reset: bool) -> CSR:
        if self.vectorizer is not None:
            shape = getattr(X, "shape", ())
            if len(shape) == 2:
                raise ValueError(
                    f"X is a table of shape {shape}, but vectorizer={self.vectorizer} takes texts: "
                    "give texts, or vectorizer=None."
                )
            if reset:
                self.vectorizer_ = clone(self.vectorizer)
                X = self.vectorizer_.fit_transform(X)
            else:
                X = self.vectorizer_.transform(X)
        try:
            if reset:
                data = read_in_memory(self, X)
                table = data.sample.table
                if data.schema.column_names is not None:
                    self.column_names_in_ = data.schema.column_names
            else:
                table = check_table(self, X, reset=False)
        except TextsError as error:
            raise ValueError(
                "X holds texts: give AspectRetriever(vectorizer=CountVectorizer()), or counts."
            ) from error
        if (table.data % 1).any():
            warn(
                "X has values that are not whole numbers, such as tf-idf. AspectRetriever takes "
                "counts, and weights words automatically."
            )
        return table

    def _queries(self, X: TableLike | Sequence[str]) -> CSR:
        """Checked counts of queries; a warning lists those without any word."""
        table = self._counts(X, reset=False)
        unknown = np.flatnonzero(table @ np.ones(table.shape[1], dtype=table.dtype) == 0).tolist()
        if unknown:
            positions = ", ".join(map(str, unknown[:N_NAMED]))
            if len(unknown) > N_NAMED:
                positions += ", ..."
            warn(
                f"{len(unknown)} of {table.shape[0]} queries have no known word, and similarity "
                f"zero to all documents: at {positions}."
            )
        return table

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        takes_counts = self.vectorizer is None
        tags.input_tags.sparse = takes_counts
        tags.input_tags.positive_only = takes_counts
        tags.input_tags.two_d_array = takes_counts
        tags.input_tags.string = not takes_counts
        return tags


class DocumentIndex:
    """Documents u_d / |u_d| as a sparse part and a mixture, and directions in topic space.

    The length of u = (1 - l) r + l E B, with r sparse, the mixtures E and the weighted components
    B, follows from |u|^2 = (1 - l)^2 |r|^2 + 2 l (1 - l) r B'E' + l^2 E B B' E'. The table has the
    counts of the documents, (N, M).
    """

    def __init__(self, retriever: AspectRetriever, table: CSR) -> None:
        self.aspect_weight = retriever.aspect_weight
        self.components = retriever.components_
        self.idf = retriever.idf_
        E = retriever.embedding_
        B = self._weighted_components(table)
        share = retriever.smoothing_weight
        terms = (1 - share) * weight_columns(normalize(damp_counts(table), "l1"), self.idf)
        mixtures = share * E
        squares = terms.multiply(terms).sum(axis=1)
        squares = squares + ((2 * (terms @ B.T) + mixtures @ (B @ B.T)) * mixtures).sum(axis=1)
        scale = 1 / np.sqrt(np.where(squares > 0, squares, 1))
        self.terms = sp.diags_array(scale.astype(terms.dtype)) @ terms
        self.mixtures = mixtures * scale[:, None].astype(E.dtype)
        n = table @ np.ones(table.shape[1], dtype=table.dtype)
        self.posteriors = [
            posterior(n @ model.embedding_, model.components_) for model in retriever.estimators_
        ]
        self.tf_idf = tf_idf(table, self.idf)
        self.directions = self._direction(self.tf_idf)

    def similarity(self, table: CSR, n_feedback: int) -> Array:
        """s(q, d) for counts of queries, with feedback of the documents found first."""
        queries = tf_idf(table, self.idf)
        similarity = self.match(queries)
        if not n_feedback:
            return similarity
        first, largest = nearest(similarity, n_feedback)
        share = (largest > 0) * (0.5 / first.shape[1])  # half the mean of the best documents
        rows = np.repeat(np.arange(len(first)), first.shape[1])
        cells = (share.ravel().astype(queries.dtype), (rows, first.ravel()))
        feedback = sp.csr_array(cells, shape=similarity.shape) @ self.tf_idf
        return self.match(normalize(queries + feedback))

    def match(self, queries: CSR) -> Array:
        """s(q, d) for weighted queries of length one."""
        B = self._weighted_components(queries)
        terms = (queries @ self.terms.T).toarray() + (queries @ B.T) @ self.mixtures.T
        aspects = self._direction(queries) @ self.directions.T
        a = self.aspect_weight
        return np.asarray(np.clip((1 - a) * terms + a * aspects, 0, 1))

    def _weighted_components(self, table: CSR) -> Array:
        """P(w given z) idf_w of all models, (S K, M), in the dtype of a table."""
        return self.components * self.idf.astype(table.dtype)

    def _direction(self, terms: CSR) -> Array:
        """e_x of length one under each model, over sqrt(S): products are means."""
        parts = [normalize(terms @ posterior.T) for posterior in self.posteriors]
        return np.hstack(parts) / np.sqrt(len(parts)).astype(parts[0].dtype)


def posterior(weights: Array, components: Array) -> Array:
    """P(z given w) ~ P(z) P(w given z), (K, M); zeros for a word without topics."""
    return normalize((weights[:, None] * components).T, "l1").T


def nearest(similarity: Array, n: int) -> tuple[Array, Array]:
    """Positions of the n most similar documents of each query, and their similarities."""
    first = np.argsort(-similarity, axis=1, kind="stable")[:, :n]
    return first, np.take_along_axis(similarity, first, axis=1)


def damp_counts(table: CSR) -> CSR:
    """Damped counts f(n) = 1 + log n, or n below one; f and its derivative are continuous."""
    f = sp.csr_array(table, copy=True)
    f.data = np.where(f.data > 1, 1 + np.log(np.maximum(f.data, 1)), f.data)
    return f


def weight_columns(table: CSR, weights: Array) -> CSR:
    return sp.csr_array(table @ sp.diags_array(weights.astype(table.dtype)))


def tf_idf(table: CSR, idf: Array) -> CSR:
    """Damped frequencies times idf, with rows of length one."""
    return normalize(weight_columns(damp_counts(table), idf))
