"""Numbers of components: which ones are tried, and which one is chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from skcooc.protocol import Array, TableLike
from skcooc.protocol.scikit_learn import num_samples

FIRST = 2, 3, 5, 8  # numbers tried first
FACTOR = 2  # between the numbers after those
WIDEST = 1 / 4  # first step around the best, relative to it; at least one
FINEST = 1 / 16  # last step
MIN_GAIN = 5e-3  # nats of a token: less, half a percent of perplexity, is not worth components

Sizes: TypeAlias = tuple[int, ...]  # numbers of components, one or two
Visit: TypeAlias = Callable[..., "Score"]  # visit(sizes, again=False)


class Score(NamedTuple):
    """Log-likelihoods of the test tokens of each row, nats, and numbers of these tokens."""

    sums: Array  # (N,)
    tokens: Array  # (N,)

    @classmethod
    def single(cls, value: float) -> Self:
        """A score without standard errors."""
        return cls(np.array([value]), np.ones(1))

    @classmethod
    def pooled(cls, scores: Sequence[Score]) -> Self:
        """The score of the tokens of all folds."""
        return cls(*(np.sum(values, axis=0) for values in zip(*scores, strict=True)))

    @property
    def mean(self) -> float:
        total = self.tokens.sum()
        return float(self.sums.sum() / total) if total else np.nan

    def gain(self, other: Score) -> tuple[float, float]:
        """Mean difference from another score of the same tokens, and its standard error.

        The error is that of a ratio of sums over rows, which differ in their number of tokens.
        """
        gains = Score(self.sums - other.sums, self.tokens)
        squares = (gains.sums - gains.mean * self.tokens) ** 2
        return gains.mean, Score(np.sqrt(squares.sum(keepdims=True)), self.tokens).mean

    def is_better(self, other: Score, by: float = 0.0) -> bool:
        """Whether it is larger by more than this, and than one standard error of the difference.

        >>> tokens = np.ones(2)
        >>> Score(np.array([3.0, 3.1]), tokens).is_better(Score(np.array([2.9, 2.9]), tokens))
        True
        >>> Score(np.array([3.0, 3.0]), tokens).is_better(Score(np.array([2.9, 3.2]), tokens))
        False
        """
        mean, error = self.gain(other)
        return mean > max(error, by)


def sizes_of(estimator: BaseEstimator) -> tuple[str, ...]:
    """Names of the parameters that are numbers of components; TypeError if there are none.

    >>> from skcooc import SymmetricClustering
    >>> sizes_of(SymmetricClustering())
    ('n_row_clusters', 'n_column_clusters')
    """
    names: tuple[str, ...] = getattr(estimator, "size_parameters", ())
    if not names or not hasattr(estimator, "aic"):  # TriadicAspectModel has none
        raise TypeError(
            "ComponentSearchCV needs an estimator of skcooc for tables of two ways, with a number "
            f"of components or clusters, got {estimator!r}. For a pipeline, search over its last "
            "step with the output of the steps before it, or make the last step "
            "AspectModel('auto'), which searches inside the pipeline."
        )
    if estimator.get_params(deep=False).get("tied", False):
        raise TypeError(
            f"ComponentSearchCV searches two numbers, but {type(estimator).__name__} with "
            "tied=True has one clustering of both sides: set tied=False."
        )
    return names


def check_candidates(candidates: Sequence | str, names: Sequence[str]) -> list[Sizes] | None:
    """Candidates from few components to many, each once; None for "auto"."""
    if isinstance(candidates, str):
        return None
    numbers = np.atleast_1d(np.asarray(candidates))
    if len(names) == 1:
        shape: tuple[int, ...] = (len(numbers),)
        form = "numbers, at least 1, such as [5, 10]"
    else:
        shape = (len(numbers), len(names))
        form = f"pairs of {' and '.join(names)}, at least 1, such as [(5, 5), (10, 8)]"
    are_integers = numbers.dtype.kind in "iu"
    if numbers.shape != shape or not numbers.size or not are_integers or numbers.min() < 1:
        raise ValueError(f"candidates should be {form}, got {candidates!r}.")
    sizes = {tuple(row) for row in numbers.reshape(len(numbers), -1).tolist()}
    return sorted(sizes, key=cost_order)


def cost_order(sizes: Sizes) -> tuple[float, Sizes]:
    return float(np.prod(sizes)), sizes


def limits_of(names: Sequence[str], X: TableLike, max_components: int) -> Sizes:
    """Largest numbers to try: at most the number of rows or columns that are clustered."""
    shape = X.table_shape if hasattr(X, "table_shape") else (num_samples(X), np.shape(X)[1])
    sides = tuple(min(n, max_components) for n in shape)
    return sides if len(names) == 2 else (min(sides),)


def grow_and_refine(visit: Visit, limits: Sizes) -> None:
    """Double sizes (of both sides at once) until one is no better; then refine around the best.

    Better means by more than a standard error, since copies of components often gain a little. The
    best is visited again before it is refined: it may gain from a start with more components.

    >>> visited = []
    >>> def visit(sizes, again=False):
    ...     visited.append(sizes)
    ...     return Score.single(-abs(sizes[0] - 11))
    >>> grow_and_refine(visit, (100,))
    >>> visited
    [(2,), (3,), (5,), (8,), (16,), (8,), (6,), (10,), (12,), (9,), (11,)]
    """
    scores: dict[Sizes, Score] = {}

    def score(sizes: Sizes) -> Score:
        if sizes not in scores:
            scores[sizes] = visit(sizes)
        return scores[sizes]

    best, *larger = doubling_sizes(limits)
    score(best)
    for sizes in larger:
        if not score(sizes).is_better(score(best)):
            break
        best = sizes
    if best != limits:
        scores[best] = visit(best, again=True)
        refine(score, best, max(scores.values(), key=attrgetter("mean")), limits)


def doubling_sizes(limits: Sizes) -> list[Sizes]:
    """Sizes in the order of growth, up to the limits."""
    numbers = [*FIRST]
    while numbers[-1] < max(limits):
        numbers.append(FACTOR * numbers[-1])
    sizes = [tuple(min(n, limit) for limit in limits) for n in numbers]
    return list(dict.fromkeys(sizes))


def visit_in_order(visit: Visit, candidates: Sequence[Sizes]) -> None:
    """Visit candidates, given from few to many, in the cheapest order, and the best again.

    First come sizes that are at least twice the one before, and the largest; then the others, which
    can all start from a larger one.

    >>> visited = []
    >>> def visit(sizes, again=False):
    ...     visited.append(sizes)
    ...     return Score.single(-abs(sizes[0] - 4))
    >>> visit_in_order(visit, [(2,), (3,), (4,), (5,), (6,)])
    >>> visited
    [(2,), (4,), (6,), (5,), (3,), (4,)]
    """
    first = [candidates[0]]
    for sizes in candidates[1:]:
        if sizes == candidates[-1] or np.prod(sizes) >= FACTOR * np.prod(first[-1]):
            first.append(sizes)
    rest = [sizes for sizes in reversed(candidates) if sizes not in first]
    means = {sizes: visit(sizes).mean for sizes in [*first, *rest]}
    best = max(means, key=means.__getitem__)
    if best in first[:-1]:
        visit(best, again=True)


def refine(score: Callable[[Sizes], Score], best: Sizes, top: Score, limits: Sizes) -> None:
    """Move to neighbours that are better, or smaller and hardly worse than the top score so far."""
    share = WIDEST
    while True:
        for sizes in neighbouring_sizes(best, share, limits):
            candidate = score(sizes)
            top = max(top, candidate, key=attrgetter("mean"))
            is_smaller = cost_order(sizes) < cost_order(best)
            is_enough = is_smaller and not top.is_better(candidate, MIN_GAIN)
            if is_enough or candidate.is_better(score(best), MIN_GAIN):
                best = sizes
                break
        else:
            if share <= FINEST or share * max(best) <= 1:
                return
            share /= 2


def neighbouring_sizes(sizes: Sizes, share: float, limits: Sizes) -> list[Sizes]:
    """Sizes that differ in one number, by a share of it or by one; the smaller ones first.

    >>> neighbouring_sizes((4, 9), 0.25, (5, 20))
    [(3, 9), (4, 7), (5, 9), (4, 11)]
    """
    neighbours = []
    for sign in (-1, 1):
        for side, (n, limit) in enumerate(zip(sizes, limits, strict=True)):
            other = n + sign * max(1, round(share * n))
            if FIRST[0] <= other <= limit:
                neighbours.append((*sizes[:side], other, *sizes[side + 1 :]))
    return neighbours


class Choice(NamedTuple):
    """The candidate chosen, and the one with the best score."""

    chosen: int
    best: int
    still_falling: bool  # the last candidate is chosen: larger ones may be better


def fewest(scores: Sequence[Score]) -> Choice:
    """The first candidate that is within MIN_GAIN or a standard error of the best.

    >>> tokens = np.ones(2)
    >>> sums = [-5.0, -5.2], [-4.0, -4.1], [-4.0, -4.11], [-3.9, -4.12]
    >>> scores = [Score(np.array(pair), tokens) for pair in sums]
    >>> tuple(fewest(scores))
    (1, 3, False)
    >>> tuple(fewest(scores[:2]))
    (1, 1, True)
    """
    best = largest(scores).best
    enough = (not scores[best].is_better(score, MIN_GAIN) for score in scores)
    chosen = [*enough].index(True)
    return Choice(chosen, best, 0 < chosen == len(scores) - 1)


def largest(scores: Sequence[Score]) -> Choice:
    best = int(np.argmax([score.mean for score in scores]))
    return Choice(best, best, 0 < best == len(scores) - 1)
