"""What a fit is to do: the plan of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from skcooc.em import Annealing, Bursts, Leg, Run, Split, TemperatureRange
from skcooc.em.legs import Observe, Part
from skcooc.em.scales import Scale, check_coarsening, scales
from skcooc.fitting.options import Options
from skcooc.fitting.tunables import Temperature
from skcooc.fitting.tuning import Tunable, Values
from skcooc.heldout import HeldOut
from skcooc.protocol import Array, Block, Counts, Model, Need, Params


class Grown(NamedTuple):
    """A model whose structure has been learned."""

    model: Model
    seed: Model  # the same, starting from what was found with its structure
    splits: list[Split] | None  # None where nothing was to be learned


# The last one is where it goes on that was cut short.
Grow = Callable[[Block, Options, np.random.Generator, HeldOut | None, Observe, Run | None], Grown]
Diluted = Callable[[Any, Array, float], Params]  # each component is in this share the distribution
Stages = list[tuple[Model, int | None]]  # models, and for how many iterations at most


def alone(model: Model) -> Stages:
    """A model without stages."""
    return [(model, None)]


@dataclass(frozen=True)
class Plan:
    """What one model brings to a fit."""

    equations: Model
    temperatures: Callable[[Block], TemperatureRange]  # where the best one is looked for
    shape: Mapping[str, object]  # parameters that a warm start and a stream may not change
    largest_beta: float = 1.0  # infinite where it is no exponent of a likelihood
    stages: Callable[[Any], Stages] = alone  # ever less constrained models, fitted in turn
    burn_in: int = 0  # iterations at beta = 1 with which a random start begins
    annealing: Annealing | None = None  # how the first leg comes to its temperature
    coarsening: Sequence[ArrayLike] | None = None  # groups of rows, (N,), finest grouping first
    warm_up: Model | None = None  # what burns in; None where that is the model itself
    # What is tuned on a table, within this range of temperatures; None: the temperature alone.
    tunables: Callable[[Block, TemperatureRange], Sequence[Tunable]] | None = None
    # The equations with other hyper-parameters, and what burns in then; None: they have none.
    variant: Callable[[Values], tuple[Model, Model]] | None = None
    grow: Grow | None = None  # what makes the model of the observations fitted
    bursts: float | None = None  # concentration of rows that are bursty; None where they are not
    # How the parameters of the best short fit begin the final one; None where it begins anew.
    hands_on: Diluted | None = None
    plain_steps: bool = False  # whether longer steps make no sense
    divides: bool = False  # whether components may split, so that more begin with fewer
    alternates: bool = False  # whether rows and columns can be fitted in turn
    more_needs: Mapping[Need, str] = field(default_factory=dict)  # beside those of the equations
    check: Callable[[Counts], None] = lambda X: None  # ValueError where they are unsuitable

    @property
    def needs(self) -> Mapping[Need, str]:
        """What is needed of a table, and by which parameter."""
        groups = "coarsening groups the rows of one table; it needs None"
        tied: dict[Need, str] = {} if self.coarsening is None else {"coarsen": groups}
        tables = "burstiness replaces the counts of all rows from time to time; it needs None"
        bursty: dict[Need, str] = {} if self.bursts is None else {"replaced": tables}
        return {**self.equations.needs, **self.more_needs, **tied, **bursty}

    def searched(self, X: Block) -> TemperatureRange | None:
        """Where the temperature of counts is looked for; None where there is but one."""
        within = self.temperatures(X)
        return within if within.low < within.high else None

    def tuned(self, X: Block, within: TemperatureRange) -> Sequence[Tunable]:
        """What is looked for on a table, one after the other."""
        return [Temperature(within)] if self.tunables is None else self.tunables(X, within)

    def at(self, values: Values) -> Plan:
        """The same plan with these hyper-parameters."""
        if self.variant is None:
            return self
        equations, warm_up = self.variant(values)
        return replace(self, equations=equations, warm_up=warm_up)

    def lacks(self, offers: frozenset[Need]) -> str | None:
        """Why a table with these offers will not do; None where it will."""
        return next((self.needs[need] for need in self.needs if need not in offers), None)

    @property
    def searching(self) -> Plan:
        """The same plan for fits that are judged by single observations: without bursts.

        What belongs to them, the memory of a row, is not there yet.
        """
        return replace(self, bursts=None)

    @property
    def burnt_in(self) -> Plan:
        """The same plan for what has its burn-in behind it."""
        return replace(self, burn_in=0)

    def suited(self, X: Counts) -> Plan:
        """The same plan, once it is checked that it suits a table."""
        self.check(X)
        if self.coarsening is None:
            return self
        return replace(self, coarsening=check_coarsening(self.coarsening, X.shape[0]))

    def scales(self, X: Counts) -> list[Scale]:
        """The tables in which rows are tied, the coarsest first, and the table itself."""
        groupings = [np.asarray(labels) for labels in self.coarsening or ()]
        return scales(cast(Block, X), groupings) if groupings else [Scale(X, None, None)]

    @property
    def has_one_leg(self) -> bool:
        """Whether ``max_iter`` is the largest number of iterations of a run."""
        whole = self.annealing is None and self.coarsening is None and self.bursts is None
        return self.stages is alone and whole

    def legs(
        self,
        tables: Sequence[Scale],
        beta: float,
        options: Options,
        heldout: HeldOut | None = None,
        *,
        cooled: bool = True,
    ) -> list[Part]:
        """What is fitted one after the other, from a random start on; coarsest table first.

        What is held out lies beside the finest table, and is looked at in the last leg.
        ``cooled`` is whether the temperature changes on the way, where the plan says so.
        """
        legs = self._plain(tables, beta, options, heldout)
        first, others = legs[0], [*legs[1:], *self._rounds(legs[-1])]
        if self.annealing is None or not cooled:
            return [*first.burned_in(self.burn_in, self.warm_up), *others]
        return [*self.annealing(first), *others]

    def last_leg(
        self, X: Counts, beta: float, options: Options, heldout: HeldOut | None
    ) -> list[Part]:
        """What a warm start goes on with."""
        last = self._plain([Scale(X, None, None)], beta, options, heldout)[-1]
        return self._rounds(last) or [replace(last, enough=False)]

    def _rounds(self, leg: Leg) -> list[Part]:
        """What follows the last leg where rows are bursty."""
        if self.bursts is None:
            return []
        return [Bursts(replace(leg, members=None), self.bursts)]

    def _plain(
        self, tables: Sequence[Scale], beta: float, options: Options, heldout: HeldOut | None
    ) -> list[Leg]:
        """A leg for each table where rows are tied, and for each stage on the finest."""
        stages = self.stages(self.equations)
        *coarse, finest = tables
        places = [(table, stages[0]) for table in coarse] + [(finest, stage) for stage in stages]
        legs = [
            Leg(
                model,
                table.X,
                beta,
                options.max_iter if limit is None else min(limit, options.max_iter),
                options.tol,
                enough=limit is not None,
                members=table.members if number <= len(coarse) else None,
                groups=table.groups,
            )
            for number, (table, (model, limit)) in enumerate(places)
        ]
        return [*legs[:-1], replace(legs[-1], heldout=heldout)]
