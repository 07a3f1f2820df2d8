"""The estimators, each in the forms that the shared tests try: one line for a new model."""

from skcooc import (
    AspectModel,
    AsymmetricClustering,
    AveragedModels,
    ClusterAbstraction,
    ClusteringProjection,
    GuidedAspectModel,
    InterpolatedModels,
    ProductSpaceMixture,
    RowMemory,
    SymmetricClustering,
)

SEEDS = {"first": [0]}
FAST = {"max_iter": 40, "tol": 1e-3, "random_state": 0}

# One of each class, and one for each way that a fit may go.
ESTIMATORS = [
    AspectModel(3),  # all hyper-parameters are tuned
    AspectModel(3, beta=0.9, early_stopping=True),
    AspectModel(3, beta=0.9, tempering="likelihood", component_prior=0.01, n_init=2, solver=1.5),
    AspectModel(3, beta=0.9, leave_one_out=True, smoothing=0.1),
    AspectModel(3, beta=0.9, burstiness=20.0),
    AspectModel(3, beta=0.9, annealing=1.2),
    AspectModel(3, beta=0.6, annealing=0.7, early_stopping=True),
    GuidedAspectModel(3, beta=0.9, seed_features=SEEDS),
    AsymmetricClustering(3, beta=0.2, object_weights="equal", proportions="estimated"),
    AsymmetricClustering(3, hard=True),
    AsymmetricClustering(3, axis="columns", beta=0.2, solver="momentum"),
    SymmetricClustering(3, 4, beta=0.7, proportions="estimated"),
    ClusterAbstraction(3, tree="annealed"),
    ClusteringProjection(3, 4, beta=0.3, inference="variational"),
    ProductSpaceMixture(3, 4, beta=0.95, tempering="joint"),
]

# Combinations with equations or schedules of their own: what these share is tested once.
VARIANTS = [
    AspectModel(3, early_stopping=True),
    AspectModel(3, leave_one_out=True),
    AsymmetricClustering(3),
    AsymmetricClustering(3, beta=0.3, leave_one_out=True),
    AsymmetricClustering(3, beta=0.3, annealing=1.5),
    AsymmetricClustering(3, axis="columns", hard=True, object_weights="equal"),
    SymmetricClustering(3, 2, hard=True),
    SymmetricClustering(3, 3, beta=0.7, annealing=1.5),
    ClusterAbstraction(3, beta=0.2, abstraction="row", row_iter=3),
    ClusterAbstraction(3, beta=0.4, tempering="joint", abstraction="constant"),
    ClusterAbstraction(3, hard=True),
    ClusteringProjection(3),
    ClusteringProjection(3, 4, beta=0.5, annealing=0.5),
    ClusteringProjection(3, 5, beta=0.8, posterior="factorial", topic_prior=0.0),
    ProductSpaceMixture(3, 3, beta=0.9, leave_one_out=True),
    ProductSpaceMixture(3, 3, beta=0.9, annealing=1.5),
]

# One quick case of each class, for what no parameter changes: names, storage, bad input.
CLASSES = [
    AspectModel(3, beta=0.9),
    AsymmetricClustering(3, beta=0.2),
    SymmetricClustering(3, 4, beta=0.7),
    ClusterAbstraction(3, beta=0.4),
    ClusteringProjection(3, 4, beta=0.3),
    ProductSpaceMixture(3, 4, beta=0.95),
    GuidedAspectModel(3, beta=0.9),
]
META = [
    AveragedModels(AspectModel(3, beta=0.9, max_iter=4), 2),
    RowMemory(AspectModel(3, beta=0.9, max_iter=4, random_state=0)),
    InterpolatedModels(
        [
            ("aspects", AspectModel(3, beta=0.9, max_iter=4, random_state=0)),
            ("products", ProductSpaceMixture(2, 2, beta=0.9, max_iter=4, random_state=0)),
        ],
        random_state=0,
    ),
]
