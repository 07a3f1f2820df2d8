import inspect
import re
from inspect import signature
from typing import Self, get_type_hints

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import skcooc
from skcooc import (
    AspectModel,
    AspectRetriever,
    AsymmetricClustering,
    Dyads,
    SymmetricClustering,
)
from skcooc.base import CooccurrenceEstimator
from skcooc.image import GaborHistograms, TextureSegmenter
from skcooc.metrics import clustering_accuracy, topic_diversity
from skcooc.model_selection import ComponentSearchCV
from skcooc.protocol import Array
from tests.cases import CLASSES, META
from tests.tables import refused

OF_ASPECTS = {"max_iter": 500, "solver": "momentum"}
DIFFERENT = {
    "AspectModel": OF_ASPECTS,
    "GuidedAspectModel": OF_ASPECTS,
    "ProductSpaceMixture": OF_ASPECTS,
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


def test_a_fit_is_known_to_return_what_it_fits():
    models = dict.fromkeys(map(type, [*CLASSES, *META]))
    for kind in [*models, ComponentSearchCV]:
        assert get_type_hints(kind.fit)["return"] is Self
    for kind in models:
        assert get_type_hints(kind)["components_"] == Array


@pytest.mark.parametrize(
    ("kind", "name", "meant"),
    [
        (SymmetricClustering, "n_clusters", "n_row_clusters or n_column_clusters"),
        (SymmetricClustering, "n_topics", "n_row_clusters or n_column_clusters"),
        (skcooc.ProductSpaceMixture, "n_components", "n_row_components or n_column_components"),
        (skcooc.ClusteringProjection, "K", "n_components or n_clusters"),
        (skcooc.ClusterAbstraction, "num_topics", "n_clusters"),
        (AsymmetricClustering, "n_components", "n_clusters"),
        (AspectModel, "k", "n_components"),
        (AspectModel, "max_iters", "max_iter"),
    ],
)
def test_a_parameter_of_another_name_is_pointed_at(kind, name, meant):
    refused(rf"argument '{name}'\. Did you mean {meant}\?", kind, error=TypeError, **{name: 3})
    with pytest.raises(ValueError, match=rf"Invalid parameter '{name}' .* Did you mean {meant}\?"):
        GridSearchCV(kind(), {name: [3]}, cv=2, error_score="raise").fit(np.ones((4, 3)))
    refused(r"argument 'foo'\. Valid parameters are", kind, error=TypeError, foo=1)
    refused("'beta__foo'", kind().set_params, beta__foo=1)


KINDS = [*dict.fromkeys(map(type, [*CLASSES, *META])), AspectRetriever, skcooc.MixtureFeatures]
KINDS += [skcooc.TriadicAspectModel, ComponentSearchCV]
KINDS += [GaborHistograms, TextureSegmenter]


def described(kind):
    """The attributes that a docstring lists."""
    _, section = inspect.getdoc(kind).split("Attributes\n----------\n")
    section = re.split(r"\n\n[A-Z][\w ]+\n---", section)[0]
    return re.findall(r"(\w+_)\b(?=[\w, ]* : )", "\n".join(re.findall(r"^\w.*", section, re.M)))


def typed(kind, name):
    """Whether a type is said of an attribute, by an annotation or by what makes it."""
    if name in get_type_hints(kind):
        return True
    made = getattr(kind, name, None)
    return isinstance(made, property) and "return" in get_type_hints(made.fget)


def test_types_of_attributes_are_said_and_an_attribute_of_no_type_is_found():
    for kind in KINDS:
        names = described(kind)
        assert names
        assert (kind, [name for name in names if not typed(kind, name)]) == (kind, [])

    class Untyped(AspectModel):
        made_ = property(lambda self: 1)

    names = ["beta_", "made_", "nowhere_", "row_components_"]
    assert [name for name in names if not typed(Untyped, name)] == ["made_", "nowhere_"]


def test_integers_that_no_float_can_hold_are_refused():
    huge, model = 10**400, AspectModel(2)
    for X in ([[huge, 1], [1, 2]], np.array([[huge, 1], [1, 2]], dtype=object)):
        refused("X has an integer that is too large", model.fit, X)
    weighted = [[3, 1], [1, 2]]
    refused("sample_weight has an integer", model.fit, weighted, sample_weight=[huge, 1])
    refused("counts has an integer", Dyads.from_pairs, ["a", "b"], ["x", "y"], [huge, 1])


def test_numbers_are_neither_booleans_nor_larger_than_numpy_holds():
    for wrong in (True, np.True_, 10**400):
        for name in ("n_init", "max_iter", "tol", "n_components"):
            model = AspectModel(2).set_params(**{name: wrong})
            refused(f"The '{name}' parameter of AspectModel", model.fit, np.eye(3))
    components = np.eye(3)
    refused(
        "n_features must be an instance of int", topic_diversity, components, None, error=TypeError
    )
    refused("n_features == 0, must be >= 1", topic_diversity, components, 0)
    refused("give a label for each item", clustering_accuracy, None, [0, 1], error=TypeError)
    refused("give a label for each item", clustering_accuracy, [0, 1], 3, error=TypeError)
