import io
import sys
from functools import cache
from types import SimpleNamespace

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

from skcooc import AspectModel, AveragedModels, Dyads, SymmetricClustering
from skcooc.hierarchy import binary_tree
from skcooc.image import TextureSegmenter
from skcooc.inspection import Mixtures
from skcooc.model_selection import ComponentSearchCV
from skcooc.plotting import (
    AbstractionDisplay,
    AssociationDisplay,
    HierarchyDisplay,
    KSelectionDisplay,
    PerplexityDisplay,
    SegmentationDisplay,
    SharesDisplay,
    SplitsDisplay,
    StructureDisplay,
    TopicMapDisplay,
    TopicsDisplay,
    style,
)  # fmt: skip
from skcooc.plotting.canvas import NEUTRAL, colours
from skcooc.plotting.curves import Curve, Measurements
from skcooc.plotting.segmentation import borders
from tests.inspection.planted import hierarchy_model, stand_in
from tests.plotting.common import assert_legible, overlaps
from tests.plotting.test_hierarchy import SPLITS
from tests.tables import planted, refused

pytestmark = pytest.mark.filterwarnings(
    "ignore:EM did not converge", "ignore:All .* components", "ignore:One or more of"
)


X = planted(n_tokens=6000).X
CURVE = Curve("one", np.array([1.0, 2.0, 3.0]), np.array([30.0, 20.0, 25.0]))
N = np.array([12, 2, 3, 5, 8])  # not sorted, as in a search


def results(params, means, **more):
    n = len(params)
    own = {"params": params, "mean_test_score": -np.log(means), "std_test_score": np.full(n, 0.1)}
    return SimpleNamespace(cv_results_=own | more)


def legend(display):
    box = display.ax_.get_legend()
    return [] if box is None else [text.get_text() for text in box.get_texts()]


def marks(display):
    points = [line.get_xydata() for line in display.ax_.lines if line.get_marker() == "o"]
    return [tuple(*point) for point in points]


def test_validated_iterations_tuned_temperatures_and_priors():
    model = AspectModel(4, beta=0.9, early_stopping=True, random_state=0).fit(X)
    display = PerplexityDisplay.from_estimator(model)
    (line,) = display.lines_
    records = [record for record in model.history_ if record.stage == "fit"]
    expected = np.array([record.validation_perplexity for record in records])
    validated = np.isfinite(expected)
    assert not validated[0]  # of the warm-up
    np.testing.assert_array_equal(line.get_ydata(), expected[validated])
    np.testing.assert_array_equal(line.get_xdata(), 1 + np.flatnonzero(validated))
    assert display.over == display.ax_.get_xlabel() == "iterations"
    assert display.ax_.get_ylabel() == "held-out perplexity"
    model = AspectModel(4, component_prior=0.0, random_state=0).fit(X)
    beta = PerplexityDisplay.from_estimator(model)
    coarse = sorted((t.beta, t.validation.perplexity) for t in model.tuning_ if t.stage == "coarse")
    assert len(coarse) == len(model.tuning_) - 2  # and the final size, and joint tempering
    np.testing.assert_array_equal(beta.lines_[0].get_xydata(), coarse)
    assert legend(beta) == [curve.name for curve in beta.curves] == ["coarse", "beta", "tempering"]
    (chosen,) = (trial for trial in model.tuning_ if trial.chosen)
    assert marks(beta) == [(model.beta_, chosen.validation.perplexity)]
    assert_legible(beta)
    named = PerplexityDisplay.from_estimator(model, name="one")
    assert legend(named) == ["one, coarse", "one, beta", "one, tempering"]
    with pytest.raises(ValueError, match=r"nothing to draw over component_prior: .* beta"):
        PerplexityDisplay.from_estimator(model, over="component_prior")
    model = AspectModel(4, random_state=0).fit(planted(6, 1000, n_rows=100, n_columns=100).X)
    prior = PerplexityDisplay.from_estimator(model, over="component_prior")
    with_prior = [trial for trial in model.tuning_ if trial.prior]
    *same, _, _ = [(trial.prior, trial.validation.perplexity) for trial in with_prior]
    assert len({trial.beta for trial in with_prior[: len(same)]}) == 1  # then it is tuned again
    np.testing.assert_array_equal(prior.lines_[0].get_xydata(), sorted(same))
    assert prior.ax_.get_xscale() == "log"
    assert overlaps(prior.figure_) == []
    in_prior = [trial for trial in with_prior if trial.stage == "prior"]
    lowest = {
        beta: min(trial.validation.perplexity for trial in in_prior if trial.beta == beta)
        for beta in sorted({trial.beta for trial in in_prior})
    }
    drawn = PerplexityDisplay.from_estimator(model).lines_[2].get_xydata()
    np.testing.assert_array_equal(drawn, list(lowest.items()))
    blocks = SymmetricClustering(2, 2, random_state=0).fit(COUNTS)  # with one stage
    alone = PerplexityDisplay.from_estimator(blocks)
    assert [curve.name for curve in alone.curves] == [f"β = {blocks.beta_:.3g}"]
    assert marks(alone) == [(blocks.beta_, min(alone.curves[0].perplexity))]
    average = AveragedModels(AspectModel(2, max_iter=9), 2, random_state=0).fit(X)
    assert PerplexityDisplay.from_estimator(average).over == "beta"


