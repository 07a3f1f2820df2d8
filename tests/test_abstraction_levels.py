"""General words stand above special ones in a fitted hierarchy."""

from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import corpora
from skcooc import ClusterAbstraction
from tests.data import requires_data


def frequency_by_level(model, X):
    """Mean document frequency of the ten most probable words of the nodes of each depth."""
    documents = np.asarray((X > 0).sum(axis=0)).ravel()
    nodes = [documents[np.argsort(-q)[:10]].mean() for q in model.components_]
    depths = model.tree_.depths
    return [np.mean(nodes, where=depths == level) for level in range(depths.max() + 1)]


@requires_data
@pytest.mark.parametrize("words", [["cluster"], ["neural", "network"]], ids="-".join)
def test_document_frequency_falls_from_each_level_to_the_next(words):
    pytest.importorskip("snowballstemmer")
    X = corpora.neurips(words).X
    model = ClusterAbstraction(12, random_state=0, n_jobs=2).fit(X)
    assert (np.diff(frequency_by_level(model, X)) < 0).all()
    upside_down = SimpleNamespace(tree_=model.tree_, components_=model.components_[::-1])
    assert (np.diff(frequency_by_level(upside_down, X)) > 0).any()
