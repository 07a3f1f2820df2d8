"""The pictures of the first page, in light and in dark, of a page of `explore`, and of the README.

``python docs/landing.py`` draws them anew. The first are those of an example, drawn twice; that of
the page needs Playwright and a Chromium, and that of the README the data of the Brown corpus.
"""

import runpy
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from check_site import browser

from skcooc.inspection import explore

DOCS = Path(__file__).parent
sys.path.append(str(DOCS.parent))  # benchmarks, as the example needs them

from benchmarks.reporting import save_picture  # noqa: E402

NAMES = "topics", "coclusters", "tree"
STYLES = {"light": "default", "dark": "dark_background"}


def draw(scheme: str, style: str) -> None:
    """Run the example in this style, and keep its pictures."""
    with plt.style.context(style):
        runpy.run_path(str(DOCS / "examples" / "plot_at_a_glance.py"))
        for name, number in zip(NAMES, plt.get_fignums(), strict=True):
            path = DOCS / "landing" / f"{name}_{scheme}.png"
            plt.figure(number).savefig(path, dpi=160, transparent=True)
        plt.close("all")


def photograph() -> None:
    """The page of the other example, as a browser shows it."""
    fitted = runpy.run_path(str(DOCS / "examples" / "plot_look_at_a_model.py"))
    pipeline, texts = fitted["pipeline"], fitted["texts"]
    explorer = explore(pipeline, texts, groups=fitted["libraries"], title="Docstrings")
    with tempfile.TemporaryDirectory() as folder, browser() as found:
        explorer.save(f"{folder}/page.html")
        page = found.new_page(viewport={"width": 1000, "height": 720})
        page.goto(f"file://{folder}/page.html")
        page.get_by_text("%", exact=False).first.click()
        page.screenshot(path=DOCS / "landing" / "explorer.png")


def pairs() -> None:
    """The picture of the README, which an example draws."""
    found = runpy.run_path(str(DOCS / "examples" / "plot_adjectives_and_nouns.py"))
    save_picture(found["display"].figure_, DOCS / "association.png", dpi=130)
    plt.close("all")


if __name__ == "__main__":
    for scheme, style in STYLES.items():
        draw(scheme, style)
    photograph()
    pairs()
