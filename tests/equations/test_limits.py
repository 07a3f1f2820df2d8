import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

import skcooc as sk
from tests.tables import planted

X = planted().X.astype(float)
AXES = [{"axis": axis, "hard": hard} for axis in ("rows", "columns") for hard in (False, True)]


def unigram(X):
    return np.asarray(X.sum(axis=0)).ravel() / X.sum()


def test_one_component_is_the_unigram():
    models = [
        sk.AspectModel(1),
        *(sk.AsymmetricClustering(1, object_weights="counts", **options) for options in AXES),
        sk.SymmetricClustering(1, 1),
        sk.ClusterAbstraction(1),
        sk.ProductSpaceMixture(1, 1),
        sk.ProductSpaceMixture(1, 4),
        sk.ClusteringProjection(1, 6, posterior="factorial", topic_prior=0.0, beta=0.9),
        sk.ClusteringProjection(1, 6, posterior="structured", topic_prior=0.0, beta=0.9),
    ]
    for model in models:
        model.set_params(random_state=0).fit(X)
        np.testing.assert_allclose(model.components_, unigram(X)[None], err_msg=repr(model))
        np.testing.assert_allclose(model.embedding_, 1)


def test_hot_models_collapse_to_the_unigram_and_say_so():
    """With equal weights of rows they collapse to the mean row."""
    mean = (X.toarray() / X.toarray().sum(axis=1, keepdims=True)).mean(axis=0)
    equal = sk.AsymmetricClustering(3, object_weights="equal", proportions="uniform", beta=1e-4)
    for model, expected in (
        (sk.AspectModel(3, beta=0.05), unigram(X)),
        (sk.AsymmetricClustering(3, object_weights="counts", beta=5e-5), unigram(X)),
        (sk.AsymmetricClustering(3, axis="columns", beta=5e-5), unigram(X)),
        (equal, mean),
        (clone(equal).set_params(axis="columns"), unigram(X)),
        (sk.SymmetricClustering(3, 4, beta=1e-3), unigram(X)),
        (sk.ProductSpaceMixture(3, 4, tempering="joint", beta=0.05), unigram(X)),
        (sk.ProductSpaceMixture(3, 4, tempering="likelihood", beta=0.05), unigram(X)),
    ):
        with pytest.warns(ConvergenceWarning, match="All 3 components equal the unigram.*larger b"):
            model.set_params(random_state=0).fit(X)
        np.testing.assert_allclose(model.components_, np.tile(expected, (3, 1)), atol=1e-3)
    np.testing.assert_allclose(equal.posteriors_, 1 / 3, atol=1e-2)


def test_millions_of_observations_in_single_precision():
    X = planted(3, 20_000, 4, n_rows=60, n_columns=50, kind="coclusters").X.astype(float)
    for model in (
        sk.AsymmetricClustering(3),
        sk.AsymmetricClustering(3, axis="columns", hard=True),
        sk.SymmetricClustering(3, 3, hard=True),
        sk.ProductSpaceMixture(2, 3, beta=0.95),
    ):
        few = clone(model).set_params(random_state=0).fit(X)
        many = clone(few).fit((X * 1_000_003).astype(np.float32))
        assert many.components_.dtype == np.float32
        assert np.isfinite(many.objective_)
        np.testing.assert_allclose(many.embedding_.sum(axis=1), 1, rtol=1e-6)
        labels = [getattr(of, "labels_", of.embedding_.argmax(axis=1)) for of in (many, few)]
        assert adjusted_rand_score(*labels) == 1  # starts differ: clusters may change places
    np.testing.assert_allclose(many.components_, few.components_, atol=1e-3)
