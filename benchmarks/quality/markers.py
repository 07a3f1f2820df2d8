"""How many of the words shown for a topic are its own?

Each planted topic has ten words that no other one has, its markers, with .3 of its probability; the
rest goes to 200 frequent words, alike in all topics or a little different in each, and to 400 rare
ones. A topic found is that planted one with which it shares most.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

from benchmarks import reporting
from skcooc import AspectModel
from skcooc.inspection import characteristic_features, distinguishing_features, top_features

N_ROWS, FREQUENT, RARE, MARKERS = 2000, 200, 400, 10
SHARES = 0.3, 0.56, 0.14  # of markers, of frequent and of rare words
ALIKE = {"alike": 1e6, "different": 50.0}  # concentration of frequent words around their mean


def planted(K: int, length: int, concentration: float, seed: int) -> tuple[sp.csr_array, range]:
    """Counts of rows of this length, and the first marker of each topic."""
    rng = np.random.default_rng(seed)
    base, first = rng.dirichlet(np.full(FREQUENT, 0.5)), FREQUENT + RARE
    p = np.zeros((K, first + K * MARKERS))
    for k in range(K):
        marks = slice(first + k * MARKERS, first + (k + 1) * MARKERS)
        p[k, marks] = SHARES[0] * rng.dirichlet(np.full(MARKERS, 2.0))
        p[k, :FREQUENT] = SHARES[1] * rng.dirichlet(concentration * base + 1e-3)
        p[k, FREQUENT:first] = SHARES[2] * rng.dirichlet(np.full(RARE, 0.3))
    mixtures = rng.dirichlet(np.full(K, 0.05), size=N_ROWS)
    counts = np.array([rng.multinomial(length, theta @ p) for theta in mixtures])
    return sp.csr_array(counts), range(first, first + K * MARKERS, MARKERS)


def shown(model: AspectModel, X: sp.csr_array, n: int) -> dict[str, list[list[str]]]:
    """The first n words of each topic, by what they are ranked by."""
    table = distinguishing_features(model, X, n_features=n)
    ratios = [
        table["feature"][table["component"] == k].tolist() for k in range(len(model.weights_))
    ]
    return {
        "probable": top_features(model, n_features=n),
        "characteristic": characteristic_features(model, n_features=n),
        "log-ratio": ratios,
    }


def found(words: list[list[str]], first: range) -> float:
    """The share of the markers that are among the words of the topic matched."""
    columns = [np.array([int(word[1:]) for word in of_one], dtype=int) for of_one in words]
    shares = np.array(
        [[np.sum((of >= j) & (of < j + MARKERS)) / MARKERS for j in first] for of in columns]
    )
    return float(shares[linear_sum_assignment(-shares)].mean())


def measured(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for each table."""
    for kind, concentration in ALIKE.items():
        for length in options.lengths:
            for seed in options.seeds:
                X, first = planted(options.components, length, concentration, seed)
                model = AspectModel(options.components, random_state=seed).fit(X)
                words = shown(model, X, MARKERS)
                shares = {name: found(of_topics, first) for name, of_topics in words.items()}
                yield {"frequent words": kind, "length": length, "seed": seed, **shares}


def main() -> None:
    """Measure, print and save."""
    parser = reporting.options(__doc__)
    parser.add_argument("--components", type=int, default=40)
    parser.add_argument("--lengths", type=int, nargs="+", default=[40, 100])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    options = parser.parse_args()
    results: dict[str, Any] = {"options": reporting.given(options)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = reporting.collect(measured(options), options.output, results, "tables")
    reporting.print_table(rows)


if __name__ == "__main__":
    main()
