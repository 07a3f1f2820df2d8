import numpy as np
import pytest
import scipy.sparse as sp

from skcooc import AspectModel, AveragedModels, Dyads, RowMemory
from skcooc.counts import CSRCounts
from skcooc.em.online import averages, step
from skcooc.equations.aspects import (
    Aspects,
    Params,
    PredictiveAspects,
    Statistics,
    usual_predictive_beta,
)
from skcooc.estimators import aspect
from skcooc.estimators.aspect import AspectFamily
from skcooc.fitting.tuning import LeaveOneOut
from skcooc.line_search import TemperatureRange
from skcooc.loops.left_out import power_of_rest
from skcooc.model_selection import split_counts
from tests.equations import literal_predictive_aspects as literal
from tests.equations.broken import LeftInColumns, NothingLeftOut
from tests.equations.running import run
from tests.tables import occupied, planted

FORMS = [  # beta; tempering, row prior, component prior
    (1.0, ("joint", 2.0, 0.1)),
    (1.0, ("joint", 2.0, 5.0)),  # a fifteenth of all counts of an aspect
    (0.8, ("likelihood", 1.0, 0.5)),
    (0.8, ("distinctive", 1.0, 0.5)),
]
CLOSE = {1.0: 1e-6, 0.8: 3e-4}  # own / T to second order; the approximant of the power


def rich_table(dtype=np.float64):
    return sp.csr_array(planted(2, 1500, n_rows=15, n_columns=10).X.astype(dtype))


def model_of(tempering="joint", row_prior=1.0, component_prior=0.1, K=2):
    return PredictiveAspects(Aspects(K, tempering, component_prior), row_prior)


def counts_of(model, params, X):
    """The expected counts of the columns that parameters are made of."""
    eta = model.component_prior
    totals = params.weights * X.sum() + eta * len(params.components)
    return np.maximum(params.components * totals - eta, 0)


@pytest.mark.parametrize(("beta", "form"), FORMS)
def test_a_step_is_that_of_the_literal_equations(form, beta):
    X, model = CSRCounts(rich_table()), model_of(*form)
    params, rows = run(model, X, beta=beta, n_iter=5)[:2]
    C = counts_of(model, params, X.table)
    priors = model.row_prior, model.component_prior, model.aspects.tempering
    mixtures, expected, _ = literal.step(X.table.toarray(), rows, C, beta, *priors, params.prior)

    def far(model):
        new, stats = model.expect(X, params, rows, beta)
        columns = (stats.components - expected) / X.table.sum()
        return max(np.abs(new - mixtures).max(), np.abs(columns).max())

    assert far(model) < CLOSE[beta]
    assert far(NothingLeftOut(model)) > 2 * CLOSE[beta]
    assert far(LeftInColumns(model)) > 2 * CLOSE[beta]


def test_without_remaining_counts_the_posterior_is_uniform():
    model = model_of(row_prior=0.0, component_prior=0.0)
    rows = np.array([[0.7, 0.3]])
    params = Params(np.ones((1, 2)), rows[0], rows[0])
    new, stats = model.expect(CSRCounts(sp.csr_array([[1.0]])), params, rows, 1.0)
    np.testing.assert_allclose(new, 1 / 2)
    np.testing.assert_allclose(stats.components, 1 / 2)
    assert stats.free_energy == 0


def test_the_only_token_of_a_column_has_the_posterior_of_the_priors():
    model, weights = model_of(row_prior=2.0), np.array([0.6, 0.4])
    rows = (np.array([[0.0, 1.0]]) + 2.0 * weights) / 3  # all that it has is of the second aspect
    C = np.array([[0.0, 1.0], [60.0, 39.0]])  # and so is all that the column has
    totals = C.sum(axis=0) + 2 * model.component_prior
    params = Params((C + model.component_prior) / totals, weights, weights)
    X = CSRCounts(sp.csr_array([[1.0, 0.0], [0.0, 99.0]]))
    found = model.expect(X, params, np.vstack([rows, weights]), 1.0)[1].components[0]
    mine = rows[0] * params.components[0] / (rows[0] @ params.components[0])
    left = 2.0 * weights + np.array([0.0, 1 - mine[1]])
    left *= np.array([0.0, 1 - mine[1]]) + model.component_prior
    left /= totals - np.array([0.0, mine[1]])
    np.testing.assert_allclose(found, left / left.sum(), atol=1e-3)
    assert found[0] > 0.4 > 5 * rows[0, 0] * params.components[0, 0]


