"""Probabilistic clustering-projection: clusters of rows in a space of topics, found together."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

from sklearn.utils._param_validation import Interval, StrOptions

from skcooc.base import CONSTRAINTS, FALLING, CooccurrenceEstimator, Size
from skcooc.base.clusters import ProjectionMixin
from skcooc.em import TemperatureRange, falling
from skcooc.equations.memberships import temperatures
from skcooc.equations.projections import FactorialProjections, StructuredProjections
from skcooc.equations.row_clusters import RowClusters
from skcooc.fitting import FixedModel, Recipe
from skcooc.protocol import Block


@dataclass(eq=False, repr=False)
class ClusteringProjection(ProjectionMixin, CooccurrenceEstimator):
    """Probabilistic clustering-projection (PCP): clusters of rows in a space of topics.

    A row, say a document, belongs to one of C clusters; a cluster has a center, a distribution over
    K topics; a topic is a distribution over columns, say words. Every observation of a row comes
    from a topic that is chosen by the center of its cluster. Topics and clusters are found
    together, by variational EM: weights and centers of clusters have Dirichlet priors.

    Parameters
    ----------
    n_components : int or "auto", default=10
        Number K of topics. "auto" finds it with `ComponentSearchCV`, before all else, in a table in
        memory.

    n_clusters : int or None, default=None
        Number C of clusters to begin with. None begins with one for every row, as the authors do
        to predict; some of them die. To find classes of rows, give their number.

    cluster_prior : float, default=1.0
        alpha: the weights of the clusters have the prior Dir(alpha / C, ..., alpha / C). With a
        small one, clusters that are not needed die, the more so at small beta; with a large one,
        say 1e4, they all live and have similar weights.

    center_prior : float, default=0.05
        lambda: the centers have the prior Dir(lambda, ..., lambda).

    topic_prior : float, default=0.05
        Pseudo-count added to the expected count of every column in every topic, for columns that
        occur. It adds ``topic_prior`` times the sum of their log P(y_j given z_k) to the objective.

    update_priors : bool, default=False
        Whether Newton's method fits alpha and the entries of lambda in every iteration. Begun with
        one cluster for every row, all weights are first the same, and alpha becomes very large.

    posterior : {"auto", "factorial", "structured"}, default="auto"
        How the posterior of a row is approximated. In the factorial one, the authors', its cluster
        and its topics are independent: they confirm each other, and a row hardly ever changes its
        cluster. In the structured one the topics depend on the cluster, as they exactly do: its
        bound is tighter and clusters come out better, but it needs arrays of size N x C and M x C.
        "auto" is structured where ``n_clusters`` is a number, and factorial where it is None.

    inference : {"collapsed", "variational"}, default="collapsed"
        How new rows find their clusters: with topics summed out, at the means of centers and
        weights; or by the authors' updates in turn, which start from there, since from the prior
        they end at poor optima.

    beta : float in (0, 1] or "auto", default="auto"
        Inverse temperature of the posterior, the exponent of the likelihood: of every observation
        and its topic where the posterior is factorial, of the row where it is structured, and of
        new rows in both. 1 is the authors' model. "auto" chooses it on observations held out inside
        ``fit``: between .5 and 1, or, structured, on a logarithmic scale, as
        ``AsymmetricClustering`` does.

    annealing : float in (0, 1) or None, default=None
        Factor by which the inverse temperature falls while EM goes on, from 1 down to beta, and
        where ``early_stopping=True`` only as long as held-out observations are predicted better. It
        does not rise with clusters that split: two copies of one, each with the prior of its
        center, are not the same as the one. None starts at random, at beta, as does the search for
        beta; a warm start goes on at ``beta_``.

    n_init : int, default=1
        Number of random starts; the one with the least free energy is kept, or with the least
        validation perplexity where ``early_stopping=True``. A start is a short aspect model, and,
        where ``n_clusters`` is a number, the best of five asymmetric clusterings.

    tol : float, default=1e-5
        EM stops when the bound rises by less than this, relative to its size. With the 3e-6 of the
        other models it took up to 1.6 times as many iterations on abstracts and messages, and
        predicted no better: perplexities were up to .1 per cent larger (K = 16, beta = 1).

    solver : float in (0, 2) or str, default=1.8
        Step size eta of over-relaxed EM; 1.0 is plain EM. Or the name of a solver: "momentum" makes
        ever longer steps as long as they lead down. A step that lowers the bound is undone.
        Clusters that died stay dead. On a third of CLASSIC3 (8 topics, beta = 1, one start) 1.8
        took 35 iterations, "momentum" 40 and plain EM 53.

    warm_start : bool, default=False
        Whether a further call of ``fit`` goes on from the parameters, and from the temperature that
        an earlier call found, once, without further random starts. The number of clusters stays.
        If the call before had True, too, and X and all parameters but ``max_iter``, ``tol`` and
        ``n_init`` are the same, the steps go on as if it had not ended.

    Attributes
    ----------
    n_components_ : int
        Number of topics.
    component_search_ : ComponentSearchCV
        Only where ``n_components="auto"``: the search.
    labels_ : (N,) array
        Most probable cluster of each row, in ``0 .. n_clusters_ - 1``.
    n_clusters_ : int
        Number of clusters that have rows.
    cluster_centers_ : ``(n_clusters_, K)`` array
        Means of the centers, gamma normalised.
    cluster_weights_ : ``(n_clusters_,)`` array
        Means of the weights of clusters, eta normalised.
    components_ : (K, M) array
        The topics, P(y_j given z_k).
    weights_ : (K,) array
        P(z_k) of a row of which nothing is known.
    embedding_ : (N, K) array
        P(z_k given x_i) of the rows fitted: the mean of the centers under the posterior of the
        cluster. ``transform`` of the same rows folds them in anew, by ``inference``, and differs
        from it, very much so where a row is a cluster of its own.
    lower_bound_ : float
        The bound at the last E-step, in nats: -beta_ * objective_.
    alpha_ : float
        As fitted, or as given.
    lambda_ : (K,) array
        As fitted, or as given.

    See Also
    --------
    skcooc.AspectModel : Every row has a mixture of its own; predicts better where topics are many.
    skcooc.AsymmetricClustering : Clusters of rows without topics.

    References
    ----------
    S. Yu, K. Yu, V. Tresp and H.-P. Kriegel, A probabilistic clustering-projection model for
    discrete data, PKDD 2005.

    Examples
    --------
    >>> from skcooc import ClusteringProjection
    >>> from skcooc.datasets import make_cooccurrences
    >>> data = make_cooccurrences(60, 40, n_components=3, kind="clusters", random_state=0)
    >>> model = ClusteringProjection(4, n_clusters=3, random_state=0).fit(data.X)
    >>> model.predict(data.X[:5]).shape, model.transform(data.X[:5]).shape
    ((5,), (5, 4))
    """

    n_components: Size = 10
    n_clusters: int | None = None
    _: KW_ONLY
    cluster_prior: float = 1.0
    center_prior: float = 0.05
    topic_prior: float = 0.05
    update_priors: bool = False
    posterior: Literal["auto", "factorial", "structured"] = "auto"
    inference: Literal["collapsed", "variational"] = "collapsed"
    annealing: float | None = None
    tol: float = 1e-5

    n_components_: int = field(init=False)

    size_parameters = ("n_components",)
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "cluster_prior": [Interval(Real, 0, None, closed="neither")],
        "center_prior": [Interval(Real, 0, None, closed="neither")],
        "topic_prior": [Interval(Real, 0, None, closed="left")],
        "update_priors": ["boolean"],
        "posterior": [StrOptions({"auto", "factorial", "structured"})],
        "inference": [StrOptions({"collapsed", "variational"})],
        "annealing": [FALLING, None],
    }

    def recipe(self) -> Recipe:
        shape = {name: getattr(self, name) for name in ("n_components", "n_clusters", "posterior")}
        kind = StructuredProjections if self._is_structured else FactorialProjections
        priors = self.cluster_prior, self.center_prior, self.topic_prior
        model = kind(self.n_components, self.n_clusters, *priors, self.update_priors)
        return Recipe(
            FixedModel(model, self._temperatures),
            self._settings(),
            shape=shape,
            annealing=None if self.annealing is None else falling(self.annealing),
        )

    @property
    def _is_structured(self) -> bool:
        if self.posterior == "auto":
            return self.n_clusters is not None
        return self.posterior == "structured"

    def _temperatures(self, X: Block) -> TemperatureRange:
        if self._is_structured:
            return temperatures(RowClusters(self.n_clusters or X.shape[0]), X)
        return TemperatureRange(0.5, 1.0)
