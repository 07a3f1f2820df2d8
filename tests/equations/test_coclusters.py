"""Symmetric clustering against a literal transcription of its equations, and what follows."""

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import mutual_info_score

from skcooc import SymmetricClustering
from skcooc.counts import CSRCounts
from skcooc.em import EM, State
from skcooc.em.schedules import constant
from skcooc.em.sweep import sweep
from skcooc.equations.class_bigrams import ClassBigrams
from skcooc.equations.coclusters import (
    CoClusters,
    Params,
    Statistics,
    log_association,
    mutual_information,
)
from skcooc.equations.memberships import column_posteriors, posteriors
from skcooc.metrics import coclustering_adjusted_rand
from skcooc.metrics import mutual_information as information_of_table
from tests.tables import planted, random_table

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

# ---- memo, eqs. (34)-(49), word for word


def literal_joint(n, I, J):
    """pi_cd: memo, eq. (43)."""
    pi = np.zeros((I.shape[1], J.shape[1]))
    for i, j in np.argwhere(n):
        for c, d in product(*map(range, pi.shape)):
            pi[c, d] += n[i, j] / n.sum() * I[i, c] * J[j, d]
    return pi


def literal_association(pi):
    """c_cd: memo, eq. (42)."""
    return np.array(
        [
            [pi[c, d] / (pi[c].sum() * pi[:, d].sum()) for d in range(pi.shape[1])]
            for c in range(pi.shape[0])
        ]
    )


def literal_posterior(n, J, association, rho, beta, hard):
    """I_ic: memo, eqs. (44) and (49), with a plus; an object that was never seen gets rho."""
    I = np.zeros((len(n), len(rho)))
    for i in range(len(n)):
        h = [
            sum(
                n[i, j] * J[j, d] * np.log(association[c, d])
                for j, d in product(np.flatnonzero(n[i]), range(J.shape[1]))
            )
            for c in range(len(rho))
        ]
        exponents = np.log(rho) + beta * np.array(h)
        if not n[i].any():
            I[i] = rho
        elif hard:
            I[i, exponents.argmax()] = 1
        else:
            I[i] = np.exp(exponents - exponents.max())
            I[i] /= I[i].sum()
    return I


def literal_free_energy(n, I, J, association, rho, sigma, beta):
    """Memo, eq. (64), for factorial posteriors: expected cost + T (relative entropy)."""
    cost = -sum(
        n[i, j] * I[i, c] * J[j, d] * np.log(association[c, d])
        for i, j in np.argwhere(n)
        for c, d in product(range(len(rho)), range(len(sigma)))
    )
    return cost + (relative_entropy(I, rho) + relative_entropy(J, sigma)) / beta


def relative_entropy(P, prior):
    terms = P * np.log(np.where(P > 0, P, 1) / prior)
    return terms[P > 0].sum()


def start(X, C=3, D=2, seed=0, hard=False):
    """Random posteriors of both sides, and the association that follows from them."""
    rng = np.random.default_rng(seed)
    I, J = (rng.dirichlet(np.ones(k), size) for k, size in zip((C, D), X.shape, strict=True))
    if hard:
        I, J = (np.eye(P.shape[1])[P.argmax(axis=1)] for P in (I, J))
    return state_of(X, I, J)


def state_of(X, I, J):
    n = X.toarray()
    uniform = [np.full(P.shape[1], 1 / P.shape[1]) for P in (I, J)]
    return State(Params(J, n.sum(axis=0) / n.sum(), literal_joint(n, I, J), *uniform), [I])


