"""How a model is fitted to a table: held-out observations, temperature, restarts, fold-in."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from skcooc.counts import CSRCounts, NewRows
from skcooc.counts.threads import threads
from skcooc.em import Fit, HeldOut, State, TemperatureRange
from skcooc.em.legs import Observe, ignore
from skcooc.em.schedules import constant
from skcooc.em.splitting import Grown
from skcooc.em.temperature import Probe, best, search, search_with_prior
from skcooc.fitting.plan import Settings
from skcooc.fitting.probing import Probes
from skcooc.fitting.progress import Progress
from skcooc.fitting.restarts import Unfinished, best_restart
from skcooc.heldout.split import add_one_unigram, chosen_smoothing, hold_out
from skcooc.protocol import Array, Counts, Model, Predictor, Rows

FOLD_IN_TOL = 1e-5  # largest change of a mixture proportion
FOLD_IN_ITERATIONS = 200


class Fitted(NamedTuple):
    """A fit, with what was chosen on the way."""

    fit: Fit
    model: Model  # that given, or that which grew
    beta: float
    smoothing: float
    unigram: Array  # (M,): add-one, of the observations fitted
    row_mass: Array  # (N,): observations of each row, weights included
    probes: list[Probe]


def fit_table(
    model: Model,
    X: Any,
    sample_weight: Array | None,
    settings: Settings,
    progress: Progress,
    start: State | None = None,
    resume: Unfinished | None = None,
    whole: Any = None,
) -> Fitted:
    """Fit a model to a table of counts.

    Parameters
    ----------
    model : Model
    X : CSR array or matrix of shape (N, M)
    sample_weight : (N,) array or None
        Factors of the rows.
    settings : Settings
    progress : Progress
    start : State or None
        Where to start instead of at random, without burn-in or search.
    resume : Unfinished or None
        What was done before the fit was cut short.
    whole : Counts of shape (N', M) or None
        What is fitted, where X is but a sample of its rows, on which the temperature is chosen.

    Returns
    -------
    fitted : Fitted
    """
    if resume:
        settings = replace(settings, seeds=resume.seeds)
    train: Any = CSRCounts(X, sample_weight)
    heldout = None
    if settings.holds_out:
        rest, heldout = hold_out(X, sample_weight, settings)
        train = CSRCounts(rest, sample_weight)
    begun = resume or _begun(model, train, heldout, settings, progress, start is not None)
    if not settings.early_stopping:
        train, heldout = CSRCounts(X, sample_weight) if whole is None else whole, None
    grown, probes = begun.grown, begun.probes
    beta = best(probes).beta if probes else float(settings.beta)  # type: ignore[arg-type]
    fit = best_restart(begun, train, heldout, beta, settings, progress, start)
    rows = [np.asarray(states) for states in fit.rows]
    fit = fit._replace(rows=rows, splits=fit.splits if grown.splits is None else grown.splits)
    found = best(probes).validation if probes else None
    smoothing = chosen_smoothing(settings.smoothing, fit.validation or found)
    unigram, row_mass = add_one_unigram(train.column_sums), train.row_sums * train.row_weights
    return Fitted(fit, grown.model, beta, smoothing, unigram, row_mass, probes)


def probes_of(model: Model, X: Any, sample_weight: Array | None, settings: Settings) -> Probes:
    """What tries temperatures on a table, a part of which it holds out; see ``fit_table``.

    It uses one thread.
    """
    rest, heldout = hold_out(X, sample_weight, settings)
    train = CSRCounts(rest, sample_weight)
    seed = _grown(model, train, heldout, settings, lambda: nullcontext(ignore)).seed
    return Probes(seed, train.spread(1, map), heldout, settings, keep=True)


def fold_in(
    model: Predictor,
    params: Any,
    beta: float,
    X: Any,
    n_threads: int,
    start: Rows | None = None,
    max_iter: int = FOLD_IN_ITERATIONS,
) -> Rows:
    """The states of new rows at fixed parameters.

    A row is left alone once it has converged, so that it does not depend on the others.

    Parameters
    ----------
    model : Predictor
    params : parameters of the model
    beta : float
    X : CSR array or matrix of shape (n, M)
    n_threads : int
    start : (n, k) array or None
        Where to start instead of at the mixture of the whole.
    max_iter : int, default=200
        Largest number of E-steps.

    Returns
    -------
    rows : (n, k) array
    """
    rows = np.tile(params.weights.astype(X.dtype), (X.shape[0], 1)) if start is None else start
    active, columns = np.arange(X.shape[0]), np.unique(X.indices)
    X, params = sp.csr_array(X)[:, columns], model.restrict(params, columns)
    with threads(n_threads) as map:
        counts: CSRCounts = NewRows(X, n_threads=n_threads, map=map)
        rows, _ = model.expect(counts, params, rows, beta)
        for _ in range(max_iter - 1):
            new, _ = model.expect(counts, params, rows[active], beta)
            moving = np.abs(new - rows[active]).max(axis=1) > FOLD_IN_TOL
            rows[active] = new
            if not moving.any():
                break
            if not moving.all():
                active, counts = active[moving], counts.take(np.flatnonzero(moving))
    return rows


def over_new_rows(function: Callable[[Counts], Rows], X: Any, n_threads: int) -> Rows:
    """function(counts) of new rows, whose products use these threads.

    Parameters
    ----------
    function : callable
    X : CSR array or matrix of shape (n, M)
    n_threads : int

    Returns
    -------
    rows : (n, k) array
    """
    with threads(n_threads) as map:
        return function(NewRows(X, n_threads=n_threads, map=map))


def continued(model: Model, state: State, table: Any) -> State:
    """Where a warm start goes on; rows keep their states if there are as many as before.

    Parameters
    ----------
    model : Model
    state : State
        Of one block.
    table : CSR array or matrix of shape (N, M)

    Returns
    -------
    state : State
        Of the floating point type of the table.

    Raises
    ------
    ValueError
        Where the number of columns is another, or the parameters exclude columns of the table.
    """
    params, (rows,) = state
    components = model.factors(params, rows)[1]
    if len(components) != table.shape[1]:
        raise ValueError(
            f"warm_start=True goes on from components_ of {len(components)} columns, but X has "
            f"{table.shape[1]}. Set warm_start=False to start anew."
        )
    new = np.setdiff1d(table.indices, np.flatnonzero(components.any(axis=1)))
    if new.size:
        raise ValueError(
            f"warm_start=True cannot go on with X: {new.size} of its columns, such as {new[0]}, "
            "have probability zero in components_. Set warm_start=False to start anew."
        )
    if len(rows) != table.shape[0]:
        rows = np.tile(params.weights, (table.shape[0], 1))
    params = type(params)(*(array.astype(table.dtype) for array in params))
    return State(params, [rows.astype(table.dtype)])


def _begun(
    model: Model,
    train: CSRCounts,
    heldout: HeldOut | None,
    settings: Settings,
    progress: Progress,
    warm: bool,
) -> Unfinished:
    """What comes before the random starts: the structure of the model, and the temperature."""
    probes: list[Probe] = []
    grown = _grown(model, train, heldout, settings, progress.growing)
    if heldout is not None and isinstance(settings.beta, TemperatureRange):
        probes = _search(grown.seed, train, heldout, settings.beta, settings, progress)
        if settings.priors is not None:
            model = settings.priors.model(best(probes).prior)
            grown = Grown(model, model, None)
    return Unfinished(settings.seeds, warm, grown, probes, {}, {})


def _grown(
    model: Model,
    train: CSRCounts,
    heldout: HeldOut | None,
    settings: Settings,
    growing: Callable[[], AbstractContextManager[Observe]],
) -> Grown:
    """The model, with what its structure learns from the observations fitted."""
    if settings.grow is None:
        return Grown(model, model, None)
    with threads(settings.n_threads) as map, growing() as observe:
        X = train.spread(settings.n_threads, map)
        em = settings.em(constant(1.0, settings.max_iter))
        return settings.grow(em, X, np.random.default_rng(settings.seeds[0]), heldout, observe)


def _search(
    model: Model,
    train: CSRCounts,
    heldout: HeldOut,
    within: TemperatureRange,
    settings: Settings,
    progress: Progress,
) -> list[Probe]:
    """Probe temperatures, and priors at the best, with short fits from one and the same start."""
    with threads(settings.n_threads) as map, progress.searching() as observe:
        X = train.spread(settings.n_threads, map)
        probes = Probes(model, X, heldout, settings, keep=settings.costly_start)
        if (priors := settings.priors) is None:
            return search(probes, within, observe=observe)
        return search_with_prior(
            lambda beta, prior: probes(beta, priors.model(prior)), within, priors.within, observe
        )
