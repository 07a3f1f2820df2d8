"""Data sets: the King James Bible, synthetic counts, Cranfield."""

from skcooc.datasets.bible import load_bible
from skcooc.datasets.cranfield import fetch_cranfield
from skcooc.datasets.synthetic import make_cooccurrences

__all__ = ["fetch_cranfield", "load_bible", "make_cooccurrences"]
