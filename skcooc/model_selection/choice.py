"""Which number of components it is, and whether the data say so at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from skcooc.model_selection.candidates import Sizes
from skcooc.protocol import Array


class Choice(NamedTuple):
    """The candidate chosen, and the one with the best mean."""

    at: int
    best: int
    still_falling: bool  # the last candidates are better than all before: there may be better ones
    errors: Array  # (n_candidates,): of the differences from the best, paired over folds


def one_standard_error(scores: Array) -> Choice:
    """The first candidate that is within a standard error of the best.

    ``scores`` (n_candidates, n_folds) are log-likelihoods, from few components to many. The error
    is that of the mean difference from the best candidate on the same folds. Where the best is the
    last, and the one before is not as good, the curve has not ended, and the last is taken.

    >>> scores = np.array([[-5.0, -5.2], [-4.0, -4.1], [-4.0, -4.11], [-3.9, -4.12]])
    >>> one_standard_error(scores)[:3]
    (1, 3, False)
    >>> one_standard_error(scores[:2])[:3]
    (1, 1, True)
    """
    best = int(scores.mean(axis=1).argmax())
    behind = scores[best] - scores
    errors = behind.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
    within = behind.mean(axis=1) <= errors
    within[best] = True  # its difference from itself is no number where it is impossible
    at = int(within.argmax())
    return Choice(at, best, _is_last(at, errors), errors)


def largest(criterion: Array) -> Choice:
    """The candidate with the largest criterion; it has no error."""
    best = int(criterion.argmax())
    return Choice(best, best, _is_last(best, criterion), np.zeros(len(criterion)))


def _is_last(at: int, candidates: Array) -> bool:
    """Whether there is nothing beyond to compare it with, though there is before."""
    return 0 < at == len(candidates) - 1


def in_words(
    sizes: Sequence[Sizes], choice: Choice, results: Mapping[str, Array], criterion: str
) -> str:
    """What was found, in plain words, and what to go by where it is nothing."""
    at = choice.at
    name = _named(sizes[at])
    if choice.still_falling:
        return " ".join([_falling(sizes, results, criterion), _instead(sizes, at, results)])
    if criterion == "icl":
        reason = f"{name} components: their integrated likelihood (ICL) is the largest."
    else:
        reason = f"{name} components: the fewest whose {_compared(sizes, choice, results)}."
    return f"{reason} {_alike(sizes, at, results)}"


def _falling(sizes: Sequence[Sizes], results: Mapping[str, Array], criterion: str) -> str:
    before, last = (_named(these) for these in sizes[-2:])
    if criterion == "icl":
        return (
            f"The integrated likelihood (ICL) is still rising at {last} components, the most tried."
        )
    scores = results["mean_test_score"]
    gain = 1 - np.exp(scores[-2] - scores[-1])
    return (
        f"The held-out perplexity is still falling at {last} components, the most that were tried: "
        f"by {gain:.1%} from {before} on. These data name no number of components so far, and "
        f"{last} is not one that was found."
    )


def _instead(sizes: Sequence[Sizes], at: int, results: Mapping[str, Array]) -> str:
    agreement = results["half_agreement"]
    most = int(np.nanargmax(agreement))
    return (
        f"Try more, or go by what can be told apart and found again: {_alike(sizes, at, results)} "
        f"Halves agree best at {_named(sizes[most])}, by {agreement[most]:.2f}."
    )


def _compared(sizes: Sequence[Sizes], choice: Choice, results: Mapping[str, Array]) -> str:
    perplexity = np.exp(-results["mean_test_score"])
    its, least = f"{perplexity[choice.at]:.4g}", f"{perplexity[choice.best]:.4g}"
    if choice.at == choice.best:
        return f"held-out perplexity, {its}, is the least to within a standard error"
    return (
        f"held-out perplexity, {its}, is within a standard error of the least, {least} at "
        f"{_named(sizes[choice.best])}"
    )


def _alike(sizes: Sequence[Sizes], at: int, results: Mapping[str, Array]) -> str:
    halves, starts = (results[f"{of}_agreement"][at] for of in ("half", "seed"))
    return (
        f"Of {_named(sizes[at])}, {results['n_distinct'][at]:.3g} are distinct; components of two "
        f"halves of the observations agree by {halves:.2f}, of two starts by {starts:.2f} (cosine)."
    )


def _named(sizes: Sizes) -> str:
    return " x ".join(str(n) for n in sizes)
