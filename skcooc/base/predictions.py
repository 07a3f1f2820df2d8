"""What a fitted model does with rows: fold-in, predictions, sampling."""

from __future__ import annotations

import copy
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from skcooc.base import quantities, recommendations, scores
from skcooc.em import Record, Run, State
from skcooc.fitting.fold_in import fold_in, over_rows
from skcooc.fitting.journal import Journal
from skcooc.fitting.recipe import draw_seeds
from skcooc.fitting.stream import Begun, Passes, Stream
from skcooc.fitting.tuning import Trial
from skcooc.heldout import scoring
from skcooc.heldout.predictors import Factors, smoothed
from skcooc.heldout.validation import Judged
from skcooc.protocol import (
    CSR,
    Array,
    Block,
    FoldIn,
    Params,
    Predictor,
    RandomState,
    Statistics,
    TableLike,
)
from skcooc.protocol.decorators import computed, validated
from skcooc.tables import Dyads, Frame, check_same_table, is_collection, read_rows
from skcooc.tables.dask import check_row_blocks
from skcooc.version import __version__, check_version

VERSION = "_skcooc_version"  # in the state of a pickled estimator


class Predictions(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """The methods of a fitted estimator that need no more than P(k given x) and P(y given k)."""

    n_jobs: int | None
    random_state: RandomState
    beta_: float
    smoothing_: float
    components_: Array
    embedding_: Array
    weights_: Array
    row_distribution_: Array
    unigram_: Array
    n_features_in_: int
    feature_names_in_: Array
    n_iter_: int
    objective_: float
    converged_: bool
    history_: list[Record]
    tuning_: list[Trial]
    _state: State
    _fitted_model: Any  # its equations
    _fitted_parameters: dict[str, object]
    _frame: Frame
    _unfinished: Journal | None = None
    _end: Run | None  # kept for a warm start
    _stream: Begun | Stream | None
    _passes: Passes | None
    _judged: Judged | None
    _factorised: ClassVar[bool] = True  # that is all it predicts, but for smoothing

    component_distribution_ = computed(quantities.component_distribution)
    column_embedding_ = computed(quantities.column_embedding)
    row_names_in_ = computed(quantities.row_names)
    row_components_ = computed(quantities.row_components)
    joint_distribution = quantities.joint_distribution
    row_log_likelihood = quantities.row_log_likelihood
    recommend = recommendations.recommend
    score_samples = scores.score_samples
    score = scores.score
    perplexity = scores.perplexity

    def transform(self, X: TableLike) -> Array:
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
        check_is_fitted(self)
        if is_collection(X):
            return self._lazily("transform", X, len(self.components_))
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

    @validated({"n_samples": [Interval(Integral, 0, None, closed="left")]})
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
            Where the table was read in blocks, of which no rows are kept, or ``n_samples`` is
            negative or no int.
        """
        check_is_fitted(self)
        if not len(self.embedding_):
            raise ValueError("There are no rows to sample: of a table in blocks none are kept.")
        rng = np.random.default_rng(draw_seeds(self.random_state, 1)[0])
        of_rows = np.asarray(self.row_distribution_), np.asarray(self.embedding_)
        factors = *of_rows, self.components_
        return Dyads.of(self._frame, *scoring.draw(n_samples, *factors, rng))

    def _lazily(self, method: str, X: TableLike, n_columns: int) -> TableLike:
        """What a method gives for the rows of a dask array, lazily and block by block."""
        check_row_blocks(X)
        light, params, rows = copy.copy(self), *self._state  # without the rows fitted, to be sent
        dtype, width = self.components_.dtype, self.embedding_.shape[1]
        light.embedding_, light.row_distribution_ = np.empty((0, width), dtype), np.empty(0)
        light.__dict__["_state"] = State(params, np.empty((0, rows.shape[1]), dtype))
        return X.map_blocks(
            getattr(light, method),
            dtype=dtype,
            chunks=(X.chunks[0], (n_columns,)),
            meta=np.empty((0, 0), dtype=dtype),
        )

    def _fold_in(self, X: Block) -> Array:
        """P(k given x) of checked rows."""
        model, params = self._folding()
        return model.factors(params, self._row_states(X))[0]

    def _checked(self, X: TableLike) -> Block:
        """Rows for a fitted model."""
        check_is_fitted(self)
        return read_rows(self, X)

    def _folding(self) -> tuple[FoldIn[Params, Statistics], Params]:
        """The equations by which new rows are folded in, and their parameters."""
        return self._fitted_model.folding(self._state.params)

    def _mixing(self) -> tuple[Array, Array]:
        """The prior of the mixture of a new row: that of the model, or else the rows fitted."""
        prior = self._fitted_model.mixing(self._state.params)
        if prior is None:
            return np.asarray(self.row_distribution_), np.asarray(self.embedding_)
        return prior

    def _row_states(self, X: Block) -> Array:
        """The states that the model gives to checked rows."""
        return self._settled(*self._folding(), X)

    def _settled(
        self,
        model: FoldIn[Params, Statistics],
        params: Params,
        X: Block,
        start: Array | None = None,
    ) -> Array:
        """The states that a model gives to checked rows, from those given."""
        return fold_in(model, params, self.beta_, X, self.n_jobs, start)

    def _over_rows(self, function: Callable[[Block], Array], X: Block) -> Array:
        """function(counts) of checked rows."""
        return over_rows(function, X, self.n_jobs)

    def _row_log_likelihoods(self, X: Block, A: Array, B: Array) -> Array:
        """sum_j n_ij log(A[i] @ B[j]) of checked rows, (n,), in nats."""
        means, counts = scoring.score_rows(X, Factors(A, B))
        return means * counts

    def _score_samples(self, X: TableLike) -> tuple[Array, Array]:
        """Log-likelihood of every sample, and its weight in the mean."""
        check_is_fitted(self)
        if isinstance(X, Dyads):
            check_same_table(self._frame, X, type(self).__name__)
            scoring.check_rows_known(np.asarray(self.row_distribution_), X.rows)
            counts, order = X.listed(self.embedding_.dtype)
            weights = np.ones(len(X)) if X.weights is None else X.weights
            return scoring.score_pairs(counts, order, self._predictor(None)), weights
        known, scored = scoring.halves(read_rows(self, X))
        return scoring.score_rows(scored, self._predictor(known))

    def _predictor(self, known: Block | None) -> Predictor:
        """What is predicted of rows of which this is known; of those fitted where it is None."""
        if known is None:
            return self._predicting(np.asarray(self.embedding_), self._rows_fitted())
        return self._predicting(self._fold_in(known), known.table)

    def _predicting(self, mixtures: Array, known: CSR | None) -> Predictor:
        """What is predicted of rows of these mixtures, (n, K), of which this is known, (n, M)."""
        return smoothed(Factors(mixtures, self.components_.T), self.unigram_, self.smoothing_)

    def _rows_fitted(self) -> CSR | None:
        """What is known of the rows fitted, where predictions need it."""
        return None

    def __getstate__(self) -> dict[str, Any]:
        # As scikit-learn does for its own estimators.
        return {**super().__getstate__(), VERSION: __version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        check_version(state.get(VERSION), type(self).__name__)
        state = {name: value for name, value in state.items() if name != VERSION}
        super().__setstate__(state)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
        """Names of the columns that ``transform`` returns.

        Parameters
        ----------
        input_features : None
            Ignored, as by scikit-learn's own decompositions.

        Returns
        -------
        names : (K,) array of str
            The class and the number of each component, such as "aspectmodel0"; a name in its place
            where :func:`skcooc.inspection.set_names` has set one.
        """
        check_is_fitted(self)
        names: Array = super().get_feature_names_out(input_features)
        for k, name in getattr(self, "component_names_", {}).items():
            names[k] = name
        return names

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)