def deviation(model, X, beta, state=None, n_steps=4):
    """Largest difference between the model and the literal equations, in the order I, c, J, c."""
    n, (params, (I,)) = X.toarray(), state or start(X, hard=model.hard)
    J, _, pi, rho, sigma = params
    if model.hard:  # no prior probabilities
        rho, sigma = np.ones_like(rho), np.ones_like(sigma)
    rows, worst = [I], 0.0
    for _ in range(n_steps):
        step = sweep(model, [CSRCounts(X)], params, rows, beta, map)
        params, rows = model.maximize(step.stats, params, beta), step.rows
        association = literal_association(pi)
        I = literal_posterior(n, J, association, rho, beta, model.hard)
        energy = literal_free_energy(n, I, J, association, rho, sigma, beta)
        association = literal_association(literal_joint(n, I, J))
        J = literal_posterior(n.T, I, association.T, sigma, beta, model.hard)
        pi = literal_joint(n, I, J)
        if model.proportions == "estimated":
            rho, sigma = I.mean(axis=0), J.mean(axis=0)
        priors = rho / rho.sum(), sigma / sigma.sum()
        expected = Params(J, n.sum(axis=0) / n.sum(), pi, *priors)
        distances = map(distance, zip((*params, rows[0]), (*expected, I), strict=True))
        worst = max(worst, abs(step.objective - energy) / n.sum(), *distances)
    return worst


def distance(pair):
    return np.abs(pair[0] - pair[1]).max()


def whole_table(seed=0):
    """A table without empty rows and columns, of counts that are not integers."""
    return sp.csr_array(random_table(seed=seed).toarray() * 0.37 + 0.05)


EQUAL = 1e-9


@pytest.mark.parametrize("proportions", ["uniform", "estimated"])
@pytest.mark.parametrize("beta", [1.0, 0.4, 0.05])
def test_equals_the_literal_equations(proportions, beta):
    model = CoClusters(3, 2, proportions=proportions)
    assert deviation(model, random_table(), beta) < EQUAL
    assert deviation(model, whole_table(), beta) < EQUAL


def test_hard_equals_the_literal_equations():
    X = sp.csr_array(blurred()[0].toarray() + 0.05)  # no pair of clusters is without observations
    params, (I,) = nearly_right(hard=True)[1]
    state = state_of(X, I, params.memberships)
    assert deviation(CoClusters(3, 3, True), X, 1.0, state) < EQUAL


def test_hard_leaves_unseen_objects_undecided():
    X = random_table()
    state = start(X, hard=True)
    fit = EM(constant(1.0, 5), 0.0).fit(CoClusters(3, 2, True), [CSRCounts(X)], None, start=state)
    np.testing.assert_allclose(fit.rows[0][3], 1 / 3)
    np.testing.assert_allclose(fit.params.memberships[4], 1 / 2)


# ---- twins that are broken on purpose


@dataclass(frozen=True)
class MinusSign(CoClusters):
    """Broken: the sign of the exponent is the one that the scan of eq. (49) shows."""

    def expect(self, X, params, rows, beta):
        scores = X.dot(params.memberships) @ -log_association(params.joint).T
        factors = np.full((X.shape[0], 1), beta)
        I, evidence = posteriors(X, scores, factors, params.weights, self.hard)
        nothing = np.zeros(params.joint.shape[1])
        return I, Statistics(X.tdot(I), I.sum(axis=0), nothing, -evidence.sum() / beta)


@dataclass(frozen=True)
class LateAssociation(CoClusters):
    """Broken: the association is not renewed between the rows and the columns."""

    def maximize(self, stats, params, beta):
        scores = beta * stats.profiles @ log_association(params.joint)
        J = column_posteriors(scores, params.column_weights, self.hard)
        joint = stats.profiles.T @ J
        right = super().maximize(stats, params, beta)
        return right._replace(memberships=J, joint=joint / joint.sum())


@dataclass(frozen=True)
class ForgottenBeta(CoClusters):
    """Broken: the posteriors of the rows forget the temperature."""

    def expect(self, X, params, rows, beta):
        return super().expect(X, params, rows, 1.0)


@dataclass(frozen=True)
class FirstAssociation(CoClusters):
    """Broken: the association stays what it was at the start."""

    def maximize(self, stats, params, beta):
        return super().maximize(stats, params, beta)._replace(joint=params.joint)


@pytest.mark.parametrize("broken", [MinusSign, LateAssociation, ForgottenBeta, FirstAssociation])
def test_broken_twins_are_not_equal(broken):
    assert deviation(broken(3, 2), random_table(), 0.4) > 1e6 * EQUAL


# ---- the objective