def test_one_component_is_the_unigram_with_pseudo_counts():
    X = occupied(planted().X)
    model = AspectModel(1, leave_one_out=True, beta=0.9, component_prior=0.5).fit(X)
    expected = X.sum(axis=0) + 0.5
    np.testing.assert_allclose(model.components_[0], expected / expected.sum())
    np.testing.assert_allclose(model.embedding_, 1)


def test_new_rows_are_folded_in_plainly_with_the_prior():
    X = planted().X
    options = {"beta": 0.8, "leave_one_out": True, "row_prior": 2.0, "random_state": 0}
    model = AspectModel(3, **options).fit(X)
    n, rows, B = X.toarray()[:5], model.transform(X[:5]), model.components_.T
    r = (rows[:, None, :] * B) ** 0.8 * model._state.params.prior**0.2
    r /= r.sum(axis=2, keepdims=True)
    expected = np.einsum("ij,ijk->ik", n, r) + 2.0 * model.weights_
    np.testing.assert_allclose(rows, expected / expected.sum(axis=1, keepdims=True), atol=1e-3)
    np.testing.assert_allclose(model.transform(0 * X[:1])[0], model.weights_, rtol=1e-6)


@pytest.mark.parametrize("solver", ["em", "momentum"])
def test_the_rows_of_a_fit_are_what_transform_makes_of_them_but_within_a_cache(solver):
    X = planted().X
    model = AspectModel(3, beta=0.8, leave_one_out=True, solver=solver, n_jobs=2, random_state=0)
    np.testing.assert_array_equal(model.fit_transform(X), model.set_params(n_jobs=1).transform(X))
    equations = model_of(model.tempering_, model.row_prior_, model.component_prior_, K=3)
    left_out, _ = equations.expect(CSRCounts(X.astype(float)), *model._state, 0.8)
    assert np.abs(left_out - model.embedding_).max() > 0.003
    within = RowMemory(model, random_state=0).fit(X).estimator_
    assert np.abs(within.transform(X) - within.embedding_).max() > 0.003


def test_the_power_is_that_of_what_is_left_but_for_the_last_part_of_it():
    x = np.linspace(0, 1, 1001)
    for beta, far in [(1.0, 1e-12), (0.9, 0.009), (0.8, 0.02), (0.5, 0.1)]:
        wrong = x**beta - power_of_rest(x, beta / 2)
        assert wrong.min() > -1e-12
        assert wrong.max() < far
        assert wrong[x > 0.5].max() <= far / 4
        assert power_of_rest(0.0, beta / 2) == 0


def test_single_precision_is_safe_where_nothing_is_left():
    X = sp.csr_array(np.eye(40, 30, dtype=np.float32) * 1e-3)
    for beta in (1.0, 0.5):
        fit = run(model_of("joint", 1e-6, 0.0, K=3), X, beta=beta, n_iter=30)
        assert np.isfinite(fit.params.components).all()
        np.testing.assert_allclose(fit.rows.sum(axis=1), 1, rtol=1e-5)


def test_blocks_of_rows_leave_out_what_the_whole_table_does():
    X, model = CSRCounts(rich_table()), model_of()
    params, rows = run(model, X, beta=0.8, n_iter=5)[:2]
    new, stats = model.expect(X, params, rows, 0.8)
    blocks = [(CSRCounts(X.table[part]), rows[part]) for part in (slice(4), slice(4, None))]
    told, alone = (
        [model.expect(part_of(block), params, own, 0.8) for block, own in blocks]
        for part_of in (lambda block: block.part_of(X.table.sum()), lambda block: block)
    )
    np.testing.assert_allclose(np.vstack([own for own, _ in told]), new, rtol=1e-12)
    expected, twin = (sum(part.components for _, part in steps) for steps in (told, alone))
    np.testing.assert_allclose(expected, stats.components, rtol=1e-12)
    assert np.abs(twin - stats.components).max() > 1e-3


SHORT = planted(10, 8000, n_rows=1000, n_columns=160).X  # eight tokens a row


