"""Expectation maximisation and its variants, for any model that follows the protocol."""

from skcooc.em.annealing import (
    Annealing,
    DecreasingBeta,
    GrowClusters,
    SplitClusters,
    SplitComponents,
    annealing_schedule,
    decreasing_beta,
    increasing_beta,
    merge_components,
    split_start_schedule,
)
from skcooc.em.burstiness import BurstinessRounds
from skcooc.em.search import TemperatureRange
from skcooc.em.solvers import SOLVERS, OverRelaxation, make_solver
from skcooc.em.stages import EMResult, EMStage, EMState, Record, Split, State, fit

__all__ = [
    "SOLVERS", "Annealing", "BurstinessRounds", "DecreasingBeta", "EMResult", "EMStage", "EMState",
    "GrowClusters", "OverRelaxation", "Record", "Split", "SplitClusters", "SplitComponents",
    "State", "TemperatureRange", "annealing_schedule", "decreasing_beta", "fit",
    "increasing_beta", "make_solver", "merge_components", "split_start_schedule",
]  # fmt: skip
