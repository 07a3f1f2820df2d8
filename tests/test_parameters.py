"""What the estimators share: defaults, names of parameters, types."""

from inspect import signature
from typing import Self, get_type_hints

import pytest

from skcooc import AspectModel, AsymmetricClustering, SymmetricClustering
from skcooc.base import CooccurrenceEstimator
from skcooc.protocol import Array
from tests.cases import CLASSES, META

DIFFERENT = {
    "AspectModel": {"max_iter": 500, "relaxation": "momentum"},
    "ProductSpaceMixture": {"max_iter": 500, "relaxation": "momentum"},
    "ClusteringProjection": {"tol": 1e-5},
}
"""Defaults with a reason of their own, which their documentation gives."""


@pytest.mark.parametrize("kind", [type(estimator) for estimator in CLASSES])
def test_defaults_are_those_of_all_but_for_a_reason(kind):
    own, shared = (signature(one.__init__).parameters for one in (kind, CooccurrenceEstimator))
    different = {
        name: own[name].default
        for name in shared.keys() - {"self"}
        if own[name].default != shared[name].default
    }
    assert different == DIFFERENT.get(kind.__name__, {})


@pytest.mark.parametrize("kind", dict.fromkeys(map(type, [*CLASSES, *META])))
def test_a_fit_is_known_to_return_what_it_fits(kind):
    assert get_type_hints(kind.fit)["return"] is Self
    assert get_type_hints(kind)["components_"] == Array


@pytest.mark.parametrize(
    ("kind", "name", "meant"),
    [
        (SymmetricClustering, "n_clusters", "n_row_clusters or n_column_clusters"),
        (AsymmetricClustering, "n_components", "n_clusters"),
        (AspectModel, "max_iters", "max_iter"),
    ],
)
def test_a_parameter_of_another_name_is_pointed_at(kind, name, meant):
    with pytest.raises(TypeError, match=rf"argument '{name}'\. Did you mean {meant}\?"):
        kind(**{name: 3})
    with pytest.raises(TypeError, match=r"argument 'foo'\. Valid parameters are"):
        kind(foo=1)
