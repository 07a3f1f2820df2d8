"""All checks of a model, each with twins that it has to find."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from skcooc.protocol import CSR, Array, Model
from skcooc.testing import checks, twins
from skcooc.testing.case import Case, tables
from skcooc.testing.literal import Literal


class Check(NamedTuple):
    """A check, and what it has to find."""

    run: Callable[[Case, Any], None]  # raises AssertionError
    twins: Sequence[type[twins.Twin]]
    needs_literal: bool = False
    everywhere: bool = False  # on each table at each temperature, where others try each once


TEMPERATURES = twins.ForgottenPower, twins.OtherPower
CHECKS: dict[str, Check] = {
    "bound falls": Check(checks.bound_falls, [twins.Flat], everywhere=True),
    "literal step": Check(checks.literal_step, [twins.HalfStep, *TEMPERATURES], True, True),
    "literal slope": Check(checks.literal_slope, [twins.HalfStep, twins.ForgottenPower], True),
    "row weights": Check(checks.row_weights, [twins.Unweighted]),
    "order of rows": Check(checks.order_of_rows, [twins.FirstRowTwice]),
    "order of columns": Check(checks.order_of_columns, [twins.FirstColumnTwice]),
    "order of components": Check(checks.order_of_components, [twins.Favourite]),
    "blocks": Check(checks.blocks, [twins.FirstRowTwice]),
    "float32": Check(checks.single_precision, [twins.Promoted, twins.Rough]),
    "empty rows": Check(checks.empty_rows, [twins.Undefined, twins.Uniform]),
    "empty columns": Check(checks.empty_columns, [twins.Leaky]),
    "restrict": Check(checks.restrict, [twins.Misplaced]),
    "arguments": Check(checks.arguments, [twins.Scribbles, twins.SpendsStatistics]),
    "strict arrays": Check(checks.strict_arrays, [twins.GoesHome]),
}
"""The checks by name."""


def check_model(
    equations: Model,
    X: CSR | Array | None = None,
    *,
    literal: Literal | None = None,
    betas: Sequence[float] = (1.0, 0.8),
    skip: Collection[str] = (),
) -> None:
    """Check that equations keep what EM, counts and predictions rely on.

    Every check is also run on twins of the model that are broken on purpose: with half an M-step,
    a forgotten power, statistics that count a row twice. It has to find them, for a check that
    cannot fail is none.

    Parameters
    ----------
    equations : Equations
    X : (N, M) array or sparse array, default=None
        Counts to try it on; they get a row and a column without observations where they have none.
        N and M should be no number of components. None stands for two small tables.
    literal : Literal or None, default=None
        The same equations, transcribed from the paper. Without them "literal step" and "literal
        slope" are left out, which are what finds an M-step that climbs to the wrong place.
    betas : sequence of float, default=(1.0, 0.8)
        Inverse temperatures.
    skip : collection of str, default=()
        Names of checks, see ``CHECKS``, that say nothing about this model.

    Raises
    ------
    AssertionError
        Where a check fails: which one, and how far off it is. Where it does not find a twin.
    ValueError
        Where no check has a name that is skipped.

    Examples
    --------
    >>> from skcooc.equations.aspects import Aspects
    >>> from skcooc.testing import check_model
    >>> check_model(Aspects(3))
    >>> from skcooc.testing.twins import HalfStep, Unweighted
    >>> check_model(Unweighted(Aspects(3)))
    Traceback (most recent call last):
    ...
    AssertionError: row weights: ...
    """
    if unknown := set(skip) - set(CHECKS):
        raise ValueError(f"There is no check {sorted(unknown)}: they are {list(CHECKS)}.")
    counts = list(tables(X))
    T, B = len(counts), len(betas)
    each_once = {(i % T, i % B) for i in range(max(T, B))}
    names = [n for n in CHECKS if n not in skip and (literal or not CHECKS[n].needs_literal)]
    for t, b in np.ndindex(T, B):
        case = Case(equations, counts[t], betas[b], literal)
        for name in names:
            if CHECKS[name].everywhere or (t, b) in each_once:
                run_check(name, case)


def run_check(name: str, case: Case) -> None:
    """One of the checks, and whether it finds its twins."""
    check = CHECKS[name]
    try:
        check.run(case, case.model)
    except AssertionError as error:
        raise AssertionError(f"{name}: {error}, at beta={case.beta}") from error
    for twin in check.twins:
        broken = twin(case.model)
        if twin in TEMPERATURES and case.same_step(broken):
            continue  # hard models have none, and at beta = 1 there is no power to forget
        try:
            check.run(case, broken)
        except AssertionError:
            continue
        raise AssertionError(f"{name}: the broken twin {twin.__name__} passes at beta={case.beta}")
