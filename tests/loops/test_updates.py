"""Steps of EM whose element-wise parts are compiled, beside the same steps in plain NumPy."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc.counts import CSRCounts, csr
from skcooc.em import EMStage, State, make_solver
from skcooc.em.solvers import FLOOR, MOMENTUM_FLOOR
from skcooc.equations.aspects import LEAST_EXCESS, RANDOM_EXCESS, Aspects, Params
from skcooc.loops.updates import excess_counts, longer_step

N_STEPS = 6


def table(n_rows=40, n_columns=27, seed=0):
    """Counts with an empty row and an empty column."""
    X = np.random.default_rng(seed).poisson(0.6, (n_rows, n_columns)).astype(float)
    X[3] = 0
    X[:, 5] = 0
    return X


def start(model, X, seed=1):
    rng = np.random.default_rng(seed)
    K = model.n_components
    components = rng.dirichlet(np.ones(X.shape[1]), K).T
    weights = rng.dirichlet(np.full(K, 5.0))
    rows = rng.dirichlet(np.ones(K), len(X))
    return State(Params(components, weights, weights), rows)


def dense_sweep(model, X, weights, state, beta):
    (components, shares, prior), rows = state
    A = rows**beta
    B = components**beta
    if model.tempering != "joint":
        B = B * prior ** (1 - beta)
    cells = A @ B.T
    expected = (X / np.where(X > 0, cells, 1))[:, :, None] * A[:, None] * B
    of_rows = expected.sum(axis=1)
    totals = of_rows.sum(axis=1, keepdims=True)
    mixtures = np.where(totals > 0, of_rows / np.where(totals > 0, totals, 1), shares)
    energy = -np.sum(weights[:, None] * X * np.log(np.where(X > 0, cells, 1))) / beta
    with np.errstate(divide="ignore"):
        logs = model.component_prior * np.log(components) if model.component_prior else 0.0
    return mixtures, np.einsum("i,ijk->jk", weights, expected), energy - np.sum(logs)


def dense_maximum(model, expected, rows):
    mass = expected.sum(axis=0)
    pseudo = expected + model.component_prior
    shares = prior = mass / mass.sum()
    if model.tempering == "distinctive":
        m = expected.sum(axis=1)
        above = np.maximum(expected - np.outer(m, shares), 0).sum(axis=0)
        above /= np.maximum(1 - shares, np.finfo(float).eps)
        if above.sum() > LEAST_EXCESS * m.sum():
            random = RANDOM_EXCESS * np.sqrt(m).sum() * np.sqrt(shares).sum()
            prior = above + random / len(shares)
            prior = prior / prior.sum()
    return State(Params(pseudo / pseudo.sum(axis=0), shares, prior), rows)


def beyond(old, new, eta, floor):
    return np.maximum(old + eta * (new - old), floor * new)


def dense_steps(model, X, weights, state, beta, solver):
    """The states of plain EM, of over-relaxed EM and of momentum, while the objective falls."""
    states = []
    previous = None
    for age in range(N_STEPS):
        rows, expected, _ = dense_sweep(model, X, weights, state, beta)
        has_momentum = solver == "momentum"
        eta = 1 + age / (age + 3) if has_momentum else solver
        floor = MOMENTUM_FLOOR if has_momentum else FLOOR
        longer = rows, expected
        if previous is not None and eta != 1:
            longer = tuple(beyond(*pair, eta, floor) for pair in zip(previous, longer, strict=True))
            longer = longer[0] / longer[0].sum(axis=1, keepdims=True), longer[1]
        previous = (rows, expected) if has_momentum else longer
        state = dense_maximum(model, longer[1], longer[0])
        states.append(state)
    return states


def steps(model, counts, state, beta, solver):
    algorithm = make_solver(solver)
    algorithm.rollback = lambda step: None
    stage = EMStage(model, counts, beta, N_STEPS, -np.inf)
    states = []
    for _ in range(N_STEPS):
        state, _ = algorithm.step(stage, state)
        states.append(state)
    return states


def in_type(state, dtype):
    return State(Params(*(array.astype(dtype) for array in state.params)), state.rows.astype(dtype))


CASES = [
    (Aspects(3), 0.8, False),
    (Aspects(8, "likelihood"), 0.7, True),
    (Aspects(5, "distinctive", component_prior=0.02), 0.8, True),
    (Aspects(20, "distinctive"), 0.75, False),
    (Aspects(16, "distinctive", component_prior=0.1), 1.0, True),
    (Aspects(1, "distinctive"), 0.9, False),
]


@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("solver", [1.0, 1.7, "momentum"])
@pytest.mark.parametrize(("model", "beta", "weighted"), CASES, ids=repr)
def test_steps_are_those_of_dense_arrays(model, beta, weighted, solver, dtype, tol):
    X = table()
    weights = np.linspace(0.5, 3, len(X)) if weighted else np.ones(len(X))
    counts = CSRCounts(sp.csr_array(X.astype(dtype)), weights if weighted else None)
    state = start(model, X)
    dense = dense_steps(model, X, weights, state, beta, solver)
    compiled = steps(model, counts, in_type(state, dtype), beta, solver)
    for expected, result in zip(dense, compiled, strict=True):
        arrays = zip((*expected.params, expected.rows), (*result.params, result.rows), strict=True)
        for dense_array, array in arrays:
            assert array.dtype == dtype
            np.testing.assert_allclose(array, dense_array, rtol=tol, atol=tol / 10)


@pytest.mark.parametrize("K", [1, 7, 16])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_number_of_threads_gives_the_same_bits(monkeypatch, dtype, K):
    monkeypatch.setattr(csr, "WORTH_A_THREAD", 1)
    model = Aspects(K, "distinctive", component_prior=0.1)
    X = table(101, 53)
    state = in_type(start(model, X), dtype)
    counts = CSRCounts(sp.csr_array(X.astype(dtype)))
    one = steps(model, counts, state, 0.8, "momentum")[-1]
    for n_threads in (2, 3):
        with ThreadPoolExecutor(n_threads) as pool:
            shared = counts.with_threads(n_threads, pool.map)
            many = steps(model, shared, state, 0.8, "momentum")[-1]
        np.testing.assert_array_equal(many.rows, one.rows)
        for array, of_one in zip(many.params, one.params, strict=True):
            np.testing.assert_array_equal(array, of_one)


def test_rows_of_zeros_stay_zeros_and_sums_stay():
    old = np.array([[0.0, 0.0], [1.0, 3.0], [0.2, 0.8]])
    new = np.array([[0.0, 0.0], [3.0, 2.0], [0.9, 0.1]])
    out = np.empty_like(new)
    longer_step(old, new, out, eta=1.5, floor=0.5, keep_sums=True)
    np.testing.assert_allclose(out.sum(axis=1), new.sum(axis=1))
    np.testing.assert_allclose(out[1], np.array([4.0, 1.5]) * 5 / 5.5)
    np.testing.assert_allclose(out[2], np.array([1.25, 0.05]) / 1.3)


def test_excesses_of_arrays_in_any_order():
    rng = np.random.default_rng(0)
    expected = rng.gamma(0.3, size=(30, 4))
    weights = rng.dirichlet(np.ones(4))
    for array in (expected, np.asfortranarray(expected), np.repeat(expected, 2, 1)[:, ::2]):
        m, excesses = excess_counts(array, weights)
        np.testing.assert_allclose(m, expected.sum(axis=1))
        above = expected - expected.sum(axis=1, keepdims=True) * weights
        np.testing.assert_allclose(excesses, np.maximum(above, 0).sum(axis=0))


FAULTS = """
import resource
import numpy as np
from skcooc.counts.passes import threads

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        arrays = [np.ones(2**16) for _ in range(8)]
        del arrays
    return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 20

faults()
before = faults()
with threads(1):
    faults()
    print(before, faults())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limits are those of glibc")
def test_memory_that_a_step_frees_is_there_for_the_next():
    command = [sys.executable, "-c", FAULTS]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    before, inside = map(float, output.split())
    assert before > 100  # pages that each round asks for again
    assert inside < 10
