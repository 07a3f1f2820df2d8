import numpy as np
import pytest
from sklearn.base import clone

from skcooc.counts import CSRCounts
from skcooc.fitting.short_fits import ShortFits
from skcooc.heldout.validation import hold_out
from tests.cases import CLASSES, ESTIMATORS, FAST, VARIANTS
from tests.tables import planted

X = planted(n_observations=3000).X.astype(float)
pytestmark = pytest.mark.usefixtures("few_starts")


@pytest.mark.parametrize("kind", map(type, CLASSES))
def test_a_kept_start_changes_nothing(kind):
    for estimator in [*ESTIMATORS, *VARIANTS]:
        if type(estimator) is kind and getattr(estimator, "tree", "binary") != "annealed":
            assert_start_is_kept(clone(estimator).set_params(**FAST))


def assert_start_is_kept(estimator):
    counts, recipe = CSRCounts(X), estimator.recipe().with_seeds((0,))
    rest, heldout = hold_out(counts, *recipe.settings.division)
    kept = ShortFits(recipe, rest, heldout)
    for beta in (0.8, 1.0, 0.8):
        fresh = ShortFits(recipe, rest, heldout)
        assert kept({"beta": beta}).validation == fresh({"beta": beta}).validation


def test_trials_are_those_of_a_fit():
    estimator = clone(ESTIMATORS[0]).set_params(**FAST)
    short, within = estimator.short_fits(X)
    model = estimator.fit(X)
    assert within.low < model.beta_ < within.high
    (trial,) = (trial for trial in model.tuning_ if trial.stage == "beta")
    assert short(trial.values).validation == trial.validation
    assert trial.beta == model.beta_
    estimator = clone(estimator)
    assert not hasattr(estimator, "_state")
    before = dict(vars(estimator))
    estimator.short_fits(X, np.ones(X.shape[0]))
    assert vars(estimator) == before
