"""Small fits whose numbers tell whether the results of an experiment still hold.

Each model of the library is fitted with its defaults to chapters of the Bible and to a planted
table. Their numbers are kept in ``benchmarks/reference.json``, and a test compares them with those
of today's code. A record of an experiment has the numbers of the models that it used. If a number
has changed since by more than `TOLERANCE`, that record is old.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from math import isclose
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer

from skcooc import (
    AspectClassifier,
    AspectModel,
    AspectRetriever,
    AsymmetricClustering,
    AveragedModels,
    ClusterAbstraction,
    ClusteringProjection,
    Dyads,
    GuidedAspectModel,
    InterpolatedModels,
    ProductSpaceMixture,
    RowMemory,
    SymmetricClustering,
    TopicalColumns,
    TriadicAspectModel,
    Triads,
    fit_texts,
)
from skcooc.datasets import load_bible, make_cooccurrences
from skcooc.image import TextureSegmenter
from skcooc.model_selection import ComponentSearchCV, split_counts

PATH = Path(__file__).with_suffix(".json")
TOLERANCE = 0.01  # relative; numbers of another random state differ by about as much
RANDOM_STATES = 0, 1, 2

Numbers = dict[str, float]


@cache
def chapters() -> tuple[sp.csr_array, np.ndarray]:
    """Every third chapter of the Bible: counts of the 600 most frequent words, and books."""
    bible = load_bible()
    counts = CountVectorizer(stop_words="english", max_features=600).fit_transform(bible.data[::3])
    return sp.csr_array(counts), np.asarray(bible.groups[::3])


def perplexities(**models: Any) -> Numbers:
    """Mean held-out perplexity of fits of each model."""
    planted = make_cooccurrences(300, 200, 6, n_tokens=20_000, random_state=0).X
    numbers = {}
    for name, X in {"Bible": chapters()[0], "planted": planted}.items():
        train, test = split_counts(X, 0.2, random_state=0)
        for kind, model in models.items():
            fits = (clone(model).set_params(random_state=seed).fit(train) for seed in RANDOM_STATES)
            numbers[f"{name}, {kind}"] = mean(fit.perplexity(Dyads(test)) for fit in fits)
    return numbers


def classified() -> Numbers:
    """Share of the chapters whose books are predicted from half of them."""
    X, books = chapters()
    labels = np.where(np.arange(len(books)) % 2, books, "")
    model = AspectClassifier(random_state=0).fit(X, [label or None for label in labels])
    return {"accuracy": float(np.mean((model.predict(X) == books)[labels == ""]))}


def retrieved() -> Numbers:
    """Share of the ten nearest chapters that are of the same book."""
    X, books = chapters()
    model = AspectRetriever(8, random_state=0).fit(X)
    nearest = model.kneighbors(X, n_neighbors=11, return_distance=False)[:, 1:]
    return {"precision": float(np.mean(books[nearest] == books[:, None]))}


def triads() -> Numbers:
    """Perplexity of planted triads."""
    rng = np.random.default_rng(0)
    z = rng.integers(4, size=6000)
    indices = [rng.integers(6, size=6000) + 6 * z for _ in range(3)]
    shape = (24, 24, 24)
    train = Triads(*(index[:4000] for index in indices), shape=shape)
    test = Triads(*(index[4000:] for index in indices), shape=shape)
    return {"planted": TriadicAspectModel(4, random_state=0).fit(train).perplexity(test)}


def segmented() -> Numbers:
    """Share of the pixels of two textures that are in the right segment."""
    rough = np.random.default_rng(0).normal(size=(128, 64))
    smooth = np.cumsum(rough, axis=1)
    image = np.hstack([rough, smooth / smooth.std()])
    labels = TextureSegmenter(2, random_state=0).fit_predict(image)
    right = float(np.mean(labels == (np.arange(128) >= 64)))
    return {"right": max(right, 1 - right)}


def searched() -> Numbers:
    """Number of components that is found of four."""
    X = make_cooccurrences(100, 60, 4, random_state=0).X
    search = ComponentSearchCV(AspectModel(), [2, 3, 4, 5, 6], cv=3, random_state=0).fit(X)
    return {"components": search.best_n_components_}


def reported() -> Numbers:
    """Sum of the squared shares of topics."""
    report = fit_texts(load_bible().data[::3], n_components=8, random_state=0)
    return {"shares": float((report.topics["share"] ** 2).sum())}


def selected() -> Numbers:
    """Number of columns that are dropped."""
    return {"dropped": len(TopicalColumns(random_state=0).fit(chapters()[0]).dropped_)}


PAIR = [("topics", AspectModel(8)), ("clusters", AsymmetricClustering(8))]
MODELS: dict[str, Callable[[], Numbers]] = {
    "AspectClassifier": classified,
    "AspectModel": partial(perplexities, few=AspectModel(8), many=AspectModel(64)),
    "AspectRetriever": retrieved,
    "AsymmetricClustering": partial(
        perplexities, soft=AsymmetricClustering(8), hard=AsymmetricClustering(8, hard=True)
    ),
    "AveragedModels": partial(perplexities, default=AveragedModels(AspectModel(8), 4)),
    "ClusterAbstraction": partial(perplexities, default=ClusterAbstraction(8)),
    "ClusteringProjection": partial(perplexities, default=ClusteringProjection(8)),
    "ComponentSearchCV": searched,
    "GuidedAspectModel": partial(
        perplexities, default=GuidedAspectModel(8, seed_features={"one": [0, 1]})
    ),
    "InterpolatedModels": partial(perplexities, default=InterpolatedModels(PAIR)),
    "ProductSpaceMixture": partial(perplexities, default=ProductSpaceMixture(4, 4)),
    "RowMemory": partial(perplexities, default=RowMemory()),
    "SymmetricClustering": partial(
        perplexities, soft=SymmetricClustering(6, 6), hard=SymmetricClustering(6, 6, hard=True)
    ),
    "TextureSegmenter": segmented,
    "TopicalColumns": selected,
    "TriadicAspectModel": triads,
    "fit_texts": reported,
}


def numbers(names: Iterable[str] = MODELS) -> dict[str, Numbers]:
    """The numbers of today's code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return {name: MODELS[name]() for name in names}


@cache
def stored() -> dict[str, Numbers]:
    """The numbers in the file."""
    loaded: dict[str, Numbers] = json.loads(PATH.read_text(encoding="utf-8"))
    return loaded


def differing(old: Mapping[str, Numbers], new: Mapping[str, Numbers]) -> list[str]:
    """Models of which a number differs, or is missing.

    Examples
    --------
    >>> differing({"AspectModel": {"Bible": 200.0}}, {"AspectModel": {"Bible": 201.0}})
    []
    >>> differing({"AspectModel": {"Bible": 200.0}}, {"AspectModel": {"Bible": 204.0}})
    ['AspectModel']
    """
    return [
        name
        for name, before in old.items()
        if before.keys() != new.get(name, {}).keys()
        or not all(isclose(new[name][key], one, rel_tol=TOLERANCE) for key, one in before.items())
    ]


if __name__ == "__main__":
    found = numbers(sys.argv[1:] or MODELS)
    merged = (json.loads(PATH.read_text(encoding="utf-8")) if PATH.is_file() else {}) | found
    PATH.write_text(json.dumps(merged, indent=1, sort_keys=True) + "\n", encoding="utf-8")
