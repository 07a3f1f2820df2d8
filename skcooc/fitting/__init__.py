"""How a model is fitted to counts: plans, searches, restarts, streams, fold-in."""

from skcooc.fitting.plan import Aims, Fewer, Grown, LeftOut, Options, Plan, Priors

__all__ = ["Aims", "Fewer", "Grown", "LeftOut", "Options", "Plan", "Priors"]
