"""Records with named fields, of delimited text, JSON and Parquet."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from skcooc.cli import texts
from skcooc.cli.fields import Column, is_number, string
from skcooc.cli.texts import InputError
from skcooc.protocol import Array

PARQUET = {"pyarrow": "ArrowException", "polars.exceptions": "PolarsError"}  # their base errors
ALL_SEPARATORS = ",;\t|"
SEPARATORS = {".csv": ALL_SEPARATORS, ".tsv": "\t"}  # by suffix: the most frequent in the header
COMMENTS = "#%"  # at the beginning of lines above the header
PLAIN_SEPARATORS = "\t", "::", ";", ",", "|"  # of a table without the suffix of one
UNIT_SEPARATOR = "\x1f"  # stands for :: in what the csv module reads
QUOTED = re.compile(r'"[^"]*"')
NAMED_SEPARATOR = re.compile(r"sep=(.)")  # a line above the header, which Excel reads and writes
THOUSANDS = re.compile(r"[1-9]\d{0,2}\.\d{3}")  # as in German, or fractions
WRITE_JSON = "from pandas, write df.reset_index().to_json('x.jsonl', orient='records', lines=True)"


@dataclass(frozen=True)
class Records:
    """Records with named fields, and the place of each in its file."""

    path: Path
    columns: Sequence[Column]
    unit: str  # of the places, such as "line"
    numbers: Sequence[int]  # of these units
    index: tuple[str, ...] = ()  # fields that were the index of a pandas data frame
    has_line_of_names: bool = False  # which may be a record that was taken for names

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def _by_name(self) -> Mapping[str, Column]:
        return {column.name: column for column in self.columns}

    def place(self, position: int) -> str:
        return f"{self.path}, {self.unit} {self.numbers[position]}"

    def labels(self, name: str) -> Array:
        """The labels in a field, (N,): the first of a list, None if empty."""
        firsts = (v[0] if isinstance(v, list) and v else v for v in self.column(name).values)
        return np.array([string(value).strip() or None for value in firsts], dtype=object)

    def column(self, name: str) -> Column:
        """The column of this name; InputError if there is none."""
        if name not in self._by_name:
            columns = ", ".join(self._by_name)
            raise InputError(f"{self.path}: there is no column {name!r}; the columns are {columns}")
        return self._by_name[name]


def read_delimited(
    path: Path, header: str | None, encoding: str | None, text: str | None = None
) -> Records:
    """Records of a file with one record a line; ``header`` names the fields if no line does."""
    if text is None:
        text = texts.read_text(path, encoding)
    lines = text.split("\n")
    if named := NAMED_SEPARATOR.fullmatch(lines[0]):
        return _parse_delimited(path, text, 1, named[1], header)
    n_comments = _count_comments(lines, header is not None)
    usual = SEPARATORS.get(table_suffix(path), "")
    header_line = QUOTED.sub("", lines[n_comments]) if n_comments < len(lines) else ""
    separator: str | None = max(usual, key=header_line.count, default=None)
    if separator is None or separator not in header_line:
        separator = find_separator(text) or separator or "\t"
    return _parse_delimited(path, text, n_comments, separator, header)


def table_suffix(path: Path) -> str:
    """The suffix in lower case, of a compressed file that of the file in it."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _count_comments(lines: Sequence[str], has_header: bool = False) -> int:
    """Number of blank lines and comments at the beginning, without one that names the fields."""
    n = next((i for i, x in enumerate(lines) if x.strip() and x[0] not in COMMENTS), len(lines))
    if n < len(lines) and n and not has_header:
        above, below = lines[n - 1 : n + 1]
        sizes = [(above.count(separator), below.count(separator)) for separator in ALL_SEPARATORS]
        n -= any(min(a, b) > 0 and abs(a - b) <= 1 for a, b in sizes)
    return n


def find_separator(text: str) -> str | None:
    """What separates the fields of a table, in a file that may hold texts; None if it does."""
    lines = text.split("\n")
    lines = [QUOTED.sub("x", line) for line in lines[_count_comments(lines) :] if line.strip()]
    if len(lines) < 2:
        return None
    for separator in PLAIN_SEPARATORS:
        n = lines[1].count(separator)
        is_table = (
            n > 0
            and lines[0].count(separator) in (n, max(n - 1, 1))  # R names the rows without a header
            and all(line.count(separator) == n for line in lines[2:])
        )
        if is_table and (separator == "\t" or not any(f"{separator} " in line for line in lines)):
            return separator
    n = len(lines[1].split())
    if min(n, len(lines) - 1) < 2:
        return None
    records = (line.split() for line in lines[1:])
    are_numbers = (len(r) == n and all(map(is_number, r[2:])) for r in records)
    return " " if all(are_numbers) else None


