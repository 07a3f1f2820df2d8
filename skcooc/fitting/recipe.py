"""Recipe of a fit: model family, hyper-parameters, settings, and the schedule of EM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state

from skcooc.counts.passes import n_threads
from skcooc.em import EMStage, EMState, State, Variation
from skcooc.em.stages import (
    Runner,
    Solver,
    StageSchedule,
    Start,
    equations_start,
)
from skcooc.fitting.tuning import N_TEMPERATURES, Temperature, Tunable, Values
from skcooc.heldout import HeldOut
from skcooc.heldout.memory import CacheParameters
from skcooc.heldout.validation import HoldOutOptions
from skcooc.line_search import TemperatureRange
from skcooc.protocol import Array, Block, Capability, Counts, Model, RandomState

UNIGRAM_SHARE = 0.01  # of the unigram in components that go on with more tokens
SHORT_ITERATIONS = 50  # plain EM steps of a short fit; fewer would favour too large a beta

E = TypeVar("E", bound=BaseEstimator)


def draw_seeds(random_state: RandomState, n: int) -> tuple[int, ...]:
    """Draw seeds, such as those of initialisations."""
    return tuple(check_random_state(random_state).randint(2**31, size=n).tolist())


def with_seed(estimator: E, seed: int) -> E:
    """Return a clone that has the seed where it, or a model in it, has none."""
    unset = [name for name, value in estimator.get_params().items() if value is None]
    seeds = {name: seed for name in unset if name.split("__")[-1] == "random_state"}
    return clone(estimator).set_params(**seeds)


@dataclass(frozen=True)
class Settings:
    """Values of the parameters that all estimators share, checked; see CooccurrenceEstimator."""

    beta: float | Literal["auto"]
    max_iter: int
    tol: float
    solver: Solver
    smoothing: float | Literal["auto"]
    validation_fraction: float
    early_stopping: bool
    n_jobs: int | None
    seeds: tuple[int, ...]  # one for each restart
    resumable: bool  # whether the fit keeps what a warm start needs
    names: frozenset[str]  # of all parameters of the estimator
    cache: CacheParameters | None = None  # of the cache around the model; None: there is none

    @property
    def n_threads(self) -> int:
        return n_threads(self.n_jobs)

    @property
    def tunes(self) -> bool:
        return self.beta == "auto"

    @property
    def holds_out(self) -> bool:
        return self.tunes or self.early_stopping

    @property
    def division(self) -> HoldOutOptions:
        return HoldOutOptions(self.validation_fraction, self.seeds[0], self.smoothing)

    @property
    def short(self) -> Settings:
        """Settings of a short fit, in which a long step counts as several plain ones."""
        n_iter = min(round(SHORT_ITERATIONS / self.solver.pace), self.max_iter)
        return replace(self, max_iter=n_iter)


class ModelFamily(Protocol):
    """Equations by the values of their hyper-parameters."""

    def model(self, values: Values) -> Model:
        """Return the equations with these values, and else those given or usual."""

    def first_model(self, values: Values) -> Model:
        """Return the equations with which a fit begins: fits that have them share their start."""
        return self.model(values)

    def for_table(self, X: Counts, columns: Array | None) -> ModelFamily:
        """Return the family for a table with these names of columns, if it depends on it."""
        return self

    def has_tunable_row_prior(self, values: Values) -> bool:
        """Return whether ``row_prior`` is estimated after the others: it changes new rows only."""
        return False

    def beta_range(self, X: Block) -> TemperatureRange:
        """Return where the inverse temperature is searched."""

    def tunables(self, X: Block) -> Sequence[Tunable]:
        """Return what is tuned on a table where ``beta="auto"``, in this order."""
        return [Temperature(self.beta_range(X))]


@dataclass(frozen=True)
class FixedModel(ModelFamily):
    """A model with no hyper-parameter but the inverse temperature."""

    equations: Model
    temperatures: Callable[[Block], TemperatureRange]
    n_temperatures: int = N_TEMPERATURES
    # Inverse temperature that is chosen unless another one predicts clearly better.
    usual_beta: Callable[[Block], float] | None = None

    def model(self, values: Values) -> Model:
        return self.equations

    def beta_range(self, X: Block) -> TemperatureRange:
        return self.temperatures(X)

    def tunables(self, X: Block) -> Sequence[Tunable]:
        search = Temperature(self.beta_range(X), n_trials=self.n_temperatures)
        if self.usual_beta is None:
            return [search]
        usual = self.usual_beta(X)
        point = TemperatureRange(usual, usual)
        return [Temperature(point, name="usual beta", n_trials=1), search]


class StructureLearner(Protocol):
    """Learns the structure of a model before EM begins."""

    @property
    def needs(self) -> Mapping[Capability, str]:
        """Capabilities needed of a table, and the parameter that asks for them."""

    def learn(
        self,
        X: Block,
        solver: Solver,
        rng: np.random.Generator,
        heldout: HeldOut | None,
        runner: Runner,
    ) -> tuple[Model, Start | None, list[Any]]:
        """Return the model, its start if it is another one, and the splits that led to it."""


def continued_start(
    model: Model,
    X: Counts,
    rng: np.random.Generator,
    runner: Runner,
    state: State,
    equations: Any,
) -> State:
    """Return where a fit to fewer tokens has ended, with some of the unigram for new columns.

    Rows are those of this fit: at a small beta, components that predict well are not the lowest
    optimum, and EM stays there only from rows that are near.
    """
    unigram = (X.column_sums / X.column_sums.sum()).astype(X.dtype)
    params = model.for_table(equations.mix_with(state.params, unigram, UNIGRAM_SHARE), X)
    return State(params, state.rows)


@dataclass(frozen=True)
class Recipe:
    """Everything that a fit needs of a model, and the settings of the user."""

    family: ModelFamily
    settings: Settings
    shape: Mapping[str, object]  # parameters that a warm start and a stream may not change
    start: Start = equations_start
    quick_start: Start | None = None  # for averages, where starts should differ; None: start
    variations: tuple[Variation, ...] = ()  # of the stages, in this order
    structure: StructureLearner | None = None
    values: Values = field(default_factory=dict)  # of tuned hyper-parameters
    model: Model | None = None  # as it was tuned or learned; None: that of the values
    # Equations whose ``mix_with`` makes the start of the final fit from the best short one.
    init_from: Any = None
    continued_start: Callable[..., State] = continued_start  # takes them and this short fit's state
    folds_in_own_rows: bool = True  # at the end, where equations with leave-one-out ask for it
    continued: EMState | None = None  # run that a warm start continues
    check: Callable[[Counts], None] = lambda X: None  # ValueError where a table is unsuitable
    needs_empty_columns: bool = False  # whether columns without tokens take part in the fit

    @property
    def equations(self) -> Model:
        return self.family.model(self.values) if self.model is None else self.model

    def beta_range(self, X: Block) -> TemperatureRange:
        """Return where the inverse temperature is searched; a point where it is given."""
        beta = self.settings.beta
        return self.family.beta_range(X) if beta == "auto" else TemperatureRange(beta, beta)

    def with_values(self, values: Values) -> Recipe:
        return replace(self, values=values)

    def with_seeds(self, seeds: tuple[int, ...]) -> Recipe:
        return replace(self, settings=replace(self.settings, seeds=seeds))

    def has(self, kind: type[Variation]) -> bool:
        return any(isinstance(variation, kind) for variation in self.variations)

    @property
    def beta(self) -> float:
        return float(self.values.get("beta", self.settings.beta))

    def short(self, X: Counts, fits: Literal["all", "chosen"] = "all") -> Recipe:
        """Return the recipe of short fits to a table: of all, or of the one with values chosen.

        The latter predicts as the final fit does; it is not compared with others in a cache.
        """
        settings = self.settings.short
        if fits == "chosen":
            settings = replace(settings, cache=None)
        varied = (v.in_short_fits(X, chosen=fits == "chosen") for v in self.variations)
        return replace(self, settings=settings, variations=tuple(filter(None, varied)))

    def tuned(self, model: Model, beta: float | Literal["auto"], start: Start | None) -> Recipe:
        """Return the recipe with what was tuned or learned."""
        settings = replace(self.settings, beta=beta)
        return replace(self, settings=settings, model=model, start=start or self.start)

    def continuing(self, state: State) -> Recipe:
        """Return the recipe of a fit that begins where a short one has ended."""
        varied = (variation for variation in self.variations if not variation.only_from_start)
        start = partial(self.continued_start, state=state, equations=self.init_from)
        return replace(self, start=start, variations=tuple(varied))

    def of_member(self) -> Recipe:
        """Return the recipe of a member of an average: ``max_iter`` iterations from a quick start.

        The more short fits differ, the better is their mean, so nothing is gained by a search.
        """
        return replace(
            self,
            settings=replace(self.settings, tol=-np.inf),
            start=self.quick_start or self.start,
            folds_in_own_rows=False,
        )

    @property
    def needs(self) -> Mapping[Capability, str]:
        """Capabilities needed of a table, and the parameter that asks for them."""
        needs = {**self.equations.needs, **(self.structure.needs if self.structure else {})}
        for variation in self.variations:
            needs |= variation.needs
        return needs

    @property
    def needs_of_fit(self) -> Mapping[Capability, str]:
        """Capabilities needed by ``fit``: those of the model, and of the settings."""
        needs = dict(self.needs)
        if self.settings.early_stopping:
            needs["divide"] = "early_stopping=True holds out tokens of all rows; set it to False"
        return needs

    def for_table(self, X: Counts, columns: Array | None) -> Recipe:
        """Return the recipe for a table with these names of columns, if any.

        ValueError where they do not suit.
        """
        self.check(X)
        checked = tuple(variation.checked(X) for variation in self.variations)
        return replace(self, family=self.family.for_table(X, columns), variations=checked)

    def stages(self, X: Counts, heldout: HeldOut | None = None) -> list[StageSchedule]:
        """Return the stages of a run of EM; held-out tokens validate the last one of the model."""
        plain = self.plain_stages(X, heldout)
        if self.continued is not None:
            varied = [stage for v in self.variations for stage in v.continued(plain[-1])]
            return varied or [replace(plain[-1], stop_is_convergence=False)]
        stages: list[StageSchedule] = [*plain]
        for variation in self.variations:
            stages = variation.apply(stages, X, self.values)
        return stages

    def improving_stages(
        self, X: Counts, heldout: HeldOut | None = None, rank: int = 0
    ) -> list[StageSchedule]:
        """Return the stages of a further run, which begins at the best; empty: it begins anew."""
        last = self.plain_stages(X, heldout)[-1]
        solver, values = self.settings.solver, self.values
        varied = (v.improving(last, solver, values, rank) for v in self.variations)
        return next(filter(None, varied), [])

    @property
    def n_parallel_runs(self) -> int:
        """Number of runs that begin anew: all, or the first where others improve on it."""
        improves = any(variation.improves for variation in self.variations)
        return 1 if improves else len(self.settings.seeds)

    @property
    def n_subtasks(self) -> int | None:
        """Largest number of iterations, and one for the start, if that is known."""
        lengthened = any(variation.adds_iterations for variation in self.variations)
        is_known = len(self.equations.stages) == 1 and not lengthened
        return self.settings.max_iter + 1 if is_known else None

    @property
    def folds_in_rows(self) -> bool:
        """True if the rows of a fit are at last folded in, as new rows are."""
        cached = self.settings.cache is not None
        return self.folds_in_own_rows and self.equations.folds_in_own_rows and not cached

    def plain_stages(self, X: Counts, heldout: HeldOut | None = None) -> list[EMStage]:
        """Return a stage for each stage of the model; the first carries the start."""
        max_iter, tol = self.settings.max_iter, self.settings.tol
        stages = [
            EMStage(
                model,
                X,
                self.beta,
                max_iter if limit is None else min(limit, max_iter),
                tol,
                stop_is_convergence=limit is not None,
                start=self.start,
            )
            for model, limit in self.equations.stages
        ]
        return [*stages[:-1], replace(stages[-1], heldout=heldout)]
