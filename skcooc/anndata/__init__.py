"""Cells and genes: models of the counts of an AnnData, with their topics added to it.

Install what it needs with ``pip install "skcooc[anndata]"``.
"""

from skcooc.anndata.topics import add_topics, fit_topics

__all__ = ["add_topics", "fit_topics"]
