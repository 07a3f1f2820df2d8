"""Base class of estimators of three-way counts."""

from __future__ import annotations

from numbers import Integral
from typing import NoReturn, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skcooc.base.estimator import CooccurrenceEstimator
from skcooc.em import State
from skcooc.fitting import Recipe
from skcooc.fitting.recipe import draw_seeds
from skcooc.heldout import scoring
from skcooc.heldout.predictors import Factors, smoothed
from skcooc.protocol import Array, Block, Counts, Triples
from skcooc.protocol.decorators import validated
from skcooc.protocol.scikit_learn import Interval
from skcooc.tables import Triads, check_same_triads, read_new_triads


def _unavailable(name: str) -> property:
    """Return a property that raises AttributeError: a method of two-way counts only."""

    def missing(self: TriadEstimator) -> NoReturn:
        raise AttributeError(f"Triadic models have no {name}: it is for tables of two indices.")

    return property(missing)


class TriadEstimator(CooccurrenceEstimator):
    """Base class of estimators that are fitted to Triads and predict the third index."""

    aic = _unavailable("aic")
    bic = _unavailable("bic")
    row_log_likelihood = _unavailable("row_log_likelihood")
    recommend = _unavailable("recommend")

    def fit(self, X: Triads, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : Triads
            Tokens (x_i, y_j, w_l).
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each token.

        Returns
        -------
        self : object

        Raises
        ------
        TypeError
            Where X is not Triads.
        ValueError
            Where X is empty, or a parameter is invalid.
        """
        return super().fit(X, y, sample_weight)

    def transform(self, X: Triads) -> Array:
        """Fold rows (values of the first index) into the fitted model.

        Parameters
        ----------
        X : Triads
            Table (n, M, L) with the second and third indices of the training table.

        Returns
        -------
        mixtures : (n, K) array
            P(z_k given x_i); an empty row gets ``weights_``. ``transform(X) @ components_`` is
            P(w_l given x_i).
        """
        return super().transform(X)

    def score_samples(self, X: Triads) -> Array:
        """Log-likelihood of the third index given the other two, in nats per token.

        Parameters
        ----------
        X : Triads
            Tokens of the training table.

        Returns
        -------
        log_likelihood : (n_samples,) array
        """
        return super().score_samples(X)

    def score(self, X: Triads, y: object = None) -> float:
        """Mean log P(w_l given x_i, y_j) of held-out tokens, in nats; larger is better.

        Parameters
        ----------
        X : Triads
            Tokens of the training table.
        y : None
            Ignored.

        Returns
        -------
        score : float
        """
        return super().score(X, y)

    def perplexity(self, X: Triads) -> float:
        """Perplexity exp(-score(X)): the effective number of choices of the third index.

        Parameters
        ----------
        X : Triads
            Tokens of the training table.

        Returns
        -------
        perplexity : float
        """
        return super().perplexity(X)

    @validated({"n_samples": [Interval(Integral, 0, None, closed="left")]})
    def sample(self, n_samples: int = 1) -> Triads:  # type: ignore[override]  # no dyads
        """Draw tokens from the fitted model.

        Parameters
        ----------
        n_samples : int, default=1

        Returns
        -------
        triads : Triads
            Tokens of the training table, in random order.
        """
        check_is_fitted(self)
        rng = np.random.default_rng(draw_seeds(self.random_state, 1)[0])
        classes = np.eye(len(self.components_))
        rows, z = scoring.draw(n_samples, self.row_distribution_, self.embedding_, classes, rng)
        second, third = (
            scoring.draw_given(z, P, rng) for P in (self.middle_components_, self.components_)
        )
        return Triads.from_schema(self._schema, rows, second, third)

    @property
    def middle_components_(self) -> Array:
        """P(y_j given z_k), (K, M)."""
        return self._state.params.middle.T

    def _warm_state(self, recipe: Recipe, X: Counts) -> State:
        """Return the initial state; ValueError where values of the second index are new."""
        observed = cast(Triples, X).middle_sums
        known: Array = np.asarray(self.middle_components_.any(axis=0))
        if len(observed) != len(known) or ((observed > 0) & ~known).any():
            raise ValueError(
                "warm_start=True continues a model in which some values of the second index of X "
                "are missing or have probability zero. Set warm_start=False to start anew."
            )
        return super()._warm_state(recipe, X)

    def _read_rows(self, X: Triads) -> Block:
        check_is_fitted(self)
        return read_new_triads(self, self._schema, X)

    def _score_samples(self, X: Triads) -> tuple[Array, Array]:
        check_is_fitted(self)
        triads = check_same_triads(self, self._schema, X)
        counts, order = triads.listed(self.embedding_.dtype)
        factors = Factors(*self._fitted_model.prediction_factors(*self._state))
        predictor = smoothed(factors, self.unigram_, self.smoothing_)
        weights = np.ones(len(triads)) if triads.weights is None else triads.weights
        return scoring.score_pairs(counts, order, predictor), weights
