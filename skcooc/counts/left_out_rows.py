"""What rows lose under a component from which their own counts are taken out.

A component has expected counts C_jk, of which a row has put in a share s_ik of its own counts n_ij.
With pseudo-counts eta in each of M columns its probabilities are B_jk = (C_jk + eta) / T_k, where
T_k is the sum of all. Without the row the logarithm of its likelihood, sum_j n_ij log B_jk, changes
by

    sum_j n_ij log [1 - s_ik n_ij / (C_jk + eta)] - n_i log [1 - s_ik n_i / T_k] .

Nothing changes where the share is zero, and shares are nearly zeros and ones: a row goes through
its non-zeros once for each component that it is in, and through no others.
"""

from __future__ import annotations

import numpy as np

from skcooc.counts.kernels import U, compiled
from skcooc.counts.layout import Stored
from skcooc.protocol import Array

NEGLIGIBLE = 1e-4  # a share that is left where it is


@compiled
def losses_of_rows(  # type: ignore[no-untyped-def]
    indptr, indices, data, shares, B, totals, prior, start, stop, losses
):
    """Rows start..stop; logarithms are taken of products, as long as float64 allows."""
    for i in range(U(start), U(stop)):
        for k in range(U(B.shape[1])):
            share, loss, product, total, size = shares[i, k], 0.0, 1.0, totals[k], 0.0
            losses[i, k] = 0
            if share <= NEGLIGIBLE:
                continue
            for p in range(U(indptr[i]), U(indptr[i + U(1)])):
                n, counted = data[p], B[U(indices[p]), k] * total
                if n <= 0:
                    continue
                size += n
                left = max(counted - share * n, prior) / counted
                if n == 1:
                    product *= left
                    if product < 1e-250:
                        loss, product = loss + np.log(product), 1.0
                else:
                    loss += n * np.log(left)
            left = max(total - share * size, prior * len(B)) / total
            losses[i, k] = loss + np.log(product) - size * np.log(left)


class RowsLeftOut(Stored):
    """The pass over counts that leaves rows out of their components."""

    def left_out_rows(self, shares: Array, B: Array, totals: Array, prior: float) -> Array:
        """What the log-likelihood of rows changes by, (n, k), in nats, without their own counts.

        Shares of these, (n, k), are in the components B, (M, k), which are probabilities: expected
        counts, and pseudo-counts in each column, divided by ``totals``, (k,). A row that counts as
        several leaves one of them out, and one that counts less than once all that it is.
        """
        losses = np.empty_like(shares)
        counted = self.row_weights / np.maximum(np.ceil(self.row_weights), 1)
        shares = shares * counted[:, None].astype(shares.dtype)
        arrays = self.indptr, self.indices, self.data, shares, B, totals, prior
        self._over(self.indptr, B.shape[1], lambda i, k: losses_of_rows(*arrays, i, k, losses))
        return losses
