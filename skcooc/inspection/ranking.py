"""Which columns stand for a component, best first: the characteristic ones, or the probable."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.special import rel_entr
from sklearn.utils._param_validation import StrOptions

from skcooc.inspection.names import most_probable
from skcooc.inspection.unwrapping import unwrap
from skcooc.protocol import Array, FactorModel

Order = Literal["characteristic", "probable"]
ORDER = [StrOptions({"characteristic", "probable"})]


def ranked(model: FactorModel, n_features: int, order: Order) -> list[Array]:
    """Positions of the first columns of each component, (V,) lists; see `characteristic_features`.

    Characteristic ones may be fewer: those that are no more probable than elsewhere are left out. A
    single component is compared to nothing.
    """
    if order == "probable" or len(model.components_) == 1:
        return list(most_probable(np.asarray(model.components_), n_features))
    gain = gains_of(model)
    top = most_probable(gain, n_features)
    return [columns[gain[v, columns] > 0] for v, columns in enumerate(top)]


def gains_of(model: FactorModel) -> Array:
    """Those of the components of a model, in whose tree they are compared to their parents."""
    q = np.asarray(model.components_, dtype=np.float64)
    tree = getattr(model, "tree_", None)
    return gains(q, masses(model) @ q, None if tree is None else tree.parents)


def gains(q: Array, unigram: Array, parents: Array | None = None) -> Array:
    """What each column contributes to the divergence of q_v from its mean with another, (V, M).

    The other is the distribution of the parent, or the unigram where there is none.
    """
    above = np.full(len(q), -1) if parents is None else parents
    reference = q[above]
    reference[above < 0] = unigram
    return rel_entr(q, (q + reference) / 2)


def masses(model: FactorModel) -> Array:
    """P(z), the shares of the observations, (K,); where no rows are kept the prior.

    An estimator around a model has that of the model.
    """
    if not len(model.embedding_):
        return np.asarray(unwrap(model, "weights_").model.weights_, dtype=np.float64)
    shares = np.asarray(model.row_distribution_) @ np.asarray(model.embedding_)
    return np.asarray(shares, dtype=np.float64)
