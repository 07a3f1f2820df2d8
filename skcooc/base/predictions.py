"""What a fitted model does with rows: fold-in, honest scores, sampling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from skcooc.counts import thin
from skcooc.em import State
from skcooc.fitting.table import fold_in, over_new_rows
from skcooc.heldout import scoring
from skcooc.protocol import Array, Counts, Predictor
from skcooc.tables.checks import check_same_table, check_table, is_collection, n_threads
from skcooc.tables.dask import transformed
from skcooc.tables.dyads import Dyads

SPLIT_SEED = 0  # divides a row into what is folded in and what is scored


class Predictions(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """The methods of a fitted estimator that need no more than P(k given x) and P(y given k)."""

    n_jobs: int | None
    random_state: Any
    beta_: float
    smoothing_: float
    components_: Array
    embedding_: Array
    row_distribution_: Array
    unigram_: Array
    _state: State
    _fitted_model: Any
    _table: Dyads
    _prediction_model: Callable[[], Predictor]

    def transform(self, X: Any) -> Array:
        """Fold rows into the fitted model.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame or dask array of shape (n, M), or Dyads

        Returns
        -------
        mixtures : (n, K) array
            P(k given x_i); a row without observations gets ``weights_``.
            ``transform(X) @ components_`` is P(y given x). Of a dask array it is a dask array,
            computed block by block when it is asked for.
        """
        if is_collection(X):
            check_is_fitted(self)
            return transformed(self, X)
        return self._fold_in(self._checked(X))

    def inverse_transform(self, Z: ArrayLike) -> Array:
        """Distributions over columns from mixtures.

        Parameters
        ----------
        Z : array-like of shape (n, K)

        Returns
        -------
        P : (n, M) array
            ``Z @ components_``.
        """
        check_is_fitted(self)
        mixtures: Array = check_array(Z, dtype=[np.float64, np.float32])
        if mixtures.shape[1] != len(self.components_):
            raise ValueError(
                f"Z has {mixtures.shape[1]} components, but {type(self).__name__} has "
                f"{len(self.components_)}."
            )
        return mixtures @ self.components_

    def score_samples(self, X: Any) -> Array:
        """Log-likelihood of held-out observations, in nats for each.

        Parameters
        ----------
        X : Dyads, or array-like, sparse array or matrix, DataFrame of shape (n, M)
            Observations of the rows fitted (Dyads), or new rows (anything else): half of the
            observations of a new row are folded in, and the other half is scored.

        Returns
        -------
        log_likelihood : (n_samples,) array
            Of each observation (Dyads); the mean over the scored observations of each row
            (otherwise), which is zero for a row that has none.
        """
        return self._score_samples(X)[0]

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of held-out observations, in nats; larger is better.

        Parameters
        ----------
        X : Dyads, or array-like, sparse array or matrix, DataFrame of shape (n, M)
            As in ``score_samples``.
        y : None
            Ignored.

        Returns
        -------
        score : float
        """
        samples, weights = self._score_samples(X)
        if not weights.any():
            raise ValueError("X holds no observations to score: all entries are zero.")
        counted = weights > 0  # an impossible observation of weight zero would give NaN
        return float(np.average(samples[counted], weights=weights[counted]))

    def perplexity(self, X: Any) -> float:
        """exp(-score(X)): among how many columns the model seems to guess.

        Parameters
        ----------
        X : Dyads, or array-like, sparse array or matrix, DataFrame of shape (n, M)

        Returns
        -------
        perplexity : float
        """
        return float(np.exp(-self.score(X)))

    def sample(self, n_samples: int = 1) -> Dyads:
        """Draw observations from the fitted model.

        Parameters
        ----------
        n_samples : int, default=1

        Returns
        -------
        dyads : Dyads
            Of the table fitted, in random order.

        Raises
        ------
        ValueError
            Where the table was read in blocks, of which no rows are kept.
        """
        check_is_fitted(self)
        if not len(self.embedding_):
            raise ValueError("There are no rows to sample: of a table in blocks none are kept.")
        rng = np.random.default_rng(self._seeds(1)[0])
        factors = self.row_distribution_, self.embedding_, self.components_
        return self._table.like(*scoring.draw(n_samples, *factors, rng))

    def _fold_in(self, X: Any) -> Array:
        """P(k given x) of rows of a checked table."""
        return self._prediction_model().factors(self._prediction_params(), self._row_states(X))[0]

    def _checked(self, X: Any) -> Any:
        """The checked table of rows for a fitted model."""
        check_is_fitted(self)
        return check_table(self, X, reset=False)

    def _checked_row_states(self, X: Any) -> Array:
        """The states that the model gives to rows of any table."""
        return self._row_states(self._checked(X))

    def _row_states(self, X: Any) -> Array:
        """The states that the model gives to rows of a checked table."""
        return self._settled(self._prediction_model(), X)

    def _settled(self, model: Predictor, X: Any, start: Array | None = None) -> Array:
        """The states that a model gives to rows of a checked table, from those given."""
        params = self._prediction_params()
        return fold_in(model, params, self.beta_, X, n_threads(self.n_jobs), start)

    def _prediction_params(self) -> Any:
        """The parameters by which new rows are folded in."""
        return self._state.params

    def _over_rows(self, function: Callable[[Counts], Array], X: Any) -> Array:
        """function(counts) of rows of a checked table."""
        return over_new_rows(function, X, n_threads(self.n_jobs))

    def _row_log_likelihoods(self, X: Any, A: Array, B: Array) -> Array:
        """sum_j n_ij log(A[i] @ B[j]) of rows of a checked table, (n,), in nats."""
        means, counts = scoring.score_rows(X, A, B, scoring.Smoothing(0.0, self.unigram_))
        return means * counts

    def _score_samples(self, X: Any) -> tuple[Array, Array]:
        """Log-likelihood of every sample, and its weight in the mean."""
        check_is_fitted(self)
        smooth, components = scoring.Smoothing(self.smoothing_, self.unigram_), self.components_.T
        if isinstance(X, Dyads):
            check_same_table(self._table, X, type(self).__name__)
            weights = np.ones(len(X)) if X.weights is None else X.weights
            pairs = X.rows, X.columns
            return scoring.score_pairs(*pairs, self.embedding_, components, smooth), weights
        known, scored = thin(check_table(self, X, reset=False), 0.5, SPLIT_SEED, occupied=True)
        return scoring.score_rows(scored, self._fold_in(known), components, smooth)

    def _seeds(self, n: int) -> tuple[int, ...]:
        return tuple(check_random_state(self.random_state).randint(2**31, size=n).tolist())

    def _become(self, fitted: dict[str, Any]) -> None:
        """Take over the attributes of a finished fit, and none of an earlier one."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        self.__dict__.update(fitted)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)