def test_the_least_held_out_perplexity_is_marked_and_fits_share_axes():
    display = PerplexityDisplay([CURVE, CURVE._replace(name="two", held_out=False)]).plot()
    assert marks(display) == [(2.0, 20.0)]
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
    halved = PerplexityDisplay.from_search(results([*params, *params[:2]], [40, 30, 20, 25, 15]))
    np.testing.assert_allclose(halved.lines_[0].get_xydata(), [[0.7, 15], [0.8, 20], [0.9, 25]])
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
    refused("several scores; refit=False", PerplexityDisplay.from_search, search)


@pytest.mark.parametrize(("over", "size"), [("beta", None), ("n_components", (5, 3))])
def test_texts_are_legible(over, size):
    params = [{"beta": b, "n_components": k} for k in (2, 8, 32, 128) for b in (0.6, 0.7, 0.8, 1.0)]
    means = np.random.default_rng(0).uniform(100, 2000, len(params))
    train = {"mean_train_score": -np.log(means / 4), "std_train_score": np.zeros(len(params))}
    ax = None if size is None else plt.subplots(figsize=size, layout="constrained")[1]
    assert_legible(PerplexityDisplay.from_search(results(params, means, **train), over, ax=ax))
    alike = Curve("alike", np.array([0.86, 1.0]), np.array([20.6201, 20.6404]))
    assert_legible(PerplexityDisplay([alike], over="beta").plot())


def component_search(still_falling=False, **more):
    perplexity = 900.0 - 40 * np.sqrt(N)
    own = {
        "param_n_components": np.ma.MaskedArray(N),
        "mean_cache_score": -np.log(perplexity),
        "mean_unseen_score": -np.log(2 * perplexity),
        "error_cache_score": np.full(5, 0.01),
        "error_unseen_score": np.full(5, 0.02),
        **dict.fromkeys(Measurements._fields[5:], N / 20),
    }
    best = {"best_params_": {"n_components": 12}, "best_n_components_": 12}
    return SimpleNamespace(
        cv_results_=own | more, still_falling_=still_falling, criterion_="cache", **best
    )


def test_results_of_a_component_search():
    display = KSelectionDisplay.from_search(component_search())
    x, y = display.ax_.lines[0].get_data()
    np.testing.assert_array_equal(x, np.sort(N))
    np.testing.assert_allclose(y, 900 - 40 * np.sqrt(np.sort(N)))
    band = display.ax_.collections[0].get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx(1.01 * y[0])
    assert display.figure_.get_suptitle() == "Chosen: 12"
    assert display.axes_[0, 1].get_ylabel() == "perplexity of columns new\nto the row"
    assert display.ax_.get_ylabel() == "held-out perplexity with\ncache"
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
    refused("over n_row_clusters and n_column_clusters", KSelectionDisplay.from_search, pair)


WHITE, DARK = (1.0, 1.0, 1.0), to_rgb("#14181e")


def luminance(colour):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(a, b):
    low, high = sorted([luminance(a), luminance(b)])
    return (high + 0.05) / (low + 0.05)


