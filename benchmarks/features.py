"""Features of documents that were found without labels, and documents that do not belong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import process_time
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import NMF, PCA, LatentDirichletAllocation, TruncatedSVD
from sklearn.ensemble import IsolationForest
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks import corpora
from benchmarks.experiment import Row, experiment
from skcooc import AspectModel, AsymmetricClustering, MixtureFeatures
from skcooc.datasets import make_cooccurrences

N_DOCUMENTS = 4000
PENALTIES = np.logspace(-3, 1, 6)
TOPICS, LONG = 16, 20  # of strange documents: topics, and the fewest words of a document

Half = tuple[sp.csr_array, np.ndarray]


@experiment(
    minutes=15,
    models=["AspectModel"],
    quick={"data": ["CLASSIC3"], "methods": ["LSA", "MixtureFeatures"], "seeds": [0]},
)
def features(
    data: Sequence[str] = ("20 Newsgroups", "CLASSIC3"),
    methods: Sequence[str] = (),
    n_features: int = 50,
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
) -> Iterator[Row]:
    """How well does a classifier tell documents by 50 features that were found without labels?

    Half of 4,000 documents are for training, five times. Features see the training documents
    alone, and so does the choice of C of the logistic regression on scaled features, by three
    folds. `MixtureFeatures` was developed on four newsgroups, Reuters and docstrings of Python
    packages; 20 Newsgroups and CLASSIC3 were used for reports alone. LDA is scikit-learn's, 30
    passes, priors not tuned. CPU seconds, of one thread, are those until the features of both
    halves are there.
    """
    small = make_cooccurrences(60, 60, random_state=0).X
    MixtureFeatures(AspectModel(2)).fit_transform(small)  # compiles loops before they are timed
    for name in data:
        for seed in seeds:
            train, test = halves(name, seed)
            for method, make in makers(n_features, seed).items():
                if method in (methods or [method]):
                    with threadpool_limits(1):
                        accuracy, seconds = scored(make(), train, test)
                    row = {"data": name, "features": method, "seed": seed, "accuracy": accuracy}
                    yield row | {"CPU s": seconds}


def tf_idf() -> TfidfTransformer:
    """Logarithmic frequencies times idf, of length one."""
    return TfidfTransformer(sublinear_tf=True)


def roots() -> FunctionTransformer:
    """Square roots."""
    return FunctionTransformer(np.sqrt)


def makers(K: int, seed: int) -> dict[str, Callable[[], Any]]:
    """Transformers of counts into K features."""
    aspects, more = (AspectModel(n, random_state=seed) for n in (K, 3 * K))
    lda = LatentDirichletAllocation(K, max_iter=30, random_state=seed)
    nmf = NMF(K, init="nndsvda", max_iter=300, random_state=seed)
    lsa = TruncatedSVD(K, random_state=seed)
    return {
        "AspectModel, transform": lambda: aspects,
        "AspectModel, square roots": lambda: make_pipeline(aspects, roots()),
        "MixtureFeatures": lambda: MixtureFeatures(aspects),
        "MixtureFeatures, 3 K topics, PCA": lambda: make_pipeline(MixtureFeatures(more), PCA(K)),
        "LSA": lambda: make_pipeline(tf_idf(), lsa),
        "LSA, unit length": lambda: make_pipeline(tf_idf(), lsa, Normalizer()),
        "NMF, tf-idf": lambda: make_pipeline(tf_idf(), nmf),
        "LDA": lambda: lda,
    }


def documents(name: str) -> tuple[sp.csr_array, np.ndarray]:
    """Counts and classes of a collection, without empty documents."""
    corpus = corpora.COLLECTIONS[name]()
    X = sp.csr_array(corpus.X, dtype=float)
    has_words = X.sum(axis=1) > 0
    return X[has_words], np.asarray(corpus.labels)[has_words]


def halves(name: str, seed: int) -> tuple[Half, Half]:
    """Training and test documents, of the words that are in the former."""
    X, y = documents(name)
    chosen = np.random.default_rng(seed).permutation(len(y))[:N_DOCUMENTS]
    train, test = train_test_split(chosen, test_size=0.5, stratify=y[chosen], random_state=seed)
    seen = X[train].sum(axis=0) > 0
    return (X[train][:, seen], y[train]), (X[test][:, seen], y[test])


def scored(transformer: Any, train: Half, test: Half) -> tuple[float, float]:
    """Accuracy of a logistic regression; and CPU seconds until the features are there."""
    began = process_time()
    transformer.fit(train[0])
    A, B = (transformer.transform(X) for X in (train[0], test[0]))
    seconds = process_time() - began
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    classifier = LogisticRegression(max_iter=200, tol=1e-3)
    grid = {"logisticregression__C": PENALTIES}
    search = GridSearchCV(make_pipeline(StandardScaler(), classifier), grid, cv=folds)
    return float(search.fit(A, train[1]).score(B, test[1])), seconds


@experiment(minutes=4, models=["AspectModel", "AsymmetricClustering"], quick={"seeds": [0]})
def strange_documents(seeds: Sequence[int] = (0, 1, 2, 3, 4)) -> Iterator[Row]:
    """Are abstracts of NeurIPS found among those of Cranfield, and by which score?

    All documents are in Cranfield's words and have 20 or more of them. 277 usual and 39 strange
    documents are new; the other usual ones are fitted, "some fitted" with 39 more strange ones
    among them. Area under the ROC curve. 16 topics or clusters; LDA is scikit-learn's, with priors
    .5 and .2; the isolation forest sees shares of the words.
    """
    X, _, is_strange, _ = corpora.cranfield_and_neurips()
    long = np.flatnonzero(X.sum(axis=1) >= LONG)
    X, strange = X[long].astype(float), np.asarray(is_strange)[long]
    for seed in seeds:
        rng = np.random.default_rng(seed)
        usual, others = (rng.permutation(np.flatnonzero(strange == c)) for c in (0, 1))
        n, m = len(usual) // 5, len(usual) // 35
        new = np.concatenate([usual[:n], others[:m]])
        polluted = np.concatenate([usual[n:], others[m : 2 * m]])
        areas: dict[str, Row] = {}
        for kind, known in (("all new", usual[n:]), ("some fitted", polluted)):
            for name, scores in likelihoods(X[known], X[new], seed):
                areas.setdefault(name, {})[kind] = roc_auc_score(strange[new], -scores)
        yield from ({"score": name, "seed": seed, **area} for name, area in areas.items())


def likelihoods(known: Any, new: Any, seed: int) -> Iterator[tuple[str, np.ndarray]]:
    """How usual new documents are, in nats for each word where the method has them."""
    n = new.sum(axis=1)
    models = {
        "AspectModel": AspectModel(TOPICS, random_state=seed),
        "AsymmetricClustering": AsymmetricClustering(TOPICS, random_state=seed),
    }
    for name, model in models.items():
        model.fit(known)
        yield f"{name}, row_log_likelihood", model.row_log_likelihood(new) / n
        yield f"{name}, score_samples (document completion)", model.score_samples(new)
    yield "unigram", new @ np.log(model.unigram_) / n
    lda = LatentDirichletAllocation(
        TOPICS, doc_topic_prior=0.5, topic_word_prior=0.2, random_state=seed
    ).fit(known)
    of_topics = lda.score(np.zeros((1, new.shape[1])))  # a part of all bounds
    yield "LDA, bound", np.array([lda.score(row[None]) - of_topics for row in new.toarray()]) / n
    forest = IsolationForest(random_state=seed)
    shares, new_shares = (counts / counts.sum(axis=1)[:, None] for counts in (known, new))
    yield "isolation forest", forest.fit(shares).score_samples(new_shares)
