"""The terminal: arguments with their help and checks, text, and progress."""

from __future__ import annotations

import argparse
import io
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NoReturn, TextIO, TypeVar

from sklearn.base import BaseEstimator

from skcooc.protocol import scikit_learn

Estimator = TypeVar("Estimator", bound=BaseEstimator)
Item = TypeVar("Item")

# Control characters, line separators and changes of direction: a terminal would obey them.
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")

DESCRIPTION = """\
Find topics or clusters in texts, in pairs such as user and item, or in a matrix of counts,
and print a report.

Without DATA, the command analyses the chapters of the King James Bible, which comes with the
package."""

MODELS_HELP = """\
aspect and product-space find topics, asymmetric and projection find clusters of rows, symmetric
finds clusters of rows and of columns, and abstraction finds a tree of clusters of rows (default:
%(default)s)"""

# Options that say what is read, and how: columns of records, names of matrices, limits of texts.
FIELDS = (
    *("row", "column", "count", "text", "group", "time", "batch"),
    *("names", "matrix", "drop", "header"),
)
NAMES = "row_names", "column_names", "transpose"
LIMITS = "min_df", "max_df", "token_pattern"
READING = *FIELDS, *NAMES, "encoding", "stop_words", *LIMITS, "seeds"
TEST_SIZE = 0.1
MAX_ITER = 500

EPILOG = """\
DATA is one of
  a folder        texts, one document per file
  FILE            texts, one document per line, or a table if all lines have equally many fields
  FILE.csv, .tsv  a table with a header line: texts, pairs such as user and item, or a matrix
  FILE.jsonl      a table with one JSON object per line; .ndjson and .json are read as well
  FILE.json       a table as an array of JSON objects
  FILE.parquet    a table (needs pyarrow or polars); the index of a pandas frame names the rows
  FILE.npz, .npy  a matrix of counts, written by scipy.sparse.save_npz or numpy.save
  FILE.mtx        a matrix of counts in Matrix Market format
  docword.X.txt   a bag of words in the format of the UCI repository, with vocab.X.txt beside it
All files except .npz, .npy and .parquet may be compressed with gzip, as in FILE.csv.gz.

A table is read as texts if one column holds much longer texts than the others. It is read as a
matrix of counts if it has at least 10 columns and most of them hold numbers, or if the first column
holds distinct names and at least two others hold numbers. Empty cells of a matrix are zeros. Its
rows are named by the first column of distinct texts, or of numbers that is called user_id, #OTU ID
or the like. Other columns of text, and without --matrix a row or column of totals, are left out,
and the report says so. Any other table is read as pairs of its first two columns. If the command
cannot tell which columns are meant, it stops and asks for --names, --drop, --matrix, or --row and
--column.

--seeds reads a file with typical words of topics that you know. Each line names a topic and lists
its words, as in "cars: car, engine". For words that contain commas, write the file as JSON, as in
{"cars": ["car", "engine"]}. All other topics are found without seeds.

--compare holds out a part of the counts of each row for testing, and fits several models to the
rest. Perplexity is exp(-mean log P(column | row)) of the test data. It is the effective number of
columns that a model hesitates between, so lower is better. "with cache" is the perplexity of the
model combined with a within-document cache (skcooc.RowMemory), which makes words more likely once
a row has used them.

Names are written to .csv files unchanged. A spreadsheet reads a name that starts with = + - or @
as a formula.

The report goes to stdout. Progress goes to stderr, if that is a terminal. Output files are written
before the report is printed, either all of them or none. --compare adds its table to summary.json.
The files are complete even if the report is cut off, as by "| head".

The exit code is 0 for success, 2 for wrong arguments or unusable data, 1 if output cannot be
written or memory runs out, 130 if the command is interrupted, and 141 if the program that reads the
report has closed the pipe. Each error is one line on stderr.

examples
  skcooc
  skcooc reviews/ --components 16 --output result
  skcooc news.csv --text body --group desk --time date --html topics.html --title News
  skcooc news.csv --text body --seeds topics.txt --compare
  skcooc plays.csv --row listener --column song --count times
  skcooc crosstab.csv --names user --drop year
  skcooc u.data --header user,item,rating,time
  skcooc counts.npz --column-names vocabulary.txt --beta 0.8"""


