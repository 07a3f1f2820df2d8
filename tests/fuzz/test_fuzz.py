"""A quick profile; SKCOOC_FUZZ=100 makes so many times as many trials, other ones each time."""

import os

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings

from skcooc import AspectModel, Dyads, metrics, open_table, save_table
from skcooc.heldout import Factors, HeldOut
from skcooc.metrics import topic_diversity
from skcooc.model_selection import ComponentSearchCV
from skcooc.tables import as_counts
from tests.fuzz.judging import Refused, Wrong, same, tried
from tests.fuzz.tables import Table
from tests.fuzz.trials import Fitting, Model, fittings, measurings, streams, writings
from tests.tables import refused

FACTOR = int(os.environ.get("SKCOOC_FUZZ", "1"))
COUNTS = ((3.0, 1.0, 0.0), (0.0, 2.0, 4.0), (1.0, 1.0, 5.0))


def quick(n_examples):
    profile = {"derandomize": FACTOR == 1, "deadline": None, "database": None}
    return settings(
        max_examples=FACTOR * n_examples, suppress_health_check=list(HealthCheck), **profile
    )


@pytest.mark.parametrize(
    ("trials", "n_examples"), [(fittings(), 16), (streams(), 10), (measurings, 25), (writings, 20)]
)
def test_trials(trials, n_examples):
    @quick(n_examples)
    @given(trials)
    def run(trial):
        trial.run()

    run()


def test_wrong_results_are_detected(monkeypatch):
    """Broken twins: wrong sums, errors that are not refusals, unclear refusals."""
    model = Model("AspectModel", {"beta": 0.9, "max_iter": 3, "random_state": 0})
    trial = Fitting(model, Table(COUNTS, "csc_array"))
    assert trial.run() == "fitted"
    whole = AspectModel.transform
    with monkeypatch.context() as broken:
        broken.setattr(AspectModel, "transform", lambda self, X: 2 * whole(self, X))
        refused("rows of transform sum to", trial.run, error=Wrong)
    refused("IndexError", tried, lambda: [][1], error=Wrong)
    refused("unclear ValueError", tried, lambda: np.ones(3) + np.ones(2), error=Wrong)
    refused("Negative values", tried, lambda: Dyads([[-1.0]]), error=Refused)
    refused("depends on the container", same, [1.0], [1.1], "it", error=Wrong)


def test_measures_of_dyads_on_disk_too_are_those_of_their_table(tmp_path):
    save_table(tmp_path / "table", [Dyads(COUNTS)])
    np.testing.assert_array_equal(next(iter(open_table(tmp_path / "table"))).toarray(), COUNTS)
    table, labels = np.array(COUNTS), [0, 1, 0]
    for measure in (
        metrics.unigram,
        metrics.mutual_information,
        lambda X: metrics.integrated_complete_likelihood(X, labels),
        lambda X: metrics.average_precision_by_query(X, np.arange(9.0).reshape(3, 3)),
    ):
        same(measure(Dyads(table)), measure(table), "a measure")


def test_searches_refuse_what_their_estimator_would_and_rows_of_next_to_nothing():
    model = AspectModel(2, solver="fast")
    search = ComponentSearchCV(model, cv=2)
    refused("'solver' parameter of AspectModel", search.fit, np.array(COUNTS))
    params = {"max_iter": 3, "random_state": 0, "early_stopping": True, "solver": 1.8}
    table = Table(((1e-30, 0.0, 1e-300, 5e-324),))
    outcome = Fitting(Model("AspectModel", params, "InterpolatedModels"), table).run()
    assert outcome in ("refused", "fitted")
    nothing = HeldOut(as_counts(sp.csr_array([[1.0]])), np.ones(1), 0.1)
    refused("orders of magnitude", nothing.score, Factors(np.full((1, 1), np.nan), np.ones((1, 1))))


def test_empty_topics_are_refused_and_frames_have_no_names_of_topics():
    for wrong in ([], [[], []], 1.0, np.zeros((0, 3))):
        refused(r"Expected 2D|0 feature|0 sample", topic_diversity, wrong, 2)
    pandas = pytest.importorskip("pandas")
    components = np.array([[0.6, 0.4, 0.0], [0.0, 0.5, 0.5]])
    assert topic_diversity(pandas.DataFrame(components, columns=["ab", "cd", "ef"]), 1) == 1.0


def test_sparse_arrays_of_any_order_of_bytes():
    table = sp.csr_array(np.array(COUNTS))
    foreign = sp.csr_array((table.data.astype(">f8"), table.indices, table.indptr), table.shape)
    assert not foreign.dtype.isnative
    models = [AspectModel(2, beta=0.9, max_iter=3, random_state=0) for _ in range(2)]
    for form in ("csr", "csc", "coo"):
        other = table.asformat(form).copy()
        other.data = other.data.astype(">f8")
        same(models[0].fit(other).components_, models[1].fit(table).components_, form)
    same(models[0].fit(foreign).components_, models[1].components_, "csr")
    assert not foreign.dtype.isnative
