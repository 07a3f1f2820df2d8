import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from skcooc import (
    AspectModel,
    AsymmetricClustering,
    Dyads,
    GuidedAspectModel,
    TriadicAspectModel,
)
from skcooc.model_selection import ComponentSearchCV
from skcooc.protocol.scikit_learn import ProgressBar
from tests.cases import FAST
from tests.contract import TEXTS
from tests.data import requires_callbacks
from tests.tables import planted, refused
from tests.watching import Watcher

X = planted(n_tokens=2000).X.astype(float)
FAST = {**FAST, "max_iter": 10}
MODEL = AspectModel(beta=0.9, smoothing=0.01, **FAST)
WEIGHTS = np.random.default_rng(0).uniform(0.5, 2, X.shape[0])

pytestmark = pytest.mark.usefixtures("few_starts")


def search_of(estimator=MODEL, candidates=(2, 3), **options):
    return ComponentSearchCV(estimator, candidates, **{"cv": 2, "random_state": 0, **options})


def assert_same(first, second):
    for name, values in first.cv_results_.items():
        if name.endswith("_score"):
            np.testing.assert_array_equal(values, second.cv_results_[name])


def test_steps_of_pipelines_output_and_tags():
    pipeline = make_pipeline(CountVectorizer(), search_of(candidates=[3]))
    assert pipeline.fit(TEXTS).transform(TEXTS[:3]).shape == (3, 3)
    names = [f"aspectmodel{k}" for k in range(3)]
    assert list(pipeline.get_feature_names_out()) == names
    assert np.isfinite(pipeline.score(TEXTS))
    frame = pd.DataFrame(X.toarray(), columns=[f"w{j}" for j in range(X.shape[1])])
    search = search_of(clone(MODEL)).set_output(transform="pandas")
    assert list(search.fit_transform(frame).columns) == list(search.get_feature_names_out())
    search.set_output(transform="default")
    assert isinstance(search.transform(frame), np.ndarray)
    assert get_tags(search).input_tags.positive_only
    assert get_tags(search_of(AsymmetricClustering())).estimator_type == "clusterer"
    assert "AspectModel" in search._repr_html_()


