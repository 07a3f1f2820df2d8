"""Characters that should not reach a terminal, or cannot."""

from __future__ import annotations

import re
from typing import TextIO

# What a terminal obeys: control characters, ends of lines among them, and changes of direction.
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    r"""The text with what a terminal would obey, such as in names of rows, written out.

    >>> printable("a\x1b[2J")
    'a\\x1b[2J'
    """
    return CONTROLS.sub(lambda found: repr(found[0])[1:-1], text)


def say(text: str, to: TextIO) -> None:
    """Print a text; what the encoding there has no characters for is written out."""
    encoding = to.encoding or "utf-8"
    to.write(text.encode(encoding, "backslashreplace").decode(encoding))
