import numpy as np
import pytest
from sklearn.base import clone

from skcooc.counts import CSRCounts
from skcooc.fitting.probing import Probes
from skcooc.heldout.validation import hold_out
from tests.cases import ESTIMATORS, FAST
from tests.tables import planted

X = planted(n_observations=3000).X.astype(float)
pytestmark = pytest.mark.usefixtures("few_starts")
CASES = [case for case in ESTIMATORS if getattr(case, "tree", "binary") != "annealed"]


@pytest.mark.parametrize("estimator", CASES, ids=repr)
def test_a_kept_start_changes_nothing(estimator):
    estimator = clone(estimator).set_params(**FAST)
    counts, plan = CSRCounts(X), estimator._plan()
    options = estimator._options(plan, counts, warm=False)
    rest, heldout = hold_out(counts, *options.division)
    kept = Probes(plan, rest, heldout, options)
    for beta in (0.8, 1.0, 0.6, 0.8):
        assert kept(beta) == Probes(plan, rest, heldout, options)(beta)


def test_probes_are_those_of_a_fit():
    estimator = clone(ESTIMATORS[0]).set_params(**FAST)
    probes, within = estimator._probes(X)
    model = estimator.fit(X)
    assert within.low < model.beta_ < within.high
    ((beta, validation),) = [p[:2] for p in model.temperature_search_ if p.sought == "beta"]
    assert probes(beta) == validation
    assert beta == model.beta_
    estimator = clone(estimator)
    assert not hasattr(estimator, "_state")
    before = dict(vars(estimator))
    estimator._probes(X, np.ones(X.shape[0]))
    assert vars(estimator) == before
