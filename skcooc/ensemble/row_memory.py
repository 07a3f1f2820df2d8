"""The memory of a row: a model that predicts, too, what the row repeats."""

from __future__ import annotations

import copy
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import Interval, StrOptions

from skcooc.base import attributes
from skcooc.ensemble.composed import Composed
from skcooc.ensemble.members import MODEL, Member, member_of
from skcooc.ensemble.memory_estimate import estimated
from skcooc.fitting.journal import Journal
from skcooc.heldout import Factors
from skcooc.heldout.memory import Memory, remembering, rows_with
from skcooc.heldout.validation import add_one_unigram
from skcooc.protocol import CSR, Array, Block, Predictor, RandomState, TableLike
from skcooc.protocol.decorators import available_if, fit_context
from skcooc.tables import Table, read, read_in_memory

SHARE = [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})]


class RowMemory(Composed):
    """The memory of a row, around any model: what was seen in a row is likely to come again.

    Words come in bursts: half of the held-out words of a text are words that the known part of the
    text has already, whatever its topics. Models of topics leave that out. Here a row predicts

        P(y_j given x_i) = (max(n_ij - d, 0) + (a + d t_i) B_ij) / (n_i + a)

    from the counts n_ij that are known of it, their sum n_i and the number t_i of columns that it
    has (for weights below d, sum_l min(n_il, d) in place of d t_i). B_ij = (1 - s) P_ij + s b_j
    mixes what the model predicts with the background b, in how many rows a column was seen. This is
    what a Pitman-Yor process of concentration a and discount d predicts, where every column known
    of a row has one table. A row of which nothing is known is predicted by B alone.

    The three numbers are estimated together, on the observations that ``beta="auto"`` holds out
    anyway. Where an estimator holds none out, a copy of it is fitted to the others for that.

    Only predictions change: ``transform``, ``components_`` and all attributes of the model are its
    own.

    Parameters
    ----------
    estimator : estimator or None, default=None
        The model: an estimator of this package, `AveragedModels`, or any transformer with
        non-negative ``components_``, such as scikit-learn's LatentDirichletAllocation and NMF.
        None is the line without topics, which every model should beat: P_ij = b_j.

    concentration : float >= 0 or "auto", default="auto"
        a, in observations: the larger, the less a row is trusted. Of texts about 50 to 100, of word
        pairs about 1.

    discount : float in [0, 1] or "auto", default="auto"
        d, in observations: what is taken of the count of every column and given to B.

    smoothing : float in [0, 1] or "auto", default="auto"
        s: the weight of the background. It takes the place of the smoothing of the model.

    validation_fraction : float, default=0.1
        Share of the observations held out where the estimator itself holds none out.

    random_state : int, RandomState instance or None, default=None
        Seed of the division, where there is one.

    Attributes
    ----------
    estimator_ : fitted estimator, or None
    concentration_, discount_, smoothing_ : float
        The a, d and s used.
    components_ : (K, M) array
        P(y_j given z_k) of the model.
    embedding_ : (N, K) array
        P(z_k given x_i) of the rows fitted.
    component_distribution_ : (K,) array
        P(z_k) = sum_i P(x_i) P(z_k given x_i).
    row_distribution_ : (N,) array
        P(x_i).
    column_embedding_ : (M, K) array
        P(z_k given y_j).
    row_components_ : (K, N) array
        P(x_i given z_k).
    unigram_ : (M,) array
        The background b_j: in how many rows fitted a column was seen, plus one, as a distribution.
        Of a table that is not in memory it is that of the sample of rows.
    n_features_in_ : int
        Number M of columns.
    feature_names_in_ : (M,) array of str
        Names of the columns, where the data has names that are strings.
    row_names_in_ : (N,) array
        Names of the rows fitted, where the data has them: of `Dyads`, or of a data frame.

    References
    ----------
    Y. W. Teh, A hierarchical Bayesian language model based on Pitman-Yor processes, ACL 2006.

    S. M. Katz, Distribution of content words and phrases in text and language modelling, Natural
    Language Engineering 2, 15-59, 1996.

    Examples
    --------
    >>> from skcooc import AspectModel, Dyads, RowMemory
    >>> from skcooc.datasets import make_cooccurrences
    >>> from skcooc.model_selection import split_observations
    >>> X = make_cooccurrences(60, 100, 3, burstiness=20, random_state=0).X
    >>> train, test = split_observations(X, random_state=0)
    >>> without = AspectModel(3, random_state=0).fit(train)
    >>> model = RowMemory(AspectModel(3, random_state=0)).fit(train)
    >>> model.perplexity(Dyads(test)) < without.perplexity(Dyads(test))
    True
    """

    estimator_: BaseEstimator | None
    concentration_: float
    discount_: float
    n_jobs = None
    _factorised = False  # what a row repeats is no component

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [*MODEL, None],
        "concentration": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "discount": SHARE,
        "smoothing": SHARE,
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        concentration: float | Literal["auto"] = "auto",
        discount: float | Literal["auto"] = "auto",
        smoothing: float | Literal["auto"] = "auto",
        validation_fraction: float = 0.1,
        random_state: RandomState = None,
    ) -> None:
        self.estimator, self.validation_fraction = estimator, validation_fraction
        self.concentration, self.discount, self.smoothing = concentration, discount, smoothing
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: TableLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model, and what rows remember.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (N, M), or Dyads
            Non-negative counts. Where the estimator takes them, also a dask array or RowBlocks: the
            three numbers are then estimated on a sample of rows, ``validation_fraction``
            of whose observations are predicted from the others, and further observations of the
            rows fitted cannot be scored, since none are kept.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row; of each observation where X is Dyads. For estimators that take it.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            Where X is negative, not finite, empty or all zero, a parameter has no valid value, or
            the estimator has negative components or takes no weights.
        """
        new = copy.copy(self)  # a fit that fails leaves self as it was
        table = read(new, X, sample_weight, random_state=self.random_state)
        known, sample = attributes.of_input(new), table.sample
        with self._journal(sample) as journal:
            fit = partial(member_of(self.estimator).fit, X, sample, sample_weight)
            member = journal.once(("all",), fit, tells=True)
            self._become(member, table, rows_with(sample), known, table.in_memory, journal)
        return self

    @available_if(lambda self: hasattr(self.estimator, "partial_fit"))
    @fit_context(prefer_skip_nested_validation=False)
    def partial_fit(
        self, X: TableLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Go on with a batch of further rows.

        The model goes on as its own ``partial_fit`` does. The three numbers are estimated on the
        batch, ``validation_fraction`` of whose observations are predicted from the others; the
        background is that of all batches.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads
            Non-negative counts of new rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row; of each observation where X is Dyads.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            Where X is negative, not finite, empty or all zero, or has other columns than before.
        """
        new, first = copy.copy(self), not hasattr(self, "estimator_")
        table = read_in_memory(new, X, sample_weight, reset=first)
        member = member_of(clone(self.estimator)) if first else self._member
        member = member.partial_fit(X, table.sample, sample_weight)
        frequencies = rows_with(table.sample) + (0 if first else self._frequencies)
        self._become(member, table, frequencies, attributes.of_input(new), False, Journal())
        return self

    def _become(
        self,
        member: Member,
        table: Table,
        frequencies: Array,
        known: attributes.Attributes,
        keeps: bool,
        journal: Journal,
    ) -> None:
        """Take over a fitted model; where it ``keeps`` them, its rows are known from now on."""
        X, factors = table.sample, member.fitted
        memory = estimated(self, member, X, keeps, journal)
        rows = X if keeps else X.take(np.empty(0, dtype=np.intp))
        mass = rows.row_sums * rows.row_weights
        attributes.become(
            self,
            known
            | {
                "_member": member,
                "_frame": table.frame,
                "_known": rows.table.copy() if keeps else None,
                "_frequencies": frequencies,
                "estimator_": member.estimator,
                "components_": factors.B.T,
                "embedding_": np.asarray(factors.A[: len(mass)]),
                "row_distribution_": mass / mass.sum() if keeps else mass,
                "unigram_": add_one_unigram(frequencies, 1),
                "concentration_": memory.concentration,
                "discount_": memory.discount,
                "smoothing_": memory.smoothing,
            },
        )

    def _fold_in(self, X: Block) -> Array:
        """P(k given x) of checked rows."""
        return self._member.fold_in(X)

    def _predicting(self, mixtures: Array, known: CSR | None) -> Predictor:
        """What is predicted of rows of these mixtures, of which this is known."""
        memory = Memory(self.concentration_, self.discount_, self.smoothing_)
        return remembering(known, Factors(mixtures, self.components_.T), self.unigram_, memory)

    def _rows_fitted(self) -> CSR:
        """What is known of the rows fitted; ValueError where it is not kept."""
        if self._known is None:
            raise ValueError(
                "X holds further observations of rows fitted, of which nothing is kept: they were "
                "read in blocks, from a dask array or by partial_fit. Give new rows as a matrix."
            )
        return self._known

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")
