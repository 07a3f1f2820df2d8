"""The version of the package, and what is said of a model that another one wrote."""

from __future__ import annotations

import warnings

__version__ = "0.1.0"


def check_version(written: str | None, what: str) -> None:
    """Warn where something was written by another version than this one."""
    if written != __version__:
        warnings.warn(
            f"{what} was written by skcooc {written or 'of an unknown version'}, and this is "
            f"skcooc {__version__}. What is read may be invalid, and a fit that goes on from it "
            "may fail. Fit the model anew, or read it with the version that wrote it.",
            UserWarning,
            stacklevel=3,
        )
