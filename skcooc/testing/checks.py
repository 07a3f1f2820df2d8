"""The checks, one function each: what is given raises AssertionError where it fails."""

from __future__ import annotations

import copy
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from skcooc.counts import CSRCounts
from skcooc.em import State
from skcooc.protocol import Array, Model
from skcooc.testing.case import LATE, Case
from skcooc.testing.directions import changed, component_sizes, reordered, tangent
from skcooc.testing.strict import CountsElsewhere, Elsewhere, here, sent

EQUAL = 1e-10  # of the largest number in an array
SINGLE = 1e-4  # the same in single precision
STATIONARY = 1e-5  # slope for each observation, nats; of a change by the share of itself
STRIDE = 1e-5


def bound_falls(case: Case, model: Model) -> None:
    """A plain step never makes the objective larger."""
    for state in case.states:
        path = []
        for _ in range(4):
            state, _, objective = case.step(model, state)
            path.append(objective)
        scale = max(case.X.row_sums.sum(), *np.abs(path))
        rise = max(after - before for before, after in pairwise(path)) / scale
        assert rise <= 1e-12, f"the objective rises by {rise:.2g} of itself"


def literal_step(case: Case, model: Model) -> None:
    """Steps and objective are those of the slow transcription, from each of the states."""
    assert case.literal is not None
    n, seen = case.X.table.toarray(), case.X.row_sums > 0
    for state in case.states:
        mine = literal = state
        for _ in range(2):
            objective = case.literal.objective(n, *literal, case.beta)
            mine, _, found = case.step(model, mine)
            literal = State(*case.literal.step(n, *literal, case.beta))
            _equal_objectives(case, found, objective)
            _same(State(mine.params, mine.rows[seen]), State(literal.params, literal.rows[seen]))


def literal_slope(case: Case, model: Model) -> None:
    """Where EM ends, the objective of the transcription is stationary.

    In the row states and in every parameter that EM has moved, along random changes that leave
    distributions what they are. A broken twin goes on from there, to another place.
    """
    assert case.literal is not None
    literal, rng = case.literal, np.random.default_rng(0)
    n, end = case.X.table.toarray(), case.run(model, case.end, LATE)
    moving = changed(end.params, case.states[0].params)

    def objective(name: str, values: Array) -> float:
        if name == "rows":
            return literal.objective(n, end.params, values, case.beta)
        return literal.objective(n, end.params._replace(**{name: values}), end.rows, case.beta)

    for name in ("rows", *moving):
        P = end.rows if name == "rows" else getattr(end.params, name)
        ahead = STRIDE * tangent(P, rng)
        rise = objective(name, P + ahead) - objective(name, P - ahead)
        slope = abs(rise) / (2 * STRIDE * n.sum())
        assert slope < STATIONARY, f"slope {slope:.2g} for each observation in {name}"


def row_weights(case: Case, model: Model) -> None:
    """A row of weight w is the same as w rows; weights of any size add up."""
    N = case.X.shape[0]
    for weights in (np.arange(N) % 3, 0.5 + np.arange(N) % 2):
        times = np.repeat(np.arange(N), np.ceil(weights).astype(int))
        shares = (weights / np.ceil(weights).clip(1))[times]
        weighted, several = CSRCounts(case.X.table, weights * 1.0), case.X.take(times).table
        for params, rows in case.states[1:]:
            one, _, objective = case.step(model, State(params, rows), weighted)
            two, _, its = case.step(model, State(params, rows[times]), CSRCounts(several, shares))
            _equal_objectives(case, objective, its)
            _same(State(one.params, one.rows[times]), two)


def order_of_rows(case: Case, model: Model) -> None:
    """Rows in another order have the same states in that order; parameters are the same."""
    order = np.random.default_rng(0).permutation(case.X.shape[0])
    for params, rows in case.states[1:]:
        one, other = (
            case.run(model, State(params, states), 2, X)
            for X, states in ((case.X, rows), (case.X.take(order), rows[order]))
        )
        _same(State(one.params, one.rows[order]), other)


def order_of_columns(case: Case, model: Model) -> None:
    """Columns in another order have the same parameters in that order; rows are the same."""
    M = case.X.shape[1]
    order = np.random.default_rng(0).permutation(M)
    X = CSRCounts(sp.csr_array(case.X.table[:, order]))
    for params, rows in case.states[1:]:
        moved = type(params)(*(array[order] if len(array.shape) and len(array) == M else array
                               for array in params))  # fmt: skip
        one, other = case.run(model, State(params, rows), 2), State(moved, rows)
        other = case.run(model, other, 2, X)
        _equal("rows", one.rows, other.rows)
        _equal("factors", model.factors(*one)[1][order], model.factors(*other)[1])


def order_of_components(case: Case, model: Model) -> None:
    """Components in another order stay in that order; all axes of one size go together."""
    state = case.states[1]
    for size in component_sizes(state.params, state.rows, case.X.shape):
        order = np.roll(np.arange(size), 1)

        def moved(state: State, size: int = size, order: Array = order) -> State:
            params, rows = state
            fields = (reordered(array, size, order) for array in params)
            return State(type(params)(*fields), reordered(rows, size, order))

        one, other = (case.run(model, start, 2) for start in (state, moved(state)))
        _same(moved(one), other)


