"""What other libraries have in place of counts or names, and numpy would take apart."""

from __future__ import annotations


def refuse_anndata(given: object, name: str, instead: str) -> None:
    """TypeError where an AnnData is given, which numpy takes apart cell by cell, for minutes."""
    kinds = ((kind.__module__.partition(".")[0], kind.__name__) for kind in type(given).__mro__)
    if ("anndata", "AnnData") in kinds:  # and not a view of its arrays
        kind = type(given).__name__
        raise TypeError(f"{name} is an {kind}, which holds more than {instead}")
