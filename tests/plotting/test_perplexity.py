from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skcooc import AspectModel, AveragedModels, Dyads
from skcooc.plotting import PerplexityDisplay
from skcooc.plotting.curves import Curve
from tests.plotting.boxes import outside, overlaps
from tests.tables import planted

pytestmark = pytest.mark.filterwarnings(
    "ignore:EM did not converge", "ignore:All .* components", "ignore:One or more of"
)
X = planted(n_observations=6000).X
CURVE = Curve("one", np.array([1.0, 2.0, 3.0]), np.array([30.0, 20.0, 25.0]))


def results(params, means, **more):
    """A search that has been fitted."""
    n = len(params)
    found = {"params": params, "mean_test_score": -np.log(means), "std_test_score": np.full(n, 0.1)}
    return SimpleNamespace(cv_results_=found | more)


def legend(display):
    box = display.ax_.get_legend()
    return [] if box is None else [text.get_text() for text in box.get_texts()]


def test_iterations_that_were_validated():
    model = AspectModel(4, beta=0.9, early_stopping=True, random_state=0).fit(X)
    display = PerplexityDisplay.from_estimator(model)
    (line,) = display.lines_
    expected = [record.validation_perplexity for record in model.history_]
    np.testing.assert_array_equal(line.get_ydata(), expected)
    np.testing.assert_array_equal(line.get_xdata(), np.arange(1, len(expected) + 1))
    assert display.over == "iterations"
    assert display.ax_.get_xlabel() == "iterations"
    assert display.ax_.get_ylabel() == "held-out perplexity"


def test_temperatures_and_priors_that_were_tried():
    model = AspectModel(4, random_state=0).fit(X)
    beta = PerplexityDisplay.from_estimator(model)
    probes = sorted((p for p in model.tuning_ if p.stage == "coarse"), key=lambda p: p.beta)
    assert len(probes) == len(model.tuning_) - 1
    np.testing.assert_array_equal(beta.lines_[0].get_xdata(), [probe.beta for probe in probes])
    np.testing.assert_array_equal(
        beta.lines_[0].get_ydata(), [probe.validation.perplexity for probe in probes]
    )
    with pytest.raises(ValueError, match=r"nothing to draw over component_prior: .* beta"):
        PerplexityDisplay.from_estimator(model, over="component_prior")  # there are data enough
    model = AspectModel(4, random_state=0).fit(planted(6, 1000, n_rows=100, n_columns=100).X)
    probes = [probe for probe in model.tuning_ if not probe.prior]
    prior = PerplexityDisplay.from_estimator(model, over="component_prior")
    assert len(prior.lines_[0].get_xdata()) == len(model.tuning_) - len(probes)
    assert prior.ax_.get_xscale() == "log"
    assert overlaps(prior.figure_) == []
    average = AveragedModels(AspectModel(2, max_iter=9), 2, random_state=0).fit(X)
    assert PerplexityDisplay.from_estimator(average).over == "beta"


def test_the_least_held_out_perplexity_is_marked_and_fits_share_axes():
    display = PerplexityDisplay([CURVE, CURVE._replace(name="two", held_out=False)]).plot()
    marks = [line for line in display.ax_.lines if line.get_marker() == "o"]
    assert [(mark.get_xdata()[0], mark.get_ydata()[0]) for mark in marks] == [(2.0, 20.0)]
    first = PerplexityDisplay([CURVE]).plot()
    assert legend(first) == []
    second = PerplexityDisplay([CURVE._replace(name="two")]).plot(first.ax_)
    assert second.figure_ is first.figure_
    assert legend(second) == ["one", "two"]
    colours = {line.get_color() for display in (first, second) for line in display.lines_}
    assert len(colours) == 2


def test_a_search_over_temperatures():
    params = [{"beta": beta} for beta in (0.9, 0.7, 0.8)]
    display = PerplexityDisplay.from_search(results(params, [40, 30, 20]))
    (line,) = display.lines_
    np.testing.assert_allclose(line.get_xdata(), [0.7, 0.8, 0.9])
    np.testing.assert_allclose(line.get_ydata(), [30, 20, 40])
    np.testing.assert_allclose(display.curves[0].low, np.array([30, 20, 40]) / np.exp(0.1))
    np.testing.assert_allclose(display.curves[0].high, np.array([30, 20, 40]) * np.exp(0.1))
    display = PerplexityDisplay.from_search(results(params, [40, 30, np.nan]))  # not visited
    np.testing.assert_allclose(display.lines_[0].get_xdata(), [0.7, 0.9])


