"""The least of several candidates on the mean over folds, without a visit to all of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from skcooc.protocol import Array

FIRST_FOLDS = 3  # after which candidates are compared; then after twice as many, and so on
ERRORS = 2.0  # standard errors by which a difference may be wrong
MATTERS = 0.003  # difference of losses: of perplexities, three per mille
BRANCHES = 3  # by which the step between neighbours shrinks, and least number of first candidates

# Losses of pairs (candidate, fold), which can be measured side by side.
Measure = Callable[[Sequence[tuple[int, int]]], Sequence[float]]


class Race:
    """Candidates in a row, the losses of which are measured fold by fold, but for those ruled out.

    ``losses`` is (n_candidates, n_folds), NaN where nothing was measured.
    """

    def __init__(
        self, measure: Measure, n_candidates: int, n_folds: int, ruled_out: Collection[int] = ()
    ) -> None:
        self._measure, self._ruled_out = measure, frozenset(ruled_out)
        self.losses = np.full((n_candidates, n_folds), np.nan)

    @property
    def best(self) -> int:
        """The candidate with the least mean loss, of those measured on all folds."""
        return int(np.nanargmin(self.losses.mean(axis=1)))

    @property
    def visited(self) -> Array:
        """The candidates that were measured on all folds or some."""
        return np.flatnonzero(~np.isnan(self.losses).all(axis=1))

    def lost_by(self, margin: float) -> list[int]:
        """The candidates visited that lose so much to the best on the folds they have seen."""
        seen = ~np.isnan(self.losses)
        behind = self.losses - self.losses[self.best] - margin
        return [
            int(c)
            for c in self.visited
            if c != self.best and not may_win(behind[c, seen[c]], np.zeros(seen[c].sum()))
        ]

    def unvisited(self, candidates: Sequence[int]) -> list[int]:
        """Those of the candidates that there are, and that are neither visited nor ruled out."""
        left = set(range(len(self.losses))).difference(self.visited, self._ruled_out)
        return [candidate for candidate in candidates if candidate in left]

    def visit(self, candidates: Sequence[int]) -> None:
        """Measure candidates on ever more folds, as long as one may be better than the best."""
        n_folds, begin, end = self.losses.shape[1], 0, FIRST_FOLDS
        finished = [] if np.isnan(self.losses).any(axis=1).all() else [self.best]
        hopeful = list(candidates)
        while begin < n_folds and hopeful:
            self._run(hopeful, range(begin, min(end, n_folds)))
            losses = self.losses[:, :end]
            leader = min([*finished, *hopeful], key=lambda c: losses[c].mean())
            hopeful = [c for c in hopeful if c == leader or may_win(losses[c], losses[leader])]
            begin, end = end, 2 * end

    def _run(self, candidates: Sequence[int], folds: Sequence[int]) -> None:
        pairs = [(candidate, fold) for fold in folds for candidate in candidates]
        for pair, loss in zip(pairs, self._measure(pairs), strict=True):
            self.losses[pair] = loss


def may_win(losses: Array, least: Array) -> bool:
    """Whether losses may turn out less than others by an amount that matters.

    Not so where they are larger in the mean, or hardly less, by more than the noise of differences
    on the same folds.
    """
    if len(losses) < FIRST_FOLDS:  # too few to tell how large the noise is
        return True
    with np.errstate(invalid="ignore"):  # both may be infinite
        differences = losses - least
        error = differences.std(ddof=1) / np.sqrt(len(losses))
        return not differences.mean() - ERRORS * error > -MATTERS


def descend(race: Race, step: int = 1) -> None:
    """Visit the neighbours of the best candidate, a step away, until it has no better one."""
    while new := race.unvisited([race.best - step, race.best + step]):
        race.visit(new)


def zoom(race: Race) -> None:
    """Visit candidates far apart, and then closer and closer to the best.

    >>> def measure(pairs):
    ...     return [(candidate - 6) ** 2 for candidate, fold in pairs]
    >>> race = Race(measure, n_candidates=12, n_folds=2)
    >>> zoom(race)
    >>> race.best, race.visited.tolist()
    (6, [1, 4, 5, 6, 7, 8, 10])
    """
    n, step = len(race.losses), 1
    while n >= step * BRANCHES**2:
        step *= BRANCHES
    race.visit(range(step // 2, n, step))
    while step:
        descend(race, step)
        step //= BRANCHES


def around(race: Race, candidate: int) -> None:
    """Visit a candidate with its neighbours, and go on from there while there are better ones."""
    race.visit(race.unvisited([candidate - 1, candidate, candidate + 1]))
    descend(race)
