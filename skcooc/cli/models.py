"""The model of the options, its fit, lines of Python that repeat it, and the comparison."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import LatentDirichletAllocation

import skcooc
from skcooc import metrics
from skcooc.cli.terminal import READING, Arguments, Screen
from skcooc.cli.texts import NamedCounts
from skcooc.ensemble import RowMemory
from skcooc.model_selection import split_counts
from skcooc.protocol import CSR, Array
from skcooc.tables.dyads import Dyads

# Takes the number of components first, then the parameters that all estimators share, by name.
MODELS: dict[str, Callable[..., BaseEstimator]] = {
    "aspect": skcooc.AspectModel,
    "product-space": lambda size, **params: skcooc.ProductSpaceMixture(size, size, **params),
    "asymmetric": skcooc.AsymmetricClustering,
    "projection": skcooc.ClusteringProjection,
    "symmetric": lambda size, **params: skcooc.SymmetricClustering(size, size, **params),
    "abstraction": skcooc.ClusterAbstraction,
}

N_COMPONENTS = 32  # by default
MIN_COMPONENTS = 2  # by default, for few rows
ROWS_PER_COMPONENT = 10  # at least, by default


class Fitted(NamedTuple):
    seconds: float
    notes: tuple[str, ...]  # warnings of the fit


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


def with_components(options: Arguments, table: NamedCounts) -> Arguments:
    """The options with a number of components, which depends on the rows if it is not given."""
    usual = min(N_COMPONENTS, max(MIN_COMPONENTS, table.X.shape[0] // ROWS_PER_COMPONENT))
    components = options.components or max(usual, len(table.seeds or ()))
    return replace(options, components=components)


def make_model(table: NamedCounts, options: Arguments, **changed: Any) -> BaseEstimator:
    """The unfitted model of the options, with changed parameters."""
    parameters: dict[str, Any] = {
        "beta": options.beta,
        "max_iter": options.max_iter,
        "n_jobs": options.jobs,
        "random_state": options.seed,
        **changed,
    }
    if table.seeds is None and table.batches is None:
        return MODELS[options.model](options.components, **parameters)
    if table.seeds is not None:
        parameters |= {"seed_features": table.seeds, "feature_names": table.column_names}
    if table.batches is not None:
        parameters["group_effects"] = "columns"
    return skcooc.GuidedAspectModel(options.components, **parameters)


def timed_fit(model: BaseEstimator, X: CSR, batches: Array | None = None) -> Fitted:
    """Fit a model and return its seconds and its warnings, which are not printed."""
    with warnings_as_notes() as notes:
        begin = time.perf_counter()
        model.fit(X, **({} if batches is None else {"groups": batches}))
        seconds = time.perf_counter() - begin
    return Fitted(seconds, tuple(notes))


@contextmanager
def warnings_as_notes() -> Iterator[list[str]]:
    """Collect the warnings to users, which are not printed."""
    notes = list[str]()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield notes
    for w in caught:
        if issubclass(w.category, UserWarning):
            notes.append(str(w.message))
        else:
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)


def python_lines(table: NamedCounts, options: Arguments, model: BaseEstimator) -> list[str]:
    """Five lines of Python that read the same data, fit the same model and name its topics."""
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
    groups = "" if table.batches is None else ", groups=table.batches"
    return [
        f"from skcooc import {name}, inspection",
        "from skcooc.cli import read_counts",
        f"table = read_counts({', '.join(read)})",
        f"model = {name}({signature}).fit(table.X{groups})",
        'print(*inspection.name_topics(model, table.column_names, table.row_names), sep="\\n")',
    ]


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
            options.components, n_jobs=options.jobs, random_state=options.seed
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
    label: str, model: BaseEstimator, test: CSR, with_memory: float | None, fitted: Fitted
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
