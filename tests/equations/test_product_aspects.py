"""The product-space mixture against a literal transcription of its equations, and what follows."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc import AspectModel, Dyads, ProductSpaceMixture
from skcooc.base.attributes import collapsed
from skcooc.counts import CSRCounts
from skcooc.em import EM, State
from skcooc.em.schedules import constant
from skcooc.em.sweep import sweep
from skcooc.equations.aspects import Aspects
from skcooc.equations.aspects import Params as AspectParams
from skcooc.equations.product_aspects import Params, ProductAspects, _merged
from skcooc.model_selection import split_observations
from tests.broken import half_step
from tests.tables import planted, random_table

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

# ---- memo, eqs. (6), (15)-(19) and (65), word for word, with the posteriors of all pairs


def literal_terms(pi, p, q, beta, tempering):
    """prior x (likelihood)^beta of every cell and pair, (N, M, C, D)."""
    likelihood = p[:, None, :, None] * q[None, :, None, :]
    return (pi**beta if tempering == "joint" else pi) * likelihood**beta


def literal_step(n, pi, p, q, beta, tempering):
    terms = literal_terms(pi, p, q, beta, tempering)
    total = terms.sum(axis=(2, 3), keepdims=True)
    nr = n[:, :, None, None] * terms / np.where(total > 0, total, 1)
    joint = nr.sum(axis=(0, 1))
    p = nr.sum(axis=(1, 3)) / joint.sum(axis=1)
    q = nr.sum(axis=(0, 2)) / joint.sum(axis=0)
    return joint / n.sum(), p, q


def literal_free_energy(n, pi, p, q, beta, tempering):
    evidence = literal_terms(pi, p, q, beta, tempering).sum(axis=(2, 3))
    return -(n[n > 0] * np.log(evidence[n > 0])).sum() / beta


def joint_start(n, sizes=(3, 2), seed=0):
    """Random P(c,d), P(x|c), P(y|d), and the same as a state of the model."""
    rng = np.random.default_rng(seed)
    # P(x) is n_i / L after any M-step, so the mixtures of the rows determine p given pi.
    A = rng.dirichlet(np.ones(sizes[0]), len(n))
    p_x = n.sum(axis=1) / n.sum()
    pi = (p_x @ A)[:, None] * rng.dirichlet(np.ones(sizes[1]), sizes[0])
    q = rng.dirichlet(np.ones(n.shape[1]), sizes[1]).T
    return pi, A * p_x[:, None] / (p_x @ A), q, State(Params(q, pi, p_x @ A), [A])


def state_of(n, pi, p, q):
    """The state that belongs to parameters of which P(x) is that of the table."""
    A = p * pi.sum(axis=1)
    A = A / np.where(n.any(axis=1), A.sum(axis=1), 1)[:, None]
    return State(Params(q, pi, pi.sum(axis=1)), [A])


def parameters(n, state):
    """P(c, d), P(x|c), P(y|d) of a state."""
    (q, pi, weights), (A,) = state
    return pi, A * (n.sum(axis=1) / n.sum())[:, None] / weights, q


def blocks(C=2, D=3, n_observations=4000, n_rows=60, n_columns=45, seed=0):
    """Counts drawn from P(c, d), P(x|c), P(y|d), and these."""
    rng = np.random.default_rng(seed)
    pi = 0.95 * np.eye(C, D) + 0.05
    pi[-1, C:], pi[D:, -1] = 1, 1  # whatever is left over goes with the last of the other side
    pi /= pi.sum()
    p = rng.dirichlet(np.full(n_rows, 0.3), C).T
    q = rng.dirichlet(np.full(n_columns, 0.3), D).T
    P = p @ pi @ q.T
    counts = rng.multinomial(n_observations, P.ravel() / P.sum()).reshape(P.shape)
    return sp.csr_array(counts.astype(float)), pi, p, q


def deviation(model, X, beta, n_steps=5):
    """Largest difference between the model and the literal equations."""
    n = X.toarray()
    sizes = model.n_row_components, model.n_column_components
    pi, p, q, (params, rows) = joint_start(n, sizes)
    n_i = n.sum(axis=1)[n.any(axis=1)]
    of_rows, worst = -(n_i * np.log(n_i / n.sum())).sum(), 0.0
    for _ in range(n_steps):
        step = sweep(model, [CSRCounts(X)], params, rows, beta, map)
        energy = literal_free_energy(n, pi, p, q, beta, model.tempering)
        params, rows = model.maximize(step.stats, params, beta), step.rows
        pi, p, q = literal_step(n, pi, p, q, beta, model.tempering)
        seen, mixtures = n.any(axis=1), state_of(n, pi, p, q).rows[0]
        pairs = (params.joint, pi), (params.components, q), (rows[0][seen], mixtures[seen])
        distances = [np.abs(mine - literal).max() for mine, literal in pairs]
        worst = max(worst, abs(step.objective + of_rows - energy) / n.sum(), *distances)
    return worst


EQUAL = 1e-9
both_temperings = pytest.mark.parametrize("tempering", ["joint", "likelihood"])


@both_temperings
@pytest.mark.parametrize("beta", [1.0, 0.7])
@pytest.mark.parametrize("sizes", [(3, 2), (2, 4), (1, 3), (3, 1)])
def test_equals_the_literal_equations(tempering, beta, sizes):
    model = ProductAspects(*sizes, tempering)
    assert deviation(model, random_table(), beta) < EQUAL
    assert deviation(model, random_table(seed=1) * 0.37, beta) < EQUAL


@both_temperings
@pytest.mark.parametrize("beta", [1.0, 0.7])
def test_a_diagonal_joint_is_the_aspect_model(tempering, beta):
    """Pairs of c = d alone stay so: a step is one of the aspect model."""
    X = random_table()
    _, _, q, (_, (A,)) = joint_start(X.toarray(), (3, 3))
    weights = np.asarray(X.sum(axis=1)) / X.sum() @ A
    params, alike = Params(q, np.diag(weights), weights), AspectParams(q, weights)
    model, aspects = ProductAspects(3, 3, tempering), Aspects(3, tempering)
    rows = same = [A]
    for _ in range(3):
        step = sweep(model, [CSRCounts(X)], params, rows, beta, map)
        its = sweep(aspects, [CSRCounts(X)], alike, same, beta, map)
        assert step.objective == pytest.approx(its.objective)
        params, rows = model.maximize(step.stats, params, beta), step.rows
        alike, same = aspects.maximize(its.stats, alike, beta), its.rows
        np.testing.assert_allclose(rows[0], same[0], atol=1e-12)
        np.testing.assert_allclose(params.components, alike.components, atol=1e-12)
        np.testing.assert_allclose(params.joint, np.diag(alike.weights), atol=1e-12)


@both_temperings
def test_components_without_observations_stay_as_they_are(tempering):
    X = random_table()
    _, _, q, (params, rows) = joint_start(X.toarray())
    joint = params.joint * [1, 0]
    state = State(Params(q, joint / joint.sum(), joint.sum(axis=1) / joint.sum()), rows)
    fit = run(ProductAspects(3, 2, tempering), X, state)
    np.testing.assert_array_equal(fit.params.components[:, 1], q[:, 1])
    np.testing.assert_array_equal(fit.params.joint[:, 1], 0)
    np.testing.assert_allclose(fit.params.components[:, 0], shares_of(X))


# ---- twins that are broken on purpose


HalfStep = half_step(ProductAspects)


@dataclass(frozen=True)
class ForgottenPower(ProductAspects):
    """Broken: what stands between the powers of both factors is not adjusted to beta."""

    def _transitions(self, params, beta):
        return params.joint / params.weights[:, None]


@dataclass(frozen=True)
class OtherPairs(ProductAspects):
    """Broken: pairs are independent after every M-step."""

    def maximize(self, stats, params, beta):
        right = super().maximize(stats, params, beta)
        joint = np.outer(right.joint.sum(axis=1), right.joint.sum(axis=0))
        return right._replace(joint=joint)


BROKEN = [HalfStep, ForgottenPower, OtherPairs]


@both_temperings
@pytest.mark.parametrize("broken", BROKEN)
def test_broken_twins_are_not_equal(broken, tempering):
    assert deviation(broken(3, 2, tempering), random_table(), 0.7) > 1e6 * EQUAL


# ---- the objective


def run(model, X, state, beta=0.9, n_iter=20, weights=None):
    counts = CSRCounts(X, weights)
    return EM(constant(beta, n_iter), -np.inf).fit(model, [counts], None, start=state)


@both_temperings
@pytest.mark.parametrize("beta", [1.0, 0.85])
def test_the_free_energy_never_rises(tempering, beta):
    X, *_ = blocks()
    for seed in range(4):
        state = joint_start(X.toarray(), (2, 3), seed)[3]
        history = run(ProductAspects(2, 3, tempering), X, state, beta, 60).history
        objectives = np.array([record.free_energy for record in history])
        assert (np.diff(objectives) < 1e-12 * abs(objectives[0])).all()
        assert objectives[-1] < objectives[0]


def slope_at_convergence(model, beta):
    """Largest slope of the literal free energy along the simplices of pi, p and q.

    By central differences, at the end of EM from a start near a good solution.
    """
    X, pi, p, q = blocks(n_observations=20_000, n_rows=20, n_columns=12)
    n = X.toarray()
    start = literal_step(n, 0.9 * pi + 0.1 / pi.size, p + 0.01, q + 0.01, 1.0, model.tempering)
    fit = run(model, X, state_of(n, *start), beta, 2500)
    found = parameters(n, (fit.params, fit.rows))

    def slopes(which, coordinates):
        for one, other in pairwise(coordinates):
            h = 1e-6
            steps = [np.zeros_like(P) for P in found]
            steps[which][one], steps[which][other] = h, -h
            ends = [[P + sign * s for P, s in zip(found, steps, strict=True)] for sign in (1, -1)]
            up, down = (literal_free_energy(n, *end, beta, model.tempering) for end in ends)
            yield (up - down) / (2 * h)

    def large(P, least=0.02):
        return [tuple(place) for place in np.argwhere(least < P)]

    pi, p, q = found
    values = list(slopes(0, large(pi)))
    values += [
        slope
        for which, P in ((1, p), (2, q))
        for k in range(P.shape[1])
        for slope in slopes(which, [place for place in large(P) if place[1] == k])
    ]
    assert len(values) > 20
    assert np.abs(pi - np.outer(pi.sum(axis=1), pi.sum(axis=0))).max() > 0.05
    return np.abs(values).max() / n.sum()


STATIONARY = 1e-4


@pytest.mark.parametrize(
    ("tempering", "beta"), [("joint", 1.0), ("joint", 0.95), ("likelihood", 0.85)]
)
def test_stationary_at_convergence(tempering, beta):
    assert slope_at_convergence(ProductAspects(2, 3, tempering), beta) < STATIONARY


@pytest.mark.parametrize(
    ("broken", "tempering", "beta"),
    [
        (HalfStep, "joint", 1.0),
        (HalfStep, "likelihood", 0.85),
        (ForgottenPower, "joint", 0.95),
        (ForgottenPower, "likelihood", 0.85),
    ],
)
def test_broken_twins_are_not_stationary(broken, tempering, beta):
    assert slope_at_convergence(broken(2, 3, tempering), beta) > 10 * STATIONARY


# ---- limits


def shares_of(X):
    return np.asarray(X.sum(axis=0)) / X.sum()


@pytest.mark.parametrize("sizes", [(1, 1), (1, 4)])
def test_one_row_component_is_the_unigram(sizes):
    X = planted().X
    model = ProductSpaceMixture(*sizes, random_state=0).fit(X)
    np.testing.assert_allclose(model.components_, shares_of(X)[None])
    np.testing.assert_array_equal(model.embedding_, 1)
    assert model.column_components_.shape == (sizes[1], X.shape[1])


def test_one_column_component_is_the_unigram_and_said_to_be():
    X = planted().X
    with pytest.warns(UserWarning, match="All 4 components are the unigram"):
        model = ProductSpaceMixture(4, 1, random_state=0).fit(X)
    np.testing.assert_allclose(model.components_, np.tile(shares_of(X), (4, 1)))
    np.testing.assert_allclose(model.column_components_, shares_of(X)[None])


@both_temperings
def test_hot_models_collapse_to_the_unigram_and_say_so(tempering):
    X = planted().X
    model = ProductSpaceMixture(3, 4, beta=0.05, tempering=tempering, random_state=0)
    with pytest.warns(UserWarning, match="All 3 components are the unigram.*larger beta"):
        model.fit(X)
    np.testing.assert_allclose(model.components_, np.tile(shares_of(X), (3, 1)), atol=1e-3)


# ---- starts


@pytest.mark.parametrize(("tempering", "concentration"), [("joint", 0.1), ("likelihood", 1.0)])
@pytest.mark.parametrize("sizes", [(6, 6), (5, 6), (6, 4)])
def test_starts_do_not_collapse_where_random_ones_do(tempering, concentration, sizes):
    X = sp.csr_array(planted(6, 6000, concentration=concentration).X.astype(float))
    model = ProductAspects(*sizes, tempering)
    good = State(*model.start([CSRCounts(X)], np.random.default_rng(0)))
    assert not ends_collapsed(model, X, good)
    assert ends_collapsed(model, X, joint_start(X.toarray(), sizes)[3])


def ends_collapsed(model, X, state):
    fit = run(model, X, state, beta=0.85, n_iter=300)
    components = model.factors(fit.params, fit.rows[0])[1].T
    return collapsed(components, fit.params.weights, X.shape[0])


@pytest.mark.parametrize("sizes", [(5, 2), (2, 5), (4, 4), (1, 3)])
def test_starts_are_distributions(sizes):
    X = random_table()
    params, (A,) = ProductAspects(*sizes).start([CSRCounts(X)], np.random.default_rng(0))
    assert params.joint.shape == sizes
    assert (params.joint > 0).all()
    assert params.joint.sum() == pytest.approx(1)
    np.testing.assert_allclose(params.weights, params.joint.sum(axis=1))
    np.testing.assert_allclose(params.components.sum(axis=0), 1)
    np.testing.assert_allclose(A.sum(axis=1), 1)


def test_starts_merge_the_aspects_that_are_alike():
    one, other = np.random.default_rng(0).dirichlet(np.ones(9), 2)
    groups = _merged(np.stack([one, 0.9 * one + 0.1 * other, other], axis=1), 2)
    np.testing.assert_array_equal(groups.sum(axis=1), 1)
    np.testing.assert_array_equal(groups[0], groups[1])
    assert (groups[0] != groups[2]).any()


# ---- recovery


@pytest.mark.parametrize("options", [{}, {"beta": 0.95, "tempering": "joint"}], ids=repr)
@pytest.mark.parametrize("sizes", [(3, 3), (2, 3), (3, 2), (4, 2)])
def test_recovers_a_planted_product_space(sizes, options):
    """The larger side has components that the table cannot tell apart, but predicts as well."""
    X, pi, p, q = blocks(*sizes, 30_000)
    model = ProductSpaceMixture(*sizes, random_state=0, **options).fit(X)
    given_c = pi @ q.T / pi.sum(axis=1, keepdims=True)
    given_x = p * pi.sum(axis=1) / (p @ pi.sum(axis=1))[:, None]
    distances = np.abs(model.embedding_ @ model.components_ - given_x @ given_c).sum(axis=1) / 2
    assert np.median(distances) < 0.06
    if sizes[0] <= sizes[1]:
        order = matched(model.components_, given_c)
        errors = np.abs(model.embedding_[:, order] - given_x).sum(axis=1)
        assert np.median(errors) < 0.15
    if sizes[1] <= sizes[0]:
        matched(model.column_components_, q.T)
    if sizes[0] == sizes[1]:
        columns = matched(model.column_components_, q.T)
        np.testing.assert_allclose(model.joint_[np.ix_(order, columns)], pi, atol=0.05)


def matched(found, planted):
    """Which component found is which one planted."""
    overlap = np.sqrt(planted) @ np.sqrt(found).T  # Bhattacharyya
    assert (overlap.max(axis=1) > 0.97).all()
    assert sorted(overlap.argmax(axis=1)) == list(range(len(planted)))
    return overlap.argmax(axis=1)


def test_predicts_as_well_as_an_aspect_model_with_as_many_components():
    train, test = split_observations(blocks(3, 3)[0], random_state=0)
    aspects, pairs, independent = (
        model.fit(train).perplexity(Dyads(test))
        for model in (
            AspectModel(3, random_state=0),
            ProductSpaceMixture(3, 3, random_state=0),
            AspectModel(1, random_state=0),
        )
    )
    assert pairs < 1.02 * aspects
    assert pairs < 0.9 * independent


# ---- invariances


@pytest.fixture
def state():
    X, *_ = blocks(n_rows=30, n_columns=20)
    return X, joint_start(X.toarray(), (2, 3))[3]


def assert_same_run(one, two, rows=slice(None), columns=slice(None)):
    """The runs agree, the second one's objects taken in the given order."""
    close = {"rtol": 1e-9, "atol": 1e-12}
    np.testing.assert_allclose(one.rows[0][rows], two.rows[0], **close)
    np.testing.assert_allclose(one.params.components[columns], two.params.components, **close)
    np.testing.assert_allclose(one.params.joint, two.params.joint, **close)


