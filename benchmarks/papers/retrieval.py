"""How well are the documents found that people judged relevant to a query?

Cranfield: 1400 abstracts, 225 queries, 1612 relevant pairs; judgements of -1 are dropped (see
``corpora.cranfield_judged``). Mean average precision, non-interpolated, over the full ranking. All
methods have the same counts.

Peers: four tf-idf cosines, with plain or logarithmic frequencies and the idf of scikit-learn or
log(N / df); BM25; and a latent space by TruncatedSVD, whose number of dimensions, weighting and
weight beside the tf-idf cosine are the best *on these judgements*, in its favour: an oracle. So it
is once more with the weight that AspectRetriever gives to aspects, and both once more with the
same feedback as AspectRetriever.
AspectRetriever runs with its defaults, once for each seed, and the mean over the seeds is compared.

"gain" is that of AspectRetriever over the method, "standard error" that of its mean over the
queries, paired.

The defaults were not chosen on these judgements. How texts come to the space of aspects, its weight
and the feedback were chosen on the judgements of three other collections, MED (30 queries), CISI
(76) and CACM (52); the damping, idf, smoothing and numbers of aspects before that where no
judgements are needed: a query is the title of a Cranfield abstract or of a Reuters story, or the
first paragraph of a docstring, and the rest of that text is to be found; the subject of a newsgroup
message, and its thread is to be found; the first paragraph of a docstring, and the objects under
its "See Also" are to be found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from benchmarks import corpora, reporting
from benchmarks.quality import tuned
from skcooc import AspectRetriever
from skcooc.metrics import average_precision_by_query

IDF: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "scikit-learn idf": lambda df, n: np.log((n + 1) / (df + 1)) + 1,
    "plain idf": lambda df, n: np.log(n / np.maximum(df, 1)),
}
TF: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "plain tf": lambda n: n,
    "log tf": lambda n: 1 + np.log(n),
}
WEIGHTS = np.linspace(0, 1, 11)
OURS = 0.4  # the weight of the aspects
LENGTH = 0.75  # b of BM25: how much scores of long documents are lowered


def tf_idf(X: Any, documents: Any, tf: str, idf: str) -> Any:
    """Rows of X of length one, weighted by the idf of the documents."""
    weighted = sp.csr_array(X, dtype=np.float64, copy=True)
    v = IDF[idf](document_frequencies(documents), documents.shape[0])
    weighted.data = TF[tf](weighted.data) * v[weighted.indices]
    return normalize(weighted)


def document_frequencies(X: Any) -> np.ndarray:
    return np.bincount(X.indices, minlength=X.shape[1])


def bm25(X: Any, queries: Any, k1: float) -> np.ndarray:
    """Robertson's BM25 with idf = log(1 + (N - df + .5) / (df + .5))."""
    df, lengths = document_frequencies(X), X.sum(axis=1)
    idf = np.log1p((X.shape[0] - df + 0.5) / (df + 0.5))
    norms = k1 * (1 - LENGTH + LENGTH * lengths / lengths.mean())
    weights = sp.csr_array(X, dtype=np.float64, copy=True)
    n = weights.data
    weights.data = n * (k1 + 1) / (n + np.repeat(norms, np.diff(X.indptr))) * idf[X.indices]
    return (queries @ weights.T).toarray()


def latent(
    data: corpora.Judged, dimensions: list[int], feedback: int = 0
) -> Iterator[tuple[float, str, np.ndarray]]:
    """Weight, name and scores of LSA plus tf-idf, at all dimensions, weightings and weights.

    With feedback half the mean of the documents found first is added to the query, as in ours.
    """
    suffix = f", feedback {feedback}" if feedback else ""
    for tf, idf in product(TF, IDF):
        D, Q = (tf_idf(X, data.X, tf, idf) for X in (data.X, data.queries))
        cosine = (Q @ D.T).toarray()
        svd = TruncatedSVD(max(dimensions), random_state=0).fit(D)
        d, q = svd.transform(D), svd.transform(Q)
        for K in dimensions:
            documents = normalize(d[:, :K])
            match = normalize(q[:, :K]) @ documents.T
            for w in WEIGHTS:
                scores = (1 - w) * cosine + w * match
                if feedback:
                    first = np.argsort(-scores, axis=1)[:, :feedback]
                    terms = normalize(Q + 0.5 * mean_rows(D, first))
                    folded = normalize(svd.transform(terms)[:, :K])
                    scores = (1 - w) * (terms @ D.T).toarray() + w * folded @ documents.T
                yield w, f"LSA, K={K}, {tf}, {idf}, weight {w:.2f}{suffix}", scores


def mean_rows(D: Any, chosen: np.ndarray) -> Any:
    """Mean of the chosen rows of D, for each row of chosen."""
    n, k = chosen.shape
    ends = np.arange(0, n * k + 1, k)
    return sp.csr_array((np.full(n * k, 1 / k), chosen.ravel(), ends), shape=(n, D.shape[0])) @ D


def peers(data: corpora.Judged, dimensions: list[int]) -> Iterator[tuple[str, np.ndarray]]:
    """Names, and average precision of every query."""

    def judge(scores: np.ndarray) -> np.ndarray:
        return average_precision_by_query(data.relevance, scores)

    for tf, idf in product(TF, IDF):
        D, Q = (tf_idf(X, data.X, tf, idf) for X in (data.X, data.queries))
        yield f"tf-idf cosine, {tf}, {idf}", judge((Q @ D.T).toarray())
    for k1 in (1.2, 1.5):
        yield f"BM25, k1={k1}", judge(bm25(data.X, data.queries, k1))
    for feedback in (0, AspectRetriever().n_feedback):
        fits = latent(data, dimensions, feedback)
        tried = [(w, name, judge(scores)) for w, name, scores in fits]
        for weights in ([OURS], WEIGHTS):
            allowed = [one for one in tried if np.isclose(one[0], weights).any()]
            yield max(allowed, key=lambda one: one[2].mean())[1:]


def ours(data: corpora.Judged, seed: int) -> np.ndarray:
    """Average precision of every query, under the defaults."""
    retriever = AspectRetriever(n_jobs=1, random_state=seed).fit(data.X)
    return average_precision_by_query(data.relevance, retriever.similarity(data.queries))


def compared(name: str, precision: np.ndarray, best: np.ndarray) -> dict[str, Any]:
    """One row of the table."""
    gain = best - precision
    return {
        "method": name,
        "MAP": precision.mean(),
        "gain, %": 100 * gain.mean() / precision.mean(),
        "gain": gain.mean(),
        "standard error": gain.std(ddof=1) / np.sqrt(len(gain)),
    }


def main() -> None:
    tuned.silence()
    parser = reporting.options(str(__doc__))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[50, 100, 150, 200, 300, 400])
    options = parser.parse_args()
    data = corpora.cranfield_judged()
    data = data._replace(X=data.X.astype(np.float32), queries=data.queries.astype(np.float32))
    precisions = []
    for seed in range(options.seeds):
        precisions.append(ours(data, seed))
        reporting.progress("AspectRetriever, seed", seed, round(precisions[-1].mean(), 4))
    mean = np.mean(precisions, axis=0)
    rows = [compared(*peer, mean) for peer in peers(data, options.dimensions)]
    rows.append({"method": "AspectRetriever", "MAP": mean.mean()})
    seeds = [precision.mean() for precision in precisions]
    reporting.save(options.output, {"rows": rows, "seeds": seeds})
    reporting.print_table(rows)


if __name__ == "__main__":
    main()
