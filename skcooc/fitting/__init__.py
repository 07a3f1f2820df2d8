"""How a model is fitted to counts: plans, searches, restarts, streams, fold-in."""

from skcooc.fitting.plan import Grown, Options, Plan, Priors

__all__ = ["Grown", "Options", "Plan", "Priors"]
