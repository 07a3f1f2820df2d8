"""How a model is fitted to a table: held-out tokens, structure, hyper-parameters, seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import numpy as np

from skcooc.em import EMResult, EMState, Record, Split, State
from skcooc.em.stages import Start
from skcooc.fitting.context import FitContext, in_threads, split_threads, threaded
from skcooc.fitting.recipe import Recipe, Settings, StructureLearner
from skcooc.fitting.short_fits import ShortFit, ShortFits, with_best_row_prior
from skcooc.fitting.stream import solve_rows
from skcooc.fitting.tuning import Trial, TrialRecord, Tunable, tune
from skcooc.heldout import Validation
from skcooc.heldout.predictors import CachedPredictions
from skcooc.heldout.validation import (
    HeldOut,
    HeldOutPredictions,
    chosen_smoothing,
    hold_out,
)
from skcooc.protocol import Array, Block, Counts, Model, Params, Rows


@dataclass(frozen=True)
class Tuned:
    """What is found before the last run: structure and hyper-parameters."""

    model: Model
    beta: float
    start: Start | None = None  # of a learned structure
    splits: list[Split] | None = None  # that led to the structure
    trials: list[Trial] = field(default_factory=list)
    validation: Validation | None = None  # of the best short fit
    predicted: CachedPredictions | None = None  # held-out tokens, by the best short fit
    state: State | None = None  # of the best short fit, where the first run begins with it
    history: list[Record] = field(default_factory=list)  # of the structure
    short_history: list[Record] = field(default_factory=list)  # of this short fit, and its start


@dataclass(frozen=True, kw_only=True)
class Fit(Tuned):
    """A finished fit."""

    run: EMResult  # the best one
    smoothing: float
    X: Counts  # the tokens fitted
    mass: float  # number of them, weights of rows included
    row_distribution: Array  # (N,)
    heldout_predictions: HeldOutPredictions | None = None  # predictions of held-out tokens


def fit_table(recipe: Recipe, X: Counts, sample: Block, context: FitContext) -> Fit:
    """Fit a model to counts.

    Hyper-parameters are tuned on the sample, which is X or some of its rows.
    """
    settings = recipe.settings
    train, heldout = hold_out(sample, *settings.division) if settings.holds_out else (sample, None)
    tunables = recipe.family.tunables(sample) if settings.tunes else []
    with context.part("tuned") as part:
        tuned = context.once("tuned", tuned_fit, recipe, train, heldout, tunables, part)
    is_part = sample.shape[0] < X.shape[0]
    if is_part:  # most rows would begin at their prior: see continued_start
        tuned = replace(tuned, state=None, short_history=[])
    context.note(tuned, settings.smoothing)
    X, judge = (train, heldout) if settings.early_stopping else (X, None)
    if not is_part:
        del train  # the final fit needs the memory
    run = best_run(recipe.tuned(tuned.model, tuned.beta, tuned.start), tuned, X, judge, context)
    validation = run.validation or tuned.validation
    if is_part and heldout is not None:
        validation = validation_on_sample(tuned.model, run, sample, train, heldout)
    predicted = judge.predicted(tuned.model, run.params, run.rows) if judge else tuned.predicted
    mass, row_distribution = token_distribution(X)
    return Fit(
        **vars(tuned),
        run=run._replace(rows=X.collect_rows(run.rows)),
        smoothing=chosen_smoothing(settings.smoothing, validation),
        X=X,
        mass=mass,
        row_distribution=row_distribution,
        heldout_predictions=predicted and HeldOutPredictions(settings.division, predicted),
    )


def validation_on_sample(
    model: Model, run: EMResult, sample: Block, train: Block, heldout: HeldOut
) -> Validation:
    """Validate a fit to all rows on tokens that were held out of a sample of them.

    These tokens were fitted: what they gave to the statistics is taken out, before an M-step.
    """
    equations = model.fold_in_equations(run.params)
    states = [solve_rows(*equations, run.beta, X.as_new()) for X in (sample, train)]
    of_sample, of_train = (
        model.expect(X, run.params, rows, run.beta)[1]
        for X, rows in zip((sample, train), states, strict=True)
    )
    parts = zip(cast(Any, run.stats), cast(Any, of_sample), cast(Any, of_train), strict=True)
    stats = type(run.stats)(*(np.maximum(all_rows - a + b, 0) for all_rows, a, b in parts))
    return heldout(model, model.maximize(stats, run.params, run.beta), states[1])


def token_distribution(X: Counts) -> tuple[float, Array]:
    """Return the number of tokens, weights included, and the share of each row, (N,)."""
    mass = float(X.total(_mass))
    return mass, X.collect_rows(X.map_blocks(partial(_shares, mass=mass)))


def _mass(X: Block) -> Array:
    return np.sum(X.row_sums * X.row_weights)


def _shares(X: Block, mass: float) -> Array:
    return X.row_sums * X.row_weights / mass


def tuned_fit(
    recipe: Recipe,
    train: Block,
    heldout: HeldOut | None,
    tunables: Sequence[Tunable],
    context: FitContext,
) -> Tuned:
    """Learn the structure, then tune hyper-parameters, where there are any."""
    settings = recipe.settings
    structure = Tuned(recipe.equations, np.nan)
    if recipe.structure is not None:
        structure = context.once(
            "structure",
            learned_structure,
            settings,
            recipe.structure,
            train,
            heldout,
            context,
            checkpoint=True,
        )
        recipe = recipe.tuned(structure.model, settings.beta, structure.start)
    if heldout is None or not tunables:
        return replace(structure, beta=float(settings.beta))
    n_trials = sum(tunable.n_trials for tunable in tunables) + 1  # and of a varied one
    record = context.once("trials", TrialRecord[ShortFit])
    with (
        threaded(train, settings.n_threads) as X,
        context.part("search", "temperature search", n_trials) as search,
    ):
        short_fits = ShortFits(recipe.short(X), X, heldout)
        chosen = tune(tunables, settings.names, short_fits, record, search)
        best = record.best
        varied = recipe.short(X, "chosen")
        if len(varied.variations) > len(short_fits.recipe.variations) and not search.stopped:
            # Predictions should be made as by the final fit.
            with search.part("varied", "chosen values") as part:
                last = part.once("fit", ShortFits(varied, X, heldout), chosen.values, part)
            best = last._replace(state=best.state, history=best.history)
    model = structure.model
    if recipe.structure is None:
        model = recipe.with_values(chosen.values).equations
        if recipe.family.has_tunable_row_prior(chosen.values):
            model = with_best_row_prior(recipe, chosen, best.state.params, heldout)
    continues = recipe.init_from is not None
    return replace(
        structure,
        model=model,
        beta=chosen.beta,
        trials=record.trials,
        validation=best.validation,
        predicted=best.predicted,
        state=best.state if continues else None,
        short_history=best.history if continues else [],
    )


def learned_structure(
    settings: Settings,
    learner: StructureLearner,
    train: Block,
    heldout: HeldOut | None,
    context: FitContext,
) -> Tuned:
    """Learn the structure of the model from the tokens that are fitted."""
    rng = np.random.default_rng(settings.seeds[0])
    with (
        threaded(train, settings.n_threads) as X,
        context.part("structure", "annealing") as part,
    ):
        model, start, splits = learner.learn(X, settings.solver, rng, heldout, part)
    return Tuned(model, np.nan, start, splits, history=part.history)


def best_run(
    recipe: Recipe, tuned: Tuned, X: Counts, heldout: HeldOut | None, context: FitContext
) -> EMResult:
    """Return the best of several runs, with statistics at its parameters.

    They start anew, in parallel where there are threads. Where the recipe can improve on a result,
    only the first does, and the others begin with the best so far.
    """
    seeds, n_jobs, tol = recipe.settings.seeds, recipe.settings.n_jobs, recipe.settings.tol

    def task(number: int, *best: Any) -> tuple:
        begun = recipe
        if number == 0 and tuned.state is not None:
            begun = recipe.continuing(tuned.state)
        return f"run {number}", one_run, begun, X, heldout, number, context, *best

    tasks = [task(number) for number in range(recipe.n_parallel_runs)]
    first, *others = in_threads(context.once, tasks, n_jobs)
    first = first._replace(history=[*tuned.short_history, *first.history])
    best = min([first, *others], key=_loss)
    rank = 0
    for number in range(recipe.n_parallel_runs, len(seeds)):
        if best.stopped or len(best.params.weights) == 1:
            break
        (new,) = in_threads(context.once, [task(number, best, rank)], n_jobs)
        fall = _loss(best) - _loss(new)
        rank = 0 if fall > tol * abs(_loss(best)) else rank + 1
        best = new if fall > 0 and not new.stopped else best
    return best._replace(history=[*tuned.history, *best.history])


def one_run(
    recipe: Recipe,
    X: Counts,
    heldout: HeldOut | None,
    number: int,
    context: FitContext,
    best: EMResult | None = None,
    rank: int = 0,
) -> EMResult:
    """Return the end of EM, which starts anew, or from the best result so far."""
    settings, rng = recipe.settings, np.random.default_rng(recipe.settings.seeds[number])
    _, n_inner = split_threads(settings.n_jobs, recipe.n_parallel_runs)
    with (
        threaded(X, n_inner) as X,
        context.part(f"run {number}", "EM", recipe.n_subtasks, X.n_blocks) as part,
    ):
        X = part.with_progress(X)
        if best is None:
            stages, start = recipe.stages(X, heldout), None
        else:
            stages, start = recipe.improving_stages(X, heldout, rank), best.state
        result = part.run_last(stages, rng, settings.solver, start, recipe.continued)
        # Rows and statistics of the final parameters; these E-steps are no iterations.
        last = cast(Counts, result.X).with_progress(lambda: None)
        rows, stats = last.expect(recipe.equations, result.params, result.rows, result.beta)
        # Alone, mixtures of all tokens of a row predict better. A cache knows these tokens
        # itself, and averages of short fits hardly gain.
        if recipe.folds_in_rows:
            folded = partial(
                _folded_rows, model=recipe.equations, params=result.params, beta=result.beta
            )
            rows = last.map_blocks(folded)
        return result._replace(rows=rows, stats=stats, X=None, end=_end(result, X, settings))


def _folded_rows(X: Block, model: Model, params: Params, beta: float) -> Rows:
    return solve_rows(*model.fold_in_equations(params), beta, X.as_new())


def _loss(run: EMResult) -> float:
    """Return the perplexity of held-out tokens, or the objective where there are none."""
    return run.validation.perplexity if run.validation else run.objective


def _end(result: EMResult, X: Counts, settings: Settings) -> EMState | None:
    """Return where a warm start on the same table continues; None if it must begin anew.

    That is so where an earlier iteration was the best, or the table of a burstiness round differs.
    """
    end = result.end
    if not settings.resumable or end is None or result.stopped:
        return None
    if end.best is not None or end.anchor is not None:
        return None
    return end.relocated(X.collect_rows)
