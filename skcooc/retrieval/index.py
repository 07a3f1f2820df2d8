"""Documents indexed by their words and topics, to be compared with queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from skcooc.protocol import CSR, Array

if TYPE_CHECKING:
    from skcooc.retrieval.retriever import AspectRetriever


class DocumentIndex:
    """u_d / |u_d| as a sparse part and a mixture, and the directions in topic space.

    The length of u = (1 - l) r + l E B, with r sparse, the mixtures E and the weighted components
    B, follows from |u|^2 = (1 - l)^2 |r|^2 + 2 l (1 - l) r B'E' + l^2 E B B' E'. The table has the
    counts of the documents, (N, M).
    """

    def __init__(self, fitted: AspectRetriever, table: CSR) -> None:
        share, E, idf = fitted.smoothing_weight, fitted.embedding_, fitted.idf_
        self.aspect_weight = fitted.aspect_weight
        self.components, self.idf = fitted.components_, idf
        B = self._weighted_components(table)
        terms = (1 - share) * weight_columns(normalize(damp_counts(table), "l1"), idf)
        mixtures = share * E
        squares = terms.multiply(terms).sum(axis=1)
        squares = squares + ((2 * (terms @ B.T) + mixtures @ (B @ B.T)) * mixtures).sum(axis=1)
        scale = 1 / np.sqrt(np.where(squares > 0, squares, 1))
        self.terms = sp.diags_array(scale.astype(terms.dtype)) @ terms
        self.mixtures = mixtures * scale[:, None].astype(E.dtype)
        n = table @ np.ones(table.shape[1], dtype=table.dtype)
        self.posteriors = [posterior(n @ m.embedding_, m.components_) for m in fitted.estimators_]
        self.tf_idf = tf_idf(table, idf)
        self.directions = self._direction(self.tf_idf)

    def similarity(self, table: CSR, n_feedback: int) -> Array:
        """s(q, d) for counts of queries, with feedback of the documents found first."""
        queries = tf_idf(table, self.idf)
        found = self.match(queries)
        return self.match(self._expand_queries(queries, found, n_feedback)) if n_feedback else found

    def match(self, queries: CSR) -> Array:
        """s(q, d) for weighted queries of length one."""
        B = self._weighted_components(queries)
        terms = (queries @ self.terms.T).toarray() + (queries @ B.T) @ self.mixtures.T
        aspects = self._direction(queries) @ self.directions.T
        a = self.aspect_weight
        return np.asarray(np.clip((1 - a) * terms + a * aspects, 0, 1))

    def _expand_queries(self, queries: CSR, found: Array, n: int) -> CSR:
        """Queries plus half the mean of the n best documents of positive similarity."""
        first, similarity = nearest(found, n)
        share = (similarity > 0) * (0.5 / first.shape[1])
        rows = np.repeat(np.arange(len(first)), first.shape[1])
        chosen = (share.ravel().astype(queries.dtype), (rows, first.ravel()))
        return normalize(queries + sp.csr_array(chosen, shape=found.shape) @ self.tf_idf)

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


def inverse_document_frequency(table: CSR) -> Array:
    """log((N + 1) / (df + 1)) + 1 of every column, (M,)."""
    documents = np.bincount(table.indices[table.data > 0], minlength=table.shape[1])
    return np.log((table.shape[0] + 1) / (documents + 1)) + 1


def damp_counts(table: CSR) -> CSR:
    """f(n) = 1 + log n, and n below one, continuous with its derivative."""
    f = sp.csr_array(table, copy=True)
    f.data = np.where(f.data > 1, 1 + np.log(np.maximum(f.data, 1)), f.data)
    return f


def weight_columns(table: CSR, weights: Array) -> CSR:
    return sp.csr_array(table @ sp.diags_array(weights.astype(table.dtype)))


def tf_idf(table: CSR, idf: Array) -> CSR:
    """Damped frequencies times idf, with rows of length one."""
    return normalize(weight_columns(damp_counts(table), idf))
