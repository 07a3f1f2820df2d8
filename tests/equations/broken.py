"""Models with a mistake each, which the checks must find."""

import numpy as np

from skcooc.counts import CSRCounts
from skcooc.em.stages import equations_start
from skcooc.equations.aspects import PredictiveAspects
from skcooc.testing import CHECKS, planned, run_check, simplices


def halved(P):
    """The roots of distributions, made distributions again: half a step from uniform ones."""
    parts, roots = list(simplices(P)), P
    if parts:
        roots = np.sqrt(P)
        for part in parts:
            roots[part] /= roots[part].sum()
    return roots


def flattened(P, share=0.1):
    """Distributions that are uniform in this share."""
    flat = P.copy()
    for part in simplices(P):
        flat[part] *= 1 - share
        flat[part] += share / flat[part].size
    return flat


class Twin:
    """A copy of a model, in which a subclass breaks something."""

    def __init__(self, right):
        self.right = right

    def __getattr__(self, name):
        if name == "right":  # while copy.deepcopy makes a new object
            raise AttributeError(name)
        return getattr(self.right, name)


class Changed(Twin):
    """An M-step whose arrays are changed."""

    change = None

    def maximize(self, *given):
        right = self.right.maximize(*given)
        return type(right)(*map(self.change, right))


class HalfStep(Changed):
    """An M-step that climbs, but to the wrong place."""

    change = staticmethod(halved)


class Flat(Changed):
    change = staticmethod(flattened)


class Promoted(Changed):
    change = staticmethod(lambda array: array.astype(np.float64))


class Rough(Changed):
    change = staticmethod(lambda array: array * array.dtype.type(1 + 0.01 * (array.itemsize < 8)))


class ForgottenPower(Twin):
    def power(self, beta):
        return 1.0

    def expect(self, X, params, rows, beta):
        return self.right.expect(X, params, rows, self.power(beta))

    def maximize(self, stats, params, beta):
        return self.right.maximize(stats, params, self.power(beta))


class OtherPower(ForgottenPower):
    def power(self, beta):
        return 1.2 * beta


class Unweighted(Twin):
    def expect(self, X, *state):
        return self.right.expect(CSRCounts(X.table), *state)


class FirstRowTwice(Twin):
    def expect(self, X, *state):
        weights = X.row_weights * (1.0 + (np.arange(X.shape[0]) == 0))
        return self.right.expect(CSRCounts(X.table, weights), *state)


class FirstColumnTwice(Twin):
    def expect(self, X, *state):
        table = X.table.copy()
        table.data = table.data * (1 + (table.indices == 0)).astype(table.dtype)
        return self.right.expect(CSRCounts(table, X.weights), *state)


class Favourite(Twin):
    def expect(self, *given):
        rows, stats = self.right.expect(*given)
        return rows * (1 + 0.1 * (np.arange(rows.shape[1]) == 0)), stats


class Undefined(Twin):
    """Zero divided by zero where a row has no observations."""

    def empty(self, rows):
        return np.full_like(rows, np.nan)

    def expect(self, X, *state):
        rows, stats = self.right.expect(X, *state)
        return np.where(X.row_sums[:, None] > 0, rows, self.empty(rows)), stats


class Uniform(Undefined):
    def empty(self, rows):
        return np.eye(1, rows.shape[1], dtype=rows.dtype)


class Leaky(Twin):
    def factors(self, params, rows):
        A, B = self.right.factors(params, rows)
        return A, flattened(B, 0.001)


class Misplaced(Twin):
    def fold_in_equations(self, params):
        right, folded = self.right.fold_in_equations(params)
        return Rolled(right), folded


class Rolled(Twin):
    def restrict(self, params, columns):
        return self.right.restrict(params, np.roll(columns, 1))


class Scribbles(Twin):
    def expect(self, X, params, rows, beta):
        new, stats = self.right.expect(X, params, rows, beta)
        rows += 0.5
        return new, stats


class SpendsStatistics(Twin):
    def maximize(self, stats, params, beta):
        right = self.right.maximize(stats, params, beta)
        stats[0][:] = 0
        return right


class ForgottenPowerOfMixtures(Twin):
    """The quick solution for new rows is that of beta = 1."""

    def fold_in_equations(self, params):
        return ForgottenPowerOfMixtures(self.right), params

    def fixed(self, X, params, beta):
        return self.right.fixed(X, params, beta)._replace(power=1.0)


class NothingLeftOut(Twin):
    def expect(self, X, params, rows, beta):
        plain, parameters = self.right.fold_in_equations(params)
        return plain.expect(X, parameters, rows, beta)


class Endless(PredictiveAspects):
    """Column totals so large that nothing is left out of columns."""

    def per_totals(self, X, params):
        return 0 * params.weights


def LeftInColumns(model):
    """Tokens are left out of their rows alone."""
    return Endless(model.aspects, model.row_prior)


TEMPERATURES = ForgottenPower, OtherPower
TWINS = {
    "bound falls": [Flat],
    "literal step": [HalfStep, *TEMPERATURES],
    "literal slope": [HalfStep, ForgottenPower],
    "row weights": [Unweighted],
    "order of rows": [FirstRowTwice],
    "order of columns": [FirstColumnTwice],
    "order of components": [Favourite],
    "blocks": [FirstRowTwice],
    "float32": [Promoted, Rough],
    "empty rows": [Undefined, Uniform],
    "empty columns": [Leaky],
    "restrict": [Misplaced],
    "arguments": [Scribbles, SpendsStatistics],
}


def check_with_twins(
    equations,
    X=None,
    literal=None,
    betas=(1.0, 0.8),
    skip=(),
    twins=TWINS,
    start=equations_start,
):
    """Run `check_model`; each check must also find its broken variants of the model, once."""
    found = set()
    for name, case in planned(equations, X, literal, betas, skip, start):
        run_check(name, case)
        for twin in twins.get(name, ()):
            if (name, twin) in found:
                continue
            broken = twin(case.model)
            if twin in TEMPERATURES and same_step(case, broken):
                continue  # hard models have none, and at beta = 1 there is no power to forget
            try:
                CHECKS[name].run(case, broken)
            except AssertionError:
                found.add((name, twin))
                continue
            raise AssertionError(f"{name}: {twin.__name__} passes at beta={case.beta}")


def same_step(case, model):
    """True if another model makes the same step as that of the case."""
    mine, _, objective = case.step(case.model, case.states[1])
    other, _, its = case.step(model, case.states[1])
    pairs = zip((*mine.params, mine.rows), (*other.params, other.rows), strict=True)
    return objective == its and all(np.array_equal(one, two) for one, two in pairs)