@both_temperings
def test_transposing_interchanges_the_sides(state, tempering):
    X, _ = state
    n = X.toarray()
    # A state keeps P(x) = n_i / L; after a step P(y) = m_j / L holds as well.
    pi, p, q = literal_step(n, *joint_start(n, (2, 3))[:3], 1.0, tempering)
    there = run(ProductAspects(2, 3, tempering), X, state_of(n, pi, p, q), 0.9)
    transposed = sp.csr_array(X.T)
    back = run(ProductAspects(3, 2, tempering), transposed, state_of(n.T, pi.T, q, p), 0.9)
    pi, p, q = parameters(n, (there.params, there.rows))
    its_pi, its_q, its_p = parameters(n.T, (back.params, back.rows))
    for mine, its in ((pi, its_pi.T), (p, its_p), (q, its_q)):
        np.testing.assert_allclose(mine, its, rtol=1e-9, atol=1e-12)


@both_temperings
def test_permuting_rows_and_columns_permutes_the_result(state, tempering):
    X, (params, (A,)) = state
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(X.shape[0]), rng.permutation(X.shape[1])
    model = ProductAspects(2, 3, tempering)
    moved = State(params._replace(components=params.components[columns]), [A[rows]])
    permuted = run(model, X[rows][:, columns], moved)
    assert_same_run(run(model, X, State(params, [A])), permuted, rows, columns)


