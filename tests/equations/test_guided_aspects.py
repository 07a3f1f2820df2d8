"""Guided and grouped aspect models: steps, objectives and limits of their equations."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc.counts import CSRCounts
from skcooc.em import State
from skcooc.em.stages import PlainRunner
from skcooc.equations.aspects import PredictiveAspects
from skcooc.equations.guided_aspects import GroupedAspects, Guide, GuidedAspects
from skcooc.starts.topics import topic_start
from tests.equations.broken import Twin
from tests.equations.literal_guided import LiteralGrouped, LiteralGuided
from tests.equations.models import ModelCase
from tests.equations.running import step

M, K = 9, 3
RNG = np.random.default_rng(0)
TABLE = RNG.poisson(1.6, (11, M)).astype(float)
TABLE[4], TABLE[:, 5] = 0, 0
GROUPS = np.array([0, 1, 2, -1, 0, 1, 2, -1, 2, 1, 0])
NOTHING = np.zeros((M, K))
SEEDS, COUNTS, KEPT = (NOTHING.copy() for _ in range(3))
SEEDS[[0, 1], 0] = SEEDS[[1, 2], 1] = 0.5
COUNTS[3:7, 1] = 2.0
KEPT[:4, 2] = 0.1, 0.2, 0.3, 0.4
ALLOWED = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 1], [1, 1, 1]], dtype=bool)


def guide(seeds=NOTHING, kept=NOTHING, counts=NOTHING, allowed=None):
    return Guide(seeds, kept, counts, allowed)


def guided(seeds=NOTHING, kept=NOTHING, counts=NOTHING, w=0.3, tempering="joint", prior=0.0):
    """A model and its transcription."""
    return (
        GuidedAspects(K, tempering, prior, 0.0, guide(seeds, kept, counts), w),
        LiteralGuided(seeds, kept, counts, w, tempering, prior),
    )


def grouped(
    factors=False, shares=False, seeds=NOTHING, kept=NOTHING, *, allowed=None, n_groups=3, **options
):
    options = {"w": 0.3, "tempering": "joint", "prior": 0.0, "of": lambda n: GROUPS} | options
    w, tempering, prior = options["w"], options["tempering"], options["prior"]
    effects = {"n_groups": n_groups, "has_factors": factors, "has_shares": shares}
    known = guide(seeds, kept, NOTHING, allowed)
    literal = (seeds, kept, NOTHING, w, tempering, prior)
    return (
        GroupedAspects(K, tempering, prior, 2.0, known, w, **effects),
        LiteralGrouped(
            *literal, **effects, row_prior=2.0, allowed=allowed, groups_of=options["of"]
        ),
    )


def groups_by_size(n_groups, n_tokens):
    """Groups that the tables of the kit keep, whatever it does with them."""
    return np.where(n_tokens > 0, np.rint(n_tokens).astype(int) % n_groups, -1)


class Grouped(Twin):
    """A model of rows whose groups are their sizes."""

    def expect(self, X, params, rows, beta):
        groups = groups_by_size(self.right.n_groups, X.row_sums)
        return self.right.expect(X.in_groups(groups), params, rows, beta)

    def fold_in_equations(self, params):
        model, params = self.right.fold_in_equations(params)
        return Grouped(model), params


KNOWN = {
    "order of columns": "seeds are columns",
    "order of components": "something is known of single components",
    "empty columns": "pseudo-counts give some of them a probability",
}
MOVED = {"literal slope": "the kit moves what is kept, or what has no proper M-step"}
AXES = {
    "order of components": "groups are no components; see test_order_is_of_no_consequence",
    "order of columns": "factors have columns on the other axis; see there",
}


def grouped_case(*effects, skip, **options):
    by_size = partial(groups_by_size, 4)
    model, literal = grouped(
        *effects, n_groups=4, of=lambda n: by_size(n.sum(axis=1)), w=0.3, **options
    )
    return ModelCase(Grouped(model), literal, X=TABLE, skip=AXES | skip, start=topic_start)


CASES = {
    "guided": ModelCase(*guided(SEEDS, NOTHING, COUNTS), X=TABLE, skip=KNOWN, start=topic_start),
    "guided, kept": ModelCase(
        *guided(SEEDS, KEPT, COUNTS, tempering="likelihood", prior=0.1),
        X=TABLE,
        skip=KNOWN | MOVED,
        start=topic_start,
    ),
    "grouped, factors": grouped_case(True, skip=MOVED),
    "grouped, shares": grouped_case(False, True, skip=MOVED),
    "grouped, both": grouped_case(True, True, skip=MOVED),
}


MODELS = {
    "seeds": partial(guided, SEEDS, NOTHING, COUNTS),
    "kept": partial(guided, SEEDS, KEPT, COUNTS + 1.0, prior=0.1),  # some of what is kept
    "factors": partial(grouped, True, prior=0.1),
    "shares": partial(grouped, False, True, SEEDS),
    "both": partial(grouped, True, True, SEEDS),
    "factors and kept": partial(grouped, True, False, SEEDS, KEPT),
    "masks": partial(grouped, allowed=ALLOWED),
}


def counts(table=TABLE, groups=GROUPS, weights=None):
    return CSRCounts(sp.csr_array(table), weights).in_groups(groups)


def begun(model, X, seed=1):
    params, rows = topic_start(model, X, np.random.default_rng(seed), PlainRunner())
    return State(params, np.array(rows))


def run(model, X, n_steps, beta=1.0, state=None):
    state, objectives = state or begun(model, X), []
    for _ in range(n_steps):
        state, _, objective = step(model, X, state, beta)
        objectives.append(objective)
    return state, np.array(objectives)


def assert_same(mine, expected, tolerance=1e-10):
    for name, one, two in zip(mine.params._fields, mine.params, expected.params, strict=True):
        np.testing.assert_allclose(one, two, rtol=tolerance, atol=tolerance, err_msg=name)
    np.testing.assert_allclose(mine.rows, expected.rows, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("tempering", ["likelihood", "distinctive"])
def test_steps_and_objectives_equal_the_transcription(name, tempering):
    """In the kit they are tempered jointly."""
    model, literal = MODELS[name](tempering=tempering)
    X, beta = counts(), 0.7
    mine = theirs = begun(model, X)
    for _ in range(4):
        expected = literal.objective(TABLE, *theirs, beta)
        mine, _, objective = step(model, X, mine, beta)
        theirs = State(*literal.step(TABLE, *theirs, beta))
        assert objective == pytest.approx(expected, rel=1e-10)
        seen = TABLE.any(axis=1)  # the kit has empty rows
        assert_same(State(mine.params, mine.rows[seen]), State(theirs.params, theirs.rows[seen]))


def test_new_rows_have_the_prior_of_their_group_or_of_all():
    """Fold-in: c pseudo-counts of P(z given g), or c / n_i of P(z), and no factor for -1."""
    X = counts()
    for effects in ((True, False), (False, True), (True, True)):
        model, literal = grouped(*effects)
        params = run(model, X, 5)[0].params
        new, _ = model.fold_in_equations(params)
        rows = np.full((len(TABLE), K), 1 / K)
        found = new.expect(X.as_new(), params, rows, 0.8)[0]
        nr = literal.expected(TABLE, literal.joint(params, rows, 0.8))
        for i, g in enumerate(GROUPS):
            n_i = TABLE[i].sum()
            c, prior = 2.0 / max(n_i, 1), params.weights
            if effects[1]:
                c, prior = 2.0, params.group_mixtures[g]
            theta = (nr[i].sum(axis=0) + c * prior) / (params.column_factors[g] @ params.components)
            np.testing.assert_allclose(found[i], theta / theta.sum(), rtol=1e-10)
        assert (params.column_factors[-1] == 1).all()


def test_factors_hardly_raise_the_objective_where_pseudo_counts_decide():
    """Where a column has fewer tokens than its factors have pseudo-counts."""
    model, _ = grouped(True)
    objectives = run(model, counts(), 100)[1]
    assert np.diff(objectives).max() < 1e-5 * TABLE.sum()
    assert objectives[-1] < objectives[1]


def test_factors_are_stationary_where_they_have_no_scale():
    """With components that are kept there is no normalisation of factors."""
    rng = np.random.default_rng(5)
    kept = rng.dirichlet(np.ones(M), K).T
    model, literal = grouped(True, False, NOTHING, kept)
    (params, rows), _ = run(model, counts(), 600)
    gradients = np.empty((3, M))
    for g, j in np.ndindex(3, M):
        values = []
        for change in (1e-5, -1e-5):
            s = params.column_factors.copy()
            s[g, j] *= 1 + change
            values.append(literal.objective(TABLE, params._replace(column_factors=s), rows, 1.0))
        gradients[g, j] = (values[0] - values[1]) / 2e-5
    assert np.abs(gradients).max() < 1e-4
    assert params.column_factors[:3].std() > 0.1


def test_seeds_are_a_share_of_a_mean_component_however_many_tokens():
    """w / (1 + w) of a component with L / K tokens."""
    for times in (1, 1000):
        X = counts(np.ones((6, M)) * times, None)
        model = GuidedAspects(K, guide=guide(SEEDS), seed_strength=0.25)
        rows = np.full((6, K), 1 / K)
        params = begun(model, X).params._replace(components=np.full((M, K), 1 / M))
        components = step(model, X, State(params, rows))[0].params.components
        np.testing.assert_allclose(components[0, 0], (0.8 / M + 0.2 * 0.5), rtol=1e-12)


def test_one_group_is_the_plain_model():
    X = counts(groups=np.zeros(11, dtype=int))
    plain = run(GuidedAspects(K, guide=guide()), X, 10)[0]
    found = run(GroupedAspects(K, guide=guide(), n_groups=1, has_factors=True), X, 10)[0]
    np.testing.assert_allclose(found.params.column_factors, 1, rtol=1e-12)
    np.testing.assert_allclose(found.params.components, plain.params.components, rtol=1e-10)
    np.testing.assert_allclose(found.rows, plain.rows, rtol=1e-10)


def test_order_is_of_no_consequence():
    """That of rows, columns, groups and components."""
    rng = np.random.default_rng(4)
    by_row, by_column, by_group = rng.permutation(11), rng.permutation(M), np.array([2, 0, 1])
    model, _ = grouped(True, True)
    (params, rows), _ = begun_and_run = run(model, counts(), 2)
    one = run(model, counts(), 3, state=begun_and_run[0])[0]
    groups = np.append(np.argsort(by_group), -1)  # the new number of each, and -1
    every, swap = np.append(by_group, 3), [2, 0, 1]
    moved = params._replace(
        components=params.components[by_column][:, swap],
        weights=params.weights[swap],
        prior=params.prior[swap],
        group_mixtures=params.group_mixtures[every][:, swap],
        column_factors=params.column_factors[every][:, by_column],
        exposures=params.exposures[every][:, swap],
    )
    X = counts(TABLE[by_row][:, by_column], groups[GROUPS[by_row]])
    other = run(model, X, 3, state=State(moved, rows[by_row][:, swap]))[0]
    np.testing.assert_allclose(other.rows, one.rows[by_row][:, swap], rtol=1e-11)
    factors = one.params.column_factors[every][:, by_column]
    np.testing.assert_allclose(other.params.column_factors, factors, rtol=1e-11)
    shares = one.params.group_mixtures[every][:, swap]
    np.testing.assert_allclose(other.params.group_mixtures, shares, rtol=1e-11)


def test_no_initial_component_has_a_zero_or_another_sum():
    X = counts()
    empty = counts(np.where((GROUPS == 0)[:, None], 0.0, TABLE))  # no tokens in a class
    classes = np.vstack([np.eye(3, dtype=bool), np.ones((1, 3), dtype=bool)])
    for model, table in (
        (GuidedAspects(K, guide=guide(SEEDS), seed_strength=0.1), X),
        (GuidedAspects(K, guide=guide(counts=COUNTS)), X),
        (GroupedAspects(K, guide=guide(allowed=ALLOWED), n_groups=3), X),
        (GroupedAspects(K, guide=guide(allowed=classes), n_groups=3), empty),
    ):
        start = topic_start(model, table, np.random.default_rng(0), PlainRunner())
        components = start.params.components
        unigram = table.column_sums / table.column_sums.sum()
        assert np.abs(components - unigram[:, None]).max(axis=0).min() > 0.01
        assert components.min() > 0
        np.testing.assert_allclose(components.sum(axis=0), 1)


def test_no_token_is_left_out_of_a_component_that_is_kept():
    """Leave-one-out where all components are kept: only the row loses the token."""
    kept, alpha, beta = np.random.default_rng(5).dirichlet(np.ones(M), K).T, 1.0, 0.9
    model = PredictiveAspects(GuidedAspects(K, "joint", 0.1, 0.0, guide(kept=kept)), alpha)
    X = counts()
    params, rows = topic_start(model, X, np.random.default_rng(0), PlainRunner())
    found = model.expect(X, params, rows, beta)[1].components
    expected = np.zeros((M, K))
    for i, j in np.argwhere(TABLE):
        N = np.maximum(rows[i] * (TABLE[i].sum() + alpha) - alpha * params.weights, 0)
        own = rows[i] * kept[j] / (rows[i] @ kept[j])
        left = N - np.minimum(own, N) + alpha * params.weights
        r = (left * kept[j]) ** beta
        expected[j] += TABLE[i, j] * r / r.sum()
    np.testing.assert_allclose(found, expected, rtol=2e-3)  # the power is approximate


def test_the_prior_mass_is_the_sum_of_all_pseudo_counts():
    """Which leave-one-out EM needs to know the expected counts of components."""
    model, literal = guided(SEEDS, KEPT, COUNTS, prior=0.1)
    params = run(model, counts(), 2)[0].params
    expected = literal.pseudo_counts(TABLE.sum()).sum(axis=0)
    np.testing.assert_allclose(model.prior_mass(params)[:2], expected[:2])
    assert model.prior_mass(params)[2] == np.inf


def test_merged_aspects_keep_the_sums_of_groups():
    model, _ = grouped(True, True, SEEDS)
    X = counts()
    params, rows = run(model, X, 5)[0]
    shares = np.array([[1.0, 0], [1, 0], [0, 1]])
    mass = TABLE.sum(axis=1) @ rows
    merged, new = model.merge(params, mass, shares)
    assert merged.n_components == 2
    np.testing.assert_allclose(new.group_mixtures, params.group_mixtures @ shares)
    np.testing.assert_allclose(new.exposures, params.column_factors @ new.components)
    state = run(merged, X, 3, state=State(new, rows @ shares))[0]
    assert state.params.components.shape == (M, 2)