def _parse_delimited(
    path: Path, text: str, n_skipped: int, separator: str, header: str | None
) -> Records:
    records, numbers = _split_lines(path, text, n_skipped, separator)
    if header is None:
        if not records:
            raise InputError(f"{path}: the first line must be a header with the names of columns")
        names = [name.strip() for name in records.pop(0)]
        numbers.pop(0)
        if len(names) == 1 and any(separator in names[0] for separator in ALL_SEPARATORS):
            raise InputError(
                f"{path}: there is only one column, {names[0]!r}, with a separator in its name: is "
                "the suffix of the file right?"
            )
        if len(names) > 1 and records and all(len(f) == len(names) + 1 for f in records):
            if any(fields[-1] for fields in records):
                names = ["", *names]  # as R writes names of rows
            else:  # each line ends with a separator
                records = [fields[:-1] for fields in records]
    else:
        width = len(records[0]) if records else 0
        names = [name.strip() for name in header.split(",")]
        if header.strip().lower() == "none":
            names = [f"column {j}" for j in range(width)]
        elif records and len(names) != width:
            raise InputError(
                f"{path}: {len(names)} names in --header, but the first line has {width} fields"
            )
    source = "the header" if header is None else "--header"
    _check_widths(path, records, numbers, len(names), source)
    columns = [Column(name, list(map(itemgetter(j), records))) for j, name in enumerate(names)]
    if names.count("") > 1:  # empty columns beside a table, as spreadsheets write them
        columns = [column for column in columns if column.name or not column.is_empty]
    if len({column.name for column in columns}) < len(columns):
        first = texts.excerpt(", ".join(column.name for column in columns))
        raise InputError(
            f"{path}: a name occurs twice in {source}, {first}: rename one, or remove lines above "
            "the header; if there is no header, give --header NAMES, or --header none for a matrix"
        )
    return make_records(path, columns, numbers, "line", has_line_of_names=header is None)


def _split_lines(
    path: Path, text: str, n_skipped: int, separator: str
) -> tuple[list[list[str]], list[int]]:
    """The fields of the records that have some, and the numbers of their first lines.

    Between tabs, quotes that do not enclose fields belong to texts, unless the header has quotes.
    """
    csv.field_size_limit(sys.maxsize)  # a text may be a book
    if separator == "::":
        text = text.replace(separator, UNIT_SEPARATOR)
    lines = texts.split_lines(text)[n_skipped:]
    if separator == " ":
        lines = [line.strip() for line in lines]
    reader = csv.reader(
        (f"{line}\n" for line in lines),
        delimiter=UNIT_SEPARATOR if separator == "::" else separator,
        skipinitialspace=True,
        strict=True,
    )
    numbered: list[tuple[int, list[str]]] = []
    n_read = 0
    try:
        for fields in reader:  # of one line, or of several with quotes around them
            numbered.append((n_read + 1, fields))
            n_read = reader.line_num
    except csv.Error as error:
        if separator != "\t" or '"' in lines[0]:
            raise InputError(
                f"{path}, line {n_skipped + reader.line_num}: {error}: fields are separated by "
                f"{separator!r}, and quotes within quotes are written twice"
            ) from error
        numbered = list(enumerate((line.split("\t") for line in lines), 1))
    # Spreadsheets write empty lines as separators alone.
    numbered = [(n_skipped + number, fields) for number, fields in numbered if any(fields)]
    return [fields for _, fields in numbered], [number for number, _ in numbered]


def _check_widths(
    path: Path,
    records: Sequence[Sequence[str]],
    numbers: Sequence[int],
    width: int,
    source: str,
) -> None:
    widths = list(map(len, records))
    if all(n == width for n in widths):
        return
    if len(set(widths)) > 2:
        advice = "if each line is a basket of items, write a line for each basket and item"
    else:
        advice = "remove lines above the header and below the table, such as titles and notes"
    i = next(i for i, n in enumerate(widths) if n != width)
    raise InputError(
        f"{path}, line {numbers[i]}: {widths[i]} fields, but {source} has {width}; {advice}"
    )


