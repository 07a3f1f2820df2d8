"""Columns as a data frame of the library of the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skcooc.protocol import Array


def table_of(columns: Mapping[str, Array | Sequence[object]], backend: str) -> Any:
    """Columns as a data frame of a library; ImportError if it is not installed."""
    import narwhals  # here, for it takes a while to import

    try:
        return narwhals.from_dict(columns, backend=backend).to_native()  # type: ignore[arg-type]
    except ImportError as error:
        raise ImportError(
            f"The table needs {backend} for backend={backend!r}. "
            f"Install it with `pip install {backend}`."
        ) from error
    except AssertionError as error:  # narwhals 2.0; a later one raises such a ValueError
        raise ValueError(f"Unsupported backend: {backend!r}.") from error
