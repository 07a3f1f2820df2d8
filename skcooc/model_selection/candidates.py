"""Numbers of components: which ones are tried, and which one is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _num_samples

from skcooc.protocol import Array, TableLike

FIRST = 2, 3, 5, 8  # numbers tried first
FACTOR = 2  # between the numbers after those
WIDEST, FINEST = 1 / 4, 1 / 25  # first and last step around the best, relative to it; at least one

Sizes: TypeAlias = tuple[int, ...]  # numbers of components, one or two
Visit: TypeAlias = Callable[..., Array]  # visit(sizes, again=False): scores of fits, (n_folds,)


def sizes_of(estimator: BaseEstimator) -> tuple[str, ...]:
    """Names of the parameters that are numbers of components; TypeError if there are none.

    >>> from skcooc import SymmetricClustering
    >>> sizes_of(SymmetricClustering())
    ('n_row_clusters', 'n_column_clusters')
    """
    names: tuple[str, ...] = getattr(estimator, "size_parameters", ())
    if not names:
        raise TypeError(
            "ComponentSearchCV needs an estimator of skcooc with a number of components or "
            f"clusters, got {estimator!r}."
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
    given = np.asarray(candidates)
    shape = (len(given),) if len(names) == 1 else (len(given), len(names))
    if given.shape != shape or not given.size or given.dtype.kind not in "iu" or given.min() < 1:
        what = "numbers" if len(names) == 1 else f"pairs of {' and '.join(names)}"
        raise ValueError(f"candidates should be {what}, at least 1, got {candidates!r}.")
    sizes = {tuple(row) for row in given.reshape(len(given), -1).tolist()}
    return sorted(sizes, key=cost_order)


def cost_order(sizes: Sizes) -> tuple[float, Sizes]:
    return float(np.prod(sizes)), sizes


def limits_of(names: Sequence[str], X: TableLike, most: int) -> Sizes:
    """Largest numbers to try: at most the number of rows or columns that are clustered."""
    shape = X.table_shape if hasattr(X, "table_shape") else (_num_samples(X), np.shape(X)[1])
    sides = tuple(min(n, most) for n in shape)
    return sides if len(names) == 2 else (min(sides),)


def grow_and_refine(visit: Visit, limits: Sizes) -> None:
    """Double sizes (of both sides at once) until one is no better; then refine around the best.

    Better means by more than a standard error, since copies of components often gain a little. The
    best is visited again before it is refined: it may gain from a start with more components.

    >>> visited = []
    >>> def visit(sizes, again=False):
    ...     visited.append(sizes)
    ...     return np.array([-abs(sizes[0] - 11)])
    >>> grow_and_refine(visit, (100,))
    >>> visited
    [(2,), (3,), (5,), (8,), (16,), (8,), (10,), (6,), (12,), (11,), (9,)]
    """
    scores: dict[Sizes, Array] = {}

    def score(sizes: Sizes) -> Array:
        if sizes not in scores:
            scores[sizes] = visit(sizes)
        return scores[sizes]

    best, *larger = doubling_sizes(limits)
    score(best)
    for sizes in larger:
        if not is_better(score(sizes), score(best)):
            break
        best = sizes
    if best != limits:
        scores[best] = visit(best, again=True)
        refine(score, best, limits)


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
    ...     return np.array([-abs(sizes[0] - 4)])
    >>> visit_in_order(visit, [(2,), (3,), (4,), (5,), (6,)])
    >>> visited
    [(2,), (4,), (6,), (5,), (3,), (4,)]
    """
    first = [candidates[0]]
    for sizes in candidates[1:]:
        if sizes == candidates[-1] or np.prod(sizes) >= FACTOR * np.prod(first[-1]):
            first.append(sizes)
    others = [sizes for sizes in reversed(candidates) if sizes not in first]
    means = {sizes: visit(sizes).mean() for sizes in [*first, *others]}
    best = max(means, key=means.__getitem__)
    if best in first[:-1]:
        visit(best, again=True)


def refine(score: Callable[[Sizes], Array], best: Sizes, limits: Sizes) -> None:
    """Move from the best so far to better neighbours, at ever shorter steps."""
    share = WIDEST
    while True:
        tried = [best, *neighbours(best, share, limits)]
        leader = max(tried, key=lambda sizes: score(sizes).mean())
        if leader == best:
            if share <= FINEST or share * max(best) <= 1:
                return
            share /= 2
        best = leader


