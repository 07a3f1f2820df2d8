"""What a search for the number of components says: a table, and a recommendation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from skcooc.model_selection.candidates import Choice, Score, Sizes
from skcooc.protocol import Array

HEADER = "K", "perplexity", "with cache", "ICL", "halves agree", "found in both", "distinct"
OF_CRITERION = {
    "cache": ("mean_cache_score", "perplexity with cache"),
    "held_out": ("mean_test_score", "held-out perplexity"),
}


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


def recommend(
    sizes: Sequence[Sizes], choice: Choice, results: Mapping[str, Array], criterion: str
) -> str:
    """The choice in one sentence; if the curve is still falling, what to go by instead."""
    names = [name_of(numbers) for numbers in sizes]
    chosen = names[choice.chosen]
    if choice.still_falling:
        halves = results["half_agreement"]
        most = int(np.nanargmax(halves))
        instead = f"halves agree best at {names[most]}, by {halves[most]:.2f}"
        if criterion == "icl":
            return (
                f"The integrated likelihood (ICL) still rises at {chosen} components, the most "
                f"that were tried: try more, or choose by the agreement of halves ({instead})."
            )
        score, what = OF_CRITERION[criterion]
        fall = 1 - np.exp(results[score][-2] - results[score][-1])
        return (
            f"The {what} is still falling at {chosen} components, the most that were tried, by "
            f"{fall:.1%} from {names[-2]} on, so the data do not determine the number: try more, "
            f"or choose one whose components are distinct and found in both halves ({instead})."
        )
    if criterion == "icl":
        return f"Take {chosen} components: their integrated likelihood (ICL) is the largest."
    score, what = OF_CRITERION[criterion]
    perplexity, least = np.exp(-results[score][[choice.chosen, choice.best]])
    if choice.chosen == choice.best:
        return f"Take {chosen} components: their {what}, {perplexity:.4g}, is the least."
    return (
        f"Take {chosen} components: the fewest whose {what}, {perplexity:.4g}, is within a "
        f"standard error of the least, {least:.4g} at {names[choice.best]}."
    )
