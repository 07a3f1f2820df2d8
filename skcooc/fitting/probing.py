"""Short fits that try what is looked for: temperatures, exponents, priors, what is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import NamedTuple

import numpy as np

from skcooc.counts.threads import threads
from skcooc.em import State, TemperatureRange
from skcooc.em import fit as fit_legs
from skcooc.em.legs import Part
from skcooc.em.refinements import (
    is_thin,
    search_exponents,
    search_left_out,
    search_prior,
    search_smaller,
)
from skcooc.em.temperature import Probe, Sought, best, search, search_coarsely
from skcooc.fitting.aims import Aims
from skcooc.fitting.journal import Journal, Name
from skcooc.fitting.options import Options
from skcooc.fitting.plan import Plan
from skcooc.fitting.restarts import Progress
from skcooc.heldout import HeldOut, Validation
from skcooc.heldout.predictors import Known
from skcooc.protocol import Block, Model, Params

PROBES: Name = ("begun",)  # of the parts of a journal that are short fits


class Tried(NamedTuple):
    """A short fit: its parameters, what they predict of the observations held out, and how well."""

    validation: Validation
    predicted: Known
    params: Params | None = None  # None where it is a mean of several


class Tries:
    """What short fits have found so far: validations in order, and the best fit of each search."""

    def __init__(self) -> None:
        self.validations: list[Validation] = []
        self.leaders: dict[Sought, Tried] = {}

    def add(self, tried: Tried, sought: Sought) -> None:
        """Of equals the last one leads."""
        leader = self.leaders.setdefault(sought, tried).validation
        if tried.validation.perplexity <= leader.perplexity:
            self.leaders[sought] = tried
        self.validations.append(tried.validation)


class Probes:
    """Short fits at one temperature after the other, from one and the same state.

    The observations held out judge a temperature; the best fit of each search is kept, and the
    state in which all begin. Threads may call it side by side. What was tried before, in the same
    order, is not fitted again.
    """

    def __init__(
        self,
        plan: Plan,
        X: Block,
        heldout: HeldOut,
        options: Options,
        tries: Tries | None = None,
    ) -> None:
        self._plan, self.heldout, self._options = plan, heldout, options.short
        self._tables = plan.scales(X)
        self._lock = Lock()
        self._kept: dict[tuple[int, Model | None], State] = {}  # by what burns in
        self._tries = tries or Tries()
        self._before = iter(list(self._tries.validations))

    def __call__(
        self, beta: float, model: Model | None = None, sought: Sought = "beta"
    ) -> Validation:
        """Try a temperature, or a model that differs in what is sought."""
        with self._lock:
            if (known := next(self._before, None)) is not None:
                return known
        plan = self._plan if model is None else self._plan.trying(model, sought)
        parts = plan.legs(self._tables, beta, self._options, cooled=False)
        # What comes before the last leg does not depend on beta, where there is a burn-in.
        n_shared = len(parts) - 1 - (plan.bursts is not None) if plan.burn_in else 0
        shared = self._after(parts[:n_shared], parts[0], plan.beginner)
        state = self._fitted(parts[n_shared:], shared)
        predicted = self.heldout.predicted(plan.equations, *state)
        tried = Tried(self.heldout.score(predicted), predicted, state.params)
        with self._lock:
            self._tries.add(tried, sought)
        return tried.validation

    def leader(self, best: Probe) -> Tried:
        """The best one of its search."""
        return self._tries.leaders[best.sought]

    def _after(self, shared: Sequence[Part], first: Part, beginner: Model | None) -> State:
        """The state after the legs that do not depend on the temperature tried."""
        with self._lock:
            if (kind := (len(shared), beginner)) not in self._kept:
                state = first.begin(self._rng)
                self._kept[kind] = self._fitted(shared, state) if shared else state
            return self._kept[kind]

    def _fitted(self, parts: Sequence[Part], start: State) -> State:
        found = fit_legs(parts, self._rng, self._options.solver, start=start)
        return State(found.params, found.rows)

    @property
    def _rng(self) -> np.random.Generator:
        """The same numbers for every probe."""
        return np.random.default_rng(self._options.seeds[0])


@dataclass(frozen=True)
class Search:
    """What is looked for, one thing after the other, by probes that all begin alike."""

    plan: Plan
    aims: Aims
    probes: Probes
    observe: Callable[[Probe], bool]

    def temperatures(self, within: TemperatureRange, few: Callable[[Model], Probes]) -> list[Probe]:
        """Probes of temperatures; with few components first, where the plan has such a model."""
        if (coarse := self.aims.coarse) is None:
            return search(self.probes, within, observe=self.observe)
        # Few may be all: then they are burnt in once.
        tried = self.probes if coarse.model == self.plan.equations else few(coarse.model)
        return search_coarsely(
            lambda beta: tried(beta, sought="coarse"), coarse, self.probes, self.observe
        )

    def exponents(self, at: Probe) -> list[Probe]:
        """Probes of exponents of the indices given."""
        if (with_exponents := self.plan.exponents) is None:
            return []
        return search_exponents(
            lambda beta, exponents: self.probes(
                beta, with_exponents(self.plan.equations, exponents), "exponents"
            ),
            at,
            self.observe,
        )

    def priors(self, at: Probe) -> list[Probe]:
        """Probes of pseudo-counts, where data are thin; nobody knows where smoothing is given."""
        known = self.probes.heldout.smoothing is None
        if (priors := self.aims.priors) is None or (known and not is_thin(at)):
            return []
        return search_prior(
            lambda beta, prior: self.probes(beta, self.tuned(at._replace(prior=prior)), "prior"),
            at,
            priors.within,
            self.observe,
        )

    def left_out(self, at: Probe) -> list[Probe]:
        """Probes of temperatures at which observations leave themselves out."""
        if self.aims.left_out is None:
            return []
        within, (model, usual, *_) = self.aims.left_out
        return search_left_out(
            lambda beta: self.probes(beta, model(*usual), "left out"),
            at,
            usual,
            within,
            self.observe,
        )

    def smaller(self, at: Probe) -> list[Probe]:
        """Probes of smaller pseudo-counts, where observations leave themselves out."""
        leaves_out = at.row_prior is not None or self.plan.left_out is None
        if (pseudo_counts := self.plan.pseudo_counts) is None or not leaves_out:
            return []
        model, (prior, row_prior), shares, _ = pseudo_counts
        return search_smaller(
            lambda *tried: self.probes(at.beta, model(*tried), "smaller"),
            at._replace(prior=prior, row_prior=row_prior),
            shares,
            self.observe,
        )

    def tuned(self, probe: Probe) -> Model:
        """The model that a probe has tried."""
        if self.plan.pseudo_counts is not None and probe.row_prior is not None:
            return self.plan.pseudo_counts.model(probe.prior, probe.row_prior)
        priors, exponents = self.aims.priors, self.plan.exponents
        model = self.plan.equations if priors is None else priors.model(probe.prior)
        if exponents is None or probe.exponents is None:
            return model
        return exponents(model, probe.exponents)


class Found(NamedTuple):
    """What a search has come to."""

    probes: list[Probe]
    model: Model  # that of the best
    leader: Tried  # the best


def find(
    plan: Plan,
    train: Block,
    heldout: HeldOut,
    within: TemperatureRange,
    aims: Aims,
    options: Options,
    progress: Progress,
    journal: Journal,
) -> Found:
    """Probe temperatures, and what else is looked for at the best of them."""
    with threads(options.n_threads) as map, progress.searching() as observe:
        X = train.spread(options.n_threads, map)

        def tries(plan: Plan, name: str) -> Probes:
            before = journal.once((*PROBES, name), Tries)
            return Probes(plan, X, heldout, options, before)

        def few(model: Model) -> Probes:
            return tries(replace(plan.searching, equations=model, beginner=None), "few")

        def kept(probe: Probe) -> bool:
            journal.tell()
            return observe(probe)

        probes = tries(plan.searching, "all")
        seeker = Search(plan, aims, probes, kept)
        found = seeker.temperatures(within, few)
        for further in (seeker.exponents, seeker.priors, seeker.left_out, seeker.smaller):
            found += further(best(found))
        won = best(found)
        leader, model = probes.leader(won), seeker.tuned(won)
        if plan.bursts is not None:  # what predicts is to be as bursty as what is fitted then
            bursty = tries(plan, "bursty")
            bursty(won.beta, model, won.sought)
            leader = bursty.leader(won)._replace(params=leader.params)
    return Found(found, model, leader)