def test_containers_agree():
    names = [f"w{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X.toarray(), columns=names)
    first = search_of().fit(X)
    np.testing.assert_array_equal(first.transform(X), first.best_estimator_.transform(X))
    for table in (X.toarray(), X.tocsc(), frame, Dyads(frame)):
        other = search_of().fit(table)
        assert_same(first, other)
    assert list(other.feature_names_in_) == names
    assert other.n_features_in_ == len(names)


def test_weights_reach_the_estimator_and_are_routed():
    plain = search_of().fit(X, sample_weight=WEIGHTS)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = search_of(clone(MODEL).set_fit_request(sample_weight=True))
        routed.fit(X, sample_weight=WEIGHTS)
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            search_of().fit(X, sample_weight=WEIGHTS)
    assert_same(plain, routed)
    dyads = Dyads(X)  # weights are those of tokens
    message = r"sample_weight.shape == \(\d+,\), expected"
    refused(message, search_of().fit, dyads, sample_weight=WEIGHTS)
    tokens = search_of(candidates=[1]).fit(dyads, sample_weight=WEIGHTS[dyads.rows])
    rows = search_of(candidates=[1]).fit(X, sample_weight=WEIGHTS)
    assert split_scores(tokens) == pytest.approx(split_scores(rows), rel=1e-3)


def test_groups_reach_the_splitter():
    dyads = Dyads(X)
    groups = np.arange(len(dyads)) % 3
    search = search_of(cv=GroupKFold(3)).fit(dyads, groups=groups)
    expected = [(groups != fold, groups == fold) for fold in np.unique(groups)]
    by_hand = search_of(cv=[tuple(map(np.flatnonzero, fold)) for fold in expected]).fit(dyads)
    assert sorted(split_scores(search)) == pytest.approx(sorted(split_scores(by_hand)))


def test_groups_reach_an_estimator_with_effects_of_groups():
    groups = np.arange(X.shape[0]) % 2
    grouped = GuidedAspectModel(2, group_effects="columns", **FAST)
    search = search_of(grouped, candidates=[2, 3]).fit(X, groups=groups)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = clone(grouped).set_fit_request(groups=True).set_score_request(groups=False)
        assert_same(search, search_of(asking, candidates=[2, 3]).fit(X, groups=groups))
    np.testing.assert_array_equal(search.best_estimator_.groups_, [0, 1])


def split_scores(search):
    return [search.cv_results_[f"split{fold}_test_score"][0] for fold in range(search.n_splits_)]


def test_methods_depend_on_the_estimator():
    clusters = search_of(AsymmetricClustering(**FAST))
    assert hasattr(clusters, "predict")
    assert not hasattr(search_of(), "predict")
    with pytest.raises(NotFittedError):
        clusters.predict(X)
    clusters.fit(X)
    np.testing.assert_array_equal(clusters.predict(X), clusters.best_estimator_.predict(X))
    assert clusters.score(X) == clusters.best_estimator_.score(X)
    assert not hasattr(search_of(refit=False).fit(X), "best_estimator_")
    with pytest.raises(AttributeError, match="transform is available only after"):
        search_of(refit=False).fit(X).transform(X)


class Watch(Watcher):
    """Records the names of tasks."""

    def __init__(self):
        self.began, self.ended = [], []

    def on_fit_task_begin(self, estimator, context):
        self.began.append(context.task_name)

    def on_fit_task_end(self, estimator, context):
        self.ended.append(context.task_name)


@requires_callbacks
def test_fits_are_tasks_of_callbacks(capsys):
    watch = Watch()
    search_of().set_callbacks(watch).fit(X)
    assert sorted(watch.began) == sorted(watch.ended)
    assert watch.began[:2] == ["fit", "search"]
    assert watch.ended[-2:] == ["refit-with-best-params", "fit"]
    assert {"K = 2", "K = 3"} <= set(watch.began)
    bar = ProgressBar(max_propagation_depth=2)
    search_of(n_jobs=2).set_callbacks(bar).fit(X)
    assert "ComponentSearchCV" in "".join(capsys.readouterr())  # the command line redirects rich


def test_bad_parameters_and_data():
    for search, error, message in (
        (search_of(LogisticRegression()), TypeError, "needs an estimator of skcooc for tables of"),
        (search_of(TriadicAspectModel(2)), TypeError, "needs an estimator of skcooc for tables of"),
        (search_of(make_pipeline(MODEL)), TypeError, "For a pipeline, search over its last"),
        (search_of(candidates="best"), ValueError, "The 'candidates' parameter"),
        (search_of(criterion="bic"), ValueError, "The 'criterion' parameter"),
        (search_of(criterion="icl"), ValueError, "is for hard clusterings: set hard=True"),
        (search_of(cv=1), ValueError, "greater than 1|at least 2|'cv' parameter"),
        (search_of(n_jobs=0.5), ValueError, "The 'n_jobs' parameter"),
    ):
        refused(message, search.fit, X, error=error)
    refused("Negative values", search_of().fit, -X)


def test_a_further_search_keeps_nothing_of_the_first(monkeypatch):
    frame = pd.DataFrame(X.toarray(), columns=[f"w{j}" for j in range(X.shape[1])])
    search = search_of().fit(frame)
    before = fitted_attributes(search)
    with monkeypatch.context() as broken:
        broken.setattr(AspectModel, "fit", interrupt)
        with pytest.raises(KeyboardInterrupt):
            search.set_params(candidates=[2, 4]).fit(X)
    after = fitted_attributes(search)
    assert all(after[name] is before[name] for name in before | after)
    search.set_params(refit=False).fit(X)
    for name in ("best_estimator_", "refit_time_", "feature_names_in_"):
        assert not hasattr(search, name)


def fitted_attributes(search):
    return {name: value for name, value in vars(search).items() if name.endswith("_")}


def interrupt(*args, **params):
    raise KeyboardInterrupt
