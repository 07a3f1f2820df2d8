"""Estimators with parameters that are drawn, valid as a rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import skcooc
from skcooc.model_selection import ComponentSearchCV
from tests.fuzz.tables import mostly

SHARED = {
    "beta": ([0.9, 0.5, 1.0, "auto"], [0.0, -1, 1.5, np.nan, "best", None, 1, True]),
    "max_iter": ([3], [0, 1, -1, 2.5, "many"]),
    "tol": ([1e-6, 0.0], [-1.0, np.nan, np.inf, "small"]),
    "n_init": ([1, 2], [0, 1.5]),
    "solver": (["momentum", 1.8, 1.0], [0.0, 3.0, -1, "fast"]),
    "smoothing": (["auto", 0.1], [0.0, 1.0, -0.1, 2, "much"]),
    "validation_fraction": ([0.1, 0.5], [0.0, 1.0, 1e-9, 0.999]),
    "early_stopping": ([False, True], ["yes", None]),
    "n_jobs": ([None, 2], [0, -1, 1.5]),
    "random_state": ([0, 1], [-1, "seed", 2**40]),
    "warm_start": ([False, True], ["no"]),
}
ASPECT = {
    "n_components": ([2, 3, 1], [0, -1, 2.0, None, 20]),
    "tempering": (["auto", "distinctive", "joint", "likelihood"], ["none"]),
    "component_prior": (["auto", 0.0, 0.1], [-1, np.inf]),
    "leave_one_out": (["auto", True, False], ["yes"]),
    "row_prior": (["auto", 1.0], [0.0, np.inf]),
    "burstiness": ([None, "auto", 5.0], [0.0, np.inf, 1e-12]),
    "annealing": ([None, 1.3, 0.8], [1.0, 0.0, -1]),
}
CLUSTER = {"hard": ([False, True], [None]), "proportions": (["uniform", "estimated"], ["equal"])}
SIZES = ([2, 3, 1], [0, 20, 2.0])
MODELS: dict[str, dict[str, tuple[list, list]]] = {
    "AspectModel": ASPECT,
    "AsymmetricClustering": {
        "n_clusters": SIZES,
        "axis": (["rows", "columns"], ["both"]),
        "object_weights": (["counts", "equal"], ["none"]),
        "leave_one_out": ([False, True], ["auto"]),
        "annealing": ([None, 1.3], [1.0]),
        "coarsening": ([None], [[[0, 0, 1]], "rows", [[]]]),
        **CLUSTER,
    },
    "SymmetricClustering": {
        "n_row_clusters": SIZES,
        "n_column_clusters": SIZES,
        "tied": ([False, True], ["x"]),
        "annealing": ([None, 1.3], [1.0]),
        **CLUSTER,
    },
    "ClusterAbstraction": {
        "n_clusters": SIZES,
        "tree": (["binary", "annealed", "grown"], ["oak", [-1, 0, 0], [0, 1]]),
        "abstraction": (["constant", "cluster", "row"], ["none"]),
        "tempering": (["path", "joint"], ["none"]),
        **CLUSTER,
    },
    "ClusteringProjection": {
        "n_components": SIZES,
        "n_clusters": ([None, 2, 3], [0, 20]),
        "annealing": ([None, 0.8], [1.0]),
    },
    "ProductSpaceMixture": {
        "n_row_components": SIZES,
        "n_column_components": SIZES,
        "leave_one_out": ([False, True], ["x"]),
        "annealing": ([None, 1.3], [1.0]),
    },
}
OTHER = "b", skcooc.AspectModel(2, beta=0.9, random_state=1)
FOLDS = {"cv": 2, "n_runs": 1, "random_state": 0}
AROUND = {
    "AveragedModels": lambda inner: skcooc.AveragedModels(inner, 2, random_state=0),
    "RowMemory": lambda inner: skcooc.RowMemory(inner, random_state=0),
    "InterpolatedModels": lambda inner: skcooc.InterpolatedModels(
        [("a", inner), OTHER], random_state=0
    ),
    "ComponentSearchCV": lambda inner: ComponentSearchCV(inner, [1, 2], **FOLDS),
}


def params_of(model: str) -> Any:
    domain = SHARED | MODELS[model]

    @st.composite
    def drawn(draw: Any) -> dict[str, Any]:
        names = draw(st.lists(st.sampled_from(sorted(domain)), max_size=4, unique=True))
        known = {"max_iter": 3, "random_state": 0}
        odd = draw(st.integers(0, 3)) == 0
        for name in names:
            usual, unusual = domain[name]
            known[name] = draw(st.sampled_from(usual + unusual if odd else usual))
        return known

    return drawn()


@dataclass(frozen=True)
class Model:
    name: str
    params: dict[str, Any]
    around: str | None = None

    def made(self) -> Any:
        inner = getattr(skcooc, self.name)(**self.params)
        return inner if self.around is None else AROUND[self.around](inner)


@st.composite
def models(draw: Any) -> Model:
    name = draw(mostly(st.just("AspectModel"), st.sampled_from(sorted(MODELS))))
    around = draw(mostly(st.none(), st.sampled_from(list(AROUND))))
    return Model(name, draw(params_of(name)), around)
