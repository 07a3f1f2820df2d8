import pickle
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from skcooc import AspectModel, AsymmetricClustering, TriadicAspectModel
from skcooc.counts import CSRCounts
from skcooc.datasets import make_cooccurrences
from skcooc.em import WarmUp
from skcooc.equations.aspects import beta_of_others, has_short_rows, usual_beta
from skcooc.estimators.aspect import AspectFamily
from skcooc.fitting import fit, tuning
from skcooc.fitting.context import FitContext
from skcooc.fitting.recipe import draw_seeds
from skcooc.fitting.short_fits import ShortFits, with_best_row_prior
from skcooc.fitting.tuning import (
    Candidates,
    ComponentPrior,
    LeaveOneOut,
    OneOf,
    Raised,
    SmallerPseudoCounts,
    Temperature,
    TrialRecord,
)
from skcooc.heldout import Validation
from skcooc.heldout.validation import hold_out
from skcooc.line_search import TemperatureRange
from skcooc.protocol.scikit_learn import StrOptions
from tests.cases import CLASSES, ESTIMATORS, FAST
from tests.tables import occupied, planted, refused

NAMES = AspectModel().get_params().keys() | TriadicAspectModel().get_params().keys()
RANGE = TemperatureRange(0.5, 1.0)
PRIORS = TemperatureRange(1e-3, 1.0, "log", guess=0.1, step=0.8)


class Found:
    """What a short fit is to the tuner."""

    def __init__(self, perplexity, smoothing=0.02):
        self.validation = Validation(float(perplexity), smoothing)


class Search:
    """Context of a search, which ends after so many trials."""

    def __init__(self, n_trials=np.inf):
        self.n_trials, self.parts, self.n_ended = n_trials, [], 0

    @property
    def stopped(self):
        return len(self.parts) >= self.n_trials

    @contextmanager
    def part(self, name, task):
        self.parts.append((name, task))
        yield self

    def end_trial(self):
        self.n_ended += 1


def tried(tunables, loss, context=None, record=None):
    """All trials, and the chosen one; a loss takes values by their names."""
    record = record or TrialRecord()

    def fit(values, context):
        return Found(loss(**values))

    chosen = tuning.tune(tunables, NAMES, fit, record, context or Search())
    assert [trial for trial in record.trials if trial.chosen] == [chosen]
    return record.trials, chosen


@pytest.mark.parametrize(("scale", "on_scale"), [("linear", float), ("log", np.log)])
def test_finds_the_minimum_of_a_unimodal_loss(scale, on_scale):
    within = Temperature(TemperatureRange(0.05, 1.0, scale), n_trials=12)
    for optimum in map(on_scale, (0.06, 0.3, 0.77, 0.99)):
        trials, best = tried([within], lambda beta: abs(on_scale(beta) - optimum))  # noqa: B023
        assert abs(on_scale(best.beta) - optimum) < 0.01 * (on_scale(1.0) - on_scale(0.05))
        assert len({round(trial.beta, 12) for trial in trials}) == len(trials) == 12
    trials, best = tried([Temperature(TemperatureRange(0.7, 0.7, scale))], lambda beta: 2.0)
    assert (len(trials), best.beta) == (1, 0.7)


def test_narrow_ranges_end_of_equals_the_largest_wins_and_observers_end_searches():
    trials, _ = tried([Temperature(TemperatureRange(0.5, 0.5 + 3e-9), n_trials=12)], lambda beta: 2)
    assert 1 < len(trials) < 12
    tiny = Temperature(TemperatureRange(1e-11, 1e-10, "log"), n_trials=12)
    trials, best = tried([tiny], lambda beta: abs(np.log(beta / 5e-11)))
    assert len(trials) == 12
    assert best.beta == pytest.approx(5e-11, rel=0.02)
    search = Search()
    trials, best = tried([Temperature(RANGE)], lambda beta: 1.0, search)
    assert best.beta == max(trial.beta for trial in trials)
    assert search.parts == [(number, str(trial)) for number, trial in enumerate(trials)]
    assert search.n_ended == len(trials)
    trials, _ = tried([Temperature(RANGE)], lambda beta: 1 + 1e-5 * beta)  # equal within noise
    assert max(trial.beta for trial in trials) > 0.95
    both = [Temperature(RANGE), ComponentPrior(PRIORS)]
    for n_trials in (1, 3):
        trials, _ = tried(both, lambda beta, component_prior=0: 1.0, Search(n_trials))
        assert [trial.stage for trial in trials] == n_trials * ["beta"]
    wide = Temperature(TemperatureRange(0.9, 1.0, guess=0.92))
    trials, best = tried([wide], lambda beta: 1.0)
    assert best.beta == 1
    assert len({trial.beta for trial in trials}) == len(trials)


