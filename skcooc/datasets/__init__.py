"""Data sets: the King James Bible, docstrings of packages, synthetic counts, Cranfield."""

from skcooc.datasets.bible import load_bible
from skcooc.datasets.cranfield import fetch_cranfield
from skcooc.datasets.docstrings import load_docstrings
from skcooc.datasets.synthetic import make_cooccurrences

__all__ = ["fetch_cranfield", "load_bible", "load_docstrings", "make_cooccurrences"]
