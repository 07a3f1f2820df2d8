"""How many passes over the data does each online method need for a held-out perplexity?

Documents in random order, in batches. A tenth of them is test documents, another validation
documents: half of the words of each is folded in, by every library's own means, and the other half
is scored. After every pass the weight of the unigram is chosen on the validation documents. All use
one thread and the settings that the libraries have by default, but for the size of the batches, and
gensim's alpha and eta, which are "auto", since its defaults are far worse for it. AspectModel by EM
on all data at once is the line to reach.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import LatentDirichletAllocation, MiniBatchNMF

from benchmarks import corpora, reporting
from benchmarks.quality.peers import Factors
from benchmarks.shares import shares
from skcooc import AspectModel, RowBlocks
from skcooc.metrics import best_smoothing, perplexity, unigram
from skcooc.model_selection import split_counts

DATA = {
    "newsgroups20": corpora.newsgroups20,
    "newsgroups4": corpora.newsgroups4,
    "reuters5": corpora.reuters5,
}
Passes = Iterator[Callable[[Any], Factors]]  # after each pass: known halves of rows -> factors


def batches(X: Any, size: int) -> list[Any]:
    """Rows in the order in which they are."""
    return [X[first : first + size] for first in range(0, X.shape[0], size)]


def ours(X: Any, n_components: int, size: int) -> Passes:
    """partial_fit; the first batch is the start, and the temperature follows the others."""
    model = AspectModel(n_components, random_state=0)
    while True:
        for batch in batches(X, size):
            model.partial_fit(batch)
        yield lambda known: Factors(model.transform(known), model.components_)


def blocks(X: Any, n_components: int, size: int) -> Passes:
    """Fit over blocks; a sample of 10000 documents is the start."""
    model = AspectModel(n_components, random_state=0, warm_start=True)
    table = RowBlocks(batches(X, size), max_passes=1)
    while True:
        model.fit(table)
        yield lambda known: Factors(model.transform(known), model.components_)


def all_at_once(X: Any, n_components: int, size: int) -> Passes:
    """EM on the whole table until convergence, which is one "pass" here."""
    model = AspectModel(n_components, random_state=0).fit(X)
    yield lambda known: Factors(model.transform(known), model.components_)


def sklearn_lda(X: Any, n_components: int, size: int) -> Passes:
    """scikit-learn's online variational Bayes."""
    model = LatentDirichletAllocation(
        n_components, learning_method="online", total_samples=X.shape[0], random_state=0
    )

    def factors(known: Any) -> Factors:
        components = shares(model.components_)
        return Factors(model.transform(known), components)

    while True:
        for batch in batches(X, size):
            model.partial_fit(batch)
        yield factors


def gensim_lda(X: Any, n_components: int, size: int) -> Passes:
    """gensim's online variational Bayes."""
    from gensim.matutils import Sparse2Corpus  # only this method needs it
    from gensim.models import LdaModel

    words = dict(enumerate(map(str, range(X.shape[1]))))
    model = LdaModel(
        id2word=words,
        num_topics=n_components,
        chunksize=size,
        alpha="auto",
        eta="auto",
        eval_every=None,
        dtype=np.float64,
        random_state=0,
    )

    def factors(known: Any) -> Factors:
        gamma = model.inference(list(corpus(known)))[0]
        return Factors(shares(gamma), model.get_topics())

    def corpus(table: Any) -> Any:
        return Sparse2Corpus(sp.csc_matrix(table.T))

    training = corpus(X)
    while True:
        model.update(training)
        yield factors


def minibatch_nmf(X: Any, n_components: int, size: int) -> Passes:
    """scikit-learn's NMF with the Kullback-Leibler loss."""
    model = MiniBatchNMF(
        n_components, beta_loss="kullback-leibler", batch_size=size, random_state=0
    )

    def factors(known: Any) -> Factors:
        masses = model.components_.sum(axis=1)
        mixtures = shares(model.transform(known) * masses, otherwise=1 / n_components)
        return Factors(mixtures, shares(model.components_))

    while True:
        for batch in batches(X, size):
            model.partial_fit(batch)
        yield factors


METHODS: dict[str, Callable[[Any, int, int], Passes]] = {
    "AspectModel, all at once": all_at_once,
    "AspectModel.partial_fit": ours,
    "AspectModel, RowBlocks": blocks,
    "scikit-learn LDA, online": sklearn_lda,
    "gensim LDA": gensim_lda,
    "scikit-learn MiniBatchNMF": minibatch_nmf,
}


class Completion:
    """Rows with one half known and the other half to be predicted."""

    def __init__(self, X: Any) -> None:
        self.known, self.unknown = split_counts(X, test_size=0.5, random_state=0)

    def smoothing(self, factors: Callable[[Any], Factors], background: np.ndarray) -> float:
        """The best weight of the background for these rows."""
        return best_smoothing(self.unknown, *factors(self.known), background)

    def perplexity(self, factors: Callable[[Any], Factors], **options: Any) -> float:
        """Of the unknown halves."""
        return perplexity(self.unknown, *factors(self.known), **options)


def divide(X: Any) -> tuple[Completion, Completion, Any]:
    """Test and validation documents, and those that are fitted, in random order."""
    X = X[np.random.default_rng(0).permutation(X.shape[0])]
    n = X.shape[0] // 10
    return Completion(X[:n]), Completion(X[n : 2 * n]), X[2 * n :]


def measurements(X: Any, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One row for each method and pass."""
    test, validation, train = divide(X)
    background = unigram(train)
    for name in options.methods:
        seconds, passes = 0.0, METHODS[name](train, options.components, options.batch_size)
        for number in range(1, options.passes + 1):
            began = time.process_time()
            factors = next(passes, None)
            seconds += time.process_time() - began
            if factors is None:
                break
            s = validation.smoothing(factors, background)
            value = test.perplexity(factors, background=background, smoothing=s)
            yield {
                "method": name,
                "pass": number,
                "perplexity": value,
                "smoothing": s,
                "cpu seconds": seconds,
            }


def main() -> None:
    warnings.simplefilter("ignore")
    parser = reporting.options(str(__doc__))
    parser.add_argument("--data", choices=DATA, default="newsgroups20")
    parser.add_argument("--components", type=int, default=64)
    parser.add_argument("--batch-size", type=int, default=1000, help="documents")
    parser.add_argument("--passes", type=int, default=5, help="over the data, at most")
    parser.add_argument("--methods", choices=METHODS, nargs="+", default=list(METHODS))
    options = parser.parse_args()
    X = DATA[options.data]().X.astype(np.float32)
    results: dict[str, Any] = {
        "data": options.data,
        "K": options.components,
        "batch size": options.batch_size,
    }
    rows = reporting.collect(
        measurements(X, options),
        options.output,
        results,
        "passes",
        lambda row: (row["method"], row["pass"], round(row["perplexity"], 1)),
    )
    reporting.print_table(rows)


if __name__ == "__main__":
    main()
