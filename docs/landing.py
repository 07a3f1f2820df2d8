"""Draw the pictures of the first page and of the README, in light and in dark.

``python docs/landing.py`` draws those of an example, one picture of the three together, also as the
card that chats show with a link, and a page of `explore` as a browser shows it, for which it needs
Playwright and a Chromium;
``python docs/landing.py pictures`` or ``page`` draws one kind only.
"""

import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from check_site import browser
from live_page import bible_page

DOCS = Path(__file__).parent
NAMES = "topics", "coclusters", "tree"
TITLES = "Topics, and their shares", "Co-clusters of chapters and words", "A tree of clusters"
STYLES = {"light": "default", "dark": "dark_background"}
DPI = 200


def draw(scheme: str, style: str) -> None:
    """Run the example in this style and save its pictures, and one of all three."""
    with plt.style.context(style):
        example = runpy.run_path(str(DOCS / "examples" / "plot_at_a_glance.py"))
        for name, number in zip(NAMES, plt.get_fignums(), strict=True):
            save(plt.figure(number), name, scheme)
        save(overview(example, height=4.0), "overview", scheme)
        if scheme == "light":
            overview(example, height=4.5).savefig(DOCS / "static" / "card.png", dpi=140)
        plt.close("all")


def overview(example: dict[str, Any], height: float) -> plt.Figure:
    """Draw the three pictures of the example side by side; height in inches."""
    figure = plt.figure(figsize=(8.6, height), layout="constrained")
    panels = figure.subfigures(1, 3, wspace=0.03, width_ratios=(1, 1, 0.95))
    example["draw_topics"](panels[0], n_words=2, largest=280)
    example["draw_coclusters"](panels[1], n_words=2)
    example["draw_tree"](panels[2], n_words=2, n_books=1, width=8.6)
    for panel, title in zip(panels, TITLES, strict=True):
        panel.suptitle(title, fontsize=10, weight="bold")
    return figure


def save(figure: plt.Figure, name: str, scheme: str) -> None:
    figure.savefig(path_of(name, scheme), dpi=DPI, transparent=True)


def path_of(name: str, scheme: str) -> Path:
    return DOCS / "landing" / (f"{name}.png" if scheme == "light" else f"{name}_dark.png")


def photograph() -> None:
    """Save the live page as a browser shows it: the shares of topics in sections."""
    page = bible_page()
    with tempfile.TemporaryDirectory() as folder, browser() as chromium:
        page.save(f"{folder}/page.html")
        for scheme in STYLES:
            size = {"width": 940, "height": 680}
            tab = chromium.new_page(viewport=size, device_scale_factor=1.5, color_scheme=scheme)
            tab.goto(f"file://{folder}/page.html#view=groups")
            tab.get_by_role("heading", name="Topics by section").wait_for()
            tab.screenshot(path=path_of("explorer", scheme))


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["pictures", "page"]
    if "pictures" in wanted:
        for scheme, style in STYLES.items():
            draw(scheme, style)
    if "page" in wanted:
        photograph()
