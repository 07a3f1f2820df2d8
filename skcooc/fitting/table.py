"""How a model is fitted to a table: held-out observations, structure, temperature, restarts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import NamedTuple

import numpy as np

from skcooc.counts.threads import threads
from skcooc.em import Fit, State, TemperatureRange
from skcooc.em import fit as fit_legs
from skcooc.em.legs import Observe, Part, ignore
from skcooc.em.temperature import (
    Probe,
    Sought,
    best,
    is_thin,
    search,
    search_coarsely,
    search_exponents,
    search_left_out,
    search_prior,
)
from skcooc.fitting.plan import Aims, Grown, Options, Plan
from skcooc.fitting.restarts import Progress, Unfinished, best_restart
from skcooc.heldout import HeldOut, Validation
from skcooc.heldout.predictors import Known
from skcooc.heldout.validation import Judged, add_one_unigram, chosen_smoothing, hold_out
from skcooc.protocol import Array, Block, Counts, Model, Params


class Fitted(NamedTuple):
    """A fit, with what was chosen on the way."""

    fit: Fit
    model: Model  # that given, or that which grew
    beta: float
    smoothing: float
    unigram: Array  # (M,): add-one, of the observations fitted
    mass: float  # of them, weights of rows included
    row_distribution: Array  # (N,): the share of each row
    probes: list[Probe]
    judged: Judged | None = None  # where observations were held out


def fit(
    plan: Plan,
    X: Counts,
    sample: Block,
    options: Options,
    progress: Progress,
    start: State | None = None,
    resume: Unfinished | None = None,
) -> Fitted:
    """Fit a model to counts.

    The temperature is chosen on the sample, rows of X or all. From a given start there is neither
    burn-in nor search. ``resume`` is what was done before the fit was cut short.
    """
    if resume:
        options = replace(options, seeds=resume.seeds)
    train, heldout = hold_out(sample, *options.division) if options.holds_out else (sample, None)
    aims = (plan if "left_out" in X.offers else plan.exchangeable).aims(sample)
    begun = resume or _begun(plan, train, heldout, aims, options, progress, start is not None)
    grown = begun.grown
    seed = replace(plan, equations=grown.seed)
    X, judge = (train, heldout) if options.early_stopping else (X, None)
    del train  # the final fit needs the memory
    fit = best_restart(seed, begun, X, judge, options, progress, start)
    fit = fit._replace(splits=fit.splits if grown.splits is None else grown.splits)
    smoothing = chosen_smoothing(options.smoothing, fit.validation or begun.validation)
    unigram = add_one_unigram(X.column_sums, X.grain)
    mass, row_distribution = distributed(X)
    predicted = judge.predicted(grown.model, fit.params, fit.rows) if judge else begun.predicted
    judged = None if predicted is None else Judged(options.division, predicted)
    fit, found = fit._replace(rows=X.lasting(fit.rows)), (unigram, mass, row_distribution)
    return Fitted(fit, grown.model, fit.beta, smoothing, *found, begun.probes, judged)


def distributed(X: Counts) -> tuple[float, Array]:
    """How many observations there are, weights included; and the share of each row, (N,)."""
    mass = float(X.total(_mass))
    return mass, X.lasting(X.by_row(partial(_shares, mass=mass)))


def _mass(X: Block) -> Array:
    return np.sum(X.row_sums * X.row_weights)


def _shares(X: Block, mass: float) -> Array:
    return X.row_sums * X.row_weights / mass


class Tried(NamedTuple):
    """A short fit: its parameters, what they predict of the observations held out, and how well."""

    validation: Validation
    predicted: Known
    params: Params


class Probes:
    """Short fits at one temperature after the other, from one and the same state.

    The observations held out judge a temperature; the best fit of each search is kept, and the
    state in which all begin. Threads may call it side by side.
    """

    def __init__(self, plan: Plan, X: Block, heldout: HeldOut, options: Options) -> None:
        self._plan, self._heldout, self._options = plan, heldout, options.short
        self._tables = plan.scales(X)
        self._lock = Lock()
        self._kept: dict[int, State] = {}
        self._leaders: dict[Sought, Tried] = {}

    def __call__(
        self, beta: float, model: Model | None = None, sought: Sought = "beta"
    ) -> Validation:
        """Try a temperature, or a model that differs in what is sought."""
        plan = self._plan if model is None else replace(self._plan, equations=model)
        parts = plan.legs(self._tables, beta, self._options, cooled=False)
        # What comes before the last leg does not depend on beta, where there is a burn-in.
        n_shared = len(parts) - 1 - (plan.bursts is not None) if plan.burn_in else 0
        state = self._fitted(parts[n_shared:], self._after(parts[:n_shared], parts[0]))
        predicted = self._heldout.predicted(plan.equations, *state)
        tried = Tried(self._heldout.score(predicted), predicted, state.params)
        with self._lock:
            leader = self._leaders.setdefault(sought, tried).validation
            if tried.validation.perplexity <= leader.perplexity:  # of equals the last one leads
                self._leaders[sought] = tried
        return tried.validation

    def leader(self, best: Probe) -> Tried:
        """The best one of its search."""
        return self._leaders[best.sought]

    def _after(self, shared: Sequence[Part], first: Part) -> State:
        """The state after the legs that do not depend on the temperature tried."""
        with self._lock:
            if len(shared) not in self._kept:
                state = first.begin(self._rng)
                self._kept[len(shared)] = self._fitted(shared, state) if shared else state
            return self._kept[len(shared)]

    def _fitted(self, parts: Sequence[Part], start: State) -> State:
        found = fit_legs(parts, self._rng, self._options.solver, start=start)
        return State(found.params, found.rows)

    @property
    def _rng(self) -> np.random.Generator:
        """The same numbers for every probe."""
        return np.random.default_rng(self._options.seeds[0])


def probes_of(plan: Plan, X: Block, options: Options) -> Probes:
    """What tries temperatures on counts, a part of which it holds out; with one thread."""
    rest, heldout = hold_out(X, *options.division)
    seed = _grown(plan, rest, heldout, options, lambda: nullcontext(ignore)).seed
    plan = replace(plan.searching, equations=seed)
    return Probes(plan, rest.spread(1, map), heldout, options)


def _begun(
    plan: Plan,
    train: Block,
    heldout: HeldOut | None,
    aims: Aims,
    options: Options,
    progress: Progress,
    warm: bool,
) -> Unfinished:
    """What comes before the random starts: the structure of the model, and the temperature."""
    grown = _grown(plan, train, heldout, options, progress.growing)
    within = options.beta
    if heldout is None or not isinstance(within, TemperatureRange):
        return Unfinished(options.seeds, warm, grown, [], float(within), {}, {})  # type: ignore[arg-type]
    seed = replace(plan, equations=grown.seed)
    probes, leader = _search(seed, train, heldout, within, aims, options, progress)
    if plan.grow is None:
        model = _tuned(plan, aims, best(probes))
        grown = Grown(model, model, None)
    return Unfinished(
        options.seeds,
        warm,
        grown,
        probes,
        best(probes).beta,
        {},
        {},
        leader.validation,
        leader.predicted,
        leader.params if plan.hands_on else None,
    )


def _grown(
    plan: Plan,
    train: Block,
    heldout: HeldOut | None,
    options: Options,
    growing: Callable[[], AbstractContextManager[Observe]],
) -> Grown:
    """The model, with what its structure learns from the observations fitted."""
    if plan.grow is None:
        return Grown(plan.equations, plan.equations, None)
    with threads(options.n_threads) as map, growing() as observe:
        X = train.spread(options.n_threads, map)
        return plan.grow(X, options, np.random.default_rng(options.seeds[0]), heldout, observe)


def _search(
    plan: Plan,
    train: Block,
    heldout: HeldOut,
    within: TemperatureRange,
    aims: Aims,
    options: Options,
    progress: Progress,
) -> tuple[list[Probe], Tried]:
    """Probe temperatures, and priors at the best, with short fits from one and the same start.

    The probes, and the best of them.
    """
    with threads(options.n_threads) as map, progress.searching() as observe:
        X = train.spread(options.n_threads, map)
        searching, priors = plan.searching, aims.priors
        probes = Probes(searching, X, heldout, options)
        if aims.fewer is None:
            found = search(probes, within, observe=observe)
        else:
            coarse, model = aims.fewer
            some = Probes(replace(searching, equations=model, beginner=None), X, heldout, options)
            found = search_coarsely(some, coarse, probes, observe)
            del some
        if (with_exponents := plan.exponents) is not None:
            found += search_exponents(
                lambda beta, exponents: probes(
                    beta, with_exponents(plan.equations, exponents), "exponents"
                ),
                best(found),
                observe,
            )
        at = best(found)
        if priors is not None and (heldout.smoothing is not None or is_thin(at)):
            found += search_prior(
                lambda prior: probes(
                    at.beta, _tuned(plan, aims, at._replace(prior=prior)), "prior"
                ),
                at,
                priors.within,
                observe,
            )
        if (left_out := aims.left_out) is not None:
            within, model, pseudo_counts = left_out
            found += search_left_out(
                lambda beta: probes(beta, model, "left out"),
                best(found),
                pseudo_counts,
                within,
                observe,
            )
        won = best(found)
        leader = probes.leader(won)
        if plan.bursts is not None:  # what predicts is to be as bursty as what is fitted then
            bursty = Probes(plan, X, heldout, options)
            bursty(won.beta, _tuned(plan, aims, won), won.sought)
            leader = bursty.leader(won)._replace(params=leader.params)
    return found, leader


def _tuned(plan: Plan, aims: Aims, probe: Probe) -> Model:
    """The model with the pseudo-count and the exponents of a probe."""
    if aims.left_out is not None and probe.row_prior is not None:
        return aims.left_out.model
    model = plan.equations if aims.priors is None else aims.priors.model(probe.prior)
    if plan.exponents is None or probe.exponents is None:
        return model
    return plan.exponents(model, probe.exponents)
