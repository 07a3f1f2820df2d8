"""Fit models to the same training tokens and score them on the same test tokens."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import ConvergenceWarning

from skcooc import metrics
from skcooc.cli.arguments import Arguments
from skcooc.cli.terminal import Screen
from skcooc.cli.texts import NamedCounts
from skcooc.ensemble import RowMemory
from skcooc.estimators.aspect import AspectModel
from skcooc.estimators.asymmetric import AsymmetricClustering
from skcooc.estimators.cluster_abstraction import ClusterAbstraction
from skcooc.estimators.clustering_projection import ClusteringProjection
from skcooc.estimators.product_space import ProductSpaceMixture
from skcooc.estimators.symmetric import SymmetricClustering
from skcooc.model_selection import split_counts
from skcooc.protocol import CSR
from skcooc.tables.dyads import Dyads

# Takes the number of components first, then the parameters that all estimators share, by name.
ModelFactory: TypeAlias = Callable[..., BaseEstimator]


def _with_equal_sizes(estimator: ModelFactory) -> ModelFactory:
    """The estimator with equally many components of rows and columns."""
    return lambda components, **parameters: estimator(components, components, **parameters)


MODELS: dict[str, ModelFactory] = {
    "aspect": AspectModel,
    "product-space": _with_equal_sizes(ProductSpaceMixture),
    "asymmetric": AsymmetricClustering,
    "projection": ClusteringProjection,
    "symmetric": _with_equal_sizes(SymmetricClustering),
    "abstraction": ClusterAbstraction,
}


@dataclass(frozen=True)
class Entry:
    """A model in the comparison; None for quantities that it does not have."""

    label: str
    perplexity: float  # of the test tokens
    with_memory: float | None = None  # the same with RowMemory
    seconds: float | None = None  # of fit, that of the memory included
    beta: float | None = None
    smoothing: float | None = None
    n_iter: int | None = None
    notes: tuple[str, ...] = ()  # warnings of the fit


@dataclass(frozen=True)
class Comparison:
    entries: list[Entry]
    chosen: BaseEstimator  # fitted, as the user asked for
    compile_seconds: float


def compare(table: NamedCounts, options: Arguments, screen: Screen) -> Comparison:
    """Compare models on test tokens; ``fit`` tunes on validation tokens of the training data."""
    train, test = split_counts(table.X, options.test_size, options.seed)
    common = {"max_iter": options.max_iter, "n_jobs": options.jobs, "random_state": options.seed}
    make = partial(MODELS[options.model], options.components, **common)
    with screen.step("compiling"):
        compile_seconds = _warm_up(options)
    with screen.step("topic-free baseline"):
        memory = RowMemory(random_state=options.seed)
        seconds, _ = _timed_fit(memory, train)
        same_for_all = np.ones((test.shape[0], 1))
        alone = metrics.perplexity(test, same_for_all, [metrics.unigram(train)])
        with_memory = memory.perplexity(Dyads(test))
        entries = [Entry("topic-free baseline: unigram", alone, with_memory, seconds)]
    for stop, early_stopping in (("until convergence", False), ("early stopping", True)):
        label = f"EM at beta = 1, {stop}"
        model = make(beta=1.0, early_stopping=early_stopping)
        screen.announce(label)
        seconds, notes = _timed_fit(screen.watch(model), train)
        perplexities = [record.validation_perplexity for record in model.history_]
        if model.early_stopping and perplexities[-1] <= min(perplexities):
            what = "validation perplexity fell until the last iteration"
            notes += (f"early stopping had no effect: {what}",)
        entries.append(_entry(label, model, test, None, seconds, notes))
    label = "EM, beta tuned on validation data"
    if options.beta != "auto":
        label = f"EM at beta = {options.beta:g} (--beta)"
    screen.announce(label)
    memory = RowMemory(screen.watch(make(beta=options.beta)), random_state=options.seed)
    seconds, notes = _timed_fit(memory, train)
    chosen, with_memory = memory.estimator_, memory.perplexity(Dyads(test))
    entries.append(_entry(label, chosen, test, with_memory, seconds, notes))
    if not options.skip_lda:
        label = "LDA of scikit-learn, defaults"
        with screen.step(label):
            entries.append(_lda(label, options, train, test))
    return Comparison(entries, chosen, compile_seconds)


def refit(table: NamedCounts, chosen: BaseEstimator, screen: Screen) -> BaseEstimator:
    """Fit the chosen model to all data with its tuned parameters, without callbacks."""
    screen.announce(f"final fit to all data, beta = {chosen.beta_:.3g}")
    tuned = {"beta": chosen.beta_, "smoothing": chosen.smoothing_}
    for name in ("component_prior", "leave_one_out", "row_prior"):
        if (value := getattr(chosen, f"{name}_", None)) is not None:
            tuned[name] = value
    model = clone(chosen).set_params(**tuned)
    _timed_fit(screen.watch(model), table.X)
    return model.set_callbacks()


def _entry(
    label: str, model: BaseEstimator, test: CSR, with_memory: float | None, seconds: float,
    notes: tuple[str, ...],
) -> Entry:  # fmt: skip
    alone = model.perplexity(Dyads(test))
    found = float(model.beta_), float(model.smoothing_), model.n_iter_
    return Entry(label, alone, with_memory, seconds, *found, notes)


def _lda(label: str, options: Arguments, train: CSR, test: CSR) -> Entry:
    K, seed = options.components, options.seed
    lda = LatentDirichletAllocation(K, n_jobs=options.jobs, random_state=seed)
    memory: BaseEstimator = RowMemory(lda, random_state=seed)
    seconds, notes = _timed_fit(memory, train)
    alone = metrics.perplexity(test, memory.embedding_, memory.components_)
    with_memory, n_iter = memory.perplexity(Dyads(test)), memory.estimator_.n_iter_
    return Entry(label, alone, with_memory, seconds, n_iter=n_iter, notes=notes)


def _timed_fit(model: BaseEstimator, X: CSR) -> tuple[float, tuple[str, ...]]:
    """Fit a model; its seconds and convergence warnings, which are not printed."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        begin = time.perf_counter()
        model.fit(X)
        seconds = time.perf_counter() - begin
    notes: tuple[str, ...] = ()
    for w in caught:
        if issubclass(w.category, ConvergenceWarning):
            notes += (str(w.message),)
        else:
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    return seconds, notes


def _warm_up(options: Arguments) -> float:
    """Compile loops and start workers before fits are timed; the seconds this took."""
    begin = time.perf_counter()
    train, test = split_counts(np.diag([20.0, 30.0, 40.0]) + 5, 0.2, options.seed)
    model = MODELS[options.model](2, max_iter=5, n_jobs=options.jobs, random_state=options.seed)
    memory = RowMemory(model, random_state=options.seed)
    _timed_fit(memory, train)
    memory.perplexity(Dyads(test))
    if not options.skip_lda:
        LatentDirichletAllocation(2, max_iter=1, n_jobs=options.jobs).fit(train)
    return time.perf_counter() - begin
