"""A fitted model of rows in groups, drawn at random."""

from types import SimpleNamespace

import numpy as np

GROUPS = np.array(["alpha", "beta", "gamma", "delta"])


def aspects(n_rows=60, n_topics=5, n_columns=30, seed=0):
    """What an aspect model has; the words of a topic are its own for the most part."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(n_rows, 3.0))
    return SimpleNamespace(
        components_=rng.dirichlet(np.full(n_columns, 0.2), size=n_topics),
        embedding_=rng.dirichlet(np.full(n_topics, 0.4), size=n_rows),
        row_distribution_=rows,
        feature_names_in_=np.array([f"word{j}" for j in range(n_columns)]),
    )


def labels(n_rows=60):
    return GROUPS[np.arange(n_rows) * 7 % len(GROUPS)]
