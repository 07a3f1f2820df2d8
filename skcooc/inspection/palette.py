"""Colours of topics: the same in displays and on the page of `explore`."""

from __future__ import annotations

import numpy as np

from skcooc.protocol import Array

# Chosen by search: the first twelve colours, and then all, are far apart in CIELAB also for
# protanopes and deuteranopes (Machado, Oliveira and Fernandes, 2009). Their contrast to the
# background is at least 3 for the first twelve, and 2 for the others.
# fmt: off
LIGHT = (
    "#0072b2", "#d55e00", "#3daa31", "#9e1892", "#249eb6", "#db6d79",
    "#924900", "#3155ce", "#187949", "#c2243d", "#1892ff", "#86496d",
    "#0f00ff", "#0f0fb4", "#690f0f", "#d2a578", "#c3a5ff", "#a5c300",
    "#5a0f5a", "#962dff", "#003c3c", "#4b0f87", "#87c3a5", "#ff965a",
)
DARK = (
    "#00a3ff", "#ff991f", "#85f57a", "#ad52c2", "#85ebff", "#eb8585",
    "#cc5214", "#2970f5", "#85ebc2", "#e03347", "#99a3d6", "#eb298f",
    "#5a1eff", "#fff000", "#9600c3", "#1e874b", "#874b5a", "#c3a54b",
    "#fff0b4", "#c3f05a", "#874b1e", "#e1a5c3", "#3c7887", "#b4c378",
)
# fmt: on
# Shares of ink in a colour, or of paper if negative, on light and on dark backgrounds; with these
# all 72 colours are furthest apart.
SHADES = (0.0, 0.55, -0.2), (0.0, 0.5, -0.3)

N_COLORS = len(LIGHT) * len(SHADES[0])


def topic_colors(n_topics: int, dark: bool = False) -> list[str]:
    """Colours of n_topics topics by rank, as "#rrggbb": 24 of them, then their shades.

    Those of light backgrounds can be seen on dark ones, too. After 72 topics colours repeat.

    >>> topic_colors(3)
    ['#0072b2', '#d55e00', '#3daa31']
    """
    hues, ink, paper = (DARK, 255, 24) if dark else (LIGHT, 0, 255)

    def shaded(rank: int) -> str:
        hue = hues[rank % len(hues)]
        share = SHADES[dark][rank % N_COLORS // len(hues)]
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
