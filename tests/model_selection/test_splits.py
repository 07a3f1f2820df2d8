import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV, KFold

from skcooc import AspectModel, Dyads
from skcooc.metrics import make_ranking_scorer
from skcooc.model_selection import ComponentSearchCV, CountSplit, split_counts
from tests.tables import planted, random_table, refused

X = planted().X


def test_tables_are_divided_cell_by_cell_and_dyads_into_dyads():
    train, test = split_counts(X, test_size=0.2, random_state=0)
    np.testing.assert_array_equal((train + test).toarray(), X.toarray())
    assert (train.data > 0).all()
    assert test.sum() / X.sum() == pytest.approx(0.2, abs=0.03)
    again = split_counts(X, test_size=0.2, random_state=0)[1]
    other = split_counts(X, test_size=0.2, random_state=1)[1]
    assert (again != test).nnz == 0
    assert (other != test).nnz > 0
    large = np.array([[2**31 + 1, 2**40 + 7]])  # no token is lost
    np.testing.assert_array_equal(sum(split_counts(large, random_state=0)).toarray(), large)
    train, test = split_counts(Dyads(X), test_size=0.25, random_state=0)
    assert len(test) == round(0.25 * X.sum())
    np.testing.assert_array_equal((train.to_csr() + test.to_csr()).toarray(), X.toarray())


def test_folds_are_random_repeatable_shares_of_every_row():
    dyads = Dyads(X)
    splitter = CountSplit(4, random_state=0)
    folds = [dyads[test].to_csr().sum(axis=1) for _, test in splitter.split(dyads)]
    assert splitter.get_n_splits() == len(folds) == 4
    np.testing.assert_array_equal(sum(folds), X.sum(axis=1))
    assert (np.ptp(folds, axis=0) <= 1).all()
    first, again, other = (
        np.concatenate([test for _, test in CountSplit(3, random_state=seed).split(dyads)])
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    np.testing.assert_array_equal(np.sort(first), np.arange(len(dyads)))


@pytest.mark.parametrize("cv", [KFold(3), KFold(3, shuffle=True, random_state=0)], ids=repr)
def test_folds_of_whole_rows_warn(cv):
    observations, sizes = Dyads(planted(3, 3000).X), [1, 3]  # row by row
    model = AspectModel(3, beta=0.9, max_iter=20, tol=1e-3, random_state=0)
    message = "Most tokens to score are in rows without training tokens.*shuffle=True"
    searches = [
        lambda: GridSearchCV(model, {"n_components": sizes}, cv=cv).fit(observations),
        lambda: GridSearchCV(
            model, {"n_components": sizes}, cv=cv, scoring=make_ranking_scorer(observations)
        ).fit(observations),
        lambda: ComponentSearchCV(model, sizes, cv=cv, n_runs=1).fit(observations),
    ]
    for search in searches:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = search()
        assert bool(cv.shuffle) != any(re.match(message, str(warned.message)) for warned in caught)
        if cv.shuffle:
            assert found.best_params_ == {"n_components": 3}


def test_bad_input():
    for size in (0, 1, -0.1):
        refused("test_size == ", split_counts, X, test_size=size)
    refused("n_splits == 1", CountSplit, 1)
    refused(r"Use Dyads\(X\)", next, CountSplit(2).split(sp.csr_array(X)), error=TypeError)
    refused("greater than the number of samples", next, CountSplit(9).split(Dyads([[2, 1]])))


def test_duplicate_entries_are_summed_first():
    X = random_table()
    ones = np.repeat(X.indices, X.data.astype(int))
    ends = np.append(0, np.cumsum(X.sum(axis=1)).astype(int))
    parts = sp.csr_array((np.ones(len(ones)), ones, ends), shape=X.shape)
    for once, several in zip(
        split_counts(X, random_state=0), split_counts(parts, random_state=0), strict=True
    ):
        np.testing.assert_array_equal(once.toarray(), several.toarray())
    assert parts.nnz == len(ones)  # the input is not changed
    found = [AspectModel(2, max_iter=5, random_state=0).fit(table).beta_ for table in (X, parts)]
    assert found[0] == found[1]
