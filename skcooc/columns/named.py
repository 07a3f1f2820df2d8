"""Names of columns, from the vectorizer to the model."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import Tags, check_array, get_tags
from sklearn.utils.validation import check_is_fitted

from skcooc.protocol import CSR, Array
from skcooc.protocol.bases import BaseEstimator, MetaEstimatorMixin, TransformerMixin
from skcooc.protocol.decorators import available_if, fit_context
from skcooc.protocol.scikit_learn import HasMethods, is_pandas_na
from skcooc.tables import row_names_of, with_names


class CountsMixin(TransformerMixin, auto_wrap_output_keys=None):
    """Mixin class of transformers that return sparse counts, with the names of their columns."""

    def set_output(
        self, *, transform: Literal["default", "pandas", "polars"] | None = None
    ) -> Self:
        """Do nothing, because counts stay sparse. Later steps of a pipeline return DataFrames.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
            Ignored.

        Returns
        -------
        self : object
        """
        return self


class NamedCounts(CountsMixin, MetaEstimatorMixin, BaseEstimator, auto_wrap_output_keys=None):
    """Counts of a vectorizer, together with the names of the columns.

    The vectorizers of scikit-learn return sparse arrays, which have no column names.
    ``NamedCounts`` wraps a vectorizer and adds the names, so models of this package treat the
    counts like a DataFrame. You can then pass seeds, topics and priors by name, even in a pipeline
    whose vocabulary differs between folds. `AspectModel.partial_fit` can match columns by name, and
    fitted models have ``feature_names_in_``. Read more in the :doc:`how-to guide
    </howto/seed_words>`.

    Parameters
    ----------
    vectorizer : transformer with ``get_feature_names_out``
        The vectorizer, such as ``CountVectorizer(min_df=5)``, a ``DictVectorizer``, a
        ``OneHotEncoder`` or a ``FeatureUnion``. A clone is fitted. ``HashingVectorizer`` is not
        supported, because it does not know the names.

    Attributes
    ----------
    vectorizer_ : fitted transformer
        The fitted clone.

    Notes
    -----
    The names are kept if rows are selected, as in cross-validation, or columns, as by
    :class:`~sklearn.feature_selection.SelectKBest`. Copies keep them as well, also in other
    processes. Sums, transposes and stacked tables lose them.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.model_selection import cross_validate
    >>> from sklearn.pipeline import make_pipeline
    >>> from skcooc import GuidedAspectModel, NamedCounts
    >>> from skcooc.datasets import load_bible
    >>> texts = load_bible().data[::5]
    >>> seeds = {"war": ["battle", "army"], "wisdom": ["wise", "wisdom"]}
    >>> model = GuidedAspectModel(4, seed_features=seeds, beta=0.8, random_state=0)
    >>> pipeline = make_pipeline(NamedCounts(CountVectorizer(min_df=5)), model)
    >>> scores = cross_validate(pipeline, texts, cv=3, return_estimator=True)
    >>> [len(fitted[-1].feature_names_in_) for fitted in scores["estimator"]]
    [1265, 1355, 1254]
    """

    vectorizer_: Any

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "vectorizer": [HasMethods(["fit_transform", "transform"])],
    }

    def __init__(self, vectorizer: Any) -> None:
        self.vectorizer = vectorizer

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Fit the vectorizer.

        Parameters
        ----------
        X : iterable of n samples
            Input of the vectorizer, such as texts. Missing texts (None, NaN) are empty.
        y : array-like of shape (n,), default=None
            Target for a vectorizer that selects columns.

        Returns
        -------
        self : object
        """
        self.fit_transform(X, y)
        return self

    @fit_context(prefer_skip_nested_validation=False)
    def fit_transform(self, X: Any, y: ArrayLike | None = None) -> CSR:  # type: ignore[override]
        """Fit the vectorizer and return the counts.

        Parameters
        ----------
        X : iterable of n samples
            Input of the vectorizer, such as texts. Missing texts (None, NaN) are empty.
        y : array-like of shape (n,), default=None
            Target for a vectorizer that selects columns.

        Returns
        -------
        counts : CSR array of shape (n, M)
            The attribute ``column_names`` contains M names. ``row_names`` contains the index of X
            if X is a pandas object whose index names the rows.

        Raises
        ------
        TypeError
            If the vectorizer has no ``get_feature_names_out``.
        """
        if not hasattr(self.vectorizer, "get_feature_names_out"):
            raise TypeError(
                f"{type(self.vectorizer).__name__} has no get_feature_names_out, so that its "
                "columns have no names. Take CountVectorizer, or leave NamedCounts out."
            )
        vectorizer = clone(self.vectorizer)
        counts = vectorizer.fit_transform(self._texts(X), y)
        self.vectorizer_ = vectorizer
        self.__dict__.pop("_names", None)
        return self._named(counts, X)

    def transform(self, X: Any) -> CSR:
        """Return the counts.

        Parameters
        ----------
        X : iterable of n samples
            Input of the vectorizer, such as texts. Missing texts (None, NaN) are empty.

        Returns
        -------
        counts : CSR array of shape (n, M)
            As returned by :meth:`fit_transform`.
        """
        check_is_fitted(self)
        return self._named(self.vectorizer_.transform(self._texts(X)), X)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
        """Return the names of the columns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Passed to the vectorizer.

        Returns
        -------
        names : (M,) array of str
        """
        check_is_fitted(self)
        return self.vectorizer_.get_feature_names_out(input_features)

    @available_if(lambda self: hasattr(self.vectorizer, "build_analyzer"))
    def build_analyzer(self) -> Callable[[str], list[str]]:
        """Return the function by which the vectorizer divides a text into words.

        Returns
        -------
        analyzer : callable
        """
        return getattr(self, "vectorizer_", self.vectorizer).build_analyzer()

    @cached_property
    def _names(self) -> Array:
        """Names of the columns, kept, as CountVectorizer sorts them each time."""
        return np.asarray(self.vectorizer_.get_feature_names_out())

    def _texts(self, X: Any) -> Any:
        """Texts with empty ones for those missing; the input of other vectorizers."""
        if isinstance(X, str) or not hasattr(self.vectorizer, "build_analyzer"):
            return X
        return ["" if _is_missing(text) else text for text in X]

    def _named(self, counts: Any, X: Any) -> CSR:
        table = check_array(
            counts, accept_sparse="csr", ensure_min_samples=0, ensure_min_features=0
        )
        return with_names(table, self._names, row_names_of(X))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.vectorizer).input_tags
        return tags


def _is_missing(text: object) -> bool:
    return text is None or is_pandas_na(text) or (isinstance(text, float) and np.isnan(text))
