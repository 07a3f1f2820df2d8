"""Models and tables for pages, made of arrays: nothing is fitted but what needs to be."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

from skcooc.hierarchy import binary_tree

EVIL = "<script>alert(1)</script>"
WORDS = ["tea", "cup", EVIL, "ball", "goal", "net", "the", "of", "pot", "team"]


def stand_in(X, n_topics=3, **more):
    """What a fitted aspect model has, drawn at random for this table."""
    X, rng = np.asarray(X, dtype=float), np.random.default_rng(1)
    embedding = rng.dirichlet(np.full(n_topics, 0.5), size=len(X))
    return SimpleNamespace(
        components_=rng.dirichlet(np.full(X.shape[1], 0.3), size=n_topics),
        embedding_=embedding,
        row_distribution_=X.sum(axis=1) / X.sum(),
        unigram_=(X.sum(axis=0) + 1) / (X.sum() + X.shape[1]),
        smoothing_=0.1,
        transform=lambda counts, groups=None: embedding[_which(X, counts.toarray())],
        **more,
    )


def _which(X, rows):
    return [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in rows]


def table(n_rows=24, seed=0, n_columns=10):
    """Counts of the words; no row is empty, and no two are equal."""
    counts = np.random.default_rng(seed).poisson(1.5, (n_rows, n_columns))
    counts[:, 0] += 1 + np.arange(n_rows) % 2
    return counts


def texts_of(X):
    return [" ".join(np.repeat(WORDS, row)) + "." for row in X]


def tree_model(X):
    tree = binary_tree(4)
    model = stand_in(X, tree.n_nodes)
    model.labels_, model.tree_ = np.arange(len(X)) % 4, tree
    return model


def two_sided(X, n_rows=3, n_columns=2):
    model = stand_in(X, n_rows)
    joint = np.random.default_rng(2).dirichlet(np.ones(n_rows * n_columns)).reshape(n_rows, -1)
    model.joint_ = joint
    model.association_ = joint / np.outer(joint.sum(axis=1), joint.sum(axis=0))
    model.row_labels_ = np.arange(len(X)) % n_rows
    model.column_labels_ = np.arange(X.shape[1]) % n_columns
    return model


def read_payload(page):
    block = re.search(r'<script type="application/json" id="payload">(.*?)</script>', page, re.S)
    return json.loads(block[1])


def close(value):
    return pytest.approx(value, rel=1e-3, abs=1e-8)
