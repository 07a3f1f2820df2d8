"""Reports of topics: texts counted, a model fitted, and its tables, shares and page."""

from skcooc.reports.report import TopicReport
from skcooc.reports.texts import fit_texts

__all__ = ["TopicReport", "fit_texts"]