@dataclass(frozen=True)
class Arguments:
    """Arguments of a run; see ``skcooc --help``."""

    data: Path | None
    row: str | None
    column: str | None
    count: str | None
    text: str | None
    group: str | None
    time: str | None
    batch: str | None
    names: str | None
    matrix: Literal[True] | None
    drop: list[str] | None
    header: str | None
    transpose: Literal[True] | None
    row_names: Path | None
    column_names: Path | None
    encoding: str | None
    stop_words: Literal["english", "none"] | None
    min_df: int | float | None
    max_df: int | float | None
    token_pattern: str | None
    seeds: Path | None
    model: str
    components: int  # 0: it depends on the data
    beta: float | Literal["auto"]
    max_iter: int
    compare: bool
    test_size: float
    seed: int
    jobs: int
    nearest: list[str]
    top: int
    order: Literal["characteristic", "probable"]
    output: Path | None
    html: Path | None
    title: str | None
    progress: bool


def first_given(options: Arguments, *names: str) -> str | None:
    """The first of these options that is set, as it is written on the command line."""
    for name in names:
        if getattr(options, name) is not None:
            return f"--{name.replace('_', '-')}"
    return None


def argument(name: str, value: str) -> str:
    """An option with its value, as it is typed in a shell."""
    return f"--{name}{'=' if value.startswith('-') else ' '}{shlex.quote(value)}"


class _Once(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):  # type: ignore[no-untyped-def]
        if getattr(namespace, self.dest) is not None:
            raise argparse.ArgumentError(self, "given twice: keep one of them")
        setattr(namespace, self.dest, values)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"skcooc: error: {message} (see skcooc --help)\n")


def parse(argv: Sequence[str] | None, models: Sequence[str]) -> Arguments:
    """Parse arguments, by default those of the process; ``models`` are choices of ``--model``."""
    from skcooc import __version__  # skcooc is imported before its command line

    parser = _Parser(
        prog="skcooc",
        description=DESCRIPTION,
        epilog=EPILOG,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"skcooc {__version__}")
    _add_data(parser)
    _add_model(parser, models)
    _add_output(parser)
    options = parser.parse_args(argv)
    for name in ("seeds", "batch"):
        if getattr(options, name) is not None and options.model != "aspect":
            parser.error(f"--{name} works with --model aspect only, not with {options.model}")
    if options.compare and options.batch is not None:
        parser.error(
            "--compare cannot be combined with --batch, because models with factors of batches "
            "have no cache: leave one of them out"
        )
    if options.test_size is None:
        options.test_size = TEST_SIZE
    elif not options.compare:
        parser.error("--test-size needs --compare")
    return Arguments(**vars(options))


def _add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "data", nargs="?", type=_path, metavar="DATA", help="file or folder to read, see below"
    )
    group = parser.add_argument_group("columns (tables: .csv, .tsv, .jsonl, .json, .parquet)")
    named = partial(group.add_argument, metavar="NAME", action=_Once)
    named("--text", help="column that holds the texts (default: detected)")
    named(
        "--group",
        help=(
            "for texts: column of groups, to compare their shares of topics (of a list, the "
            "first item counts)"
        ),
    )
    named(
        "--batch",
        help=(
            "for texts: column of batches, such as sources; words typical of one batch then do not "
            "form a topic"
        ),
    )
    named(
        "--time",
        help=(
            "for texts: column of times, to follow topics over at most twelve periods; numbers, or "
            "dates such as 2024-05-31, 05/31/2024 or those of e-mails"
        ),
    )
    named(
        "--row",
        help=(
            "for pairs: column whose values become the rows (default: the first that holds no "
            "counts); for texts: column with their names (default: title, subject, name, headline, "
            "id or one like user_id, if its values are distinct)"
        ),
    )
    named(
        "--column",
        help=(
            "for pairs: column whose values become the columns (default: the second that holds no "
            "counts)"
        ),
    )
    named(
        "--count",
        help=(
            "for pairs: column of counts (default: a column named count, n, freq or weight; "
            "without one, each line counts once)"
        ),
    )
    named("--names", help="for a matrix: column with the names of its rows (default: detected)")
    switch = partial(group.add_argument, action="store_const", const=True)
    switch("--matrix", help="the table is a matrix, and all its numbers are counts")
    group.add_argument(
        "--drop", metavar="NAME", action="append", help="column to leave out; can be repeated"
    )
    group.add_argument(
        "--header",
        metavar="NAMES",
        action=_Once,
        help=(
            "for a table without a header line: names of all its columns, as in user,item,count, "
            'or "none" to number them'
        ),
    )
    matrices = parser.add_argument_group("matrices").add_argument
    for side in ("row", "column"):
        matrices(
            f"--{side}-names",
            type=_path,
            metavar="FILE",
            help=f"file with the names of the {side}s, one per line",
        )
    matrices(
        "--transpose",
        action="store_const",
        const=True,
        help="exchange rows and columns; --row-names then names the new rows",
    )
    parser.add_argument_group("text files").add_argument(
        "--encoding",
        type=_encoding,
        metavar="NAME",
        help=(
            "encoding of DATA and of files with names or seeds, such as cp1252 or gb18030 "
            "(default: UTF-8, or UTF-16 if the file begins with a byte order mark)"
        ),
    )
    texts = parser.add_argument_group("texts").add_argument
    texts("--stop-words", choices=["english", "none"], help="stop words to drop (default: english)")
    limits = partial(texts, type=_document_frequency, metavar="N")
    limits(
        "--min-df",
        help=(
            "drop words that occur in fewer than N documents; a share such as 0.01 is possible as "
            "well (default: 5, with fewer than 1000 documents 2, with fewer than 100 documents 1)"
        ),
    )
    limits(
        "--max-df",
        help=(
            "drop words that occur in more than N documents, or in more than a share such as 0.5 "
            "(default: drop only those frequent words that say little about a topic; 1.0 keeps all)"
        ),
    )
    texts(
        "--token-pattern",
        type=_pattern,
        metavar="REGEX",
        help="regular expression for a word (default: two letters or more, in any script)",
    )


