"""Dot plots of results as SVG, in the colours of the page: a row for each method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from statistics import mean, stdev

WIDTH, LETTER, GAP = 790, 7.2, 36  # px: of the figure, of a letter of a name, between panels
ROW, TOP, BOTTOM = 22, 52, 26  # px: of a method, above the rows and below
PEERS = (
    *("LDA", "NMF", "CVB0", "LSA", "tomotopy", "topica", "gensim", "scikit-learn"),
    *("KMeans", "k-means", "Coclust", "logistic", "Bayes"),
    *("squares", "personalised", "similar", "tf-idf"),
)
BASELINES = "unigram", "topic-free", "popular", "nearest", "gather"
KINDS = {"ours": "this library", "peer": "other libraries", "baseline": "baselines"}


def kind_of(method: str) -> str:
    """Whether a method belongs to this library or to another, or is a baseline without topics."""
    if "AspectModel" in method or "AveragedModels" in method:
        return "ours"
    if any(name in method for name in PEERS):
        return "peer"
    return "baseline" if any(name in method for name in BASELINES) else "ours"


def ticks(low: float, high: float) -> list[float]:
    """Two or more round numbers between two others; powers of ten where these are far apart."""
    if is_logarithmic(low, high):
        powers = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
        return [10.0**power for power in powers]
    step = 10.0 ** math.floor(math.log10((high - low) / 2))
    step = next(step * k for k in (10, 5, 2, 1, 0.5) if (high - low) / (step * k) >= 2)
    return [step * k for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def is_logarithmic(low: float, high: float) -> bool:
    """Whether numbers are far apart: a hundredfold."""
    return 0 < 100 * low < high


def dot_plot(panels: dict[str, dict[str, Sequence[float]]], title: str) -> str:
    """Means and standard deviations of each method, in a panel for each title.

    Parameters
    ----------
    panels : dict of dict of lists of float
        The numbers of each method by the title of the panel.
    title : str
        What the figure shows, for readers who do not see it.

    Returns
    -------
    svg : str
    """
    methods = list(dict.fromkeys(method for panel in panels.values() for method in panel))
    left = round(LETTER * max(map(len, methods))) + 14
    width = (WIDTH - left - GAP * (len(panels) - 1)) / len(panels)
    height = TOP + ROW * len(methods) + BOTTOM
    parts = [
        f'<svg class="dots" role="img" viewBox="0 0 {WIDTH} {height}" '
        f'xmlns="http://www.w3.org/2000/svg"><title>{escape(title)}</title>'
    ]
    x = left
    for kind in dict.fromkeys(map(kind_of, methods)):
        parts.append(f'<circle class="{kind}" cx="{x}" cy="9" r="4.5"/>')
        parts.append(f'<text x="{x + 9}" y="13">{KINDS[kind]}</text>')
        x += 130
    rows = {method: TOP + ROW * n + ROW / 2 for n, method in enumerate(methods)}
    for method, y in rows.items():
        parts.append(f'<text x="{left - 14}" y="{y + 4}" text-anchor="end">{escape(method)}</text>')
    for n, (name, panel) in enumerate(panels.items()):
        parts += _panel(name, panel, rows, left + n * (width + GAP), width)
    return "".join([*parts, "</svg>"])


def _panel(
    name: str, panel: dict[str, Sequence[float]], rows: dict[str, float], left: float, width: float
) -> list[str]:
    spans = {
        method: (mean(numbers), stdev(numbers) if len(numbers) > 1 else 0.0)
        for method, numbers in panel.items()
    }
    low = min(middle - spread for middle, spread in spans.values())
    high = max(middle + spread for middle, spread in spans.values())
    scale = math.log if is_logarithmic(low, high) else float
    first, last = scale(low), scale(high)
    margin = (last - first) / 20 or 1.0
    unit = width / (last - first + 2 * margin)

    def place(value: float) -> float:
        return round(left + unit * (scale(value) - first + margin), 1)

    bottom = max(rows.values()) + ROW / 2
    parts = [f'<text class="title" x="{left}" y="{TOP - 12}">{escape(name)}</text>']
    for tick in ticks(low, high) if low < high else [low]:
        at = place(tick)
        parts.append(f'<line x1="{at}" x2="{at}" y1="{TOP - 4}" y2="{bottom}"/>')
        parts.append(f'<text x="{at}" y="{bottom + 17}" text-anchor="middle">{tick:g}</text>')
    for method, (middle, spread) in spans.items():
        kind, y = kind_of(method), rows[method]
        if spread:
            ends = f'x1="{place(middle - spread)}" x2="{place(middle + spread)}"'
            parts.append(f'<line class="{kind}" {ends} y1="{y}" y2="{y}"/>')
        parts.append(f'<circle class="{kind}" cx="{place(middle)}" cy="{y}" r="4.5"/>')
    return parts
