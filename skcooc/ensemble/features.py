"""Topic mixtures of rows as features for a classifier."""

from __future__ import annotations

import copy
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skcooc.base import A_MODEL, CooccurrenceEstimator, attributes
from skcooc.base.predictions import tags_of_counts
from skcooc.ensemble.members import check_without_groups
from skcooc.protocol import Array, TableLike
from skcooc.protocol.bases import BaseEstimator, MetaEstimatorMixin, MixturesMixin
from skcooc.protocol.decorators import fit_context
from skcooc.protocol.scikit_learn import Interval
from skcooc.tables import is_collection


class MixtureFeatures(MixturesMixin, MetaEstimatorMixin, BaseEstimator):
    """Square roots of mixtures folded in at a small beta, as features for a classifier.

    The mixture that predicts the words of a document best is nearly sparse, so weak evidence for
    most topics is lost. At an inverse temperature below that of the fit, a row keeps a share of
    every topic for which there is some evidence. The features of a row are

        phi_k(x) = sqrt(P_beta(z_k given x))

    They are a point on the unit sphere. Euclidean distances of features are the Hellinger distances
    of mixtures times the square root of two. Training rows are folded in like new rows, so their
    features have the same distribution. The features have small variances. Scale them, for
    instance by :class:`~sklearn.preprocessing.StandardScaler`.

    Read more in the :doc:`how-to guide </howto/features>`.

    Parameters
    ----------
    estimator : estimator of this package
        The model, usually an `AspectModel`. A clone is fitted to the counts. Hard clusters stay
        hard.

    beta : float in (0, 1], default=0.2
        Inverse temperature of the fold-in. Accuracy hardly differs between 0.1 and 0.4.

    Attributes
    ----------
    estimator_ : fitted estimator
        The fitted model. Its ``beta_`` is the inverse temperature of the fit.
    n_features_in_ : int
        Number M of columns.
    feature_names_in_ : (M,) array of str
        Names of the columns, if X has names.

    Notes
    -----
    To predict words or to interpret documents, use the mixtures of the estimator, which maximise
    the likelihood. If you need only a few features, fit many topics and take principal components
    of their features. This works better than fitting a few topics.

    References
    ----------
    T. Hofmann and J. Puzicha, Statistical models for co-occurrence data, AI Memo 1625, MIT, 1998,
    section 5.1, for EM at a temperature. T. Hofmann, Learning the similarity of documents: an
    information-geometric approach to document retrieval and categorization, NIPS 12, 2000, for
    square roots of multinomials.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skcooc import AspectModel, MixtureFeatures
    >>> from skcooc.datasets import make_cooccurrences
    >>> data = make_cooccurrences(100, 80, n_components=4, random_state=0)
    >>> y = data.mixtures.argmax(axis=1)
    >>> features = MixtureFeatures(AspectModel(4, random_state=0))
    >>> model = make_pipeline(features, StandardScaler(), LogisticRegression())
    >>> bool(model.fit(data.X[:50], y[:50]).score(data.X[50:], y[50:]) > 0.6)
    True
    """

    estimator_: CooccurrenceEstimator
    n_features_in_: int
    feature_names_in_: Array
    _warm: CooccurrenceEstimator

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [A_MODEL],
        "beta": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(self, estimator: CooccurrenceEstimator, *, beta: float = 0.2) -> None:
        self.estimator, self.beta = estimator, beta

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: TableLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the estimator.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (N, M), or Dyads
            Non-negative counts.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, or of each token if X is Dyads.

        Returns
        -------
        self : object
        """
        check_without_groups(self.estimator)
        # A fit that fails leaves self as it was.
        fitted = clone(self.estimator).fit(X, sample_weight=sample_weight)
        warm = copy.copy(fitted)
        warm.beta_ = self.beta
        names = attributes.input_attributes(fitted)
        attributes.set_fitted_attributes(self, names | {"estimator_": fitted, "_warm": warm})
        return self

    def transform(self, X: TableLike) -> Array:
        """Compute the features of rows.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame, dask array, Dyads, or a table in blocks
            Of shape (n, M).

        Returns
        -------
        features : (n, K) array
            The squares of a row sum to one. An empty row gets the square roots of ``weights_``. For
            a dask array, the result is a dask array.
        """
        check_is_fitted(self)
        mixtures = self._warm.transform(X)
        return np.sqrt(mixtures if is_collection(X) else np.asarray(mixtures))

    @property
    def _model_of_columns(self) -> CooccurrenceEstimator:
        return self.estimator_

    def __sklearn_tags__(self) -> Tags:
        return tags_of_counts(super().__sklearn_tags__())