@both_temperings
def test_weights_of_rows_are_repetitions(state, tempering):
    X, (params, (A,)) = state
    weights = np.arange(X.shape[0]) % 3
    times = np.repeat(np.arange(X.shape[0]), weights)
    model = ProductAspects(2, 3, tempering)
    weighted = run(model, X, State(params, [A]), weights=weights.astype(float))
    repeated = run(model, X[times], State(params, [A[times]]))
    assert_same_run(weighted, repeated, times)
    assert weighted.objective == pytest.approx(repeated.objective)


def test_weights_of_rows_need_not_be_integers(state):
    X, (params, (A,)) = state
    weights, model = np.random.default_rng(0).uniform(0.1, 3, X.shape[0]), ProductAspects(2, 3)
    whole = run(model, X, State(params, [A]), weights=weights)
    twice = sp.csr_array(sp.vstack([X, X]))
    parts = np.concatenate([0.3 * weights, 0.7 * weights])
    halves = run(model, twice, State(params, [np.concatenate([A, A])]), weights=parts)
    assert_same_run(whole, halves._replace(rows=[halves.rows[0][: len(A)]]))


@both_temperings
def test_sample_weight_is_repetition(tempering):
    X, *_ = blocks()
    weights = np.arange(X.shape[0]) % 3
    times = np.repeat(np.arange(X.shape[0]), weights)
    model = ProductSpaceMixture(2, 3, beta=0.95, tempering=tempering, random_state=0)
    weighted = model.fit(X, sample_weight=weights)
    joint, embedding = weighted.joint_, weighted.embedding_[times]
    repeated = model.fit(X[times])
    np.testing.assert_allclose(joint, repeated.joint_, rtol=1e-6)
    np.testing.assert_allclose(embedding, repeated.embedding_, rtol=1e-6, atol=1e-9)


