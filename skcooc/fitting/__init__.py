"""How a model is fitted to counts: plans, searches, restarts, streams, fold-in."""

from skcooc.fitting.plan import Aims, Grown, LeftOut, Options, Plan, Priors, PseudoCounts

__all__ = ["Aims", "Grown", "LeftOut", "Options", "Plan", "Priors", "PseudoCounts"]