def objectives(model, X, beta, state, n_iter=25):
    fit = EM(constant(beta, n_iter), -np.inf).fit(model, [CSRCounts(X)], None, start=state)
    return np.array([record.free_energy for record in fit.history])


def largest_rise(model, beta=1.0, sizes=(3, 3)):
    """Over some starts, relative to the size of the objective."""
    X = planted(3, 1500, n_rows=25, n_columns=20, kind="coclusters").X.astype(float)
    rises = []
    for seed in range(6):
        path = objectives(model, X, beta, start(X, *sizes, seed=seed, hard=model.hard))
        rises.append(np.diff(path).max() / np.abs(path).max())
    return max(rises)


@pytest.mark.parametrize("proportions", ["uniform", "estimated"])
@pytest.mark.parametrize(("hard", "beta"), [(False, 1.0), (False, 0.2), (True, 1.0)])
def test_the_objective_never_rises(hard, proportions, beta):
    assert largest_rise(CoClusters(3, 3, hard, proportions), beta) < 1e-12


def test_the_objective_never_rises_where_clusters_run_empty():
    assert largest_rise(CoClusters(9, 8, hard=True), sizes=(9, 8)) < 1e-12


@pytest.mark.parametrize("broken", [MinusSign, FirstAssociation])
def test_the_objective_of_broken_twins_rises(broken):
    assert largest_rise(broken(3, 3), 0.2) > 1e-3


def slope_at_convergence(model, beta):
    """Largest slope of the free energy along the simplices of I and J, by central differences.

    The free energy is the literal one, with the association that I and J determine.
    """
    X, *labels = blurred()
    state = state_of(X, *(np.eye(3)[side] * 0.7 + 0.1 for side in labels))
    fit = EM(constant(beta, 200), -np.inf).fit(model, [CSRCounts(X)], None, start=state)
    n, I, J = X.toarray(), fit.rows[0], fit.params.memberships
    uniform = np.full(3, 1 / 3)

    def objective(I, J):
        pi = I.T @ n @ J / n.sum()
        c = pi / np.outer(pi.sum(axis=1), pi.sum(axis=0))
        cost = -n.sum() * (pi * np.log(c)).sum()
        return cost + (relative_entropy(I, uniform) + relative_entropy(J, uniform)) / beta

    slopes = []
    for P, at in ((I, lambda P: objective(P, J)), (J, lambda P: objective(I, P))):
        for i, (c, d) in product(range(len(P)), combinations(range(3), 2)):
            if min(P[i, c], P[i, d]) > 1e-3:
                step, h = np.zeros_like(P), 1e-4 * min(P[i, c], P[i, d])
                step[i, c], step[i, d] = h, -h
                slopes.append((at(P + step) - at(P - step)) / (2 * h))
    assert len(slopes) > 5
    return np.abs(slopes).max() / n.sum()


def blurred():
    """Co-clusters that are hard to tell apart, so that posteriors stay soft; and their labels."""
    truth = planted(
        3, 300, n_rows=20, n_columns=15, kind="coclusters", concentration=0.3, dtype=float
    )
    return sp.csr_array(truth.X), truth.labels, truth.column_labels


STATIONARY = 1e-6


@pytest.mark.parametrize("beta", [0.5, 0.3])
def test_stationary_at_convergence(beta):
    assert slope_at_convergence(CoClusters(3, 3), beta) < STATIONARY


@pytest.mark.parametrize("broken", [MinusSign, ForgottenBeta, FirstAssociation])
def test_broken_twins_are_not_stationary(broken):
    assert slope_at_convergence(broken(3, 3), 0.3) > 100 * STATIONARY


def assert_same_run(one, two, rows=None, columns=None, rtol=1e-9):
    """The runs agree, the second one's objects taken in the given order."""
    rows = slice(None) if rows is None else rows
    columns = slice(None) if columns is None else columns
    np.testing.assert_allclose(one.rows[0][rows], two.rows[0], rtol, 1e-12)
    np.testing.assert_allclose(one.params.memberships[columns], two.params.memberships, rtol, 1e-12)
    np.testing.assert_allclose(one.params.joint, two.params.joint, rtol, 1e-12)


