"""What estimators that are made of others share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import Tags

from skcooc.base import attributes
from skcooc.base.predictions import Predictions
from skcooc.fitting.journal import Journal, taken_up
from skcooc.protocol import Array, Block


class Composed(Predictions, MetaEstimatorMixin, CallbackSupportMixin, BaseEstimator):
    """An estimator without equations of its own, whose P(y given x) is a product of two factors."""

    def _mixing(self) -> tuple[Array, Array]:
        """The rows fitted."""
        return self.row_distribution_, self.embedding_

    @contextmanager
    def _journal(self, X: Block) -> Iterator[Journal]:
        """What a fit to these counts has found, while it goes on: models that are fitted."""
        root = self._init_callback_context().call_on_fit_task_begin(estimator=self)
        yield taken_up(self, X.table, X.weights)
        del self._unfinished
        root.call_on_fit_task_end(estimator=self)

    def __sklearn_tags__(self) -> Tags:
        return attributes.tagged(super().__sklearn_tags__())
