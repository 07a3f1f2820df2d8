"""Read the data: matrices, records (CSV, JSON, Parquet) or texts."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import scipy.io
import scipy.sparse as sp

from skcooc.cli import texts
from skcooc.cli.terminal import FIELDS, LIMITS, NAMES, Arguments, Screen, first_given
from skcooc.cli.texts import InputError, NamedCounts
from skcooc.counts import check_sparse_structure
from skcooc.inspection.groups import parse_date
from skcooc.protocol import Array
from skcooc.tables.disk import UNREADABLE
from skcooc.tables.pairs import usual_counts

MAX_NAMES = 10**7  # rows or columns, as each has a name
PARQUET = {"pyarrow": "ArrowException", "polars.exceptions": "PolarsError"}  # their base errors
SEPARATORS = ",;\t|"  # of a .csv: the most frequent one in the header
QUOTED = re.compile(r'"[^"]*"')
NAMED_SEPARATOR = re.compile(r"sep=(.)")  # a line above the header, which Excel reads and writes

# A field of texts has long values that differ; names of things are short or repeated.
N_SAMPLE = 1000  # records
MIN_WORDS = 5  # in the mean
MIN_DISTINCT = 0.5  # share of the values
MIN_LENGTH_RATIO = 4  # to the words of other fields, such as titles
TITLES = "title", "subject", "name", "headline", "id"  # fields whose values name texts
MIN_COLUMNS = 10  # of a matrix; pairs have few columns besides
MAX_TIME = 2.0**53  # larger numbers are not one apart
DATE = re.compile(r"(1[5-9]|2[01])\d\d(0[1-9]|1[0-2])([0-2]\d|3[01])")  # such as 20240531
SEEDS = 'use lines such as "cars: car, engine", or {"cars": ["car", "engine"]}'


def read(options: Arguments, screen: Screen) -> NamedCounts:
    """The data that the options ask for; InputError if they cannot be read or used."""
    if options.data is None and (option := first_given(options, *FIELDS, *NAMES)):
        raise InputError(f"{option} needs DATA")
    if options.data is None:
        table = texts.validate(texts.read_bible(options, screen))
    else:
        table = texts.validate(_read_path(options.data, options, screen))
    if options.seeds is None:
        return table
    seeds = read_seeds(options.seeds, table.column_names, table.kinds[1])
    if 0 < options.components < len(seeds):
        raise InputError(
            f"{options.seeds}: {len(seeds)} topics are named, but --components is "
            f"{options.components}"
        )
    return replace(table, seeds=seeds)


def _read_path(path: Path, options: Arguments, screen: Screen) -> NamedCounts:
    try:
        texts.check_ends(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    is_folder = path.is_dir()
    name = path.name.lower()
    is_matrix = not is_folder and name.endswith((".npz", ".mtx", ".mtx.gz"))
    read_records = None if is_folder else READERS.get(Path(name.removesuffix(".gz")).suffix)
    if not is_matrix and (option := first_given(options, *NAMES)):
        raise InputError(f"{path}: {option} applies to matrices only (.npz, .mtx)")
    if read_records is None and (option := first_given(options, *FIELDS)):
        raise InputError(
            f"{path}: {option} applies to files with named columns only "
            "(.csv, .tsv, .jsonl, .json, .parquet)"
        )
    if is_matrix and (option := first_given(options, *LIMITS)):
        raise InputError(f"{path}: {option} applies to texts only")
    if read_records is not None:
        with screen.step(f"reading {path}"):
            records = read_records(path)
        return _count_records(records, options, screen)
    if is_matrix:
        with screen.step(f"reading {path}"):
            return _read_matrix(path, options)
    return (texts.read_folder if is_folder else texts.read_lines)(path, options, screen)


def _read_matrix(path: Path, options: Arguments) -> NamedCounts:
    is_npz = path.name.lower().endswith(".npz")
    format = "a sparse matrix of SciPy" if is_npz else "in Matrix Market format"
    try:
        # Opened here: given a path, NumPy leaves a damaged file open, and mmread does not tell a
        # missing file from a damaged one.
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # SciPy 1.18: matrix or array?
            X = check_sparse_structure(sp.load_npz(file) if is_npz else scipy.io.mmread(path))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or f'not {format}'}") from error
    except UNREADABLE as error:
        raise InputError(f"{path}: not {format}") from error
    if X.ndim != 2:
        raise InputError(f"{path}: an array of {X.ndim} dimensions, not a matrix")
    if max(X.shape) > MAX_NAMES:
        raise InputError(
            f"{path}: a matrix of {X.shape[0]} x {X.shape[1]}, but at most {MAX_NAMES} rows or "
            "columns can be named: remove those without counts"
        )
    row_names = _read_names(options.row_names, X.shape[0], "row")
    column_names = _read_names(options.column_names, X.shape[1], "column")
    return NamedCounts(sp.coo_array(X), row_names, column_names, str(path))


def _read_names(path: Path | None, size: int, side: str) -> Sequence[str]:
    if path is None:
        return [f"{side} {i}" for i in range(size)]
    names = texts.split_lines(path)
    if len(names) != size:
        raise InputError(f"{path}: {len(names)} names, but the matrix has {size} {side}s")
    return names


@dataclass(frozen=True)
class Records:
    """Records with named fields, and the place of each in its file."""

    path: Path
    names: Mapping[str, int]  # with their positions
    values: Sequence[Sequence[object]]
    places: Sequence[str]  # "line 2", for messages

    def field(self, name: str) -> list[str]:
        """The values of a field as strings; InputError if there is none."""
        values = self._values(name)
        return [value if isinstance(value, str) else _string(value) for value in values]

    def labels(self, name: str) -> Array:
        """The labels in a field, (N,): the first of a list, None if empty."""
        firsts = (v[0] if isinstance(v, list) and v else v for v in self._values(name))
        return np.array([_string(value).strip() or None for value in firsts], dtype=object)

    def _values(self, name: str) -> list[object]:
        if name not in self.names:
            columns = ", ".join(self.names)
            raise InputError(f"{self.path}: no column {name!r}; the columns are {columns}")
        position = self.names[name]
        return [record[position] for record in self.values]


def _read_csv(path: Path) -> Records:
    text = texts.read_text(path)
    first = text.partition("\n")[0]
    if named := NAMED_SEPARATOR.fullmatch(first):
        separator = named[1]
    elif path.name.lower().removesuffix(".gz").endswith(".csv"):
        separator = max(SEPARATORS, key=QUOTED.sub("", first).count)
    else:
        separator = "\t"
    csv.field_size_limit(sys.maxsize)  # a text may be a book
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        if named:
            next(lines)
        names = next(lines, [])
        numbered = [(lines.line_num, fields) for fields in lines if fields]
    except csv.Error as error:
        raise InputError(f"{path}, line {lines.line_num}: {error}") from error
    if not names:
        raise InputError(f"{path}: the first line must be a header with the names of columns")
    if len(names) == 1 and any(separator in names[0] for separator in SEPARATORS):
        raise InputError(
            f"{path}: one column, {names[0]!r}, with a separator in its name: is the suffix right?"
        )
    for number, fields in numbered:
        if len(fields) != len(names):
            raise InputError(
                f"{path}, line {number}: {len(fields)} fields, but the header has {len(names)}"
            )
    return _make_records(path, names, numbered, "line")


def _read_json_lines(path: Path) -> Records:
    lines = ((n, line) for n, line in enumerate(texts.split_lines(path), 1) if line.strip())
    objects = ((n, _parse_json(line, f"{path}, line {n}")) for n, line in lines)
    return _records_of_objects(path, objects, "line")


def _read_json_array(path: Path) -> Records:
    array = _parse_json(texts.read_text(path), str(path))
    if not isinstance(array, list):
        raise InputError(f"{path}: not an array of objects; with one object a line, name it .jsonl")
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
    names = list(dict.fromkeys(chain.from_iterable(record for _, record in numbered)))
    values = ((number, [r.get(name) for name in names]) for number, r in numbered)
    return _make_records(path, names, values, unit)


def _read_parquet(path: Path) -> Records:
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
        except (errors, OSError, ValueError) as error:
            raise InputError(f"{path}: not a Parquet file") from error
        return _make_records(path, frame.columns, enumerate(frame.iter_rows(), 1), "row")
    raise InputError(f"{path}: Parquet needs pyarrow or polars: `pip install pyarrow`")


def _string(value: object) -> str:
    """A value as a field of a CSV file would have it."""
    if value is None or value != value:  # NaN, which pandas has for missing values
        return ""
    if isinstance(value, bytes):  # of Parquet, whose older writers do not mark texts
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, list):  # such as the topics of a text
        return ", ".join(map(_string, value))
    return str(value)


def _make_records(
    path: Path, names: Sequence[str], numbered: Iterable[tuple[int, Sequence[object]]], unit: str
) -> Records:
    pairs = list(numbered)
    if len(set(names)) < len(names):
        raise InputError(f"{path}: a name occurs twice in the header {', '.join(names)}")
    if not pairs:
        raise InputError(f"{path}: no records")
    if not names:
        raise InputError(f"{path}: no named values in any of {len(pairs)} records")
    places = [f"{unit} {number}" for number, _ in pairs]
    positions = {name: j for j, name in enumerate(names)}
    return Records(path, positions, [values for _, values in pairs], places)


READERS = {
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".json": _read_json_array,
    ".parquet": _read_parquet,
}


def _count_records(records: Records, options: Arguments, screen: Screen) -> NamedCounts:
    """Counts of texts if a field has some, else of a matrix or pairs; InputError if ambiguous."""
    text = _text_field(records, options)
    if text is None:
        if option := first_given(options, "group", "time", "batch", *LIMITS):
            raise InputError(
                f"{records.path}: {option} applies to texts only; name their column with --text"
            )
        return _count_matrix(records, options) or _count_pairs(records, options)
    if option := first_given(options, "column", "count"):
        raise InputError(f"{records.path}: {option} applies to pairs only, not to --text")
    values = records.field(text)
    if row := options.row or _title_field(records, text):
        names = records.field(row)
    else:
        numbers = (place.rpartition(" ")[2] for place in records.places)
        names = [f"{n}: {texts.excerpt(value)}" for n, value in zip(numbers, values, strict=True)]
    title = f"{records.path}, texts of {text!r}"
    table = texts.count_words(values, names, title, options, screen)
    groups = None if options.group is None else records.labels(options.group)
    batches = None if options.batch is None else records.labels(options.batch)
    times = None if options.time is None else _parse_times(records, options.time)
    return replace(table, groups=groups, batches=batches, times=times)


def _text_field(records: Records, options: Arguments) -> str | None:
    """The field of texts that is asked for, or evident; None if the records are pairs."""
    if options.text is not None:
        return options.text
    if options.column or options.count:
        return None
    sample = replace(records, values=records.values[:N_SAMPLE])
    n_words = {name: mean_words(sample.field(name)) for name in sample.names}
    longest, *shorter = sorted(records.names, key=lambda name: -n_words[name])
    if not n_words[longest]:
        return None
    if shorter and n_words[longest] < MIN_LENGTH_RATIO * n_words[shorter[0]]:
        raise InputError(
            f"{records.path}: {longest!r} and {shorter[0]!r} both look like texts: name one of "
            "them with --text, or the columns of pairs with --row and --column"
        )
    return longest


def mean_words(values: Sequence[str]) -> float:
    """Mean number of words if the values look like texts, else 0."""
    filled = list(filter(None, map(str.strip, values)))
    shortest = 2 * MIN_WORDS - 1  # characters of so many words
    if not filled or sum(map(len, filled)) < shortest * len(filled):
        return 0.0
    if len(set(filled)) < MIN_DISTINCT * len(filled):
        return 0.0
    n_words = sum(len(value.split()) for value in filled) / len(filled)
    return n_words if n_words >= MIN_WORDS else 0.0


def _title_field(records: Records, text: str) -> str | None:
    """The first field of TITLES whose values differ and are not empty."""
    fields = {name.strip().lower(): name for name in records.names if name != text}
    for title in filter(fields.__contains__, TITLES):
        values = [value.strip() for value in records.field(fields[title])]
        if all(values) and len(set(values)) == len(values):
            return fields[title]
    return None


def _parse_times(records: Records, name: str) -> Array:
    """Numbers or dates of a field, NaN or NaT for empty values."""
    filled = list(filter(None, map(str.strip, records.field(name))))
    are_dates = all(map(DATE.fullmatch, filled)) or not all(map(_is_number, filled))
    times = []
    for value, place in zip(records.field(name), records.places, strict=True):
        try:
            times.append(_parse_time(value.strip(), are_dates))
        except (ValueError, OverflowError) as error:
            raise InputError(
                f"{records.path}, {place}: {value!r} of {name!r} is not a time: use numbers up to "
                f"{MAX_TIME:.0e}, or dates such as 2024-05-31"
            ) from error
    return np.array(times)


def _parse_time(value: str, is_date: bool) -> float | np.datetime64:
    if is_date:  # local, as in the explorer
        return np.datetime64(parse_date(value).replace(tzinfo=None) if value else "NaT", "s")
    number = float(value or "nan")
    if abs(number) > MAX_TIME:
        raise OverflowError(value)
    return number


def _count_matrix(records: Records, options: Arguments) -> NamedCounts | None:
    """A matrix of counts, perhaps with names of rows first; None if the records are pairs."""
    names = list(records.names)
    if len(names) < MIN_COLUMNS or first_given(options, "row", "column", "count"):
        return None
    row_names = records.field(names[0])
    has_names = names[0].strip().lower() in ("", *TITLES) or not all(map(_is_number, row_names))
    try:
        counts = np.array([_numbers(record[has_names:]) for record in records.values])
    except (TypeError, ValueError):
        return None
    if not has_names:
        row_names = [f"row {i}" for i in range(len(counts))]
    return NamedCounts(sp.coo_array(counts), row_names, names[has_names:], str(records.path))


def _numbers(values: Sequence[Any]) -> Array:
    """The values as numbers, zero where they are empty; equal ones are parsed once."""
    parsed = {value: float(value or 0) for value in set(values)}
    return np.fromiter(map(parsed.__getitem__, values), dtype=float, count=len(values))


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _count_pairs(records: Records, options: Arguments) -> NamedCounts:
    path = records.path
    names = list(records.names)
    used = options.row, options.column
    count = options.count or usual_counts(name for name in names if name not in used)
    pair = [name for name in names if name != count]
    if len(pair) < 2:
        raise InputError(
            f"{path}: one column, {(pair or names)[0]!r}, but pairs need two besides counts; "
            "if it holds texts, name it with --text"
        )
    row = options.row or pair[0]
    column = options.column or pair[1]
    rows = records.field(row)
    columns = records.field(column)
    if row == column:
        raise InputError(f"{path}: rows and columns are both {row!r}")
    for name, values in ((row, rows), (column, columns)):
        if "" in values:
            raise InputError(
                f"{path}, {records.places[values.index('')]}: no value of {name!r}, in "
                f"{values.count('')} of {len(values)} records; remove these"
            )
    counts = [1.0] * len(rows) if count is None else _parse_counts(records, count)
    if options.column is None and count is None:  # chosen here, not by the user
        for name, values in ((row, rows), (column, columns)):
            if 2 < len(values) == len(set(values)):
                raise InputError(
                    f"{path}: each value of {name!r} occurs only once, but models need repeated "
                    "values: name a column of texts with --text, or those of pairs with --row and "
                    f"--column; a table of counts needs {MIN_COLUMNS} columns"
                )
    row_names, i = _names_and_positions(rows)
    column_names, j = _names_and_positions(columns)
    X = sp.coo_array((counts, (i, j)), shape=(len(row_names), len(column_names)))
    kinds = f"values of {texts.excerpt(row)}", f"values of {texts.excerpt(column)}"
    title = f"{path}, pairs of {row!r} and {column!r}"
    title += ", each line counted once" if count is None else f", counts of {count!r}"
    return NamedCounts(X, row_names, column_names, title, kinds)


def _names_and_positions(values: Sequence[str]) -> tuple[list[str], list[int]]:
    """Sorted distinct values, and the position of each value, without padded strings."""
    names = sorted(set(values))
    positions = {name: i for i, name in enumerate(names)}
    return names, [positions[value] for value in values]


def _parse_counts(records: Records, name: str) -> list[float]:
    counts = []
    for place, value in zip(records.places, records.field(name), strict=True):
        try:
            count = float(value)
        except ValueError:
            count = math.nan
        if not 0 <= count < math.inf:
            raise InputError(
                f"{records.path}, {place}: {value!r} is not a count: use numbers >= 0, such as 3 "
                "or 0.5"
            )
        counts.append(count)
    return counts


def read_seeds(path: Path, columns: Collection[str], kind: str) -> dict[str, list[str]]:
    """Columns of each named topic; InputError for other files, and names that are no columns."""
    text = texts.read_text(path)
    topics = list((_from_json if text.lstrip().startswith("{") else _from_lines)(path, text))
    seeds = dict(topics)
    if not seeds:
        raise InputError(f"{path}: no topics: {SEEDS}")
    if len(seeds) < len(topics):
        raise InputError(f"{path}: a topic is named twice in {', '.join(n for n, _ in topics)}")
    columns = set(columns)
    if unknown := [(word, name) for name, words in topics for word in words if word not in columns]:
        listed = ", ".join(f"{word!r} of {name!r}" for word, name in unknown)
        raise InputError(
            f"{path}: not among the {kind} of the data: {listed}; remove these, or see --min-df, "
            "--max-df and --stop-words, which drop words"
        )
    return seeds


def _from_json(path: Path, text: str) -> Iterator[tuple[str, list[str]]]:
    try:
        topics = json.loads(text, object_pairs_hook=list)  # to see names that come twice
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error})") from error
    for name, words in topics:
        is_list = isinstance(words, list) and all(isinstance(word, str) for word in words)
        if not (name.strip() and is_list and words):
            raise InputError(f"{path}: {name!r} is no topic with a list of names: {SEEDS}")
        yield name, words


def _from_lines(path: Path, text: str) -> Iterator[tuple[str, list[str]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            name, _, words = line.partition(":")
            listed = [word.strip() for word in words.split(",") if word.strip()]
            if not (name.strip() and listed):
                raise InputError(f"{path}, line {number}: no topic with names: {SEEDS}")
            yield name.strip(), listed
