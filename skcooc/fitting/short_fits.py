"""Short fits, which judge values of hyper-parameters by the held-out tokens that they predict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from skcooc.em import EMResult, Record, State
from skcooc.em.stages import StageSchedule
from skcooc.fitting.context import FitContext
from skcooc.fitting.recipe import Recipe
from skcooc.fitting.stream import fold_in
from skcooc.fitting.tuning import Trial, Values
from skcooc.heldout import Validation
from skcooc.heldout.memory import CacheValidation
from skcooc.heldout.predictors import CachedPredictions, log_cells, rows_of, smoothed
from skcooc.heldout.validation import HeldOut
from skcooc.line_search import PLATEAU, vertex
from skcooc.protocol import CSR, Array, Block, Model, Params

N_KNOWN = (1, 2, 4)  # known columns of a row, for the prior of new rows
N_ROWS = 300  # that are folded in for it, at most
PSEUDO_COUNTS = (0.5, 1.0, 2.0, 4.0, 8.0)  # tried for it
MAX_ITER = 10  # EM steps of its fold-in


class ShortFit(NamedTuple):
    """A fit of a few iterations, and what it predicts of the held-out tokens."""

    validation: Validation
    predicted: CachedPredictions
    state: State
    history: list[Record]  # with that of its start


class ShortFits:
    """Fits of a few iterations with some values of hyper-parameters.

    All start from one state, which is kept: after the warm-up, if there is one. With parameters of
    a cache, their perplexity is the geometric mean of that in the cache and that alone, which still
    tells models apart where the cache hides them.
    """

    def __init__(self, recipe: Recipe, X: Block, heldout: HeldOut) -> None:
        self.recipe, self._X, self.heldout = recipe, X, heldout
        self._starts: dict[tuple[Sequence[float], Model], tuple[State, list[Record]]] = {}
        self._cache = None
        if recipe.settings.cache is not None:
            self._cache = CacheValidation.from_tables(X, heldout.X, recipe.settings.cache)

    def __call__(self, values: Values, context: FitContext) -> ShortFit:
        result = self.run(values, context)
        equations = self.recipe.with_values(values).equations
        predicted = self.heldout.predicted(equations, result.params, result.rows)
        validation = self.heldout.score(predicted)
        if self._cache is not None:
            product = self._cache.perplexity(predicted) * validation.perplexity
            validation = validation._replace(perplexity=float(np.sqrt(product)))
        return ShortFit(validation, predicted, result.state, result.history)

    def run(self, values: Values, context: FitContext) -> EMResult:
        """Return the end of EM with some values; its history begins with that of the start."""
        recipe = self.recipe.with_values(values)
        stages = recipe.stages(self._X)
        n_shared = 0  # stages before the temperature tried, such as a warm-up
        while n_shared < len(stages) - 1 and stages[n_shared].stage.beta != values["beta"]:
            n_shared += 1
        betas = tuple(part.stage.beta for part in stages[:n_shared])
        key = betas, recipe.family.first_model(values)
        if key not in self._starts:
            self._starts[key] = self._start(stages, n_shared, context)
        start, history = self._starts[key]
        first = stages[n_shared].stage  # begins as the fit that continues the best of them
        start = start._replace(params=first.model.for_table(start.params, first.X))
        result = context.run(stages[n_shared:], self._rng, recipe.settings.solver, start)
        return result._replace(history=[*history, *context.history])

    def _start(
        self, stages: Sequence[StageSchedule], n_shared: int, context: FitContext
    ) -> tuple[State, list[Record]]:
        """Return the state after the stages that all fits share, and its history."""
        with context.part("start", "start") as part:
            first = stages[0].stage
            state = first.start(first.model, first.X, self._rng, part)
            if n_shared:
                solver = self.recipe.settings.solver
                state = part.run(stages[:n_shared], self._rng, solver, state).state
        return state, part.history

    @property
    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(self.recipe.settings.seeds[0])


def with_best_row_prior(recipe: Recipe, chosen: Trial, params: Params, heldout: HeldOut) -> Model:
    """Return the equations with which a few tokens of a new row predict others best.

    They have the values chosen, and a pseudo-count of new rows. All tokens are validation tokens:
    those that the components have seen would be trusted too much. Rows of no weight do not count.
    If no other row has two tokens, or all predict equally well, as of components that are the
    unigram, the pseudo-count is the one in the middle.
    """

    def with_prior(row_prior: float) -> Model:
        return recipe.with_values({**chosen.values, "row_prior": row_prior}).equations

    rng = np.random.default_rng(recipe.settings.seeds[0])
    n_columns = np.diff(heldout.X.table.indptr)
    long = np.flatnonzero((n_columns > 1) & (heldout.X.row_weights > 0))
    rows = np.sort(rng.choice(long, min(N_ROWS, len(long)), replace=False))
    n_columns = n_columns[rows]
    repeated = np.concatenate([rows[n_columns > n] for n in N_KNOWN])
    middle = with_prior(PSEUDO_COUNTS[len(PSEUDO_COUNTS) // 2])
    if not repeated.size:
        return middle
    n_known = np.concatenate([np.full(np.sum(n_columns > n), n) for n in N_KNOWN])
    test = heldout.X.take(repeated)
    tokens = few_columns(test.table, n_known, rng)
    X = test.replaced(tokens).as_new()
    rest = test.table.data - tokens
    rest = test.row_weights[rows_of(test.table)].astype(tokens.dtype) * rest

    def loss(row_prior: float) -> float:
        model, of_rows = with_prior(row_prior).fold_in_equations(params)
        states = fold_in(model, of_rows, chosen.beta, X, 1, max_iter=MAX_ITER)
        predicted = CachedPredictions(model.predict(of_rows, states, test))
        smooth = smoothed(predicted, heldout.background, chosen.validation.smoothing)
        return -float((rest * log_cells(smooth, test)).sum() / rest.sum())

    losses = {float(np.log(c)): loss(c) for c in PSEUDO_COUNTS}
    if max(losses.values()) <= (1 + PLATEAU) * min(losses.values()):
        return middle
    return with_prior(float(np.exp(vertex(losses))))


def few_columns(X: CSR, n: Array, rng: np.random.Generator) -> Array:
    """Return a token of n columns of each row, (nnz,), drawn in proportion to their counts."""
    of_row = rows_of(X)
    waiting = rng.exponential(size=X.nnz) / X.data  # the first n events of each row
    is_drawn = np.zeros(X.nnz, dtype=bool)
    is_drawn[np.lexsort((waiting, of_row))] = np.arange(X.nnz) - X.indptr[of_row] < n[of_row]
    return np.where(is_drawn, np.minimum(X.data, 1), 0).astype(X.dtype)
