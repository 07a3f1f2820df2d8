"""Records with named fields, of delimited text, JSON and Parquet."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import chain
from math import nan
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from skcooc.cli import texts
from skcooc.cli.texts import InputError
from skcooc.protocol import Array

PARQUET = {"pyarrow": "ArrowException", "polars.exceptions": "PolarsError"}  # their base errors
SEPARATORS = ",;\t|"  # of a .csv: the most frequent one in the header
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


@dataclass(frozen=True)
class Column:
    """The values of a field in all records."""

    name: str
    values: Sequence[Any]

    @cached_property
    def strings(self) -> list[str]:
        return [value if isinstance(value, str) else string(value) for value in self.values]

    @cached_property
    def _cells(self) -> Sequence[Any]:
        """The values, as strings if some are lists, which cannot be looked up."""
        is_nested = any(isinstance(value, list | dict) for value in self.values)
        return self.strings if is_nested else self.values

    @cached_property
    def _parsed(self) -> Mapping[Any, float | None]:
        """Numbers by distinct values: NaN for empty ones, None for those that are no numbers."""
        return {value: parse_number(value) for value in set(self._cells)}

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

    @cached_property
    def is_empty(self) -> bool:
        return not any(self.strings)

    @cached_property
    def is_distinct(self) -> bool:
        """Whether no value is empty or occurs twice."""
        return all(self.strings) and len(set(self.strings)) == len(self.strings)

    @cached_property
    def is_whole(self) -> bool:
        return self.is_number and bool((self.numbers == np.floor(self.numbers)).all())

    @cached_property
    def is_flag(self) -> bool:
        """Whether all values are true or false."""
        return self.is_number and {v.lower() for v in set(self.strings)} <= {*FLAGS, ""}

    @cached_property
    def wrong_number(self) -> int | None:
        """The first value that is no number, if the others are or look like numbers."""
        wrong = {value for value, number in self._parsed.items() if number is None}
        if not wrong:
            return None
        odd = {v for v in wrong if not (isinstance(v, str) and NOT_QUITE_NUMBER.fullmatch(v))}
        n_odd = sum(value in odd for value in self._cells)
        if n_odd > (1 - NEARLY_ALL) * sum(map(bool, self.strings)):
            return None
        return next(i for i, value in enumerate(self._cells) if value in wrong)

    @cached_property
    def mean_words(self) -> float:
        return mean_words(self.strings)


@dataclass(frozen=True)
class Records:
    """Records with named fields, and the place of each in its file."""

    path: Path
    names: Mapping[str, int]  # with their positions
    values: Sequence[Sequence[object]]
    places: Sequence[str]  # "line 2", for messages
    index: tuple[str, ...] = ()  # fields that were the index of a pandas data frame
    has_line_of_names: bool = False  # which may be a record that was taken for names

    def field(self, name: str) -> list[str]:
        """The values of a field as strings; InputError if there is none."""
        return self.column(name).strings

    def labels(self, name: str) -> Array:
        """The labels in a field, (N,): the first of a list, None if empty."""
        values = self.column(name).values
        firsts = (v[0] if isinstance(v, list) and v else v for v in values)
        return np.array([string(value).strip() or None for value in firsts], dtype=object)

    def column(self, name: str) -> Column:
        if name not in self.names:
            columns = ", ".join(self.names)
            raise InputError(f"{self.path}: no column {name!r}; the columns are {columns}")
        position = self.names[name]
        return Column(name, [record[position] for record in self.values])

    @cached_property
    def columns(self) -> list[Column]:
        transposed = zip(*self.values, strict=True)
        return [Column(name, values) for name, values in zip(self.names, transposed, strict=True)]


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
    suffix = table_suffix(path)
    separator: str | None = "\t"
    if suffix == ".csv":
        first = QUOTED.sub("", lines[n_comments])
        separator = max(SEPARATORS, key=first.count)
        if header is not None and separator not in first:
            separator = find_separator(text)
    elif suffix != ".tsv":
        separator = find_separator(text)
    return _parse_delimited(path, text, n_comments, separator or "\t", header)


def table_suffix(path: Path) -> str:
    """The suffix in lower case, of a compressed file that of the file in it."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _count_comments(lines: Sequence[str], has_header: bool = False) -> int:
    """Number of lines at the beginning that start with #, without one that names the fields."""
    n = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    if not any(lines[n:]):
        return 0
    if n and not has_header:
        above, below = (QUOTED.sub("", line) for line in lines[n - 1 : n + 1])
        sizes = [(above.count(separator), below.count(separator)) for separator in SEPARATORS]
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
        separator = UNIT_SEPARATOR
        text = text.replace("::", separator)
    source = io.StringIO(text, newline="")
    for _ in range(n_skipped):
        next(source)
    lines = csv.reader(
        (line.strip() + "\n" for line in source) if separator == " " else source,
        delimiter=separator,
        skipinitialspace=separator == " ",
        strict=True,
    )
    try:
        names = next(lines, []) if header is None else None
        numbered = [(n_skipped + lines.line_num, fields) for fields in lines if fields]
    except csv.Error as error:
        number = n_skipped + lines.line_num
        raise InputError(f"{path}, line {number}: {error}") from error
    if names is None:
        return _with_header(path, header or "", numbered)
    if not names:
        raise InputError(f"{path}: the first line must be a header with the names of columns")
    if len(names) == 1 and any(separator in names[0] for separator in SEPARATORS):
        raise InputError(
            f"{path}: one column, {names[0]!r}, with a separator in its name: is the suffix right?"
        )
    if len(names) > 1 and numbered and all(len(f) == len(names) + 1 for _, f in numbered):
        if any(fields[-1] for _, fields in numbered):
            names = ["", *names]  # as R writes names of rows
        else:  # each line ends with a separator
            numbered = [(number, fields[:-1]) for number, fields in numbered]
    _check_widths(path, numbered, len(names), "the header")
    if names.count("") > 1:  # empty columns beside a table, as spreadsheets write them
        filled = [j for j, n in enumerate(names) if n or any(f[j] for _, f in numbered)]
        names = [names[j] for j in filled]
        numbered = [(number, [fields[j] for j in filled]) for number, fields in numbered]
    if len(set(names)) < len(names) and all(map(is_number, names)):
        raise InputError(
            f"{path}: the first line, {texts.excerpt(', '.join(names))}, is no header with names "
            "of columns: add one, or give --header NAMES, or --header none for a matrix"
        )
    return make_records(path, names, numbered, "line", has_line_of_names=True)


