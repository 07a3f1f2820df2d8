"""How a model is fitted to a table: held-out tokens, structure, hyper-parameters, seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import NamedTuple, cast

import numpy as np
from joblib import Parallel, delayed

from skcooc.counts.passes import n_threads, threads
from skcooc.em import EMResult, EMState, Record, State
from skcooc.em import fit as run_em
from skcooc.em.search import vertex
from skcooc.em.stages import StageSchedule, ignore, unknown_rows
from skcooc.fitting.journal import Journal, JournalListener, Name
from skcooc.fitting.progress import Listener, Listeners, Progress
from skcooc.fitting.recipe import LearnedStructure, Recipe
from skcooc.fitting.stream import fold_in, solve_rows
from skcooc.fitting.tuning import Trial, TrialRecord, Tunable, Values, tune
from skcooc.heldout import Validation
from skcooc.heldout.memory import Asked, CacheValidation
from skcooc.heldout.predictors import CachedPredictions, log_cells, rows_of, smoothed
from skcooc.heldout.validation import (
    HeldOut,
    HeldOutPredictions,
    add_one_unigram,
    chosen_smoothing,
    hold_out,
)
from skcooc.protocol import CSR, Array, Block, Counts, Model, Params, Rows, T

START: Name = ("start",)  # parts of a journal
STRUCTURE: Name = (*START, "structure")
TRIALS: Name = (*START, "trials")
BURSTY: Name = (*START, "bursty")
RESTARTS: Name = ("restart",)
UNIGRAM_SHARE = 0.01  # of the unigram in components that go on with more tokens
N_KNOWN = (1, 2, 4)  # known columns of a row, for the prior of new rows
N_ROWS = 300  # that are folded in for it, at most
PSEUDO_COUNTS = (0.5, 1.0, 2.0, 4.0, 8.0)  # tried for it
MAX_ITER = 10  # EM steps of its fold-in


class Start(NamedTuple):
    """Structure and hyper-parameters, which are found before the initialisations."""

    structure: LearnedStructure
    trials: list[Trial]
    beta: float
    validation: Validation | None = None  # of the best short fit
    predicted: CachedPredictions | None = None  # held-out tokens, by the best short fit
    params: Params | None = None  # initial ones of the first run; None: it starts at random


class Fit(NamedTuple):
    """A finished fit."""

    start: Start
    run: EMResult  # the best one
    smoothing: float
    unigram: Array  # (M,): add-one, of the tokens fitted
    mass: float  # number of tokens, weights of rows included
    row_distribution: Array  # (N,)
    heldout_predictions: HeldOutPredictions | None = None  # predictions of held-out tokens

    @property
    def model(self) -> Model:
        return self.start.structure.model


# Makes the attributes of an estimator that would have stopped at an iteration.
AttributesAt = Callable[[Start, Journal, Record, State], dict[str, object]]


def fit_table(
    recipe: Recipe,
    X: Counts,
    sample: Block,
    progress: Progress,
    attributes: AttributesAt,
    journal: Journal,
    warm_run: EMState | None = None,
) -> Fit:
    """Fit a model to counts.

    Hyper-parameters are tuned on the sample, which is X or some of its rows. A warm start continues
    from ``warm_run``, without search and warm-up. What the journal has of an interrupted fit is not
    computed again.
    """
    settings = recipe.settings
    train, heldout = hold_out(sample, *settings.division) if settings.holds_out else (sample, None)
    start: Start | None = journal.get(START)
    if start is None:
        tunables = recipe.family.tunables(sample) if settings.tunes else []
        start = tuned_start(recipe, train, heldout, tunables, progress, journal)
        journal.add(START, start)
    X, judge = (train, heldout) if settings.early_stopping else (X, None)
    del train  # the final fit needs the memory
    recipe = recipe.with_model(start.structure.initial)
    run = _best_run(recipe, start, journal, X, judge, progress, attributes, warm_run)
    if start.structure.splits is not None:
        run = run._replace(splits=start.structure.splits)
    model = start.structure.model
    predicted = judge.predicted(model, run.params, run.rows) if judge else start.predicted
    mass, row_distribution = token_distribution(X)
    return Fit(
        start,
        run._replace(rows=X.collect_rows(run.rows)),
        chosen_smoothing(settings.smoothing, run.validation or start.validation),
        add_one_unigram(X),
        mass,
        row_distribution,
        None if predicted is None else HeldOutPredictions(settings.division, predicted),
    )


def token_distribution(X: Counts) -> tuple[float, Array]:
    """Return the number of tokens, weights included, and the share of each row, (N,)."""
    mass = float(X.total(_mass))
    return mass, X.collect_rows(X.map_blocks(partial(_shares, mass=mass)))


def _mass(X: Block) -> Array:
    return np.sum(X.row_sums * X.row_weights)


def _shares(X: Block, mass: float) -> Array:
    return X.row_sums * X.row_weights / mass


def tuned_start(
    recipe: Recipe,
    train: Block,
    heldout: HeldOut | None,
    tunables: Sequence[Tunable],
    progress: Progress | None,
    journal: Journal,
) -> Start:
    """Learn the structure, then tune hyper-parameters, where there are any."""
    structure = journal.get_or_compute(
        STRUCTURE,
        _structure,
        *(recipe, train, heldout, progress, journal),
        checkpoint=recipe.structure is not None,
    )
    settings = recipe.settings
    if heldout is None or not tunables:
        return Start(structure, [], float(settings.beta))
    if recipe.structure is not None:
        recipe = recipe.with_model(structure.initial)
    record = journal.get_or_compute(TRIALS, TrialRecord[ShortFit])
    task = nullcontext(Listener()) if progress is None else progress.search(tunables)
    with threads(settings.n_threads) as map, task as listener:
        X = train.with_threads(settings.n_threads, map)
        fits = ShortFits(recipe.without_burstiness, X, heldout, settings.cache)
        heard = Listeners(JournalListener(journal), listener)
        chosen = tune(tunables, settings.names, fits, record, heard.trial)
        best = record.best
        if recipe.concentration is not None:  # predictions should be as bursty as the final fit
            bursty = journal.get_or_compute(BURSTY, ShortFits(recipe, X, heldout), chosen.values)
            best = bursty._replace(params=best.params)
    if recipe.structure is None:
        model = recipe.with_values(chosen.values).equations
        if recipe.family.has_tunable_row_prior(chosen.values):
            model = with_best_row_prior(recipe, chosen, best.params, heldout)
        structure = LearnedStructure(model, model, None)
    # A short fit keeps no rows, on which leave-one-out posteriors depend most: continued from the
    # prior of the rows, its small components starve. With a cache that does no harm.
    afresh = structure.model.folds_in_own_rows and settings.cache is None
    params = best.params if recipe.init_from and not afresh else None
    return Start(structure, record.trials, chosen.beta, best.validation, best.predicted, params)


def _structure(
    recipe: Recipe,
    train: Block,
    heldout: HeldOut | None,
    progress: Progress | None,
    journal: Journal,
) -> LearnedStructure:
    """Learn the structure of the model from the tokens that are fitted, where it has one."""
    if recipe.structure is None:
        return LearnedStructure(recipe.equations, recipe.equations, None)
    settings = recipe.settings
    rng, name = np.random.default_rng(settings.seeds[0]), (*STRUCTURE, "run")
    resume = journal.resume_run(name, rng)
    task = nullcontext(Listener()) if progress is None else progress.structure()
    with threads(settings.n_threads) as map, task as listener:
        heard = Listeners(JournalListener(journal, name, rng, checkpoint=True), listener)
        X = train.with_threads(settings.n_threads, map)
        return recipe.structure.learn(X, settings, rng, heldout, heard.iteration, resume)


def _best_run(
    recipe: Recipe,
    start: Start,
    journal: Journal,
    train: Counts,
    heldout: HeldOut | None,
    progress: Progress,
    attributes: AttributesAt,
    warm_run: EMState | None,
) -> EMResult:
    """Return the best of several runs, with statistics at its parameters.

    They start at random, in parallel where there are threads. Where components can be split, only
    the first does: the others merge and split components of the best so far.
    """
    settings, model = recipe.settings, recipe.equations
    n_runs = len(settings.seeds)
    n_parallel = 1 if recipe.supports_splitting else n_runs
    _, n_inner = split_threads(settings.n_jobs, n_parallel)

    def attributes_at(record: Record, state: State) -> dict[str, object]:
        return attributes(start, journal.copy_for(None), record, state)

    def run(number: int, best: EMResult | None = None, rank: int = 0) -> EMResult:
        known: EMResult | None = journal.get((*RESTARTS, number))
        if known is not None:
            return known
        rng, name = np.random.default_rng(settings.seeds[number]), (*RESTARTS, number, "run")
        resume = journal.resume_run(name, rng) or warm_run
        listener = listeners[number]
        observe = ignore
        if progress.has_callbacks or settings.resumable:
            observe = Listeners(JournalListener(journal, name, rng), listener).iteration
        with threads(n_inner) as map:
            X = train.with_threads(n_inner, map)
            if progress.has_callbacks:
                X = X.with_progress(listener.block)
            params = None if number else start.params  # other runs start at random
            if warm_run is not None:
                parts, initial = recipe.warm_start_schedule(X, start.beta, heldout), None
            elif best is not None:
                parts = recipe.merge_and_split_schedule(X, start.beta, heldout, rank)
                initial = best.state
            elif params is None or recipe.init_from is None:
                parts, initial = recipe.schedule(recipe.scales(X), start.beta, heldout), None
            else:
                parts = recipe.schedule(recipe.scales(X), start.beta, heldout, warmup=False)
                # The short fit saw fewer tokens: with the unigram it can meet new columns.
                unigram = (X.column_sums / X.column_sums.sum()).astype(X.dtype)
                mixed = recipe.init_from.mix_with(params, unigram, UNIGRAM_SHARE)
                initial = State(mixed, unknown_rows(params, X))
            found = run_em(parts, rng, settings.solver, observe, initial, resume)
            # Rows and statistics of the final parameters; these E-steps are no iterations.
            last = cast(Counts, found.X).with_progress(lambda: None)
            rows, stats = last.expect(model, found.params, found.rows, found.beta)
            # Alone, mixtures of all tokens of a row predict better. A cache knows these tokens
            # itself, and averages of short fits hardly gain.
            if model.folds_in_own_rows and not recipe.is_short and settings.cache is None:
                folded = partial(_folded_rows, model=model, params=found.params, beta=found.beta)
                rows = last.map_blocks(folded)
            end = _end(journal.get(name).run, found, X) if settings.resumable else None
        found = found._replace(rows=rows, stats=stats, X=None, end=end)
        journal.add((*RESTARTS, number), found)
        return found

    listeners = [progress.restart(train.n_blocks, attributes_at) for _ in settings.seeds]
    runs = in_threads(run, [(number,) for number in range(n_parallel)], settings.n_jobs)
    best, rank = min(runs, key=_loss), 0
    for number in range(n_parallel, n_runs):
        if best.stopped or len(best.params.weights) == 1:
            break
        (new,) = in_threads(run, [(number, best, rank)], settings.n_jobs)
        fall = _loss(best) - _loss(new)
        rank = 0 if fall > settings.tol * abs(_loss(best)) else rank + 1
        best = new if fall > 0 and not new.stopped else best
    return best


def _folded_rows(X: Block, model: Model, params: Params, beta: float) -> Rows:
    return solve_rows(*model.fold_in_equations(params), beta, X.as_new())


def _loss(run: EMResult) -> float:
    """Return the perplexity of held-out tokens, or the objective where there are none."""
    return run.validation.perplexity if run.validation else run.objective


def _end(last: EMState, found: EMResult, X: Counts) -> EMState | None:
    """Return where a warm start on the same table continues; None if it must begin anew.

    That is so where an earlier iteration was the best, or the table of a burstiness round differs.
    """
    if found.stopped or last.best is not None or last.anchor is not None:
        return None
    return last.relocated(X.collect_rows)


def split_threads(n_jobs: int | None, n_tasks: int) -> tuple[int, int]:
    """Return how many tasks run side by side, and with how many threads each."""
    n = n_threads(n_jobs)
    n_outer = min(n, n_tasks)
    return n_outer, n // n_outer


def in_threads(function: Callable[..., T], tasks: Sequence[tuple], n_jobs: int | None) -> list[T]:
    """Return function(*task) for each task, in order."""
    n_outer, _ = split_threads(n_jobs, len(tasks))
    with threads(1):  # for all of them: else BLAS would have one thread or several by turns
        if n_outer == 1:
            return [function(*task) for task in tasks]
        parallel = Parallel(n_jobs=n_outer, prefer="threads", require="sharedmem")
        return list(parallel(delayed(function)(*task) for task in tasks))


class ShortFit(NamedTuple):
    """A fit of a few iterations, and what it predicts of the held-out tokens."""

    validation: Validation
    predicted: CachedPredictions
    params: Params


class ShortFits:
    """Fits of a few iterations with some values of hyper-parameters.

    All start from one state, which is kept: after the warm-up, if there is one. Threads may call it
    side by side. With parameters of a cache, their perplexity is the geometric mean of that in the
    cache and that alone, which still tells models apart where the cache hides them.
    """

    def __init__(
        self, recipe: Recipe, X: Block, heldout: HeldOut, cache: Asked | None = None
    ) -> None:
        self._recipe, self._heldout = recipe, heldout
        self._short = replace(recipe, settings=recipe.settings.short)
        self._tables = recipe.scales(X)
        self._lock = Lock()
        self._starts: dict[tuple[int, Model], State] = {}
        self._cache = None
        if cache is not None:
            self._cache = CacheValidation.from_tables(X, heldout.X, cache)

    def __call__(self, values: Values) -> ShortFit:
        recipe = self._short.with_values(values)
        parts = recipe.schedule(self._tables, values["beta"], annealed=False)
        n_shared = 0
        if recipe.family.has_warmup:  # what comes before the last stage does not depend on beta
            n_shared = len(parts) - 1 - (recipe.concentration is not None)
        warmup = recipe.warmup_model or recipe.equations
        start = self._start(parts[:n_shared], parts[0], warmup)
        found = run_em(parts[n_shared:], self._rng, recipe.settings.solver, start=start)
        predicted = self._heldout.predicted(recipe.equations, found.params, found.rows)
        validation = self._heldout.score(predicted)
        if self._cache is not None:
            both = self._cache.perplexity(predicted) * validation.perplexity
            validation = validation._replace(perplexity=float(np.sqrt(both)))
        return ShortFit(validation, predicted, found.params)

    def _start(self, shared: Sequence[StageSchedule], first: StageSchedule, warmup: Model) -> State:
        """Return the state after the stages that all fits share, from the same initialisation."""
        with self._lock:
            if (key := (len(shared), warmup)) not in self._starts:
                state = first.begin(self._rng)
                if shared:
                    solver = self._short.settings.solver
                    state = run_em(shared, self._rng, solver, start=state).state
                self._starts[key] = state
            return self._starts[key]

    @property
    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(self._recipe.settings.seeds[0])


def short_fits(recipe: Recipe, X: Block) -> ShortFits:
    """Return short fits to counts, some of them held out; with one thread."""
    rest, heldout = hold_out(X, *recipe.settings.division)
    structure = _structure(recipe, rest, heldout, None, Journal())
    if recipe.structure is not None:
        recipe = recipe.with_model(structure.initial)
    return ShortFits(recipe.without_burstiness, rest.with_threads(1, map), heldout)


def with_best_row_prior(recipe: Recipe, chosen: Trial, params: Params, heldout: HeldOut) -> Model:
    """Return the equations with which a few tokens of a new row predict others best.

    They have the values chosen, and a pseudo-count of new rows. All tokens are validation tokens:
    those that the components have seen would be trusted too much. Rows of no weight do not count.
    If no other row has two tokens, the pseudo-count is the one in the middle.
    """

    def with_prior(row_prior: float) -> Model:
        return recipe.with_values({**chosen.values, "row_prior": row_prior}).equations

    rng = np.random.default_rng(recipe.settings.seeds[0])
    n_columns = np.diff(heldout.X.table.indptr)
    long = np.flatnonzero((n_columns > 1) & (heldout.X.row_weights > 0))
    rows = np.sort(rng.choice(long, min(N_ROWS, len(long)), replace=False))
    n_columns = n_columns[rows]
    repeated = np.concatenate([rows[n_columns > n] for n in N_KNOWN])
    if not repeated.size:
        return with_prior(PSEUDO_COUNTS[len(PSEUDO_COUNTS) // 2])
    n_known = np.concatenate([np.full(np.sum(n_columns > n), n) for n in N_KNOWN])
    both = heldout.X.take(repeated)
    tokens = few_columns(both.table, n_known, rng)
    weights = both.row_weights[rows_of(both.table)].astype(tokens.dtype)
    X, rest = both.replaced(tokens).as_new(), weights * (both.table.data - tokens)

    def loss(row_prior: float) -> float:
        model, of_rows = with_prior(row_prior).fold_in_equations(params)
        states = fold_in(model, of_rows, chosen.beta, X, 1, max_iter=MAX_ITER)
        predicted = CachedPredictions(model.predict(of_rows, states, both))
        smooth = smoothed(predicted, heldout.background, chosen.validation.smoothing)
        return -float((rest * log_cells(smooth, both)).sum() / rest.sum())

    losses = {float(np.log(c)): loss(c) for c in PSEUDO_COUNTS}
    return with_prior(float(np.exp(vertex(losses))))


def few_columns(X: CSR, n: Array, rng: np.random.Generator) -> Array:
    """Return a token of n columns of each row, (nnz,), drawn in proportion to their counts."""
    of_row = rows_of(X)
    waiting = rng.exponential(size=X.nnz) / X.data  # the first n events of each row
    is_drawn = np.zeros(X.nnz, dtype=bool)
    is_drawn[np.lexsort((waiting, of_row))] = np.arange(X.nnz) - X.indptr[of_row] < n[of_row]
    return np.where(is_drawn, np.minimum(X.data, 1), 0).astype(X.dtype)
