"""New rows that are mixtures of fixed components, against the steps of the papers run far on."""

import numpy as np
import pytest

from skcooc import AspectModel, ProductSpaceMixture
from skcooc.counts import NewRows
from skcooc.equations.aspects import Aspects
from skcooc.equations.aspects import Params as AspectParams
from skcooc.equations.product_aspects import Params as ProductParams
from skcooc.equations.product_aspects import ProductAspects
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
