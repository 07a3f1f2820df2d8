from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from skcooc import AspectModel
from skcooc.model_selection import ComponentSearchCV
from skcooc.plotting import KSelectionDisplay
from skcooc.plotting.selection import Measured
from tests.plotting.boxes import outside, overlaps

N = np.array([12, 2, 3, 5, 8])  # not in order, as they were visited


def searched(still_falling=False, **more):
    perplexity = 900.0 - 40 * np.sqrt(N)
    results = {
        "param_n_components": np.ma.MaskedArray(N),
        "mean_test_score": -np.log(perplexity),
        "mean_unseen_score": -np.log(2 * perplexity),
        "error_test_score": np.full(5, 0.01),
        "error_unseen_score": np.full(5, 0.02),
        **dict.fromkeys(Measured._fields[5:], N / 20),
    }
    return SimpleNamespace(
        cv_results_=results | more,
        best_params_={"n_components": 12},
        best_n_components_=12,
        still_falling_=still_falling,
    )


def test_what_is_drawn_is_what_was_measured():
    display = KSelectionDisplay.from_search(searched())
    x, y = display.ax_.lines[0].get_data()
    np.testing.assert_array_equal(x, np.sort(N))
    np.testing.assert_allclose(y, 900 - 40 * np.sqrt(np.sort(N)))
    band = display.ax_.collections[0].get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx(1.01 * y[0])
    assert display.figure_.get_suptitle() == "Chosen: 12"
    assert not overlaps(display.figure_)
    assert not outside(display.figure_)


def test_it_says_that_a_curve_has_not_ended():
    display = KSelectionDisplay.from_search(searched(still_falling=True))
    assert display.figure_.get_suptitle().startswith("Still falling at 12")
    assert display.ax_.lines[-1].get_linestyle() == "--"
    found = KSelectionDisplay.from_search(searched())
    assert found.ax_.lines[-1].get_linestyle() == "-"


def test_of_hard_clusters_it_shows_the_integrated_likelihood():
    display = KSelectionDisplay.from_search(searched(icl=-100.0 * N))
    np.testing.assert_array_equal(display.axes_[0, 1].lines[0].get_ydata(), -100.0 * np.sort(N))
    assert "ICL" in display.axes_[0, 1].get_ylabel()


def test_what_is_refused():
    with pytest.raises(NotFittedError):
        KSelectionDisplay.from_search(ComponentSearchCV(AspectModel()))
    pair = searched()
    pair.best_params_ = {"n_row_clusters": 2, "n_column_clusters": 3}
    with pytest.raises(ValueError, match="the search was for pairs"):
        KSelectionDisplay.from_search(pair)
