"""Data sets: docstrings of packages, synthetic counts, the Cranfield collection."""

from skcooc.datasets.cranfield import fetch_cranfield
from skcooc.datasets.docstrings import load_docstrings
from skcooc.datasets.synthetic import make_cooccurrences

__all__ = ["fetch_cranfield", "load_docstrings", "make_cooccurrences"]