def test_steps_grow_away_from_a_bad_guess_and_a_pilot_is_never_chosen():
    within = [Temperature(TemperatureRange(0.5, 1.0, guess=0.8, step=0.03))]
    for optimum in (0.55, 0.62, 0.97, 1.0):
        trials, best = tried(within, lambda beta: np.exp(3 * (beta - optimum) ** 2))  # noqa: B023
        assert len(trials) <= tuning.N_TEMPERATURES
        assert all(0.5 <= trial.beta <= 1 for trial in trials)
        assert best.beta == pytest.approx(optimum, abs=0.05)

    near = Temperature(TemperatureRange(0.0, 1.0, guess=0.2, step=0.01), n_trials=9)
    betas = [trial.beta for trial in tried([near], lambda beta: 2 - beta)[0]]
    np.testing.assert_allclose(betas[:4], [0.2, 0.19, 0.21, 0.22])
    np.testing.assert_allclose(np.diff(betas[3:]), 0.01 * 1.5 ** np.arange(1, 6))

    def loss(beta, n_components=None):
        return np.exp((beta - 0.82) ** 2) if n_components else 5.0

    pilot = tuning.Pilot(TemperatureRange(0.5, 1.0, guess=0.8), 8)
    trials, best = tried([pilot, Temperature(RANGE, lambda beta: beta - 0.1)], loss)
    assert {trial.n_components for trial in trials[:-1]} == {8}
    assert trials[-1] == best
    assert best.beta == pytest.approx(0.72)


@pytest.mark.parametrize(("gain", "n_trials", "is_usual"), [(0.005, 3, True), (0.2, 6, False)])
def test_a_usual_temperature_stays_unless_another_predicts_clearly_better(gain, n_trials, is_usual):
    usual = TemperatureRange(0.2, 0.2)
    search = Temperature(TemperatureRange(0.1, 1.0, "log"), n_trials=5)

    def loss(beta):
        return 2 - gain * np.log(beta / 0.2)

    trials, best = tried([Temperature(usual, name="usual beta", n_trials=1), search], loss)
    assert len(trials) == n_trials
    assert (best is trials[0]) == is_usual
    assert best.stage == ("usual beta" if is_usual else "beta")


def test_soft_clusters_of_rows_try_the_usual_temperature_first():
    X = occupied(make_cooccurrences(60, 40, 3, kind="clusters", n_tokens=1200, random_state=0).X)
    trials = AsymmetricClustering(3, random_state=0).fit(X).tuning_
    assert trials[0].stage == "usual beta"
    assert trials[0].beta == pytest.approx(6 / 20)
    columns = AsymmetricClustering(3, axis="columns", random_state=0).fit(X)
    assert {trial.stage for trial in columns.tuning_} == {"beta"}


def test_the_prior_is_looked_for_at_the_best_temperature():
    def loss(beta, component_prior=None):
        prior = 1e-9 if component_prior is None else component_prior
        return 1 + abs(np.log10(prior + 1e-4) + 1.5) - beta

    at = Temperature(TemperatureRange(0.7, 0.7))
    trials, best = tried([at, ComponentPrior(PRIORS)], loss)
    assert {trial.beta for trial in trials[:-1]} == {0.7}
    assert best == trials[-1]
    assert best.prior == pytest.approx(10**-1.5, rel=0.7)
    assert best.beta == pytest.approx(0.715)


