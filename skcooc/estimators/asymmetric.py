"""Asymmetric clustering: one cluster for each row, or for each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Literal

from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from skcooc.base import ANNEALING, CONSTRAINTS, SIZE, CooccurrenceEstimator, Size
from skcooc.base.clusters import RowClusterMixin, check_proportions
from skcooc.base.merging import merged_components
from skcooc.em import Split, annealing_schedule
from skcooc.equations.column_clusters import ColumnClusters
from skcooc.equations.memberships import no_temperature, temperatures
from skcooc.equations.row_clusters import PredictiveClusters, RowClusters
from skcooc.fitting import FixedModel, Recipe
from skcooc.protocol import Array
from skcooc.simplex import first_largest


@dataclass(eq=False, repr=False)
class AsymmetricClustering(RowClusterMixin, CooccurrenceEstimator):
    """Asymmetric clustering model (ACM): every row belongs to one of K clusters.

    All tokens of a row come from the distribution of its cluster over the columns; if columns are
    clustered, a row is a mixture of their clusters. A random start is the best of four to eight
    short runs with a third more clusters, merged by similarity.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number K of clusters. "auto" runs `ComponentSearchCV` first and needs a table in memory:
        soft clusters are compared on held-out tokens, hard ones by the integrated likelihood.

    hard : bool, default=False
        Whether every row belongs to exactly one cluster, as in the limit of long rows. Then beta
        has no effect, EM steps are plain, and empty clusters restart from the row explained worst.

    axis : {"rows", "columns"}, default="rows"
        What is clustered. With "columns", read "column" for "row" in the other parameters.

    object_weights : {"counts", "equal"}, default="counts"
        Whether a row counts by its tokens (maximum likelihood), or all rows count the same, however
        long: distributional clustering (Hofmann & Puzicha, 1998, equation 25).

    proportions : {"uniform", "estimated"}, default="uniform"
        Prior probabilities of the clusters. At small beta, estimated ones starve clusters. Hard
        clusterings need "uniform".

    leave_one_out : bool, default=False
        Whether to use leave-one-out EM: a row's counts are subtracted from the clusters before its
        E-step; columns have 0.02 pseudo-counts. It helps most where clusters are many and rows
        short, and takes two to seven times as long. The objective may rise: EM ends when it has not
        fallen for ten iterations. New rows are assigned without it, so ``predict`` of the training
        rows can differ from ``labels_``. Needs ``hard=False``, ``axis="rows"``,
        ``object_weights="counts"``, ``coarsening=None``, ``annealing`` below 1 or None, and a table
        in memory, no stream.

    beta : float > 0 or "auto", default="auto"
        Inverse temperature, at most 1 with ``object_weights="counts"``. The best value falls with
        the number of tokens in a row; for abstracts it is at most 0.1. "auto" tunes it on held-out
        tokens, on a logarithmic scale, above the critical value at which all clusters coincide. X
        must hold counts with "counts", whole or not: rows divided by their sums are too small for
        any beta. With "equal", beta times the mean row sum is the factor of the Kullback-Leibler
        divergences (nats); clusters coincide where it is below 1.

    annealing : float > 1, float in (0, 1) or None, default=None
        Factor by which beta changes during EM; ``max_iter`` holds for each temperature. Above 1,
        beta rises from its critical value, and one cluster splits on the way (``splits_``); some
        may stay duplicates. Below 1, with ``object_weights="counts"``, beta falls from 1, and with
        ``early_stopping=True`` only as long as held-out tokens are predicted better. Not used in
        the search for beta; a warm start continues at ``beta_``. Hard clusterings need None.

    coarsening : sequence of (N,) arrays of int or None, default=None
        Nested groups of neighbouring rows for multiscale optimisation, finest grouping first. EM
        begins with one posterior for each of the coarsest groups, which are annealed, and ends with
        single rows; ``max_iter`` holds for each scale. Needs ``axis="rows"`` and
        ``object_weights="counts"``. See ``skcooc.image.grid_coarsening``.

    Attributes
    ----------
    n_clusters_, component_search_ : int and ComponentSearchCV
        Number of clusters, and the search for it where ``n_clusters="auto"``.
    labels_ : (N,) array, or (M,) where columns are clustered
        Most probable cluster of each training row, or of each column.
    posteriors_ : (N, K) array, or (M, K) where columns are clustered
        P(c given x_i), or P(c given y_j).
    components_ : (K, M) array
        P(y_j given c).
    weights_ : (K,) array
        P(c); share of the tokens where columns are clustered.
    embedding_ : (N, K) array
        P(c given x_i) of the training rows. A dask array where X was one.
    splits_ : list of Split
        Clusters that split: ``beta`` and ``parts``; only where ``annealing > 1``.

    References
    ----------
    T. Hofmann and J. Puzicha, Statistical models for co-occurrence data, AI Memo 1625, MIT, 1998,
    sections 3.1, 3.2, 5.1, 5.2 and 5.4.

    F. Pereira, N. Tishby and L. Lee, Distributional clustering of English words, ACL 1993.

    Examples
    --------
    >>> from skcooc import AsymmetricClustering
    >>> from skcooc.datasets import make_cooccurrences
    >>> data = make_cooccurrences(60, 40, n_components=3, kind="clusters", random_state=0)
    >>> model = AsymmetricClustering(n_clusters=3, n_init=3, random_state=0).fit(data.X)
    >>> model.labels_.shape, model.predict(data.X[:5]).shape
    ((60,), (5,))
    """

    n_clusters: Size = 8
    _: KW_ONLY
    hard: bool = False
    axis: Literal["rows", "columns"] = "rows"
    object_weights: Literal["counts", "equal"] = "counts"
    proportions: Literal["uniform", "estimated"] = "uniform"
    leave_one_out: bool = False
    annealing: float | None = None
    coarsening: Sequence[ArrayLike] | None = None

    n_clusters_: int = field(init=False)
    splits_: list[Split] = field(init=False)

    size_parameters = ("n_clusters",)
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "beta": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "n_clusters": SIZE,
        "hard": ["boolean"],
        "axis": [StrOptions({"rows", "columns"})],
        "object_weights": [StrOptions({"counts", "equal"})],
        "proportions": [StrOptions({"uniform", "estimated"})],
        "leave_one_out": ["boolean"],
        "annealing": ANNEALING,
        "coarsening": [list, tuple, None],
    }

    @property
    def posteriors_(self) -> Array:
        params, rows = self._state
        posteriors: Array = self._fitted_model.posteriors(params, rows)
        return posteriors

    @property
    def labels_(self) -> Array:
        return first_largest(self.posteriors_)

    def merged(self, shares: Array) -> CooccurrenceEstimator:
        """Return a fitted model of L clusters, sums of the K fitted ones by shares (K, L)."""
        if not isinstance(self._fitted_model, RowClusters):
            raise TypeError(
                "Clusters cannot be merged or left out where axis='columns' or leave_one_out=True."
            )
        mass = self.component_distribution_
        if self._fitted_model.object_weights == "equal":
            mass = self.embedding_[self.row_distribution_ > 0].sum(axis=0)
        return merged_components(self, shares, mass, "n_clusters")

    def recipe(self) -> Recipe:
        of_clusters = self.n_clusters, self.hard, self.object_weights, self.proportions
        rows = RowClusters(*of_clusters)
        plain = rows if self.axis == "rows" else ColumnClusters(*of_clusters)
        self._check_combinations(plain.largest_beta)
        model = PredictiveClusters(rows) if self.leave_one_out else plain
        return Recipe(
            FixedModel(model, no_temperature if self.hard else partial(temperatures, plain)),
            self._settings(),
            shape={name: getattr(self, name) for name in ("n_clusters", "axis", "leave_one_out")},
            annealing=annealing_schedule(self.annealing, plain.critical_beta),
            init_from=None if self.leave_one_out or self.annealing else plain,
            coarsening=self.coarsening,
        )

    def _check_combinations(self, largest_beta: float) -> None:
        if self.leave_one_out:
            needed = {"hard": False, "axis": "rows", "object_weights": "counts", "coarsening": None}
            for name, value in needed.items():
                if getattr(self, name) != value:
                    raise ValueError(
                        "leave_one_out=True takes the counts of single rows out of soft clusters: "
                        f"it needs {name}={value!r}."
                    )
            if (self.annealing or 0) > 1:
                raise ValueError(
                    "leave_one_out=True has no clusters that split: it needs annealing < 1, or "
                    "None."
                )
        if not isinstance(self.beta, str) and self.beta > largest_beta:
            raise ValueError(
                f"The 'beta' parameter of {type(self).__name__} must be a float in the range "
                f"(0.0, {largest_beta}] where object_weights={self.object_weights!r}. Got "
                f"{self.beta} instead."
            )
        check_proportions(self.hard, self.proportions)
        if self.coarsening is not None and self.axis == "columns":
            raise ValueError("coarsening groups the rows that are clustered: it needs axis='rows'.")
        if self.coarsening is not None and self.object_weights == "equal":
            raise ValueError("coarsening adds counts of rows: it needs object_weights='counts'.")
        if self.hard and self.annealing is not None:
            raise ValueError("hard=True has no temperature: it needs annealing=None.")
        if self.object_weights == "equal" and (self.annealing or 2) < 1:
            raise ValueError(
                "annealing < 1 falls from maximum likelihood: it needs object_weights='counts'."
            )
