"""Tuned hyper-parameters: temperature, leave-one-out EM and number of components."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import process_time
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.baselines import as_rows, baselines
from benchmarks.experiment import Row, experiment
from benchmarks.perplexity import aspect_model, collection
from skcooc import (
    AspectModel,
    AsymmetricClustering,
    Dyads,
    SymmetricClustering,
)
from skcooc.datasets import make_cooccurrences
from skcooc.heldout import Factors, Unigram
from skcooc.heldout.predictors import smoothed
from skcooc.metrics import best_weights, perplexity_of, unigram
from skcooc.model_selection import (
    ComponentSearchCV,
    split_counts,
)

BETAS = (0.6, 0.64, 0.68, 0.72, 0.76, 0.8, 0.84, 0.88, 0.92, 0.96, 1.0)
FLAT_RANKS = 10.0  # of Zipf's law: probabilities are proportional to 1 / (rank + 10)
PLANTED_TOKENS = 80_000
LEAVE_ONE_OUT = {
    "plain EM, no priors": {"leave_one_out": False, "component_prior": 0.0},
    "plain EM, component_prior=0.02": {"leave_one_out": False, "component_prior": 0.02},
    "plain EM, component_prior=0.1": {"leave_one_out": False, "component_prior": 0.1},
    "leave-one-out EM, its priors": {"leave_one_out": True},
    "default: chosen by validation tokens": {},
}


@experiment(
    minutes=10,
    models=["AspectModel", "RowMemory"],
    quick={"data": [["Cranfield", 4]], "seeds": [0], "betas": [0.8, 1.0]},
)
def temperature(
    data: Sequence[tuple[str, int]] = (
        ("Cranfield", 8),
        ("Cranfield", 32),
        ("Cranfield", 128),
        ("CLASSIC3", 32),
        ("Brown pairs", 32),
    ),
    betas: Sequence[float] = BETAS,
    seeds: Sequence[int] = (0, 1, 2),
) -> Iterator[Row]:
    """Does beta="auto" find as good a temperature as the best fixed one?

    A tenth of the tokens is held out. The fixed temperatures have an unfair advantage: the best of
    them, and the smoothing of each, are chosen on the *test* tokens. beta="auto" chooses both
    inside ``fit``. All without pseudo-counts and leave-one-out: the temperature alone differs.
    """
    for name, K in data:
        X = collection(name)
        for seed in seeds:
            train, test = split_counts(X, 0.1, random_state=seed)
            case = {"data": name, "K": K, "seed": seed} | baselines(train, test, seed)
            plain = {"component_prior": 0.0, "leave_one_out": False}
            start = process_time()
            auto = aspect_model(K, seed, **plain).fit(train)
            seconds = process_time() - start
            fixed = [
                (_with_best_smoothing(aspect_model(K, seed, beta=b, **plain), train, test), b)
                for b in betas
            ]
            best, beta = min(fixed)
            found = auto.perplexity(Dyads(test))
            yield case | {
                "beta='auto'": found,
                "best fixed beta": best,
                "auto / best": found / best,
                "beta found": auto.beta_,
                "beta that is best": beta,
                "CPU s of auto": seconds,
            }


def _with_best_smoothing(model: AspectModel, train: Any, test: Any) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(train)
    predictor, b = Factors(model.embedding_, model.components_.T), unigram(train)
    s = float(best_weights(test, [predictor, Unigram(b)])[1])
    return perplexity_of(test, smoothed(predictor, b, s))


def planted(K: int, seed: int, background: float, burstiness: float | None) -> sp.csr_array:
    """Counts of K topics with Zipf's law in the columns, (800, 800).

    With ``background``, this share of each row is drawn from overall frequencies. With
    ``burstiness`` rows repeat their words, as in texts: each row is drawn from its own
    distribution, a Dirichlet draw around its mixture with this concentration.
    """
    data = make_cooccurrences(800, 800, K, n_tokens=1, random_state=seed)
    rng = np.random.default_rng(seed + 10_000)
    zipf = 1 / (rng.permutation(800) + FLAT_RANKS)
    zipf /= zipf.sum()
    components = data.components * zipf
    P = data.mixtures @ (components / components.sum(axis=1, keepdims=True))
    P = (1 - background) * P + background * zipf
    P /= P.sum(axis=1, keepdims=True)
    if burstiness is not None:
        P = rng.gamma(np.maximum(burstiness * P, 1e-9)) + 1e-12
        P /= P.sum(axis=1, keepdims=True)
    totals = rng.multinomial(PLANTED_TOKENS, np.full(800, 1 / 800))
    return sp.csr_array(rng.multinomial(totals, P).astype(np.float32))


def number_found(model: Any, X: sp.csr_array, **options: Any) -> str:
    """The number that ComponentSearchCV finds, and whether it says that more are needed."""
    search = ComponentSearchCV(model, refit=False, random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X)
    number = str(search.best_n_components_)
    return f"{number}, still falling" if getattr(search, "still_falling_", False) else number


def topics_found(K: int, seed: int, background: float, burstiness: float | None) -> str:
    """The number of topics, by ComponentSearchCV."""
    return number_found(AspectModel(), planted(K, seed, background, burstiness))


def clusters_found(K: int, seed: int) -> str:
    """The number of clusters of rows, by ComponentSearchCV."""
    X = make_cooccurrences(800, 400, K, kind="clusters", n_tokens=40_000, random_state=seed).X
    return number_found(AsymmetricClustering(hard=True), X, cv=2)


def coclusters_found(K: int, seed: int) -> str:
    """The numbers of clusters of rows and of columns, by the search of a fit."""
    X = make_cooccurrences(
        800, 400, K, kind="coclusters", n_column_clusters=K, n_tokens=40_000, random_state=seed
    ).X
    model = SymmetricClustering("auto", "auto", hard=True, random_state=0).fit(X)
    return f"{model.n_row_clusters_} x {model.n_column_clusters_}"


FINDERS: dict[str, Callable[[int, int], str]] = {
    "topics": partial(topics_found, background=0.0, burstiness=None),
    "topics and background": partial(topics_found, background=0.3, burstiness=None),
    "topics in bursts": partial(topics_found, background=0.0, burstiness=100.0),
    "clusters of rows": clusters_found,
    "co-clusters": coclusters_found,
}


@experiment(
    minutes=5,
    models=["AspectModel", "AsymmetricClustering", "ComponentSearchCV", "SymmetricClustering"],
    quick={"numbers": [3], "seeds": [0], "kinds": ["topics", "co-clusters"]},
)
def planted_components(
    numbers: Sequence[int] = (5, 12, 30),
    kinds: Sequence[str] = tuple(FINDERS),
    seeds: Sequence[int] = (0, 1, 2),
) -> Iterator[Row]:
    """Are the planted numbers of components found, by ComponentSearchCV or by "auto"?

    Tables of 800 x 800 with 80,000 tokens. In "topics and background" 30 % of each row are overall
    frequencies; in "topics in bursts" rows repeat their words. Clusters: 800 x 400, hard, 40,000
    tokens; those of rows by the integrated likelihood of ComponentSearchCV, co-clusters by the
    search of SymmetricClustering("auto", "auto"). "found": the number, or "still falling" where
    ComponentSearchCV says that the largest number is not large enough.
    """
    for kind, K, seed in itertools.product(kinds, numbers, seeds):
        start = process_time()
        found = FINDERS[kind](K, seed)
        n = int(found.partition(",")[0].partition(" x ")[0])
        yield {
            "kind": kind,
            "planted": K,
            "seed": seed,
            "found": found,
            "exact": float(set(found.split(" x ")) == {str(K)}),
            "relative error": abs(n - K) / K,
            "CPU s": process_time() - start,
        }


@experiment(
    minutes=8,
    models=["AspectModel", "RowMemory"],
    quick={"data": ["Cranfield"], "K": 8, "seeds": [0]},
)
def leave_one_out(
    data: Sequence[str] = ("Cranfield", "CLASSIC3", "Reuters", "Brown pairs"),
    K: int = 128,
    seeds: Sequence[int] = (0, 1, 2),
) -> Iterator[Row]:
    """Does leave-one-out EM predict better than plain EM, and than its pseudo-counts alone?

    A tenth of the tokens is held out; beta is tuned inside the fit. The priors of leave-one-out EM
    are pseudo-counts: 0.02 of each column in a topic, or a quarter of that where it is better, and
    1 of a row, or 0.3.
    """
    for name in data:
        X = collection(name)
        for seed in seeds:
            train, test = split_counts(X, 0.1, random_state=seed)
            case = {"data": name, "K": K, "seed": seed}
            yield from (case | row for row in as_rows(baselines(train, test, seed)))
            for model, setting in LEAVE_ONE_OUT.items():
                fitted = AspectModel(K, random_state=seed, **setting).fit(train)
                found = {"perplexity": fitted.perplexity(Dyads(test)), "beta": fitted.beta_}
                yield case | {"model": model} | found
