"""Records with named fields, of delimited text, JSON and Parquet."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import chain
from math import nan
from operator import itemgetter
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from skcooc.cli import texts
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
WRITE_JSON = "df.reset_index().to_json('x.jsonl', orient='records', lines=True)"

# A field of texts has long values that differ; names of things are short or repeated.
MIN_WORDS = 5  # in the mean
MIN_DISTINCT = 0.5  # share of the values
MAX_LINEAGES = 0.9  # share of values with a semicolon, as k__Bacteria; p__Firmicutes has
FLAGS = {"true": 1.0, "false": 0.0}
NEARLY_ALL = 0.5  # share of numbers from which a column should hold nothing else
NOT_QUITE_NUMBER = re.compile(
    r"[-+]?\d{1,3}([,.' ]\d{3})+([.,]\d+)?|[-+]?\d+,\d+|[-+]?[\d.,]+ ?%|#?n/?a|nan|null|none|-|\.",
    re.IGNORECASE,
)


@dataclass(frozen=True, eq=False)
class Column:
    """The values of a field in all records. Compared by identity."""

    name: str
    values: Sequence[Any]

    @cached_property
    def _distinct(self) -> set[Any] | None:
        """Distinct values; None if some are lists or objects, which cannot be looked up."""
        try:
            return set(self.values)
        except TypeError:
            return None

    @cached_property
    def strings(self) -> Sequence[str]:
        are_strings = self._distinct is not None and all(type(v) is str for v in self._distinct)
        return self.values if are_strings else [*map(string, self.values)]

    @cached_property
    def _cells(self) -> Sequence[Any]:
        return self.strings if self._distinct is None else self.values

    @cached_property
    def _parsed(self) -> Mapping[Any, float | None]:
        """Numbers by distinct cells: NaN for empty ones, None for those that are no numbers."""
        return {value: parse_number(value) for value in self._distinct or set(self._cells)}

    @cached_property
    def numbers(self) -> Array:
        """The values as numbers, (n,), zero where they are empty."""
        floats = map(self._parsed.__getitem__, self._cells)
        numbers = np.fromiter(floats, float, len(self._cells))
        numbers[np.isnan(numbers)] = 0
        return numbers

    @cached_property
    def is_number(self) -> bool:
        """Whether all values are numbers but the empty ones, of which not all are."""
        numbers = self._parsed.values()
        return None not in numbers and any(number == number for number in numbers)

    @property
    def holds_numbers(self) -> bool:
        """Whether the values are numbers, or should be as most look like some."""
        return self.is_number or self.wrong_number is not None

    @property
    def has_lists(self) -> bool:
        return self._distinct is None and any(isinstance(value, list) for value in self.values)

    @cached_property
    def is_empty(self) -> bool:
        return not any(self.strings)

    @cached_property
    def is_distinct(self) -> bool:
        """Whether no value is empty or occurs twice."""
        n = len(self.values)
        return len(self._parsed) == n == len(set(self.strings)) and all(self.strings)

    @cached_property
    def is_whole(self) -> bool:
        return self.is_number and bool((self.numbers == np.floor(self.numbers)).all())

    @property
    def decimals(self) -> list[str]:
        """Distinct strings with a point."""
        return [value for value in self._parsed if isinstance(value, str) and "." in value]

    @cached_property
    def is_flag(self) -> bool:
        """Whether all values are true or false."""
        return self.is_number and {string(v).lower() for v in self._parsed} <= {*FLAGS, ""}

    @cached_property
    def wrong_number(self) -> int | None:
        """The first value that is no number, if the others are or look like numbers."""
        wrong = {value for value, number in self._parsed.items() if number is None}
        if not wrong:
            return None
        odd = {value for value in wrong if not is_nearly_number(value)}
        n_odd = sum(value in odd for value in self._cells)
        if n_odd > (1 - NEARLY_ALL) * sum(map(bool, self.strings)):
            return None
        return next(i for i, value in enumerate(self._cells) if value in wrong)

    @cached_property
    def mean_words(self) -> float:
        return 0.0 if self.is_number else mean_words(self.strings)

    def first(self, size: int) -> Column:
        """The column of the first records."""
        return self if size >= len(self.values) else Column(self.name, self.values[:size])


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
            raise InputError(f"{self.path}: no column {name!r}; the columns are {columns}")
        return self._by_name[name]


def parse_number(value: object) -> float | None:
    """A number, NaN if the value is empty, None if it is no number."""
    if value is None or value == "" or value != value:
        return nan
    try:
        number = float(value)  # type: ignore[arg-type]
    except ValueError:
        return FLAGS.get(value.strip().lower()) if isinstance(value, str) else None
    except TypeError:
        return None
    is_name = isinstance(value, str) and ("_" in value or number != number)  # 1_2 is no 12
    return None if is_name else number


def is_nearly_number(value: object) -> bool:
    """Whether a value is written like a number, such as "1,234", "12 %" and "NA"."""
    return isinstance(value, str) and NOT_QUITE_NUMBER.fullmatch(value) is not None


def string(value: object) -> str:
    """A value as a field of a CSV file would have it."""
    if value is None or value != value:  # NaN, which pandas has for missing values
        return ""
    if isinstance(value, bytes):  # of Parquet, whose older writers do not mark texts
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, list):  # such as the topics of a text
        return ", ".join(map(string, value))
    return str(value)


def mean_words(values: Sequence[str]) -> float:
    """Mean number of words if the values look like texts, else 0."""
    filled = list(filter(None, map(str.strip, values)))
    shortest = 2 * MIN_WORDS - 1  # characters of so many words
    if not filled or sum(map(len, filled)) < shortest * len(filled):
        return 0.0
    if len(set(filled)) < MIN_DISTINCT * len(filled):
        return 0.0
    if sum(";" in value for value in filled) > MAX_LINEAGES * len(filled):
        return 0.0
    n_words = sum(len(value.split()) for value in filled) / len(filled)
    return n_words if n_words >= MIN_WORDS else 0.0


def read_delimited(path: Path, header: str | None, text: str | None = None) -> Records:
    """Records of a file with one record a line; ``header`` names the fields if no line does."""
    if text is None:
        text = texts.read_text(path)
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
        above, below = (QUOTED.sub("", line) for line in lines[n - 1 : n + 1])
        sizes = [(above.count(separator), below.count(separator)) for separator in ALL_SEPARATORS]
        n -= any(min(a, b) > 0 and abs(a - b) <= 1 for a, b in sizes)
    return n


def _count_separators(line: str, separator: str) -> int:
    line = QUOTED.sub("", line)
    return len(line.split()) - 1 if separator == " " else line.count(separator)


def find_separator(text: str) -> str | None:
    """What separates the fields of a table, in a file that may hold texts; None if it does."""
    lines = text.split("\n")
    lines = [line for line in lines[_count_comments(lines) :] if line.strip()]
    if len(lines) < 2:
        return None
    for separator in PLAIN_SEPARATORS:
        n = _count_separators(lines[1], separator)
        is_table = (
            n > 0
            and _count_separators(lines[0], separator) in (n, max(n - 1, 1))
            and all(_count_separators(line, separator) == n for line in lines[2:])
        )
        if is_table and (separator == "\t" or not any(f"{separator} " in line for line in lines)):
            return separator
    n, n_names = (len(QUOTED.sub("x", line).split()) for line in (lines[1], lines[0]))
    if min(n, len(lines) - 1) < 2 or n_names not in (n, max(n - 1, 2)):
        return None
    records = (QUOTED.sub("x", line).split() for line in lines[1:])
    are_numbers = (len(r) == n and all(map(is_number, r[2:])) for r in records)
    return " " if all(are_numbers) else None


def is_number(value: str) -> bool:
    """Whether a value is a number, and not empty."""
    number = parse_number(value)
    return number is not None and number == number


def _parse_delimited(
    path: Path, text: str, n_skipped: int, separator: str, header: str | None
) -> Records:
    csv.field_size_limit(sys.maxsize)  # a text may be a book
    if separator == "::":
        text = text.replace(separator, UNIT_SEPARATOR)
    source = io.StringIO(text, newline="")
    for _ in range(n_skipped):
        source.readline()
    lines = csv.reader(
        (line.strip() + "\n" for line in source) if separator == " " else source,
        delimiter=UNIT_SEPARATOR if separator == "::" else separator,
        skipinitialspace=separator == " ",
        strict=True,
    )
    names = None if header is None else _names_in_option(header)
    records = []
    numbers = []
    try:
        if header is None:
            names = next(lines, [])
        for fields in lines:
            if any(fields):  # spreadsheets write empty lines as separators alone
                records.append(fields)
                numbers.append(n_skipped + lines.line_num)
    except csv.Error as error:
        raise InputError(
            f"{path}, line {n_skipped + lines.line_num}: {error}: fields are separated by "
            f"{separator!r}, and quotes within quotes are written twice"
        ) from error
    width = len(records[0]) if records else 0
    if names is None:
        names = [f"column {j}" for j in range(width)]
    if not names:
        raise InputError(f"{path}: the first line must be a header with the names of columns")
    if header is None:
        if len(names) == 1 and any(separator in names[0] for separator in ALL_SEPARATORS):
            raise InputError(
                f"{path}: one column, {names[0]!r}, with a separator in its name: is the suffix "
                "right?"
            )
        if len(names) > 1 and records and all(len(f) == len(names) + 1 for f in records):
            if any(fields[-1] for fields in records):
                names = ["", *names]  # as R writes names of rows
            else:  # each line ends with a separator
                records = [fields[:-1] for fields in records]
    elif records and len(names) != width:
        raise InputError(
            f"{path}: {len(names)} names in --header, but the first line has {width} fields"
        )
    _check_widths(
        path, records, numbers, len(names), "the header" if header is None else "--header"
    )
    columns = [Column(name, list(map(itemgetter(j), records))) for j, name in enumerate(names)]
    if names.count("") > 1:  # empty columns beside a table, as spreadsheets write them
        columns = [column for column in columns if column.name or not column.is_empty]
    if len({column.name for column in columns}) < len(columns):
        first = texts.excerpt(", ".join(column.name for column in columns))
        raise InputError(
            f"{path}: a name occurs twice in the header, {first}: rename one, or remove lines "
            "above the header; without a header, give --header NAMES, or --header none for a matrix"
        )
    return make_records(path, columns, numbers, "line", has_line_of_names=header is None)


def _names_in_option(header: str) -> list[str] | None:
    """The names of the option --header; None if they are to be numbers."""
    if header.strip().lower() == "none":
        return None
    return [name.strip() for name in header.split(",")]


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
    advice = ""
    if len(set(widths)) > 2:
        advice = "; if each line is a basket of items, write a line for each basket and item"
    elif width < min(widths) and len(set(widths)) == 1:
        advice = "; remove lines above the header, such as a title"
    i = next(i for i, n in enumerate(widths) if n != width)
    raise InputError(
        f"{path}, line {numbers[i]}: {widths[i]} fields, but {source} has {width}{advice}"
    )


def read_json(path: Path, header: str | None) -> Records:
    """Records of an array of objects, or of lines that are an object each."""
    _refuse_header(path, header)
    text = texts.read_text(path)
    first, _, others = text.strip().partition("\n")
    if table_suffix(path) == ".json" and not (others and first.rstrip().endswith("}")):
        array = _parse_json(text, str(path))
        if not isinstance(array, list):
            raise InputError(f"{path}: not an array of objects; from pandas, write {WRITE_JSON}")
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
            raise InputError(f"{path}, {unit} {number}: not an object with named values")
    values = objects[0].values() if len(objects) == 1 else ()
    if values and all(isinstance(value, dict | list) for value in values):
        raise InputError(
            f"{path}: one object of columns or rows, not an object for each record; from pandas, "
            f"write {WRITE_JSON}"
        )
    names = dict.fromkeys(chain.from_iterable(objects))
    columns = [Column(name, [record.get(name) for record in objects]) for name in names]
    return make_records(path, columns, numbers, unit)


def read_parquet(path: Path, header: str | None) -> Records:
    _refuse_header(path, header)
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
        raise InputError(f"{path}: no records")
    if not columns:
        raise InputError(f"{path}: no named values in any of {len(numbers)} records")
    return Records(path, columns, unit, numbers, index, has_line_of_names)


READERS = {
    ".csv": read_delimited,
    ".tsv": read_delimited,
    ".jsonl": read_json,
    ".ndjson": read_json,
    ".json": read_json,
    ".parquet": read_parquet,
}
