"""Product-space mixture model: topics of rows paired with topics of columns."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from skcooc.base import (
    ANNEALING,
    ASPECT_TEMPERATURES,
    CONSTRAINTS,
    SIZE,
    CooccurrenceEstimator,
    Size,
)
from skcooc.em import Annealed, split_annealing
from skcooc.em.solvers import SolverName
from skcooc.equations.product_aspects import PredictiveProducts, ProductAspects
from skcooc.fitting import FixedModel, Recipe
from skcooc.protocol import Array
from skcooc.protocol.scikit_learn import StrOptions
from skcooc.starts.topics import left_out_product_start, product_start


@dataclass(eq=False, repr=False)
class ProductSpaceMixture(CooccurrenceEstimator):
    """Product-space mixture model (PMM): topics are pairs of row and column topics.

    A row is a mixture of C row topics, a row topic is a mixture of D column topics, and a column
    topic is a distribution over the columns. The model has fewer parameters than an aspect model
    with C D topics. Read more in the :doc:`user guide </guide/product_space>`.

    Parameters
    ----------
    n_row_components : int or "auto", default=10
        Number C of row topics. "auto" runs `ComponentSearchCV` first and needs a table in memory.
        Set "auto" for rows and columns together.

    n_column_components : int or "auto", default=10
        Number D of column topics. See ``n_row_components`` for "auto".

    beta : float in (0, 1] or "auto", default="auto"
        Inverse temperature, the exponent in the E-step. 1 is maximum likelihood, which overfits.
        "auto" tunes it on held-out tokens and then fits all tokens.

    tempering : {"joint", "likelihood"}, default="likelihood"
        Factors to which the exponent beta applies.

        - ``"joint"``: P(c, d) P(x given c) P(y given d).
        - ``"likelihood"``: P(x given c) P(y given d), as in [1]_. Topics stay distinct at smaller
          beta and predict better, unlike in `AspectModel`.

    leave_one_out : bool, default=False
        Whether to subtract each token's expected count from its row and column before the E-step
        (predictive EM). Pseudo-counts of 1 for a row and 0.02 for a column are added. It helps with
        many short rows and takes about twice as long.

    annealing : float > 1, float in (0, 1) or None, default=None
        Largest factor by which beta changes at a time. None keeps beta constant.

        - above 1: the fit starts from an aspect model whose beta rises. It begins with one topic,
          which splits.
        - below 1: beta falls from 1.

    Attributes
    ----------
    n_row_components_, n_column_components_, component_search_ : int, int and ComponentSearchCV
        Numbers of topics, and the search that found them if ``n_row_components="auto"``.
    components_ : (C, M) array
        P(y_j given c) = sum_d P(d given c) P(y_j given d).
    column_components_ : (D, M) array
        P(y_j given d).
    joint_ : (C, D) array
        P(c, d).
    weights_ : (C,) array
        P(c), also the mixture weights of an empty row.
    embedding_ : (N, C) array
        P(c given x_i) of the training rows.

    See Also
    --------
    skcooc.AspectModel : One set of topics for both sides; faster.
    skcooc.SymmetricClustering : Every row and every column belongs to one cluster.

    Notes
    -----
    The model is P(y_j given x_i) = sum_cd P(c given x_i) P(d given c) P(y_j given d).

    With ``leave_one_out=True`` the objective may rise. EM ends when it has not fallen for ten
    iterations. New rows are folded in without leave-one-out, so ``transform`` of the training rows
    differs from ``embedding_``. Leave-one-out cannot be combined with ``partial_fit``, blocks of
    rows or dask arrays.

    References
    ----------
    .. [1] T. Hofmann and J. Puzicha, Statistical models for co-occurrence data, AI Memo 1625, MIT,
       1998, equations 15-19.

    Examples
    --------
    >>> from skcooc import ProductSpaceMixture, datasets
    >>> X = datasets.make_cooccurrences(n_rows=60, n_columns=40, n_components=3, random_state=0).X
    >>> model = ProductSpaceMixture(3, 4, random_state=0).fit(X)
    >>> model.transform(X[:2]).shape, model.joint_.shape
    ((2, 3), (3, 4))
    """

    n_row_components: Size = 10
    n_column_components: Size = 10
    _: KW_ONLY
    tempering: Literal["joint", "likelihood"] = "likelihood"
    leave_one_out: bool = False
    annealing: float | None = None
    max_iter: int = 500
    solver: SolverName = "momentum"

    n_row_components_: int = field(init=False)
    n_column_components_: int = field(init=False)

    size_parameters = ("n_row_components", "n_column_components")
    _integers: ClassVar[type] = np.float64  # float32 costs 0.6 % perplexity on word pairs

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "n_row_components": SIZE,
        "n_column_components": SIZE,
        "tempering": [StrOptions({"joint", "likelihood"})],
        "leave_one_out": ["boolean"],
        "annealing": ANNEALING,
    }

    @property
    def column_components_(self) -> Array:
        return self._state.params.components.T

    @property
    def joint_(self) -> Array:
        return self._state.params.joint

    def recipe(self) -> Recipe:
        plain = ProductAspects(self.n_row_components, self.n_column_components, self.tempering)
        model = PredictiveProducts(plain) if self.leave_one_out else plain
        fall, rise = split_annealing(self.annealing)
        start = left_out_product_start if self.leave_one_out else product_start
        shape_names = "n_row_components", "n_column_components", "leave_one_out"
        return Recipe(
            FixedModel(model, lambda X: ASPECT_TEMPERATURES),
            self._settings(),
            shape={name: getattr(self, name) for name in shape_names},
            start=partial(start, annealing=rise),
            variations=() if fall is None else (Annealed(fall),),
        )
