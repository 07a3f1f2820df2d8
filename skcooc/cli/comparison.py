"""Fit models to the same training tokens and score them on the same test tokens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import LatentDirichletAllocation

from skcooc import metrics
from skcooc.cli.arguments import Arguments
from skcooc.cli.models import Fitted, fit, make_model
from skcooc.cli.terminal import Screen
from skcooc.cli.texts import NamedCounts
from skcooc.ensemble import RowMemory
from skcooc.model_selection import split_counts
from skcooc.protocol import CSR
from skcooc.tables.dyads import Dyads


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


def compare(table: NamedCounts, options: Arguments, screen: Screen) -> list[Entry]:
    """Compare models on test tokens; ``fit`` tunes on validation tokens of the training data."""
    train, test = split_counts(table.X, options.test_size, options.seed)
    with screen.step("topic-free baseline"):
        memory = RowMemory(random_state=options.seed)
        seconds = fit(memory, train).seconds
        same_for_all = np.ones((test.shape[0], 1))
        alone = metrics.perplexity(test, same_for_all, [metrics.unigram(train)])
        with_memory = memory.perplexity(Dyads(test))
        entries = [Entry("topic-free baseline: unigram", alone, with_memory, seconds)]
    for stop, early_stopping in (("until convergence", False), ("early stopping", True)):
        label = f"EM at beta = 1, {stop}"
        model = make_model(table, options, beta=1.0, early_stopping=early_stopping)
        screen.announce(label)
        fitted = fit(screen.watch(model), train)
        perplexities = [record.validation_perplexity for record in model.history_]
        if model.early_stopping and perplexities[-1] <= min(perplexities):
            what = "validation perplexity fell until the last iteration"
            fitted = fitted._replace(notes=(*fitted.notes, f"early stopping had no effect: {what}"))
        entries.append(_entry(label, model, test, None, fitted))
    label = "EM, beta tuned on validation data"
    if options.beta != "auto":
        label = f"EM at beta = {options.beta:g} (--beta)"
    screen.announce(label)
    memory = RowMemory(screen.watch(make_model(table, options)), random_state=options.seed)
    fitted = fit(memory, train)
    with_memory = memory.perplexity(Dyads(test))
    entries.append(_entry(label, memory.estimator_, test, with_memory, fitted))
    label = "LDA of scikit-learn, defaults"
    with screen.step(label):
        return [*entries, _lda(label, options, train, test)]


def _entry(
    label: str, model: BaseEstimator, test: CSR, with_memory: float | None, fitted: Fitted
) -> Entry:
    alone = model.perplexity(Dyads(test))
    found = float(model.beta_), float(model.smoothing_), model.n_iter_
    return Entry(label, alone, with_memory, fitted.seconds, *found, fitted.notes)


def _lda(label: str, options: Arguments, train: CSR, test: CSR) -> Entry:
    K, seed = options.components, options.seed
    lda = LatentDirichletAllocation(K, n_jobs=options.jobs, random_state=seed)
    memory: BaseEstimator = RowMemory(lda, random_state=seed)
    clone(lda).set_params(max_iter=1).fit(train)  # starts its processes, which is not timed
    seconds, notes = fit(memory, train)
    alone = metrics.perplexity(test, memory.embedding_, memory.components_)
    with_memory, n_iter = memory.perplexity(Dyads(test)), memory.estimator_.n_iter_
    return Entry(label, alone, with_memory, seconds, n_iter=n_iter, notes=notes)
