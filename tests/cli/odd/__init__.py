"""Odd and damaged files: by what is expected, their names, contents and arguments."""

from tests.cli.odd.read import FITTED, READ
from tests.cli.odd.refused import JUNK, REFUSED

__all__ = ["FITTED", "JUNK", "READ", "REFUSED"]
