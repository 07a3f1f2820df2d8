"""Retrieval: documents for queries, by common words and by common aspects."""

from skcooc.retrieval.retriever import AspectRetriever

__all__ = ["AspectRetriever"]
