"""How well does a classifier tell documents by 50 features that were found without labels?

Half of the documents are for training, five times; features see the training documents alone, and
so does the choice of C of the logistic regression, by three folds. `MixtureFeatures` was chosen on
newsgroups4, reuters5 and docstrings (whose classes are modules); newsgroups20 and classic3 report.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from time import process_time
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import NMF, PCA, LatentDirichletAllocation, TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

from benchmarks import corpora, reporting
from skcooc import AspectModel, MixtureFeatures
from skcooc.datasets import load_docstrings

N_DOCUMENTS = 4000
LEAST = 30  # docstrings of a module
PENALTIES = np.logspace(-3, 1, 6)
Half = tuple[sp.csr_array, np.ndarray]


def tf_idf() -> TfidfTransformer:
    """Damped frequencies times idf, of length one."""
    return TfidfTransformer(sublinear_tf=True)


def roots() -> FunctionTransformer:
    """Square roots."""
    return FunctionTransformer(np.sqrt)


def methods(K: int, seed: int) -> dict[str, Callable[[], Any]]:
    """What makes K features of counts."""
    aspects, more = (AspectModel(n, random_state=seed) for n in (K, 3 * K))
    lda = LatentDirichletAllocation(K, max_iter=30, random_state=seed)
    nmf = NMF(K, init="nndsvda", max_iter=300, random_state=seed)
    lsa = TruncatedSVD(K, random_state=seed)
    return {
        "LSA": lambda: make_pipeline(tf_idf(), lsa),
        "LSA, unit length": lambda: make_pipeline(tf_idf(), lsa, Normalizer()),
        "NMF": lambda: make_pipeline(tf_idf(), nmf),
        "NMF, roots": lambda: make_pipeline(tf_idf(), nmf, roots()),
        "LDA": lambda: lda,
        "LDA, roots": lambda: make_pipeline(lda, roots()),
        "mixtures": lambda: aspects,
        "mixtures, roots": lambda: make_pipeline(aspects, roots()),
        "MixtureFeatures": lambda: MixtureFeatures(aspects),
        "MixtureFeatures, of thrice as many": lambda: make_pipeline(MixtureFeatures(more), PCA(K)),
    }


def documents(name: str) -> tuple[sp.csr_array, np.ndarray]:
    """Counts and classes of a collection, without empty documents."""
    if name == "docstrings":
        found = load_docstrings()
        X = CountVectorizer(stop_words="english", min_df=5).fit_transform(found.data)
        y = np.array([".".join(of.split(".")[:2]) for of in found.names])
        n = Counter(y)
        kept = np.array([n[label] >= LEAST for label in y])
    else:
        X, _, y, _ = getattr(corpora, name)()
        kept = np.ones(X.shape[0], dtype=bool)
    X = sp.csr_array(X, dtype=float)
    kept &= X.sum(axis=1) > 0
    return X[kept], np.asarray(y)[kept]


def halves(name: str, seed: int) -> tuple[Half, Half]:
    """Training and test documents, of the words that are in the former."""
    X, y = documents(name)
    chosen = np.random.default_rng(seed).permutation(len(y))[:N_DOCUMENTS]
    train, test = train_test_split(chosen, test_size=0.5, stratify=y[chosen], random_state=seed)
    seen = X[train].sum(axis=0) > 0
    return (X[train][:, seen], y[train]), (X[test][:, seen], y[test])


def accuracy(features: Any, train: Half, test: Half) -> tuple[float, float]:
    """Of a logistic regression; and CPU seconds until the features are there."""
    began = process_time()
    features.fit(train[0])
    A, B = (features.transform(X) for X in (train[0], test[0]))
    seconds = process_time() - began
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    classifier = LogisticRegression(max_iter=200, tol=1e-3)
    grid = {"logisticregression__C": PENALTIES}
    search = GridSearchCV(make_pipeline(StandardScaler(), classifier), grid, cv=folds)
    return float(search.fit(A, train[1]).score(B, test[1])), seconds


def measured(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for each collection, half and method."""
    for name in options.data:
        for seed in options.seeds:
            train, test = halves(name, seed)
            for method, make in methods(options.components, seed).items():
                if method in (options.methods or [method]):
                    score, seconds = accuracy(make(), train, test)
                    found = {"accuracy": score, "CPU seconds": seconds}
                    yield {"data": name, "method": method, "seed": seed, **found}


def summary(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Mean and standard deviation over the halves."""
    for name, method in dict.fromkeys((row["data"], row["method"]) for row in rows):
        of = [row for row in rows if (row["data"], row["method"]) == (name, method)]
        scores = [row["accuracy"] for row in of]
        yield {
            "data": name,
            "method": method,
            "accuracy": float(np.mean(scores)),
            "sd": float(np.std(scores, ddof=min(1, len(scores) - 1))),
            "CPU seconds": float(np.median([row["CPU seconds"] for row in of])),
        }


def main() -> None:
    """Measure, print and save."""
    parser = reporting.options(__doc__)
    parser.add_argument("--data", nargs="+", default=["newsgroups20", "classic3"])
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(5)))
    parser.add_argument("--components", type=int, default=50)
    parser.add_argument("--methods", nargs="+")
    options = parser.parse_args()
    results: dict[str, Any] = {"options": reporting.given(options)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = reporting.collect(measured(options), options.output, results, "halves")
    results["summary"] = list(summary(rows))
    reporting.save(options.output, results)
    reporting.print_table(results["summary"])


if __name__ == "__main__":
    main()
