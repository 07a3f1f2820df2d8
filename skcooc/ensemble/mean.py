"""The mean of what an estimator predicts from several random starts, and what is best for it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skcooc.base import CooccurrenceEstimator
from skcooc.em import TemperatureRange
from skcooc.em.refinements import search_left_out, search_prior
from skcooc.em.temperature import Probe, best, search
from skcooc.fitting import Options, Plan
from skcooc.fitting.aims import NOTHING, Aims
from skcooc.fitting.journal import Journal
from skcooc.fitting.probing import Tried, Tries
from skcooc.fitting.restarts import in_threads, shares
from skcooc.heldout import Validation
from skcooc.heldout.predictors import Factors, Known, side_by_side
from skcooc.heldout.validation import hold_out
from skcooc.protocol import Block

WORTH = 0.0  # relative gain for which there is a prior: a mean leaves little to chance


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
        self, plan: Plan, X: Block, options: Options, journal: Journal
    ) -> tuple[dict[str, Any], list[Probe], Tried | None]:
        """Parameters that are best for the mean, the probes, and what these predict with them."""
        if not options.holds_out:
            return {"beta": options.beta}, [], None
        aims = plan.aims(X)
        plain = {} if plan.bursts is None else {"burstiness": None}  # as Plan.searching says
        tries = journal.once(("tries",), Tries)
        probes = self._search(X, options, aims, tries, journal, **plain)
        chosen = best(probes, WORTH)
        found: dict[str, Any] = {"beta": chosen.beta}
        if options.searches and aims.priors is not None:
            found["component_prior"] = chosen.prior
        if aims.left_out is not None:
            found["leave_one_out"] = chosen.row_prior is not None
        if plain:
            tries, at_best = journal.once(("bursty",), Tries), replace(options, beta=chosen.beta)
            self._search(X, at_best, NOTHING, tries, journal, **found)
        return found, probes, tries.leaders["beta"]

    def _search(
        self,
        X: Block,
        options: Options,
        aims: Aims,
        tries: Tries,
        journal: Journal,
        **given: object,
    ) -> list[Probe]:
        """Probe temperatures, and priors, with short fits of all members, judged by their mean."""
        rest, heldout = hold_out(X, *options.division)
        short = {"n_init": 1, "max_iter": options.short.max_iter}
        before = iter(list(tries.validations))

        def evaluate(beta: float, **others: object) -> Validation:
            if (known := next(before, None)) is not None:
                return known
            found = short | given | {"beta": beta} | others
            members = self.members(rest, Journal(), **found)
            predicted = Known(mean_of(members).cells(heldout.X))
            tries.add(Tried(heldout.score(predicted), predicted), "beta")
            journal.tell()
            return tries.validations[-1]

        within = options.beta
        if not isinstance(within, TemperatureRange):
            within = TemperatureRange(within, within)  # for the smoothing alone
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            probes = search(evaluate, within)
            return [*probes, *(_further(evaluate, best(probes), aims) if options.searches else [])]


def _further(evaluate: Callable[..., Validation], at: Probe, aims: Aims) -> list[Probe]:
    """Probes of a prior, and of observations that leave themselves out, from the best plain one."""
    probes: list[Probe] = []
    if (priors := aims.priors) is not None:
        probes += search_prior(
            lambda beta, prior: evaluate(beta, component_prior=prior),
            *(at, priors.within),
            worth=WORTH,
        )
    if (left_out := aims.left_out) is not None:
        usual, within = left_out.pseudo_counts.usual, left_out.within
        guess = None if within.guess is None else (1 + within.guess) / 2  # a mean overfits less
        probes += search_left_out(
            lambda beta: evaluate(beta, component_prior=usual[0], leave_one_out=True),
            best([at, *probes], WORTH),
            usual,
            within._replace(guess=guess),
            worth=WORTH,
        )
    return probes


def equal(n: int) -> list[float]:
    """The weights of a plain mean."""
    return [1 / n] * n


def mean_of(members: Sequence[CooccurrenceEstimator]) -> Factors:
    """The mean of what S fitted models predict: A, (N, S K), and B, (M, S K)."""
    models = [Factors(member.embedding_, member.components_.T) for member in members]
    return side_by_side(models, equal(len(members)))
