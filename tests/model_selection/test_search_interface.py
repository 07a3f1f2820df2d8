import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from skcooc import AspectModel, AsymmetricClustering, Dyads, TriadicAspectModel
from skcooc.model_selection import ComponentSearchCV, TemperatureSearchCV
from skcooc.protocol.scikit_learn import ProgressBar
from tests.cases import FAST
from tests.contract import TEXTS
from tests.data import requires_callbacks
from tests.tables import planted, refused
from tests.test_estimators import impossible
from tests.watching import Watcher

X = planted(n_tokens=2000).X.astype(float)
FAST = {**FAST, "max_iter": 10}
MODEL = AspectModel(3, smoothing=0.01, **FAST)
BETAS = [0.7, 0.85, 1.0]

pytestmark = pytest.mark.usefixtures("few_starts")


def search_of(estimator=MODEL, **options):
    return TemperatureSearchCV(estimator, **{"betas": BETAS, "cv": 2, **options})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("short_starts")
def test_scikit_learn_checks():
    estimator = AsymmetricClustering(2, max_iter=3, tol=0.0, random_state=0)
    search = search_of(estimator, betas=[0.9], split="rows")
    check_estimator(search, expected_failed_checks=impossible(estimator))


def test_pipelines_of_texts_divide_rows():
    pipeline = make_pipeline(CountVectorizer(), MODEL)
    search = search_of(pipeline, split="rows").fit(TEXTS)
    assert set(search.best_params_) == {"aspectmodel__beta"}
    grid = GridSearchCV(pipeline, {"aspectmodel__beta": BETAS}, cv=2).fit(TEXTS)
    mine, its = (s.cv_results_["split1_test_score"] for s in (search, grid))
    np.testing.assert_array_equal(mine[~np.isnan(mine)], its[~np.isnan(mine)])
    assert search.transform(TEXTS[:3]).shape == (3, 3)


def without_two(X):
    """Leave out the last two columns."""
    return X[:, :-2]


def test_pipelines_of_counts_divide_observations():
    wide = np.hstack([X.toarray(), np.zeros((X.shape[0], 2))])
    plain = search_of().fit(X)
    selected = search_of(make_pipeline(FunctionTransformer(without_two), MODEL)).fit(wide)
    alone = search_of(make_pipeline(MODEL)).fit(Dyads(X))
    for search in (selected, alone):
        for name in ("split0_test_score", "split0_validation_score"):
            np.testing.assert_array_equal(search.cv_results_[name], plain.cv_results_[name])
    weights = make_pipeline(TfidfTransformer(norm=None), MODEL)
    assert np.isfinite(search_of(weights).fit(X).best_score_)


def test_steps_of_pipelines_output_and_tags():
    pipeline = make_pipeline(CountVectorizer(), search_of())
    assert pipeline.fit(TEXTS).transform(TEXTS[:3]).shape == (3, 3)
    names = [f"aspectmodel{k}" for k in range(3)]
    assert list(pipeline.get_feature_names_out()) == names
    assert np.isfinite(pipeline.score(TEXTS))
    frame = pd.DataFrame(X.toarray(), columns=[f"w{j}" for j in range(X.shape[1])])
    search = search_of(clone(MODEL)).set_output(transform="pandas").fit(frame)
    assert list(search.transform(frame).columns) == list(search.get_feature_names_out())
    search.set_output(transform="default")
    assert isinstance(search.transform(frame), np.ndarray)
    assert get_tags(search).input_tags.positive_only
    assert get_tags(search_of(AsymmetricClustering())).estimator_type == "clusterer"
    assert "AspectModel" in search._repr_html_()


def test_weights_reach_the_step_that_is_fitted_and_are_routed():
    weights = np.random.default_rng(0).uniform(0.5, 2, X.shape[0])
    plain = search_of().fit(X, sample_weight=weights)
    piped = search_of(make_pipeline(MODEL)).fit(X, aspectmodel__sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = search_of(clone(MODEL).set_fit_request(sample_weight=True))
        routed.fit(X, sample_weight=weights)
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            search_of().fit(X, sample_weight=weights)
    for name in ("split0_test_score", "split0_validation_score"):
        for other in (piped, routed):
            np.testing.assert_array_equal(plain.cv_results_[name], other.cv_results_[name])


def test_methods_depend_on_the_estimator():
    clusters = search_of(AsymmetricClustering(3, **FAST))
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
    assert {"beta = 0.85, fold 0", "beta = 0.85, fold 1"} <= set(watch.began)
    bar = ProgressBar(max_propagation_depth=2)
    search_of(n_jobs=2).set_callbacks(bar).fit(X)
    assert "TemperatureSearchCV" in "".join(capsys.readouterr())  # the command line redirects rich


REFUSED = [
    (search_of(LogisticRegression()), TypeError, "needs a single model of skcooc"),
    (search_of(TriadicAspectModel(2)), TypeError, "needs a single model of skcooc"),
    (search_of(AsymmetricClustering(hard=True)), ValueError, "has no temperature"),
    *(
        (search_of(betas=betas), ValueError, r"numbers in \(0, 1\]")
        for betas in ([0.0, 0.5], [0.5, 1.5], [], [0.5, np.nan])
    ),
    (search_of(betas="best"), ValueError, "The 'betas' parameter"),
    (search_of(split="cells"), ValueError, "The 'split' parameter"),
    (search_of(cv=1), ValueError, "greater than 1|at least 2|'cv' parameter"),
    (search_of(param_grid={"beta": [0.5]}), ValueError, "give them as betas"),
    (search_of(param_grid={"gamma": [0.5]}), ValueError, "Invalid parameter 'gamma'"),
    (search_of(n_jobs=0.5), ValueError, "The 'n_jobs' parameter"),
]


def test_bad_parameters_and_data():
    for search, error, message in REFUSED:
        refused(message, search.fit, X, error=error)
    for search in (search_of(split="rows"), search_of(make_pipeline(VarianceThreshold(), MODEL))):
        refused(r"Use X.to_csr\(\)", search.fit, Dyads(X), error=TypeError)
    refused("Negative values", search_of().fit, -X)


def test_a_further_search_keeps_nothing_of_the_first():
    model, named = AspectModel(2, max_iter=3, random_state=0), pd.DataFrame(X.toarray())
    named.columns = [f"w{j}" for j in range(X.shape[1])]
    for search in (
        TemperatureSearchCV(model, [0.8, 1.0], cv=2),
        ComponentSearchCV(model, [1, 2], random_state=0),
    ):
        search.fit(named).set_params(refit=False).fit(X)
        for name in ("best_estimator_", "refit_time_", "feature_names_in_"):
            assert not hasattr(search, name)
