"""Recipe of a fit: model family, hyper-parameters, settings, and the schedule of EM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state

from skcooc.counts.passes import n_threads
from skcooc.em import Annealing, BurstinessRounds, EMStage, EMState, Split, TemperatureRange
from skcooc.em.annealing import MergeAndSplit
from skcooc.em.stages import Observe, Scale, Solver, StageSchedule, check_coarsening, scales
from skcooc.fitting.tuning import N_TEMPERATURES, Temperature, Tunable, Values
from skcooc.heldout import HeldOut
from skcooc.heldout.memory import Asked
from skcooc.heldout.validation import HoldOutOptions
from skcooc.protocol import Array, Block, Capability, Counts, Model, RandomState

SHORT_ITERATIONS = 60  # plain EM steps of a short fit; fewer would favour too large a beta
# Plain EM steps in which the copies of merge-and-split separate: with fewer they hardly differ,
# with more they compete.
SEPARATION_ITERATIONS = 100

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
    cache: Asked | None = None  # parameters of the cache around the model; None: there is none

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

    has_warmup: bool = False  # whether an initialisation makes a few steps at beta = 1 first

    def model(self, values: Values) -> Model:
        """Return the equations with these values, and else those given or usual."""

    def for_table(self, X: Counts, columns: Array | None) -> ModelFamily:
        """Return the family for a table with these names of columns, if it depends on it."""
        return self

    def warmup_model(self, values: Values) -> Model | None:
        """Return the model of the warm-up; None: the model itself."""
        return None

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
    has_warmup: bool = False
    warmup: Model | None = None
    n_temperatures: int = N_TEMPERATURES

    def model(self, values: Values) -> Model:
        return self.equations

    def warmup_model(self, values: Values) -> Model | None:
        return self.warmup

    def beta_range(self, X: Block) -> TemperatureRange:
        return self.temperatures(X)

    def tunables(self, X: Block) -> Sequence[Tunable]:
        return [Temperature(self.beta_range(X), n_trials=self.n_temperatures)]


class LearnedStructure(NamedTuple):
    """A model whose structure has been learned, such as a tree."""

    model: Model
    initial: Model  # the same model, which starts EM from what was learned
    splits: list[Split] | None  # None where nothing was to be learned


class StructureLearner(Protocol):
    """Learns the structure of a model before EM begins."""

    @property
    def needs(self) -> Mapping[Capability, str]:
        """Capabilities needed of a table, and the parameter that asks for them."""

    def learn(
        self,
        X: Block,
        settings: Settings,
        rng: np.random.Generator,
        heldout: HeldOut | None,
        observe: Observe,
        resume: EMState | None,
    ) -> LearnedStructure:
        """Learn from the tokens that are fitted; ``resume`` is an interrupted run of EM."""


@dataclass(frozen=True)
class Recipe:
    """Everything that a fit needs of a model, and the settings of the user."""

    family: ModelFamily
    settings: Settings
    shape: Mapping[str, object]  # parameters that a warm start and a stream may not change
    values: Values = field(default_factory=dict)  # of tuned hyper-parameters
    annealing: Annealing | None = None  # how the first stage comes to its temperature
    coarsening: Sequence[ArrayLike] | None = None  # groups of rows, (N,), finest grouping first
    structure: StructureLearner | None = None
    concentration: float | None = None  # of bursty rows
    # Equations whose ``mix_with`` makes the start of the final fit from the best short one.
    init_from: Any = None
    supports_splitting: bool = False  # whether a fit may go on from one with fewer components
    # Whether fits make max_iter iterations from a quick start, whatever the objective does.
    is_short: bool = False
    check: Callable[[Counts], None] = lambda X: None  # ValueError where a table is unsuitable

    @property
    def equations(self) -> Model:
        return self.family.model(self.values)

    @property
    def warmup_model(self) -> Model | None:
        return self.family.warmup_model(self.values)

    def beta_range(self, X: Block) -> TemperatureRange:
        """Return where the inverse temperature is searched; a point where it is given."""
        beta = self.settings.beta
        return self.family.beta_range(X) if beta == "auto" else TemperatureRange(beta, beta)

    def with_model(self, model: Model) -> Recipe:
        """Return the recipe with other equations, which have no values to be tuned."""
        old = self.family
        family = FixedModel(model, old.beta_range, old.has_warmup, self.warmup_model)
        return replace(self, family=family, values={})

    def with_values(self, values: Values) -> Recipe:
        return replace(self, values=values)

    def with_seeds(self, seeds: tuple[int, ...]) -> Recipe:
        return replace(self, settings=replace(self.settings, seeds=seeds))

    @property
    def without_burstiness(self) -> Recipe:
        """The recipe for fits that are validated on single tokens, without a cache."""
        return replace(self, concentration=None)

    @property
    def needs(self) -> Mapping[Capability, str]:
        """Capabilities needed of a table, and the parameter that asks for them."""
        needs = {**self.equations.needs, **(self.structure.needs if self.structure else {})}
        if self.coarsening is not None:
            needs["coarsen"] = "coarsening groups rows in memory; set coarsening=None"
        if self.concentration is not None:
            needs["replaced"] = (
                "burstiness replaces counts after each round of EM; set burstiness=None"
            )
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
        new = replace(self, family=self.family.for_table(X, columns))
        if self.coarsening is None:
            return new
        return replace(new, coarsening=check_coarsening(self.coarsening, X.shape[0]))

    def scales(self, X: Counts) -> list[Scale]:
        """Return the tables in which rows are tied, the coarsest first, and the table itself."""
        groupings = [np.asarray(labels) for labels in self.coarsening or ()]
        return scales(cast(Block, X), groupings) if groupings else [Scale(X, None, None)]

    @property
    def is_single_stage(self) -> bool:
        plain = self.annealing is None and self.coarsening is None and self.concentration is None
        return plain and len(self.equations.stages) == 1

    def schedule(
        self,
        tables: Sequence[Scale],
        beta: float,
        heldout: HeldOut | None = None,
        *,
        annealed: bool = True,
        warmup: bool = True,
    ) -> list[StageSchedule]:
        """Return the stages of a run of EM, the coarsest table first.

        Held-out tokens are of the finest table and validate the last stage. ``annealed=False``
        keeps the temperature fixed; ``warmup=False`` omits the iterations at beta = 1.
        """
        stages = self._plain_stages(tables, beta, heldout)
        first, others = stages[0], [*stages[1:], *self._burstiness_rounds(stages[-1])]
        if annealed and self.annealing is not None:
            return [*self.annealing(first), *others]
        if warmup and self.family.has_warmup:
            return [*first.with_warmup(self.warmup_model), *others]
        return [first, *others]

    def warm_start_schedule(
        self, X: Counts, beta: float, heldout: HeldOut | None
    ) -> list[StageSchedule]:
        """Return the stages with which a warm start continues."""
        last = self._plain_stages([Scale(X, None, None)], beta, heldout)[-1]
        return self._burstiness_rounds(last) or [replace(last, stop_is_convergence=False)]

    def merge_and_split_schedule(
        self, X: Counts, beta: float, heldout: HeldOut | None, rank: int
    ) -> list[StageSchedule]:
        """Return the stages of a run that merges two components of another, and splits one.

        They have ``max_iter`` iterations in all. ``rank`` is that of the pair merged.
        """
        (last,) = self._plain_stages([Scale(X, None, None)], beta, heldout)
        n_iter = min(round(SEPARATION_ITERATIONS / self.settings.solver.pace), last.max_iter - 1)
        model = self.warmup_model or last.model
        short = replace(last, model=model, max_iter=n_iter, tol=-np.inf, heldout=None)
        return [MergeAndSplit(short, rank), replace(last, max_iter=last.max_iter - n_iter)]

    def _burstiness_rounds(self, stage: EMStage) -> list[StageSchedule]:
        if self.concentration is None:
            return []
        return [BurstinessRounds(replace(stage, members=None), self.concentration)]

    def _plain_stages(
        self, tables: Sequence[Scale], beta: float, heldout: HeldOut | None
    ) -> list[EMStage]:
        """Return a stage for each coarse table, and for each stage of the model on the finest."""
        of_model = self.equations.stages
        *coarse, finest = tables
        places = [(table, of_model[0]) for table in coarse]
        places += [(finest, stage) for stage in of_model]
        stages = [
            EMStage(
                model,
                table.X,
                beta,
                self.settings.max_iter if limit is None else min(limit, self.settings.max_iter),
                -np.inf if self.is_short else self.settings.tol,
                stop_is_convergence=limit is not None,
                members=table.members if number <= len(coarse) else None,
                groups=table.groups,
                quick=self.is_short,
            )
            for number, (table, (model, limit)) in enumerate(places)
        ]
        return [*stages[:-1], replace(stages[-1], heldout=heldout)]
