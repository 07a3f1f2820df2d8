"""Documents that people judged relevant to a query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from benchmarks import corpora
from benchmarks.experiment import Row, experiment
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
OURS = 0.4  # the weight of the topics in `AspectRetriever`
LENGTH = 0.75  # b of BM25: how much scores of long documents are lowered


@experiment(minutes=8, models=["AspectRetriever"], quick={"dimensions": [50], "seeds": [0]})
def retrieval(
    dimensions: Sequence[int] = (50, 100, 150, 200, 300, 400), seeds: Sequence[int] = (0, 1, 2)
) -> Iterator[Row]:
    """How well are the documents found that people judged relevant to a query?

    Cranfield: 1400 abstracts, 225 queries, 1612 relevant pairs; judgements of -1 are dropped. Mean
    average precision over the full ranking; all methods have the same counts. `AspectRetriever` has
    its defaults; the mean over the seeds is compared. They were chosen on other collections (MED,
    CISI and CACM, and on texts found by their titles), with Cranfield looked at three times. The
    number of dimensions, the weighting and, for "best weight", the weight beside tf-idf of latent
    semantic indexing (LSI) are the best *on these judgements*, in its favour. With feedback, half
    the mean of the five documents found first is added to the query, as in `AspectRetriever`. "gain
    of ours" is that of `AspectRetriever` over the method, with the standard error of the mean over
    queries, paired.
    """
    data = corpora.cranfield_judged()
    data = data._replace(X=data.X.astype(np.float32), queries=data.queries.astype(np.float32))

    def judge(scores: np.ndarray) -> np.ndarray:
        return average_precision_by_query(data.relevance, scores)

    for name, feedback in (("AspectRetriever, n_feedback=0", 0), ("AspectRetriever", None)):
        given = {} if feedback is None else {"n_feedback": feedback}
        fits = [AspectRetriever(random_state=seed, **given).fit(data.X) for seed in seeds]
        runs = [judge(fit.similarity(data.queries)) for fit in fits]
        ours = np.mean(runs, axis=0)
        for seed, run in zip(seeds, runs, strict=True):
            yield {"method": name, "seed": seed, "MAP": run.mean()}
    for name, settings, precision in others(data, judge, dimensions):
        gain = ours - precision
        yield {
            "method": name,
            "settings": settings,
            "MAP": precision.mean(),
            "gain of ours, %": 100 * gain.mean() / precision.mean(),
            "standard error, %": 100 * gain.std(ddof=1) / len(gain) ** 0.5 / precision.mean(),
        }


def others(
    data: corpora.Judged, judge: Callable[[np.ndarray], np.ndarray], dimensions: Sequence[int]
) -> Iterator[tuple[str, str, np.ndarray]]:
    """Method, settings, and average precision of every query."""
    cosines = []
    for tf, idf in product(TF, IDF):
        D, Q = (tf_idf(X, data.X, tf, idf) for X in (data.X, data.queries))
        cosines.append((f"{tf}, {idf}", judge((Q @ D.T).toarray())))
    yield "tf-idf cosine", *max(cosines, key=lambda one: one[1].mean())
    yield "BM25", "k1=1.5", judge(bm25(data.X, data.queries, 1.5))
    for feedback in (0, AspectRetriever().n_feedback):
        fits = latent(data, dimensions, feedback)
        tried = [(w, settings, judge(scores)) for w, settings, scores in fits]
        for kind, weights in ((f"weight {OURS}", [OURS]), ("best weight", WEIGHTS)):
            allowed = [one for one in tried if np.isclose(one[0], weights).any()]
            name = f"LSI, {kind}" + (", feedback" if feedback else "")
            yield name, *max(allowed, key=lambda one: one[2].mean())[1:]


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
    data: corpora.Judged, dimensions: Sequence[int], feedback: int
) -> Iterator[tuple[float, str, np.ndarray]]:
    """Weight, settings and scores of LSI plus tf-idf, at all dimensions and weightings."""
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
                yield w, f"K={K}, {tf}, {idf}, weight {w:.1f}", scores


def mean_rows(D: Any, chosen: np.ndarray) -> Any:
    """Mean of the chosen rows of D, for each row of chosen."""
    n, k = chosen.shape
    ends = np.arange(0, n * k + 1, k)
    return sp.csr_array((np.full(n * k, 1 / k), chosen.ravel(), ends), shape=(n, D.shape[0])) @ D
