"""Perplexity over the iterations of a fit, over temperatures, or over numbers of components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from skcooc.inspection.unwrapping import unwrap
from skcooc.plotting.axes import bare, logarithmic, sizes_across
from skcooc.plotting.canvas import NEUTRAL, Display, framed_axes, styled, text_width
from skcooc.plotting.curves import Curve, curves_of_search, validated
from skcooc.protocol import FactorModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.typing import ColorType
    from sklearn.model_selection import GridSearchCV

FONT, WIDTH, HEIGHT, LEFT, BELOW, MARGIN = 8.0, 300.0, 200.0, 48.0, 36.0, 10.0  # points
LABELS = {
    "iterations": "iterations",
    "beta": "inverse temperature β",
    "component_prior": "pseudo-count",
    "n_components": "number of components K",
    "n_clusters": "number of clusters K",
}
LOGARITHMIC = 3.0  # ratio of perplexities above which their axis is


class PerplexityDisplay(Display):
    """Perplexity of held-out and, where it is known, of training observations.

    After figures 7 and 8 of the memo and figure 5 of NIPS: how it falls and rises again in the
    course of a fit, how it depends on the inverse temperature and on the number of components. The
    least held-out perplexity of every curve is marked.

    Parameters
    ----------
    curves : sequence of Curve
        Each with ``name``, ``x``, ``perplexity``, ``low``, ``high`` and ``held_out``.
    over : str, default="iterations"
        What x is: "iterations", "beta" or another parameter.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        One for each curve.

    References
    ----------
    T. Hofmann and J. Puzicha, Statistical models for co-occurrence data, AI Memo 1625, MIT, 1998,
    figures 7 and 8.

    T. Hofmann, J. Puzicha and M. I. Jordan, Learning from dyadic data, NIPS 11, 1999, figure 5.

    Examples
    --------
    >>> from skcooc import AspectModel
    >>> from skcooc.datasets import make_cooccurrences
    >>> from skcooc.plotting import PerplexityDisplay
    >>> X = make_cooccurrences(n_rows=60, n_columns=40, n_components=3, random_state=0).X
    >>> display = PerplexityDisplay.from_estimator(AspectModel(3, random_state=0).fit(X))
    >>> display.over, len(display.curves[0].x)
    ('beta', 4)
    """

    def __init__(self, curves: Sequence[Curve], *, over: str = "iterations") -> None:
        self.curves, self.over = curves, over

    @classmethod
    def from_estimator(
        cls, model: FactorModel, over: str | None = None, *,
        name: str | None = None, ax: Axes | None = None,
    ) -> PerplexityDisplay:  # fmt: skip
        """Draw what a fit found on the observations that it held out.

        Parameters
        ----------
        model : fitted estimator
            With ``history_`` or ``tuning_``.
        over : {"iterations", "beta", "component_prior"}, default=None
            Iterations need ``early_stopping=True``, the others ``beta="auto"``. None means
            iterations where they were validated, else beta.
        name : str, default=None
            Name of the curve in a legend. None means the inverse temperature of the fit.
        ax : matplotlib Axes, default=None
            Where to draw, such as ``ax_`` of another display. None means a new figure.

        Returns
        -------
        display : PerplexityDisplay

        Raises
        ------
        ImportError
            Where matplotlib is not installed.
        ValueError
            Where the model held nothing out, or ``over`` is unknown.
        """
        model = unwrap(model, "components_").model
        x, perplexity, over = validated(model, over)
        curve = Curve(name or f"β = {model.beta_:.3g}", x, perplexity)
        return cls([curve], over=over).plot(ax)

    @classmethod
    def from_search(
        cls, search: GridSearchCV, over: str | None = None, *, ax: Axes | None = None
    ) -> PerplexityDisplay:
        """Draw the results of a search: the mean over the folds, and one standard deviation.

        Parameters
        ----------
        search : fitted GridSearchCV or other search
            Of an estimator or a pipeline, or at the end of one. With ``cv_results_``, whose scores
            are those of our estimators; of several, that which ``refit`` names. Training
            perplexity is drawn, with dashes, where ``return_train_score=True``.
        over : str, default=None
            A parameter with numbers. None means beta where it varies, else the first that does.
            The others make a curve for each of their combinations. Names may lack what a pipeline
            puts before them.
        ax : matplotlib Axes, default=None
            Where to draw. None means a new figure.

        Returns
        -------
        display : PerplexityDisplay

        Raises
        ------
        ValueError
            Where no parameter varies, or ``over`` is none of those that do, or not a number; where
            all scores are NaN, or there are several, and ``refit`` names none of them.
        ImportError
            Where matplotlib is not installed.
        """
        curves, over = curves_of_search(search, over)
        return cls(curves, over=over).plot(ax)

    @styled
    def plot(self, ax: Axes | None = None) -> PerplexityDisplay:
        """Draw; see :meth:`from_estimator` and :meth:`from_search`."""
        self.ax_ = _room_for([curve.name for curve in self.curves]) if ax is None else ax
        colours: dict[str, ColorType] = {}
        self.lines_ = [self._draw(curve, colours) for curve in self.curves]
        self._draw_axes()
        self._draw_legend(beside=ax is None)
        return self

    def _draw(self, curve: Curve, colours: dict[str, ColorType]) -> Line2D:
        """A line, with the colour that held-out and training perplexity share."""
        (line,) = self.ax_.plot(
            curve.x, curve.perplexity, linestyle="-" if curve.held_out else "--", linewidth=1.2,
            marker=None if self.over == "iterations" else ".", markersize=4,
            color=colours.get(curve.name), label="_" if curve.name in colours else curve.name,
        )  # fmt: skip
        colour = colours[curve.name] = line.get_color()
        if curve.low is not None and curve.high is not None and curve.held_out:
            self.ax_.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.2, lw=0)
        if curve.held_out:
            at = int(np.argmin(curve.perplexity))
            self.ax_.plot(curve.x[at], curve.perplexity[at], "o", color=colour, ms=5, label="_")
        return line

    def _draw_axes(self) -> None:
        """Labels, and logarithmic scales where sizes or perplexities are far apart."""
        ax = self.ax_
        x = np.concatenate([curve.x for curve in self.curves])
        y = np.concatenate([curve.perplexity for curve in self.curves])
        ax.set_xlabel(LABELS.get(self.over, self.over), fontsize=FONT)
        all_held_out = all(curve.held_out for curve in self.curves)
        ax.set_ylabel("held-out perplexity" if all_held_out else "perplexity", fontsize=FONT)
        if self.over not in ("iterations", "beta"):
            sizes_across(ax, np.unique(x))
        if y.max() > LOGARITHMIC * y.min():
            logarithmic(ax)
        bare(ax, FONT)

    def _draw_legend(self, beside: bool) -> None:
        """The names of several curves, and what dashes are."""
        from matplotlib.lines import Line2D

        handles, names = self.ax_.get_legend_handles_labels()
        if not all(curve.held_out for curve in self.curves):
            handles += [Line2D([], [], color=NEUTRAL, linestyle=line) for line in ("-", "--")]
            names += ["held out", "training"]
        if len(names) > 1:
            place = {"loc": "upper left", "bbox_to_anchor": (1, 1)} if beside else {"loc": "best"}
            self.ax_.legend(handles, names, fontsize=FONT, frameon=False, **place)


def _room_for(names: Sequence[str]) -> Axes:
    """Axes in a new figure, with room for a legend at the right; lengths in points."""
    legend = 0.0
    if len(names) > 1:
        legend = 40 + max(text_width(name, FONT) for name in (*names, "held out"))
    return framed_axes(WIDTH, HEIGHT, LEFT, BELOW, MARGIN + legend, MARGIN)
