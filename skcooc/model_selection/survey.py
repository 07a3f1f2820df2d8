"""Measures of the numbers of components that a search has visited, and what they recommend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from time import perf_counter
from typing import Any, Literal, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from skcooc.heldout import Unigram
from skcooc.heldout.validation import add_one_unigram
from skcooc.model_selection.candidates import (
    FINEST,
    FIRST,
    MIN_GAIN,
    Choice,
    Score,
    Sizes,
    cost_order,
)
from skcooc.model_selection.folds import CountSplit, Data, Folding, ParamMapping, count_folds
from skcooc.model_selection.path import ComponentPath, PathFit, describe_fits, is_hard, score_fold
from skcooc.protocol import Array, RandomState

DEFAULT_SPLITS = 5  # parts of the tokens; one of them is scored unless folds are given
# Components that gain less than this in a cache, relative to what they gain alone, are judged by
# columns that are new to their rows: texts gain 0.3 or more, pairs of words 0.02 to 0.06.
LEAST_CACHE_GAIN = 0.08

Criterion: TypeAlias = Literal["cache", "held_out", "unseen", "icl"]
SCORES: dict[Criterion, str] = {
    "cache": "cache",
    "held_out": "test",
    "unseen": "unseen",
    "icl": "icl",
}
HEADER = "K", "perplexity", "with cache", "ICL", "halves agree", "found in both", "distinct"
OF_CRITERION = {
    "cache": ("mean_cache_score", "perplexity with cache"),
    "held_out": ("mean_test_score", "held-out perplexity"),
    "unseen": ("mean_unseen_score", "perplexity of columns new to their rows"),
}
Measures: TypeAlias = dict[str, Any]  # floats by name, and arrays of one for each fold
RunParallel: TypeAlias = Callable[[Callable, Iterable[tuple]], list]


class Survey:
    """Measures of the sizes visited, and the paths from which further sizes start.

    There is a path for the training part of each fold, for each of two halves of the tokens (if the
    folds are not halves themselves), and for each of several runs with all tokens, in this order.
    It can be pickled.
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        names: Sequence[str],
        data: Data,
        cv: Folding,
        split_params: ParamMapping,
        n_runs: int,
        random_state: RandomState,
    ) -> None:
        n_runs = max(n_runs, int(is_hard(estimator)))
        seeds = check_random_state(random_state).randint(2**31 - 1, size=max(n_runs, 1)).tolist()
        folds = count_folds(data, DEFAULT_SPLITS if cv is None else cv, split_params)
        self._names = names
        self._folds = folds[:1] if cv is None else folds
        are_halves = isinstance(cv, Integral) and cv == 2
        in_halves = CountSplit(2, random_state=seeds[0])
        halves = [] if are_halves else count_folds(data, in_halves, {})
        parts = [fold.training for fold in (*self._folds, *halves)]
        self._paths = [ComponentPath(estimator, part, seeds[0]) for part in parts]
        self._paths += [ComponentPath(estimator, data, seed) for seed in seeds[:n_runs]]
        self._whole = self._folds[0].whole
        first = len(self._folds)
        self._halves = slice(0, 2) if are_halves else slice(first, first + 2)
        self._runs = slice(max(first, self._halves.stop), None)
        self.seed = seeds[0]
        unigrams = [Unigram(add_one_unigram(fold.known)) for fold in self._folds]
        self.unigram = self._pooled(list(map(score_fold, self._folds, unigrams)))
        self.measures: dict[Sizes, Measures] = {}
        self.scores: dict[Sizes, dict[str, Score]] = {}
        self._n_visits = Counter[Sizes]()

    def visit(self, sizes: Sizes, run: RunParallel) -> None:
        began = perf_counter()
        named = dict(zip(self._names, sizes, strict=True))
        fits: list[PathFit] = run(lambda path: path.fit(named), [(path,) for path in self._paths])
        fitted = perf_counter()
        fold_fits = fits[: len(self._folds)]
        predictors = [fit.predictor for fit in fold_fits]
        by_fold = run(score_fold, [*zip(self._folds, predictors, strict=True)])
        described = describe_fits(self._whole, fold_fits, fits[self._halves], fits[self._runs])
        self.scores[sizes] = self._pooled(by_fold)
        if "icl" in described:
            self.scores[sizes]["icl"] = Score.single(described["icl"])
        self.measures[sizes] = {
            **{
                f"{name}_score": np.array([scores[name].mean for scores in by_fold])
                for name in by_fold[0]
            },
            **described,
            "mean_fit_time": (fitted - began) / len(self._paths),
            "mean_score_time": (perf_counter() - fitted) / len(self._folds),
            "work": float(np.mean([fit.work for fit in fits])),
        }
        self._n_visits[sizes] += 1

    def needs_visit(self, sizes: Sizes, again: bool) -> bool:
        """Whether a candidate is new, or may gain from a second visit that is asked for."""
        may_gain = any(path.has_warm_starts for path in self._paths)
        return self._n_visits[sizes] < (2 if again and may_gain else 1)

    def without_copies(self, criterion: Criterion) -> Sizes | None:
        """The number of distinct components of the best candidate, if it is clearly smaller.

        A fit with fewer components that was stuck may be better from there.
        """
        best = max(self.scores, key=lambda sizes: self.scores[sizes][SCORES[criterion]].mean)
        distinct = max(round(self.measures[best]["n_distinct"]), FIRST[0])
        min_difference = max(1, round(FINEST * best[0]))
        is_smaller = len(best) == 1 and best[0] - distinct >= min_difference
        return (distinct,) if is_smaller else None

    def is_cache_enough(self) -> bool:
        """Whether components gain almost nothing in a cache, as for pairs and very bursty rows."""
        best = max(self.scores.values(), key=lambda scores: scores["cache"].mean)
        cache_gain, _ = best["cache"].gain(self.unigram["cache"])
        gain, _ = best["test"].gain(self.unigram["test"])
        return cache_gain < LEAST_CACHE_GAIN * gain

    def tables(self) -> tuple[list[dict[str, int]], list[dict[str, Score]], dict[str, Array]]:
        """Parameters from few components to many, their scores, and arrays of measures."""
        order = sorted(self.measures, key=cost_order)
        params = [dict(zip(self._names, sizes, strict=True)) for sizes in order]
        rows = [self.measures[sizes] for sizes in order]
        tables = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        return params, [self.scores[sizes] for sizes in order], tables

    @staticmethod
    def _pooled(by_fold: Sequence[dict[str, Score]]) -> dict[str, Score]:
        return {name: Score.pooled([scores[name] for scores in by_fold]) for name in by_fold[0]}


