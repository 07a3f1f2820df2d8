"""New rows that are mixtures of fixed components, against the steps of the papers run far on."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from skcooc import (
    AspectClassifier,
    AspectModel,
    GuidedAspectModel,
    ProductSpaceMixture,
    TriadicAspectModel,
    Triads,
)
from skcooc.counts import NewRows
from skcooc.datasets import make_cooccurrences
from skcooc.equations.aspects import ROW_PRIOR, Aspects, AspectsForFoldIn
from skcooc.equations.aspects import Params as AspectParams
from skcooc.equations.product_aspects import Params as ProductParams
from skcooc.equations.product_aspects import ProductAspects
from skcooc.fitting.short_fits import few_columns
from skcooc.fitting.stream import fold_in, unknown_rows
from tests.equations.literal_aspects import LiteralAspects
from tests.equations.literal_product_aspects import LiteralProducts
from tests.tables import planted, random_table


def aspect_params(rng):
    components, weights = rng.dirichlet(np.full(9, 0.3), 3).T, rng.dirichlet(np.full(3, 5.0))
    return AspectParams(components, weights, weights)


def product_params(rng):
    joint = rng.dirichlet(np.full(6, 2.0)).reshape(3, 2)
    return ProductParams(rng.dirichlet(np.full(9, 0.3), 2).T, joint, joint.sum(axis=1))


KINDS = [
    (Aspects(3, "joint"), LiteralAspects("joint"), aspect_params),
    (Aspects(3, "likelihood"), LiteralAspects("likelihood"), aspect_params),
    (ProductAspects(3, 2, "joint"), LiteralProducts("joint"), product_params),
    (ProductAspects(3, 2, "likelihood"), LiteralProducts("likelihood"), product_params),
]


@pytest.mark.parametrize(("model", "literal", "draw"), KINDS)
def test_rows_end_where_the_papers_steps_end(model, literal, draw):
    X, params = random_table(), draw(np.random.default_rng(0))
    rows = unknown_rows(params, NewRows(X))
    for _ in range(1000):
        _, rows = literal.step(X.toarray(), params, rows, 0.8)
    seen = X.toarray().any(axis=1)
    for dtype in (np.float32, np.float64):
        typed, table = type(params)(*(array.astype(dtype) for array in params)), X.astype(dtype)
        found = fold_in(model, typed, 0.8, NewRows(table), 1)
        assert found.dtype == dtype
        np.testing.assert_allclose(found[seen], rows[seen], atol=1e-4)
        np.testing.assert_array_equal(found[~seen], np.tile(typed.weights, (np.sum(~seen), 1)))
        cold = fold_in(model, typed, 1.0, NewRows(table), 1)  # broken: a power forgotten
        assert np.abs(cold - rows)[seen].max() > 0.01


@pytest.mark.parametrize("divides_prior", [True, False])
def test_rows_with_a_prior_end_where_its_steps_end(divides_prior):
    X, params = random_table(), aspect_params(np.random.default_rng(0))
    literal = LiteralAspects("joint")
    n = X.sum(axis=1)[:, None]
    prior = 1.7 / np.where(n > 0, n, 1) if divides_prior else 1.7
    rows = unknown_rows(params, NewRows(X))
    for _ in range(1000):
        _, rows = literal.step(X.toarray(), params, rows, 0.8)
        rows = (n * rows + prior * params.weights) / (n + prior)
    model = AspectsForFoldIn(Aspects(3, "joint"), 1.7, divides_prior)
    found = fold_in(model, params, 0.8, NewRows(X), 1)
    np.testing.assert_allclose(found, rows, atol=1e-4)
    other = fold_in(replace(model, divides_prior=not divides_prior), params, 0.8, NewRows(X), 1)
    assert np.abs(other - rows).max() > 0.01
    expected, _ = model.expect(NewRows(X), params, rows, 0.8)
    np.testing.assert_allclose(expected, rows, atol=1e-10)


FAST = {"beta": 0.8, "max_iter": 20, "tol": 0.1, "random_state": 0}
MODELS = [AspectModel(3, **FAST), ProductSpaceMixture(3, 2, **FAST), AspectClassifier()]
GROUPED = [GuidedAspectModel(3, group_effects=effects, **FAST) for effects in ("topics", "both")]


@pytest.mark.parametrize("model", [*MODELS, *GROUPED])
def test_tokens_in_columns_without_counts_in_the_fit_do_not_matter(model):
    X, groups = planted().X.toarray().astype(float), np.arange(80) % 2
    rare = X.sum(axis=0) < np.median(X.sum(axis=0))
    options = {"groups": groups} if model in GROUPED else {}
    model.fit(X * ~rare, groups, **options)
    mixtures = [model.transform(table, **options) for table in (X, X * ~rare)]
    np.testing.assert_allclose(*mixtures, rtol=1e-12)


@pytest.mark.parametrize("model", [*MODELS, GROUPED[0]])
def test_rows_without_known_tokens_are_counted_where_their_mixtures_are_the_answer(model):
    X = planted(3, 3000, n_rows=60, n_columns=40).X.toarray()
    X[:, 0] = 0
    labels = [None] * 60
    labels[::10] = ["tea", "ale"] * 3
    is_guided = isinstance(model, GuidedAspectModel)
    options = {"groups": np.arange(60) % 2} if is_guided else {}
    fitted = clone(model).fit(X, labels, **options)
    new = X[:5].copy()
    new[1] = 0
    new[3] = 7 * (np.arange(40) == 0)  # a column without tokens in the fit
    calls = [fitted.transform]
    calls += [fitted.recommend] if hasattr(fitted, "recommend") else [fitted.predict]
    for call in calls:
        with pytest.warns(UserWarning, match="2 of 5 rows have no counts.* such as row 1:") as one:
            call(new)
        assert len(one) == 1
        with pytest.warns(UserWarning, match="The row of X has no counts in the columns of") as one:
            call(new[[1]])
        assert len(one) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            call(new[[0, 2, 4]])
    if not isinstance(model, AspectClassifier):  # whose score is that of predictions
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.isfinite(fitted.score(new))  # scores of such rows have no weight


def test_counts_of_columns_that_seeds_know_are_known():
    X = planted(3, 3000, n_rows=60, n_columns=40).X.toarray()
    X[:, 0] = 0
    new = 5 * np.eye(40, dtype=int)[:1]
    seeded = GuidedAspectModel(3, seed_features={"tea": [0, 1]}, **FAST).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert seeded.transform(new).argmax() == 0


def test_new_triads_without_tokens_are_counted():
    rng = np.random.default_rng(0)
    triads = Triads(*rng.integers(0, 6, (3, 400)), shape=(6, 6, 6))
    model = TriadicAspectModel(2, **FAST).fit(triads)
    new = Triads([0, 0, 2], [0, 1, 2], [3, 4, 5], shape=(3, 6, 6))
    with pytest.warns(UserWarning, match="1 of 3 rows has no counts.* such as row 1:"):
        model.transform(new)


@pytest.mark.parametrize("model", [AspectModel(3), ProductSpaceMixture(3, 2)])
def test_rows_are_the_same_in_pieces_and_in_any_order(model, monkeypatch):
    monkeypatch.setattr("skcooc.counts.csr.WORTH_A_THREAD", 1)
    X, order = planted().X.astype(np.float32), np.random.default_rng(0).permutation(80)
    model.set_params(beta=0.8, max_iter=20, random_state=0, tol=0.1).fit(X)
    whole = model.transform(X)
    np.testing.assert_array_equal(model.transform(X[order]), whole[order])
    pieces = [model.transform(X[some]) for some in (slice(0, 1), slice(1, 3), slice(3, 80))]
    np.testing.assert_array_equal(np.vstack(pieces), whole)
    np.testing.assert_array_equal(model.set_params(n_jobs=3).transform(X), whole)


def literal_mixtures(n, model, row_prior):
    """EM of new rows with row_prior / n_i pseudo-counts of P(z), token by token."""
    P, beta = AspectParams(*(a.astype(float) for a in model._state.params)), model.beta_
    a = np.tile(P.weights, (len(n), 1))
    for _ in range(300):
        r = a[:, None, :] ** beta * P.components**beta * P.prior ** (1 - beta)
        r /= np.maximum(r.sum(axis=2, keepdims=True), 1e-300)  # columns may be empty
        expected = np.einsum("ij,ijk->ik", n, r) + row_prior / n.sum(axis=1)[:, None] * P.weights
        a = expected / expected.sum(axis=1, keepdims=True)
    return a


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_new_rows_have_a_prior_that_falls_with_their_length(dtype):
    X = planted().X
    options = {"beta": 0.7, "random_state": 0, "tempering": "distinctive"}
    model = AspectModel(3, row_prior=3.0, **options).fit(X.astype(dtype))
    new = np.vstack(
        [
            np.eye(X.shape[1])[:3],
            np.eye(X.shape[1])[:3] * 5,
            X.toarray()[X.toarray().any(axis=1)][:5],
        ]
    )
    found = model.transform(new.astype(dtype))
    np.testing.assert_allclose(found, literal_mixtures(new, model, 3.0), atol=2e-4)
    for broken in (0.1, 1.0):
        assert np.abs(found - literal_mixtures(new, model, broken)).max() > 0.05
    empty = model.transform(0 * new[:1].astype(dtype))[0]
    np.testing.assert_allclose(empty, model.weights_, rtol=1e-6)


def test_the_step_of_new_rows_with_a_prior_is_the_literal_one():
    """By E-steps, as rows are folded in without the fast solution."""
    X = planted().X.astype(float)
    X = X[X.sum(axis=1) > 0]
    model = AspectModel(3, beta=0.7, row_prior=3.0, random_state=0).fit(X)
    aspects = Aspects(3, model.tempering_, row_prior=3.0)
    equations, params = aspects.fold_in_equations(model._state.params)
    rows = unknown_rows(params, NewRows(sp.csr_array(X)))
    for _ in range(300):
        rows, _ = equations.expect(NewRows(sp.csr_array(X)), params, rows, 0.7)
    np.testing.assert_allclose(rows, literal_mixtures(X.toarray(), model, 3.0), atol=1e-6)


def test_limits_of_the_prior_are_plain_fold_in_and_no_fold_in():
    X, options = planted().X, {"beta": 0.7, "random_state": 0}
    small, large = (AspectModel(3, row_prior=c, **options).fit(X) for c in (1e-9, 1e12))
    np.testing.assert_array_equal(small.components_, large.components_)  # of new rows alone
    plain = fold_in(
        Aspects(3, "distinctive"), small._state.params, 0.7, NewRows(X.astype(float)), 1
    )
    np.testing.assert_allclose(small.transform(X), plain, atol=1e-4)
    np.testing.assert_allclose(large.transform(X), np.tile(large.weights_, (80, 1)), rtol=1e-5)


def test_the_prior_is_tuned_where_beta_is():
    X = make_cooccurrences(200, 60, 4, n_tokens=12000, random_state=0).X
    model = AspectModel(4, leave_one_out=False, random_state=0).fit(X[:150])
    assert 0.5 <= model.row_prior_ <= 8
    assert model.row_prior_ != ROW_PRIOR
    assert AspectModel(4, beta=0.8, random_state=0).fit(X).row_prior_ == ROW_PRIOR
    assert (
        AspectModel(4, row_prior=0.7, leave_one_out=False, random_state=0).fit(X).row_prior_ == 0.7
    )
    some = sp.csr_array(X[150:].astype(float))
    known = few_columns(some, np.full(50, 2), np.random.default_rng(0))
    assert (np.add.reduceat(known, some.indptr[:-1]) == 2).all()
    assert (known <= some.data).all()