def test_texts_are_dark_or_of_a_dark_style_on_their_background_and_the_style_is_restored():
    with style():
        assert len(set(colours())) == 7
    for page in (WHITE, DARK):
        assert contrast(NEUTRAL, page) > 3
    before = dict(matplotlib.rcParams)
    for name in ("default", "dark_background"):
        with plt.style.context(name):
            ax = PerplexityDisplay([CURVE]).plot().ax_
            texts = ax.figure.findobj(Text)
            background = ax.figure.get_facecolor()
        assert background == ax.get_facecolor() == (*to_rgb("w" if name == "default" else "k"), 1)
        assert len(texts) > 10
        for text in texts:
            assert contrast(text.get_color(), background) > 12
    assert PerplexityDisplay([CURVE]).plot().ax_.lines[0].get_color() == "#0072B2"
    assert dict(matplotlib.rcParams) == before
    with plt.style.context("skcooc.plotting.skcooc"):
        assert matplotlib.rcParams["svg.fonttype"] == "none"
    with plt.rc_context({"text.color": "red", "axes.prop_cycle": plt.cycler(color=["lime"])}):
        display = SplitsDisplay(SPLITS).plot()
        with style():
            assert matplotlib.rcParams["text.color"] == "red"
            assert matplotlib.rcParams["legend.frameon"] is False
    assert tuple(display.lines_.get_color()[0]) == (0, 1, 0, 1)


def test_files_have_text_and_300_pixels_an_inch(tmp_path):
    display = SplitsDisplay(SPLITS)
    assert repr(display) == "<SplitsDisplay: not drawn yet: call plot>"
    assert repr(display.plot()) == "<SplitsDisplay: drawn>"
    file = io.StringIO()
    display.save(file, format="svg")
    assert "inverse temperature" in file.getvalue()
    display.save(tmp_path / "splits.png")
    pixels = plt.imread(tmp_path / "splits.png")
    width = display.figure_.get_size_inches()[0]
    assert pixels.shape[1] == pytest.approx(300 * width, abs=1)
    assert pixels[0, 0].tolist() == [1, 1, 1, 1]
    display.save(tmp_path / "splits.png", transparent=True)
    assert plt.imread(tmp_path / "splits.png")[0, 0, 3] == 0


LABELS = np.array([[0, 0, 1], [0, 2, 1]])
IMAGE = np.arange(6.0).reshape(2, 3)
POSTERIORS = np.eye(3)[LABELS] * 0.7 + 0.1


def slow_borders(labels):
    (height, width), edges = labels.shape, set()
    for y, x in np.ndindex(height, width):
        if x + 1 < width and labels[y, x] != labels[y, x + 1]:
            edges.add(((x + 0.5, y - 0.5), (x + 0.5, y + 0.5)))
        if y + 1 < height and labels[y, x] != labels[y + 1, x]:
            edges.add(((x - 0.5, y + 0.5), (x + 0.5, y + 0.5)))
    return edges


def test_lines_are_between_different_labels_whose_colours_fade():
    for labels in np.random.default_rng(0).integers(0, 3, (3, 5, 8)):
        lines = {tuple(map(tuple, line)) for line in borders(labels).tolist()}
        assert lines == slow_borders(labels)
        assert lines != slow_borders(labels.T)
    model = SimpleNamespace(labels_=LABELS, posteriors_=POSTERIORS)
    display = SegmentationDisplay.from_estimator(model, IMAGE)
    colours = np.asarray(display.tint_.get_array())
    assert len(np.unique(colours[..., :3].reshape(-1, 3), axis=0)) == 3
    sure = SegmentationDisplay.from_labels(IMAGE, LABELS).tint_.get_array()
    np.testing.assert_allclose(colours[..., 3], 0.8 * np.asarray(sure)[..., 3])
    np.testing.assert_array_equal(display.image_.get_array(), IMAGE)
    assert len(display.lines_.get_segments()) == len(slow_borders(LABELS))
    ax = plt.subplots()[1]
    assert SegmentationDisplay.from_labels(IMAGE, LABELS, ax=ax).ax_ is ax
    colours = np.arange(18.0).reshape(2, 3, 3) / 18
    display = SegmentationDisplay.from_labels(colours, LABELS)
    np.testing.assert_array_equal(display.image_.get_array(), colours)


COUNTS = planted(n_rows=60, n_columns=40, n_tokens=3000).X
NEVER_X1 = stand_in(binary_tree(2), n_columns=2, components_=np.array([[1.0, 0.0]] * 3))
blocks = cache(lambda: SymmetricClustering(4, 5, hard=True, random_state=0).fit(COUNTS))
aspects = cache(lambda: AspectModel(1, beta=1).fit([[1, 2], [2, 1]]))
searched = cache(lambda: AspectModel(2, tol=1e-2, random_state=0).fit(COUNTS[:9]))