def neighbours(sizes: Sizes, share: float, limits: Sizes) -> list[Sizes]:
    """Sizes that differ in one number, by a share of it or by one; the larger ones first.

    >>> neighbours((4, 9), 0.25, (5, 20))
    [(5, 9), (3, 9), (4, 11), (4, 7)]
    """
    found = []
    for side, (n, limit) in enumerate(zip(sizes, limits, strict=True)):
        length = max(1, round(share * n))
        for other in (n + length, n - length):
            if FIRST[0] <= other <= limit:
                found.append((*sizes[:side], other, *sizes[side + 1 :]))
    return found


def is_better(scores: Array, others: Array) -> bool:
    """Whether the mean is larger by more than one standard error of the paired difference.

    >>> is_better(np.array([3.0, 3.1]), np.array([2.9, 2.9]))
    True
    >>> is_better(np.array([3.0, 3.0]), np.array([2.9, 3.1]))
    False
    """
    gains = scores - others
    error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else 0.0
    return bool(gains.mean() > error)


class Choice(NamedTuple):
    """The candidate chosen, and the one with the best mean score."""

    chosen: int
    best: int
    still_falling: bool  # the last candidate is chosen: larger ones may be better
    errors: Array  # (n_candidates,): of the differences from the best, paired over folds


def one_standard_error(scores: Array) -> Choice:
    """The first candidate within one standard error of the best.

    ``scores`` (n_candidates, n_folds) are log-likelihoods, from few components to many. The error
    is that of the mean difference from the best candidate on the same folds.

    >>> scores = np.array([[-5.0, -5.2], [-4.0, -4.1], [-4.0, -4.11], [-3.9, -4.12]])
    >>> one_standard_error(scores)[:3]
    (1, 3, False)
    >>> one_standard_error(scores[:2])[:3]
    (1, 1, True)
    """
    best = int(scores.mean(axis=1).argmax())
    losses = scores[best] - scores
    errors = losses.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
    within = losses.mean(axis=1) <= errors
    within[best] = True  # its loss is NaN if its score is infinite
    index = int(within.argmax())
    return Choice(index, best, 0 < index == len(scores) - 1, errors)


def largest_criterion(criterion: Array) -> Choice:
    best = int(criterion.argmax())
    return Choice(best, best, 0 < best == len(criterion) - 1, np.zeros(len(criterion)))


def summarize(
    sizes: Sequence[Sizes], choice: Choice, results: Mapping[str, Array], criterion: str
) -> str:
    """The choice in plain words; if the curve is still falling, what to go by instead."""
    names = [" x ".join(map(str, numbers)) for numbers in sizes]
    chosen, scores = names[choice.chosen], results["mean_test_score"]
    halves, runs = (results[f"{kind}_agreement"] for kind in ("half", "seed"))
    of_runs = runs[choice.chosen]
    and_runs = "" if np.isnan(of_runs) else f", of two runs by {of_runs:.2f}"
    agreement = (
        f"Of {chosen}, {results['n_distinct'][choice.chosen]:.3g} are distinct and "
        f"{results['n_found_again'][choice.chosen]:.3g} found in both halves of the tokens. "
        f"Components of the halves agree by {halves[choice.chosen]:.2f}{and_runs}."
    )
    if choice.still_falling:
        curve = f"The integrated likelihood (ICL) still rises at {chosen} components."
        if criterion != "icl":
            curve = (
                f"The held-out perplexity is still falling at {chosen} components, the most that "
                f"were tried: by {1 - np.exp(scores[-2] - scores[-1]):.1%} from {names[-2]} on. "
                f"These data do not determine the number of components; {chosen} is only the "
                "largest candidate."
            )
        most = int(np.nanargmax(halves))
        return (
            f"{curve} Try more, or choose a number whose components are distinct and found again: "
            f"{agreement} Halves agree best at {names[most]}, by {halves[most]:.2f}."
        )
    if criterion == "icl":
        return f"{chosen} components: their integrated likelihood (ICL) is the largest. {agreement}"
    perplexity, least = np.exp(-scores[[choice.chosen, choice.best]])
    reason = f"is within a standard error of the least, {least:.4g} at {names[choice.best]}"
    if choice.chosen == choice.best:
        reason = "is the least to within a standard error"
    return (
        f"{chosen} components: the fewest whose held-out perplexity, {perplexity:.4g}, {reason}. "
        f"{agreement}"
    )
