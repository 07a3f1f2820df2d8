"""How a model is fitted to counts: plans, searches, restarts, streams, fold-in."""

from skcooc.fitting.aims import Aims, LeftOut, Priors, PseudoCounts, priors
from skcooc.fitting.options import Options
from skcooc.fitting.plan import Grown, Plan

__all__ = ["Aims", "Grown", "LeftOut", "Options", "Plan", "Priors", "PseudoCounts", "priors"]
