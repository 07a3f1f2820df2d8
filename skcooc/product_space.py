"""The product-space mixture model: an aspect of the row meets an aspect of the column."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral
from typing import Any, ClassVar, Literal

from sklearn.utils._param_validation import Interval, StrOptions

from skcooc.base import ANNEALING, CONSTRAINTS, CooccurrenceEstimator, Size
from skcooc.em import TemperatureRange, of_the_start
from skcooc.em.solvers import SolverName
from skcooc.equations.product_aspects import PredictiveProducts, ProductAspects
from skcooc.fitting import FixedModel, Recipe
from skcooc.protocol import Array


@dataclass(eq=False, repr=False)
class ProductSpaceMixture(CooccurrenceEstimator):
    """Product-space mixture model (PMM): an aspect of the row meets an aspect of the column.

    An aspect model whose aspects are pairs: a row has a distribution over C aspects of rows, an
    aspect of rows one over D aspects of columns, an aspect of columns one over the columns. It
    groups both sides at once and has fewer parameters than an aspect model with C times D aspects.

    Parameters
    ----------
    n_row_components : int or "auto", default=10
        Number C of aspects of rows. "auto", for both numbers, finds them with `ComponentSearchCV`,
        before all else, in a table in memory.

    n_column_components : int or "auto", default=10
        Number D of aspects of columns.

    beta : float in (0, 1] or "auto", default="auto"
        Inverse temperature. 1 is maximum likelihood, which overfits. "auto" chooses it on
        observations held out inside ``fit``, and then fits all observations.

    tempering : {"joint", "likelihood"}, default="likelihood"
        What beta is the exponent of: P(c, d) P(x given c) P(y given d), or, as in the memo, only
        P(x given c) P(y given d). The second keeps its structure down to smaller beta and predicts
        better.

    leave_one_out : bool, default=False
        Whether an observation leaves itself out of the counts of its row and of its column that it
        is explained by: predictive EM (memo, section 5.2), with a pseudo-observation of every row
        and .02 of every column in an aspect. It is for many short rows: it predicted verses better
        (2 and 10 per cent, with 8 and 32 aspects of each side) and word pairs (2 per cent); on
        longer texts it changed little, by -1.5 to .4 per cent. It takes about twice as long.
        Nothing proves that the objective falls: EM ends where it has not for ten iterations. New
        rows are folded in plainly, so that ``transform`` of the rows fitted is not ``embedding_``.
        Not with streams, blocks of rows or dask arrays.

    annealing : float > 1, float in (0, 1) or None, default=None
        Factor by which an inverse temperature changes while EM goes on. Above 1, the aspect model
        with which EM starts is annealed: it begins at its critical temperature, with a single
        aspect, and splits on the way to where it always starts. Below 1, the inverse temperature of
        the model itself falls from 1 down to beta, and where ``early_stopping=True`` only as long
        as held-out observations are predicted better. In the search for beta it does not fall, and
        a warm start goes on at ``beta_``.

    tol : float, default=3e-6
        EM stops when the free energy falls by less than this, relative to its size. With 1e-5
        it stops too early: that costs up to half a per cent of the perplexity.

    Attributes
    ----------
    n_row_components_, n_column_components_ : int
        Numbers of aspects.
    component_search_ : ComponentSearchCV
        Only where ``n_row_components="auto"``: the search.
    components_ : (C, M) array
        P(y_j given c) = sum_d P(d given c) P(y_j given d).
    column_components_ : (D, M) array
        P(y_j given d).
    joint_ : (C, D) array
        P(c, d).
    weights_ : (C,) array
        P(c).
    embedding_ : (N, C) array
        P(c given x_i) of the rows fitted, as EM left them; ``transform`` of the same rows folds
        them in anew and agrees but for tolerances.
        A dask array where X was one.

    See Also
    --------
    skcooc.AspectModel : One set of aspects for both sides; also faster.
    skcooc.SymmetricClustering : Every row and every column belongs to one cluster.

    References
    ----------
    T. Hofmann and J. Puzicha, Statistical models for co-occurrence data, AI Memo 1625, MIT, 1998,
    section 2.5.

    Examples
    --------
    >>> from skcooc import ProductSpaceMixture
    >>> from skcooc.datasets import make_cooccurrences
    >>> X = make_cooccurrences(n_rows=60, n_columns=40, n_components=3, random_state=0).X
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
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "n_row_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "n_column_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "tempering": [StrOptions({"joint", "likelihood"})],
        "leave_one_out": ["boolean"],
        "annealing": ANNEALING,
    }

    @property
    def column_components_(self) -> Array:
        """P(y_j given d), (D, M)."""
        components: Array = self._state.params.components.T
        return components

    @property
    def joint_(self) -> Array:
        """P(c, d), (C, D)."""
        joint: Array = self._state.params.joint
        return joint

    def recipe(self) -> Recipe:
        sizes = self.n_row_components, self.n_column_components
        of_start, annealing = of_the_start(self.annealing)
        plain = ProductAspects(*sizes, self.tempering, of_start)
        shaping = "n_row_components", "n_column_components", "leave_one_out"
        model = PredictiveProducts(plain) if self.leave_one_out else plain
        return Recipe(
            FixedModel(model, lambda X: TemperatureRange(0.5, 1.0)),
            self._settings(),
            shape={name: getattr(self, name) for name in shaping},
            annealing=annealing,
        )
