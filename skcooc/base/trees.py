"""Attributes and predictions of estimators whose clusters are the leaves of a tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from skcooc.em import State
from skcooc.hierarchy import Tree
from skcooc.protocol import CSR, Array, Block, TableLike
from skcooc.simplex import first_largest
from skcooc.tables import is_collection


class TreeMixin(ClusterMixin):
    """What a fitted hierarchy knows of its leaves, and of new rows."""

    embedding_: Array
    row_distribution_: Array
    _state: State
    _fitted_model: Any
    _checked: Callable[[TableLike], Block]
    _row_states: Callable[[Block], Array]
    _lazily: Callable[[str, TableLike, int], Array]

    @property
    def tree_(self) -> Tree:
        """Parents, depths, leaves and paths of the nodes."""
        check_is_fitted(self)
        return self._fitted_model.tree

    @property
    def n_clusters_(self) -> int:
        """Number of leaves of the tree."""
        return len(self.tree_.leaves)

    @property
    def posteriors_(self) -> Array:
        """P(c given x_i), (N, K)."""
        return self._fitted_model.leaves(self._state.rows)

    @property
    def labels_(self) -> Array:
        """Most probable cluster of each row fitted, (N,); cluster k is ``tree_.leaves[k]``."""
        return first_largest(self.posteriors_)

    @property
    def node_weights_(self) -> Array:
        """Share of the observations at each node, (V,)."""
        return np.asarray(self.row_distribution_ @ self.embedding_)

    def decision_path(self, X: TableLike) -> CSR:
        """The nodes above the most probable cluster of rows, and its leaf.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads

        Returns
        -------
        indicator : CSR array of shape (n, V), bool
        """
        return sp.csr_array(self.tree_.above)[self.predict(X)]

    def predict(self, X: TableLike) -> Array:
        """Most probable leaf of rows, (n,); cluster k is ``tree_.leaves[k]``.

        Lazy where X is a dask array.
        """
        return first_largest(self.predict_proba(X))

    def predict_proba(self, X: TableLike) -> Array:
        """P(c given x) of rows, (n, K); lazy where X is a dask array."""
        check_is_fitted(self)
        if is_collection(X):
            return self._lazily("predict_proba", X, self.n_clusters_)
        rows = self._row_states(self._checked(X))
        return self._fitted_model.leaves(rows)
