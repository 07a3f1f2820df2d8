"""Symmetric clustering: clusters of rows and of columns, fitted jointly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from skcooc.base import ANNEALING, CONSTRAINTS, SIZE, CooccurrenceEstimator, Size
from skcooc.base.attributes import Attributes
from skcooc.base.clusters import RowClusterMixin, rows_with_counts
from skcooc.em import Annealed, Coarsened, Variation, split_annealing
from skcooc.em.stages import PlainRunner, Start, State
from skcooc.equations import coclusters
from skcooc.equations.coclusters import ClassBigrams, CoClusters
from skcooc.equations.memberships import POWERS, ObjectWeights, no_temperature, temperatures
from skcooc.fitting import FixedModel, Recipe
from skcooc.fitting.recipe import continued_start, draw_seeds
from skcooc.protocol import Array, Counts, TableLike
from skcooc.protocol.bases import BiclusterMixin
from skcooc.protocol.scikit_learn import StrOptions
from skcooc.simplex import first_largest
from skcooc.starts.clusters import bigram_start, cocluster_start
from skcooc.starts.coclusters import (
    Blocks,
    Merge,
    best_sizes,
    is_searched,
    search_start,
    settled_start,
)
from skcooc.tables import Table

# Ranges of beta: times the mean number of tokens of a row or column, and relative to the critical
# value.
SYMMETRIC = 8.0, 80.0
SYMMETRIC_CRITICAL = 3.0, 20.0


@dataclass(frozen=True)
class SearchedClusters(FixedModel):
    """Hard co-clusters, whose labels are those of the search where the table is in memory."""

    def for_table(self, X: Counts, columns: Array | None) -> FixedModel:
        equations = cast(CoClusters, self.equations)
        return replace(self, equations=replace(equations, keeps_labels=is_searched(X)))


@dataclass(eq=False, repr=False)
class SymmetricClustering(BiclusterMixin, RowClusterMixin, CooccurrenceEstimator):
    """Symmetric clustering model (SCM): co-clustering of rows and columns.

    Every row belongs to one of C clusters and every column to one of D. How often a row and a
    column occur together depends only on their clusters and on their own frequencies. Read more in
    the :doc:`user guide </guide/symmetric>`.

    Parameters
    ----------
    n_row_clusters : int or "auto", default=8
        Number C of row clusters. "auto" searches for the co-clustering with the highest integrated
        likelihood and takes its numbers of clusters. Set "auto" for rows and columns together, with
        ``tied=False``. The search gives repeated tokens less weight if rows are bursty. One cluster
        on each side means that no structure was found.

    n_column_clusters : int or "auto", default=8
        Number D of column clusters. See ``n_row_clusters`` for "auto".

    hard : bool, default=False
        Whether to assign every row and column to exactly one cluster. Beta then has no effect. A
        search finds the labels with the highest integrated likelihood. With coarsening,
        ``tied=True``, or a table that is not in memory, the fit maximises the mutual information
        instead.

    tied : bool, default=False
        Whether rows and columns are the same items, such as words, and share one clustering: the
        class bigram model [2]_. Needs a square X, ``hard=True`` and C = D.

    object_weights : {"counts", "sqrt", "equal"}, default="counts"
        Weight of a row in the fit. "sqrt" and "equal" cannot be combined with ``tied=True``,
        annealing or coarsening.

        - ``"counts"``: its number of tokens.
        - ``"sqrt"``: the square root of its number of tokens.
        - ``"equal"``: the same for all rows.

    beta : float in (0, 1] or "auto", default="auto"
        Inverse temperature, the exponent in the E-step. The longer rows and columns are, the
        smaller is the best value: 0.2 to 0.5 for abstracts. "auto" tunes it on held-out tokens.

    annealing : float > 1, float in (0, 1) or None, default=None
        Largest factor by which beta changes at a time. None keeps beta constant.

        - above 1: the fit starts from two asymmetric clusterings, of rows and of columns. Their
          beta rises, with up to ``max_iter`` iterations at each value, and clusters split.
        - below 1: beta falls from 1, with up to eight iterations at each value but the last.

    Attributes
    ----------
    n_row_clusters_, n_column_clusters_ : int
        Numbers of clusters.
    row_labels_, labels_, column_labels_ : (N,), (N,) and (M,) arrays
        Most probable cluster of each training row (the first two are the same) and of each column.
        Labels of empty rows and columns are meaningless.
    embedding_ : (N, C) array
        P(c given x_i) of the training rows.
    column_posteriors_ : (M, D) array
        P(d given y_j).
    rows_, columns_ : (C * D, N) and (C * D, M) arrays of bool
        Members of each pair of clusters, without empty rows and columns. Column clusters vary
        fastest.
    joint_ : (C, D) array
        pi_cd, the share of the weighted tokens in each pair of clusters.
    association_ : (C, D) array
        c_cd = pi_cd / (pi_c pi_d). 1 means that the clusters are independent.
    mutual_information_ : float
        sum_cd pi_cd log c_cd, in nats.
    merges_ : list of Merge
        Merges of two clusters in order, down to one cluster of rows and one of columns: a tree for
        each side. Each merge loses as little integrated likelihood as possible. Its fields are
        ``axis`` (0: rows, 1: columns), the cluster numbers ``first`` and ``second``, and ``loss``.
        The merged cluster keeps the number ``first``. The loss is in nats, and negative if fewer
        clusters are better. In the sizes of clusters each row counts once, whatever its
        ``sample_weight``. Not available with ``tied=True``. See
        :func:`skcooc.inspection.merge_clusters` and :func:`skcooc.inspection.to_linkage`.
    components_ : (C, M) array
        P(y_j given c).
    weights_ : (C,) array
        Prior probabilities of the row clusters.

    See Also
    --------
    AsymmetricClustering : Clusters of one side, which predict better.

    Notes
    -----
    X must contain counts, not proportions. With ``hard=True``, predicted labels of the training
    rows can differ from ``labels_``.

    References
    ----------
    .. [1] T. Hofmann and J. Puzicha, Statistical models for co-occurrence data, AI Memo 1625, MIT,
       1998, equations 34-49.
    .. [2] P. F. Brown et al., Class-based n-gram models of natural language, Computational
       Linguistics 18, 1992.

    Examples
    --------
    >>> from skcooc import SymmetricClustering
    >>> from skcooc.datasets import make_cooccurrences
    >>> data = make_cooccurrences(60, 40, n_components=3, kind="coclusters", random_state=0)
    >>> model = SymmetricClustering(3, 3, n_init=3, random_state=0).fit(data.X)
    >>> model.row_labels_.shape, model.column_labels_.shape, model.association_.shape
    ((60,), (40,), (3, 3))
    """

    n_row_clusters: Size = 8
    n_column_clusters: Size = 8
    _: KW_ONLY
    hard: bool = False
    tied: bool = False
    object_weights: ObjectWeights = "counts"
    proportions: Literal["uniform", "estimated"] = "uniform"
    annealing: float | None = None
    coarsening: Sequence[ArrayLike] | None = None

    n_row_clusters_: int = field(init=False)
    n_column_clusters_: int = field(init=False)

    size_parameters = ("n_row_clusters", "n_column_clusters")
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "n_row_clusters": SIZE,
        "n_column_clusters": SIZE,
        "hard": ["boolean"],
        "tied": ["boolean"],
        "object_weights": [StrOptions({*POWERS})],
        "proportions": [StrOptions({"uniform", "estimated"})],
        "annealing": ANNEALING,
        "coarsening": [list, tuple, None],
    }

    @property
    def row_labels_(self) -> Array:
        return self.labels_

    @property
    def column_posteriors_(self) -> Array:
        return self._state.params.memberships

    @property
    def column_labels_(self) -> Array:
        return first_largest(self.column_posteriors_)

    @property
    def joint_(self) -> Array:
        return self._state.params.joint

    @property
    def association_(self) -> Array:
        return np.where(self.joint_ > 0, np.exp(coclusters.log_association(self.joint_)), 0)

    @property
    def mutual_information_(self) -> float:
        return coclusters.mutual_information(self.joint_)

    @property
    def merges_(self) -> list[Merge]:
        if self.tied:
            raise AttributeError("merges_ are of separate clusters of both sides, with tied=False.")
        sizes = [
            np.bincount(np.asarray(labels)[has_tokens], minlength=n).astype(np.float64)
            for labels, has_tokens, n in (
                (self.row_labels_, np.asarray(self.row_distribution_) > 0, len(self.joint_)),
                (self.column_labels_, self.components_.any(axis=0), len(self.joint_.T)),
            )
        ]
        J = self._mass * self.joint_.astype(np.float64)
        return Blocks(J, (sizes[0], sizes[1]), are_whole=False).tree()

    def merged_clusters(self, row_groups: Array, column_groups: Array) -> Self:
        """Return a fitted model with merged clusters, given the group numbers (C,) and (D,)."""
        params, rows = self._state
        R = np.eye(row_groups.max() + 1, dtype=params.joint.dtype)[row_groups]
        S = np.eye(column_groups.max() + 1, dtype=params.joint.dtype)[column_groups]
        model, params = self._fitted_model.merge(params, R, S)
        sizes = dict(zip(self.size_parameters, params.joint.shape, strict=True))
        return self._with_state(model, State(params, np.asarray(rows) @ R), sizes)

    @property
    def rows_(self) -> Array:
        members = self.row_labels_ == np.arange(self.joint_.shape[0])[:, None]
        members &= self.row_distribution_ > 0
        return np.repeat(members, self.joint_.shape[1], axis=0)

    @property
    def columns_(self) -> Array:
        members = self.column_labels_ == np.arange(self.joint_.shape[1])[:, None]
        members &= self.components_.any(axis=0)
        return np.tile(members, (self.joint_.shape[0], 1))

    def _have_counts(self, table: Table) -> dict[str, Array]:
        rows = rows_with_counts(table.counts)
        columns = table.all_sums(table.counts) > 0
        return {"items": rows | columns} if self.tied else {"rows": rows, "columns": columns}

    def recipe(self) -> Recipe:
        if self.hard and self.annealing is not None:
            raise ValueError(
                f"hard=True has no temperature: it needs annealing=None, got {self.annealing}."
            )
        sizes = self.n_row_clusters, self.n_column_clusters
        for name in ("tied", "annealing", "coarsening"):
            if getattr(self, name) not in (None, False) and self.object_weights != "counts":
                raise ValueError(
                    f"{name}={getattr(self, name)!r} needs object_weights='counts', got "
                    f"{self.object_weights!r}."
                )
        model = CoClusters(*sizes, self.hard, self.proportions, self.object_weights)
        fall, rise = split_annealing(self.annealing)
        start: Start = search_start
        if rise is not None:
            start = partial(cocluster_start, annealing=rise)
        if self.tied:
            self._check_tied()
        within = partial(temperatures, model, within=SYMMETRIC, critical=SYMMETRIC_CRITICAL)
        equations = ClassBigrams(self.n_row_clusters) if self.tied else model
        searches = self.hard and not self.tied and self.coarsening is None
        kind = SearchedClusters if searches else FixedModel
        family = kind(equations, no_temperature if self.hard else within)
        variations: list[Variation] = []
        if self.coarsening is not None:
            variations.append(Coarsened(self.coarsening))
        if fall is not None:
            variations.append(Annealed(fall))
        return Recipe(
            family,
            self._settings(),
            shape=dict(zip(self.size_parameters, sizes, strict=True)),
            start=bigram_start if self.tied else start,
            variations=tuple(variations),
            init_from=model if self.annealing is None else None,
            continued_start=settled_start if searches else continued_start,
            check=self._check_square,
            needs_empty_columns=self.tied,  # they are items
        )

    def best_sizes(self, table: Table) -> dict[str, int] | None:
        if self.tied:
            return None
        rng = np.random.default_rng(draw_seeds(self.random_state, 1)[0])
        sizes = best_sizes(table.sample, rng, self.object_weights)
        return dict(zip(self.size_parameters, sizes, strict=True))

    def warm_state(self, recipe: Recipe, table: Table) -> State:
        params, rows = super().warm_state(recipe, table)
        model = recipe.equations
        if not (isinstance(model, CoClusters) and model.keeps_labels):
            return State(params, rows)
        rng = np.random.default_rng(draw_seeds(self.random_state, 1)[0])
        state = State(params, rows)
        return settled_start(model, table.counts, rng, PlainRunner(), state, model)

    def _read(
        self, recipe: Recipe, X: TableLike, sample_weight: ArrayLike | None
    ) -> tuple[Table, Attributes]:
        table, inputs = super()._read(recipe, X, sample_weight)
        rows, columns, _ = table.schema.names
        if self.tied and not (rows is None or columns is None or np.array_equal(rows, columns)):
            raise ValueError(
                "tied=True needs rows and columns that are the same items in the same order, but "
                "their names differ. Use all items on both sides: names = "
                "X.index.union(X.columns) and X.reindex(index=names, columns=names, "
                "fill_value=0). For pairs, pandas.crosstab(rows, columns) makes such a frame X."
            )
        return table, inputs

    def _check_tied(self) -> None:
        if not self.hard:
            raise ValueError("tied=True is a model of hard clusters: set hard=True.")
        if self.n_row_clusters != self.n_column_clusters:
            raise ValueError(
                "tied=True needs as many clusters of columns as of rows, got n_row_clusters="
                f"{self.n_row_clusters} and n_column_clusters={self.n_column_clusters}."
            )
        if self.coarsening is not None:
            raise ValueError("tied=True moves one item at a time: it needs coarsening=None.")

    def _check_square(self, X: Counts) -> None:
        if self.tied and X.shape[0] != X.shape[1]:
            raise ValueError(f"tied=True needs a square X of the same items, got shape {X.shape}.")
