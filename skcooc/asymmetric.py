"""Asymmetric clustering: clusters of rows, or of columns, and what each predicts of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from skcooc.base import ANNEALING, CONSTRAINTS, CooccurrenceEstimator, Size
from skcooc.base.clusters import RowClusterMixin, check_proportions
from skcooc.base.merging import made_of
from skcooc.em import Split, cooled
from skcooc.equations.column_clusters import ColumnClusters
from skcooc.equations.memberships import no_temperature, temperatures
from skcooc.equations.row_clusters import PredictiveClusters, RowClusters
from skcooc.fitting import FixedModel, Recipe
from skcooc.protocol import Array
from skcooc.simplex import first_largest


@dataclass(eq=False, repr=False)
class AsymmetricClustering(RowClusterMixin, CooccurrenceEstimator):
    """Asymmetric clustering model (ACM): every row belongs to one of K clusters.

    All observations of a row, say the words of a document, come from the one distribution that its
    cluster has over the columns. Which cluster it is, is known up to a posterior probability. With
    ``axis="columns"`` it is the columns that are clustered: a row is then a mixture of clusters of
    columns.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number K of clusters. "auto" finds it with `ComponentSearchCV`, before all else, in a table
        in memory: soft clusters by held-out observations, hard ones by the integrated likelihood.

    hard : bool, default=False
        Whether every object belongs to one cluster alone: the limit of the soft model where the
        objects have very many observations. It does not depend on beta, begins with a few steps of
        the soft model, and starts empty clusters again with the object explained worst.

    axis : {"rows", "columns"}, default="rows"
        What is clustered.

    object_weights : {"counts", "equal"}, default="counts"
        Whether an object counts by its observations, which is maximum likelihood, or all objects
        count the same: distributional clustering (memo, equation 25). It takes of an object no more
        than its distribution, so that counts, and the same rows divided by their sums, have the
        same clusters; beta then may be above 1.

    proportions : {"uniform", "estimated"}, default="uniform"
        Prior probabilities of the clusters. At small beta estimated ones starve clusters. Hard
        clusterings have none: they need "uniform".

    leave_one_out : bool, default=False
        Whether a row leaves its own counts out of the clusters before it is told its cluster:
        predictive EM (memo, section 5.2), with .02 pseudo-counts of every column in a cluster. Rows
        no longer keep the cluster that they happen to be in. On newsgroups, abstracts, verses and
        word pairs it predicted better than the plain model, by .5 to 19 per cent, most with many
        clusters and short rows, at two to seven times the time. The clusters of newsgroups were
        nearer to the groups; of 32 planted clusters, found with K=32, they were further away.
        Nothing proves that the objective falls: EM ends where it has not for ten iterations. New
        rows are assigned plainly, so that ``predict`` of the rows fitted can differ from
        ``labels_``. It needs ``hard=False``, ``axis="rows"``, ``object_weights="counts"`` and no
        ``coarsening``; it has no clusters that split, and so needs ``annealing`` below 1, or None.
        Not with streams, blocks of rows or dask arrays.

    beta : float > 0 or "auto", default="auto"
        Inverse temperature, at most 1 where ``object_weights="counts"``. Since the likelihood of an
        object is a product over all its observations, the best value is the smaller the more it
        has; for abstracts it is about .1 or less. "auto" chooses it on observations held out inside
        ``fit``, on a logarithmic scale, above the critical value below which all clusters are the
        same. Counts must be in units of observations, which need not be whole: rows divided by
        their sums are too small for any beta. Not so where all objects count the same: beta times
        the mean sum of an object is then what a unit (nat) of its Kullback-Leibler divergence from
        a cluster is multiplied by. For rows that sum to one it is beta itself; clusters never come
        apart where it is below 1, and on abstracts it is best between 5 and 7.

    annealing : float > 1, float in (0, 1) or None, default=None
        Factor by which the inverse temperature changes while EM goes on. Above 1, EM starts at the
        critical temperature with a single cluster, and the inverse temperature is multiplied by
        this until it is beta. At every temperature each cluster may split in two, which ``splits_``
        records; where fewer than ``n_clusters`` have come apart in the end, some are there
        repeatedly. Below 1, it falls from 1 down to beta, and where ``early_stopping=True`` only as
        long as held-out observations are predicted better. None starts at beta, as does the search
        for beta; a warm start goes on at ``beta_``.

    coarsening : sequence of (N,) arrays of int or None, default=None
        Groups of neighbouring rows, finest grouping first, each joining groups of the one before:
        multiscale optimisation. EM begins with the rows of a group tied to one posterior, and
        reaches the single rows last. Annealing concerns the coarsest groups. For pixels see
        ``skcooc.image.grid_coarsening``.

    max_iter : int, default=200
        Largest number of EM iterations at each temperature and scale.

    solver : float in (0, 2) or str, default=1.8
        Step size eta of over-relaxed EM; 1.0 is plain EM. Or the name of a solver: "momentum" makes
        ever longer steps as long as they lead down. A step that raises the free energy is undone.
        Hard clusterings take plain steps. 1.8 and "momentum" took 8 to 9 iterations on CLASSIC3
        (16 clusters, beta = .3, three starts), plain EM 9 to 10.

    n_init : int, default=1
        Number of starts; the one with the least free energy is kept, or with the least validation
        perplexity where ``early_stopping=True``. A start is itself the best of four to eight short
        runs, each with a third more clusters, of which those that are alike are joined.

    Attributes
    ----------
    n_clusters_ : int
        Number of clusters.
    component_search_ : ComponentSearchCV
        Only where ``n_clusters="auto"``: the search.
    labels_ : (N,) array, or (M,) where columns are clustered
        Most probable cluster of each object.
    posteriors_ : (N, K) array, or (M, K) where columns are clustered
        P(cluster given object).
    components_ : (K, M) array
        P(y_j given c).
    weights_ : (K,) array
        P(c); share of the observations where columns are clustered.
    embedding_ : (N, K) array
        P(c given x_i) of the rows fitted; a dask array where X was one.
    splits_ : list of Split
        Only where ``annealing > 1``: ``beta``, the inverse temperature at which a cluster came
        apart, and ``parts``, the clusters in each part.

    References
    ----------
    T. Hofmann and J. Puzicha, Statistical models for co-occurrence data, AI Memo 1625, MIT, 1998,
    sections 3.1, 3.2, 5.1 and 5.4.

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
        "n_clusters": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
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
        """P(cluster given object)."""
        params, rows = self._state
        posteriors: Array = self._fitted_model.posteriors(params, rows)
        return posteriors

    @property
    def labels_(self) -> Array:
        """Most probable cluster of each object."""
        return first_largest(self.posteriors_)

    def _made_of(self, shares: Array) -> CooccurrenceEstimator:
        """A fitted model whose clusters are sums of these, where shares (K, L) are one."""
        if not isinstance(self._fitted_model, RowClusters):
            raise TypeError(
                "Clusters cannot be merged or left out where axis='columns' or leave_one_out=True."
            )
        mass = self.component_distribution_
        if self._fitted_model.object_weights == "equal":
            mass = self.embedding_[self.row_distribution_ > 0].sum(axis=0)
        return made_of(self, shares, mass, "n_clusters")

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
            annealing=cooled(self.annealing, plain.critical_beta),
            init_from=None if self.leave_one_out or self.annealing else plain.diluted,
            coarsening=self.coarsening,
        )

    def _check_combinations(self, largest_beta: float) -> None:
        if self.leave_one_out:
            self._check_left_out()
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
            raise ValueError(
                "coarsening ties rows with their observations: it needs object_weights='counts', "
                "which is the same as 'equal' where all rows have equally many."
            )
        if self.hard and self.annealing is not None:
            raise ValueError("hard=True has no temperature: it needs annealing=None.")
        if self.object_weights == "equal" and (self.annealing or 2) < 1:
            raise ValueError(
                "annealing < 1 falls from maximum likelihood: it needs object_weights='counts'."
            )

    def _check_left_out(self) -> None:
        """Raise ValueError where rows cannot leave their counts out."""
        needed = {"hard": False, "axis": "rows", "object_weights": "counts", "coarsening": None}
        for name, value in needed.items():
            if getattr(self, name) != value:
                raise ValueError(
                    "leave_one_out=True takes the counts of single rows out of soft clusters: it "
                    f"needs {name}={value!r}."
                )
        if (self.annealing or 0) > 1:
            raise ValueError(
                "leave_one_out=True has no clusters that split: it needs annealing < 1, or None."
            )
