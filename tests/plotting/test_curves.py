from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

from skcooc import AspectModel, AveragedModels, Dyads
from skcooc.model_selection import ComponentSearchCV
from skcooc.plotting import KSelectionDisplay, PerplexityDisplay
from skcooc.plotting.curves import Curve, Measurements
from tests.plotting.common import assert_legible, overlaps
from tests.tables import planted

pytestmark = pytest.mark.filterwarnings(
    "ignore:EM did not converge", "ignore:All .* components", "ignore:One or more of"
)
X = planted(n_observations=6000).X
CURVE = Curve("one", np.array([1.0, 2.0, 3.0]), np.array([30.0, 20.0, 25.0]))
N = np.array([12, 2, 3, 5, 8])  # not sorted, as in a search


def results(params, means, **more):
    n = len(params)
    own = {"params": params, "mean_test_score": -np.log(means), "std_test_score": np.full(n, 0.1)}
    return SimpleNamespace(cv_results_=own | more)


def legend(display):
    box = display.ax_.get_legend()
    return [] if box is None else [text.get_text() for text in box.get_texts()]


def test_validated_iterations_tuned_temperatures_and_priors():
    model = AspectModel(4, beta=0.9, early_stopping=True, random_state=0).fit(X)
    display = PerplexityDisplay.from_estimator(model)
    (line,) = display.lines_
    expected = [record.validation_perplexity for record in model.history_]
    np.testing.assert_array_equal(line.get_ydata(), expected)
    np.testing.assert_array_equal(line.get_xdata(), np.arange(1, len(expected) + 1))
    assert display.over == display.ax_.get_xlabel() == "iterations"
    assert display.ax_.get_ylabel() == "held-out perplexity"
    model = AspectModel(4, random_state=0).fit(X)
    beta = PerplexityDisplay.from_estimator(model)
    coarse = sorted((t.beta, t.validation.perplexity) for t in model.tuning_ if t.stage == "coarse")
    assert len(coarse) == len(model.tuning_) - 1
    np.testing.assert_array_equal(beta.lines_[0].get_xydata(), coarse)
    with pytest.raises(ValueError, match=r"nothing to draw over component_prior: .* beta"):
        PerplexityDisplay.from_estimator(model, over="component_prior")  # data are not sparse
    model = AspectModel(4, random_state=0).fit(planted(6, 1000, n_rows=100, n_columns=100).X)
    prior = PerplexityDisplay.from_estimator(model, over="component_prior")
    with_prior = [trial for trial in model.tuning_ if trial.prior]
    assert len(prior.lines_[0].get_xdata()) == len(with_prior)
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


def test_searches_over_temperatures_and_other_parameters_make_curves():
    params = [{"beta": beta} for beta in (0.9, 0.7, 0.8)]
    display = PerplexityDisplay.from_search(results(params, [40, 30, 20]))
    (line,) = display.lines_
    np.testing.assert_allclose(line.get_xdata(), [0.7, 0.8, 0.9])
    np.testing.assert_allclose(line.get_ydata(), [30, 20, 40])
    np.testing.assert_allclose(display.curves[0].low, np.array([30, 20, 40]) / np.exp(0.1))
    np.testing.assert_allclose(display.curves[0].high, np.array([30, 20, 40]) * np.exp(0.1))
    display = PerplexityDisplay.from_search(results(params, [40, 30, np.nan]))  # without a score
    np.testing.assert_allclose(display.lines_[0].get_xdata(), [0.7, 0.9])
    params = [{"beta": b, "n_components": k} for k in (128, 2) for b in (0.7, 0.8)]
    train = {"mean_train_score": -np.log([1, 2, 3, 4]), "std_train_score": np.zeros(4)}
    beta = PerplexityDisplay.from_search(results(params, [10, 20, 30, 40], **train))
    held_out, training, other, _ = beta.lines_
    np.testing.assert_allclose(other.get_ydata(), [30, 40])
    assert training.get_linestyle() == "--"
    assert training.get_color() == held_out.get_color() != other.get_color()
    assert legend(beta) == ["K = 128", "K = 2", "held out", "training"]
    assert beta.ax_.get_yscale() == "log"
    sizes = PerplexityDisplay.from_search(results(params, [10, 20, 30, 40]), "n_components")
    assert legend(sizes) == ["β = 0.7", "β = 0.8"]
    np.testing.assert_allclose(sizes.lines_[0].get_ydata(), [30, 10])
    assert [label.get_text() for label in sizes.ax_.get_xticklabels()] == ["2", "128"]
    grids = [{"beta": 0.7}, {"beta": 0.8}, {"beta": 0.8, "component_prior": 0.1}]  # a list of two
    beta = PerplexityDisplay.from_search(results(grids, [10, 20, 30]))
    assert legend(beta) == ["component_prior = default", "component_prior = 0.1"]
    np.testing.assert_allclose(beta.lines_[0].get_ydata(), [10, 20])


