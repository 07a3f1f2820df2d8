"""A fit ends where it says: at its least objective, from which more iterations hardly go down."""

from itertools import groupby

import numpy as np
import pytest
from sklearn.base import clone

from skcooc import (
    AspectModel,
    AsymmetricClustering,
    ClusterAbstraction,
    ClusteringProjection,
    Dyads,
    GuidedAspectModel,
    ProductSpaceMixture,
    SymmetricClustering,
    open_table,
    save_table,
)
from skcooc.equations.row_clusters import RowClusters
from skcooc.model_selection import split_counts
from tests.tables import planted

SIZES = {"n_rows": 200, "n_columns": 100, "n_tokens": 16000}
TABLES = {
    "topics": planted(4, **SIZES).X,
    "clusters": planted(4, kind="clusters", **SIZES).X,
}
GROUPS = np.arange(200) % 3
# A topic that is kept, of the columns themselves: continued parameters are mixed with the unigram.
KEPT = {"kept": TABLES["topics"][:20].sum(axis=0)}
MODELS = {
    "topics": AspectModel(4),
    "topics, joint": AspectModel(4, tempering="joint"),
    "topics, likelihood": AspectModel(4, tempering="likelihood"),
    "topics, momentum": AspectModel(4, solver="momentum"),
    "topics, bursty": AspectModel(4, burstiness="auto"),
    "topics, falling": AspectModel(4, annealing=0.8),
    "guided": GuidedAspectModel(4, seed_features={"a": [0, 3], "b": [5, 9]}),
    "guided, kept": GuidedAspectModel(4, tempering="joint", fixed_components=KEPT),
    "guided, groups": GuidedAspectModel(4, group_effects="both"),
    "clusters": AsymmetricClustering(4),
    "clusters, counts": AsymmetricClustering(4, object_weights="counts"),
    "clusters, equal": AsymmetricClustering(4, object_weights="equal"),
    "clusters, estimated": AsymmetricClustering(4, proportions="estimated"),
    "clusters, hard": AsymmetricClustering(4, hard=True),
    "clusters of columns": AsymmetricClustering(4, axis="columns"),
    "clusters of columns, sqrt": AsymmetricClustering(4, axis="columns", object_weights="sqrt"),
    "co-clusters": SymmetricClustering(4, 4),
    "co-clusters, sqrt": SymmetricClustering(4, 4, object_weights="sqrt"),
    "co-clusters, hard": SymmetricClustering(4, 4, hard=True),
    "tree": ClusterAbstraction(4),
    "tree, grown": ClusterAbstraction(4, tree="grown"),
    "projections": ClusteringProjection(4, 4),
    "product space": ProductSpaceMixture(4, 4),
}
# Their objective may rise, and a fit ends when it has not fallen for several iterations.
MAY_RISE = {
    "topics, leave one out": AspectModel(4, leave_one_out=True),
    "topics, splitting": AspectModel(4, annealing=1.2),  # distinctive
    "clusters, leave one out": AsymmetricClustering(4, leave_one_out=True),
    "product space, leave one out": ProductSpaceMixture(4, 4, leave_one_out=True),
}
ROUNDING = 1e-6  # of float32, relative to the objective
GAIN = 1e-3


def fitted(name, table):
    model = clone((MODELS | MAY_RISE)[name]).set_params(random_state=0, warm_start=True)
    return model.fit(TABLES[table], **({"groups": GROUPS} if "groups" in name else {}))


def last_stage(model):
    """Objectives at the last temperature."""
    parts = groupby(model.history_, key=lambda record: (record.stage, record.beta))
    *_, last = [list(part) for _, part in parts]
    return np.array([record.free_energy for record in last])


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", [*MODELS, *MAY_RISE])
def test_a_fit_ends_at_its_least_objective_which_more_iterations_hardly_lower(name, table):
    model = fitted(name, table)
    before, objectives = model.objective_, last_stage(model)
    if name in MODELS:
        assert model.converged_
        assert before == objectives[-1]
        assert before - objectives.min() <= ROUNDING * abs(before)
    groups = {"groups": GROUPS} if "groups" in name else {}
    model.set_params(tol=0, max_iter=100).fit(TABLES[table], **groups)
    assert before - last_stage(model).min() < GAIN * abs(before)


def test_a_start_of_another_table_ends_early_without_what_belongs_to_the_table(monkeypatch):
    monkeypatch.setattr(RowClusters, "for_table", lambda self, params, X: params)
    objectives = last_stage(fitted("clusters", "topics"))
    assert len(objectives) == 2
    assert objectives[1] > 1.01 * objectives[0]


@pytest.mark.parametrize("leave_one_out", [False, "auto"])
def test_fits_go_on_from_the_rows_of_the_short_fit(leave_one_out):
    """From the prior of rows, the first M-step would flatten the topics of short rows for good."""
    train, test = split_counts(planted(10, 8000, n_rows=1000, n_columns=160).X, random_state=0)
    options = {"random_state": 0, "max_iter": 60, "tol": 1e-4}
    model = AspectModel(20, leave_one_out=leave_one_out, **options).fit(train)
    assert model.leave_one_out_ == bool(leave_one_out)
    first = next(record for record in model.history_ if record.stage == "fit")
    assert first.beta == model.beta_ < 1  # not the first iteration of a warm-up
    (chosen,) = (trial for trial in model.tuning_ if trial.chosen)
    assert model.perplexity(Dyads(test)) < 1.05 * chosen.validation.perplexity


def test_a_table_of_which_a_sample_is_tuned_is_predicted_as_well(tmp_path, monkeypatch):
    """The rows of the others are not those of a short fit, so the last run begins anew."""
    monkeypatch.setattr("skcooc.tables.reading.SAMPLE_ROWS", 500)
    train, test = split_counts(planted(10, 16000, n_rows=2000, n_columns=160).X, random_state=0)
    save_table(tmp_path / "table", train)
    model = AspectModel(20, leave_one_out=False, random_state=0)
    expected = clone(model).fit(train).perplexity(Dyads(test))
    assert model.fit(open_table(tmp_path / "table")).perplexity(Dyads(test)) < 1.1 * expected
