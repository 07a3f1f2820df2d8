"""Selection of columns: words of topics stay, however frequent; common words go."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from skcooc.columns.named import CountsMixin
from skcooc.estimators.aspect import AspectModel
from skcooc.protocol import CSR, Array, RandomState, TableLike, warn
from skcooc.protocol.bases import BaseEstimator
from skcooc.protocol.decorators import fit_context
from skcooc.protocol.scikit_learn import Interval
from skcooc.tables import Dyads, check_table, column_names_of, row_names_of, with_names

MAX_ROWS = 2000  # which show well enough what frequent columns tell
MAX_ROUNDS = 5
TUNED_ROUNDS = 2  # in which beta is tuned; there is little to drop later
MAX_ITER = 30  # of EM: topics need not be exact
MAX_SMOOTHING = 0.5  # weight of the unigram in predictions, above which topics are chance
MIN_ROWS = 10  # that have a column which is dropped
MIN_TOKENS = 1000  # in which topics can be found
LARGEST_SHARE = 0.9  # of the tokens that is dropped without a warning


class TopicalColumns(CountsMixin, SelectorMixin, BaseEstimator, auto_wrap_output_keys=None):
    """Drop common columns, such as words that occur equally in texts of all topics.

    Common words blur topics and make their shares too equal. ``CountVectorizer(max_df=0.25)`` drops
    them by frequency alone, and with them the words of large topics. This selector fits aspect
    models to the counts and measures how much information a token of column y_j provides about its
    topic:

        KL(P(z given y_j) || P(z)) / H(P(z))

    0 means no information. Columns that determine the topic get 1 on average. Columns below
    ``min_information`` in all models are dropped. Models are then fitted to the remaining columns,
    at most five times. Read more in the :doc:`how-to guide </howto/texts>`.

    Parameters
    ----------
    min_information : float in [0, 1], default=0.1
        Columns with less information are dropped.
    min_row_share : float in [0, 1], default=0.02
        Columns that occur in a smaller share of the rows, or in fewer than 10 rows, are always
        kept. Their information is uncertain, and they do little harm.
    n_components : int or sequence of int, default=(4, 8)
        Number of topics of each model. It need not be the number of topics that you want to find.
        Two models are safer than one, which may contain several copies of a large topic.
    random_state : int, RandomState instance or None, default=None
        Seed of the models, and of the sample of 2,000 rows to which they are fitted.

    Attributes
    ----------
    information_ : (M,) array
        Information of each column, the largest over the models. For a dropped column it is that of
        the last round before it was dropped. NaN if no model was fitted.
    row_shares_ : (M,) array
        Share of the rows in which each column occurs.
    dropped_ : (n,) array of int
        Positions of the dropped columns, sorted by decreasing information. Check the first ones.
    n_features_in_, feature_names_in_ : int, and (M,) array of str
        Number M of columns, and their names if they are strings.
    column_names_in_ : (M,) array
        Names of the columns, of any type, if the data has names.

    See Also
    --------
    skcooc.NamedCounts : Counts of a vectorizer with column names, which this selector keeps.

    Notes
    -----
    Nothing is dropped if no column is frequent, if there are fewer than 1,000 tokens, or if there
    are no more columns than topics. A single topic provides no information. Nothing is dropped
    either if the topics do not predict, as in a table without structure. This is the case if the
    overall column frequencies get more than half of the weight in predictions (``smoothing_`` of
    `AspectModel`). ``benchmarks/vocabulary.py`` compares this selector with limits on frequency.

    Use a list of stop words as well. A word such as "thou" provides information about the topic but
    does not help to interpret it.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from skcooc import NamedCounts, TopicalColumns
    >>> from skcooc.datasets import load_bible
    >>> counts = NamedCounts(CountVectorizer(stop_words="english", min_df=5))
    >>> X = counts.fit_transform(load_bible().data)
    >>> selector = TopicalColumns(random_state=0).fit(X)
    >>> words = selector.get_feature_names_out().tolist()
    >>> "day" in words, "israel" in words
    (False, True)
    >>> doubtful = selector.feature_names_in_[selector.dropped_[:20]]
    """

    information_: Array
    row_shares_: Array
    dropped_: Array
    n_features_in_: int
    feature_names_in_: Array
    column_names_in_: Array

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "min_information": [Interval(Real, 0, 1, closed="both")],
        "min_row_share": [Interval(Real, 0, 1, closed="both")],
        "n_components": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "random_state": ["random_state"],
    }

    def __init__(
        self, *, min_information: float = 0.1, min_row_share: float = 0.02,
        n_components: int | Sequence[int] = (4, 8), random_state: RandomState = None,
    ) -> None:  # fmt: skip
        self.min_information = min_information
        self.min_row_share = min_row_share
        self.n_components = n_components
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: TableLike, y: object = None) -> Self:
        """Find the columns that provide little information about the topic.

        Parameters
        ----------
        X : array-like or sparse array of shape (N, M)
            Counts.
        y : None
            Ignored.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If X contains negative or missing values.
        TypeError
            If X contains tokens instead of columns, or is not in memory.

        Warns
        -----
        UserWarning
            If the dropped columns contain more than 90 % of the tokens.
        """
        sizes = np.atleast_1d(self.n_components)
        if sizes.ndim > 1 or not len(sizes) or sizes.dtype.kind not in "iu" or sizes.min() < 1:
            raise ValueError(
                f"n_components is {self.n_components!r}; it must be a positive integer, or several."
            )
        table = self._table(X, reset=True)
        n_rows = np.bincount(table.indices[table.data > 0], minlength=table.shape[1])
        is_frequent = n_rows >= max(self.min_row_share * table.shape[0], MIN_ROWS)
        rng = check_random_state(self.random_state)
        if table.shape[0] > MAX_ROWS:
            sample = table[np.sort(rng.choice(table.shape[0], MAX_ROWS, replace=False))]
        else:
            sample = table
        sums = sample.sum(axis=0, dtype=np.float64)
        models = [
            AspectModel(
                K,
                tempering="distinctive",
                max_iter=MAX_ITER,
                random_state=rng.randint(2**31 - 1),
            )
            for K in sorted(sizes.tolist(), reverse=True)
        ]
        information = np.full(len(sums), np.nan)
        support = np.ones(len(sums), dtype=bool)
        for number in range(MAX_ROUNDS):
            columns = np.flatnonzero(support & (sums > 0))
            is_enough = len(columns) > sizes.max() > 1 and sums[columns].sum() >= MIN_TOKENS
            if not (is_enough and is_frequent[columns].any()):
                break
            if number < TUNED_ROUNDS:
                models[0].set_params(beta="auto")
            if not _fit(models, sample[:, columns]):
                break
            information[columns] = np.max([_information(model) for model in models], axis=0)
            is_common = is_frequent[columns] & (information[columns] < self.min_information)
            if not is_common.any() or len(columns) - is_common.sum() <= sizes.max():
                break
            support[columns[is_common]] = False
        dropped = np.flatnonzero(~support)
        share = sums[dropped].sum() / max(sums.sum(), 1.0)
        if share > LARGEST_SHARE:
            warn(
                f"{len(dropped)} columns with {100 * share:.0f} % of the tokens say little about "
                "a topic, and are dropped. If they are of interest, lower min_information, "
                f"which is {self.min_information:g}, or leave TopicalColumns out."
            )
        self.information_ = information
        self.row_shares_ = n_rows / max(table.shape[0], 1)
        self.dropped_ = dropped[np.argsort(-information[dropped], kind="stable")]
        return self

    def transform(self, X: TableLike) -> CSR:
        """Select the columns that are kept.

        Parameters
        ----------
        X : array-like or sparse array of shape (n, M)
            Counts.

        Returns
        -------
        counts : CSR array of shape (n, m)
            If X has names, they are the attributes ``row_names`` and ``column_names``.
        """
        check_is_fitted(self)
        support = self.get_support()
        counts = self._table(X, reset=False)[:, support]
        names = getattr(self, "column_names_in_", None)
        return with_names(counts, None if names is None else names[support], row_names_of(X))

    def _table(self, X: TableLike, reset: bool) -> CSR:
        if isinstance(X, Dyads):
            raise TypeError(
                "TopicalColumns selects columns of a table of counts, got Dyads: give the table."
            )
        table = check_table(self, X, reset=reset)
        if reset and (names := column_names_of(X)) is not None:
            self.column_names_in_ = names
        elif reset and hasattr(self, "column_names_in_"):
            del self.column_names_in_
        return table

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        support = np.ones(self.n_features_in_, dtype=bool)
        support[self.dropped_] = False
        return support

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags


def _fit(models: Sequence[AspectModel], table: CSR) -> bool:
    """Fit models, the first of which may tune beta for all; False if its topics do not predict."""
    with warnings.catch_warnings():  # whether topics are equal or EM ends is of no interest
        warnings.simplefilter("ignore")
        for model in models:
            model.fit(table)
            if model.smoothing_ > MAX_SMOOTHING:
                return False
            for follower in models:
                follower.set_params(beta=model.beta_)
    return True


def _information(model: AspectModel) -> Array:
    """Share of the entropy of the topic that a token of each column tells, (M,)."""
    shares = np.maximum(model.component_distribution_, 1e-12)
    topics = model.components_ * shares[:, None]
    topics /= topics.sum(axis=0)
    logarithms = np.log(np.maximum(topics, 1e-30) / shares[:, None])
    entropy = -(shares * np.log(shares)).sum()
    return (topics * logarithms).sum(axis=0) / max(entropy, 1e-12)
