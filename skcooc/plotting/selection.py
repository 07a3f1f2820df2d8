"""How many components: all that a search has measured, in one picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skcooc.inspection.unwrapping import unwrap
from skcooc.plotting.axes import bare, sizes_across
from skcooc.plotting.canvas import NEUTRAL, POINTS, Display, colours, styled
from skcooc.protocol import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from sklearn.model_selection._search import BaseSearchCV

FONT, WIDTH, HEIGHT = 8.0, 460.0, 340.0  # points
FALLING = "Still falling at {n}: these data name no number"
FOUND = "Chosen: {n}"


class Measured(NamedTuple):
    """Lines over the number of components K, each (n,)."""

    n_components: Array  # rising
    perplexity: Array  # held out
    error: Array  # relative: a standard error of the difference from the least
    other: Array  # perplexity on unseen cells; ICL of a hard clustering
    other_error: Array
    n_distinct: Array
    half_agreement: Array
    seed_agreement: Array
    coherence: Array


class KSelectionDisplay(Display):
    """The held-out perplexity, distinct components, agreement and coherence over their number.

    Bands are one standard error of the difference from the best candidate on the same folds. A
    vertical line is the number chosen; where the curve is still falling the picture says so, and
    the line is dashed.

    Parameters
    ----------
    measured : Measured
        Arrays over the candidates.
    chosen : int
        Number of components chosen.
    still_falling : bool, default=False
        Whether the largest candidate was taken for want of an end.
    other : str, default="perplexity on unseen cells"
        What ``measured.other`` is.

    Attributes
    ----------
    axes_ : (2, 2) array of matplotlib Axes
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure

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
        measured: Measured,
        chosen: int,
        still_falling: bool = False,
        *,
        other: str = "perplexity on unseen cells",
    ) -> None:
        self.measured, self.chosen = measured, chosen
        self.still_falling, self.other = still_falling, other

    @classmethod
    def from_search(cls, search: BaseSearchCV) -> KSelectionDisplay:
        """Draw what a search for the number of components has measured.

        Parameters
        ----------
        search : fitted ComponentSearchCV

        Returns
        -------
        display : KSelectionDisplay

        Raises
        ------
        ValueError
            Where the search was for pairs of numbers.
        ImportError
            Where matplotlib is not installed.
        """
        search = unwrap(search, "best_n_components_", "still_falling_").model
        results = search.cv_results_
        if len(search.best_params_) > 1:
            raise ValueError("KSelectionDisplay draws one number, and the search was for pairs.")
        (name,) = search.best_params_
        n = np.asarray(results[f"param_{name}"], dtype=int)
        order = np.argsort(n)
        hard = "icl" in results
        perplexity, unseen = (np.exp(-results[f"mean_{of}_score"]) for of in ("test", "unseen"))
        measured = Measured(
            n,
            perplexity,
            results["error_test_score"] * perplexity,
            results["icl"] if hard else unseen,
            0 * unseen if hard else results["error_unseen_score"] * unseen,
            *(results[of] for of in Measured._fields[5:]),
        )
        measured = Measured(*(values[order] for values in measured))
        other = "integrated likelihood (ICL), nats" if hard else "perplexity on unseen cells"
        return cls(measured, search.best_n_components_, search.still_falling_, other=other).plot()

    @styled
    def plot(self) -> KSelectionDisplay:
        """Draw; see :meth:`from_search`."""
        import matplotlib.pyplot as plt

        size = WIDTH / POINTS, HEIGHT / POINTS
        figure, self.axes_ = plt.subplots(
            2, 2, figsize=size, sharex=True, layout="constrained", squeeze=False
        )
        self.ax_ = self.axes_[0, 0]
        drawings: list[Callable[[Axes], None]] = [
            self._draw_perplexity, self._draw_other, self._draw_distinct, self._draw_agreement
        ]  # fmt: skip
        for ax, draw in zip(self.axes_.flat, drawings, strict=True):
            draw(ax)
            self._mark(ax)
        text = FALLING if self.still_falling else FOUND
        figure.suptitle(text.format(n=self.chosen), fontsize=FONT + 1)
        return self

    def _draw_perplexity(self, ax: Axes) -> None:
        self._band(ax, self.measured.perplexity, self.measured.error)
        ax.set_ylabel("held-out perplexity", fontsize=FONT)

    def _draw_other(self, ax: Axes) -> None:
        self._band(ax, self.measured.other, self.measured.other_error)
        ax.set_ylabel(self.other, fontsize=FONT)

    def _draw_distinct(self, ax: Axes) -> None:
        from matplotlib.ticker import MaxNLocator

        n = self.measured.n_components
        ax.plot(n, n, color=NEUTRAL, linewidth=0.8, label="all")
        ax.plot(n, self.measured.n_distinct, ".-", color=colours()[0], linewidth=1.2, markersize=4)
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_ylabel("distinct components", fontsize=FONT)
        ax.annotate("all", (n[-1], n[-1]), (-4, 0), textcoords="offset points", ha="right",
                    va="center", fontsize=FONT - 1)  # fmt: skip

    def _draw_agreement(self, ax: Axes) -> None:
        lines = {
            "halves": self.measured.half_agreement,
            "starts": self.measured.seed_agreement,
            "coherence (NPMI)": self.measured.coherence,
        }
        for name, values in lines.items():
            ax.plot(self.measured.n_components, values, ".-", linewidth=1.2, markersize=4,
                    label=name)  # fmt: skip
        ax.set_ylim(min(0, np.nanmin(self.measured.coherence)) - 0.02, 1.05)
        ax.set_ylabel("agreement, coherence", fontsize=FONT)
        ax.legend(fontsize=FONT - 1, frameon=False)

    def _band(self, ax: Axes, values: Array, errors: Array) -> None:
        n = self.measured.n_components
        ax.plot(n, values, ".-", color=colours()[0], linewidth=1.2, markersize=4)
        ax.fill_between(n, values - errors, values + errors, color=colours()[0], alpha=0.25, lw=0)

    def _mark(self, ax: Axes) -> None:
        """The number chosen, and axes that show all candidates."""
        n = self.measured.n_components
        style = "--" if self.still_falling else "-"
        ax.axvline(self.chosen, color=colours()[5], linewidth=0.9, linestyle=style, zorder=0)
        sizes_across(ax, n)
        if ax in self.axes_[-1]:
            ax.set_xlabel("number of components K", fontsize=FONT)
        bare(ax, FONT)