def blocks(case: Case, model: Model) -> None:
    """What two blocks of rows expect adds up to what the table expects."""
    N = case.X.shape[0]
    halves = np.arange(N // 3), np.arange(N // 3, N)
    for params, rows in case.states:
        whole_rows, whole = model.expect(case.X, params, rows, case.beta)
        parts = [model.expect(case.X.take(h), params, rows[h], case.beta) for h in halves]
        summed = type(whole)(*(one + two for one, two in zip(*(s for _, s in parts), strict=True)))
        _equal("rows", whole_rows, np.concatenate([part for part, _ in parts]))
        _equal_objectives(case, whole.free_energy, summed.free_energy)
        one, two = (model.maximize(stats, params, case.beta) for stats in (whole, summed))
        _same(State(one, rows), State(two, rows))


def single_precision(case: Case, model: Model) -> None:
    """What is float32 stays float32, and is that of float64 but for rounding."""
    X = case.X.astype(np.float32)
    started = State(*model.start(X, np.random.default_rng(0)))
    state = case.states[1]
    params = type(state.params)(*(array.astype(np.float32) for array in state.params))
    single = case.step(model, State(params, state.rows.astype(np.float32)), X)[0]
    for found in (started, single):
        arrays = *found.params, found.rows, *model.factors(*found)
        wide = [array.dtype.name for array in arrays if array.dtype != np.float32]
        assert not wide, f"float32 has become {wide}"
    _same(single, case.step(model, state)[0], SINGLE)


def empty_rows(case: Case, model: Model) -> None:
    """A row without observations gets the state `weights`; nothing becomes NaN."""
    empty = case.X.row_sums == 0
    for params, rows in case.states[1:]:
        (after, new), stats, objective = case.step(model, State(params, rows))
        for array in (*after, new, *stats, *model.factors(after, new), np.array(objective)):
            assert np.isfinite(array).all(), "something is not finite"
        _equal("empty rows", new[empty], np.tile(params.weights, (np.sum(empty), 1)))


def empty_columns(case: Case, model: Model) -> None:
    """A column without observations has the probability zero after a step."""
    empty = case.X.column_sums == 0
    B = model.factors(*case.run(model, case.states[0], 2))[1]
    assert not B[empty].any(), f"a column without observations has {B[empty].max():.2g}"


def restrict(case: Case, model: Model) -> None:
    """New rows need the parameters of the columns that they have, and no others.

    Where it is said what they are mixtures of, a step of each by itself is the E-step.
    """
    M = case.X.shape[1]
    half = np.vstack([case.X.table.toarray(), np.eye(M)])
    half[:, M // 2 :] = 0
    some = CSRCounts(sp.csr_array(half)).as_new()
    narrow, columns = some.occupied()
    for state in case.states:
        equations, params = model.folding(state.params)
        rows = np.tile(params.weights, (len(half), 1))
        one = equations.expect(some, params, rows, case.beta)[0]
        two = equations.expect(narrow, equations.restrict(params, columns), rows, case.beta)[0]
        _equal("new rows", one, two)
        fixed = equations.fixed(some, params, case.beta)
        if fixed is not None:
            _equal("a row by itself", some.settle(fixed, rows, tol=0.0, max_iter=1), one)


def arguments(case: Case, model: Model) -> None:
    """No function changes what it is given; called again it returns the same."""
    state, columns = case.states[1], np.arange(3)
    stats = model.expect(case.X, *state, case.beta)[1]
    table = case.X.table
    given = (state, stats, columns, (table.data, table.indices, table.indptr))
    before = copy.deepcopy(given)

    def results() -> object:
        return (
            model.expect(case.X, *state, case.beta),
            model.maximize(stats, state.params, case.beta),
            model.log_prior(state.params, case.beta),
            model.restrict(state.params, columns),
            model.factors(*state),
            model.start(case.X, np.random.default_rng(1)),
        )

    first = results()
    assert _identical(given, before), "an argument has been changed"
    assert _identical(first, results()), "called again it returns something else"


def strict_arrays(case: Case, model: Model) -> None:
    """E-step, M-step, prior and factors run with arrays that NumPy cannot have; see Elsewhere.

    The start may work in this memory: it runs once, and its result is sent.
    """
    state = case.states[1]
    params, rows = type(state.params)(*map(sent, state.params)), sent(state.rows)
    try:
        new, stats = model.expect(CountsElsewhere(case.X), params, rows, case.beta)  # type: ignore[arg-type]
        after = model.maximize(stats, params, case.beta)
        prior = model.log_prior(after, case.beta)
        factors = model.factors(after, new)
    except TypeError as error:
        raise AssertionError(str(error)) from error
    for array in (*after, new, *factors):
        assert isinstance(array, Elsewhere), f"a result is {type(array).__name__}, in this memory"
    expected = case.step(model, state)[0]
    _same(State(type(after)(*map(here, after)), here(new)), expected)
    _equal_objectives(case, prior, model.log_prior(expected.params, case.beta))


def _equal_objectives(case: Case, mine: float, expected: float) -> None:
    scale = max(float(case.X.row_sums.sum()), abs(expected))
    _equal("objective", np.array(1 + mine / scale), np.array(1 + expected / scale))


def _equal(what: str, mine: Array, expected: Array, tolerance: float = EQUAL) -> None:
    scale = float(np.abs(expected).max(initial=0)) or 1.0
    off = float(np.abs(np.asarray(mine, dtype=np.float64) - expected).max(initial=0)) / scale
    assert off <= tolerance, f"{what}: {off:.2g} off, more than {tolerance:.2g}"


def _same(mine: State, expected: State, tolerance: float = EQUAL) -> None:
    for name, one, two in zip(expected.params._fields, mine.params, expected.params, strict=True):
        _equal(name, one, two, tolerance)
    _equal("rows", mine.rows, expected.rows, tolerance)


def _identical(one: object, two: object) -> bool:
    if isinstance(one, tuple) and isinstance(two, tuple):
        return all(map(_identical, one, two))
    return bool(np.array_equal(np.asarray(one), np.asarray(two)))
