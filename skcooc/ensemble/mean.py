"""The mean of what an estimator predicts from several random starts, and what is best for it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skcooc.base import CooccurrenceEstimator
from skcooc.fitting import Recipe, Settings
from skcooc.fitting.fit import in_threads, shares
from skcooc.fitting.journal import Journal
from skcooc.fitting.tuning import (
    ComponentPrior,
    LeaveOneOut,
    Record,
    Temperature,
    Trial,
    Tunable,
    Values,
    tune,
)
from skcooc.heldout import Validation
from skcooc.heldout.predictors import CachedPredictions, Factors, side_by_side
from skcooc.heldout.validation import hold_out
from skcooc.protocol import Block

WORTH = 0.0  # relative gain for which there is a prior: a mean leaves little to chance


class Judgement(NamedTuple):
    """What the mean of short fits predicts of the observations held out, and how well."""

    validation: Validation
    predicted: CachedPredictions


@dataclass(frozen=True)
class Mean:
    """Fits of clones of an estimator, one for each seed."""

    estimator: CooccurrenceEstimator
    seeds: Sequence[int]
    n_jobs: int | None

    def members(
        self, X: Block, journal: Journal, **parameters: object
    ) -> list[CooccurrenceEstimator]:
        """One fitted estimator for each seed."""
        n_outer, n_inner = shares(self.n_jobs, len(self.seeds))
        shared = {"n_jobs": n_inner, "warm_start": False}

        def fitted(seed: int) -> CooccurrenceEstimator:
            member = clone(self.estimator).set_params(random_state=seed, **shared, **parameters)
            return member.fit(X.table, sample_weight=X.weights)

        def known(number: int, seed: int) -> CooccurrenceEstimator:
            return journal.once(("member", number), lambda: fitted(seed), tells=True)

        return in_threads(known, list(enumerate(self.seeds)), n_outer)

    def chosen(
        self, recipe: Recipe, X: Block, journal: Journal
    ) -> tuple[dict[str, Any], list[Trial], Judgement | None]:
        """Parameters that are best for the mean, all that was tried, and what it predicts there."""
        settings = recipe.settings
        if not settings.holds_out:
            return {"beta": settings.beta}, [], None
        record, tunables = journal.once(("tries",), Record[Judgement]), _tunables(recipe, X)
        plain = {} if recipe.concentration is None else {"burstiness": None}
        judge = self._judge(X, settings)

        def told(trial: Trial) -> bool:
            journal.tell()
            return False

        fit = lambda values: judge({**values, **plain})  # noqa: E731
        chosen = tune(tunables, settings.names, fit, record, told)
        found = _untuned(tunables) | dict(chosen.values)
        judged = record.best
        if plain:
            judged = journal.once(("bursty",), lambda: judge(found))
        return found, record.trials, judged

    def _judge(self, X: Block, settings: Settings) -> Callable[[Values], Judgement]:
        """Short fits of all members, judged by their mean."""
        rest, heldout = hold_out(X, *settings.division)
        short = {"n_init": 1, "max_iter": settings.short.max_iter}

        def judged(values: Values) -> Judgement:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                members = self.members(rest, Journal(), **short, **values)
            predicted = CachedPredictions(mean_of(members).cells(heldout.X))
            return Judgement(heldout.score(predicted), predicted)

        return judged


def _tunables(recipe: Recipe, X: Block) -> list[Tunable]:
    """The temperature; then what is tuned for one model, but whatever the gain."""
    tunables: list[Tunable] = [Temperature(recipe.beta_range(X))]
    if not recipe.settings.tunes:
        return tunables  # for the smoothing alone
    for tunable in recipe.family.tunables(X):
        if isinstance(tunable, ComponentPrior):
            tunables.append(replace(tunable, only_thin=False, min_gain=WORTH))
        elif isinstance(tunable, LeaveOneOut):
            within = tunable.within
            if within.guess is not None:  # a mean overfits less
                within = within._replace(guess=(1 + within.guess) / 2)
            tunables.append(replace(tunable, within=within, min_gain=WORTH))
    return tunables


def _untuned(tunables: Sequence[Tunable]) -> dict[str, Any]:
    """The values of what was not worth it."""
    found: dict[str, Any] = {}
    for tunable in tunables:
        if isinstance(tunable, ComponentPrior):
            found["component_prior"] = 0.0
        elif isinstance(tunable, LeaveOneOut):
            found["leave_one_out"] = False
    return found


def equal(n: int) -> list[float]:
    """The weights of a plain mean."""
    return [1 / n] * n


def mean_of(members: Sequence[CooccurrenceEstimator]) -> Factors:
    """The mean of what S fitted models predict: A, (N, S K), and B, (M, S K)."""
    models = [Factors(member.embedding_, member.components_.T) for member in members]
    return side_by_side(models, equal(len(members)))