@pytest.mark.parametrize(
    ("loss", "smoothing", "n_trials", "has_prior"),
    [
        (lambda p: 1 + p, 0.02, 3, False),  # the second prior must lower the perplexity
        (lambda p: 0.995, 0.02, 3, False),  # by enough
        (lambda p: p * 10.5, 0.02, None, True),
        (lambda p: 1 + p, 0.009, 1, False),  # dense data: no prior is tried
    ],
)
def test_a_prior_is_tried_for_sparse_data_and_must_be_worth_it(
    loss, smoothing, n_trials, has_prior
):
    def fit(values, context):
        return Found(loss(values.get("component_prior")) if len(values) > 1 else 1.0, smoothing)

    record = TrialRecord()
    tunables = [Temperature(TemperatureRange(1.0, 1.0)), ComponentPrior(PRIORS)]
    best = tuning.tune(tunables, NAMES, fit, record, Search())
    assert len(record.trials) == n_trials or n_trials is None
    assert bool(best.prior) is has_prior
    record = TrialRecord()
    tunables[1] = replace(tunables[1], only_thin=False)
    tuning.tune(tunables, NAMES, fit, record, Search())
    assert len(record.trials) >= 3  # also of dense data


@pytest.mark.parametrize(
    ("beta", "loss", "n_trials", "last"),
    [
        (0.7, lambda p: 1 + p, 3, 0.7),  # no prior is worth it, and so is no larger beta with it
        (0.7, lambda p: 1 - 0.5 * (p > 0) + p, None, 0.7 + tuning.LARGER_BETA),
        (0.995, lambda p: 1 - 0.5 * (p > 0) + p, None, 1.0),  # it is never larger than one
    ],
)
def test_a_larger_beta_is_tried_with_a_prior_that_is_worth_it(beta, loss, n_trials, last):
    tunables = [Temperature(TemperatureRange(beta, beta)), ComponentPrior(PRIORS)]
    trials, _ = tried(tunables, lambda beta, component_prior=0.0: loss(component_prior))
    assert n_trials in (len(trials), None)
    assert trials[-1].beta == pytest.approx(last)


def test_no_prior_is_looked_for_beside_that_of_leave_one_out():
    def loss(beta, component_prior=0.0, leave_one_out=False):
        return 0.9 if leave_one_out else 1 - component_prior

    at = Temperature(TemperatureRange(0.7, 0.7))
    left_out = LeaveOneOut(0.8, {"component_prior": 0.02}, [])
    trials, best = tried([at, left_out, ComponentPrior(PRIORS)], loss)
    assert [trial.stage for trial in trials] == ["beta", "left out"]
    assert best is trials[-1]


@pytest.mark.parametrize("sizes", [(4, 1500, 100, 150, 8), (6, 4000, 120, 200, 12)], ids=str)
def test_the_first_prior_tried_is_better_than_none_and_than_much_larger_or_smaller_ones(sizes):
    """On sparse planted tables: few trials follow, all near the first."""
    n_planted, n_tokens, n_rows, n_columns, n_components = sizes
    X = planted(n_planted, n_tokens, n_rows=n_rows, n_columns=n_columns).X.astype(float)
    within = tuning.prior_range(CSRCounts(sp.csr_array(X)), n_components)
    first = np.exp(next(within.points))
    fits = short_fits(AspectModel(n_components, random_state=0), X)
    beta = usual_beta(CSRCounts(sp.csr_array(X)), n_components)
    losses = {
        factor: fits({"beta": beta, "component_prior": factor * first}).validation.perplexity
        for factor in (0, 0.1, 1, 10)
    }
    assert min(losses, key=losses.get) == 1
    assert within.low < first / 10 < 10 * first < within.high


