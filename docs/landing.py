"""The pictures of the first page, in light and in dark: ``python docs/landing.py`` draws them anew.

They are those of an example, drawn twice.
"""

import runpy
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

DOCS = Path(__file__).parent
NAMES = "topics", "coclusters", "tree"
STYLES = {"light": "default", "dark": "dark_background"}

if __name__ == "__main__":
    for scheme, style in STYLES.items():
        with plt.style.context(style):
            runpy.run_path(str(DOCS / "examples" / "plot_at_a_glance.py"))
            for name, number in zip(NAMES, plt.get_fignums(), strict=True):
                path = DOCS / "landing" / f"{name}_{scheme}.png"
                plt.figure(number).savefig(path, dpi=160, transparent=True)
            plt.close("all")