def _add_model(parser: argparse.ArgumentParser, models: Sequence[str]) -> None:
    add = parser.add_argument_group("model").add_argument
    add("--model", choices=models, default=models[0], help=MODELS_HELP)
    add(
        "-k",
        "--components",
        type=_positive,
        default=0,
        metavar="K",
        help=(
            "number of topics or clusters (default: for aspect, 4, 8, 16 and 32 topics are tried "
            "until held-out perplexity stops falling, and nearly equal topics are merged; for "
            "symmetric, of pairs and matrices, the numbers of both sides are searched; otherwise "
            "32; at most a tenth of the number of rows)"
        ),
    )
    add(
        "--seeds",
        type=_path,
        metavar="FILE",
        help="file with topics that you know and their typical words (--model aspect); see below",
    )
    add(
        "--beta",
        type=_beta,
        default="auto",
        help=(
            "inverse temperature, above 0 and at most 1: smaller values make topics smoother "
            '(default: "auto", which tunes it)'
        ),
    )
    add(
        "--max-iter",
        type=_positive,
        default=MAX_ITER,
        metavar="N",
        help="maximum number of EM iterations (default: %(default)s)",
    )
    add(
        "--compare",
        action="store_true",
        help=(
            "compare the held-out perplexity of the model with that of a topic-free baseline, of "
            "other fits, and of LDA"
        ),
    )
    add(
        "--test-size",
        type=_share,
        metavar="SHARE",
        help=f"with --compare: share of the counts to hold out, at most 0.5 (default: {TEST_SIZE})",
    )
    add(
        "--seed",
        type=_seed,
        default=0,
        metavar="N",
        help="random seed for initialisations and the choice of test data (default: %(default)s)",
    )
    add(
        "--jobs",
        type=_jobs,
        default=-1,
        metavar="N",
        help="number of threads (default: -1, all cores)",
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("output").add_argument
    add(
        "--top",
        type=_positive,
        default=10,
        metavar="N",
        help="number of words to show for each topic (default: 10)",
    )
    add(
        "--order",
        choices=["characteristic", "probable"],
        default="characteristic",
        help=(
            "which words of a topic come first: the most characteristic or the most probable "
            "(default: %(default)s)"
        ),
    )
    add(
        "--nearest",
        action="append",
        default=[],
        metavar="ROW",
        help="show the rows nearest to the row of this name; can be repeated",
    )
    add(
        "-o",
        "--output",
        type=_path,
        metavar="FOLDER",
        help=(
            "write components.csv, embedding.csv, summary.json and model.joblib into this folder, "
            "and with --group or --time also shares_by_group.csv or shares_by_time.csv"
        ),
    )
    add(
        "--html",
        type=_path,
        metavar="FILE",
        help="write a web page to explore the model, such as topics.html (needs Jinja2)",
    )
    add("--title", metavar="TEXT", help="heading of the page (default: the name of DATA)")
    add(
        "--no-progress",
        dest="progress",
        action="store_false",
        help="print only errors on stderr",
    )


def _number(expected: str, kind: type, accept: Callable[[float], bool]) -> Callable:
    """A type of argument that accepts some numbers; its error names the expected ones."""

    def convert(text: str) -> int | float:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not accept(value):
            raise argparse.ArgumentTypeError(f"{text!r} is not {expected}")
        return value

    return convert


_positive = _number("a positive whole number", int, lambda n: n >= 1)
_seed = _number("a whole number from 0 to 2^32 - 1", int, lambda n: 0 <= n < 2**32)
_jobs = _number("a whole number other than 0", int, lambda n: n != 0)
_share = _number("a number above 0 and at most 0.5", float, lambda s: 0 < s <= 0.5)
_temperature = _number('a number above 0 and at most 1, or "auto"', float, lambda b: 0 < b <= 1)
_frequency = _number("a positive whole number or a share up to 1", float, lambda s: 0 < s <= 1)


def _beta(text: str) -> float | str:
    return text if text == "auto" else _temperature(text)


def _encoding(name: str) -> str:
    try:
        "".encode(name)
    except LookupError as error:
        raise argparse.ArgumentTypeError(
            f"{name!r} is not an encoding of texts; common ones are utf-8, utf-16, cp1252 and "
            "gb18030"
        ) from error
    return name


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a valid regular expression: {error}"
        ) from error
    return text


