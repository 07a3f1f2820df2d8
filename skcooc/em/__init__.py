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