def test_searches_of_scikit_learn_with_failures_or_several_scores():
    model = AspectModel(2, max_iter=5, random_state=0)
    search = GridSearchCV(model, {"beta": [0.8, 0.9]}, cv=KFold(2, shuffle=True, random_state=0))
    display = PerplexityDisplay.from_search(search.fit(Dyads(X)))
    expected = np.exp(-search.cv_results_["mean_test_score"])
    np.testing.assert_allclose(display.lines_[0].get_ydata(), expected)
    assert display.ax_.get_xlabel() == "inverse temperature β"
    texts = ["tea cup", "goal ball", "cup of tea", "ball goal"] * 3
    pipeline = make_pipeline(CountVectorizer(), model)
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
    with pytest.raises(ValueError, match="several scores; refit=False"):
        PerplexityDisplay.from_search(search)


@pytest.mark.parametrize(("over", "size"), [("beta", None), ("n_components", (5, 3))])
def test_texts_are_legible(over, size):
    params = [{"beta": b, "n_components": k} for k in (2, 8, 32, 128) for b in (0.6, 0.7, 0.8, 1.0)]
    means = np.random.default_rng(0).uniform(100, 2000, len(params))
    train = {"mean_train_score": -np.log(means / 4), "std_train_score": np.zeros(len(params))}
    ax = None if size is None else plt.subplots(figsize=size, layout="constrained")[1]
    assert_legible(PerplexityDisplay.from_search(results(params, means, **train), over, ax=ax))


def component_search(still_falling=False, **more):
    perplexity = 900.0 - 40 * np.sqrt(N)
    own = {
        "param_n_components": np.ma.MaskedArray(N),
        "mean_test_score": -np.log(perplexity),
        "mean_unseen_score": -np.log(2 * perplexity),
        "error_test_score": np.full(5, 0.01),
        "error_unseen_score": np.full(5, 0.02),
        **dict.fromkeys(Measurements._fields[5:], N / 20),
    }
    best = {"best_params_": {"n_components": 12}, "best_n_components_": 12}
    return SimpleNamespace(cv_results_=own | more, still_falling_=still_falling, **best)


def test_results_of_a_component_search():
    display = KSelectionDisplay.from_search(component_search())
    x, y = display.ax_.lines[0].get_data()
    np.testing.assert_array_equal(x, np.sort(N))
    np.testing.assert_allclose(y, 900 - 40 * np.sqrt(np.sort(N)))
    band = display.ax_.collections[0].get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx(1.01 * y[0])
    assert display.figure_.get_suptitle() == "Chosen: 12"
    assert display.axes_[0, 1].get_ylabel() == "perplexity of words new to the row"
    assert display.ax_.lines[-1].get_linestyle() == "-"
    assert_legible(display)
    display = KSelectionDisplay.from_search(component_search(still_falling=True))
    assert display.figure_.get_suptitle().startswith("Still falling at 12")
    assert display.ax_.lines[-1].get_linestyle() == "--"
    display = KSelectionDisplay.from_search(component_search(icl=-100.0 * N))  # hard clusters
    np.testing.assert_array_equal(display.axes_[0, 1].lines[0].get_ydata(), -100.0 * np.sort(N))
    assert "ICL" in display.axes_[0, 1].get_ylabel()
    with pytest.raises(NotFittedError):
        KSelectionDisplay.from_search(ComponentSearchCV(AspectModel()))
    pair = component_search()
    pair.best_params_ = {"n_row_clusters": 2, "n_column_clusters": 3}
    with pytest.raises(ValueError, match="over n_row_clusters and n_column_clusters"):
        KSelectionDisplay.from_search(pair)
