"""Cases of models: each with its transcription, and the checks that do not apply."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from skcooc.em.stages import Start, equations_start
from skcooc.equations.aspects import Aspects, PredictiveAspects
from skcooc.equations.coclusters import ClassBigrams, CoClusters
from skcooc.equations.growing_trees import Params as SplitClusters
from skcooc.equations.growing_trees import SplittingTrees
from skcooc.equations.product_aspects import PredictiveProducts, ProductAspects
from skcooc.equations.projections import FactorialProjections, StructuredProjections
from skcooc.equations.tree_clusters import Abstractions
from skcooc.starts.topics import (
    left_out_product_start,
    product_start,
    projection_start,
    topic_start,
)
from tests.equations import literal_clusters as of_clusters
from tests.equations import literal_coclusters as of_coclusters
from tests.equations import literal_product_aspects as of_products
from tests.equations import literal_projections as of_projections
from tests.equations import literal_tree_clusters as of_trees
from tests.equations.broken import Twin
from tests.equations.literal_aspects import LiteralAspects
from tests.equations.literal_class_bigrams import LiteralBigrams, state_of
from tests.tables import planted


class From(Twin):
    """A model with another start."""

    def __init__(self, right, begin):
        self.right, self.begin = right, begin

    def start(self, X, rng):
        params, rows = self.begin(X.table)
        fields = (np.asarray(array, dtype=X.dtype) for array in params)
        return type(params)(*fields), rows.astype(X.dtype)


@dataclass(frozen=True)
class ModelCase:
    """Arguments of check_model; ``skip`` has reasons."""

    model: Any
    literal: Any = None
    betas: tuple[float, ...] = (1.0, 0.8)
    X: Any = None
    skip: dict[str, str] = field(default_factory=dict)
    start: Start = equations_start


HARD = {"literal slope": "hard posteriors have no slope"}
TREES = {"order of components": "nodes have their places in the tree"}
PRIOR = {"empty columns": "the prior gives every column some probability"}
NO_PROOF = {
    "bound falls": "no proof says that the objective of what is left out never rises",
    "blocks": "what is left out of a column needs all its observations at once",
}
CHANGING_PRIOR = {"literal slope": "the prior changes from step to step, and is no parameter"}
ENDS = "from random posteriors it ends at the unigram"
COLLAPSES = {"bound falls": ENDS, "literal slope": ENDS}
UNIGRAM = dict.fromkeys(
    ("literal slope", "order of components", "restrict", "empty rows"),
    "one component is the unigram, always",
)
NEWTON = {"literal step": "it has no Newton steps for the priors, which test_projections tests"}
AXES = "rows", "columns", "components"
NEWTON |= dict.fromkeys(
    ["bound falls", "row weights", "blocks", *(f"order of {axis}" for axis in AXES)],
    "Newton's steps for the priors end a little off, which rounding decides",
)
SQUARE = {
    "order of rows": "rows are columns, too",
    "order of columns": "columns are rows, too",
    "row weights": "rows that are repeated are no columns",
    "blocks": "moves of objects need the whole table",
    "empty rows": "objects that are never seen stay in their clusters",
}


def random_clusters(axis, k, X, object_weights="counts"):
    rho = np.random.default_rng(1).dirichlet(np.full(k, 5.0))
    I = of_clusters.random_posteriors(X.shape[0 if axis == "rows" else 1], k)
    return of_clusters.start_of(axis, X.toarray(), I, rho, object_weights)


def clusters(axis, *options, betas=(1.0, 0.6)):
    literal = of_clusters.LiteralRows if axis == "rows" else of_clusters.LiteralColumns
    hard = bool(options) and options[0]
    model = of_clusters.KINDS[axis](2, *options)
    begun = From(model, partial(random_clusters, axis, 2, object_weights=model.object_weights))
    return ModelCase(begun, literal(*options), betas, skip=HARD if hard else {})


def blurred():
    """Co-clusters that are hard to tell apart, so that posteriors stay soft; and their labels."""
    sizes = {"n_rows": 20, "n_columns": 15}
    truth = planted(3, 300, kind="coclusters", concentration=0.3, dtype=float, **sizes)
    return sp.csr_array(truth.X), truth.labels, truth.column_labels


def nearly_right(hard):
    """Blurred co-clusters, and a start with some objects in wrong clusters."""
    X, labels, column_labels = blurred()
    labels[:5], column_labels[:5] = 0, 1
    sides = np.eye(3)[labels], np.eye(3)[column_labels]
    return X, of_coclusters.state_of(X, *(s if hard else s * 0.7 + 0.1 for s in sides))


def begun_nearly_right(hard, X, object_weights="counts"):
    _, (params, I) = nearly_right(hard)
    I, J = (
        np.insert(P, len(P) // 2, 1 / 3, axis=0) if len(P) < size else P
        for P, size in zip((I, params.memberships), X.shape, strict=True)
    )
    return of_coclusters.state_of(X, I, J, object_weights)


def coclusters(hard=False, proportions="uniform", weights="counts"):
    model = CoClusters(3, 3, hard, proportions, object_weights=weights)
    model = From(model, partial(begun_nearly_right, hard, object_weights=weights))
    literal, X = of_coclusters.LiteralCoClusters(hard, proportions, weights), blurred()[0]
    if hard:  # no pair of clusters is without observations
        return ModelCase(model, literal, (1.0,), X.toarray() + 0.05, HARD)
    return ModelCase(model, literal, (0.5, 0.4), X)


def at_random(proportions, beta):
    model = From(CoClusters(3, 2, False, proportions), of_coclusters.random_state)
    literal = of_coclusters.LiteralCoClusters(False, proportions)
    return ModelCase(model, literal, (1.0, beta), skip=COLLAPSES)


def noise(diagonal=0.0, seed=0):
    """Counts of 14 objects, one of them never seen, with a heavy diagonal where wanted."""
    counts = np.random.default_rng(seed).poisson(0.8, (14, 14)) + diagonal * np.eye(14)
    counts[5], counts[:, 5] = 0, 0
    return sp.csr_array(counts)


def random_objects(k, X):
    return state_of(X.toarray(), np.random.default_rng(0).integers(k, size=X.shape[0]), k)


def bigrams(X):
    model = From(ClassBigrams(4), partial(random_objects, 4))
    return ModelCase(model, LiteralBigrams(), (1.0,), X, SQUARE | HARD)


def splitting():
    def begin(X):
        state = of_trees.random_state(X, "cluster")
        paths = np.zeros(of_trees.TREE.above.shape)
        paths[of_trees.TREE.above] = state.params.abstraction
        params = SplitClusters(state.params.nodes, paths, state.params.weights)
        return params, state.rows

    skip = TREES | {"order of components": "clusters and nodes are in the same order"}
    return ModelCase(From(SplittingTrees(3), begin), of_trees.LiteralSplitting(), skip=skip)


def tree(level, tempering="path", proportions="uniform", betas=(1.0, 0.6), hard=False):
    begin, options = partial(of_trees.random_state, level=level), (level, tempering, proportions)
    model = From(Abstractions(of_trees.TREE, *options, hard=hard), begin)
    literal = of_trees.LiteralTree(*options, hard=hard)
    return ModelCase(model, literal, betas, skip=TREES | HARD if hard else TREES)


MANY = planted(3, 600, kind="clusters", n_rows=20, n_columns=8, concentration=2.0).X


def projections(model, n_clusters=4, topic_prior=0.0, betas=(1.0, 0.6), X=None, skip=(), **options):
    structured = model is StructuredProjections
    begin = partial(of_projections.random_state, structured)
    begun = From(model(3, n_clusters, topic_prior=topic_prior, **options), begin)
    return ModelCase(
        begun, of_projections.LiteralProjections(structured, topic_prior), betas, X, skip
    )


def product(sizes, tempering, betas=(1.0, 0.9), **options):
    def begin(X):
        return of_products.random_state(X.toarray(), sizes)

    model = From(ProductAspects(*sizes, tempering), begin)
    return ModelCase(model, of_products.LiteralProducts(tempering), betas, **options)


CASES = {
    "aspects": ModelCase(Aspects(3), LiteralAspects(), start=topic_start),
    "aspects, likelihood": ModelCase(
        Aspects(3, "likelihood"), LiteralAspects("likelihood"), start=topic_start
    ),
    "aspects, distinctive": ModelCase(
        Aspects(3, "distinctive"),
        LiteralAspects("distinctive"),
        skip=NO_PROOF | CHANGING_PRIOR,
        start=topic_start,
    ),
    "aspects, prior": ModelCase(
        Aspects(3, component_prior=0.1),
        LiteralAspects(component_prior=0.1),
        skip=PRIOR,
        start=topic_start,
    ),
    "predictive aspects": ModelCase(
        PredictiveAspects(Aspects(3)), skip=NO_PROOF, start=topic_start
    ),
    "predictive aspects, distinctive": ModelCase(
        PredictiveAspects(Aspects(3, "distinctive")), skip=NO_PROOF, start=topic_start
    ),
    "predictive aspects, likelihood": ModelCase(
        PredictiveAspects(Aspects(3, "likelihood", 0.5)), skip=NO_PROOF | PRIOR, start=topic_start
    ),
    "product": product((3, 2), "likelihood"),
    "product, joint": product((2, 4), "joint", (1.0, 0.95)),
    "product, one row component": product((1, 3), "likelihood", (0.7,), skip=UNIGRAM),
    "product, one column component": product((3, 1), "joint", (0.7,), skip=UNIGRAM),
    "product, as it starts": ModelCase(
        ProductAspects(2, 3), of_products.LiteralProducts(), start=product_start
    ),
    "predictive products": ModelCase(
        PredictiveProducts(ProductAspects(2, 3)),
        betas=(0.8,),
        skip=NO_PROOF | PRIOR,
        start=left_out_product_start,
    ),
    "rows": clusters("rows"),
    "rows, hard": clusters("rows", True, betas=(1.0,)),
    "rows, sqrt": clusters("rows", False, "sqrt"),
    "rows, hard and sqrt": clusters("rows", True, "sqrt", betas=(1.0,)),
    "rows, equal and estimated": clusters("rows", False, "equal", "estimated"),
    "columns": clusters("columns"),
    "columns, hard": clusters("columns", True, betas=(1.0,)),
    "columns, sqrt": clusters("columns", False, "sqrt"),
    "columns, equal and estimated": clusters(
        "columns", False, "equal", "estimated", betas=(1.0, 0.7)
    ),
    "coclusters": coclusters(),
    "coclusters, equal and estimated": coclusters(False, "estimated", "equal"),
    "coclusters, hard and sqrt": coclusters(True, weights="sqrt"),
    "coclusters, at random": at_random("uniform", 0.05),
    "coclusters, estimated and at random": at_random("estimated", 0.4),
    "bigrams": bigrams(noise()),
    "bigrams, diagonal": bigrams(noise(diagonal=5)),
    "tree, constant": tree("constant"),
    "tree, cluster and joint": tree("cluster", "joint", "estimated"),
    "tree, splitting": splitting(),
    "tree, hard and row": tree("row", betas=(1.0,), hard=True),
    "tree, row": tree("row", betas=(0.8, 0.5)),
    "tree, row and joint": tree("row", "joint", betas=(0.7, 0.6)),
    "structured": projections(StructuredProjections),
    "structured, prior": projections(StructuredProjections, topic_prior=0.1, betas=(0.8,)),
    "structured, fitted priors": projections(
        StructuredProjections, update_priors=True, betas=(0.9,), X=MANY, skip=NEWTON
    ),
    "factorial": projections(FactorialProjections),
    "factorial, prior": projections(FactorialProjections, topic_prior=0.1, betas=(0.8,)),
    "factorial, fitted priors": projections(
        FactorialProjections, update_priors=True, betas=(1.0,), X=MANY, skip=NEWTON
    ),
    "factorial, as it starts": ModelCase(
        FactorialProjections(3),
        of_projections.LiteralProjections(False),
        (0.8,),
        start=projection_start,
    ),
}
