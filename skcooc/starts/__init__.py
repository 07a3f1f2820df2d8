"""Starts: where a fit of a model begins. They run EM, within the limits of the fit."""

from skcooc.em import EMStage
from skcooc.em.stages import Runner
from skcooc.protocol import Counts, Model


def short_stage(
    model: Model, X: Counts, beta: float, max_iter: int, tol: float, runner: Runner
) -> EMStage:
    """Return a stage that keeps to the limits of the fit of which it is a part."""
    return EMStage(model, X, beta, min(max_iter, runner.max_iter), max(tol, runner.tol))
