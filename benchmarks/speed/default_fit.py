"""What does `AspectModel()` cost, and how well does it predict?

A tenth of the observations is held out by a binomial draw. Seconds are those of the processor, of a
fit with one thread in float32, after another fit of a few rows has compiled everything. To compare
two versions, run the script with each in turn, `PYTHONPATH` being where it lies.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import corpora, reporting
from skcooc import AspectModel, Dyads

DATA: dict[str, Callable[[], corpora.Corpus]] = {
    "cranfield": corpora.cranfield,
    "classic3": corpora.classic3,
    "reuters": corpora.reuters5,
    "pairs": corpora.brown_pairs,
    "bible": corpora.bible,
    "newsgroups20": corpora.newsgroups20,
}
TEST = 0.1
FEW = 400  # rows, of the fit that compiles


def split(X: Any, seed: int) -> tuple[sp.csr_array, sp.csr_array]:
    """Training and test counts."""
    X = sp.csr_array(X, dtype=np.float32)
    drawn = np.random.default_rng(1000 + seed).binomial(X.data.astype(int), TEST)
    return _with(X, X.data - drawn), _with(X, drawn)


def fits(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One row for each fit."""
    for name in options.data:
        X = sp.csr_array(DATA[name]().X, dtype=np.float32)
        for K in options.components:
            for beta in ("auto", 0.8):
                AspectModel(K, beta=beta, max_iter=30, tol=0.01, random_state=0).fit(X[:FEW])
            for seed in range(options.seeds):
                train, test = split(X, seed)
                model = AspectModel(K, random_state=seed, n_jobs=1)
                began = time.process_time()
                model.fit(train)
                seconds = time.process_time() - began
                score = float(np.exp(-model.score(Dyads(test))))
                found = {"beta": model.beta_, "iterations": model.n_iter_}
                yield {"data": name, "K": K, "seed": seed, "seconds": seconds, **found,
                       "perplexity": score}  # fmt: skip


def main() -> None:
    options = reporting.options(__doc__ or "")
    options.add_argument("--data", nargs="+", choices=DATA, default=["cranfield"])
    options.add_argument("--components", nargs="+", type=int, default=[32])
    options.add_argument("--seeds", type=int, default=5)
    given = options.parse_args()
    rows = list(fits(given))
    reporting.print_table(rows)
    reporting.save(given.output, {"options": reporting.given(given), "rows": rows})


def _with(X: sp.csr_array, counts: np.ndarray) -> sp.csr_array:
    table = sp.csr_array((counts.astype(np.float32), X.indices, X.indptr), X.shape).copy()
    table.eliminate_zeros()
    return table


if __name__ == "__main__":
    main()
