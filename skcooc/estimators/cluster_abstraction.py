"""Cluster-abstraction model: a tree of row clusters, with columns at all nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Literal, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from skcooc.base import CONSTRAINTS, SIZE, CooccurrenceEstimator, Size
from skcooc.base.clusters import RowClusterMixin, check_hard, searched_n_clusters
from skcooc.em import Coarsened, Split
from skcooc.em.stages import Runner, Solver, Start
from skcooc.equations.memberships import no_temperature, temperatures
from skcooc.equations.tree_clusters import Abstractions
from skcooc.fitting import FixedModel, Recipe
from skcooc.heldout import HeldOut
from skcooc.hierarchy import Tree, binary_tree, explicit_tree
from skcooc.protocol import CSR, Array, Block, Capability, Counts, Model, TableLike, warn
from skcooc.protocol.scikit_learn import Interval, StrOptions
from skcooc.simplex import first_largest
from skcooc.starts.trees import KINDS, grow, hard_tree_start, tree_start
from skcooc.tables import Table


@dataclass(frozen=True)
class TreeLearner:
    """Grows a tree by annealing; a warm start keeps the tree of the fit before."""

    model: Abstractions
    kind: str  # "annealed" or "grown"
    n_clusters: int
    grown: list[Split] | None  # splits of the tree that a warm start keeps

    @property
    def needs(self) -> Mapping[Capability, str]:
        return {
            "all rows": f"tree={self.kind!r} is grown on all rows; give a tree, or tree='binary'"
        }

    def learn(
        self,
        X: Block,
        solver: Solver,
        rng: np.random.Generator,
        heldout: HeldOut | None,
        runner: Runner,
    ) -> tuple[Model, Start | None, list[Split]]:
        if self.grown is not None:
            return self.model, None, self.grown
        growth = grow(X, KINDS[self.kind], self.n_clusters, solver, rng, heldout, runner)
        if growth.failed:
            warn(
                "The tree has not grown: no split of a cluster predicts better. Rows and columns "
                "are independent, or there are too few tokens; try tree='binary'.",
                ConvergenceWarning,
            )
        model = replace(self.model, tree=growth.tree)
        start = hard_tree_start if model.hard else tree_start
        return model, partial(start, nodes=growth.nodes), growth.splits


@dataclass(eq=False, repr=False)
class ClusterAbstraction(RowClusterMixin, CooccurrenceEstimator):
    """Cluster-abstraction model (CAM): row clusters are leaves of a tree.

    Every row belongs to the cluster at one leaf. Each of its tokens comes from a node on the path
    from the root to that leaf. The root holds general words, and the leaves hold specific ones.
    Read more in the :doc:`user guide </guide/cluster_abstraction>`.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number K of leaves. "auto" searches for it as in `AsymmetricClustering`, and cannot be
        combined with an array as ``tree``.

    tree : "binary", "annealed", "grown", or array-like of int, default="grown"
        Topology of the tree. The tree is learned with "grown" and "annealed", which stop growing
        when more leaves no longer predict better.

        - ``"grown"``: follows the splits of this model while beta rises.
        - ``"annealed"``: follows the splits of clusters without a tree while beta rises.
        - ``"binary"``: balanced and fixed. Use it for tables that are not in memory.
        - array of shape (V,): the parent of each node, -1 for the root.
        - array of shape (K - 1, 2): the pairs of nodes to join, as in
          ``AgglomerativeClustering.children_``.
        - array of shape (K - 1, 4): a linkage matrix of SciPy. Its heights have no effect.

        Only the shape of a tree is used. Its leaves get the clusters of the fit, with similar ones
        below the same nodes, and not those from which you made the tree.

    abstraction : {"constant", "cluster", "row"}, default="cluster"
        Weights of the nodes on a path.

        - ``"constant"``: equal weights.
        - ``"cluster"``: one set of weights for each cluster.
        - ``"row"``: one set of weights for each row. It predicts best and takes much longer.

    tempering : {"path", "joint"}, default="path"
        Factors of the likelihood to which the exponent beta applies.

        - ``"path"``: the probability of a token, summed over the nodes of the path.
        - ``"joint"``: the probability of a column at each node, before the sum ([1]_, equation 65).

    proportions : {"uniform", "estimated"}, default="uniform"
        Prior probabilities of the clusters. With "estimated", some clusters become empty at small
        beta. Hard clusterings need "uniform".

    hard : bool, default=False
        Whether to assign every row to its most probable leaf. Beta then has no effect.

    beta : float in (0, 1] or "auto", default="auto"
        Inverse temperature, the exponent in the E-step. The longer the rows, the smaller the best
        value: about 0.1 for abstracts. "auto" tunes it on held-out tokens.

    row_iter : int, default=10
        Maximum number of EM iterations with weights for each row (``abstraction="row"``). More
        iterations overfit.

    Attributes
    ----------
    tree_ : skcooc.hierarchy.Tree
        Parents, depths, leaves and paths of the nodes.
    n_clusters_ : int
        Number K of leaves.
    splits_ : list of Split
        Clusters that split, if the tree is learned.
    labels_ : (N,) array
        Most probable cluster of each training row. Cluster k is the leaf ``tree_.leaves[k]``.
        Labels of empty rows are meaningless.
    posteriors_ : (N, K) array
        P(c given x_i).
    components_ : (V, M) array
        P(y_j given v) for each of the V nodes.
    embedding_ : (N, V) array
        P(v given x_i) of the training rows.
    weights_, node_weights_ : (V,) arrays
        P(v) of an empty row, and the share of the training tokens at each node. The data hardly
        determine these shares (see Notes).

    See Also
    --------
    AsymmetricClustering : Clusters without a tree.

    Notes
    -----
    EM goes through the stages "constant", "cluster" and "row", up to ``abstraction``, each of at
    most ``max_iter`` iterations. For a tree of columns fit ``X.T``.

    Moving the words of a node into all of its children leaves the likelihood unchanged. EM
    therefore ends near the equal weights with which it begins. With few tokens, it prefers the
    leaves, which have the most parameters. Compare trees by their leaves and words, not by
    ``node_weights_``.

    References
    ----------
    .. [1] T. Hofmann and J. Puzicha, Statistical models for co-occurrence data, AI Memo 1625, MIT,
       1998, equations 50-59.

    Examples
    --------
    >>> from skcooc import ClusterAbstraction, datasets
    >>> data = datasets.make_cooccurrences(60, 40, n_components=4, kind="clusters", random_state=0)
    >>> model = ClusterAbstraction(n_clusters=4, random_state=0).fit(data.X)
    >>> model.tree_.parents
    array([-1,  0,  0,  1,  1,  2,  2])
    >>> model.transform(data.X[:5]).shape, model.predict(data.X[:5]).shape
    ((5, 7), (5,))
    """

    n_clusters: Size = 8
    _: KW_ONLY
    tree: Literal["annealed", "binary", "grown"] | ArrayLike = "grown"
    abstraction: Literal["constant", "cluster", "row"] = "cluster"
    tempering: Literal["path", "joint"] = "path"
    proportions: Literal["uniform", "estimated"] = "uniform"
    row_iter: int = 10
    hard: bool = False
    coarsening: Sequence[ArrayLike] | None = None

    splits_: list[Split] = field(init=False)

    size_parameters = ("n_clusters",)
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "n_clusters": SIZE,
        "tree": [StrOptions({"annealed", "binary", "grown"}), "array-like"],
        "abstraction": [StrOptions({"constant", "cluster", "row"})],
        "tempering": [StrOptions({"path", "joint"})],
        "proportions": [StrOptions({"uniform", "estimated"})],
        "row_iter": [Interval(Integral, 1, None, closed="left")],
        "hard": ["boolean"],
        "coarsening": [list, tuple, None],
    }

    @property
    def tree_(self) -> Tree:
        check_is_fitted(self)
        return self._fitted_model.tree

    @property
    def n_clusters_(self) -> int:
        return len(self.tree_.leaves)

    @property
    def posteriors_(self) -> Array:
        return self._fitted_model.leaves(self._state.rows)

    @property
    def labels_(self) -> Array:
        return first_largest(self.posteriors_)

    @property
    def node_weights_(self) -> Array:
        return np.asarray(self.row_distribution_ @ self.embedding_)

    def decision_path(self, X: TableLike) -> CSR:
        """Return the nodes on the path from the root to the most probable leaf of each row.

        Parameters
        ----------
        X : array-like, sparse array or matrix, DataFrame of shape (n, M), or Dyads

        Returns
        -------
        indicator : CSR array of shape (n, V), bool
            True for the nodes on the path of a row.
        """
        return sp.csr_array(self.tree_.above)[self.predict(X)]

    def best_sizes(self, table: Table) -> dict[str, int]:
        return searched_n_clusters(table, self.random_state)

    def recipe(self) -> Recipe:
        check_hard(self.hard, self.proportions)
        options = self.abstraction, self.tempering, self.proportions, self.row_iter
        model = Abstractions(self._topology(), *options, hard=self.hard)
        learner = None
        if self._grows:
            grown = getattr(self, "splits_", None) if self._is_warm_start() else None
            learner = TreeLearner(model, cast(str, self.tree), self.n_clusters, grown)
        family = FixedModel(model, no_temperature if self.hard else partial(temperatures, model))
        return Recipe(
            family,
            self._settings(),
            shape={"n_clusters": self.n_clusters},
            start=hard_tree_start if self.hard else tree_start,
            variations=() if self.coarsening is None else (Coarsened(self.coarsening),),
            structure=learner,
            check=self._check_tree,
        )

    def _posteriors(self, X: Block) -> Array:
        return self._fitted_model.leaves(self._row_states(X))

    @property
    def _n_posteriors(self) -> int:
        return self.n_clusters_

    @property
    def _grows(self) -> bool:
        return isinstance(self.tree, str) and self.tree in KINDS

    def _topology(self) -> Tree:
        if self._grows:
            has_grown = self._is_warm_start() and hasattr(self, "splits_")
            return self.tree_ if has_grown else binary_tree(1)
        if isinstance(self.tree, str):
            # With "auto" the recipe is asked for its settings alone, by averages.
            return binary_tree(1 if self.n_clusters == "auto" else self.n_clusters)
        tree = explicit_tree(self.tree)
        n_leaves = len(tree.leaves)
        if n_leaves != self.n_clusters:
            cut = ""
            if np.ndim(self.tree) == 2 and self.n_clusters in range(2, n_leaves):
                last = 1 - self.n_clusters
                cut = (
                    f", or cut it to {self.n_clusters} clusters, its last joins: "
                    f"np.unique(tree[{last}:, :2], return_inverse=True)[1].reshape(-1, 2)"
                )
            raise ValueError(
                f"tree has {n_leaves} leaves, but n_clusters={self.n_clusters}: set "
                f"n_clusters={n_leaves}{cut}."
            )
        return tree

    def _check_tree(self, X: Counts) -> None:
        if not self._is_warm_start() or self._fitted_parameters["n_clusters"] != self.n_clusters:
            return
        if not np.array_equal(self.tree_.parents, self._topology().parents):
            raise ValueError(
                "warm_start=True continues with the fitted tree, but tree has changed. Set "
                "warm_start=False to start anew."
            )