def _with_header(path: Path, header: str, numbered: Sequence[tuple[int, list[str]]]) -> Records:
    """Records of lines without a header, named by the option --header."""
    width = len(numbered[0][1]) if numbered else 0
    names = [f"column {j}" for j in range(width)]
    if header.strip().lower() != "none":
        names = [name.strip() for name in header.split(",")]
        if numbered and len(names) != width:
            raise InputError(
                f"{path}: {len(names)} names in --header, but the first line has {width} fields"
            )
    _check_widths(path, numbered, len(names), "--header")
    return make_records(path, names, numbered, "line")


def _check_widths(
    path: Path, numbered: Sequence[tuple[int, Sequence[str]]], width: int, source: str
) -> None:
    wrong = next(((n, fields) for n, fields in numbered if len(fields) != width), None)
    if wrong is None:
        return
    number, fields = wrong
    advice = ""
    if len({len(f) for _, f in numbered}) > 2:
        advice = "; if each line is a basket of items, write a line for each basket and item"
    raise InputError(
        f"{path}, line {number}: {len(fields)} fields, but {source} has {width}{advice}"
    )


def read_json_lines(path: Path, header: str | None) -> Records:
    _refuse_header(path, header)
    lines = enumerate(texts.split_lines(texts.read_text(path)), 1)
    objects = ((n, _parse_json(line, f"{path}, line {n}")) for n, line in lines if line.strip())
    return _records_of_objects(path, objects, "line")


def read_json_array(path: Path, header: str | None) -> Records:
    _refuse_header(path, header)
    array = _parse_json(texts.read_text(path), str(path))
    if not isinstance(array, list):
        raise InputError(
            f"{path}: not an array of objects; with one object a line, name it .jsonl; from "
            f"pandas, write {WRITE_JSON}"
        )
    return _records_of_objects(path, enumerate(array, 1), "object")


def _parse_json(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        message = f"{place}: not JSON ({error.msg})"
        if error.msg == "Extra data":
            message += "; with one object a line, name it .jsonl"
        raise InputError(message) from error
    except (ValueError, RecursionError) as error:  # too many digits, or too deep
        raise InputError(f"{place}: not JSON ({error})") from error


def _records_of_objects(path: Path, objects: Iterable[tuple[int, Any]], unit: str) -> Records:
    numbered = list(objects)
    for number, record in numbered:
        if not isinstance(record, dict):
            raise InputError(f"{path}, {unit} {number}: not an object with named values")
    if len(numbered) == 1 and numbered[0][1]:
        values = numbered[0][1].values()
        if all(isinstance(value, dict | list) for value in values):
            raise InputError(
                f"{path}: one object of columns or rows, not an object for each record; from "
                f"pandas, write {WRITE_JSON}"
            )
    names = list(dict.fromkeys(chain.from_iterable(record for _, record in numbered)))
    records = ((number, [r.get(name) for name in names]) for number, r in numbered)
    return make_records(path, names, records, unit)


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
        rows = frame.select(names).iter_rows() if names else iter(())
        return make_records(path, names, enumerate(rows, 1), "row", index=tuple(index))
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
    names: Sequence[str],
    numbered: Iterable[tuple[int, Sequence[object]]],
    unit: str,
    *,
    index: tuple[str, ...] = (),
    has_line_of_names: bool = False,
) -> Records:
    pairs = list(numbered)
    if len(set(names)) < len(names):
        raise InputError(
            f"{path}: a name occurs twice in the header {', '.join(names)}: rename one, or remove "
            "lines above the header"
        )
    if not pairs:
        raise InputError(f"{path}: no records")
    if not names:
        raise InputError(f"{path}: no named values in any of {len(pairs)} records")
    places = [f"{unit} {number}" for number, _ in pairs]
    positions = {name: j for j, name in enumerate(names)}
    values = [record for _, record in pairs]
    return Records(path, positions, values, places, index, has_line_of_names)


READERS = {
    ".csv": read_delimited,
    ".tsv": read_delimited,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".json": read_json_array,
    ".parquet": read_parquet,
}
