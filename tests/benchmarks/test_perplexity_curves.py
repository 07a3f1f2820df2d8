"""The curves of one model; the rest of the script is a loop over them, and LDA."""

from argparse import Namespace

import numpy as np
import pytest

from benchmarks.quality.perplexity_curves import aspect_curve
from skcooc import AspectModel
from skcooc.datasets import make_cooccurrences

X = make_cooccurrences(n_rows=60, n_columns=40, n_components=3, random_state=0).X


@pytest.mark.filterwarnings("ignore:EM did not converge")
def test_a_value_for_each_iteration_and_those_of_the_search():
    options = Namespace(components=3, max_iter=12)
    found = aspect_curve(X, lambda A, B: float(np.sum(A) / len(A)), "auto", options)
    assert [iteration for iteration, _ in found["curve"]] == list(range(1, 13))
    assert found["search iterations"] > 12
    model = AspectModel(3, max_iter=12, tol=0.0, random_state=0).fit(X)
    assert found["beta"] == model.beta_
    assert aspect_curve(X, lambda A, B: 1.0, 0.9, options)["search iterations"] <= 1