def test_other_parameters_make_curves():
    params = [{"beta": b, "n_components": k} for k in (128, 2) for b in (0.7, 0.8)]
    search = results(params, [10, 20, 30, 40])
    beta = PerplexityDisplay.from_search(search)
    assert legend(beta) == ["K = 128", "K = 2"]
    np.testing.assert_allclose(beta.lines_[1].get_ydata(), [30, 40])
    sizes = PerplexityDisplay.from_search(search, "n_components")
    assert legend(sizes) == ["β = 0.7", "β = 0.8"]
    np.testing.assert_allclose(sizes.lines_[0].get_ydata(), [30, 10])
    assert [label.get_text() for label in sizes.ax_.get_xticklabels()] == ["2", "128"]


def test_training_perplexity_has_the_colour_of_the_held_out():
    params = [{"beta": b, "n_components": k} for k in (8, 2) for b in (0.7, 0.8)]
    train = {"mean_train_score": -np.log([1, 2, 3, 4]), "std_train_score": np.zeros(4)}
    display = PerplexityDisplay.from_search(results(params, [10, 20, 30, 40], **train))
    held_out, training, other, _ = display.lines_
    assert training.get_linestyle() == "--"
    assert training.get_color() == held_out.get_color() != other.get_color()
    assert legend(display) == ["K = 8", "K = 2", "held out", "training"]
    assert display.ax_.get_yscale() == "log"


def test_a_search_of_scikit_learn():
    pipeline = make_pipeline(FunctionTransformer(), AspectModel(2, max_iter=5, random_state=0))
    grid = {"aspectmodel__beta": [0.8, 0.9]}
    search = GridSearchCV(pipeline, grid, cv=KFold(2, shuffle=True, random_state=0))
    display = PerplexityDisplay.from_search(search.fit(Dyads(X)))
    expected = np.exp(-search.cv_results_["mean_test_score"])
    np.testing.assert_allclose(display.lines_[0].get_ydata(), expected)
    assert display.ax_.get_xlabel() == "inverse temperature β"


def test_scores_of_a_search_over_pipelines_that_fail_or_are_several():
    vectorizer, texts = CountVectorizer(), ["tea cup", "goal ball", "cup of tea", "ball goal"] * 3
    pipeline = make_pipeline(vectorizer, AspectModel(2, max_iter=5, random_state=0))
    grid = {"aspectmodel__beta": [0.8, 0.9]}
    search = GridSearchCV(pipeline, grid, cv=2, scoring=lambda *_: np.nan, error_score=np.nan)
    with pytest.raises(ValueError, match="no candidate of the search has a score"):
        PerplexityDisplay.from_search(search.fit(texts))
    scoring = {"first": lambda model, X: model.score(X), "other": lambda *_: 0.0}
    search = GridSearchCV(pipeline, grid, cv=2, scoring=scoring, refit="first").fit(texts)
    display = PerplexityDisplay.from_search(search)
    expected = np.exp(-search.cv_results_["mean_test_first"])
    np.testing.assert_allclose(display.lines_[0].get_ydata(), expected)
    search.refit = False
    with pytest.raises(ValueError, match="several scores, and refit=False"):
        PerplexityDisplay.from_search(search)


@pytest.mark.parametrize("size", [None, (5, 3)])
@pytest.mark.parametrize("over", ["beta", "n_components"])
def test_no_text_overlaps_another_or_is_cut_off(size, over):
    params = [{"beta": b, "n_components": k} for k in (2, 8, 32, 128) for b in (0.6, 0.7, 0.8, 1.0)]
    means = np.random.default_rng(0).uniform(100, 2000, len(params))
    train = {"mean_train_score": -np.log(means / 4), "std_train_score": np.zeros(len(params))}
    ax = None if size is None else plt.subplots(figsize=size, layout="constrained")[1]
    display = PerplexityDisplay.from_search(results(params, means, **train), over, ax=ax)
    assert overlaps(display.figure_) == outside(display.figure_) == []
