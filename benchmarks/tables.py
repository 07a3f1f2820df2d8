"""Tables of rows: averaged over splits and seeds, as Markdown for pages and as plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Layout:
    """What a table shows of rows of results.

    A line for each combination of values of ``lines``. Without ``columns``, a column for each of
    the ``values``; with them, a column for each combination of theirs, and a single value. Numbers
    are means over all rows of a cell.
    """

    lines: Sequence[str]
    values: Sequence[str]
    columns: Sequence[str] = ()
    formats: Sequence[str] = ("g",)  # one for each of the values; the last one for all others
    spread: bool = False  # standard deviations after means
    best: str = ""  # "min" or "max": bold, in each column


def table(rows: Sequence[Row], layout: Layout) -> list[list[str]]:
    """The header and the lines of a table, as text.

    Examples
    --------
    >>> rows = [{"model": m, "K": K, "seed": s, "perplexity": 100 * K + s + bonus}
    ...         for m, bonus in (("a", 0), ("b", 50)) for K in (1, 2) for s in (1, 3)]
    >>> for line in table(rows, Layout(["model"], ["perplexity"], ["K"], [".0f"], True, "min")):
    ...     print(line)
    ['model', 'K = 1', 'K = 2']
    ['a', '**102** ± 1', '**202** ± 1']
    ['b', '152 ± 1', '252 ± 1']
    """
    shown = cells(rows, layout)
    last = len(layout.formats) - 1
    texts = []
    for n, column in enumerate(shown.values()):
        form = layout.formats[0 if layout.columns else min(n, last)]
        best = _best(list(column.values()), layout.best)
        texts.append(
            {left: _text(numbers, form, layout.spread, best) for left, numbers in column.items()}
        )
    lines = [
        [*map(str, left), *(column.get(_title(left), "") for column in texts)]
        for left in _combinations(rows, layout.lines)
    ]
    return [[*layout.lines, *shown], *lines]


def cells(rows: Sequence[Row], layout: Layout) -> dict[str, dict[str, list[Any]]]:
    """The numbers of each column, by the title of the line.

    Examples
    --------
    >>> rows = [{"model": m, "K": K, "perplexity": 100 * K} for m in "ab" for K in (1, 2)]
    >>> cells(rows, Layout(["model"], ["perplexity"], ["K"]))
    {'K = 1': {'a': [100], 'b': [100]}, 'K = 2': {'a': [200], 'b': [200]}}
    """
    if layout.columns and len(layout.values) > 1:
        raise ValueError(f"a table with columns shows one value, not {len(layout.values)}")
    lines = _combinations(rows, layout.lines)
    columns = [
        (_header(layout, top) if layout.columns else value, top, value)
        for top in _combinations(rows, layout.columns)
        for value in layout.values
    ]
    found = {
        title: {_title(left): _numbers(rows, layout, left, top, value) for left in lines}
        for title, top, value in columns
    }
    return {
        title: {line: numbers for line, numbers in column.items() if numbers}
        for title, column in found.items()
    }


def markdown(lines: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table."""
    header, *body = (f"| {' | '.join(line)} |" for line in lines)
    return [header, "|" + "---|" * len(lines[0]), *body]


def plain(rows: Sequence[Row]) -> str:
    """Rows as aligned text.

    Examples
    --------
    >>> print(plain([{"K": 8, "perplexity": 480.1234}, {"K": 128, "perplexity": 331.0}]))
    K    perplexity
    8    480.12
    128  331
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [names, *([_short(row.get(name, "")) for name in names] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in cells)
    return "\n".join(lines)


def _combinations(rows: Sequence[Row], names: Sequence[str]) -> list[tuple[Any, ...]]:
    return list(dict.fromkeys(tuple(row.get(name, "") for name in names) for row in rows))


def _numbers(
    rows: Sequence[Row], layout: Layout, left: tuple[Any, ...], top: tuple[Any, ...], value: str
) -> list[Any]:
    wanted = [*zip(layout.lines, left, strict=True), *zip(layout.columns, top, strict=True)]
    found = (row for row in rows if all(row.get(name, "") == one for name, one in wanted))
    return [row[value] for row in found if row.get(value) is not None]


def _title(left: Sequence[Any]) -> str:
    return ", ".join(map(str, left))


def _header(layout: Layout, top: Sequence[Any]) -> str:
    return ", ".join(
        value if isinstance(value, str) else f"{name} = {_short(value)}"
        for name, value in zip(layout.columns, top, strict=True)
    )


def _best(cells: list[list[Any]], which: str) -> float | None:
    means = [mean(numbers) for numbers in cells if numbers and not isinstance(numbers[0], str)]
    if not (which and means):
        return None
    return min(means) if which == "min" else max(means)


def _text(numbers: list[Any], form: str, spread: bool, best: float | None) -> str:
    if not numbers:
        return ""
    if isinstance(numbers[0], str):
        return numbers[0]
    middle = mean(numbers)
    text = format(middle, form)
    if best is not None and text == format(best, form):
        text = f"**{text}**"
    return f"{text} ± {format(stdev(numbers), form)}" if spread and len(numbers) > 1 else text


def _short(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)
