"""A page to look through a fitted model."""

from skcooc.inspection.explorer.page import Explorer, explore

__all__ = ["Explorer", "explore"]
