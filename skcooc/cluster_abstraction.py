"""The cluster-abstraction model: a tree of clusters, with columns at the right level."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from skcooc.base import CONSTRAINTS, CooccurrenceEstimator, Size
from skcooc.base.clusters import TreeMixin, check_proportions
from skcooc.em import Run, Split
from skcooc.em.legs import Observe
from skcooc.equations.growing_trees import KINDS, grow
from skcooc.equations.memberships import no_temperature, temperatures
from skcooc.equations.tree_clusters import Abstractions
from skcooc.fitting import FixedModel, LearnedStructure, Recipe, Settings
from skcooc.heldout import HeldOut
from skcooc.hierarchy import Tree, binary_tree, explicit_tree
from skcooc.protocol import Block, Counts, Need


@dataclass(frozen=True)
class TreeLearner:
    """Grows the tree of a model by annealing; a warm start keeps the tree that has grown."""

    model: Abstractions
    kind: str  # "annealed" or "grown"
    n_clusters: int
    grown: list[Split] | None  # splits of the tree that a warm start keeps

    @property
    def needs(self) -> Mapping[Need, str]:
        reason = f"tree={self.kind!r} is grown on all rows; give a tree, or tree='binary'"
        return {"all rows": reason}

    def learn(
        self,
        X: Block,
        settings: Settings,
        rng: np.random.Generator,
        heldout: HeldOut | None,
        observe: Observe,
        resume: Run | None,
    ) -> LearnedStructure:
        if self.grown is not None:
            return LearnedStructure(self.model, self.model, self.grown)
        em = settings.max_iter, settings.tol, settings.solver
        growth = grow(X, KINDS[self.kind], self.n_clusters, *em, rng, heldout, observe, resume)
        if growth.failed:
            warnings.warn(
                "The tree has not grown: no clusters came apart that predict better. Rows and "
                "columns are independent, or there are too few observations; try tree='binary'.",
                ConvergenceWarning,
                stacklevel=2,
            )
        model = replace(self.model, tree=growth.tree)
        return LearnedStructure(model, replace(model, origin=growth.nodes), growth.splits)


@dataclass(eq=False, repr=False)
class ClusterAbstraction(TreeMixin, CooccurrenceEstimator):
    """Cluster-abstraction model (CAM): clusters at the leaves of a tree, words at all its nodes.

    Also known as hierarchical asymmetric clustering model (HACM). Every row, say a document,
    belongs to the cluster at one leaf. Each of its observations comes from a node on the path from
    the root to that leaf, so that general words gather at the root, and special ones at the leaves.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number K of leaves. "auto" finds it with `ComponentSearchCV`, before all else, in a table in
        memory. A tree that is given has its own number.

    tree : "binary", "annealed", "grown", or array-like of int, default="binary"
        The topology. "binary": divided in two, as evenly as can be. "annealed": clusters of rows
        without a tree are fitted to falling temperatures, and the tree is how they split. "grown":
        so is this model itself, from the root on; a leaf that splits stays above its parts. Both
        have at most ``n_clusters`` leaves, and fewer where observations are held out in ``fit``,
        for ``beta="auto"`` or early stopping, and more leaves do not predict them better. An array
        holds the parent of each node, -1 for the root, or, of shape (K - 1, 2), the nodes that are
        joined, as ``children_`` of scikit-learn's AgglomerativeClustering; it needs ``n_clusters``
        leaves.

    abstraction : {"constant", "cluster", "object"}, default="cluster"
        Whose the weights of the nodes on a path are: the same for all, those of a cluster, or those
        of a cluster and a row. The stages are gone through in this order up to the one named. The
        last predicts best and takes much longer.

    tempering : {"path", "joint"}, default="path"
        What beta is the exponent of: the likelihood of a row, in which the nodes on the path are
        summed, or, as in the memo's equation (65), the probability of a column at a node, before
        they are summed.

    proportions : {"uniform", "estimated"}, default="uniform"
        Prior probabilities of the clusters. At small beta estimated ones starve clusters.

    hard : bool, default=False
        Whether each row belongs wholly to its most probable leaf; observations choose their nodes
        softly all the same. This is independent of beta. A leaf can stay without rows.

    coarsening : sequence of (N,) arrays of int or None, default=None
        Groups of neighbouring rows, finest grouping first, each joining groups of the one before:
        EM begins with the rows of a group tied to one posterior, and reaches the single rows last.

    beta : float in (0, 1] or "auto", default="auto"
        Inverse temperature. The best value is the smaller the more observations a row has; for
        abstracts it is about .1. "auto" chooses it on observations held out inside ``fit``, on
        a logarithmic scale.

    max_iter : int, default=200
        Largest number of EM iterations of a stage.

    object_iter : int, default=10
        Largest number of iterations of the stage "object", which overfits if it goes on for long.

    tol : float, default=3e-6
        A stage ends when the free energy falls by less than this, relative to its size.

    n_init : int, default=1
        Number of random starts; the one with the least free energy is kept, or with the least
        validation perplexity where ``early_stopping=True``. A tree that grows does so only once.

    warm_start : bool, default=False
        Whether a further call of ``fit`` goes on from the parameters, and from the temperature that
        an earlier call found, once, without further random starts. A tree that has grown stays.
        If the call before had True, too, and X and all parameters but ``max_iter``, ``tol`` and
        ``n_init`` are the same, the steps go on as if it had not ended.

    Attributes
    ----------
    tree_ : skcooc.hierarchy.Tree
        Parents, depths, leaves and paths of the nodes.
    n_clusters_ : int
        Number of its leaves, K; a tree that grows can have fewer than ``n_clusters``.
    component_search_ : ComponentSearchCV
        Only where ``n_clusters="auto"``: the search.
    splits_ : list of Split
        Only of a tree that has grown: ``beta`` of each split, which may be above ``beta_``, and
        ``parts``, the clusters in each of the two parts.
    labels_ : (N,) array
        Most probable cluster of each row; cluster k is the leaf ``tree_.leaves[k]``.
    posteriors_ : (N, K) array
        P(c given x_i).
    components_ : (V, M) array
        P(y_j given v) of every node.
    embedding_ : (N, V) array
        P(v given x_i) of the rows fitted; a dask array where X was one.
    weights_ : (V,) array
        P(v) of a row without observations.
    node_weights_ : (V,) array
        Share of the observations at each node.
    converged_ : bool
        Whether ``tol`` was reached in the last stage, or early stopping stopped.

    See Also
    --------
    AsymmetricClustering : Clusters without a tree, of rows or of columns.

    Notes
    -----
    Rows are at the leaves. For a tree of columns fit the transposed table, ``X.T``: ``labels_`` and
    ``posteriors_`` are those of the columns of X then, ``column_embedding_`` (N, V) is
    P(v given x), ``row_components_`` (V, M) is P(y given v), and their product P(y given x) of the
    rows of X. There is no ``axis="columns"``: such a tree, with weights of nodes that are those of
    a cluster or of all, tells nothing of new rows. With columns in leaves c by
    J_yc = P(c given y), and P(x given c) = sum_v tau_vc P(x given v), a new row has a mixture
    s_v = P(v given x) which no cluster restricts. Let w_c and w_v = sum_c tau_vc w_c be the shares
    of the observations in leaves and at nodes, and n_c = sum_y n_xy J_yc. Then s maximises

        sum_c n_c log r_c,   r_c = sum_v s_v tau_vc / w_v,   where sum_c w_c r_c = sum_v s_v = 1.

    So r_c = n_c / (n w_c). The leaves alone attain it, with s_c = n_c / n, and so do other s, which
    give more to inner nodes. All predict P(y given x) = P(y) sum_c J_yc r_c = sum_c n_c / n
    P(y given c), as ``AsymmetricClustering(axis="columns")`` does with the same J. Weights of each
    column would determine s; that is an aspect model in which P(v given y) is zero off the paths.

    References
    ----------
    T. Hofmann and J. Puzicha, Statistical models for co-occurrence data, AI Memo 1625, MIT, 1998,
    section 4.

    T. Hofmann, J. Puzicha and M. I. Jordan, Learning from dyadic data, NIPS 11, 1999, section 3.

    Examples
    --------
    >>> from skcooc import ClusterAbstraction
    >>> from skcooc.datasets import make_cooccurrences
    >>> data = make_cooccurrences(60, 40, n_components=4, kind="clusters", random_state=0)
    >>> model = ClusterAbstraction(n_clusters=4, random_state=0).fit(data.X)
    >>> model.tree_.parents
    array([-1,  0,  0,  1,  1,  2,  2])
    >>> model.transform(data.X[:5]).shape, model.predict(data.X[:5]).shape
    ((5, 7), (5,))

    A tree of the 40 columns, and what it says of the 60 rows:

    >>> of_columns = ClusterAbstraction(n_clusters=4, random_state=0).fit(data.X.T)
    >>> of_columns.labels_.shape, of_columns.column_embedding_.shape
    ((40,), (60, 7))
    >>> (of_columns.column_embedding_ @ of_columns.row_components_).shape
    (60, 40)
    """

    n_clusters: Size = 8
    _: KW_ONLY
    tree: Literal["annealed", "binary", "grown"] | ArrayLike = "binary"
    abstraction: Literal["constant", "cluster", "object"] = "cluster"
    tempering: Literal["path", "joint"] = "path"
    proportions: Literal["uniform", "estimated"] = "uniform"
    object_iter: int = 10
    hard: bool = False
    coarsening: Sequence[ArrayLike] | None = None

    splits_: list[Split] = field(init=False)

    size_parameters = ("n_clusters",)
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "n_clusters": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "tree": [StrOptions({"annealed", "binary", "grown"}), "array-like"],
        "abstraction": [StrOptions({"constant", "cluster", "object"})],
        "tempering": [StrOptions({"path", "joint"})],
        "proportions": [StrOptions({"uniform", "estimated"})],
        "object_iter": [Interval(Integral, 1, None, closed="left")],
        "hard": ["boolean"],
        "coarsening": [list, tuple, None],
    }

    def recipe(self) -> Recipe:
        check_proportions(self.hard, self.proportions)
        model = self._equations()
        return Recipe(
            FixedModel(model, no_temperature if self.hard else partial(temperatures, model)),
            self._settings(),
            shape={"n_clusters": self.n_clusters},
            coarsening=self.coarsening,
            structure=self._tree_learner(model),
            check=self._check_tree,
        )

    def _tree_learner(self, model: Abstractions) -> TreeLearner | None:
        if not self._grows:
            return None
        grown = self.splits_ if self._goes_on() else None
        return TreeLearner(model, cast(str, self.tree), self.n_clusters, grown)

    def _equations(self) -> Abstractions:
        options = self.abstraction, self.tempering, self.proportions, self.object_iter
        return Abstractions(self._topology(), *options, hard=self.hard)

    @property
    def _grows(self) -> bool:
        return isinstance(self.tree, str) and self.tree in KINDS

    def _topology(self) -> Tree:
        """The tree at the start of a fit; it may be a root that will grow."""
        if self._grows:
            return self.tree_ if self._goes_on() and hasattr(self, "splits_") else binary_tree(1)
        if isinstance(self.tree, str):
            return binary_tree(self.n_clusters)
        tree = explicit_tree(self.tree)
        if len(tree.leaves) != self.n_clusters:
            raise ValueError(
                f"tree has {len(tree.leaves)} leaves, but n_clusters={self.n_clusters}."
            )
        return tree

    def _check_tree(self, X: Counts) -> None:
        """Raise ValueError where a warm start would go on with another tree."""
        if not self._goes_on() or self._fitted_parameters["n_clusters"] != self.n_clusters:
            return
        if not np.array_equal(self.tree_.parents, self._topology().parents):
            raise ValueError(
                "warm_start=True goes on with the tree fitted, but tree is another one. "
                "Set warm_start=False to start anew."
            )
