"""What estimators that are made of others share."""

from __future__ import annotations

from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import Tags

from skcooc.base import attributes
from skcooc.base.predictions import Predictions
from skcooc.protocol import Array


class Composed(Predictions, MetaEstimatorMixin, BaseEstimator):
    """An estimator without equations of its own, whose P(y given x) is a product of two factors."""

    def _mixing(self) -> tuple[Array, Array]:
        """The rows fitted."""
        return self.row_distribution_, self.embedding_

    def __sklearn_tags__(self) -> Tags:
        return attributes.tagged(super().__sklearn_tags__())
