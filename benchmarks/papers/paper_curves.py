"""The papers' curves: perplexity over the iterations of EM, at several temperatures.

Figures 7 and 8 of the memo and figure 5 of NIPS. One split of the tokens, a tenth for testing;
plain EM, in fixed numbers of iterations, all smoothed with the same .001 of the unigram. Nothing is
chosen. Temperatures, K and numbers of iterations are ours: the papers name none but beta = 1. The
aspect model makes the first eight iterations at beta = 1, whatever beta is.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed

from benchmarks import corpora
from benchmarks.papers.paper_tables import FAMILIES, summary
from benchmarks.quality import tuned
from benchmarks.quality.perplexity_curves import HeldOutCurve
from skcooc import AspectModel
from skcooc.datasets import make_cooccurrences
from skcooc.metrics import perplexity, unigram
from skcooc.model_selection import split_counts
from skcooc.plotting import PerplexityDisplay
from skcooc.plotting.curves import Curve

SMOOTHING = 1e-3
DPI = 90

Row = dict[str, Any]


class Panel(NamedTuple):
    """Fits that differ in their temperature alone."""

    title: str
    data: str
    model: str
    betas: tuple[float, ...]
    training: bool = True  # whether the picture has the curves of the training observations


ASPECTS = (1.0, 0.9, 0.8, 0.7)
PREDICTIVE = "AspectModel, predictive"
MODELS: dict[str, Callable[..., Any]] = {
    **{name: family.make for name, family in FAMILIES.items()},
    PREDICTIVE: lambda K, **rest: AspectModel(K, leave_one_out=True, **rest),
}
FIGURES = {
    "papers_fig7": (
        Panel("aspect model", "cranfield", "AspectModel", ASPECTS),
        Panel("asymmetric clustering", "cranfield", "AsymmetricClustering", (1.0, 0.3, 0.15, 0.07)),
        Panel("cluster abstraction", "cranfield", "ClusterAbstraction", (1.0, 0.3, 0.15, 0.07)),
        Panel("symmetric clustering", "cranfield", "SymmetricClustering", (1.0, 0.6, 0.4, 0.25)),
    ),
    "papers_fig8": (
        Panel("standard EM", "cranfield", "AspectModel", ASPECTS),
        Panel("predictive EM", "cranfield", PREDICTIVE, ASPECTS),
    ),
    "papers_nips_fig5": (
        Panel("aspect model, Cranfield", "cranfield", "AspectModel", ASPECTS, False),
        Panel("aspect model, Bible", "bible", "AspectModel", (1.0, 0.9, 0.8, 0.7), False),
        Panel("clusters, Bible", "bible", "AsymmetricClustering", (1.0, 0.3, 0.1, 0.05), False),
    ),
}
COLLECTIONS = {"cranfield": corpora.cranfield, "bible": corpora.bible}


def measured(options: argparse.Namespace) -> Iterator[Row]:
    """A row for each curve; those that two figures share are measured once."""
    panels = {panel[1:4]: panel for figure in FIGURES.values() for panel in figure}
    splits = {
        data: _split(data, options.quick) for data in {panel.data for panel in panels.values()}
    }
    fits = (
        delayed(curves)(panel, beta, options.curve_components, options.max_iter, splits[panel.data])
        for panel in panels.values()
        for beta in panel.betas
    )
    yield from Parallel(options.jobs, return_as="generator_unordered")(fits)


def _split(data: str, quick: bool) -> Any:
    X = make_cooccurrences(60, 40, random_state=0).X if quick else COLLECTIONS[data]().X
    return split_counts(X.astype(np.float32), 0.1, random_state=0)


def curves(panel: Panel, beta: float, K: int, max_iter: int, split: Sequence[sp.csr_array]) -> Row:
    """Perplexity of training and test observations after each iteration of a fit."""
    tuned.silence()
    b = unigram(split[0])

    def callback(X: sp.csr_array) -> HeldOutCurve:
        return HeldOutCurve(lambda Z, B: perplexity(X, Z, B, background=b, smoothing=SMOOTHING))

    parts = {name: callback(X) for name, X in zip(("training", "test"), split, strict=True)}
    rest = {"max_iter": max_iter, "tol": 0.0, "solver": 1.0, "random_state": 0}
    model = MODELS[panel.model](K).set_params(beta=beta, **rest)
    model.set_callbacks(*parts.values()).fit(split[0])
    return {
        "data": panel.data,
        "model": panel.model,
        "beta": beta,
        **{name: [value for _, value in part.curve] for name, part in parts.items()},
    }


def of_panel(panel: Panel, rows: Sequence[Row]) -> list[Row]:
    """The rows that a panel shows, by falling beta."""
    mine = [row for row in rows if (row["data"], row["model"]) == (panel.data, panel.model)]
    return sorted((row for row in mine if row["beta"] in panel.betas), key=lambda row: -row["beta"])


def draw_curves(rows: Sequence[Row], folder: Path) -> None:
    """The pictures: one for each figure of the papers."""
    from matplotlib import pyplot as plt

    for name, panels in FIGURES.items():
        n_columns = 2 if len(panels) % 2 == 0 else len(panels)
        shape = len(panels) // n_columns, n_columns
        size = (10, 3.9 * shape[0]) if n_columns == 2 else (12, 3.6)
        figure, grid = plt.subplots(*shape, figsize=size, layout="constrained", squeeze=False)
        for panel, ax in zip(panels, grid.flat, strict=True):
            PerplexityDisplay(list(_drawn(panel, rows))).plot(ax)
            legend = ax.get_legend()  # beside: some panels have no empty corner
            legend.set_loc("upper left")
            legend.set_bbox_to_anchor((1, 1), ax.transAxes)
            ax.set_title(panel.title, loc="left", fontsize=10)
        figure.savefig(folder / f"{name}.png", dpi=DPI)
        plt.close(figure)


def _drawn(panel: Panel, rows: Sequence[Row]) -> Iterator[Curve]:
    parts = ("test", "training") if panel.training else ("test",)
    for row in of_panel(panel, rows):
        for part in parts:
            y = np.array(row[part])
            yield Curve(
                f"β = {row['beta']:g}", np.arange(1, len(y) + 1), y, held_out=part == "test"
            )


def draw_table(rows: Sequence[Row], data: str, path: Path) -> None:
    """Perplexity over K: ours with one standard deviation, and the memo's as crosses."""
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    lines = summary(rows, data)
    names = [name for name in FAMILIES if any(line["model"] == name for line in lines)]
    groups = {name: [line for line in lines if line["model"] == name] for name in names}
    display = PerplexityDisplay(
        [_over_K(name, groups[name]) for name in names], over="n_components"
    )
    display.plot(ax)
    by_memo_name = {FAMILIES[name].memo: name for name in reversed(names)}
    for line, (name, group) in zip(display.lines_, groups.items(), strict=True):
        if name not in by_memo_name.values():
            continue  # the memo has one figure for two variants of ours
        known = [row for row in group if "memo" in row]
        crosses = [row["K"] for row in known], [row["memo"] for row in known]
        ax.plot(*crosses, "x", color=line.get_color(), label="_")
    figure.savefig(path, dpi=DPI)
    plt.close(figure)


def _over_K(name: str, group: Sequence[Row]) -> Curve:
    K, y, sd = np.array([[row[key] for key in ("K", "perplexity", "sd")] for row in group]).T
    return Curve(name, K, y, y - sd, y + sd)
