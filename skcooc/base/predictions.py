"""Fold-in, predictions and sampling of fitted models."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags, check_array
from sklearn.utils.validation import check_is_fitted

from skcooc import tables
from skcooc.base import quantities, recommendations
from skcooc.base.recommendations import Recommendations
from skcooc.em import EMState, Record, State
from skcooc.fitting.journal import Journal
from skcooc.fitting.recipe import draw_seeds
from skcooc.fitting.stream import Passes, Stream, fold_in, over_rows
from skcooc.fitting.tuning import Trial
from skcooc.heldout import scoring
from skcooc.heldout.memory import CacheParameters
from skcooc.heldout.predictors import Factors, smoothed, with_background
from skcooc.heldout.validation import HeldOutPredictions, add_one_unigram
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
    warn,
)
from skcooc.protocol.bases import MixturesMixin
from skcooc.protocol.decorators import validated
from skcooc.protocol.scikit_learn import Interval
from skcooc.simplex import normalise
from skcooc.tables import Dyads, TableSchema
from skcooc.tables.blocks import check_row_blocks
from skcooc.version import __version__, check_version

VERSION = "_skcooc_version"  # in the state of a pickled estimator


def tags_of_counts(tags: Tags) -> Tags:
    """Return the tags of an estimator of counts, whose type it keeps."""
    tags.input_tags.sparse = tags.input_tags.positive_only = True
    tags.transformer_tags.preserves_dtype = ["float64", "float32"]
    return tags


class Predictions(MixturesMixin):
    """Methods of fitted estimators that need P(k given x) and P(y given k) only."""

    fit: Callable[..., Self]
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
    _schema: TableSchema
    _cache: CacheParameters | None = None  # of the cache for which it is tuned
    _unfinished: Journal | None = None
    _end: EMState | None  # kept for a warm start
    _mass: float  # tokens of the fit, weights of rows included
    _columns: Array | None = None  # (m,): columns with tokens; None: all
    _stopped: bool  # whether a callback stopped the last fit
    _stream: Stream | None = None
    _passes: Passes | None
    _heldout_predictions: HeldOutPredictions | None
    is_factorised: ClassVar[bool] = True  # that is all it predicts, but for smoothing

    def transform(self, X: TableLike) -> Array:
        """Fold rows into the fitted model.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame, dask array, Dyads, or a table in blocks
            Of shape (n, M).

        Returns
        -------
        mixtures : (n, K) array
            P(k given x_i). An empty row gets ``weights_`` if the model has them. ``transform(X) @
            components_`` is P(y given x). For a dask array, the result is a lazy dask array.

        Warns
        -----
        UserWarning
            If rows have no counts in the columns of the fit, such as texts without a known word.
            Their mixtures are meaningless.
        """
        check_is_fitted(self)
        if tables.is_out_of_core(X):
            return self._map_blocks("transform", self.fold_in, X, len(self.components_))
        return self.fold_in(self._read_rows(X))

    def inverse_transform(self, Z: ArrayLike) -> Array:
        """Return the distribution over the columns for each mixture.

        Parameters
        ----------
        Z : array-like of shape (n, K)
            Mixtures, as from ``transform``.

        Returns
        -------
        P : (n, M) array
            ``Z @ components_``.
        """
        check_is_fitted(self)
        mixtures: Array = check_array(Z, dtype=[np.float64, np.float32])
        if mixtures.shape[1] != len(self.components_):
            what = f"Z has {mixtures.shape[1]} components"
            raise ValueError(f"{what}, but {type(self).__name__} has {len(self.components_)}.")
        return mixtures @ self.components_

    @validated({"n_samples": [Interval(Integral, 0, None, closed="left")]})
    def sample(self, n_samples: int = 1) -> Dyads:
        """Draw tokens from the fitted model.

        Parameters
        ----------
        n_samples : int, default=1
            Number of tokens.

        Returns
        -------
        dyads : Dyads
            Simulated tokens, with the rows and columns of the training table, in random order.

        Raises
        ------
        ValueError
            If ``n_samples`` is negative or not an int. If the training table was read in blocks,
            because its rows are not kept.
        """
        check_is_fitted(self)
        if not len(self.embedding_):
            raise ValueError("Cannot sample: the training rows were not kept (table in blocks).")
        rng = np.random.default_rng(draw_seeds(self.random_state, 1)[0])
        of_rows = np.asarray(self.row_distribution_), np.asarray(self.embedding_)
        factors = *of_rows, self.components_
        return Dyads.from_schema(self._schema, *scoring.draw(n_samples, *factors, rng))

    def score_samples(self, X: TableLike) -> Array:
        """Log-likelihood of held-out tokens, in nats per token.

        To score whole new rows, use ``row_log_likelihood``.

        Parameters
        ----------
        X : Dyads, or array-like, sparse array or matrix, DataFrame of shape (n, M)
            Dyads are held-out tokens of the training rows. Any other table is treated as new rows,
            which are scored by document completion: half of the tokens of a row are folded in, and
            the other half is scored.

        Returns
        -------
        log_likelihood : (n_samples,) array
            For Dyads, one value per token. Otherwise the mean over the scored tokens of each row,
            or zero if there are none.

        Warns
        -----
        UserWarning
            If most tokens of Dyads are in rows without training tokens. This happens if tokens were
            split in their original order instead of at random.
        """
        return self._score_samples(X)[0]

    def score(self, X: TableLike, y: object = None) -> float:
        """Mean log-likelihood of held-out tokens, in nats; larger is better.

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
        return scoring.weighted_mean(*self._score_samples(X))

    def perplexity(self, X: TableLike) -> float:
        """Perplexity of held-out tokens, exp(-score(X)); lower is better.

        It is the effective number of columns between which the model hesitates.

        Parameters
        ----------
        X : Dyads, or array-like, sparse array or matrix, DataFrame of shape (n, M)
            As in ``score_samples``.

        Returns
        -------
        perplexity : float

        Warns
        -----
        UserWarning
            If X is the training table, whose tokens are not held out. ``score``, which
            scikit-learn's searches call, does not warn.
        """
        self._warn_of_training_table(X)
        return float(np.exp(-self.score(X)))

    def _warn_of_training_table(self, X: TableLike) -> None:
        check_is_fitted(self)
        if getattr(X, "table_shape", getattr(X, "shape", ())) != self._schema.shape:
            return
        is_dyads = isinstance(X, Dyads)
        rows = tables.as_counts(X.to_csr()) if is_dyads else self._read_rows(X, scored=True)
        shares, fitted = rows.row_sums / max(rows.row_sums.sum(), 1), self.row_distribution_
        same_rows = len(fitted) == len(shares) and np.allclose(shares, fitted)  # up to scale
        if same_rows and np.allclose(self._unigram_of(rows), self.unigram_):
            given = "test" if hasattr(X, "table_shape") else "Dyads(test)"
            warn(
                "X is the training table, so its perplexity says nothing about new tokens. Hold "
                "some out: train, test = skcooc.model_selection.split_counts(X), fit train, and "
                f"give {given}.",
            )

    def _unigram_of(self, X: Block) -> Array:
        return add_one_unigram(X)

    def joint_distribution(self, rows: ArrayLike, columns: ArrayLike) -> Array:
        """Return P(x_i, y_j) = P(x_i) sum_k P(z_k given x_i) P(y_j given z_k).

        The probabilities are not smoothed, and sum to one over all rows and columns.

        Parameters
        ----------
        rows, columns : array-likes
            Names or positions of training rows and of columns, as in ``recommend``. They are
            broadcast like NumPy indices: two lists of equal length select pairs, and
            ``numpy.ix_(rows, columns)`` selects all combinations. Negative positions count from the
            end.

        Returns
        -------
        P : array of the broadcast shape

        Raises
        ------
        IndexError
            If positions are not integers, cannot be broadcast, or are out of bounds.
        ValueError
            If names are unknown or repeated. If the training table was read in blocks, because its
            rows are not kept.

        Examples
        --------
        >>> import numpy as np
        >>> from skcooc import AspectModel
        >>> model = AspectModel(1, beta=1.0).fit([[3, 1], [3, 1]])
        >>> model.joint_distribution([0, 1], [0, -1]).tolist()
        [0.375, 0.125]
        >>> float(model.joint_distribution(*np.ix_([0, 1], [0, 1])).sum().round(6))
        1.0
        """
        return quantities.joint_distribution(self, rows, columns)

    def row_log_likelihood(self, X: TableLike) -> Array:
        """Log-likelihood of *all* tokens of new rows, with mixtures summed out.

        The prior of a new row is a finite set of mixtures theta_a with weights w_a. The
        log-likelihood is

            log sum_a w_a prod_j P'(y_j given theta_a)^n_ij

        where P' is theta_a @ P(y given z), smoothed as in ``score``. In models of row clusters the
        prior contains one mixture for each cluster, weighted by the probability of the cluster. The
        mixture is the mean center in `ClusteringProjection`, and the node weights of a leaf in
        `ClusterAbstraction`. In other models the prior contains the rows of ``embedding_``,
        weighted by P(x_i). Inverse temperatures are not used.

        Unlike in ``score_samples``, no token of a row is folded in. For training rows the value is
        too high, because the prior contains them.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads
            New rows.

        Returns
        -------
        log_likelihood : (n,) array of float64
            Value of each row, in nats: zero if the row is empty, -inf if it is impossible. Divide
            by ``X.sum(axis=1)`` to compare rows of different lengths.

        Raises
        ------
        ValueError
            If X is negative, not finite, or has other columns than the training table. If the prior
            needs training rows, but the table was read in blocks.

        Notes
        -----
        Time is proportional to the number of mixtures times (non-zero entries of X + M K). Models
        with clusters are therefore much faster than models with a large ``embedding_``.

        References
        ----------
        T. Hofmann and J. Puzicha, Statistical models for co-occurrence data, AI Memo 1625, MIT,
        1998, section 3.1, for clusters.

        N. Laird, Nonparametric maximum likelihood estimation of a mixing distribution, Journal of
        the American Statistical Association 73, 805-811, 1978, for priors of finitely many points.

        Examples
        --------
        >>> from skcooc import AsymmetricClustering
        >>> X = [[8, 0, 1], [9, 1, 0], [0, 7, 2], [1, 8, 3]]
        >>> model = AsymmetricClustering(2, beta=0.5, random_state=0).fit(X)
        >>> usual, strange = model.row_log_likelihood([[4, 0, 0], [2, 2, 0]])
        >>> bool(usual > strange)
        True
        """
        table = self._read_rows(X, scored=True)
        weights, mixtures = self._mixture_prior()
        if not len(weights):
            raise quantities.NoRowsError
        factors = Factors(mixtures, self.components_.T)
        predictor = with_background(factors, self.unigram_, self.smoothing_)

        def log_likelihoods(X: Block) -> Array:
            return scoring.log_likelihoods(X, weights, predictor)

        return over_rows(log_likelihoods, table, self.n_jobs)

    @validated({"n": [Interval(Integral, 1, None, closed="left")], "exclude_seen": ["boolean"]})
    def recommend(
        self,
        rows: ArrayLike | TableLike,
        n: int = 10,
        *,
        exclude_seen: bool = True,
        exclude: ArrayLike = (),
    ) -> Recommendations:
        """Recommend the most probable columns for each row, such as items for users.

        Columns are ranked by P(y_j given x_i), smoothed as in ``score``. Ties keep the order of the
        table. Recommendations for a row do not depend on the other rows.

        Parameters
        ----------
        rows : int, str, array-like of shape (n_rows,), or table of shape (n_rows, M)
            Training rows, or counts of new rows as in ``transform``. Select training rows by
            name if the training table has row names, such as the index of a DataFrame, and
            otherwise by position. If no name is a number, positions are accepted as well. If names
            are numbers, ``row_names_in_[positions]`` converts positions to names.
        n : int, default=10
            Number of columns for each row.
        exclude_seen : bool, default=True
            Whether to leave out columns that already have counts in the row.
        exclude : array-like of str or int, default=()
            Columns that are never recommended, by name or, if they have no names, by position.

        Returns
        -------
        recommendations : Recommendations
            Named tuple of ``items`` and ``scores``, of shape (n_rows, n), or (n,) for a single row.
            Items are column names if there are any, otherwise positions. Scores are P(y_j given
            x_i). If fewer than n columns are left, the last items are None or -1, with NaN as
            their scores.

        Raises
        ------
        ValueError
            If a name is unknown or repeated, rows have no names, or a number could be a name or a
            position. If the training rows or their non-zero columns were not kept (RowBlocks,
            DiskTable, dask arrays). If n is not a positive int, or new counts are invalid.
        IndexError
            If positions are out of bounds or not integers.

        Warns
        -----
        UserWarning
            If new rows have no counts in the columns of the fit. They get the columns that are most
            probable in all rows.

        Notes
        -----
        A model fitted in memory keeps the positions of the non-zero entries of its table. It shares
        ``indices`` with X if X is a CSR array. Time is proportional to n_rows M K, and about a
        million probabilities are in memory at a time.

        Examples
        --------
        >>> from skcooc import AspectModel, Dyads
        >>> users = ["ann", "ann", "bob", "bob", "cleo", "dan", "dan"]
        >>> items = ["tea", "scones", "tea", "jam", "ale", "ale", "crisps"]
        >>> dyads = Dyads.from_pairs(users, items)
        >>> model = AspectModel(2, beta=0.9, random_state=0).fit(dyads)
        >>> model.recommend(["ann", "cleo"], 1).items
        array([['jam'],
               ['crisps']], dtype=object)
        >>> model.recommend("dan", 1, exclude_seen=False).items
        array(['ale'], dtype=object)
        """
        return recommendations.recommend(self, rows, n, exclude_seen=exclude_seen, exclude=exclude)

    @property
    def _has_all_rows(self) -> bool:
        """Whether the rows are all those fitted: not after blocks, nor after several batches."""
        stream = self._stream
        return len(self.embedding_) > 0 and (stream is None or stream.averages.n_batches == 1)

    @property
    def component_distribution_(self) -> Array:
        """Share of each component in the tokens, P(z) = sum_i P(x_i) P(z given x_i), (K,)."""
        return quantities.marginal(self).astype(self.embedding_.dtype)

    @property
    def column_embedding_(self) -> Array:
        """P(z given y_j), (M, K). Rows sum to one."""
        P = quantities.marginal(self)
        posteriors = normalise((P[:, None] * self.components_).T, axis=1, otherwise=P)
        return posteriors.astype(self.components_.dtype)

    @property
    def row_components_(self) -> Array:
        """P(x_i given z), (K, N). Rows sum to one."""
        joint = (quantities.masses(self)[:, None] * self.embedding_).T
        mass = quantities.marginal(self)[:, None]
        P = np.where(mass > 0, joint / np.where(mass > 0, mass, 1), self.row_distribution_)
        return P.astype(self.embedding_.dtype)

    @property
    def row_names_in_(self) -> Array:
        """Names of the training rows, (N,); AttributeError if there are none."""
        names = self._schema.row_names
        if names is None or len(names) != len(self.embedding_):
            raise AttributeError(f"{type(self).__name__} was fitted to rows without names.")
        return names

    @property
    def column_names_in_(self) -> Array:
        """Names of the columns, (M,), strings or numbers; AttributeError if there are none."""
        names: Array | None = getattr(self, "feature_names_in_", self._schema.column_names)
        if names is None:
            raise AttributeError(f"{type(self).__name__} was fitted to columns without names.")
        return names

    def _map_blocks(
        self, method: str, of_block: Callable[[Block], Array], X: TableLike, n_columns: int
    ) -> Array:
        """Return a method's results, computed block by block; a dask array where X is one.

        ``of_block`` is the method for checked rows.
        """
        if not tables.is_collection(X):
            return np.concatenate([of_block(rows) for rows in tables.read_row_blocks(self, X)])
        check_row_blocks(X)
        dtype = self.components_.dtype
        return X.map_blocks(
            getattr(self._without_rows(), method),
            dtype=dtype,
            chunks=(X.chunks[0], (n_columns,)),
            meta=np.empty((0, 0), dtype=dtype),
        )

    def _without_rows(self) -> Self:
        """Return a copy without arrays of the training rows, to be sent to workers."""
        new, dtype = copy.copy(self), self.components_.dtype
        new.embedding_ = np.empty((0, self.embedding_.shape[1]), dtype)
        new.row_distribution_ = np.empty(0)
        new._schema = replace(self._schema, row_names=None, seen=None)
        names = "_end", "_stream", "_passes", "_unfinished", "_heldout_predictions"
        new.__dict__.update(dict.fromkeys(names))
        if hasattr(self, "_state"):
            params, rows = self._state
            new._state = State(params, np.empty((0, rows.shape[1]), dtype))
        return new

    @property
    def factors(self) -> Factors:
        """P(z given x) of the training rows, (N, K), and P(y given z), (M, K)."""
        return Factors(self.embedding_, self.components_.T)

    def fold_in(self, X: Block) -> Array:
        """Return P(k given x) of checked rows."""
        model, params = self._fold_in_model()
        no_columns = model.restrict(params, np.empty(0, dtype=np.intp))
        return model.factors(no_columns, self._row_states(X))[0]

    def _read_rows(self, X: TableLike, *, scored: bool = False) -> Block:
        check_is_fitted(self)
        return tables.read_rows(self, X, scored=scored)

    def _fold_in_model(self) -> tuple[FoldIn[Params, Statistics], Params]:
        return self._fitted_model.fold_in_equations(self._state.params)

    def _mixture_prior(self) -> tuple[Array, Array]:
        prior = self._fitted_model.mixture_prior(self._state.params)
        if prior is None:
            return np.asarray(self.row_distribution_), np.asarray(self.embedding_)
        return prior

    def _row_states(self, X: Block) -> Array:
        """Return the row states of checked rows, to which fold-in converges."""
        return fold_in(*self._fold_in_model(), self.beta_, X, self.n_jobs)

    def _score_samples(self, X: TableLike) -> tuple[Array, Array]:
        """Return the log-likelihood of every sample, and its weight in the mean."""
        check_is_fitted(self)
        if isinstance(X, Dyads):
            tables.check_same_table(self._schema, X, type(self).__name__)
            predictor = self.predictor(None)
            scoring.warn_about_unknown_rows(np.asarray(self.row_distribution_), X.rows)
            counts, order = X.listed(self.embedding_.dtype)
            weights = np.ones(len(X)) if X.weights is None else X.weights
            return scoring.score_pairs(counts, order, predictor), weights
        return self._score_rows(self._read_rows(X, scored=True))

    def _score_rows(self, X: Block) -> tuple[Array, Array]:
        """Return the log-likelihood of one half of each row given the other, and its tokens."""
        known, scored = scoring.halves(X)
        return scoring.score_rows(scored, self.predictor(known))

    def predictor(self, known: Block | None) -> Predictor:
        """Return predictions for rows with known counts, or for the training rows if None."""
        if known is None:
            rows = np.asarray(self.embedding_)
            return self._make_predictor(rows, self._training_table(), np.arange(len(rows)))
        return self._make_predictor(self.fold_in(known), known.table)

    def _make_predictor(
        self, mixtures: Array, known: CSR | None, rows: Array | None = None
    ) -> Predictor:
        """Return predictions for rows of mixtures (n, K) with known counts (n, M).

        ``rows`` are positions (n,) of training rows; None or -1 for new ones.
        """
        return smoothed(Factors(mixtures, self.components_.T), self.unigram_, self.smoothing_)

    def _training_table(self) -> CSR | None:
        return None

    def __sklearn_tags__(self) -> Tags:
        return tags_of_counts(super().__sklearn_tags__())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "row_distribution_")

    def __copy__(self) -> Self:
        new = object.__new__(type(self))  # in one process there is no version to be checked
        new.__dict__.update(self.__dict__)
        return new

    def __getstate__(self) -> dict[str, Any]:
        # With the version, as scikit-learn does for its own estimators.
        state = {**super().__getstate__(), VERSION: __version__}
        params = self._state.params if "_state" in state else ()
        memory = self.components_.__array_interface__ if params else None
        if any(array.T.__array_interface__ == memory for array in params):
            del state["components_"]  # a view of the parameters, which pickle would copy
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        check_version(state.get(VERSION), type(self).__name__)
        state = {name: value for name, value in state.items() if name != VERSION}
        super().__setstate__(state)
        if "_state" in state and "components_" not in state:
            self.components_ = self._fitted_model.factors(*self._state)[1].T