@both_temperings
def test_blocks_of_rows_add_up(state, tempering):
    X, (params, (A,)) = state
    model, em = ProductAspects(2, 3, tempering), EM(constant(0.9, 20), -np.inf)
    parts = [CSRCounts(X[:7]), CSRCounts(X[7:])]
    apart = em.fit(model, parts, None, start=State(params, [A[:7], A[7:]]))
    whole = run(model, X, State(params, [A]))
    assert_same_run(whole, apart._replace(rows=[np.concatenate(apart.rows)]))
    assert apart.objective == pytest.approx(whole.objective)


def test_scaling_all_weights_changes_nothing():
    X, *_ = blocks()
    one = ProductSpaceMixture(2, 3, random_state=0).fit(X)
    two = ProductSpaceMixture(2, 3, random_state=0).fit(X, sample_weight=np.full(X.shape[0], 8.0))
    np.testing.assert_allclose(one.components_, two.components_, rtol=1e-9)
    np.testing.assert_allclose(one.joint_, two.joint_, rtol=1e-9)
    np.testing.assert_allclose(one.objective_ * 8, two.objective_)


def test_millions_of_observations_in_single_precision():
    X, *_ = blocks()
    few = ProductSpaceMixture(2, 3, beta=0.95, random_state=0).fit(X)
    many = ProductSpaceMixture(2, 3, beta=0.95, random_state=0)
    many.fit((X * 1_000_003).astype(np.float32))
    assert many.components_.dtype == np.float32
    np.testing.assert_allclose(many.components_, few.components_, atol=1e-3)


