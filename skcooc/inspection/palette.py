"""Colours of topics: the same in displays and on the page of `explore`."""

from __future__ import annotations

import numpy as np

from skcooc.protocol import Array

# Twelve hues chosen by search: far apart in CIELAB also for protanopes and deuteranopes (Machado,
# Oliveira and Fernandes, 2009), and of enough contrast to the background.
LIGHT = (
    "#0072b2", "#d55e00", "#3daa31", "#9e1892", "#249eb6", "#db6d79",
    "#924900", "#3155ce", "#187949", "#c2243d", "#1892ff", "#86496d",
)  # fmt: skip
DARK = (
    "#00a3ff", "#ff991f", "#85f57a", "#ad52c2", "#85ebff", "#eb8585",
    "#cc5214", "#2970f5", "#85ebc2", "#e03347", "#99a3d6", "#eb298f",
)  # fmt: skip
# Shares of ink in a colour, or of paper if negative, on light and on dark backgrounds; with the
# second ones, 24 colours are furthest apart.
SHADES = (0.0, 0.5, -0.3, 0.22, -0.15, 0.65), (0.0, -0.38, 0.45, -0.2, 0.25, 0.65)

N_COLORS = len(LIGHT) * len(SHADES[0])


def topic_colors(n_topics: int, dark: bool = False) -> list[str]:
    """Colours of so many topics by rank, as "#rrggbb": twelve hues, then shades of them.

    Those of light backgrounds can be seen on dark ones, too. After 72 topics colours repeat.

    >>> topic_colors(3)
    ['#0072b2', '#d55e00', '#3daa31']
    """
    hues, ink, paper = (DARK, 255, 24) if dark else (LIGHT, 0, 255)

    def shaded(rank: int) -> str:
        hue, share = hues[rank % len(hues)], SHADES[dark][rank % N_COLORS // len(hues)]
        other = ink if share > 0 else paper
        values = (int(hue[i : i + 2], 16) for i in (1, 3, 5))
        mixed = (round((1 - abs(share)) * value + abs(share) * other) for value in values)
        return "#" + "".join(f"{value:02x}" for value in mixed)

    return [shaded(rank) for rank in range(n_topics)]


def topic_ranks(weights: Array) -> Array:
    """Rank of each topic, (K,): 0 is the largest. It gives the colour.

    >>> topic_ranks(np.array([0.2, 0.5, 0.3]))
    array([2, 0, 1])
    """
    ranks = np.empty(len(weights), dtype=int)
    ranks[np.argsort(-weights, kind="stable")] = np.arange(len(weights))
    return ranks
