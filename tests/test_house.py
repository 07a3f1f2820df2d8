"""How much of the package a reader of one call goes through, and what a new choice takes."""

import inspect
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils._param_validation import StrOptions

import skcooc
from skcooc import AspectModel, AsymmetricClustering, ClusterAbstraction, ClusteringProjection
from skcooc.datasets import make_cooccurrences
from skcooc.equations.aspects import Aspects
from skcooc.estimators.aspect import AspectFamily
from skcooc.fitting.tuning import OneOf, TrialRecord, tune
from skcooc.heldout import Validation
from skcooc.protocol.scikit_learn import HAS_CALLBACKS

ROOT = f"{Path(skcooc.__file__).parent}/"
X = make_cooccurrences(n_rows=60, n_columns=40, n_components=3, random_state=0).X
SHORT = {"max_iter": 5, "random_state": 0}


@contextmanager
def files_entered():
    """The files of the package of which a function is called, in any thread begun meanwhile."""
    files, before = set(), sys.getprofile()

    def profile(frame, event, arg):
        is_function = frame.f_code.co_flags & inspect.CO_OPTIMIZED  # no module, no body of a class
        if event == "call" and is_function and frame.f_code.co_filename.startswith(ROOT):
            files.add(frame.f_code.co_filename.removeprefix(ROOT))

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield files
    finally:
        sys.setprofile(before)
        threading.setprofile(before)


FITS = [
    (32, AspectModel(3, **SHORT)),
    (32, AsymmetricClustering(3, **SHORT)),
    (32, skcooc.SymmetricClustering(3, 3, **SHORT)),
    (32, ClusterAbstraction(3, **SHORT)),
    (33, ClusterAbstraction(3, tree="annealed", **SHORT)),
    (32, ClusteringProjection(3, 3, **SHORT)),
    (32, skcooc.ProductSpaceMixture(3, 3, **SHORT)),
    (42, AspectModel("auto", **SHORT)),
]


WITHOUT_CALLBACKS = set() if HAS_CALLBACKS else {"protocol/scikit_learn.py"}  # in their place


def enters_few_files(most, call):
    call(X)  # compiled loops are loaded, which is no part of a fit
    with files_entered() as files:
        call(X)
    assert len(files) > 5
    assert len(files - WITHOUT_CALLBACKS) <= most, sorted(files)


@pytest.mark.parametrize(("most", "estimator"), FITS, ids=str)
def test_a_fit_a_transform_and_a_score_enter_few_files(most, estimator):
    enters_few_files(most, clone(estimator).fit)
    if estimator is FITS[0][1]:
        model = AspectModel(3, beta=0.9, **SHORT).fit(X)
        enters_few_files(13, model.transform)
        enters_few_files(16, model.score)


def frames_above_an_e_step(monkeypatch, estimator):
    """Frames of the package above the E-step of plain aspects: the most of any of a fit."""
    most, expect = 0, Aspects.expect

    def counted(*args):
        nonlocal most
        frame, n = sys._getframe(1), 0
        while frame is not None:
            n += frame.f_code.co_filename.startswith(ROOT)
            frame = frame.f_back
        most = max(most, n)
        return expect(*args)

    monkeypatch.setattr(Aspects, "expect", counted)
    estimator.fit(X)
    return most


def test_the_way_to_an_e_step_is_short(monkeypatch):
    """Today's search is the longest way; a fit at a given temperature has less."""
    searching = frames_above_an_e_step(monkeypatch, AspectModel(3, **SHORT))
    given = frames_above_an_e_step(monkeypatch, AspectModel(3, beta=0.9, **SHORT))
    assert 3 < given <= searching <= 12


@dataclass(eq=False, repr=False)
class TunedTempering(AspectModel):
    """All that a further hyper-parameter that ``fit`` tunes takes, beside its documentation."""

    tempering: str = "auto"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **AspectModel._parameter_constraints,
        "tempering": [StrOptions({"joint", "likelihood", "auto"})],
    }

    def recipe(self):
        recipe = super().recipe()
        return replace(recipe, family=TunedFamily(**vars(recipe.family)))


class TunedFamily(AspectFamily):
    def tunables(self, X):
        return [*super().tunables(X), OneOf("tempering", ("joint", "likelihood"), 0.0)]

    def plain(self, values):
        return replace(super().plain(values), tempering=values.get("tempering", "joint"))


def test_a_new_hyper_parameter_is_tuned_by_what_declares_it_alone():
    longer = {**SHORT, "max_iter": 20}
    model = TunedTempering(3, **longer).fit(X)
    tried = {trial.values["tempering"]: trial for trial in model.tuning_[-2:]}
    assert set(tried) == {"joint", "likelihood"}
    best = min(tried, key=lambda name: tried[name].validation.perplexity)
    assert (model.tuning_[-2:].count(tried[best]), tried[best].chosen) == (1, True)
    (chosen,) = (trial for trial in model.tuning_ if trial.chosen)
    options = {"component_prior": chosen.prior, "leave_one_out": model.leave_one_out_}
    alone = AspectModel(3, tempering=best, beta=chosen.beta, **options, **longer).fit(X)
    assert model.beta_ == alone.beta_
    assert model.tuning_[-1].values.keys() >= {"beta", "tempering"}
    again = clone(model).fit(X)
    np.testing.assert_array_equal(again.components_, model.components_)


def test_one_of_a_few_values_is_chosen_where_it_is_worth_it():
    class Found:
        def __init__(self, perplexity):
            self.validation = Validation(perplexity, 0.0)

    def fit(values):
        losses = {"joint": 10.0, "likelihood": 9.95, "none": 9.0}
        return Found(losses[values.get("tempering", "joint")])

    for others, best in ((["likelihood"], "joint"), (["likelihood", "none"], "none")):
        tunables = [OneOf("beta", [0.9]), OneOf("tempering", others)]
        record = TrialRecord()
        chosen = tune(tunables, {"beta", "tempering"}, fit, record)
        assert (chosen.values.get("tempering", "joint"), len(record.trials)) == (
            best,
            1 + len(others),
        )
