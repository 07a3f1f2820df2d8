"""Records with named fields, which are all strings: CSV, TSV, JSON and Parquet."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import narwhals as nw

from skcooc.cli import texts
from skcooc.cli.table import InputError

PARQUET = {"pyarrow": "ArrowException", "polars.exceptions": "PolarsError"}  # what they raise
SEPARATORS = ",;\t|"  # of a .csv: that of which its header has the most
QUOTED = re.compile(r'"[^"]*"')
NAMED_SEPARATOR = re.compile(r"sep=(.)")  # a line above the header, which Excel reads and writes


@dataclass(frozen=True)
class Records:
    """What a file holds, and where each record is in it."""

    path: Path
    names: Sequence[str]
    values: Sequence[Sequence[str]]
    places: Sequence[str]  # "line 2", for messages

    def position(self, name: str) -> int:
        """Which field has this name; InputError where none has."""
        if name not in self.names:
            raise InputError(
                f"{self.path}: no column {name!r}; the header is {', '.join(self.names)}"
            )
        return self.names.index(name)

    def field(self, name: str) -> list[str]:
        """The values of a field."""
        at = self.position(name)
        return [record[at] for record in self.values]


def reader_of(path: Path) -> Callable[[Path], Records] | None:
    """What reads the records of a file with this name; None where it holds none."""
    name = path.name.lower().removesuffix(".gz")
    suffixes = {
        (".csv", ".tsv"): separated,
        (".jsonl", ".ndjson"): json_lines,
        (".json",): json_array,
        (".parquet",): parquet,
    }
    return next((read for ends, read in suffixes.items() if name.endswith(ends)), None)


def separated(path: Path) -> Records:
    """The lines of a CSV or TSV file, of which the first has the names of the fields."""
    text = texts.decode(path)
    first = text.partition("\n")[0]
    named = NAMED_SEPARATOR.fullmatch(first)
    separator = named[1] if named else _separator(path, first)
    csv.field_size_limit(sys.maxsize)  # a text may be a book
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        if named:
            next(lines)
        names = next(lines, [])
        numbered = [(lines.line_num, fields) for fields in lines if fields]
    except csv.Error as error:
        raise InputError(f"{path}, line {lines.line_num}: {error}") from error
    _check_header(path, names)
    for number, fields in numbered:
        if len(fields) != len(names):
            raise InputError(
                f"{path}, line {number}: number of fields is {len(fields)}, in the header "
                f"{len(names)}"
            )
    return _records(path, names, numbered, "line")


def _separator(path: Path, header: str) -> str:
    if not path.name.lower().removesuffix(".gz").endswith(".csv"):
        return "\t"
    return max(SEPARATORS, key=QUOTED.sub("", header).count)


def _check_header(path: Path, names: Sequence[str]) -> None:
    if not names:
        raise InputError(f"{path}: a header line with the names of columns is needed")
    if len(names) == 1 and any(separator in names[0] for separator in SEPARATORS):
        raise InputError(f"{path}: one column, {names[0]!r}, whose name is more than one")


def json_lines(path: Path) -> Records:
    """An object in each line."""

    def objects() -> Iterator[tuple[int, Any]]:
        for number, line in enumerate(texts.lines_of(path), 1):
            if line.strip():
                yield number, _parsed(line, f"{path}, line {number}")

    return _of_objects(path, objects(), "line")


def json_array(path: Path) -> Records:
    """An array of objects."""
    found = _parsed(texts.decode(path), str(path))
    if not isinstance(found, list):
        raise InputError(f"{path}: no array of objects; with one on each line it is a .jsonl")
    return _of_objects(path, enumerate(found, 1), "object")


def parquet(path: Path) -> Records:
    """A data frame, read by the library that is installed."""
    try:
        path.open("rb").close()  # the libraries say it in many words
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    frame = _frame(path)
    values = [[_string(value) for value in row] for row in frame.iter_rows()]
    return _records(path, frame.columns, enumerate(values, 1), "row")


def _frame(path: Path) -> nw.DataFrame:
    for library, base in PARQUET.items():
        try:
            errors = getattr(import_module(library), base)
        except ImportError:
            continue
        try:
            backend: Any = library.partition(".")[0]
            return nw.read_parquet(str(path), backend=backend)
        except (errors, OSError, ValueError) as error:
            raise InputError(f"{path}: not a Parquet file") from error
    raise InputError(f"{path}: Parquet needs pyarrow or polars: `pip install pyarrow`")


def _of_objects(path: Path, found: Iterable[tuple[int, Any]], unit: str) -> Records:
    numbered = list(found)
    for number, record in numbered:
        if not isinstance(record, dict):
            raise InputError(f"{path}, {unit} {number}: no object with named values")
    names = list(dict.fromkeys(chain.from_iterable(record for _, record in numbered)))
    values = [[_string(record.get(name)) for name in names] for _, record in numbered]
    numbers = (number for number, _ in numbered)
    return _records(path, names, zip(numbers, values, strict=True), unit)


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        more = "; with an object on each line it is a .jsonl" * (error.msg == "Extra data")
        raise InputError(f"{where}: not JSON ({error.msg}){more}") from error
    except (ValueError, RecursionError) as error:  # too many digits, or too deep
        raise InputError(f"{where}: not JSON ({error})") from error


def _string(value: object) -> str:
    """A value as a field of a CSV file would have it."""
    if value is None or value != value:  # NaN, which pandas has for nothing
        return ""
    if isinstance(value, list):  # such as the topics of a text
        return ", ".join(map(_string, value))
    return value if isinstance(value, str) else str(value)


def _records(
    path: Path, names: Sequence[str], numbered: Iterable[tuple[int, Sequence[str]]], unit: str
) -> Records:
    pairs = list(numbered)
    if len(set(names)) < len(names):
        raise InputError(f"{path}: a name is there twice in the header {', '.join(names)}")
    if not pairs:
        raise InputError(f"{path}: no records")
    if not names:
        raise InputError(f"{path}: no named values in any of {len(pairs)} records")
    return Records(
        path, names, [values for _, values in pairs], [f"{unit} {number}" for number, _ in pairs]
    )
