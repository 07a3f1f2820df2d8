"""What a fit looks for on a table, beside the temperature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from skcooc.em import TemperatureRange
from skcooc.em.temperature import Coarse, pseudo_counts
from skcooc.protocol import Block, Model


class Priors(NamedTuple):
    """The pseudo-counts among which the best for the held-out observations is looked for."""

    within: TemperatureRange
    model: Callable[[float], Model]  # that with a pseudo-count


def priors(model: Callable[[float], Model], n_components: int, X: Block) -> Priors:
    """Those around the mean expected count of a column in a component."""
    return Priors(pseudo_counts(X, n_components), model)


class PseudoCounts(NamedTuple):
    """Those with which observations leave themselves out: of a column in a component, of a row."""

    model: Callable[[float, float], Model]
    usual: tuple[float, float]
    smaller: Sequence[tuple[float, float]]  # shares of both that are tried, one after the other
    beginner: Model  # what burns in: it leaves nothing out, but has the usual pseudo-counts


class LeftOut(NamedTuple):
    """The same model where observations leave themselves out, and its temperatures."""

    within: TemperatureRange
    pseudo_counts: PseudoCounts


class Aims(NamedTuple):
    """What is looked for on a table, beside the temperature, and how this is done."""

    priors: Priors | None = None
    coarse: Coarse | None = None
    left_out: LeftOut | None = None


NOTHING = Aims()
