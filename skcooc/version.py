"""The version of the package, and what is said of a model that another one wrote."""

from __future__ import annotations

import warnings

from sklearn.exceptions import InconsistentVersionWarning

__version__ = "0.1.0"


class VersionWarning(InconsistentVersionWarning):
    """scikit-learn's warning of a model that another version wrote, in words of this package.

    Who makes scikit-learn's an error, as it advises, makes this one an error, too.
    """

    def __init__(self, what: str, written: str | None) -> None:
        super().__init__(
            estimator_name=what,
            current_sklearn_version=__version__,
            original_sklearn_version=written or "of an unknown version",
        )

    def __str__(self) -> str:
        return (
            f"{self.estimator_name} was written by skcooc {self.original_sklearn_version}, and "
            f"this is skcooc {__version__}. What is read may be invalid, and a fit that goes on "
            "from it may fail. Fit the model anew, or read it with the version that wrote it."
        )


def check_version(written: str | None, what: str) -> None:
    """Warn where something was written by another version than this one."""
    if written != __version__:
        warnings.warn(VersionWarning(what, written), stacklevel=3)
