"""Version of the package, and the warning for models that another version wrote."""

from __future__ import annotations

import warnings

from sklearn.exceptions import InconsistentVersionWarning

__version__ = "0.1.0"


class VersionWarning(InconsistentVersionWarning):
    """Warning for a model that another version of this package wrote."""

    def __init__(self, name: str, version: str | None) -> None:
        super().__init__(
            estimator_name=name,
            current_sklearn_version=__version__,
            original_sklearn_version=version or "of an unknown version",
        )

    def __str__(self) -> str:
        return (
            f"{self.estimator_name} was written by skcooc {self.original_sklearn_version}, and "
            f"this is skcooc {__version__}. The model may be invalid, and a fit that resumes from "
            "it may fail. Fit the model again, or read it with the version that wrote it."
        )


def check_version(version: str | None, name: str) -> None:
    if version != __version__:
        warnings.warn(VersionWarning(name, version), stacklevel=3)