def test_it_is_chosen_for_short_rows():
    train, test = split_counts(SHORT, random_state=0)
    options = {"n_components": 20, "random_state": 0, "max_iter": 60, "tol": 1e-4}
    chosen, plain = (
        AspectModel(**options, leave_one_out=how).fit(train) for how in ("auto", False)
    )
    left_out = [p for p in chosen.tuning_ if p.stage in ("left out")]
    tried = [(probe.prior, probe.row_prior) for probe in left_out]
    assert chosen.leave_one_out_ > plain.leave_one_out_
    assert [trial.stage for trial in chosen.tuning_[-2:]] == ["left out", "tempering"]
    assert "left out" not in [probe.stage for probe in plain.tuning_]
    assert chosen.perplexity(Dyads(test)) < plain.perplexity(Dyads(test))
    assert chosen.beta_ in [probe.beta for probe in left_out]
    assert {tried[-2], tried[-1]} != {tried[0]} == {(0.02, 1.0)}
    found = chosen.component_prior_, chosen.row_prior_
    assert found in tried
    assert plain.row_prior_ != found[1]  # of new rows
    np.testing.assert_allclose(chosen.embedding_, chosen.transform(train), atol=5e-5)
    fixed = AspectModel(20, beta=0.9, random_state=0, max_iter=40, tol=1e-2).fit(SHORT)
    assert not fixed.leave_one_out_  # without a search
    again = chosen.set_params(warm_start=True).fit(train)
    assert again.leave_one_out_
    assert again.row_prior_ == found[1]


def test_automatic_trials_equal_those_of_leave_one_out_true(monkeypatch):
    options = {"n_components": 20, "random_state": 0, "max_iter": 15, "tol": 1e-3}

    def usual(self, X):
        beta = usual_predictive_beta(X, 20)
        return TemperatureRange(beta, beta)

    monkeypatch.setattr(AspectFamily, "_predictive_range", usual)
    monkeypatch.setattr(aspect, "LOWER_BETA", 1.0)

    def perplexities():
        """Of both, by temperature and pseudo-counts."""
        tried = AspectModel(**options).fit(SHORT).tuning_
        asked = AspectModel(**options, leave_one_out=True).fit(SHORT).tuning_[:-1]
        left_out = [probe for probe in tried[:-1] if probe.row_prior]
        return [
            {(p.beta, p.prior or 0.02, p.row_prior or 1.0): p.validation.perplexity for p in probes}
            for probes in (left_out, asked)
        ]

    tried, asked = perplexities()
    assert len(tried) > 1
    assert tried.items() <= asked.items()
    monkeypatch.setattr(AspectFamily, "first_model", lambda self, values: self.plain({}))
    tried, asked = perplexities()  # broken: warm-up without pseudo-counts
    assert not tried.items() <= asked.items()


def test_a_stream_goes_on_with_what_its_first_batch_has_chosen():
    options = {"n_components": 20, "random_state": 1, "max_iter": 20, "tol": 1e-3}
    stream = AspectModel(**options).partial_fit(SHORT)
    assert stream.leave_one_out_
    before = stream.components_
    assert stream.partial_fit(SHORT[:400]).leave_one_out_
    assert np.abs(stream.components_ - before).max() > 1e-3


def test_a_step_of_a_stream_leaves_out_of_rows_alone(monkeypatch):
    X, model = rich_table(), model_of()
    fit = run(model, X, n_iter=5)
    C = counts_of(model, fit.params, X) * 1e9  # one matters to none of so many
    priors = model.row_prior, model.component_prior * 1e9, "joint"
    batch = literal.step(X.toarray(), fit.rows, C, 1.0, *priors)[1]
    kept = averages(Statistics(batch, 0.0), X.sum())

    def components(model):
        """After a batch that weighs as much as all earlier ones."""
        totals, columns = X.sum(axis=0), np.arange(X.shape[1])
        step_of = step(model, CSRCounts(X), fit.params, fit.rows, 1.0, kept, totals, columns)
        return step_of.params.components

    found, expected = components(model), batch + model.component_prior
    np.testing.assert_allclose(found, expected / expected.sum(axis=0), atol=1e-8)
    monkeypatch.setattr(CSRCounts, "part_of", lambda self, mass: self)
    for twin in (model, NothingLeftOut(model)):  # of columns, too; nothing
        assert np.abs(components(twin) - found).max() > 1e-4


def test_members_of_averages_are_leave_one_out_if_asked_or_tried():
    X = planted(10, 4000, n_rows=400, n_columns=80).X
    tried = AspectModel(20).recipe().family.tunables(CSRCounts(sp.csr_array(X.astype(float))))
    assert any(isinstance(one, LeaveOneOut) for one in tried)  # by a single fit
    for asked in ("auto", False, True):
        model = AspectModel(20, leave_one_out=asked, component_prior=0.02)
        mean = AveragedModels(model, 2, max_iter=4, random_state=0).fit(X)
        tried = [trial for trial in mean.tuning_ if trial.values.get("leave_one_out")]
        assert bool(tried) == (asked == "auto")
        assert {trial.stage for trial in tried} <= {"mean"}
        used = asked is True or any(trial.chosen for trial in tried)
        assert [member.leave_one_out_ for member in mean.estimators_] == [used, used]
