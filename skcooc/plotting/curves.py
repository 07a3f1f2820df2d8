"""Curves over iterations, temperatures and numbers of components, of fits and of searches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skcooc.inspection.models import prior_trials, unwrap
from skcooc.plotting.canvas import (
    FONT,
    NEUTRAL,
    Display,
    colours,
    draw_legend,
    fold,
    framed_axes,
    new_panel_figure,
    size_in_points,
    styled,
    text_width,
    topic_colours,
)
from skcooc.protocol import Array, Estimator, FactorModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.typing import ColorType

WIDTH, HEIGHT, LEFT, BELOW, MARGIN = 320.0, 210.0, 52.0, 44.0, 10.0  # points
SELECTION_WIDTH, SELECTION_HEIGHT, LABEL_LENGTH = 500.0, 360.0, 125.0  # points
LEGEND_LINE = 1.7 * FONT  # points: height of a line of a name
IN_LEGEND: dict[str, Any] = {"width": 160.0, "n_lines": 3}  # points: of a name
LABELS = {
    "beta": "inverse temperature β",
    "component_prior": "pseudo-count",
    "n_components": "number of components K",
    "n_clusters": "number of clusters K",
}
SYMBOLS = {"beta": "β", "n_components": "K", "n_clusters": "K"}
NEW_COLUMNS = "perplexity of columns new to the row"  # label of the second panel
LOG_PERPLEXITY = 3.0  # ratio of perplexities above which their axis is logarithmic
MIN_SPAN = 0.005  # of an axis of perplexities, relative: numbers that are alike need many digits
LOG_SIZES = 4.0  # ratio of sizes from which their axis is logarithmic
TICK_RATIO = 1.35  # least ratio of neighbouring ticks


class Curve(NamedTuple):
    """Perplexities that belong together."""

    name: str  # held-out and training perplexity of one name have one colour
    x: Array  # (n,)
    perplexity: Array  # (n,)
    low: Array | None = None  # (n,): one standard deviation of the folds below and above
    high: Array | None = None
    held_out: bool = True  # else of the training matrix: drawn with dashes


class PerplexityDisplay(Display):
    """Held-out perplexity and, where it is known, training perplexity.

    The horizontal axis has the iterations of a fit or the values of a parameter. A dot marks the
    value that a tuned fit has chosen, or else the least held-out perplexity of every curve. After
    figures 7 and 8 of Hofmann & Puzicha (1998) and figure 5 of Hofmann, Puzicha & Jordan (1999).

    Parameters
    ----------
    curves : sequence of Curve
        Each with ``name``, ``x``, ``perplexity``, ``low``, ``high`` and ``held_out``.
    over : str, default="iterations"
        Meaning of x: "iterations", "beta" or another parameter.
    chosen : tuple of two float, default=None
        The x and the perplexity to mark. None marks the least held-out perplexity of every curve.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : list of matplotlib Line2D
        One for each curve.

    Examples
    --------
    >>> from skcooc import AspectModel, datasets, plotting
    >>> X = datasets.make_cooccurrences(n_rows=60, n_columns=40, n_components=3, random_state=0).X
    >>> display = plotting.PerplexityDisplay.from_estimator(AspectModel(3, random_state=0).fit(X))
    >>> display.over, len(display.curves[0].x)
    ('beta', 3)
    """

    def __init__(
        self,
        curves: Sequence[Curve],
        *,
        over: str = "iterations",
        chosen: tuple[float, float] | None = None,
    ) -> None:
        self.curves = curves
        self.over = over
        self.chosen = chosen

    @classmethod
    def from_estimator(
        cls,
        model: Estimator,
        over: str | None = None,
        *,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> PerplexityDisplay:
        """Draw the perplexity of the validation tokens of a fit.

        Over beta there is a curve for each stage of the tuning, as ``tuning_`` names them. If a
        stage tried several values of other parameters at the same beta, the best is drawn. The dot
        marks the trial chosen.

        Parameters
        ----------
        model : fitted estimator
            With ``history_`` or ``tuning_``.
        over : {"iterations", "beta", "component_prior"}, default=None
            Iterations need ``early_stopping=True``, the others ``beta="auto"``. None means
            iterations where they were validated, else beta.
        name : str, default=None
            Name of the fit in a legend, before those of stages. None means the inverse temperature
            of the fit, or the names of the stages alone.
        ax : matplotlib Axes, default=None
            Where to draw, such as ``ax_`` of another display. None means a new figure.

        Raises
        ------
        ValueError
            If the model was not validated, or ``over`` is unknown.
        """
        model = unwrap(model, "components_").model
        stages, over = validated_points(model, over)
        chosen = None
        if over == "beta":
            trial = next(trial for trial in model.tuning_ if trial.chosen)
            chosen = trial.beta, trial.validation.perplexity
            stages[trial.stage][trial.beta] = trial.validation.perplexity
        if len(stages) == 1:
            labels = [name or f"β = {model.beta_:.3g}"]
        else:
            labels = [f"{name}, {stage}" if name else stage for stage in stages]
        curves = []
        for label, perplexities in zip(labels, stages.values(), strict=True):
            x, perplexity = np.array(sorted(perplexities.items()), dtype=float).T
            curves.append(Curve(label, x, perplexity))
        return cls(curves, over=over, chosen=chosen).plot(ax)

    @classmethod
    def from_search(
        cls, search: Estimator, over: str | None = None, *, ax: Axes | None = None
    ) -> PerplexityDisplay:
        """Draw the results of a search: the mean over the folds, and one standard deviation.

        Parameters
        ----------
        search : fitted GridSearchCV or other search
            With ``cv_results_`` whose scores are those of estimators of this package; of several
            scores, the one that ``refit`` names. Training perplexity is drawn, with dashes, if
            ``return_train_score=True``.
        over : str, default=None
            A parameter with numbers. None means beta where it varies, else the first that does.
            There is a curve for each combination of the others. Names may omit the step of a
            pipeline.
        ax : matplotlib Axes, default=None, for a new figure

        Raises
        ------
        ValueError
            If no parameter with numbers varies, or there is no score.
        """
        curves, over = search_curves(search, over)
        return cls(curves, over=over).plot(ax)

    @styled
    def plot(self, ax: Axes | None = None) -> PerplexityDisplay:
        """Draw; see :meth:`from_estimator` and :meth:`from_search`."""
        new = ax is None
        if ax is None:
            names = dict.fromkeys(curve.name for curve in self.curves)
            lines = [line for name in names for line in fold(name, **IN_LEGEND)]
            legend = 0.0
            if len(self.curves) > 1:
                legend = 40 + max(text_width(line, FONT) for line in (*lines, "held out"))
            height = max(HEIGHT, LEGEND_LINE * (len(lines) + 2))
            ax = framed_axes(WIDTH, height, LEFT, BELOW, MARGIN + legend, MARGIN)
        self.ax_ = ax
        colours: dict[str, ColorType] = {}
        self.lines_ = [self._draw(curve, colours) for curve in self.curves]
        self._draw_axes()
        self._draw_legend(beside=new)
        return self

    def _draw(self, curve: Curve, colours: dict[str, ColorType]) -> Line2D:
        """Draw a line, in the colour of earlier curves of the same name."""
        (line,) = self.ax_.plot(
            curve.x,
            curve.perplexity,
            linestyle="-" if curve.held_out else "--",
            linewidth=1.2,
            marker=None if self.over == "iterations" else ".",
            markersize=4,
            color=colours.get(curve.name),
            label="_" if curve.name in colours else curve.name,
        )
        colour = line.get_color()
        colours[curve.name] = colour
        if curve.low is not None and curve.high is not None and curve.held_out:
            self.ax_.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.2, lw=0)
        if curve.held_out:
            points = list(zip(curve.x, curve.perplexity, strict=True))
            mark = self.chosen or points[int(np.argmin(curve.perplexity))]
            if mark in points:
                self.ax_.plot(*mark, "o", color=colour, ms=5, label="_")
        return line

    def _draw_axes(self) -> None:
        from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, ScalarFormatter

        ax = self.ax_
        y = np.concatenate([curve.perplexity for curve in self.curves])
        ends = (y.min() + y.max()) / 2 * (1 + MIN_SPAN * np.array([-0.5, 0.5]))
        ax.update_datalim([(self.curves[0].x[0], end) for end in ends])
        ax.autoscale_view()
        label = fold(LABELS.get(self.over, self.over), size_in_points(ax)[0])
        ax.set_xlabel("\n".join(label), fontsize=FONT, parse_math=False)
        all_held_out = all(curve.held_out for curve in self.curves)
        ax.set_ylabel("held-out perplexity" if all_held_out else "perplexity", fontsize=FONT)
        if self.over == "iterations":
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        elif self.over != "beta":
            scale_sizes(ax, np.unique(np.concatenate([curve.x for curve in self.curves])))
        if y.max() > LOG_PERPLEXITY * y.min():
            ax.set_yscale("log")
            ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            ax.yaxis.set_major_formatter(ScalarFormatter())
            ax.yaxis.set_minor_formatter(NullFormatter())
        remove_box(ax)

    def _draw_legend(self, beside: bool) -> None:
        from matplotlib.lines import Line2D

        handles, labels = self.ax_.get_legend_handles_labels()
        names = ["\n".join(fold(label, **IN_LEGEND)) for label in labels]
        if not all(curve.held_out for curve in self.curves):
            handles += [Line2D([], [], color=NEUTRAL, linestyle=line) for line in ("-", "--")]
            names += ["held out", "training"]
        if len(names) > 1:
            place = {"loc": "upper left", "bbox_to_anchor": (1, 1)} if beside else {"loc": "best"}
            draw_legend(self.ax_, handles, names, frameon=False, **place)


class Measurements(NamedTuple):
    """Results of a search over the number of components K, each (n,)."""

    n_components: Array  # rising
    perplexity: Array  # held out
    error: Array  # relative: a standard error of the difference from the least
    other: Array  # perplexity of columns new to the row; ICL of a hard clustering
    other_error: Array
    n_distinct: Array
    half_agreement: Array
    seed_agreement: Array
    coherence: Array


class KSelectionDisplay(Display):
    """Held-out perplexity, distinct components, agreement and coherence over their number.

    Perplexity is that with a cache of each row if the search was judged by it. Bands are one
    standard error of the difference from the best candidate in the same rows. A vertical line
    is the number chosen, dashed if the perplexity still falls at the largest one.

    Parameters
    ----------
    measured : Measurements
        Arrays over the candidates.
    chosen : int
        Number of components chosen.
    still_falling : bool, default=False
        Whether the perplexity still falls at the largest candidate.
    other : str, default="perplexity of columns new to the row"
        Label of ``measured.other``.
    perplexity : str, default="held-out perplexity"
        Label of ``measured.perplexity``.

    Attributes
    ----------
    axes_ : (2, 2) array of matplotlib Axes
    ax_, figure_ : the first Axes and the matplotlib Figure

    Examples
    --------
    >>> from skcooc import AspectModel
    >>> from skcooc.datasets import make_cooccurrences
    >>> from skcooc.model_selection import ComponentSearchCV
    >>> from skcooc.plotting import KSelectionDisplay
    >>> X = make_cooccurrences(100, 60, n_components=3, random_state=0).X
    >>> search = ComponentSearchCV(AspectModel(), [2, 3, 4], cv=3, random_state=0).fit(X)
    >>> display = KSelectionDisplay.from_search(search)
    >>> display.chosen, display.axes_.shape
    (3, (2, 2))
    """

    def __init__(
        self,
        measured: Measurements,
        chosen: int,
        still_falling: bool = False,
        *,
        other: str = NEW_COLUMNS,
        perplexity: str = "held-out perplexity",
    ) -> None:
        self.measured = measured
        self.chosen = chosen
        self.still_falling = still_falling
        self.other = other
        self.perplexity = perplexity

    @classmethod
    def from_estimator(cls, model: Estimator, *, ax: Axes | None = None) -> KSelectionDisplay:
        """Draw the search inside of a fit with an "auto" number of components.

        Parameters
        ----------
        model : fitted estimator, or a pipeline with one inside
            With ``component_search_``, over one number of components.
        ax : matplotlib Axes, default=None, for a new figure
            Of ``subplots`` or ``add_subplot``; the panels take its place.
        """
        return cls.from_search(unwrap(model, "component_search_").model.component_search_, ax=ax)

    @classmethod
    def from_search(cls, search: Estimator, *, ax: Axes | None = None) -> KSelectionDisplay:
        """Draw the results of a search for the number of components.

        Parameters
        ----------
        search : fitted ComponentSearchCV
            Over one number of components.
        ax : matplotlib Axes, default=None, for a new figure
            As for :meth:`from_estimator`.
        """
        search = unwrap(search, "best_n_components_", "still_falling_").model
        results = search.cv_results_
        if len(search.best_params_) > 1:
            raise ValueError(
                "KSelectionDisplay draws one parameter, not a search over "
                f"{' and '.join(search.best_params_)}."
            )
        (name,) = search.best_params_
        n = np.asarray(results[f"param_{name}"], dtype=int)
        order = np.argsort(n)
        hard = "icl" in results
        score = "test" if search.criterion_ in ("held_out", "icl") else search.criterion_
        perplexity = np.exp(-results[f"mean_{score}_score"])
        unseen = np.exp(-results["mean_unseen_score"])
        measured = Measurements(
            n_components=n,
            perplexity=perplexity,
            error=results[f"error_{score}_score"] * perplexity,
            other=results["icl"] if hard else unseen,
            other_error=0 * unseen if hard else results["error_unseen_score"] * unseen,
            n_distinct=results["n_distinct"],
            half_agreement=results["half_agreement"],
            seed_agreement=results["seed_agreement"],
            coherence=results["coherence"],
        )
        measured = Measurements(*(values[order] for values in measured))
        other = "integrated likelihood (ICL), nats" if hard else NEW_COLUMNS
        labels = {"cache": "held-out perplexity with cache", "unseen": NEW_COLUMNS}
        display = cls(
            measured,
            search.best_n_components_,
            search.still_falling_,
            other=other,
            perplexity=labels.get(score, "held-out perplexity"),
        )
        return display.plot(ax)

    @styled
    def plot(self, ax: Axes | None = None) -> KSelectionDisplay:
        """Draw; see :meth:`from_search`."""
        from matplotlib.ticker import MaxNLocator

        figure = new_panel_figure(SELECTION_WIDTH, SELECTION_HEIGHT, ax)
        self.axes_ = figure.subplots(2, 2, sharex=True)
        perplexity, other, distinct, agreement = self.axes_.flat
        self.ax_ = perplexity
        measured = self.measured
        n = measured.n_components
        style: dict[str, Any] = {"color": colours()[0], "linewidth": 1.2, "markersize": 4}
        bands = (
            (perplexity, measured.perplexity, measured.error, self.perplexity),
            (other, measured.other, measured.other_error, self.other),
        )
        for panel, values, errors, label in bands:
            panel.set_ylabel("\n".join(fold(label, LABEL_LENGTH)), fontsize=FONT)
            panel.plot(n, values, ".-", **style)
            panel.fill_between(
                n, values - errors, values + errors, color=style["color"], alpha=0.25, lw=0
            )
        distinct.plot(n, n, color=NEUTRAL, linewidth=0.8)
        distinct.plot(n, measured.n_distinct, ".-", **style)
        distinct.yaxis.set_major_locator(MaxNLocator(integer=True))
        distinct.set_ylabel("distinct components", fontsize=FONT)
        place = {"textcoords": "offset points", "ha": "right", "va": "center", "fontsize": FONT}
        distinct.annotate("all", (n[-1], n[-1]), (-4, 0), **place)
        self._draw_agreement(agreement)
        line = {"linestyle": "--" if self.still_falling else "-", "color": topic_colours([1])[0]}
        for panel in self.axes_.flat:
            panel.axvline(self.chosen, linewidth=0.9, zorder=0, **line)
            scale_sizes(panel, measured.n_components)
            remove_box(panel)
        for panel in self.axes_[-1]:
            panel.set_xlabel("number of components K", fontsize=FONT)
        title = f"Chosen: {self.chosen}"
        if self.still_falling:
            title = f"Still falling at {self.chosen}: try larger numbers"
        figure.suptitle(title, fontsize=FONT + 1)
        return self

    def _draw_agreement(self, ax: Axes) -> None:
        lines = {
            "halves": self.measured.half_agreement,
            "starts": self.measured.seed_agreement,
            "coherence (NPMI)": self.measured.coherence,
        }
        n = self.measured.n_components
        for name, values in lines.items():  # without a label where nothing was measured
            label = None if np.isnan(values).all() else name
            ax.plot(n, values, ".-", linewidth=1.2, markersize=4, label=label)
        ax.set_ylim(min(0, np.nanmin(self.measured.coherence)) - 0.02, 1.05)
        ax.set_ylabel("agreement, coherence", fontsize=FONT)
        ax.legend(fontsize=FONT, frameon=False)


def remove_box(ax: Axes) -> None:
    ax.tick_params(labelsize=FONT)
    ax.spines[["top", "right"]].set_visible(False)


def scale_sizes(ax: Axes, sizes: Array) -> None:
    """Make the horizontal axis logarithmic if the largest of rising sizes is a multiple."""
    if sizes[-1] >= LOG_SIZES * sizes[0] > 0:
        ax.set_xscale("log")
        ticks = spaced_ticks(sizes.tolist())
        ax.set_xticks(ticks, [f"{tick:.2g}" if tick < 100 else f"{tick:.0f}" for tick in ticks])
        ax.minorticks_off()


def spaced_ticks(sizes: Sequence[float]) -> list[float]:
    """Rising sizes without those too close to the one before.

    >>> spaced_ticks([2, 3, 5, 6, 7, 8])
    [2, 3, 5, 7]
    """
    ticks = [sizes[0]]
    for size in sizes[1:]:
        if size >= TICK_RATIO * ticks[-1]:
            ticks.append(size)
    return ticks


def validated_points(
    model: FactorModel, over: str | None
) -> tuple[dict[str, dict[float, float]], str]:
    """Perplexities by the values that a fit validated, for each stage, and the name of the values.

    Only beta was validated in several stages. Of equal values in a stage, the best counts.
    """
    trials = getattr(model, "tuning_", [])
    records = [r for r in getattr(model, "history_", []) if r.stage == "fit"]
    iterations = enumerate((record.validation_perplexity for record in records), 1)
    options: dict[str, list[tuple[str, float, float]]] = {
        "iterations": [("", i, value) for i, value in iterations if np.isfinite(value)],
        "beta": [(trial.stage, trial.beta, trial.validation.perplexity) for trial in trials],
        "component_prior": [("", t.prior, t.validation.perplexity) for t in prior_trials(trials)],
    }
    validated = [name for name, points in options.items() if points]
    if over is None and validated:
        over = validated[0]
    if over not in validated:
        raise ValueError(
            f"There is nothing to draw{'' if over is None else f' over {over}'}: the model "
            f"validated {', '.join(validated) or 'nothing'}. Fit it with early_stopping=True for "
            "iterations, with beta='auto' for beta, which also tunes component_prior if data are "
            "sparse."
        )
    stages: dict[str, dict[float, float]] = {}
    for stage, value, perplexity in options[over]:
        points = stages.setdefault(stage, {})
        points[value] = min(perplexity, points.get(value, np.inf))
    return stages, over


def search_curves(search: Estimator, over: str | None) -> tuple[list[Curve], str]:
    """A curve for each combination of other parameters, and the parameter they are over."""
    search = unwrap(search, "cv_results_").model
    results = search.cv_results_
    params = [_without_steps(candidate) for candidate in results["params"]]
    keys = dict.fromkeys(chain.from_iterable(params))  # grids of a list may have different ones
    values = {key: {repr(candidate.get(key)) for candidate in params} for key in keys}
    varying = [key for key, distinct in values.items() if len(distinct) > 1]
    if over is None:
        over = "beta" if "beta" in varying else next(iter(varying), "beta")
    if over not in varying:
        raise ValueError(f"over={over!r} does not vary in this search; {varying} do.")
    x = [candidate.get(over) for candidate in params]
    if not all(isinstance(value, (int, float, np.number)) for value in x):
        raise ValueError(f"over={over!r} has values that are not numbers: {x}.")
    varying.remove(over)
    names = [
        ", ".join(f"{SYMBOLS.get(key, key)} = {candidate.get(key, 'default')}" for key in varying)
        or "mean"
        for candidate in params
    ]
    score = "score" if "mean_test_score" in results else str(search.refit)
    if f"mean_test_{score}" not in results:
        raise ValueError(f"The search has several scores; refit={search.refit!r} should name one.")
    curves = list(_curves(np.array(x, dtype=float), names, results, score))
    if not curves:
        raise ValueError(
            "There is nothing to draw: no candidate of the search has a score. Did all fits fail?"
        )
    return curves, over


def _without_steps(params: Mapping[str, object]) -> Mapping[str, object]:
    """Parameters without the names of the steps of a pipeline, if they stay different."""
    short = {name.rsplit("__", 1)[-1]: value for name, value in params.items()}
    return short if len(short) == len(params) else params


def _curves(
    x: Array, names: Sequence[str], results: Mapping[str, Array], score: str
) -> Iterator[Curve]:
    """Held-out and training curves of a search, over the candidates that have a score."""
    for name in dict.fromkeys(names):
        # Successive halving fits a candidate several times: the last one counts.
        last = {x[i]: i for i, candidate in enumerate(names) if candidate == name}
        order = np.array([last[value] for value in sorted(last)])
        for part in ("test", "train"):
            if f"mean_{part}_{score}" not in results:
                continue
            means = np.asarray(results[f"mean_{part}_{score}"], float)
            finite = order[np.isfinite(means[order])]
            if len(finite):
                mean = means[finite]
                sd = np.asarray(results[f"std_{part}_{score}"], float)[finite]
                low = np.exp(-mean - sd)
                high = np.exp(-mean + sd)
                yield Curve(name, x[finite], np.exp(-mean), low, high, part == "test")
