"""A fitted model as a page to look through: what is read, what is shown, and the page itself."""

from skcooc.inspection.explorer.page import Explorer, explore

__all__ = ["Explorer", "explore"]
