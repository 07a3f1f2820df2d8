"""Starts: where a fit of a model begins. They run EM, within the limits of the fit."""

from skcooc.em import EMStage
from skcooc.em.stages import Runner
from skcooc.protocol import Counts, Model


def short_stage(
    model: Model,
    X: Counts,
    beta: float,
    max_iter: int,
    tol: float,
    runner: Runner,
    share_of_tol: float = 1.0,
) -> EMStage:
    """Return a stage that keeps to the limits of the fit of which it is a part.

    Its tolerance is this share of the larger one of ``tol`` and that of the fit.
    """
    n_iter = min(max_iter, runner.max_iter)
    return EMStage(model, X, beta, n_iter, share_of_tol * max(tol, runner.tol))
