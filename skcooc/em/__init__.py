"""Expectation maximisation and its variants, for any model that follows the protocol."""

from skcooc.em.annealing import (
    Annealed,
    DecreasingBeta,
    GrowClusters,
    SplitClusters,
    SplitComponents,
    decreasing_beta,
    increasing_beta,
    merge_components,
    split_annealing,
)
from skcooc.em.burstiness import Bursty
from skcooc.em.coarsening import Coarsened
from skcooc.em.merging import MergeAndSplitRuns
from skcooc.em.solvers import SOLVERS, OverRelaxation, make_solver
from skcooc.em.stages import EMResult, EMStage, EMState, Record, Split, State, Variation, fit
from skcooc.em.warmup import WarmUp

__all__ = [
    "SOLVERS",
    "Annealed",
    "Bursty",
    "Coarsened",
    "DecreasingBeta",
    "EMResult",
    "EMStage",
    "EMState",
    "GrowClusters",
    "MergeAndSplitRuns",
    "OverRelaxation",
    "Record",
    "Split",
    "SplitClusters",
    "SplitComponents",
    "State",
    "Variation",
    "WarmUp",
    "decreasing_beta",
    "fit",
    "increasing_beta",
    "make_solver",
    "merge_components",
    "split_annealing",
]