def test_exponents_are_looked_for_one_after_the_other():
    asked = []

    def loss(beta, exponents=(1.0, 1.0)):
        first, second = (exponent * beta for exponent in exponents)
        asked.append((first, second, beta))
        return 1 + (first - 0.3) ** 2 + (second - 0.6) ** 2 + (beta - 0.85) ** 2

    at = Temperature(TemperatureRange(0.6, 0.6))
    _, best = tried([at, tuning.Exponents()], loss)
    first, second, third = (np.array(asked[1:][n : n + 4]) for n in (0, 4, 8))
    assert (first[:, 1:] == 0.6).all()
    assert np.ptp(second[:, [0, 2]], axis=0).max() < 1e-12
    assert np.ptp(third[:, :2], axis=0).max() < 1e-12
    found = (*(exponent * best.beta for exponent in best.exponents), best.beta)
    np.testing.assert_allclose(found, (0.3, 0.6, 0.85), atol=0.08)

    def lower(beta, exponents=(1.0, 1.0)):
        first, second = (exponent * beta for exponent in exponents)
        return 1 + (first - 0.2) ** 2 + (second - 0.3) ** 2 + (beta - 0.4) ** 2

    _, best = tried([at, tuning.Exponents()], lower)
    assert best.beta == pytest.approx(0.4, abs=0.1)  # where the others allow it


@pytest.mark.parametrize("shares", [["component_prior", "row_prior"], ["row_prior"]])
def test_smaller_pseudo_counts_are_tried_one_after_the_other_and_the_better_one_stays(shares):
    def loss(beta, component_prior=None, row_prior=1.0, leave_one_out=False):
        if not leave_one_out:
            return 9.0
        return abs(np.log(component_prior / 0.005)) + abs(np.log(row_prior)) + 1

    factors = {"component_prior": 0.25, "row_prior": 0.3}
    usual = {"component_prior": 0.02, "row_prior": 1.0}
    smaller = SmallerPseudoCounts([{name: factors[name]} for name in shares], usual)
    trials, best = tried([Temperature(TemperatureRange(0.6, 0.6)), smaller], loss)
    assert len(trials) == 1 + len(shares)
    assert best.row_prior == (1.0 if len(shares) == 2 else 0.3)


def test_a_pseudo_count_that_is_no_better_than_the_best_one_is_left():
    """It may be better than the first one, and is left nevertheless."""
    losses = {(0.02, 1.0): 5, (0.005, 1.0): 3, (0.005, 0.3): 4, (0.005, 0.5): 2}

    def loss(beta, component_prior=None, row_prior=None, leave_one_out=False):
        return losses[component_prior, row_prior] if leave_one_out else 5

    shares = [{"component_prior": 0.25}, {"row_prior": 0.3}, {"row_prior": 0.5}]
    smaller = SmallerPseudoCounts(shares, {"component_prior": 0.02, "row_prior": 1.0})
    _, best = tried([Temperature(TemperatureRange(0.6, 0.6)), smaller], loss)
    assert (best.prior, best.row_prior) == (0.005, 0.5)


@pytest.mark.parametrize(
    ("first", "n_trials", "chosen"),
    [(1.02, 1, "beta"), (1.005, 3, "left out"), (0.98, 3, "left out")],
)
def test_leave_one_out_is_dropped_at_once_unless_smaller_pseudo_counts_may_make_it_better(
    first, n_trials, chosen
):
    def loss(beta, component_prior=0.0, row_prior=0.0, leave_one_out=False):
        return 1 + leave_one_out * (first - 1 + abs(beta - 0.8) / 100 + component_prior - 0.02)

    usual = {"component_prior": 0.02, "row_prior": 1.0}
    left_out = LeaveOneOut(0.8, usual, [{"component_prior": 0.25}, {"row_prior": 0.3}])
    trials, best = tried([Temperature(TemperatureRange(0.9, 0.9)), left_out], loss)
    assert (len(trials) - 1, best.stage) == (n_trials, chosen)
    assert n_trials == 1 or best.values["component_prior"] == 0.005


@pytest.mark.parametrize(("loss", "is_chosen"), [(1.002, True), (1.004, False)])
def test_leave_one_out_may_be_a_little_worse_in_short_fits(loss, is_chosen):
    tunables = [Temperature(TemperatureRange(0.9, 0.9)), LeaveOneOut(0.8, {}, [])]
    _, best = tried(tunables, lambda beta, leave_one_out=False: loss if leave_one_out else 1.0)
    assert (best.stage == "left out") is is_chosen


def test_the_usual_values_of_leave_one_out_end_at_one():
    near = LeaveOneOut(0.99, {}, [])
    usual = [near.usual_values(factor)["beta"] for factor in (0.9, 1.0, 1.1)]
    assert usual == pytest.approx([0.891, 0.99, 1.0])


