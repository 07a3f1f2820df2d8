"""Shares of topics: are planted sizes found?"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score

from benchmarks.experiment import Row, experiment
from skcooc import AspectModel, Dyads
from skcooc.inspection import compare_shares
from skcooc.model_selection import split_counts

N_ROWS, N_COLUMNS, LENGTH = 2000, 2000, 60
SETTINGS = {
    "default": {},
    'tempering="joint"': {"tempering": "joint"},
    'tempering="likelihood"': {"tempering": "likelihood"},
    "beta=1": {"beta": 1.0},
}


@experiment(minutes=4, models=["AspectModel"], quick={"tables": [[8, 0.5]], "seeds": [0]})
def planted_shares(
    tables: Sequence[tuple[int, float]] = ((8, 0), (8, 0.2), (8, 0.5), (8, 0.7), (20, 0.5)),
    seeds: Sequence[int] = (100, 101, 102, 103, 104),
) -> Iterator[Row]:
    """Are planted shares of topics found, where many words are common to all topics?

    Tables of 2,000 rows with 60 tokens each and 2,000 columns. The shares of K topics fall from
    0.35 to 0.02 for K = 8, from 0.15 to 0.01 for K = 20. A part of a topic's distribution is Zipf's
    law over all columns, the same for all topics; the rest is Zipf's law over 250 columns of its
    own. Tables are given as pairs of K and this part.
    Rows have few topics each (Dirichlet). A tenth of the tokens is held out. Topics are matched by
    their distributions; "error" is the sum of absolute errors of the shares, "if equal" that of K
    equal shares.
    """
    for K, part in tables:
        for seed in seeds:
            X, sizes, planted, mixtures = table(part, K, seed)
            train, test = split_counts(X, 0.1, random_state=seed)
            for name, setting in SETTINGS.items():
                model = AspectModel(K, random_state=seed, **setting).fit(train)
                affinity = np.sqrt(planted) @ np.sqrt(model.components_).T
                found = linear_sum_assignment(-affinity)[1]
                masses = train.sum(axis=1) @ model.embedding_
                shares = masses[found] / masses.sum()
                largest = mixtures.argmax(axis=1), model.embedding_.argmax(axis=1)
                yield {
                    "K": K,
                    "common words": f"{part:.0%}",
                    "setting": name,
                    "seed": seed,
                    "error": float(abs(shares - sizes).sum()),
                    "if equal": float(abs(1 / K - sizes).sum()),
                    "largest": float(shares[0]),
                    "NMI": normalized_mutual_info_score(*largest),
                    "affinity": float(affinity[np.arange(K), found].mean()),
                    "perplexity": model.perplexity(Dyads(test)),
                }


@experiment(minutes=3, models=["AspectModel"], quick={"common": [0.5], "seeds": [100]})
def group_shares(
    common: Sequence[float] = (0.2, 0.5, 0.7),
    K: int = 8,
    seeds: Sequence[int] = (100, 101, 102, 103, 104, 105),
) -> Iterator[Row]:
    """Are planted differences of shares between two groups found, and no others?

    Tables as in planted-shares; in one half of the rows topics 0 and 3 change places. Shares are of
    the pooled "counts" of a group (with X), or means of the mixtures of its "rows". "Found / true"
    is the ratio of the differences of these two topics, "covered" the share of the 95 % intervals
    that hold the true difference; "reported" and "false" are the shares of the changed and of the
    unchanged topics with an adjusted p below 0.05.
    """
    for part in common:
        for seed in seeds:
            X, sizes, planted, _ = table(part, K, seed, N_ROWS // 2)
            groups, true = np.arange(N_ROWS) < N_ROWS // 2, np.zeros(K)
            true[[0, 3]] = [sizes[0] - sizes[3], sizes[3] - sizes[0]]  # of the rows unchanged
            for name, setting in SETTINGS.items():
                model = AspectModel(K, random_state=seed, **setting).fit(X)
                affinity = np.sqrt(planted) @ np.sqrt(model.components_).T
                order, changed = linear_sum_assignment(-affinity)[1], true != 0
                for counts in (X, None):
                    with warnings.catch_warnings():
                        warnings.filterwarnings("ignore", "Without X")
                        lines = compare_shares(model, groups, X=counts, random_state=seed)
                    lines = lines.set_index("component").loc[order]
                    covered = (lines["low"] <= true) & (true <= lines["high"])
                    reported = (lines["p_adjusted"] < 0.05).to_numpy()
                    yield {
                        "common words": f"{part:.0%}",
                        "setting": name,
                        "shares of": "rows" if counts is None else "counts",
                        "seed": seed,
                        "found / true": float((lines["difference"] / true)[changed].mean()),
                        "covered": float(covered.mean()),
                        "reported": float(reported[changed].mean()),
                        "false": float(reported[~changed].mean()),
                    }


def table(
    common: float, K: int, seed: int, n_changed: int = 0
) -> tuple[sp.csr_array, np.ndarray, np.ndarray, np.ndarray]:
    """Counts, shares of the topics, their distributions, and the mixtures of the rows.

    In the first `n_changed` rows topics 0 and 3 change places.
    """
    rng = np.random.default_rng(seed)
    sizes = np.geomspace(0.35, 0.02, K)
    sizes /= sizes.sum()
    zipf = 1 / np.arange(1, N_COLUMNS + 1) ** 0.8
    own = np.zeros((K, N_COLUMNS))
    for topic in own:
        topic[rng.choice(N_COLUMNS, 250, replace=False)] = zipf[:250]
    planted = common * rng.permutation(zipf) / zipf.sum() + (1 - common) * own / zipf[:250].sum()
    mixtures = rng.dirichlet(2 * sizes, N_ROWS)
    mixtures[:n_changed, [0, 3]] = mixtures[:n_changed, [3, 0]]
    X = sp.csr_array(np.array([rng.multinomial(LENGTH, row @ planted) for row in mixtures]))
    return X.astype(np.float32), sizes, planted, mixtures
