"""Asymmetric clustering: one cluster for each row, or for each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Literal, Self

from numpy.typing import ArrayLike

from skcooc.base import ANNEALING, CONSTRAINTS, SIZE, CooccurrenceEstimator, Size
from skcooc.base.clusters import RowClusterMixin, check_hard, searched_n_clusters
from skcooc.em import Annealed, Coarsened, Split, Variation
from skcooc.em.stages import Start
from skcooc.equations.column_clusters import ColumnClusters
from skcooc.equations.memberships import (
    POWERS,
    ObjectWeights,
    no_temperature,
    size_factors,
    temperatures,
    usual_cluster_beta,
)
from skcooc.equations.row_clusters import PredictiveClusters, RowClusters
from skcooc.fitting import FixedModel, Recipe
from skcooc.protocol import Array
from skcooc.protocol.scikit_learn import Interval, StrOptions
from skcooc.simplex import first_largest
from skcooc.starts.clusters import (
    best_start,
    hard_row_start,
    hard_start,
    left_out_start,
    seeded_start,
    swapped_start,
)
from skcooc.tables import Table

STARTS: dict[tuple[str, bool], Start] = {  # by axis, and whether clusters are hard
    ("rows", False): swapped_start,
    ("rows", True): hard_row_start,
    ("columns", False): best_start,
    ("columns", True): hard_start,
}
N_TEMPERATURES = 4  # tried: predictions hardly change within a factor of 1.7


@dataclass(eq=False, repr=False)
class AsymmetricClustering(RowClusterMixin, CooccurrenceEstimator):
    """Asymmetric clustering model (ACM): every row belongs to one of K clusters.

    A cluster is a distribution over the columns, from which all tokens of its rows are drawn. With
    ``axis="columns"`` the columns are clustered instead, and a row is a mixture of column clusters.
    Read more in the :doc:`user guide </guide/asymmetric>`.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number K of clusters. "auto" needs a table in memory.

        - ``"auto"`` for rows: searches for the co-clustering with the highest integrated likelihood
          and takes its number of row clusters. The search gives repeated tokens less weight if
          rows are bursty. One cluster means that no structure was found.
        - ``"auto"`` for columns: runs `ComponentSearchCV` first.

    hard : bool, default=False
        Whether to assign every row to exactly one cluster. Beta then has no effect.

    axis : {"rows", "columns"}, default="rows"
        What to cluster. With "columns", read "column" for "row" in the other parameters.

    object_weights : {"auto", "counts", "sqrt", "equal"}, default="auto"
        Weight of a row in the fit.

        - ``"counts"``: its number of tokens (maximum likelihood).
        - ``"sqrt"``: the square root of its number of tokens.
        - ``"equal"``: the same for all rows (distributional clustering [2]_).
        - ``"auto"``: "counts" for columns, hard or leave-one-out clusters, annealing and
          coarsening; otherwise "sqrt".

    proportions : {"auto", "uniform", "estimated"}, default="auto"
        Prior probabilities of the clusters. Hard clusterings need "auto" or "uniform".

        - ``"uniform"``: predicts held-out tokens as well or better, but divides large clusters if
          sizes differ.
        - ``"estimated"``: finds clusters of different sizes. New rows of a few tokens tend to be
          assigned to the largest cluster.
        - ``"auto"``: "uniform" if ``object_weights="auto"`` means "counts", otherwise "estimated".

    leave_one_out : bool, default=False
        Whether to subtract a row's counts from the clusters before its E-step. Every column then
        gets a pseudo-count of 0.02. Predictions improve if clusters are many or rows are short. The
        fit takes several times as long.

    beta : float > 0 or "auto", default="auto"
        Inverse temperature, the exponent in the E-step. It is at most 1, except with
        ``object_weights="equal"``. The longer the rows, the smaller the best value: 0.1 or less for
        abstracts. "auto" tunes it on held-out tokens. For soft clusters of rows, "auto" is 6
        divided by the mean number of tokens of a row, unless another value predicts better by 1 %.

    annealing : float > 1, float in (0, 1) or None, default=None
        Largest factor by which beta changes at a time. None, which hard clusterings need, keeps
        beta constant.

        - above 1: the fit starts with one cluster at the critical beta. Beta rises, with up to
          ``max_iter`` iterations at each value, and clusters split.
        - below 1: beta falls from 1, with up to eight iterations at each value but the last.

    Attributes
    ----------
    n_clusters_, component_search_ : int and ComponentSearchCV
        Number of clusters, and the search that found it if ``n_clusters="auto"`` for columns.
    object_weights_ : {"counts", "sqrt", "equal"}
        Weights used in the fit.
    labels_ : (N,) array, or (M,) if columns are clustered
        Most probable cluster of each training row, or of each column. Labels of empty rows and
        columns are meaningless.
    posteriors_ : (N, K) array, or (M, K)
        P(c given x_i), or P(c given y_j).
    components_ : (K, M) array
        P(y_j given c).
    weights_ : (K,) array
        Prior probabilities P(c). If columns are clustered, each cluster's share of the tokens.
    embedding_ : (N, K) array
        P(c given x_i) of the training rows.
    splits_ : list of Split
        Clusters that split, if ``annealing > 1``, with the fields ``beta`` and ``parts``.

    Notes
    -----
    X must contain counts, except with ``object_weights="equal"``. The E-step then multiplies
    Kullback-Leibler divergences in nats by beta times the mean row sum.

    With ``leave_one_out=True`` the objective may rise during EM. Predicted labels of the training
    rows can differ from ``labels_``.

    References
    ----------
    .. [1] T. Hofmann and J. Puzicha, Statistical models for co-occurrence data, AI Memo 1625, MIT,
       1998, equations 20-32.
    .. [2] F. Pereira, N. Tishby and L. Lee, Distributional clustering of English words, ACL 1993.

    Examples
    --------
    >>> from skcooc import AsymmetricClustering, datasets
    >>> data = datasets.make_cooccurrences(60, 40, n_components=3, kind="clusters", random_state=0)
    >>> model = AsymmetricClustering(n_clusters=3, n_init=3, random_state=0).fit(data.X)
    >>> model.labels_.shape, model.predict(data.X[:5]).shape
    ((60,), (5,))
    """

    n_clusters: Size = 8
    _: KW_ONLY
    hard: bool = False
    axis: Literal["rows", "columns"] = "rows"
    object_weights: ObjectWeights | Literal["auto"] = "auto"
    proportions: Literal["auto", "uniform", "estimated"] = "auto"
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
        "object_weights": [StrOptions({"auto", *POWERS})],
        "proportions": [StrOptions({"auto", "uniform", "estimated"})],
        "leave_one_out": ["boolean"],
        "annealing": ANNEALING,
        "coarsening": [list, tuple, None],
    }

    @property
    def object_weights_(self) -> ObjectWeights:
        return self._fitted_model.object_weights

    @property
    def posteriors_(self) -> Array:
        params, rows = self._state
        return self._fitted_model.posteriors(params, rows)

    @property
    def labels_(self) -> Array:
        return first_largest(self.posteriors_)

    def _have_counts(self, table: Table) -> dict[str, Array]:
        if self.axis == "rows":
            return super()._have_counts(table)
        return {"columns": table.all_sums(table.counts) > 0}

    def merged(self, shares: Array) -> Self:
        """Return a fitted model of L clusters: cluster k is divided among them by shares (K, L)."""
        if not isinstance(self._fitted_model, RowClusters):
            raise TypeError(
                "Clusters can be merged or dropped only with axis='rows' and leave_one_out=False; "
                f"got axis={self.axis!r} and leave_one_out={self.leave_one_out}."
            )
        mass = self.component_distribution_
        if self.object_weights_ != "counts":
            tokens = self.row_distribution_
            mass = (tokens * size_factors(tokens, self.object_weights_)) @ self.embedding_
        return self._with_merged_components(shares, mass)

    def best_sizes(self, table: Table) -> dict[str, int] | None:
        return searched_n_clusters(table, self.random_state) if self.axis == "rows" else None

    def recipe(self) -> Recipe:
        soft = not (self.hard or self.leave_one_out or self.annealing)
        plain_rows = soft and self.coarsening is None and self.axis == "rows"
        weights = self.object_weights
        if weights == "auto":
            weights = "sqrt" if plain_rows else "counts"
        proportions = self.proportions
        if proportions == "auto":
            proportions = "estimated" if plain_rows else "uniform"
        options = self.n_clusters, self.hard, weights, proportions
        rows = RowClusters(*options)
        plain = rows if self.axis == "rows" else ColumnClusters(*options)
        self._check_combinations(weights, plain.largest_beta)
        model = PredictiveClusters(rows) if self.leave_one_out else plain
        within = no_temperature if self.hard else partial(temperatures, plain)
        start = left_out_start if self.leave_one_out else STARTS[self.axis, self.hard]
        variations: list[Variation] = []
        if self.coarsening is not None:
            variations.append(Coarsened(self.coarsening))
        if self.annealing is not None:
            variations.append(Annealed(self.annealing, plain.critical_beta))
        return Recipe(
            FixedModel(
                model,
                within,
                n_temperatures=N_TEMPERATURES,
                usual_beta=partial(usual_cluster_beta, model) if start is swapped_start else None,
            ),
            self._settings(),
            shape={name: getattr(self, name) for name in ("n_clusters", "axis", "leave_one_out")},
            start=start,
            quick_start=seeded_start if plain is rows and not self.hard else None,
            variations=tuple(variations),
            init_from=None if self.leave_one_out or self.annealing else plain,
        )

    def _check_combinations(self, weights: ObjectWeights, largest_beta: float) -> None:
        if self.leave_one_out:
            needs = {"hard": False, "axis": "rows", "object_weights": "counts", "coarsening": None}
            for name, value in needs.items():
                actual = weights if name == "object_weights" else getattr(self, name)
                if actual != value:
                    raise ValueError(f"leave_one_out=True needs {name}={value!r}, got {actual!r}.")
            if (self.annealing or 0) > 1:
                raise ValueError(
                    f"leave_one_out=True needs annealing < 1, or None, got {self.annealing}."
                )
        if not isinstance(self.beta, str) and self.beta > largest_beta:
            raise ValueError(
                f"The 'beta' parameter of {type(self).__name__} must be a float in the range "
                f"(0.0, {largest_beta}] where object_weights={weights!r}. Got {self.beta} instead."
            )
        check_hard(self.hard, self.proportions, self.annealing)
        if self.coarsening is not None and self.axis == "columns":
            raise ValueError("coarsening groups rows: it needs axis='rows', got 'columns'.")
        if self.coarsening is not None and weights != "counts":
            raise ValueError(f"coarsening needs object_weights='counts', got {weights!r}.")
        if weights != "counts" and (self.annealing or 2) < 1:
            raise ValueError(f"annealing < 1 needs object_weights='counts', got {weights!r}.")
