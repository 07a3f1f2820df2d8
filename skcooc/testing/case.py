"""A model on a table at a temperature, and states of it to try."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from skcooc.counts import CSRCounts
from skcooc.em import Leg, State, fit, make_solver
from skcooc.em.solvers import sweep
from skcooc.protocol import CSR, Array, Model, Statistics
from skcooc.testing.literal import Literal

EARLY, LATE = 2, 30  # steps after which states are tried, beside the start
END, CONVERGED = 400, 1e-14  # steps at most, and relative fall of the objective, to the end


@dataclass
class Case:
    """What checks are given, beside the model or a broken twin of it."""

    model: Model
    X: CSRCounts  # with a row and a column without observations
    beta: float
    literal: Literal | None
    states: list[State] = field(init=False)  # the start, and states on the way from it

    def __post_init__(self) -> None:
        # Of its own memory: the first state is often one number, seen from many places.
        params, rows = self.model.start(self.X, np.random.default_rng(0))
        self.states = [State(params, rows.copy())]
        for n_steps in (EARLY, LATE - EARLY):
            self.states.append(self.run(self.model, self.states[-1], n_steps))

    def step(
        self, model: Model, state: State, X: CSRCounts | None = None
    ) -> tuple[State, Statistics, float]:
        """The next state, the statistics, and the objective of this one."""
        X = self.X if X is None else X
        rows, stats, objective = sweep(Leg(model, X, self.beta, 1, 0.0), state)
        return State(model.maximize(stats, state.params, self.beta), rows), stats, objective

    def run(self, model: Model, state: State, n_steps: int, X: CSRCounts | None = None) -> State:
        """The state after several steps."""
        for _ in range(n_steps):
            state = self.step(model, state, X)[0]
        return state

    @cached_property
    def end(self) -> State:
        """Where EM ends."""
        leg = Leg(self.model, self.X, self.beta, END, CONVERGED)
        found = fit([leg], np.random.default_rng(), make_solver("momentum"), start=self.states[1])
        return State(found.params, found.rows)

    def same_step(self, model: Model) -> bool:
        """Whether another model makes the same steps: it is no broken twin then."""
        mine, _, objective = self.step(self.model, self.states[1])
        other, _, its = self.step(model, self.states[1])
        pairs = zip((*mine.params, mine.rows), (*other.params, other.rows), strict=True)
        return objective == its and all(np.array_equal(one, two) for one, two in pairs)


def tables(X: CSR | Array | None) -> Iterator[CSRCounts]:
    """The table given, or two small ones: noise, and blocks of counts that are not integers."""
    if X is not None:
        yield CSRCounts(with_nothing(sp.csr_array(X, dtype=np.float64)))
        return
    rng = np.random.default_rng(0)
    yield CSRCounts(with_nothing(sp.csr_array(rng.poisson(0.8, (11, 9)).astype(float))))
    blocks = np.kron(np.array([[6, 1, 2], [1, 5, 1], [3, 1, 7]]), np.ones((3, 3)))
    noisy = 0.37 * rng.poisson(blocks)[:, :8] + 0.05
    yield CSRCounts(with_nothing(sp.csr_array(noisy)))


def with_nothing(X: CSR) -> CSR:
    """The table with a row and a column in the middle without observations, or as it is."""
    if not (X.sum(axis=0).all() or X.sum(axis=1).all()):
        return X
    rows, columns = (np.delete(np.arange(size + 1), size // 2) for size in X.shape)
    coordinates = rows[X.tocoo().coords[0]], columns[X.tocoo().coords[1]]
    return sp.csr_array((X.tocoo().data, coordinates), shape=(X.shape[0] + 1, X.shape[1] + 1))
