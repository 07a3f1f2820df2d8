"""Short ways to run equations without an estimator."""

import numpy as np

from skcooc.counts import CSRCounts
from skcooc.em import EMStage, State, fit
from skcooc.em.solvers import make_solver
from skcooc.em.stages import PlainRunner, ignore


def run(model, X, start=None, beta=1.0, n_iter=20, tol=-np.inf, weights=None, observe=ignore):
    """Plain EM on a table, at most ``n_iter`` iterations."""
    stage = EMStage(model, counts_of(X, weights), beta, n_iter, tol)
    return run_stages([stage], make_solver(1.0), observe, start)


def run_stages(stages, solver, observe=ignore, start=None, seed=0):
    """EM through stages, from the start of the first one unless a state is given."""
    rng = np.random.default_rng(seed)
    if start is None:
        first = stages[0].stage
        start = first.start(first.model, first.X, rng, PlainRunner())
    return fit(stages, rng, solver, start, observe)


def step(model, X, state, beta=1.0, weights=None):
    """The next state, the statistics, and the objective of this one."""
    params, rows = state
    rows, stats = counts_of(X, weights).expect(model, params, rows, beta)
    objective = stats.free_energy - model.log_prior(params, beta)
    return State(model.maximize(stats, params, beta), rows), stats, objective


def counts_of(X, weights=None):
    return X if isinstance(X, CSRCounts) else CSRCounts(X, weights)


def separate(splits):
    """The groups of clusters that are left after these splits of one group."""
    first = splits[0].parts
    groups = {tuple(sorted(sum(first, ())))}
    for split in splits:
        groups.remove(tuple(sorted(sum(split.parts, ()))))
        groups.update(split.parts)
    return groups


def energies(fit):
    """The objective at every E-step."""
    return np.array([record.free_energy for record in fit.history])
