"""How a model is fitted to a table: held-out observations, temperature, restarts, fold-in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from threadpoolctl import ThreadpoolController

from skcooc.counts import CSRCounts, NewRows, thin
from skcooc.em import Fit, HeldOut, State, TemperatureRange, Validation
from skcooc.em.annealing import Grown
from skcooc.em.heldout import LEAST_SMOOTHING
from skcooc.em.multiscale import coarser_levels
from skcooc.em.schedules import constant
from skcooc.em.temperature import PROBE_ITERATIONS, Probe, best, search
from skcooc.progress import Progress
from skcooc.protocol import Array, Counts, Model, Predictor, Rows
from skcooc.settings import Settings

FOLD_IN_TOL = 1e-5  # largest change of a mixture proportion
FOLD_IN_ITERATIONS = 200
LONG_STEP = 1.8
DEFAULT_SMOOTHING = 1e-3  # where nothing is held out to estimate it


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

    Returns
    -------
    fitted : Fitted
    """
    probes: list[Probe] = []
    train, heldout = CSRCounts(X, sample_weight), None
    if settings.holds_out:
        train, heldout = _hold_out(X, sample_weight, settings)
    grown = _grown(model, train, heldout, settings, progress)
    if heldout is not None and isinstance(settings.beta, TemperatureRange):
        probes = _search(grown.seed, train, heldout, settings.beta, settings, progress)
    if not settings.early_stopping:
        train, heldout = CSRCounts(X, sample_weight), None
    beta = best(probes).beta if probes else float(settings.beta)  # type: ignore[arg-type]
    fit = _best_restart(grown.seed, train, heldout, beta, settings, progress, start)
    fit = fit._replace(splits=fit.splits if grown.splits is None else grown.splits)
    smoothing = _smoothing(settings, probes, fit)
    row_mass = train.row_sums * train.row_weights
    return Fitted(fit, grown.model, beta, smoothing, add_one_unigram(train), row_mass, probes)


def _smoothing(settings: Settings, probes: list[Probe], fit: Fit) -> float:
    """The smoothing given; else what held-out observations asked for; else a small constant."""
    if settings.smoothing != "auto":
        return float(settings.smoothing)
    if fit.validation is not None:
        return fit.validation.smoothing
    return best(probes).validation.smoothing if probes else DEFAULT_SMOOTHING


def add_one_unigram(counts: CSRCounts) -> Array:
    """The distribution (m_j + 1) / (L + M) of the columns, (M,), in float64."""
    m = counts.column_sums
    return (m + 1) / (m.sum() + len(m))


def fold_in(
    model: Predictor, params: Any, beta: float, X: Any, n_threads: int, start: Rows | None = None
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
        for _ in range(FOLD_IN_ITERATIONS - 1):
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


@contextmanager
def threads(n_threads: int) -> Iterator[Any]:
    """A map over ranges of rows; plain where one thread is wanted. BLAS keeps to one thread.

    Its threads would contend with these for the cores, and their number changes the last digits.
    """
    with _thread_pools().limit(limits=1, user_api="blas"):
        if n_threads == 1:
            yield map
            return
        with ThreadPoolExecutor(n_threads) as pool:
            yield pool.map


@cache
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


def _hold_out(X: Any, sample_weight: Array | None, settings: Settings) -> tuple[CSRCounts, HeldOut]:
    rest, drawn = (
        CSRCounts(part, sample_weight)
        for part in thin(X, settings.validation_fraction, settings.seeds[0])
    )
    if not (rest.observations.any() and drawn.observations.any()):
        raise ValueError(
            f"Found array with {X.shape[0]} sample(s) and {X.sum():g} observation(s), too few to "
            f"hold out validation_fraction={settings.validation_fraction} of them for beta='auto' "
            "or early_stopping=True. Give beta a number, or change validation_fraction."
        )
    # Without any smoothing a single impossible observation would make all validations infinite.
    smoothing = None if settings.smoothing == "auto" else max(settings.smoothing, LEAST_SMOOTHING)
    return rest, HeldOut([drawn], add_one_unigram(rest), smoothing)


def _grown(
    model: Model, train: CSRCounts, heldout: HeldOut | None, settings: Settings, progress: Progress
) -> Grown:
    """The model, with what its structure learns from the observations fitted."""
    if settings.grow is None:
        return Grown(model, model, None)
    with threads(settings.n_threads) as map, progress.growing() as observe:
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
    """Probe temperatures with short fits from one and the same start."""
    # Over-relaxed steps are about eta times as long as plain ones, those with momentum at least so.
    length = LONG_STEP if settings.relaxation == "momentum" else settings.relaxation
    n_iter = min(round(PROBE_ITERATIONS / length), settings.max_iter)

    def evaluate(beta: float) -> Validation:
        rng = np.random.default_rng(settings.seeds[0])
        fit = settings.probe(beta, n_iter, levels).fit(model, blocks, rng, start=start)
        return heldout(model, fit.params, fit.rows)

    start = None
    with threads(settings.n_threads) as map, progress.searching() as observe:
        X = train.spread(settings.n_threads, map)
        blocks, levels = [X], coarser_levels(X, settings.coarsening or ())
        if settings.costly_start:  # else it is cheaper to make it again than to keep it
            rng = np.random.default_rng(settings.seeds[0])
            start = settings.probe(1.0, n_iter, levels).begin(model, blocks, rng)
        return search(evaluate, within, observe=observe)


def _best_restart(
    model: Model,
    train: CSRCounts,
    heldout: HeldOut | None,
    beta: float,
    settings: Settings,
    progress: Progress,
    start: State | None,
) -> Fit:
    """The best of several random starts, run side by side where there are threads for it."""
    seeds = settings.seeds if start is None else settings.seeds[:1]
    n_outer = min(settings.n_threads, len(seeds))
    n_inner = settings.n_threads // n_outer

    def run(seed: int, observe: Any) -> Fit:
        rng = np.random.default_rng(seed)
        with threads(n_inner) as map:
            X = train.spread(n_inner, map)
            if start is None:
                levels = coarser_levels(X, settings.coarsening or ())
                optimiser = settings.optimiser(X, beta, levels, heldout)
            else:
                optimiser = settings.em(constant(beta, settings.max_iter), heldout)
            fit = optimiser.fit(model, [X], rng, observe, start=start)
            # Rows are to be what the parameters returned make of them, as in ``transform``.
            rows, _ = model.expect(X, fit.params, fit.rows[0], beta)
            return fit._replace(rows=[rows])

    train = train.spread(n_inner, map)  # prepared once for all restarts
    observers = [progress.restart(model, settings.n_steps) for _ in seeds]
    if n_outer == 1:
        fits = [run(*arguments) for arguments in zip(seeds, observers, strict=True)]
    else:
        fits = Parallel(n_jobs=n_outer, prefer="threads", require="sharedmem")(
            delayed(run)(*arguments) for arguments in zip(seeds, observers, strict=True)
        )
    return min(fits, key=_loss)


def _loss(fit: Fit) -> float:
    return fit.objective if fit.validation is None else fit.validation.perplexity
