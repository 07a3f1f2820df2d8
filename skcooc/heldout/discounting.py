"""Back-off: each count is discounted, and what is saved goes to another prediction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skcooc.heldout.lookup import rows_of, values_at
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