# ---- the estimator


def test_components_are_those_of_the_columns_mixed():
    X, *_ = blocks()
    model = ProductSpaceMixture(2, 3, random_state=0).fit(X)
    given_c = model.joint_ / model.joint_.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.components_, given_c @ model.column_components_)
    np.testing.assert_allclose(model.column_components_.sum(axis=1), 1)
    np.testing.assert_allclose(model.weights_, model.joint_.sum(axis=1))
    # sum_cd P(x|c) P(c,d) P(y|d) has the margins of the table
    predicted = model.row_distribution_ @ model.embedding_ @ model.components_
    np.testing.assert_allclose(predicted, shares_of(X), atol=1e-4)


@both_temperings
@pytest.mark.parametrize("sizes", [(4, 2), (2, 4)])
def test_where_all_aspects_are_alike_some_are_empty_but_nothing_breaks(tempering, sizes):
    X = np.outer([1, 2, 3, 4, 5], [5, 1, 3, 2])
    model = ProductSpaceMixture(*sizes, beta=0.8, tempering=tempering, random_state=0)
    with pytest.warns(UserWarning, match="components are the unigram"):
        model.fit(X)
    expected = np.tile(X[0] / X[0].sum(), (sizes[0], 1))
    np.testing.assert_allclose(model.components_, expected, atol=0.01)
    np.testing.assert_allclose(model.embedding_.sum(axis=1), 1)
    assert model.joint_.sum() == pytest.approx(1)