def _path(text: str) -> Path:
    if not text:  # it would be the current folder
        raise argparse.ArgumentTypeError("the path is empty")
    return Path(text)


def _document_frequency(text: str) -> int | float:
    return _positive(text) if text.isdecimal() else _frequency(text)


def printable(text: str) -> str:
    """Escape control characters, as names of rows may have."""
    return CONTROLS.sub(lambda match: repr(match[0])[1:-1], text)


class SafeStream:
    """Standard output or error that may be missing, closed or full, and raises no OSError.

    The first error is kept in ``error``; what is written after it is lost.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self.error: OSError | None = None
        self.is_missing = stream is None
        self._stream = io.StringIO() if stream is None else stream

    @property
    def is_lost(self) -> bool:
        return self.is_missing or self.error is not None

    def write(self, text: str) -> int:
        with self._kept_error():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._kept_error():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @contextmanager
    def _kept_error(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.error = self.error or error
            # Python writes what is still buffered when it exits, and must not fail there.
            with suppress(OSError), open(os.devnull, "wb") as null:
                os.dup2(null.fileno(), self._stream.fileno())


@contextmanager
def safe_streams() -> Iterator[SafeStream]:
    """Let all code write to stdout and stderr without errors; gives stdout."""
    stdout = sys.stdout
    stderr = sys.stderr
    sys.stdout = safe_out = SafeStream(stdout)
    sys.stderr = safe_err = SafeStream(stderr)
    try:
        yield safe_out
    finally:
        safe_out.flush()
        safe_err.flush()
        sys.stdout = stdout
        sys.stderr = stderr


def say(text: str, stream: TextIO | SafeStream) -> None:
    """Write a text; characters that the encoding of the stream lacks are escaped."""
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


class Screen:
    """Progress on stderr if it is a terminal, with bars if rich is installed."""

    def __init__(self, wanted: bool) -> None:
        self.shown = wanted and sys.stderr.isatty()
        self._bars = self.shown and find_spec("rich") is not None
        if self._bars:
            from rich import reconfigure

            reconfigure(stderr=True)  # scikit-learn's bars go where that of rich writes

    def announce(self, label: str) -> None:
        if self.shown:
            say(f"{printable(label)}\n", sys.stderr)
            sys.stderr.flush()

    def watch(self, model: Estimator) -> Estimator:
        """Give a model a progress bar, if it supports callbacks."""
        if self._bars and scikit_learn.HAS_CALLBACKS and hasattr(model, "set_callbacks"):
            model.set_callbacks(scikit_learn.ProgressBar())
        return model

    def track(self, items: Sequence[Item], label: str) -> Iterable[Item]:
        if not self._bars:
            self.announce(label)
            return items
        from rich.markup import escape
        from rich.progress import track

        return track(items, escape(printable(label)), len(items))

    @contextmanager
    def step(self, label: str) -> Iterator[None]:
        """Show the elapsed time of a step of unknown length."""
        if not self._bars:
            self.announce(label)
            yield
            return
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        text = TextColumn("{task.description}", markup=False)
        with Progress(text, BarColumn(), TimeElapsedColumn()) as progress:
            task = progress.add_task(printable(label), total=None)
            yield
            progress.update(task, total=1, completed=1)
