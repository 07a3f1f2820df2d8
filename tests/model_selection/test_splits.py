import numpy as np
import pytest
import scipy.sparse as sp

from skcooc import Dyads
from skcooc.model_selection import ObservationSplit, split_observations
from tests.tables import planted

X = planted().X


def test_tables_are_divided_cell_by_cell_and_dyads_into_dyads():
    train, test = split_observations(X, test_size=0.2, random_state=0)
    np.testing.assert_array_equal((train + test).toarray(), X.toarray())
    assert (train.data > 0).all()
    assert test.sum() / X.sum() == pytest.approx(0.2, abs=0.03)
    again = split_observations(X, test_size=0.2, random_state=0)[1]
    other = split_observations(X, test_size=0.2, random_state=1)[1]
    assert (again != test).nnz == 0
    assert (other != test).nnz > 0
    train, test = split_observations(Dyads(X), test_size=0.25, random_state=0)
    assert len(test) == round(0.25 * X.sum())
    np.testing.assert_array_equal((train.to_csr() + test.to_csr()).toarray(), X.toarray())


def test_folds_are_random_repeatable_shares_of_every_row():
    dyads = Dyads(X)
    splitter = ObservationSplit(4, random_state=0)
    folds = [dyads[test].to_csr().sum(axis=1) for _, test in splitter.split(dyads)]
    assert splitter.get_n_splits() == len(folds) == 4
    np.testing.assert_array_equal(sum(folds), X.sum(axis=1))
    assert (np.ptp(folds, axis=0) <= 1).all()
    first, again, other = (
        np.concatenate([test for _, test in ObservationSplit(3, random_state=seed).split(dyads)])
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    np.testing.assert_array_equal(np.sort(first), np.arange(len(dyads)))


def test_bad_use_is_refused():
    for size in (0, 1, -0.1):
        with pytest.raises(ValueError, match="should be in the"):
            split_observations(X, test_size=size)
    with pytest.raises(ValueError, match="at least 2"):
        ObservationSplit(1)
    with pytest.raises(TypeError, match=r"Use Dyads\(X\)"):
        next(ObservationSplit(2).split(sp.csr_array(X)))
    with pytest.raises(ValueError, match="greater than the number of samples"):
        next(ObservationSplit(9).split(Dyads([[2, 1]])))
