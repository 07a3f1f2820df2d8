import numpy as np
import scipy.sparse as sp

from benchmarks import new_rows
from skcooc.datasets import make_cooccurrences

MADE = make_cooccurrences(60, 40, n_components=3, n_tokens=3000, random_state=0)
X = sp.csr_array(MADE.X, dtype=np.float32)


def test_drawn_tokens_and_the_others_are_all():
    long = X[X.sum(axis=1) > 5]
    known, others = new_rows.drawn(long, 5, np.random.default_rng(0))
    np.testing.assert_array_equal(known.sum(axis=1), 5)
    np.testing.assert_array_equal((known + others).toarray(), long.toarray())


def test_mixtures_of_lda_are_a_fixed_point_of_the_literal_equations():
    alpha = np.array([0.1, 0.5, 0.2])
    A = new_rows.folded(X, alpha, MADE.components)
    n = X.toarray()
    posteriors = A[:, None] * MADE.components.T[None]
    posteriors /= posteriors.sum(axis=2, keepdims=True)
    expected = alpha + (n[:, :, None] * posteriors).sum(axis=1)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(A, expected, atol=1e-3)
    no_prior = new_rows.folded(X, np.full(3, 1e-9), MADE.components)
    assert np.abs(no_prior - A).max() > 0.01
    empty = new_rows.folded(sp.csr_array((1, 40)), alpha, MADE.components)
    np.testing.assert_allclose(empty[0], alpha / 0.8)
