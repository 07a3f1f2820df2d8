"""Retrieval: documents for queries, by common words and by common topics."""

from skcooc.retrieval.retriever import AspectRetriever

__all__ = ["AspectRetriever"]
