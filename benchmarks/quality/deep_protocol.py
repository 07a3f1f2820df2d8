"""What does the protocol of deep topic models measure? 20 Newsgroups, its 2,000 commonest words.

The words are those of the corpus that occur most often, over all documents, once scikit-learn's
English stop list and words in fewer than five documents are gone; no stemming. Of the words of
every document four fifths are known, each with the same chance; the others are scored. So no
document is new, and many of the words that are scored are known of their document: how many is
the share seen. The table has topic-free baselines for that: the unigram, alone, and the memory
of rows, with it. LDA is tomotopy's, the mean of a few samples, and untuned: its alpha, which sums
to 5 at first, it optimises itself, and eta is .05, which time_to_perplexity.py found for all words
of these documents. Smoothing and memory of all models are chosen on training words.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import corpora, reporting
from benchmarks.quality import methods, tuned
from benchmarks.quality.heldout import SCORES, thinned

TEST = 0.2
METHODS: dict[str, Callable[[tuned.Split, tuned.Effort, int], tuned.Outcome]] = {
    "no topics": methods.without_topics,
    "AspectModel": methods.aspect_model,
    "AspectModel, burstiness='auto'": partial(methods.aspect_model, burstiness="auto"),
    "AspectModel, leave_one_out=True": partial(methods.aspect_model, leave_one_out=True),
    "AveragedModels, three of AspectModel": partial(methods.average, n_estimators=3),
    "AveragedModels, three with leave_one_out=True": partial(
        methods.average, n_estimators=3, leave_one_out=True
    ),
    "tomotopy LDA, untuned": methods.gibbs_lda,
}


def most_frequent(X: sp.csr_array, n_words: int) -> sp.csr_array:
    """The columns of most observations, in their order; of equals the first ones."""
    order = np.argsort(-X.sum(axis=0), kind="stable")
    return sp.csr_array(X[:, np.sort(order[:n_words])])


def effort(K: int, options: argparse.Namespace) -> tuned.Effort:
    """One setting of the priors."""
    return tuned.Effort(
        K,
        options.jobs,
        em_iterations=options.max_iter,
        gibbs_sweeps=options.sweeps,
        gibbs_samples=options.samples,
        document_priors=(5.0,),
        word_priors=(0.05,),
    )


def runs(X: sp.csr_array, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One row for each number of components, method and seed."""
    for seed in range(options.seeds):
        train, test = thinned(most_frequent(X, options.words).astype(np.float32), TEST, seed)
        split = tuned.divide(train, seed)
        for K in options.components:
            for name in options.methods:
                outcome = METHODS[name](split, effort(K, options), seed)
                yield {
                    "K": K,
                    "method": name,
                    "seed": seed,
                    **tuned.scores(split, test, outcome),
                    "seconds": outcome.tuning_seconds + outcome.fit_seconds,
                    "settings": outcome.settings,
                }


def main() -> None:
    tuned.silence()
    parser = reporting.options(str(__doc__))
    parser.add_argument("--components", type=int, nargs="+", default=[64, 128, 256])
    parser.add_argument("--words", type=int, default=2000, help="the most frequent ones")
    parser.add_argument("--methods", choices=METHODS, nargs="+", default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=1, help="number of splits")
    parser.add_argument("--max-iter", type=int, default=500, help="of EM")
    parser.add_argument("--sweeps", type=int, default=200, help="of LDA")
    parser.add_argument("--samples", type=int, default=5, help="of LDA, averaged")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    results: dict[str, Any] = {"options": reporting.given(options)}
    measured = runs(corpora.newsgroups20().X, options)
    rows = reporting.collect(measured, options.output, results, "runs")
    reporting.print_table(rows, ["K", "method", "seed", *SCORES, "seconds"])


if __name__ == "__main__":
    main()