def test_invalid_input_searches_and_images():
    for display, arguments, error, message in (
        *(
            (AbstractionDisplay, (hierarchy_model, feature), ValueError, "of one of the 30")
            for feature in ("x99", 30, -31, 1.5)
        ),
        (AbstractionDisplay, (NEVER_X1, "x1"), ValueError, "'x1'"),
        (AbstractionDisplay, (aspects, 0), TypeError, "AspectModel has no tree_"),
        (AssociationDisplay, (blocks, COUNTS[:, :39]), ValueError, r"X has shape \(60, 39\)"),
        (AssociationDisplay, (blocks, None, ["a"]), ValueError, "40 columns"),
        (AssociationDisplay, (blocks, None, None, ["a"]), ValueError, "60 rows"),
        (AssociationDisplay, (blocks, {"scale": "area"}), ValueError, "scale='area'"),
        (AssociationDisplay, (SymmetricClustering(),), NotFittedError, None),
        (KSelectionDisplay, (aspects,), TypeError, "draw a ComponentSearchCV by from_search"),
        (AssociationDisplay, (aspects,), TypeError, "AspectModel has no joint_"),
        (HierarchyDisplay, (hierarchy_model, ["a"]), ValueError, "30 columns"),
        (HierarchyDisplay, (hierarchy_model, {"max_depth": -1}), ValueError, "max_depth=-1"),
        (HierarchyDisplay, (aspects,), TypeError, "AspectModel has no tree_"),
        (PerplexityDisplay, (aspects,), ValueError, "validated nothing"),
        (PerplexityDisplay, (searched, {"over": "iterations"}), ValueError, "nothing to draw over"),
        (PerplexityDisplay, (AspectModel(),), NotFittedError, None),
        (SegmentationDisplay, (TextureSegmenter(), IMAGE), NotFittedError, None),
        (SplitsDisplay, (stand_in(),), ValueError, "annealing above 1"),
        (SplitsDisplay, (stand_in(splits_=[]),), ValueError, "annealing above 1"),
        (SplitsDisplay, (stand_in(binary_tree(5), splits_=SPLITS), ["a"]), ValueError, "30 col"),
        (SplitsDisplay, (AspectModel(),), NotFittedError, None),
        (SharesDisplay, (aspects, ["a"]), ValueError, r"by has shape \(1,\)"),
        (SharesDisplay, (aspects, ["a", "b"], {"topics": [1]}), ValueError, "topics="),
        (StructureDisplay, (aspects, ["a"]), ValueError, r"by has shape \(1,\)"),
        (StructureDisplay, (aspects, {"n_rows": -1}), ValueError, "n_rows"),
        (TopicMapDisplay, (aspects, ["a"]), ValueError, "2 columns"),
        (TopicMapDisplay, (AspectModel(),), NotFittedError, None),
        (TopicsDisplay, (aspects, {"names": ["a", "b"]}), ValueError, "names has 2 entries"),
        (TopicsDisplay, (AspectModel(),), NotFittedError, None),
    ):
        options = arguments[-1] if isinstance(arguments[-1], dict) else {}
        given = arguments[: len(arguments) - bool(options)]
        with pytest.raises(error, match=message):
            display.from_estimator(*(one() if callable(one) else one for one in given), **options)
    for betas, over, message in (
        ([0.8, 0.8], None, "does not vary"),
        ([0.8, 0.9], "max_iter", "does not vary"),
        ([0.8, "auto"], "beta", "not numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            PerplexityDisplay.from_search(results([{"beta": b} for b in betas], [20, 30]), over)
    refused(r"shape \(3, 2\)", SegmentationDisplay.from_labels, IMAGE.T, LABELS)
    refused("one is -1", SegmentationDisplay.from_labels, IMAGE, LABELS - 1)


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for display, *given in (
        (AbstractionDisplay, hierarchy_model(), 0),
        (AssociationDisplay, blocks()),
        (HierarchyDisplay, hierarchy_model()),
        (SharesDisplay, Mixtures([[0.9, 0.1], [0.2, 0.8]]), ["a", "b"]),
        (SplitsDisplay, stand_in(binary_tree(5), splits_=SPLITS, beta_=0.1)),
        (StructureDisplay, aspects()),
        (TopicMapDisplay, aspects()),
        (TopicsDisplay, aspects()),
    ):
        with pytest.raises(ImportError, match=rf"{display.__name__} needs .*skcooc\[plot\]"):
            display.from_estimator(*given)
    for draw, given in (
        (KSelectionDisplay.from_search, component_search()),
        (lambda curves: PerplexityDisplay(curves).plot(), [CURVE]),
        (lambda image: SegmentationDisplay.from_labels(image, LABELS), IMAGE),
    ):
        refused(r"Display needs matplotlib.*skcooc\[plot\]", draw, given, error=ImportError)