def test_a_search_that_was_cut_short_goes_on():
    def loss(beta, component_prior=0.5):
        return 1 + (beta - 0.8) ** 2 + component_prior

    tunables = [Temperature(RANGE), ComponentPrior(PRIORS)]
    whole, best = tried(tunables, loss)
    for stop in range(1, len(whole)):
        record, made = TrialRecord(), []

        def cut(stop=stop, made=made, **values):
            made.append(values)
            if len(made) > stop:
                raise KeyboardInterrupt
            return loss(**values)

        with pytest.raises(KeyboardInterrupt):
            tried(tunables, cut, record=record)
        record = pickle.loads(pickle.dumps(record))
        again = []
        trials, found = tried(
            tunables, lambda again=again, **v: again.append(v) or loss(**v), record=record
        )
        assert (trials, found) == (whole, best)
        assert record.best.validation == best.validation
        assert len(again) == len(whole) - stop


def test_only_parameters_of_the_estimator_are_tuned():
    class Unknown(Temperature):
        def propose(self, so_far, best):
            yield {"beta": 1.0, "heat": 2.0}

    refused("'beta' proposes values of heat", tried, [Unknown(RANGE)], lambda **values: 1.0)


def short_fits(estimator, X):
    """Short fits as those of a search in a fit, by values of hyper-parameters."""
    counts = CSRCounts(occupied(X))
    seeds = draw_seeds(estimator.random_state, 1)
    recipe = estimator.recipe().for_table(counts, None).with_seeds(seeds)
    train, heldout = hold_out(counts, *recipe.settings.division)
    fits = ShortFits(recipe.short(train), train, heldout)

    def fit(values):
        return fits(values, FitContext(recipe.settings))

    return fit


def rows_of_length(*lengths):
    """A table whose rows have so many tokens each."""
    counts = np.random.default_rng(0).multinomial(lengths, np.full(40, 1 / 40))
    return sp.csr_array(counts.astype(float))


def test_short_rows_are_shorter_than_twice_the_number_of_components():
    """A factor of one or three fails. Rows without tokens do not count."""
    for length, is_short in ((5, True), (9, True), (10, False), (14, False)):
        counts = CSRCounts(rows_of_length(length - 1, length + 1, 0))
        assert has_short_rows(counts, n_components=5) == is_short


@pytest.mark.parametrize(("length", "is_tried"), [(13, True), (24, False)])
def test_leave_one_out_is_tried_for_short_rows(length, is_tried):
    """Nine tenths of these are fitted: between K and 2 K tokens, and between 2 K and 3 K."""
    model = AspectModel(8, max_iter=8, random_state=0).fit(rows_of_length(*30 * [length]))
    assert any(trial.values.get("leave_one_out") for trial in model.tuning_) is is_tried
    values = [value for trial in model.tuning_ for value in trial.values.values()]
    assert {type(value) for value in values} <= {float, int, bool, str}  # NumPy's would be float64


def test_the_usual_temperature_falls_with_components_and_rises_with_the_length_of_rows():
    """Odds are those of 1 against 0.5; they fall with the fifth root of the components."""

    def odds(beta):
        return (beta - 0.5) / (1 - beta)

    for beta in (0.55, 0.8, 0.97):
        many = beta_of_others(4, 128, beta)
        assert odds(beta) / odds(many) == pytest.approx(2)
        assert beta_of_others(128, 4, many) == pytest.approx(beta)
        assert beta_of_others(7, 7, beta) == pytest.approx(beta)
    betas = [usual_beta(CSRCounts(rows_of_length(n, n)), 20) for n in (1, 10, 100, 10_000)]
    assert 0.5 < betas[0] < betas[1] < betas[2] < betas[3] < 1


@pytest.mark.parametrize("length", [6, 300])
def test_the_usual_temperature_predicts_planted_rows_well_whatever_their_length(length):
    """With the root or the square of its odds they are predicted worse."""
    sizes = {"n_rows": 150, "n_columns": 250, "concentration": 0.1}
    X = planted(40, 150 * length, **sizes).X.astype(float)
    usual = usual_beta(CSRCounts(sp.csr_array(X)), 32)
    odds = ((usual - 0.5) / (1 - usual)) ** np.array([0.5, 1.0, 2.0])
    fits = short_fits(AspectModel(32, random_state=1), X)
    losses = [fits({"beta": float(b)}).validation.perplexity for b in (0.5 + odds) / (1 + odds)]
    assert losses[1] == min(losses)


