"""Run the code of all pages, and find blocks of text that it does not print."""

import io
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import redirect_stdout
from difflib import SequenceMatcher
from pathlib import Path

CLOSE = 0.02  # relative error of a figure that is printed: other processors round differently
SAME = 0.9  # share of the words and figures of a block that should be the same there
NUMBER = re.compile(r"-?\d[\d,]*\.?\d*")


def printed_blocks(text: str) -> list[tuple[str, str]]:
    """Each block of Python with the block of text directly after it, which is what it prints."""
    return re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", text, re.DOTALL)


def agreement(printed: str, stated: str) -> float:
    """Share of words that are the same and in order, or of numbers up to CLOSE, if that is less."""
    words = [NUMBER.sub("0", text).split() for text in (printed, stated)]
    numbers = [
        [float(number.replace(",", "")) for number in NUMBER.findall(text)]
        for text in (printed, stated)
    ]
    close = [abs(a - b) <= CLOSE * abs(b) for a, b in zip(*numbers, strict=False)]
    most = max(map(len, numbers))
    return min(SequenceMatcher(None, *words, False).ratio(), sum(close) / most if most else 1.0)


def other_blocks(path: Path) -> Iterator[tuple[str, str]]:
    """What the code of a page prints and what the page states, where they are not the same.

    Code before it may print more.
    """
    printed, namespace = io.StringIO(), {}
    for code, stated in printed_blocks(path.read_text(encoding="utf-8")):
        with redirect_stdout(printed), warnings.catch_warnings(action="ignore"):
            exec(compile(code, path.name, "exec"), namespace)
        last = "\n".join(printed.getvalue().rstrip().splitlines()[-len(stated.splitlines()) :])
        if stated and agreement(last, stated) < SAME:
            yield last, stated


if __name__ == "__main__":
    os.environ["MPLBACKEND"] = "agg"
    pages = [Path(name) for name in sys.argv[1:]] or sorted(Path(__file__).parent.rglob("*.md"))
    others = [(path, *block) for path in pages for block in other_blocks(path)]
    for path, printed, stated in others:
        print(f"{path} states\n\n{stated}\nbut its code prints\n\n{printed}\n", file=sys.stderr)
    sys.exit(bool(others))
