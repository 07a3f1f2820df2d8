"""What models share that have components, one a column, and rows that are mixtures of them."""

from __future__ import annotations

import numpy as np

from skcooc.protocol import Array, Block, Params
from skcooc.simplex import diluted, normalise


class WithComponents:
    """Equations that are the same wherever parameters have ``components`` (M, K)."""

    def log_prior(self, params: Params, beta: float) -> float:
        """None: maximum likelihood."""
        return 0.0

    def diluted(self, params: Params, distribution: Array, share: float) -> Params:
        """Parameters of which every component is, in this share, the distribution."""
        return params._replace(components=diluted(params.components, distribution, share))

    def restrict(self, params: Params, columns: Array) -> Params:
        """The rows of the components that belong to these columns, not normalised anew."""
        return params._replace(components=params.components[columns])


def tempered(X: Block, P: Array, beta: float) -> Array:
    """P (m, k) to the power of beta."""

    def temper(P: Array, out: Array) -> None:
        np.power(P, beta, out=out)

    return X.rowwise(temper, P)


def new_mixtures(X: Block, A: Array, products: Array, otherwise: Array) -> Array:
    """A * products (n, k), written over A, rows divided by their sums; otherwise (k,) if void."""

    def mix(A: Array, products: Array, out: Array) -> None:
        np.multiply(A, products, out=out)
        normalise(out, axis=1, otherwise=otherwise, out=out)

    return X.rowwise(mix, A, products, out=A)