def name_of(sizes: Sizes) -> str:
    return " x ".join(map(str, sizes))


def table_of(
    sizes: Sequence[Sizes],
    choice: Choice,
    results: Mapping[str, Array],
    unigram: Mapping[str, Score],
) -> str:
    """A line for the topic-free baseline and for each candidate; a star marks the chosen one."""
    perplexities = [f"{np.exp(-unigram[name].mean):.1f}" for name in ("test", "cache")]
    lines: list[tuple[str, ...]] = [HEADER, ("none", *perplexities, "", "", "", "")]
    for i, numbers in enumerate(sizes):
        star = " *" if i == choice.chosen else ""
        line = (
            name_of(numbers) + star,
            f"{np.exp(-results['mean_test_score'][i]):.1f}",
            f"{np.exp(-results['mean_cache_score'][i]):.1f}",
            f"{results['icl'][i]:.0f}" if "icl" in results else "",
            f"{results['half_agreement'][i]:.2f}",
            f"{results['n_found_again'][i]:.0f}",
            f"{results['n_distinct'][i]:.4g}",
        )
        lines.append(line)
    columns = [column for column in zip(*lines, strict=True) if any(column[1:])]
    widths = [max(map(len, column)) for column in columns]
    columns[0] = tuple(name if name.endswith("*") else f"{name}  " for name in columns[0])
    widths[0] = max(map(len, columns[0]))
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in zip(*columns, strict=True)
    )


def is_better_than_none(
    choice: Choice,
    results: Mapping[str, Array],
    criterion: Criterion,
    unigram: Mapping[str, Score],
) -> bool:
    """Whether the best candidate predicts better than no components do, by half a percent."""
    if criterion == "icl":
        return True
    score, _ = OF_CRITERION[criterion]
    return results[score][choice.best] - unigram[SCORES[criterion]].mean >= MIN_GAIN


def recommend(
    sizes: Sequence[Sizes],
    choice: Choice,
    results: Mapping[str, Array],
    criterion: Criterion,
    unigram: Mapping[str, Score],
) -> str:
    """The choice in one sentence; what to go by instead, or that no number is better than none."""
    names = [name_of(numbers) for numbers in sizes]
    chosen = names[choice.chosen]
    if choice.still_falling:
        agreement = results["half_agreement"]
        stable = int(np.nanargmax(agreement))
        stability = f"halves agree best at {names[stable]}, by {agreement[stable]:.2f}"
        if criterion == "icl":
            return (
                f"The integrated likelihood (ICL) still rises at {chosen} components, the most "
                f"that were tried: try more, or choose by the agreement of halves ({stability})."
            )
        score, measure = OF_CRITERION[criterion]
        fall = 1 - np.exp(results[score][-2] - results[score][-1])
        return (
            f"The {measure} is still falling at {chosen} components, the most that were tried, by "
            f"{fall:.1%} from {names[-2]} on, so the data do not determine the number: try more, "
            f"or choose one whose components are distinct and found in both halves ({stability})."
        )
    if criterion == "icl":
        return f"Take {chosen} components: their integrated likelihood (ICL) is the largest."
    score, measure = OF_CRITERION[criterion]
    perplexity, lowest = np.exp(-results[score][[choice.chosen, choice.best]])
    if not is_better_than_none(choice, results, criterion, unigram):
        baseline = np.exp(-unigram[SCORES[criterion]].mean)
        return (
            f"No number of components is better than none by half a percent: the {measure} is "
            f"{baseline:.4g} without any, at best {lowest:.4g}. So the data do not determine the "
            "number: give one that people can read, or more or longer rows."
        )
    if choice.chosen == choice.best:
        return f"Take {chosen} components: their {measure}, {perplexity:.4g}, is the least."
    return (
        f"Take {chosen} components: the fewest whose {measure}, {perplexity:.4g}, is within "
        f"0.5 % or a standard error of the least, {lowest:.4g} at {names[choice.best]}."
    )
