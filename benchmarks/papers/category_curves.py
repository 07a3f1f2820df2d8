"""How well do few labelled documents teach categories, from projections on topics? A picture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score
from sklearn.svm import SVC

from benchmarks import reporting

PICTURE = reporting.DOCS / "projection.png"
SIZES = (10, 20, 40, 70, 100, 150, 200)
# Okabe and Ito's palette, which colour-blind readers can tell apart.
COLOURS = ("#999999", "#0072B2", "#009E73", "#D55E00", "#CC79A7", "#E69F00")

Row = dict[str, Any]


def rates(
    projections: list[np.ndarray], classes: np.ndarray, n_train: int, repetitions: int
) -> np.ndarray:
    """Accuracy and balanced accuracy of each repetition, (repetitions, 2), means over categories.

    A support vector machine, scikit-learn's SVC with its defaults, learns from n_train documents,
    half of them of the category, and judges all others. Repetitions draw other documents, the same
    ones for every model, and take turns in the fits of the topics.
    """
    return np.array(
        [
            np.mean(
                [
                    _rate(projections[r % len(projections)], classes == category, n_train, r)
                    for category in np.unique(classes)
                ],
                axis=0,
            )
            for r in range(repetitions)
        ]
    )


def _rate(Z: np.ndarray, positive: np.ndarray, n_train: int, seed: int) -> tuple[float, float]:
    rng = np.random.default_rng((n_train, seed))
    chosen = np.zeros(len(Z), dtype=bool)
    for side in (positive, ~positive):
        chosen[rng.choice(np.flatnonzero(side), n_train // 2, replace=False)] = True
    found = SVC().fit(Z[chosen], positive[chosen]).predict(Z[~chosen])
    true = positive[~chosen]
    return float(np.mean(found == true)), float(balanced_accuracy_score(true, found))


def curve(projections: list[np.ndarray], classes: np.ndarray, repetitions: int) -> Iterator[Row]:
    """One row for each number of training documents; one projection for each fit."""
    for n_train in SIZES:
        accuracy, balanced = rates(projections, classes, n_train, repetitions).T
        yield {
            "training documents": n_train,
            "accuracy": float(accuracy.mean()),
            "sd": float(accuracy.std(ddof=1)),
            "balanced accuracy": float(balanced.mean()),
            "balanced sd": float(balanced.std(ddof=1)),
        }


def draw(rows: list[Row], titles: dict[str, str], path: Path) -> None:
    """One panel for each data set; bars are one standard deviation over the repetitions."""
    from matplotlib import pyplot as plt

    plt.rcParams.update({"font.size": 12, "axes.spines.top": False, "axes.spines.right": False})
    data = list(dict.fromkeys(row["data"] for row in rows))
    names = list(dict.fromkeys(row["model"] for row in rows))
    figure, panels = plt.subplots(
        1, len(data), figsize=(5.2 * len(data), 4.6), layout="constrained", squeeze=False
    )
    for axes, name in zip(panels[0], data, strict=True):
        for number, model in enumerate(names):
            mine = [row for row in rows if (row["data"], row["model"]) == (name, model)]
            x = np.array([row["training documents"] for row in mine])
            y, sd = ([row[key] for row in mine] for key in ("accuracy", "sd"))
            shifted = x * 1.03 ** (number - len(names) / 2)  # so that bars do not cover each other
            axes.errorbar(shifted, y, sd, color=COLOURS[number], lw=2.2, elinewidth=1, label=model)
        axes.set(xscale="log", xlabel="labelled documents, log scale")
        axes.set_xticks(SIZES, [str(size) for size in SIZES])
        axes.minorticks_off()
        axes.set_title(titles[name], loc="left", fontsize=12)
    panels[0][0].set_ylabel("accuracy, mean over categories")
    panels[0][-1].legend(frameon=False, loc="lower right")
    figure.savefig(path, dpi=160)
    plt.close(figure)
