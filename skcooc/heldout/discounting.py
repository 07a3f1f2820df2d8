"""Back-off: each count is discounted, and what is saved goes to another prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skcooc.heldout.lookup import frequencies_of, rows_of, values_at
from skcooc.heldout.predictors import Interpolated, Unigram, best_weights
from skcooc.heldout.validation import add_one_unigram
from skcooc.protocol import CSR, Array, Block, Predictor


@dataclass(frozen=True)
class Discounted:
    """Absolute discounting, interpolated: what a row is known to have, and a lower prediction.

        P(y_j given x_i) = (max(n_ij - d, 0) + (a + sum_l min(n_il, d)) P_lower(y_j given x_i))
                           / (n_i + a)

    A row without observations is predicted by the lower one alone. With the `continuations` below
    and a = 0 this is Kneser and Ney's estimate, but any predictor can be there: an aspect model, a
    mean of several, or a discounted table of shorter contexts. With d = 0 it is a Dirichlet prior
    of weight a; with both, what a Pitman-Yor process predicts that has one table for every column
    known of a row.

    Parameters
    ----------
    known : (N, M) CSR array
        Training counts n_ij.
    discount : float in [0, 1]
        The d that is taken from each count; 0 leaves the relative frequencies.
    lower : predictor
        Of the same rows.
    concentration : float >= 0, default=0.0
        The a, in observations: how many the lower prediction stands for in every row.

    Raises
    ------
    ValueError
        Where the discount is not in [0, 1], or the concentration is negative.

    References
    ----------
    H. Ney, U. Essen and R. Kneser, On structuring probabilistic dependences in stochastic language
    modelling, Computer Speech and Language 8, 1-38, 1994.

    S. F. Chen and J. Goodman, An empirical study of smoothing techniques for language modeling,
    Computer Speech and Language 13, 359-394, 1999.

    Y. W. Teh, A hierarchical Bayesian language model based on Pitman-Yor processes, ACL 2006.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from skcooc.heldout import Discounted, Unigram
    >>> from skcooc.metrics import perplexity_of
    >>> known = sp.csr_array([[3.0, 1.0, 0.0]])
    >>> back_off = Discounted(known, 0.5, Unigram(np.array([0.2, 0.2, 0.6])))
    >>> round(perplexity_of([[0, 0, 1]], back_off), 3)  # 4 / (0.5 + 0.5) / 0.6
    6.667
    """

    known: CSR
    discount: float
    lower: Predictor
    concentration: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.discount <= 1:
            raise ValueError(f"discount={self.discount} should be in the [0, 1] range")
        if not self.concentration >= 0:
            raise ValueError(f"concentration={self.concentration} should not be negative")

    def cells(self, X: Block) -> Array:
        """P(y_j given x_i) at the non-zeros of further counts of these rows, (nnz,), float64."""
        d, rows, n_rows = self.discount, rows_of(X.table), self.known.shape[0]
        of_row = rows_of(self.known)
        seen = np.bincount(of_row, weights=self.known.data, minlength=n_rows)
        taken = np.bincount(of_row, weights=np.minimum(self.known.data, d), minlength=n_rows)
        total, saved = seen + self.concentration, taken + self.concentration
        saved, total = np.where(total > 0, saved, 1), np.where(total > 0, total, 1)
        kept = np.maximum(values_at(self.known, rows, X.indices) - d, 0)
        return (kept + saved[rows] * self.lower.cells(X)) / total[rows]


def frequencies(known: CSR) -> Predictor:
    """Maximum likelihood: n_ij / n_i; the frequencies of the columns where a row has none.

    Parameters
    ----------
    known : (N, M) CSR array
        Training counts.

    Returns
    -------
    predictor : Discounted
    """
    return Discounted(known, 0.0, Unigram(frequencies_of(known)))


def continuations(known: CSR) -> Array:
    """In how many rows each column was seen, plus one, as a distribution (M,).

    What Kneser and Ney back off to: a column that follows one row alone, however often, is not
    expected after others.

    Parameters
    ----------
    known : (N, M) CSR array
        Training counts.

    Returns
    -------
    distribution : (M,) array

    References
    ----------
    R. Kneser and H. Ney, Improved backing-off for m-gram language modeling, ICASSP 1995, 181-184.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from skcooc.heldout import continuations
    >>> continuations(sp.csr_array([[8.0, 1.0], [0.0, 1.0]])).tolist()
    [0.4, 0.6]
    """
    return add_one_unigram(np.bincount(known.indices[known.data > 0], minlength=known.shape[1]), 1)


def best_back_off(known: CSR, lower: Sequence[Predictor], X: Block) -> Discounted:
    """The back-off to a mean of predictors that is best on held-out counts.

    Where counts are whole, the prediction is linear in the discount d and in d times the weights:

        (1 - d) P(., discount 0, any) + sum_k d w_k P(., discount 1, lower_k)

    but for rows without observations, which have no discount. So EM finds both.
    """
    equal = np.full(len(lower), 1 / len(lower))
    whole = Discounted(known, 0.0, Interpolated(lower, equal.tolist()))
    parts = best_weights([whole, *(Discounted(known, 1.0, one) for one in lower)], X)
    discount = min(parts[1:].sum(), 1.0)
    weights = parts[1:] / discount if discount > 0 else equal
    return Discounted(known, float(discount), Interpolated(lower, weights.tolist()))
