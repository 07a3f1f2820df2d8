"""The model of the options, its fit, lines of Python that repeat it, and the comparison."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import LatentDirichletAllocation

import skcooc
from skcooc import metrics
from skcooc.cli.terminal import LIMITS, MAX_ITER, READING, Arguments, Screen
from skcooc.cli.texts import NamedCounts
from skcooc.ensemble import RowMemory
from skcooc.model_selection import split_counts
from skcooc.protocol import CSR
from skcooc.reports.report import TimedFit, text_parameters, timed_fit, topic_model
from skcooc.reports.sizes import find_size, largest_size
from skcooc.tables.dyads import Dyads


def co_clusters(size: int, **params: Any) -> BaseEstimator:
    """A co-clustering with so many clusters on both sides; 0: the numbers are searched."""
    return skcooc.SymmetricClustering(size or "auto", size or "auto", **params)


# Takes the number of components first, then the parameters that all estimators share, by name.
MODELS: dict[str, Callable[..., BaseEstimator]] = {
    "aspect": topic_model,
    "product-space": lambda size, **params: skcooc.ProductSpaceMixture(size, size, **params),
    "asymmetric": skcooc.AsymmetricClustering,
    "projection": skcooc.ClusteringProjection,
    "symmetric": co_clusters,
    "abstraction": skcooc.ClusterAbstraction,
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


def with_components(options: Arguments, table: NamedCounts, screen: Screen) -> Arguments:
    """The options with a number of components, which depends on the data if it is not given.

    Numbers of co-clusters of pairs and matrices are searched by their fit.
    """
    if options.components or (options.model == "symmetric" and table.texts is None):
        return options
    if options.model != "aspect":
        return replace(options, components=largest_size(table.X))
    with screen.step("choosing the number of topics"):
        size = find_size(table.X, **_parameters(table, options))
    return replace(options, components=max(size, len(table.seeds or ())))


def merges_topics(table: NamedCounts, options: Arguments) -> bool:
    """Whether nearly equal topics are merged: where their number was not given."""
    is_guided = table.seeds is not None or table.batches is not None
    return options.model == "aspect" and not options.components and not is_guided


def make_model(table: NamedCounts, options: Arguments, **changed: Any) -> BaseEstimator:
    """The unfitted model of the options, with changed parameters."""
    parameters = {**_parameters(table, options), **changed}
    if options.model != "aspect":
        return MODELS[options.model](options.components, **parameters)
    return topic_model(
        options.components,
        seeds=table.seeds,
        has_batches=table.batches is not None,
        feature_names=table.column_names,
        **parameters,
    )


def _parameters(table: NamedCounts, options: Arguments) -> dict[str, Any]:
    parameters: dict[str, Any] = {
        "beta": options.beta,
        "max_iter": options.max_iter,
        "n_jobs": options.jobs,
        "random_state": options.seed,
    }
    if options.model == "aspect" and table.texts is not None:
        has_seeds = table.seeds is not None
        has_batches = table.batches is not None
        parameters |= text_parameters(table.X, has_seeds=has_seeds, has_batches=has_batches)
    return parameters


def python_lines(table: NamedCounts, options: Arguments, model: BaseEstimator) -> list[str]:
    """Five lines of Python that read the same data, fit the same model and show its topics.

    ``options`` are those that were given, without a number of components that was found.
    """
    values = {name: getattr(options, name) for name in READING}
    read = [f"{name}={_literal(value)}" for name, value in values.items() if value is not None]
    if options.data is not None:
        read.insert(0, _literal(options.data))
    defaults = type(model)().get_params()
    params = model.get_params()
    arguments = {name: repr(value) for name, value in params.items() if value != defaults[name]}
    if table.seeds is not None:
        arguments |= {"seed_features": "table.seeds", "feature_names": "table.column_names"}
    signature = ", ".join(f"{name}={value}" for name, value in arguments.items())
    name = type(model).__name__
    if table.texts is not None:
        is_aspect = options.model == "aspect"
        arguments = _arguments_of_texts(table, options)
        if not is_aspect:
            arguments["model"] = f"{name}({signature})"
        call = ", ".join(f"{name}={value}" for name, value in arguments.items())
        return [
            f"from skcooc import {'fit_texts' if is_aspect else f'{name}, fit_texts'}",
            "from skcooc.cli import read_counts",
            f"table = read_counts({', '.join(read)})",
            f"report = fit_texts(table.texts, {call})",
            'print(*report.topics["name"], sep="\\n")',
        ]
    groups = "" if table.batches is None else ", groups=table.batches"
    return [
        f"from skcooc import {name}, inspection",
        "from skcooc.cli import read_counts",
        f"table = read_counts({', '.join(read)})",
        f"model = {name}({signature}).fit(table.X{groups})",
        'print(*inspection.name_topics(model, table.column_names, table.row_names), sep="\\n")',
    ]


def _arguments_of_texts(table: NamedCounts, options: Arguments) -> dict[str, str]:
    """Arguments of `skcooc.fit_texts` that are no defaults."""
    columns = {
        "group": ("groups", table.groups),
        "time": ("times", table.times),
        "batch": ("batches", table.batches),
        "seeds": ("seeds", table.seeds),
    }
    arguments = {"names": "table.row_names"}
    arguments |= {
        name: f"table.{field}" for name, (field, value) in columns.items() if value is not None
    }
    if options.stop_words == "none":
        arguments["stop_words"] = "None"
    values: dict[str, Any] = {name: getattr(options, name) for name in LIMITS}
    if options.model == "aspect":
        values["n_components"] = options.components or None
        if options.beta != "auto":
            values["beta"] = options.beta
        if options.max_iter != MAX_ITER:
            values["max_iter"] = options.max_iter
    values["random_state"] = options.seed
    return arguments | {name: repr(value) for name, value in values.items() if value is not None}


def _literal(value: object) -> str:
    return repr(value if isinstance(value, int | float | list) else str(value))


def compare(table: NamedCounts, options: Arguments, screen: Screen) -> list[Entry]:
    """Compare models on test tokens; ``fit`` tunes on validation tokens of the training data."""
    train, test = split_counts(table.X, options.test_size, options.seed)
    with screen.step("topic-free baseline"):
        memory = RowMemory(random_state=options.seed)
        seconds = timed_fit(memory, train).seconds
        ones = np.ones((test.shape[0], 1))
        perplexity = metrics.perplexity(test, ones, [metrics.unigram(train)])
        with_memory = memory.perplexity(Dyads(test))
        entries = [Entry("topic-free baseline: unigram", perplexity, with_memory, seconds)]
    for stop, early_stopping in (("until convergence", False), ("early stopping", True)):
        label = f"EM at beta = 1, {stop}"
        model = make_model(table, options, beta=1.0, early_stopping=early_stopping)
        screen.announce(label)
        fitted = timed_fit(screen.watch(model), train)
        perplexities = [record.validation_perplexity for record in model.history_]
        perplexities = [value for value in perplexities if np.isfinite(value)]
        if model.early_stopping and perplexities[-1] <= min(perplexities):
            note = (
                "early stopping had no effect: validation perplexity fell until the last iteration"
            )
            fitted = fitted._replace(notes=(*fitted.notes, note))
        entries.append(_entry(label, model, test, None, fitted))
    label = "EM, beta tuned on validation data"
    if options.beta != "auto":
        label = f"EM at beta = {options.beta:g} (--beta)"
    screen.announce(label)
    memory = RowMemory(screen.watch(make_model(table, options)), random_state=options.seed)
    fitted = timed_fit(memory, train)
    with_memory = memory.perplexity(Dyads(test))
    entries.append(_entry(label, memory.estimator_, test, with_memory, fitted))
    label = "LDA of scikit-learn, defaults"
    with screen.step(label):
        lda = LatentDirichletAllocation(
            options.components or len(memory.estimator_.components_),
            n_jobs=options.jobs,
            random_state=options.seed,
        )
        clone(lda).set_params(max_iter=1).fit(train)  # starts its processes, which is not timed
        memory = RowMemory(lda, random_state=options.seed)
        seconds, notes = timed_fit(memory, train)
        perplexity = metrics.perplexity(test, memory.embedding_, memory.components_)
        with_memory = memory.perplexity(Dyads(test))
        n_iter = memory.estimator_.n_iter_
        entries.append(Entry(label, perplexity, with_memory, seconds, n_iter=n_iter, notes=notes))
    return entries


def _entry(
    label: str, model: BaseEstimator, test: CSR, with_memory: float | None, fitted: TimedFit
) -> Entry:
    return Entry(
        label,
        model.perplexity(Dyads(test)),
        with_memory,
        fitted.seconds,
        beta=float(model.beta_),
        smoothing=float(model.smoothing_),
        n_iter=model.n_iter_,
        notes=fitted.notes,
    )
