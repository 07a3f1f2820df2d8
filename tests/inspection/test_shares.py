"""Shares of topics in groups, their intervals, and tests between groups."""

from types import SimpleNamespace

import numpy as np
import polars
import pytest
from sklearn.pipeline import make_pipeline

from skcooc import AspectModel
from skcooc.inspection import compare_shares, topic_shares
from skcooc.inspection.resampling import Mass, differences, p_values, shares, sums
from tests.inspection.planted import stand_in

LABELS = np.array(["b", "a", "c", "a", "b", "b", "a", "c", "b", "a"])


def drawn(n=10, k=3, seed=0, longer=1.0):
    rng = np.random.default_rng(seed)
    rows = longer * rng.integers(5, 80, size=n)
    return rng.dirichlet(np.ones(k), size=n), rows.astype(float)


def model_of(mixtures, rows):
    q = np.random.default_rng(1).dirichlet(np.ones(6), size=mixtures.shape[1])
    return SimpleNamespace(
        components_=q, embedding_=mixtures, row_distribution_=rows / rows.sum()
    )


def mass_of(mixtures, rows):
    return Mass(mixtures * rows[:, None], rows)


def members_of(labels):
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


def literal_share(mixtures, rows, members, topic):
    part = sum(rows[i] * mixtures[i, topic] for i in members)
    return part / sum(rows[i] for i in members)


def unweighted_share(mixtures, rows, members, topic):
    """A broken twin: every row counts the same."""
    return np.mean([mixtures[i, topic] for i in members])


def agrees(share_of):
    mixtures, rows = drawn()
    table = topic_shares(model_of(mixtures, rows), LABELS, random_state=0)
    found = [
        share_of(mixtures, rows, np.flatnonzero(LABELS == group), k)
        for group, k in zip(table["group"], table["component"], strict=True)
    ]
    return np.allclose(table["share"], found)


def test_shares_are_those_of_a_loop_over_rows():
    assert agrees(literal_share)
    assert not agrees(unweighted_share)


def test_lines_of_the_table():
    table = topic_shares(model_of(*drawn()), LABELS, names={0: "first"}, random_state=0)
    assert table["group"].tolist() == ["a"] * 3 + ["b"] * 3 + ["c"] * 3
    assert table["component"].tolist() == [0, 1, 2] * 3
    assert table["topic"][0] == "first"
    assert table["n_rows"].tolist() == [4] * 6 + [2] * 3 if False else [4] * 3 + [4] * 3 + [2] * 3
    assert table.groupby("group")["share"].sum().tolist() == pytest.approx([1, 1, 1])
    assert (table["low"] <= table["share"]).all()
    assert (table["share"] <= table["high"]).all()