def read_json(path: Path, header: str | None, encoding: str | None) -> Records:
    """Records of an array of objects, or of lines that are an object each."""
    _refuse_header(path, header)
    text = texts.read_text(path, encoding)
    first, _, rest = text.strip().partition("\n")
    if table_suffix(path) == ".json" and not (rest and first.rstrip().endswith("}")):
        array = _parse_json(text, str(path))
        if not isinstance(array, list):
            raise InputError(f"{path}: not an array of objects; {WRITE_JSON}")
        return _records_of_objects(path, array, range(1, len(array) + 1), "object")
    lines = texts.split_lines(text)
    numbers = [number for number, line in enumerate(lines, 1) if line.strip()]
    objects = [_parse_json(lines[number - 1], f"{path}, line {number}") for number in numbers]
    return _records_of_objects(path, objects, numbers, "line")


def _parse_json(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{place}: not JSON ({error.msg})") from error
    except (ValueError, RecursionError) as error:  # too many digits, or too deep
        raise InputError(f"{place}: not JSON ({error})") from error


def _records_of_objects(
    path: Path, objects: Sequence[Any], numbers: Sequence[int], unit: str
) -> Records:
    for number, record in zip(numbers, objects, strict=True):
        if not isinstance(record, dict):
            raise InputError(
                f"{path}, {unit} {number}: not an object with named values; {WRITE_JSON}"
            )
    values = objects[0].values() if len(objects) == 1 else ()
    if values and all(isinstance(value, dict | list) for value in values):
        raise InputError(
            f"{path}: one object of columns or rows, not an object for each record; {WRITE_JSON}"
        )
    names = dict.fromkeys(chain.from_iterable(objects))
    columns = [Column(name, [record.get(name) for record in objects]) for name in names]
    return make_records(path, columns, numbers, unit)


def read_parquet(path: Path, header: str | None, encoding: str | None) -> Records:
    _refuse_header(path, header)
    if encoding is not None:
        raise InputError(f"{path}: --encoding applies to text files only")
    try:
        path.open("rb").close()  # shorter messages than those of the libraries
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    for library, base in PARQUET.items():
        try:
            errors = getattr(import_module(library), base)
        except ImportError:
            continue
        backend: Any = library.partition(".")[0]
        try:
            frame = nw.read_parquet(str(path), backend=backend)
            index = _index_of_pandas(path, backend)
        except (errors, OSError, ValueError) as error:
            raise InputError(f"{path}: not a Parquet file") from error
        # pandas writes its index last; as names of rows and of pairs it comes first.
        names = [*index, *(name for name in frame.columns if name not in index)]
        columns = [Column(name, frame[name].to_list()) for name in names]
        return make_records(path, columns, range(1, len(frame) + 1), "row", index=tuple(index))
    raise InputError(f"{path}: Parquet needs pyarrow or polars: `pip install pyarrow`")


def _index_of_pandas(path: Path, backend: str) -> list[str]:
    """Columns that were the index of a data frame; a RangeIndex is none."""
    if backend == "pyarrow":
        metadata = import_module("pyarrow.parquet").read_schema(path).metadata or {}
        text = metadata.get(b"pandas", b"{}")
    else:
        polars = import_module("polars")
        if not hasattr(polars, "read_parquet_metadata"):  # before 1.15
            return []
        text = polars.read_parquet_metadata(path).get("pandas", "{}")
    columns = json.loads(text).get("index_columns", [])
    return [name for name in columns if isinstance(name, str)]


def _refuse_header(path: Path, header: str | None) -> None:
    if header is not None:
        raise InputError(f"{path}: --header applies to files of lines only, such as .csv")


def make_records(
    path: Path,
    columns: Sequence[Column],
    numbers: Sequence[int],
    unit: str,
    *,
    index: tuple[str, ...] = (),
    has_line_of_names: bool = False,
) -> Records:
    """Records of these columns; InputError if there are none."""
    if not len(numbers):
        raise InputError(f"{path}: the table has no records")
    if not columns:
        raise InputError(f"{path}: no named values in any of {len(numbers)} records")
    return Records(path, columns, unit, numbers, index, has_line_of_names)


def check_thousands(path: Path, columns: Sequence[Column]) -> None:
    """Raise InputError if all points may separate thousands, as in 1.234."""
    decimals = [(value, column.name) for column in columns for value in column.decimals]
    if decimals and all(THOUSANDS.fullmatch(value) for value, _ in decimals):
        value, name = decimals[0]
        raise InputError(
            f"{path}: {value!r} in {name!r} may be a number above a thousand or a fraction: "
            f"write it as {value.replace('.', '')} or {value}0"
        )


READERS = {
    ".csv": read_delimited,
    ".tsv": read_delimited,
    ".jsonl": read_json,
    ".ndjson": read_json,
    ".json": read_json,
    ".parquet": read_parquet,
}
