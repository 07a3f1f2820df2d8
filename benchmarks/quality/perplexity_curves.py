"""How does the perplexity of held-out observations change over the iterations of EM? A picture.

Cranfield (or the docstrings of NumPy, SciPy and scikit-learn), one split of the observations:
untempered pLSA, AspectModel with its temperature tuned automatically, and scikit-learn's LDA after
each number of iterations, its priors tuned on a validation part. These are smoothed with the same
.001 of the unigram. The iterations of the temperature search come before the first iteration shown;
they are counted beside the curve. Horizontal lines need no iterations: the unigram; the
within-document cache without topics; and the two models with that cache, whose parameters, and
theirs, are chosen on the validation part.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks import corpora, reporting
from benchmarks.quality import methods, peers, tuned
from benchmarks.quality.counting import CountingAspectModel
from benchmarks.quality.heldout import TEST, thinned
from skcooc.datasets import load_docstrings
from skcooc.metrics import perplexity

SMOOTHING = 1e-3
PICTURE = reporting.DOCS / "perplexity.png"
# Okabe and Ito's palette, which colour-blind readers can tell apart.
VERMILION, BLUE, GREEN, GREY = "#D55E00", "#0072B2", "#009E73", "#666666"

# What is drawn level: whose perplexity, which, and its label.
LINES = (
    ("no topics", "alone", "unigram", GREY),
    ("no topics", "with memory", "no topics, with memory", GREY),
    ("lda", "with memory", "LDA with memory", GREEN),
    ("auto", "with memory", "AspectModel with memory", BLUE),
)

Curve = list[tuple[int, float]]  # iteration, perplexity


class HeldOutCurve:
    """A scikit-learn callback that scores the model on test observations after every iteration."""

    def __init__(self, score: Callable[[Any, Any], float]) -> None:
        self.score = score
        self.curve: Curve = []

    def setup(self, estimator: Any, context: Any) -> None:
        """Nothing to prepare."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing to close."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Nothing to note."""

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any = None
    ) -> bool:
        """Score the estimator as it would be if EM had stopped here."""
        if context.task_name == "iteration":
            value = self.score(fitted_estimator.embedding_, fitted_estimator.components_)
            self.curve.append((len(self.curve) + 1, value))
        return False


def docstrings() -> sp.csr_array:
    """Words of the docstrings, in at least five of them."""
    vectorizer = CountVectorizer(stop_words="english", min_df=5, token_pattern=r"[a-zA-Z]{3,}")
    return sp.csr_array(vectorizer.fit_transform(load_docstrings().data))


DATA: dict[str, tuple[str, Callable[[], Any]]] = {
    "cranfield": ("Cranfield abstracts", lambda: corpora.cranfield().X),
    "docstrings": ("docstrings of NumPy, SciPy and scikit-learn", docstrings),
}


METHODS = {
    "no topics": methods.without_topics,
    "auto": methods.aspect_model,
    "lda": methods.variational_lda,
}


def aspect_curve(
    X: Any, score: Callable[[Any, Any], float], beta: Any, options: argparse.Namespace
) -> dict[str, Any]:
    """Perplexity after each iteration, the temperature, and the iterations that found it."""
    callback = HeldOutCurve(score)
    model = CountingAspectModel(
        options.components, beta=beta, max_iter=options.max_iter, tol=0.0, random_state=0
    )
    model.set_callbacks(callback).fit(X)
    search = len(model.betas) - model.n_iter_
    return {"curve": callback.curve, "beta": model.beta_, "search iterations": search}


def lda_curve(
    X: Any,
    score: Callable[[Any, Any], float],
    settings: dict[str, Any],
    options: argparse.Namespace,
) -> Curve:
    """One fit for each number of iterations, with the priors that validation prefers."""
    K, curve = options.components, []
    for n_iter in _about_evenly_on_a_log_axis(options.max_iter):
        priors = settings["alpha"] / K, settings["eta"]
        factors = peers.variational_lda(X, K, *priors, n_iter, options.jobs, 0)
        curve.append((n_iter, score(*factors)))
        reporting.progress("LDA", n_iter, curve[-1][1])
    return curve


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """All curves and lines, on one split."""
    X = DATA[options.data][1]().astype(np.float32)
    train, test = thinned(sp.csr_array(X), TEST, 0)
    split = tuned.divide(train, 0)
    effort = (tuned.quick if options.quick else tuned.Effort)(options.components, options.jobs)

    def score(mixtures: Any, components: Any) -> float:
        given = {"background": split.background, "smoothing": SMOOTHING}
        return perplexity(test, mixtures, components, **given)

    results: dict[str, Any] = {"data": options.data, "K": options.components}
    results["quick"] = options.quick
    for name, beta in (("untempered", 1.0), ("auto", "auto")):
        results[name] = aspect_curve(train, score, beta, options)
        reporting.progress(name, results[name]["curve"][-1])
    fits = {name: METHODS[name](split, effort, 0) for name in METHODS}
    results["lines"] = {name: tuned.scores(split, test, fit) for name, fit in fits.items()}
    results["lda"] = {"settings": fits["lda"].settings}
    results["lda"]["curve"] = lda_curve(train, score, fits["lda"].settings, options)
    return results


def draw(results: dict[str, Any], path: Path) -> None:
    """The picture: every curve and line has its label on the right."""
    from matplotlib import pyplot as plt

    tuning = "not tuned" if results["quick"] else "tuned"
    curves = [
        ("untempered", "pLSA, untempered", VERMILION, 2.2),
        ("lda", f"scikit-learn LDA, priors {tuning}", GREEN, 2.2),
        ("auto", f"AspectModel, it found β = {results['auto']['beta']:.2f}", BLUE, 3.2),
    ]
    plt.rcParams.update({"font.size": 13, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(figsize=(9.2, 5.4), layout="constrained")
    ends = []
    for key, label, colour, width in curves:
        x, y = zip(*results[key]["curve"], strict=True)
        marker = "o" if key == "lda" else ""  # a fit of its own at each of these points
        axes.plot(x, y, color=colour, lw=width, marker=marker, ms=4.5, clip_on=False)
        ends.append((y[-1], label, colour))
    for key, score, label, colour in LINES:
        ends.append((results["lines"][key][score], label, colour))
        axes.axhline(ends[-1][0], color=colour, lw=1.4, ls=(0, (4, 3)))
    _frame(axes, results)
    _label(axes, ends)
    figure.savefig(path, dpi=200)
    plt.close(figure)


def _label(axes: Any, ends: list[tuple[float, str, str]]) -> None:
    """Write labels beside the ends, the upper one higher where two would be on one another."""
    (_, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    options = {"xytext": (8, 0), "textcoords": "offset points", "annotation_clip": False}
    free = low
    for y, text, colour in sorted(ends):
        at = max(y, free)
        axes.annotate(text, (right, at), color=colour, va="center", **options)
        free = at + 0.047 * (high - low)


def _frame(axes: Any, results: dict[str, Any]) -> None:
    n_last = results["auto"]["curve"][-1][0]
    search = f"AspectModel's search: {results['auto']['search iterations']} before"
    axes.set(xscale="log", xlim=(1, n_last), xlabel=f"iterations, log scale ({search})")
    ticks = [n for n in (1, 3, 10, 30, 100, 300, 1000) if n <= n_last]
    axes.set_xticks(ticks, [str(n) for n in ticks])
    axes.minorticks_off()
    lowest = min(line["with memory"] for line in results["lines"].values())
    axes.set_ylim(50 * (lowest // 50 - 0.2), None)
    axes.tick_params(length=3, color=GREY)
    title = f"Perplexity of held-out words, {DATA[results['data']][0]}, K = {results['K']}"
    axes.set_title(title, loc="left", fontsize=13)


def _about_evenly_on_a_log_axis(last: int) -> list[int]:
    points = [1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300]
    return [*(n for n in points if n < last), last]


def main() -> None:
    tuned.silence()
    parser = reporting.options(str(__doc__))
    parser.add_argument("--data", choices=DATA, default="cranfield")
    parser.add_argument("--components", type=int, default=64)
    parser.add_argument("--max-iter", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2, help="processes of scikit-learn's LDA")
    parser.add_argument("--quick", action="store_true", help="LDA's priors are hardly tuned")
    parser.add_argument("--picture", type=Path, default=PICTURE)
    parser.add_argument("--redraw", type=Path, help="JSON of an earlier run, measured no more")
    options = parser.parse_args()
    results = json.loads(options.redraw.read_text()) if options.redraw else measure(options)
    reporting.save(options.output, results)
    draw(results, options.picture)


if __name__ == "__main__":
    main()
