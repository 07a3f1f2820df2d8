"""Tables in the data frame library of the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from skcooc.protocol import Array

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame


def data_frame(
    columns: Mapping[str, Array | Sequence[object]], backend: str, asked_by: str
) -> IntoDataFrame:
    """The columns as a table of a library; ImportError where it is not installed."""
    import narwhals  # scikit-learn needs it too; only tables do here

    try:
        return narwhals.from_dict(columns, backend=backend).to_native()  # type: ignore[arg-type]
    except ImportError as error:
        raise ImportError(
            f"{asked_by} needs {backend} for backend={backend!r}. "
            f"Install it with `pip install {backend}`."
        ) from error
