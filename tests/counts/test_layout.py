"""Views are made when they are needed, once for all counts that share the non-zeros."""

import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from skcooc.counts import CSRCounts, layout
from tests.tables import random_table


def test_threads_share_what_the_first_one_makes(monkeypatch):
    made = []
    monkeypatch.setattr(layout.Bands, "of_matrix", lambda X: made.append("bands") or object())
    monkeypatch.setattr(layout, "ColumnView", lambda X: made.append("columns") or object())
    counts = CSRCounts(random_table(30, 20))
    assert not made
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: counts.spread(n, map).views.bands, range(1, 9)))
    assert made == ["bands"]
    assert len(set(found)) == 1
    assert counts.spread(2, map).views.columns is counts.views.columns
    assert made == ["bands", "columns"]


def test_counts_can_be_pickled_with_their_views_and_are_freed_at_once():
    counts, D = CSRCounts(random_table(30, 20)), np.ones((30, 2))
    counts.tdot(D)
    twin = pickle.loads(pickle.dumps(counts))
    np.testing.assert_array_equal(twin.tdot(D), counts.tdot(D))
    gone = weakref.ref(counts)
    gc.disable()
    try:
        del counts
        assert gone() is None
    finally:
        gc.enable()