def run(model, X, state, beta=0.3, n_iter=6, weights=None):
    counts = CSRCounts(X, weights)
    return EM(constant(beta, n_iter), -np.inf).fit(model, [counts], None, start=state)


def nearly_right(hard):
    """Blurred co-clusters, and a start with some objects in wrong clusters."""
    X, labels, column_labels = blurred()
    labels[:5], column_labels[:5] = 0, 1
    sides = np.eye(3)[labels], np.eye(3)[column_labels]
    return X, state_of(X, *(side if hard else side * 0.7 + 0.1 for side in sides))


# ---- limits


def test_one_cluster_of_each_is_the_unigram():
    X = planted().X
    model = SymmetricClustering(1, 1, random_state=0).fit(X)
    np.testing.assert_allclose(model.components_, np.asarray(X.sum(axis=0))[None] / X.sum())
    np.testing.assert_array_equal(model.embedding_, 1)
    np.testing.assert_allclose(model.association_, [[1]])
    assert model.mutual_information_ == pytest.approx(0)


def test_hot_models_collapse_to_the_unigram_and_say_so():
    X = planted(kind="coclusters").X
    with pytest.warns(UserWarning, match="All 3 components are the unigram.*larger beta"):
        model = SymmetricClustering(3, 4, beta=1e-3, random_state=0).fit(X)
    shares = np.asarray(X.sum(axis=0)) / X.sum()
    np.testing.assert_allclose(model.components_, np.tile(shares, (3, 1)), rtol=1e-2)
    np.testing.assert_allclose(model.association_, 1, rtol=1e-2)


def difference_to_hard(factor):
    X, state = nearly_right(hard=True)
    hard = run(CoClusters(3, 3, hard=True), X, state, beta=1.0)
    soft = run(CoClusters(3, 3), X * factor, state, beta=1.0)
    J = hard.params.memberships, soft.params.memberships
    return max(distance((hard.rows[0], soft.rows[0])), distance(J))


def test_hard_is_the_limit_of_soft():
    assert difference_to_hard(1e5) < 1e-9
    assert difference_to_hard(1) > 1e-3


# ---- mutual information


def test_the_hard_objective_is_the_mutual_information():
    X, state = nearly_right(hard=True)
    fit = run(CoClusters(3, 3, hard=True), X, state, beta=1.0, n_iter=20)
    assert fit.objective == pytest.approx(-X.sum() * mutual_information(fit.params.joint))


def test_hard_steps_raise_the_mutual_information():
    X, state = nearly_right(hard=True)
    path = [mutual_information(state.params.joint)]
    em, model = EM(constant(1.0, 20), -np.inf), CoClusters(3, 3, hard=True)

    def observe(record, params, rows, run):
        path.append(mutual_information(params.joint))
        return False

    em.fit(model, [CSRCounts(X)], None, observe, start=state)
    assert (np.diff(path) >= -1e-12).all()
    assert path[-1] > 1.1 * path[0]


def test_mutual_information_is_that_of_the_labels_of_all_observations():
    X = planted(kind="coclusters", seed=2).X
    model = SymmetricClustering(4, 3, hard=True, random_state=0).fit(X)
    i, j = (np.repeat(side, X.tocoo().data) for side in X.tocoo().coords)
    by_labels = mutual_info_score(model.row_labels_[i], model.column_labels_[j])
    assert model.mutual_information_ == pytest.approx(by_labels)
    assert 0.5 * information_of_table(X) < by_labels < information_of_table(X)


# ---- recovery


@pytest.mark.parametrize("options", [{"hard": True}, {"beta": 0.3}, {}], ids=repr)
def test_recovers_planted_co_clusters(options):
    truth = planted(3, 20_000, 4, n_rows=60, n_columns=50, kind="coclusters", n_column_clusters=4)
    model = SymmetricClustering(3, 4, random_state=0, **options).fit(truth.X)
    labels = truth.labels, truth.column_labels, model.row_labels_, model.column_labels_
    assert coclustering_adjusted_rand(*labels) > 0.95
    of_rows, of_columns = (np.abs(a[:, None] - b).sum(axis=2) for a, b in profiles(truth, model))
    assert (of_rows.min(axis=1) < 0.05).all()
    assert (of_columns.min(axis=1) < 0.05).all()


