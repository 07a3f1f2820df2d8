"""Divide observations, not rows, into training and test."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import BaseCrossValidator, train_test_split
from sklearn.utils import check_array, check_random_state

from skcooc.counts import check_total, divide, sound, summed_up
from skcooc.protocol import CSR, Array, RandomState, TableLike
from skcooc.tables import Dyads, Triads


def split_observations(
    X: Dyads | Triads | TableLike, test_size: float = 0.1, random_state: RandomState = None
) -> tuple[Dyads, Dyads] | tuple[Triads, Triads] | tuple[CSR, CSR]:
    """Divide the observations of a table into two tables of the same shape.

    A count of n is n observations, some of which may go to each part. Where counts are ratings, and
    what is new to a row is to be recommended, hold out whole cells: else those with small counts
    are held out whole more often.

    Parameters
    ----------
    X : Dyads, Triads, or array-like, sparse array or matrix, DataFrame of shape (N, M)
        Observations or counts.
    test_size : float in (0, 1), default=0.1
        Share of the observations that goes to the second part. In expectation, for a matrix: each
        observation is drawn by itself.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    X_train, X_test : Dyads, Triads, or CSR arrays of floats of shape (N, M)

    Raises
    ------
    ValueError
        Where counts are negative or not finite, or ``test_size`` is not in (0, 1).

    Examples
    --------
    >>> from skcooc.datasets import make_cooccurrences
    >>> from skcooc.model_selection import split_observations
    >>> X = make_cooccurrences(random_state=0).X
    >>> X_train, X_test = split_observations(X, random_state=0)
    >>> X_train.shape == X_test.shape == X.shape
    True
    >>> int(X_train.sum() + X_test.sum()) == int(X.sum())
    True
    """
    if not 0 < test_size < 1:
        raise ValueError(f"test_size={test_size} should be in the (0, 1) range")
    if isinstance(X, (Dyads, Triads)):
        train, test = train_test_split(X, test_size=test_size, random_state=random_state)
        return train, test
    X = check_array(
        sound(X), accept_sparse="csr", dtype=[np.float64, np.float32], ensure_non_negative=True
    )
    X = summed_up(sp.csr_array(X))
    check_total(X.data.sum(dtype=np.float64))
    return divide(X, test_size, check_random_state(random_state).random_sample(X.nnz))


class ObservationSplit(BaseCrossValidator):
    """Cross-validation over the observations of each row.

    Every fold gets its share of the observations of every row: the sizes of the shares differ by
    at most one, so that a row with two observations or more keeps one in every training part.

    Parameters
    ----------
    n_splits : int, default=10
        Number of folds, at least 2.
    random_state : int, RandomState instance or None, default=None

    Examples
    --------
    >>> from skcooc import Dyads
    >>> from skcooc.model_selection import ObservationSplit
    >>> dyads = Dyads([[2, 2], [3, 1]])
    >>> for train, test in ObservationSplit(n_splits=2, random_state=0).split(dyads):
    ...     print(dyads[test].to_csr().sum(axis=1))
    [2. 2.]
    [2. 2.]
    """

    def __init__(self, n_splits: int = 10, *, random_state: RandomState = None) -> None:
        if n_splits < 2:
            raise ValueError(f"n_splits={n_splits}, it must be an integer of at least 2.")
        self.n_splits = n_splits
        self.random_state = random_state

    def get_n_splits(self, X: object = None, y: object = None, groups: object = None) -> int:
        """Number of folds."""
        return self.n_splits

    def split(
        self, X: Dyads | Triads, y: object = None, groups: object = None
    ) -> Iterator[tuple[Array, Array]]:
        """Positions of the training and of the test observations of each fold.

        Parameters
        ----------
        X : Dyads or Triads
            The first way of Triads are their rows.
        y, groups : None
            Ignored.

        Yields
        ------
        train, test : arrays of int

        Raises
        ------
        TypeError
            Where X is neither Dyads nor Triads: the observations of a matrix have no positions.
        """
        return super().split(X, y, groups)

    def _iter_test_indices(
        self, X: object = None, y: object = None, groups: object = None
    ) -> Iterator[Array]:
        if not isinstance(X, (Dyads, Triads)):
            raise TypeError(
                f"ObservationSplit divides Dyads, got {type(X).__name__}. Use Dyads(X), or "
                "split_observations(X) for one division of a matrix."
            )
        if len(X) < self.n_splits:
            raise ValueError(
                f"Cannot have number of splits n_splits={self.n_splits} greater than the number "
                f"of samples: n_samples={len(X)}."
            )
        rng = check_random_state(self.random_state)
        by_row = np.lexsort((rng.permutation(len(X)), X.rows))
        folds = np.empty(len(X), dtype=np.intp)
        # Dealt like cards: neighbours, which belong to one row, go to different folds.
        folds[by_row] = (np.arange(len(X)) + rng.randint(self.n_splits)) % self.n_splits
        for fold in range(self.n_splits):
            yield np.flatnonzero(folds == fold)
