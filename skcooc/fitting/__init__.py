"""How a model is fitted to counts: plans, tuning, restarts, streams, fold-in."""

from skcooc.fitting.options import Options
from skcooc.fitting.plan import Grown, Plan

__all__ = ["Grown", "Options", "Plan"]