def profiles(truth, model):
    """P(y given row cluster), and P(row cluster given column cluster) without its order."""
    yield truth.components, model.components_
    joint = np.eye(3)[truth.labels].T @ truth.X @ np.eye(4)[truth.column_labels]
    yield tuple(np.sort(table / table.sum(axis=0), axis=0).T for table in (joint, model.joint_))


# ---- invariances


def swapped(X, state):
    """The state of the transposed table."""
    (J, _, joint, weights, column_weights), (I,) = state
    shares = X.toarray().sum(axis=1) / X.sum()
    return State(Params(I, shares, joint.T, column_weights, weights), [J])


def unrest_of_the_transpose(model):
    """How far one step goes from a fixed point with the sides interchanged."""
    X, state = nearly_right(model.hard)
    there = run(model, X, state, 0.5, n_iter=300)
    transposed = sp.csr_array(X.T)
    back = run(model, transposed, swapped(X, State(there.params, there.rows)), 0.5, n_iter=1)
    pairs = (back.rows[0], there.params.memberships), (back.params.memberships, there.rows[0])
    return max(map(distance, pairs)), back.params.joint.T - there.params.joint


@pytest.mark.parametrize("proportions", ["uniform", "estimated"])
@pytest.mark.parametrize("hard", [False, True])
def test_fixed_points_do_not_depend_on_which_side_is_called_rows(hard, proportions):
    unrest, joint = unrest_of_the_transpose(CoClusters(3, 3, hard, proportions))
    assert unrest < 1e-6
    assert np.abs(joint).max() < 1e-6


def test_those_of_a_broken_twin_do():
    assert unrest_of_the_transpose(ForgottenBeta(3, 3))[0] > 0.01


@pytest.mark.parametrize("hard", [False, True])
def test_permuting_rows_and_columns_permutes_the_result(hard):
    X, state = nearly_right(hard)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(X.shape[0]), rng.permutation(X.shape[1])
    params = state.params._replace(
        memberships=state.params.memberships[columns], shares=state.params.shares[columns]
    )
    model, moved = CoClusters(3, 3, hard), State(params, [state.rows[0][rows]])
    permuted = run(model, X[rows][:, columns], moved)
    assert_same_run(run(model, X, state), permuted, rows, columns)


@pytest.mark.parametrize("proportions", ["uniform", "estimated"])
@pytest.mark.parametrize("hard", [False, True])
def test_weights_of_rows_are_repetitions(hard, proportions):
    X, state = nearly_right(hard)
    weights = np.arange(X.shape[0]) % 3
    times = np.repeat(np.arange(X.shape[0]), weights)
    model = CoClusters(3, 3, hard, proportions)
    weighted = run(model, X, state, weights=weights.astype(float))
    repeated = run(model, X[times], State(state.params, [state.rows[0][times]]))
    assert_same_run(weighted, repeated, times)
    assert weighted.objective == pytest.approx(repeated.objective)


@pytest.mark.parametrize("hard", [False, True])
def test_weights_of_rows_need_not_be_integers(hard):
    X, state = nearly_right(hard)
    weights = np.random.default_rng(0).uniform(0.1, 3, X.shape[0])
    model = CoClusters(3, 3, hard)
    whole = run(model, X, state, weights=weights)
    twice = sp.csr_array(sp.vstack([X, X]))
    halves = run(model, twice, state, weights=np.concatenate([0.3 * weights, 0.7 * weights]))
    assert_same_run(whole, halves._replace(rows=[halves.rows[0][: X.shape[0]]]))


