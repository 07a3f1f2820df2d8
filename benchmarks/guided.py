"""What the user knows: seed words, labels of some rows, groups of rows, batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import process_time
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.naive_bayes import MultinomialNB

from benchmarks import corpora, peers
from benchmarks.baselines import as_rows, baselines
from benchmarks.experiment import Row, experiment
from benchmarks.new_rows import drawn
from skcooc import AspectClassifier, AspectModel, Dyads, GuidedAspectModel, MixtureFeatures
from skcooc.metrics import perplexity, unigram
from skcooc.model_selection import split_counts

SEEDS = {  # stems
    "rec.autos": ["car", "auto", "engin", "dealer"],
    "rec.motorcycles": ["bike", "motorcycl", "rider", "helmet"],
    "rec.sport.baseball": ["basebal", "pitcher", "catcher", "brave"],
    "rec.sport.hockey": ["hockei", "nhl", "goali", "puck"],
}
PRIOR, RAISED = 0.03, 1.0  # of LDA: eta of a word, and of a seed
TYPES, ACTIVITIES, BATCHES, GENES = 6, 2, 3, 800


@experiment(
    minutes=2,
    models=["AspectClassifier", "AspectModel", "GuidedAspectModel", "RowMemory"],
    quick={"components": 6, "seeds": [0]},
    needs=["tomotopy"],
)
def seed_words(components: int = 12, seeds: Sequence[int] = tuple(range(10))) -> Iterator[Row]:
    """Do named topics find the documents that they name?

    Four newsgroups, four seeds each; a tenth of the tokens is held out. Accuracy is that of the
    named topic with the largest share of a document, or that of `predict`, which counts free topics
    for the named ones; `AspectClassifier` has a topic for each name and no others. "Named
    afterwards": each group is the topic of a plain fit with the largest probability of its seeds.
    LDA has a prior of 1 of each seed in its topic (tomotopy), alpha optimised, 300 sweeps; with
    10 and 100 it was equal on two other splits, with 400 and 2000 worse.
    """
    X, _, labels, words = corpora.newsgroups4()
    places = {name: [int(np.flatnonzero(words == w)[0]) for w in SEEDS[name]] for name in SEEDS}
    names = np.array(list(SEEDS))
    for seed in seeds:
        train, test = split_counts(X, 0.1, random_state=seed)
        for row in as_rows(baselines(train, test, seed)):
            yield {"seed": seed, **row}
        start = process_time()
        plain = AspectModel(components, random_state=seed).fit(train)
        seconds = process_time() - start
        mass = np.array([plain.components_[:, at].sum(axis=1) for at in places.values()])
        topics = linear_sum_assignment(-mass)[1]
        chosen = names[plain.embedding_[:, topics].argmax(axis=1)]
        found = {"perplexity": plain.perplexity(Dyads(test)), "CPU s": seconds}
        accuracy = float(np.mean(chosen == labels))
        yield {"seed": seed, "model": "named afterwards", "accuracy": accuracy, **found}
        start = process_time()
        model = GuidedAspectModel(components, seed_features=places, random_state=seed).fit(train)
        found = {"CPU s": process_time() - start, "perplexity": model.perplexity(Dyads(test))}
        ways = {
            "largest": names[model.embedding_[:, :4].argmax(axis=1)],
            "predict": model.predict(train),
        }
        for way, chosen in ways.items():
            accuracy = float(np.mean(chosen == labels))
            yield {
                "seed": seed,
                "model": f"GuidedAspectModel, {way}",
                "accuracy": accuracy,
                **found,
            }
        start = process_time()
        classifier = AspectClassifier(seed_features=places, random_state=seed).fit(train)
        accuracy = float(np.mean(classifier.predict(train) == labels))
        found = {"accuracy": accuracy, "CPU s": process_time() - start}
        found["perplexity"] = classifier.model_.perplexity(Dyads(test))
        yield {"seed": seed, "model": "AspectClassifier, no labels", **found}
        start = process_time()
        mixtures, topics = seeded_lda(train, components, list(places.values()), seed)
        seconds = process_time() - start
        score = perplexity(test, mixtures, topics, background=unigram(train), smoothing=1e-3)
        accuracy = float(np.mean(names[mixtures[:, :4].argmax(axis=1)] == labels))
        found = {"accuracy": accuracy, "perplexity": score, "CPU s": seconds}
        yield {"seed": seed, "model": "LDA, seeds as a prior", **found}


def seeded_lda(
    X: sp.csr_array, n_components: int, seeds: Sequence[Sequence[int]], seed: int
) -> peers.Factors:
    """Mixtures and components of a sampler with a larger prior of the seeds in their topics."""
    model = peers.gibbs_sampler(X, n_components, 5 / n_components, PRIOR, seed=seed)
    for k, places in enumerate(seeds):
        for at in places:
            prior = np.full(n_components, PRIOR)
            prior[k] = RAISED
            model.set_word_prior(str(at), prior.tolist())
    model.train(300, workers=1)
    return peers.posterior_means(model, X)


@experiment(
    minutes=3, models=["AspectClassifier", "AspectModel"], quick={"n_labels": [5], "seeds": [0]}
)
def few_labels(
    data: Sequence[str] = ("4 newsgroups", "20 newsgroups", "Reuters", "CLASSIC3"),
    n_labels: Sequence[int] = (5, 20, 80),
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
) -> Iterator[Row]:
    """How well are documents classified, if a few of each class are labelled?

    All documents are known, so many of each class with their label; the others are predicted. Every
    second message of the four newsgroups, every fifth of the twenty. Logistic regression has C = 10
    and tf-idf of logarithmic counts, or 20 `MixtureFeatures` of all documents.
    """
    for name in data:
        X, labels = documents(name)
        for n in n_labels:
            for seed in seeds:
                rng = np.random.default_rng(seed)
                of_class = [np.flatnonzero(labels == c) for c in np.unique(labels)]
                known = np.concatenate([rng.permutation(rows)[:n] for rows in of_class])
                rest = np.setdiff1d(np.arange(len(labels)), known)
                partial = np.full(len(labels), None, dtype=object)
                partial[known] = labels[known]
                for method, (classifier, table) in classifiers(X, seed).items():
                    start = process_time()
                    if isinstance(classifier, AspectClassifier):
                        classifier.fit(table, partial)
                    else:
                        classifier.fit(table[known], labels[known])
                    seconds = process_time() - start
                    P = classifier.predict_proba(table[rest])
                    predicted = classifier.classes_[P.argmax(axis=1)]
                    yield {
                        "data": name,
                        "labels of a class": n,
                        "seed": seed,
                        "method": method,
                        "accuracy": float(np.mean(predicted == labels[rest])),
                        "log loss": float(log_loss(labels[rest], P, labels=classifier.classes_)),
                        "CPU s": seconds,
                    }


def documents(name: str) -> tuple[sp.csr_array, np.ndarray]:
    """Counts of documents that are not empty, and their classes."""
    corpus, step = {
        "4 newsgroups": (corpora.newsgroups4, 2),
        "20 newsgroups": (corpora.newsgroups20_fifth, 1),
        "Reuters": (corpora.reuters5, 1),
        "CLASSIC3": (corpora.classic3, 1),
    }[name]
    X, _, labels, _ = corpus()
    kept = np.flatnonzero(X.sum(axis=1))[::step]
    return sp.csr_array(X[kept], dtype=np.float32), np.asarray(labels)[kept].astype(str)


def classifiers(X: sp.csr_array, seed: int) -> dict[str, tuple[Any, Any]]:
    """Classifiers, and the table that each is given."""
    tf_idf = TfidfTransformer(sublinear_tf=True).fit_transform(sp.csr_matrix(X))
    features = MixtureFeatures(AspectModel(20, random_state=seed)).fit_transform(X)
    return {
        "AspectClassifier": (AspectClassifier(random_state=seed), X),
        "logistic regression, tf-idf": (LogisticRegression(C=10, max_iter=500), tf_idf),
        "logistic regression, topics": (LogisticRegression(C=10, max_iter=500), features),
        "naive Bayes": (MultinomialNB(alpha=0.1), X),
    }


@experiment(
    minutes=3, models=["AspectModel", "GuidedAspectModel"], quick={"seeds": [0], "known": [3]}
)
def groups_of_new_rows(
    components: int = 32, known: Sequence[int] = (3, 10, 30), seeds: Sequence[int] = (0, 1, 2, 3, 4)
) -> Iterator[Row]:
    """Does it help to know the group of a new document of a few words?

    20 Newsgroups: 4,000 messages of 60 to 1,000 words are fitted, 1,000 others are new. So many
    words of each are known, and all others are predicted.
    """
    X, _, labels, _ = corpora.newsgroups20()
    lengths = X.sum(axis=1)
    usable = np.flatnonzero((lengths >= 60) & (lengths < 1000))
    for seed in seeds:
        rng = np.random.default_rng(seed)
        order = rng.permutation(usable)
        fitted, new = order[:4000], order[4000:5000]
        columns = np.flatnonzero((X[fitted] > 0).sum(axis=0) >= 5)
        train, rest = (
            sp.csr_array(X[rows][:, columns], dtype=np.float32) for rows in (fitted, new)
        )
        plain = AspectModel(components, random_state=seed).fit(train)
        grouped = GuidedAspectModel(components, group_effects="topics", random_state=seed)
        grouped.fit(train, groups=labels[fitted])
        for n in known:
            few, others = drawn(rest, n, rng)
            nothing, common = np.ones((len(new), 1)), unigram(train)
            predictions = {
                "unigram": (nothing, common[None], 0.0),
                "AspectModel()": (plain.transform(few), plain.components_, plain.smoothing_),
                "with groups": (
                    grouped.transform(few, groups=labels[new]),
                    grouped.components_,
                    grouped.smoothing_,
                ),
            }
            row: Row = {"seed": seed, "known words": n}
            for name, (mixtures, topics, smoothing) in predictions.items():
                row[name] = perplexity(
                    others, mixtures, topics, background=common, smoothing=smoothing
                )
            yield row


@experiment(
    minutes=2,
    models=["AspectModel", "GuidedAspectModel"],
    quick={"seeds": [100], "effects": [[0.3, 0]]},
)
def batches(
    effects: Sequence[tuple[float, float]] = ((0, 0), (0.3, 0), (0.6, 0), (0.6, 4)),
    seeds: Sequence[int] = (100, 101, 102, 103, 104),
) -> Iterator[Row]:
    """Is the use of programmes of genes found, if cells are measured in batches?

    600 made-up cells by 800 genes, 8 programmes, 3 batches. A batch multiplies the rates of genes
    by log-normal factors, whose standard deviation is the first of each pair. The second makes
    batches of different composition: each has two of six types of cells 1 + c times as often.
    Correlation of the use of each programme with the planted one: the mean, and the worst of
    eight. "between batches" is the share of the variance of use that is between batches.
    """
    for sd, composition in effects:
        for seed in seeds:
            X, use, batch = in_batches(sd, composition, seed)
            models = {
                "AspectModel()": (AspectModel(8, random_state=seed), {}),
                'group_effects="columns"': (
                    GuidedAspectModel(8, group_effects="columns", random_state=seed),
                    {"groups": batch},
                ),
            }
            for name, (model, groups) in models.items():
                start = process_time()
                found = model.fit(X, **groups).embedding_
                seconds = process_time() - start
                r = np.nan_to_num(np.corrcoef(found.T, use.T)[:8, 8:])
                matched = r[linear_sum_assignment(-r)]
                yield {
                    "sd of log factors": sd,
                    "composition": composition,
                    "seed": seed,
                    "model": name,
                    "correlation": float(matched.mean()),
                    "worst": float(matched.min()),
                    "between batches": between(found, batch),
                    "planted between batches": between(use, batch),
                    "CPU s": seconds,
                }


def in_batches(sd: float, composition: float, seed: int) -> tuple[np.ndarray, ...]:
    """Counts of cells (N, M), their use of programmes (N, 8), and their batches (N,)."""
    rng, n_cells, K = np.random.default_rng(seed), 600, TYPES + ACTIVITIES
    raised = np.where(rng.random((K, GENES)) < 0.05, rng.lognormal(1.2, 0.4, (K, GENES)), 1)
    programmes = rng.lognormal(0, 1, GENES) * raised
    programmes /= programmes.sum(axis=1, keepdims=True)
    batch = rng.integers(BATCHES, size=n_cells)
    chances = np.ones((BATCHES, TYPES))
    for b in range(BATCHES):
        chances[b, [2 * b, 2 * b + 1]] += composition
    chances /= chances.sum(axis=1, keepdims=True)
    use = np.zeros((n_cells, K))
    use[np.arange(n_cells), [rng.choice(TYPES, p=chances[b]) for b in batch]] = 1
    for activity in range(TYPES, K):
        share = np.where(rng.random(n_cells) < 0.35, rng.uniform(0.1, 0.6, n_cells), 0)
        use *= (1 - share)[:, None]
        use[:, activity] += share
    means = (use @ programmes) * rng.lognormal(0, sd, (BATCHES, GENES))[batch]
    depth = rng.lognormal(np.log(2000), 0.4, n_cells)
    means *= (depth / means.sum(axis=1))[:, None]
    return rng.poisson(means).astype(float), use, batch


def between(use: np.ndarray, batch: np.ndarray) -> float:
    """Share of the variance of use (N, K) that is between batches."""
    means = np.array([use[batch == b].mean(axis=0) for b in range(BATCHES)])
    return float(
        np.square(means[batch] - use.mean(axis=0)).mean(axis=0).sum() / use.var(axis=0).sum()
    )
