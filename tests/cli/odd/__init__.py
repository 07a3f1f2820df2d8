"""Odd and damaged files by name: content, arguments and expected output."""

from tests.cli.odd.columns import COLUMNS, PLACES
from tests.cli.odd.contents import BYTES, JUNK, SHAPES
from tests.cli.odd.made import Odd
from tests.cli.odd.numbers import COUNTS
from tests.cli.odd.objects import JSON, PARQUET

ODD: dict[str, Odd] = {**BYTES, **SHAPES, **JUNK, **COUNTS, **JSON, **PARQUET, **COLUMNS, **PLACES}

__all__ = ["ODD", "PARQUET", "Odd"]
