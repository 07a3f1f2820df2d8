"""Checks that every model has to pass, with and without a transcription of its paper."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from skcooc.counts import CSRCounts
from skcooc.em import EMStage, State, fit, make_solver
from skcooc.em.solvers import PlainEM
from skcooc.em.stages import PlainRunner, Start, equations_start
from skcooc.loops.fold_in import solve_mixtures
from skcooc.protocol import CSR, Array, Model, P, Rows, Statistics

__all__ = ["CHECKS", "check_model"]

EARLY, LATE = 2, 30  # EM steps after which states are tried, besides the start
END, CONVERGED = 400, 1e-14  # maximum number of EM steps and tolerance for the final state

EQUAL, SINGLE = 1e-10, 1e-4  # relative to the largest number; in single precision
STATIONARY = 1e-5  # slope per token, nats, for a relative change of parameters
STRIDE = 1e-5
ROUNDING = 1e-5  # of sums, in single precision


class Literal(Protocol[P]):
    """A model transcribed from its paper, in slow loops over a dense table.

    Empty rows may have any state, and contribute nothing.
    """

    def step(self, n: Array, params: P, rows: Rows, beta: float) -> tuple[P, Rows]:
        """Parameters and row states after an EM step on counts n (N, M)."""

    def objective(self, n: Array, params: P, rows: Rows, beta: float) -> float:
        """Free energy minus log prior at these parameters, in nats: EM minimises it."""


@dataclass
class Case:
    """Everything that a check of a model needs."""

    model: Model
    X: CSRCounts  # with an empty row and an empty column
    beta: float
    literal: Literal | None
    start: Start = equations_start
    states: list[State] = field(init=False)  # the start, and two later states

    def __post_init__(self) -> None:
        params, rows = self.begin(self.X)
        first = State(params, rows.copy())  # it is often one row, broadcast
        second = self.run(self.model, first, EARLY)
        self.states = [first, second, self.run(self.model, second, LATE - EARLY)]

    def begin(self, X: CSRCounts, seed: int = 0) -> State:
        return self.start(self.model, X, np.random.default_rng(seed), PlainRunner())

    def step(
        self, model: Model, state: State, X: CSRCounts | None = None
    ) -> tuple[State, Statistics, float]:
        X = self.X if X is None else X
        rows, stats, objective = PlainEM().sweep(EMStage(model, X, self.beta, 1, 0.0), state)
        return State(model.maximize(stats, state.params, self.beta), rows), stats, objective

    def run(self, model: Model, state: State, n_steps: int, X: CSRCounts | None = None) -> State:
        for _ in range(n_steps):
            state = self.step(model, state, X)[0]
        return state

    @cached_property
    def end(self) -> State:
        stage = EMStage(self.model, self.X, self.beta, END, CONVERGED)
        rng = np.random.default_rng()  # not used: nothing splits
        return fit([stage], rng, make_solver("momentum"), self.states[1]).state


class Check(NamedTuple):
    run: Callable[[Case, Any], None]  # raises AssertionError if the model fails
    needs_literal: bool = False
    everywhere: bool = False  # at all tables and temperatures; others try each of them once


def check_model(
    equations: Model,
    X: CSR | Array | None = None,
    *,
    literal: Literal | None = None,
    betas: Sequence[float] = (1.0, 0.8),
    skip: Collection[str] = (),
    start: Start = equations_start,
) -> None:
    """AssertionError if equations break what EM, counts and predictions rely on.

    Parameters
    ----------
    equations : Equations
    X : (N, M) array or sparse array, default=None
        Counts to try it on, to which an empty row and an empty column are added. N and M must
        differ from all numbers of components. None stands for two small tables.
    literal : Literal or None, default=None
        The equations, transcribed from the paper. Without them the checks "literal step" and
        "literal slope" are skipped, and with these an M-step to a wrong place may be missed.
    betas : sequence of float, default=(1.0, 0.8)
        Inverse temperatures.
    skip : collection of str, default=()
        Names of checks, see ``CHECKS``, that do not apply to the model.
    start : callable, default=equations_start
        Makes the state in which EM begins, of the equations, a table, a generator of random numbers
        and a runner of EM; by default ``equations.start``. See ``skcooc.starts``.

    Examples
    --------
    >>> from skcooc.equations.aspects import Aspects
    >>> from skcooc.testing import check_model
    >>> check_model(Aspects(3))
    """
    for name, case in planned(equations, X, literal, betas, skip, start):
        run_check(name, case)


def planned(
    equations: Model,
    X: CSR | Array | None,
    literal: Literal | None,
    betas: Sequence[float],
    skip: Collection[str],
    start: Start = equations_start,
) -> Iterator[tuple[str, Case]]:
    """Names of checks, and the cases on which `check_model` runs them."""
    if unknown := set(skip) - set(CHECKS):
        raise ValueError(f"There is no check {sorted(unknown)}: they are {list(CHECKS)}.")
    counts = list(tables(X))
    T = len(counts)
    B = len(betas)
    each_once = {(i % T, i % B) for i in range(max(T, B))}
    names = [n for n in CHECKS if n not in skip and (literal or not CHECKS[n].needs_literal)]
    for t, b in np.ndindex(T, B):
        case = Case(equations, counts[t], betas[b], literal, start)
        for name in names:
            if CHECKS[name].everywhere or (t, b) in each_once:
                yield name, case


def run_check(name: str, case: Case) -> None:
    try:
        CHECKS[name].run(case, case.model)
    except AssertionError as error:
        raise AssertionError(f"{name}: {error}, at beta={case.beta}") from error


def tables(X: CSR | Array | None) -> Iterator[CSRCounts]:
    """The given table, or two small ones: noise, and blocks of non-integer counts."""
    arrays = [X]
    if X is None:
        rng = np.random.default_rng(0)
        noise = rng.poisson(0.8, (11, 9))
        blocks = np.kron(np.array([[6, 1, 2], [1, 5, 1], [3, 1, 7]]), np.ones((3, 3)))
        arrays = [noise, 0.37 * rng.poisson(blocks)[:, :8] + 0.05]
    yield from (CSRCounts(with_empty(sp.csr_array(n, dtype=np.float64))) for n in arrays)


def with_empty(X: CSR) -> CSR:
    """The table, with an empty row and an empty column if it has none."""
    if not (X.sum(axis=0).all() or X.sum(axis=1).all()):
        return X
    n = X.toarray()
    for axis, size in enumerate(X.shape):
        n = np.insert(n, size // 2, 0, axis)
    return sp.csr_array(n)


def bound_falls(case: Case, model: Model) -> None:
    """A plain EM step never raises the objective, nor do steps from the end on another table."""
    shares = 1 / (2 + np.arange(case.X.data.size) % 3)
    other = case.X.replaced(case.X.data * shares)
    moved = [state._replace(params=model.for_table(state.params, other)) for state in case.states]
    pairs = [(case.X, state) for state in case.states] + [(other, state) for state in moved]
    for X, state in pairs:
        path = []
        for _ in range(4):
            state, _, objective = case.step(model, state, X)
            path.append(objective)
        rise = np.diff(path).max() / max(X.row_sums.sum(), *np.abs(path))
        assert rise <= 1e-12, f"the objective rises by {rise:.2g} of itself"


def literal_step(case: Case, model: Model) -> None:
    """Steps and objectives equal those of the transcription."""
    assert case.literal is not None
    n = case.X.table.toarray()
    seen = case.X.row_sums > 0
    for state in case.states:
        literal = state
        for _ in range(2):
            expected = case.literal.objective(n, *literal, case.beta)
            state, _, objective = case.step(model, state)
            literal = State(*case.literal.step(n, *literal, case.beta))
            _equal_objectives(case, objective, expected)
            _same(State(state.params, state.rows[seen]), State(literal.params, literal.rows[seen]))


def literal_slope(case: Case, model: Model) -> None:
    """The objective of the transcription is stationary where EM converges.

    In the row states and in all parameters that EM has changed, along random directions that keep
    distributions normalised. A broken model first moves on.
    """
    assert case.literal is not None
    literal = case.literal
    rng = np.random.default_rng(0)
    n = case.X.table.toarray()
    end = case.run(model, case.end, LATE)
    fields = zip(end.params._fields, end.params, case.states[0].params, strict=True)
    moving = [f for f, P, start in fields if not np.allclose(P, start, rtol=1e-7, atol=1e-12)]

    def objective(name: str, values: Array) -> float:
        if name == "rows":
            return literal.objective(n, end.params, values, case.beta)
        return literal.objective(n, end.params._replace(**{name: values}), end.rows, case.beta)

    for name in ("rows", *moving):
        P = end.rows if name == "rows" else getattr(end.params, name)
        change = STRIDE * tangent(P, rng)
        rise = objective(name, P + change) - objective(name, P - change)
        slope = abs(rise) / (2 * STRIDE * n.sum())
        assert slope < STATIONARY, f"slope {slope:.2g} per token in {name}"


def row_weights(case: Case, model: Model) -> None:
    """A row of weight w equals w rows; fractional weights add up."""
    index = np.arange(case.X.shape[0])
    for weights in (index % 3, 0.5 + index % 2):
        times = np.repeat(index, np.ceil(weights).astype(int))
        shares = (weights / np.ceil(weights).clip(1))[times]
        weighted = CSRCounts(case.X.table, weights * 1.0)
        copies = CSRCounts(case.X.take(times).table, shares)
        for params, rows in case.states[1:]:
            state, _, objective = case.step(model, State(params, rows), weighted)
            expected, _, expected_objective = case.step(model, State(params, rows[times]), copies)
            _equal_objectives(case, objective, expected_objective)
            _same(State(state.params, state.rows[times]), expected)


def order_of_rows(case: Case, model: Model) -> None:
    """A permutation of the rows permutes row states alone."""
    order = np.random.default_rng(0).permutation(case.X.shape[0])
    for params, rows in case.states[1:]:
        state = case.run(model, State(params, rows), 2)
        expected = case.run(model, State(params, rows[order]), 2, case.X.take(order))
        _same(State(state.params, state.rows[order]), expected)


def order_of_columns(case: Case, model: Model) -> None:
    """A permutation of the columns permutes parameters and keeps row states."""
    M = case.X.shape[1]
    order = np.random.default_rng(0).permutation(M)
    X = CSRCounts(sp.csr_array(case.X.table[:, order]))
    for params, rows in case.states[1:]:
        moved = type(params)(*(A[order] if np.shape(A)[:1] == (M,) else A for A in params))
        state = case.run(model, State(params, rows), 2)
        expected = case.run(model, State(moved, rows), 2, X)
        _equal("rows", state.rows, expected.rows)
        _equal("factors", model.factors(*state)[1][order], model.factors(*expected)[1])


def order_of_components(case: Case, model: Model) -> None:
    """A permutation of the components is kept; all axes of one size are permuted."""
    state = case.states[1]
    sizes = {size for array in (*state.params, state.rows) for size in np.shape(array)}
    for size in sizes - {1, *case.X.shape}:
        moved = reordered(state, size)
        _same(reordered(case.run(model, state, 2), size), case.run(model, moved, 2))


def blocks(case: Case, model: Model) -> None:
    """Statistics of two blocks of rows add up to those of the table."""
    N = case.X.shape[0]
    halves = np.split(np.arange(N), [N // 3])
    for params, rows in case.states:
        new_rows, stats = model.expect(case.X, params, rows, case.beta)
        parts = [model.expect(case.X.take(h), params, rows[h], case.beta) for h in halves]
        sums = type(stats)(*map(sum, zip(*(part_stats for _, part_stats in parts), strict=True)))
        _equal("rows", new_rows, np.concatenate([part_rows for part_rows, _ in parts]))
        _equal_objectives(case, stats.free_energy, sums.free_energy)
        new, expected = (model.maximize(s, params, case.beta) for s in (stats, sums))
        _same(State(new, rows), State(expected, rows))


def single_precision(case: Case, model: Model) -> None:
    """float32 stays float32, and equals float64 up to rounding."""
    X = case.X.astype(np.float32)
    started = case.begin(X)
    state = case.states[1]
    params = type(state.params)(*(array.astype(np.float32) for array in state.params))
    single = case.step(model, State(params, state.rows.astype(np.float32)), X)[0]
    for result in (started, single):
        arrays = *result.params, result.rows, *model.factors(*result)
        wide = [array.dtype.name for array in arrays if array.dtype != np.float32]
        assert not wide, f"float32 has become {wide}"
    _same(single, case.step(model, state)[0], SINGLE)


def empty_rows(case: Case, model: Model) -> None:
    """An empty row gets the state `weights`; nothing becomes NaN."""
    empty = case.X.row_sums == 0
    for params, rows in case.states[1:]:
        (after, new), stats, objective = case.step(model, State(params, rows))
        for array in (*after, new, *stats, *model.factors(after, new), np.array(objective)):
            assert np.isfinite(array).all(), "a result is not finite"
        _equal("empty rows", new[empty], np.tile(params.weights, (np.sum(empty), 1)))


def empty_columns(case: Case, model: Model) -> None:
    """An empty column has probability zero after a step."""
    empty = case.X.column_sums == 0
    B = model.factors(*case.run(model, case.states[0], 2))[1]
    assert not B[empty].any(), f"an empty column has probability {B[empty].max():.2g}"


def restrict(case: Case, model: Model) -> None:
    """The fold-in needs parameters of present columns only; the fast one equals the E-step.

    Put back among the others, the columns are what they were.
    """
    M = case.X.shape[1]
    half = np.vstack([case.X.table.toarray(), np.eye(M)])
    half[:, M // 2 :] = 0
    X = CSRCounts(sp.csr_array(half)).as_new()
    narrow, columns = X.occupied()
    for state in case.states:
        of_columns = model.restrict(state.params, columns)
        wide = model.factors(model.among(of_columns, columns, M), state.rows)[1]
        _equal("columns put back", wide[columns], model.factors(of_columns, state.rows)[1])
        equations, params = model.fold_in_equations(state.params)
        rows = np.tile(params.weights, (len(half), 1))
        new = equations.expect(X, params, rows, case.beta)[0]
        restricted = equations.restrict(params, columns)
        _equal("new rows", new, equations.expect(narrow, restricted, rows, case.beta)[0])
        fixed = equations.fixed(X, params, case.beta)
        if fixed is not None:
            _equal("fixed components", solve_mixtures(X, fixed, rows, tol=0.0, max_iter=1), new)


def arguments(case: Case, model: Model) -> None:
    """No function changes its arguments; a second call returns the same."""
    state = case.states[1]
    table = case.X.table
    columns = np.arange(3)
    stats = model.expect(case.X, *state, case.beta)[1]
    inputs = (state, stats, columns, (table.data, table.indices, table.indptr))
    before = copy.deepcopy(inputs)

    def results() -> object:
        return (
            model.expect(case.X, *state, case.beta),
            model.maximize(stats, state.params, case.beta),
            model.log_prior(state.params, case.beta),
            model.restrict(state.params, columns),
            model.factors(*state),
            case.begin(case.X, 1),
        )

    first = results()
    assert _identical(inputs, before), "an argument has been changed"
    assert _identical(first, results()), "a second call returns another result"


CHECKS: dict[str, Check] = {
    "bound falls": Check(bound_falls, everywhere=True),
    "literal step": Check(literal_step, True, True),
    "literal slope": Check(literal_slope, True),
    "row weights": Check(row_weights),
    "order of rows": Check(order_of_rows),
    "order of columns": Check(order_of_columns),
    "order of components": Check(order_of_components),
    "blocks": Check(blocks),
    "float32": Check(single_precision),
    "empty rows": Check(empty_rows),
    "empty columns": Check(empty_columns),
    "restrict": Check(restrict),
    "arguments": Check(arguments),
}
"""The checks by name."""


def _equal_objectives(case: Case, objective: float, expected: float) -> None:
    scale = max(float(case.X.row_sums.sum()), abs(expected))
    _equal("objective", np.array(1 + objective / scale), np.array(1 + expected / scale))


def _equal(name: str, array: Array, expected: Array, tolerance: float = EQUAL) -> None:
    scale = float(np.abs(expected).max(initial=0)) or 1.0
    off = float(np.abs(np.asarray(array, dtype=np.float64) - expected).max(initial=0)) / scale
    assert off <= tolerance, f"{name}: {off:.2g} off, more than {tolerance:.2g}"


def _same(state: State, expected: State, tolerance: float = EQUAL) -> None:
    params = state.params._asdict()
    for name, array in expected.params._asdict().items():
        _equal(name, params[name], array, tolerance)
    _equal("rows", state.rows, expected.rows, tolerance)


def _identical(a: object, b: object) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return all(map(_identical, a, b))
    return bool(np.array_equal(np.asarray(a), np.asarray(b)))


def simplices(P: Array) -> Iterator[Any]:
    """Indices of the distributions in an array: the whole, columns, rows, or runs of entries.

    >>> list(simplices(np.array([0.5, 0.5, 0.2, 0.8])))
    [slice(0, 2, None), slice(2, 4, None)]
    """
    if P.ndim == 0 or P.min() < 0:
        return
    if _is_one(P.sum()):
        yield ...
    elif P.ndim == 2 and _is_one(P.sum(axis=0)):
        yield from ((slice(None), k) for k in range(P.shape[1]))
    elif P.ndim == 2 and _is_one(P.sum(axis=1)):
        yield from range(len(P))
    elif P.ndim == 1:
        ends = 1 + np.flatnonzero(np.diff(np.floor(np.cumsum(P) + ROUNDING), prepend=0.0))
        runs = [slice(*pair) for pair in pairwise([0, *ends.tolist()])]
        if runs and runs[-1].stop == len(P) and all(_is_one(P[run].sum()) for run in runs):
            yield from runs


def tangent(P: Array, rng: np.random.Generator) -> Array:
    """A random relative change of the entries that keeps distributions normalised."""
    direction = P * rng.standard_normal(P.shape)
    for part in simplices(P):
        direction[part] -= P[part] * direction[part].sum()
    return direction


def reordered(state: State, size: int) -> State:
    """Arrays whose axes of this size, the number of components, are permuted."""

    def rolled(array: Array) -> Array:
        axes = [axis for axis, length in enumerate(np.shape(array)) if length == size]
        return np.roll(array, 1, axes) if axes else array

    return State(type(state.params)(*map(rolled, state.params)), rolled(state.rows))


def _is_one(sums: Array) -> bool:
    return bool(np.allclose(sums, 1, rtol=0, atol=ROUNDING))
