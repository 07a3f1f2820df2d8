"""Online methods: fits that see documents in batches, beside those of gensim and scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from time import process_time
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import LatentDirichletAllocation, MiniBatchNMF

from benchmarks.baselines import as_rows, baselines_of_new
from benchmarks.experiment import Row, experiment
from benchmarks.peers import Factors, shares
from benchmarks.perplexity import collection
from skcooc import AspectModel, RowBlocks
from skcooc.metrics import best_smoothing, perplexity, unigram
from skcooc.model_selection import split_counts

Passes = Iterator[Callable[[Any], Factors]]  # after each pass: known halves of rows -> factors


def batches(X: Any, size: int) -> list[Any]:
    """Consecutive rows."""
    return [X[first : first + size] for first in range(0, X.shape[0], size)]


def partial_fit(X: Any, K: int, size: int, seed: int) -> Passes:
    """partial_fit; the first batch is the start, and the temperature follows the others."""
    model = AspectModel(K, random_state=seed)
    while True:
        for batch in batches(X, size):
            model.partial_fit(batch)
        yield lambda known: Factors(model.transform(known), model.components_)


def blocks(X: Any, K: int, size: int, seed: int) -> Passes:
    """Fit over blocks; a sample of 10,000 documents is the start."""
    model = AspectModel(K, random_state=seed, warm_start=True)
    table = RowBlocks(batches(X, size), max_passes=1)
    while True:
        model.fit(table)
        yield lambda known: Factors(model.transform(known), model.components_)


def all_at_once(X: Any, K: int, size: int, seed: int) -> Passes:
    """EM on the whole matrix until convergence, shown as one pass."""
    model = AspectModel(K, random_state=seed).fit(X)
    yield lambda known: Factors(model.transform(known), model.components_)


def sklearn_lda(X: Any, K: int, size: int, seed: int) -> Passes:
    """scikit-learn's online variational Bayes."""
    model = LatentDirichletAllocation(
        K, learning_method="online", total_samples=X.shape[0], random_state=seed
    )
    while True:
        for batch in batches(X, size):
            model.partial_fit(batch)
        yield lambda known: Factors(model.transform(known), shares(model.components_))


def gensim_lda(X: Any, K: int, size: int, seed: int, dtype: type = np.float64) -> Passes:
    """gensim's online variational Bayes, which estimates its priors."""
    from gensim.matutils import Sparse2Corpus  # only this method needs it
    from gensim.models import LdaModel

    def corpus(table: Any) -> Any:
        return Sparse2Corpus(sp.csc_matrix(table.T))

    model = LdaModel(
        id2word=dict(enumerate(map(str, range(X.shape[1])))),
        num_topics=K,
        chunksize=size,
        alpha="auto",
        eta="auto",
        eval_every=None,
        dtype=dtype,
        random_state=seed,
    )
    training = corpus(X)
    while True:
        model.update(training)
        yield lambda known: Factors(
            shares(model.inference(list(corpus(known)))[0]), model.get_topics()
        )


def minibatch_nmf(X: Any, K: int, size: int, seed: int) -> Passes:
    """scikit-learn's NMF with the Kullback-Leibler loss."""
    model = MiniBatchNMF(K, beta_loss="kullback-leibler", batch_size=size, random_state=seed)

    def factors(known: Any) -> Factors:
        masses = model.components_.sum(axis=1)
        return Factors(
            shares(model.transform(known) * masses, otherwise=1 / K), shares(model.components_)
        )

    while True:
        for batch in batches(X, size):
            model.partial_fit(batch)
        yield factors


MODELS: dict[str, Callable[[Any, int, int, int], Passes]] = {
    "AspectModel.fit, all at once": all_at_once,
    "AspectModel.partial_fit": partial_fit,
    "AspectModel.fit(RowBlocks)": blocks,
    "scikit-learn LDA, online": sklearn_lda,
    "gensim LDA": gensim_lda,
    "scikit-learn MiniBatchNMF": minibatch_nmf,
}


class Completion:
    """Rows with one half known and the other half to be predicted."""

    def __init__(self, X: Any, seed: int) -> None:
        self.known, self.unknown = split_counts(X, test_size=0.5, random_state=seed)

    def smoothing(self, factors: Callable[[Any], Factors], background: np.ndarray) -> float:
        """The best weight of the background for these rows."""
        return best_smoothing(self.unknown, *factors(self.known), background)

    def perplexity(self, factors: Callable[[Any], Factors], **options: Any) -> float:
        """Of the unknown halves."""
        return perplexity(self.unknown, *factors(self.known), **options)


def divide(X: Any, seed: int) -> tuple[Completion, Completion, Any]:
    """Test and validation documents, a tenth each, and those that are fitted, in random order."""
    X = X[np.random.default_rng(seed).permutation(X.shape[0])]
    n = X.shape[0] // 10
    return Completion(X[:n], seed), Completion(X[n : 2 * n], seed), X[2 * n :]


@experiment(
    minutes=10,
    models=["AspectModel", "RowMemory"],
    quick={"data": ["Reuters"], "components": 4, "n_passes": 1, "seeds": [0]},
    needs=["gensim"],
)
def streams(
    data: Sequence[str] = ("20 Newsgroups",),
    models: Sequence[str] = tuple(MODELS),
    components: int = 32,
    batch_size: int = 1000,
    n_passes: int = 3,
    seeds: Sequence[int] = (0, 1, 2),
) -> Iterator[Row]:
    """How many passes over the documents does each online method need for a held-out perplexity?

    Documents in random order, in batches. A tenth of them is for the test, another for validation:
    half of the words of each are folded in, by every library's own means, and the other half is
    scored. After each pass the weight of the unigram is chosen on the validation documents.
    Settings are those that the libraries have by default, but for the batch size and gensim's alpha
    and eta, which are "auto" (its defaults are far worse). CPU seconds of the training so far.
    """
    for name in data:
        X = collection(name)
        for seed in seeds:
            test, validation, train = divide(X, seed)
            case = {"data": name, "K": components, "seed": seed}
            topic_free = baselines_of_new(train, test.known, test.unknown, seed)
            yield from (case | row | {"pass": 1} for row in as_rows(topic_free))
            background = unigram(train)
            for model in models:
                seconds, passes = 0.0, MODELS[model](train, components, batch_size, seed)
                for number in range(1, n_passes + 1):
                    start = process_time()
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        factors = next(passes, None)
                    seconds += process_time() - start
                    if factors is None:
                        break
                    s = validation.smoothing(factors, background)
                    value = test.perplexity(factors, background=background, smoothing=s)
                    row = {"model": model, "pass": number, "perplexity": value, "CPU s": seconds}
                    yield case | row