@pytest.mark.parametrize("options", [{"beta": 0.3}, {"hard": True}], ids=repr)
def test_sample_weight_is_repetition(options):
    X = planted(kind="coclusters", n_observations=3000).X.astype(float)
    weights = np.arange(X.shape[0]) % 3
    times = np.repeat(np.arange(X.shape[0]), weights)
    model = SymmetricClustering(3, 3, random_state=0, **options)
    weighted = model.fit(X, sample_weight=weights)
    joint, embedding = weighted.joint_, weighted.embedding_[times]
    repeated = model.fit(X[times])
    np.testing.assert_allclose(joint, repeated.joint_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(embedding, repeated.embedding_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("hard", [False, True])
def test_blocks_of_rows_add_up(hard):
    X, (params, (I,)) = nearly_right(hard)
    model, em = CoClusters(3, 3, hard, "estimated"), EM(constant(0.3, 6), -np.inf)
    parts = [CSRCounts(X[:7]), CSRCounts(X[7:])]
    apart = em.fit(model, parts, None, start=State(params, [I[:7], I[7:]]))
    whole = run(model, X, State(params, [I]))
    assert_same_run(whole, apart._replace(rows=[np.concatenate(apart.rows)]))
    assert apart.objective == pytest.approx(whole.objective)


@pytest.mark.parametrize("options", [{"beta": 1.0}, {"hard": True}], ids=repr)
def test_millions_of_observations_in_single_precision(options):
    truth = planted(3, 20_000, 4, n_rows=60, n_columns=50, kind="coclusters")
    model = SymmetricClustering(3, 3, random_state=0, **options)
    few = model.fit(truth.X.astype(np.float64)).row_labels_
    many = model.fit((truth.X * 1_000_003).astype(np.float32))
    assert many.components_.dtype == np.float32
    assert np.isfinite(many.components_).all()
    assert np.isfinite(many.objective_)
    np.testing.assert_allclose(many.embedding_.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(many.row_labels_, few)


# ---- biclusters


@pytest.fixture(scope="module")
def fitted():
    truth = planted(3, 4000, kind="coclusters", n_column_clusters=4)
    model = SymmetricClustering(3, 4, beta=0.2, random_state=0)
    return model.fit(truth.X), truth.X


def test_biclusters_are_pairs_of_clusters(fitted):
    model, X = fitted
    assert model.rows_.shape == (12, X.shape[0])
    assert model.columns_.shape == (12, X.shape[1])
    for index, (c, d) in enumerate(product(range(3), range(4))):
        rows, columns = model.get_indices(index)
        np.testing.assert_array_equal(rows, np.flatnonzero(model.row_labels_ == c))
        np.testing.assert_array_equal(columns, np.flatnonzero(model.column_labels_ == d))
        assert model.get_shape(index) == (len(rows), len(columns))
        block = model.get_submatrix(index, X)
        np.testing.assert_array_equal(block.toarray(), X.toarray()[np.ix_(rows, columns)])


def test_every_cell_is_in_one_bicluster(fitted):
    model, X = fitted
    cells = model.rows_.astype(int).T @ model.columns_.astype(int)
    np.testing.assert_array_equal(cells, np.ones(X.shape))


def test_association_is_joint_by_its_margins(fitted):
    model, X = fitted
    literal = literal_association(model.joint_)
    np.testing.assert_allclose(model.association_, literal)
    direct = model.embedding_.T @ X @ model.column_posteriors_ / X.sum()
    np.testing.assert_allclose(model.joint_, direct, atol=1e-3)


def test_predictions_are_those_of_the_memo(fitted):
    """Eq. (47), given the row: sum_cd I_ic c_cd J_jd P(y_j)."""
    model, X = fitted
    I, shares = model.transform(X), np.asarray(X.sum(axis=0)) / X.sum()
    literal = I @ model.association_ @ model.column_posteriors_.T * shares
    np.testing.assert_allclose(model.components_.sum(axis=1), 1)
    np.testing.assert_allclose(I @ model.components_, literal, rtol=1e-9)


def test_labels_are_the_most_probable_clusters(fitted):
    model, X = fitted
    np.testing.assert_array_equal(model.row_labels_, model.embedding_.argmax(axis=1))
    np.testing.assert_array_equal(model.column_labels_, model.column_posteriors_.argmax(axis=1))
    np.testing.assert_array_equal(model.predict(X), model.row_labels_)


# ---- empty clusters


def test_an_empty_cluster_is_associated_with_nothing():
    joint = np.array([[0.2, 0.3, 0.0], [0.0, 0.0, 0.0], [0.1, 0.4, 0.0]])
    expected = np.ones((3, 3))
    expected[np.ix_([0, 2], [0, 1])] = literal_association(joint[[0, 2]][:, :2])
    np.testing.assert_allclose(np.exp(log_association(joint)), expected)


@pytest.mark.parametrize("empty", ["rows", "columns", "both"])
@pytest.mark.parametrize("hard", [False, True])
def test_empty_clusters_start_again(hard, empty):
    """Two clusters of three are joined at the start."""
    X, labels, column_labels = blurred()
    if empty in ("rows", "both"):
        labels[labels == 2] = 1
    if empty in ("columns", "both"):
        column_labels[column_labels == 2] = 0
    state = state_of(X, np.eye(3)[labels], np.eye(3)[column_labels])
    fit = run(CoClusters(3, 3, hard), X, state, beta=1.0, n_iter=10)
    assert (fit.params.joint.sum(axis=0) > 0.01).all()
    assert (fit.params.joint.sum(axis=1) > 0.01).all()
    before, after = (mutual_information(p.joint) for p in (state.params, fit.params))
    assert after > 1.1 * before


@pytest.mark.parametrize("joined", ["rows", "columns"])
def test_an_empty_cluster_starts_again_though_no_object_is_badly_off(joined):
    """The second and third of three blocks are joined, and still better off than by chance."""
    X = np.kron([[8, 4, 1], [1, 8, 1], [1, 1, 8]], np.ones((4, 4)))
    X = sp.csr_array(X if joined == "rows" else X.T)
    whole = np.eye(3)[np.repeat(range(3), 4)]
    parts = np.eye(3)[np.repeat([0, 1, 1], 4)]
    state = state_of(X, *((parts, whole) if joined == "rows" else (whole, parts)))
    n, sides = (X.toarray(), (0, 1)) if joined == "rows" else (X.toarray().T, (1, 0))
    scores = n @ whole @ log_association(state.params.joint.transpose(sides)).T
    assert ((scores * parts).sum(axis=1) > 0).all()
    fit = run(CoClusters(3, 3, hard=True), X, state, beta=1.0, n_iter=5)
    np.testing.assert_array_equal(fit.rows[0].sum(axis=0), [4, 4, 4])
    np.testing.assert_array_equal(fit.params.memberships.sum(axis=0), [4, 4, 4])


@pytest.mark.parametrize("sizes", [(4, 4), (10, 10)])
@pytest.mark.parametrize("options", [{"hard": True}, {"beta": 1.0}], ids=repr)
def test_more_clusters_than_distinct_objects(options, sizes):
    X = np.repeat([[50, 10, 0, 20], [0, 30, 40, 10]], 3, axis=0)
    model = SymmetricClustering(*sizes, random_state=0, **options).fit(X)
    assert model.mutual_information_ == pytest.approx(information_of_table(X), rel=0.01)
    assert len(set(model.row_labels_[:3])) == len(set(model.row_labels_[3:])) == 1
    np.testing.assert_allclose(model.components_.sum(axis=1), 1)


# ---- bad input


@pytest.mark.parametrize(
    ("options", "n_columns", "message"),
    [
        ({"hard": False}, 12, "hard=True"),
        ({"n_column_clusters": 4}, 12, "n_row_clusters=3 and n_column_clusters=4"),
        ({}, 9, r"square X.*\(12, 9\)"),
        ({"coarsening": [np.arange(12) // 2]}, 12, "coarsening=None"),
    ],
)
def test_a_tied_model_refuses_what_it_cannot_do(monkeypatch, options, n_columns, message):
    def fail(*_):
        raise AssertionError("it started")

    monkeypatch.setattr(CoClusters, "start", fail)
    monkeypatch.setattr(ClassBigrams, "start", fail)
    options = {"n_row_clusters": 3, "n_column_clusters": 3, "hard": True} | options
    model = SymmetricClustering(tied=True, **options)
    with pytest.raises(ValueError, match=message):
        model.fit(random_table(12, n_columns))
    assert not hasattr(model, "components_")
