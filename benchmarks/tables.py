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

    A line for each combination of values of ``lines``. With ``columns``, a column for each
    combination of theirs, and the ``values`` side by side in its cells; else a column for each of
    the ``values``. Numbers are means over all rows of a cell.
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
    down, across = _combinations(rows, layout.lines), _combinations(rows, layout.columns)
    cells = {
        (left, top): [_numbers(rows, layout, left, top, value) for value in layout.values]
        for left in down
        for top in across
    }
    best = {
        (top, n): _best([cells[left, top][n] for left in down], layout.best)
        for top in across
        for n in range(len(layout.values))
    }
    last = len(layout.formats) - 1
    lines = [[*layout.lines, *_header(layout, across)]]
    for left in down:
        parts = [
            [
                _text(numbers, layout.formats[min(n, last)], layout.spread, best[top, n])
                for n, numbers in enumerate(cells[left, top])
            ]
            for top in across
        ]
        joined = [" / ".join(part).strip(" /") for part in parts] if layout.columns else parts[0]
        lines.append([str(value) for value in left] + joined)
    return lines


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


def _header(layout: Layout, across: list[tuple[Any, ...]]) -> list[str]:
    if not layout.columns:
        return list(layout.values)
    return [
        ", ".join(
            str(value) if isinstance(value, str) else f"{name} = {_short(value)}"
            for name, value in zip(layout.columns, top, strict=True)
        )
        for top in across
    ]


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