def test_rows_count_by_their_weights_in_the_mean_length():
    """Where a search for the temperature begins; rows of no weight do not count."""
    X, weights = rows_of_length(4, 30, 9, 0), np.array([3.0, 1.0, 0.0, 2.0])
    repeated = X[np.repeat(np.arange(4), weights.astype(int))]
    one, two = CSRCounts(X, weights), CSRCounts(sp.csr_array(repeated))
    assert usual_beta(one, 8) == pytest.approx(usual_beta(two, 8), rel=1e-12)
    assert usual_beta(one, 8) != pytest.approx(usual_beta(CSRCounts(X), 8), rel=1e-3)
    assert has_short_rows(one, 6)  # 10.5 tokens in the mean
    assert not has_short_rows(one, 5)


def test_the_pseudo_count_of_new_rows_is_that_of_the_rows_with_weight(monkeypatch):
    """Rows of no weight are left out; of others, those of much weight decide."""
    X, flat = (
        make_cooccurrences(100, 90, 6, n_tokens=1500, concentration=a, random_state=2).X.toarray()
        for a in (0.1, 5.0)
    )
    both, first, given = np.vstack([X, flat]), np.repeat([1.0, 0.0], 100), []

    def watched(*args):
        given[:] = args
        return with_best_row_prior(*args)

    monkeypatch.setattr(fit, "with_best_row_prior", watched)
    model = AspectModel(4, random_state=0)
    left_out, weightless = clone(model).fit(X), model.fit(both, sample_weight=first)
    assert weightless.row_prior_ == left_out.row_prior_
    np.testing.assert_array_equal(weightless.transform(both), left_out.transform(both))
    *others, heldout = given
    priors = [
        with_best_row_prior(
            *others, replace(heldout, X=CSRCounts(heldout.X.table, weights))
        ).row_prior
        for weights in (1 + 99 * first, 100 - 99 * first)
    ]
    assert priors[0] < 0.7 * priors[1]


PLANTED = planted(n_tokens=3000).X.astype(float)
STARTS = [one for one in ESTIMATORS if getattr(one, "tree", "") != "annealed"]


@pytest.mark.usefixtures("few_starts")
@pytest.mark.parametrize("kind", [type(estimator) for estimator in CLASSES])
def test_short_fits_from_one_start_are_those_from_a_fresh_start(kind):
    for estimator in STARTS:
        if type(estimator) is kind:
            assert_start_is_kept(clone(estimator).set_params(**{**FAST, "max_iter": 10}))


def assert_start_is_kept(estimator):
    kept = short_fits(estimator, PLANTED)
    for beta in (0.8, 1.0, 0.8):
        fresh = short_fits(estimator, PLANTED)
        one, two = (fits({"beta": beta}) for fits in (kept, fresh))
        assert one.validation == two.validation
        assert without_seconds(one.history) == without_seconds(two.history)


def without_seconds(history):
    return [repr(record._replace(seconds=0.0)) for record in history]


@pytest.mark.usefixtures("few_starts")
def test_short_fits_are_trials_of_a_fit():
    estimator = clone(ESTIMATORS[0]).set_params(**FAST)
    fits = short_fits(estimator, PLANTED)
    model = estimator.fit(PLANTED)
    (trial,) = (trial for trial in model.tuning_ if trial.stage == "beta")
    assert fits(trial.values).validation == trial.validation
    assert trial.beta == model.beta_
    within = estimator.recipe().beta_range(CSRCounts(PLANTED))
    assert within.low < model.beta_ <= within.high


def test_the_smoothing_of_a_fit_is_that_of_its_chosen_trial():
    model = AspectModel(3, **FAST).fit(planted(n_tokens=300, n_columns=200).X)
    (chosen,) = (trial for trial in model.tuning_ if trial.chosen)
    assert model.smoothing_ == chosen.validation.smoothing > 0.01  # no constant


def test_a_parameter_is_raised_from_the_best_candidate_as_long_as_that_gains():
    candidates = Candidates([{"beta": 0.5}, {"beta": 0.6, "component_prior": 0.1}, {"beta": 0.9}])
    raised = Raised("component_prior", lambda prior: 2 * prior, 4)

    def loss(beta, component_prior=0.0):
        return 10 + abs(beta - 0.6) + abs(component_prior - 0.45)

    trials, chosen = tried([candidates, raised], loss)
    assert [trial.prior for trial in trials] == [0, 0.1, 0, 0.2, 0.4, 0.8]
    assert chosen.values == {"beta": 0.6, "component_prior": 0.4}
    few, _ = tried([candidates, Raised("component_prior", lambda prior: 2 * prior, 1)], loss)
    assert len(few) == 4
    equal, _ = tried([Candidates([{"beta": 0.5, "component_prior": 0.1}]), raised], lambda **_: 1.0)
    assert len(equal) == 2  # nothing is gained
    ended, _ = tried([candidates, Raised("component_prior", lambda prior: prior, 4)], loss)
    assert len(ended) == 3
    for enough, n_trials in ((0.01, 6), (0.03, 3)):  # the first prior gains 1.9 %
        few, _ = tried([candidates, replace(raised, enough=enough)], loss)
        assert len(few) == n_trials


@dataclass(eq=False, repr=False)
class TunedTempering(AspectModel):
    """All that a further hyper-parameter that ``fit`` tunes takes, beside its documentation."""

    tempering: str = "auto"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **AspectModel._parameter_constraints,
        "tempering": [StrOptions({"joint", "likelihood", "auto"})],
    }

    def recipe(self):
        recipe = super().recipe()
        return replace(recipe, family=TunedFamily(**vars(recipe.family)))


class TunedFamily(AspectFamily):
    def tunables(self, X):
        return [*super().tunables(X), OneOf("tempering", ("joint", "likelihood"), 0.0)]

    def plain(self, values):
        return replace(super().plain(values), tempering=values.get("tempering", "joint"))


def test_a_new_hyper_parameter_is_tuned_by_what_declares_it_alone():
    X = make_cooccurrences(60, 40, n_components=3, random_state=1).X
    model = TunedTempering(3, max_iter=20, random_state=0).fit(X)
    trials = {trial.values["tempering"]: trial for trial in model.tuning_[-2:]}
    assert set(trials) == {"joint", "likelihood"}
    best = min(trials, key=lambda name: trials[name].validation.perplexity)
    (chosen,) = (trial for trial in model.tuning_ if trial.chosen)
    assert chosen is trials[best]
    options = {"component_prior": chosen.prior, "leave_one_out": model.leave_one_out_}
    options |= {"tempering": best, "beta": chosen.beta, "max_iter": 20, "random_state": 0}
    assert model.beta_ == AspectModel(3, **options).fit(X).beta_
    assert model.tuning_[-1].values.keys() >= {"beta", "tempering"}
    np.testing.assert_array_equal(clone(model).fit(X).components_, model.components_)


@pytest.mark.parametrize(
    ("others", "best"), [(["likelihood"], "joint"), (["likelihood", "none"], "none")]
)
def test_one_of_a_few_values_is_chosen_where_it_is_worth_it(others, best):
    losses = {"joint": 10.0, "likelihood": 9.95, "none": 9.0}
    tunables = [OneOf("beta", [0.9]), OneOf("tempering", others)]
    trials, chosen = tried(tunables, lambda beta=0.9, tempering="joint": losses[tempering])
    assert chosen.values.get("tempering", "joint") == best
    assert len(trials) == 1 + len(others)


def test_short_fits_of_annealed_topics_warm_up():
    """Their temperature is fixed, so that a start near the unigram would collapse."""
    X = make_cooccurrences(60, 40, n_components=3, random_state=0).X
    for annealing in (0.8, 1.3):
        recipe = AspectModel(3, annealing=annealing).recipe()
        (varied,) = [v.in_short_fits(X, chosen=False) for v in recipe.variations]
        assert isinstance(varied, WarmUp)
