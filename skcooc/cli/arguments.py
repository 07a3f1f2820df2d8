"""Arguments of the command line: options, their help and their checks."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, NoReturn

DESCRIPTION = """\
Fit a mixture model to co-occurrence data and compare it with others on held-out observations.

Without DATA, it fits the docstrings of NumPy, SciPy and scikit-learn, which needs no download."""

MODELS_HELP = """\
aspect and product-space: topics, of which rows are mixtures; asymmetric and projection: clusters of
rows; symmetric: of rows and of columns; abstraction: a tree of clusters (default: %(default)s)"""

EPILOG = """\
DATA is one of
  a folder        of texts, one document a file (UTF-8)
  FILE            of texts, one document a line
  FILE.csv, .tsv  with a header line: texts, or pairs, say user and item; see "columns"
  FILE.jsonl      an object on each line; also .ndjson, and .json, an array of objects
  FILE.parquet    a data frame (needs pyarrow or polars)
  FILE.npz        a sparse matrix of counts, as scipy.sparse.save_npz writes it
  FILE.mtx        a matrix of counts in Matrix Market format
All but .npz, .parquet and folders may be compressed, as in FILE.csv.gz.

The perplexity of a model is exp(-mean log P(column | row)) over the observations held out, a part
of each row; every model is fitted to the others. The seconds are those of its fit. "With memory" is
the perplexity where a row predicts, beside what the model says of it, the columns that it has
already: words come in bursts, and a model is worth what it adds to the line without topics that
knows this. At the end, the chosen model is fitted once more, to all observations; its memory is
skcooc.RowMemory, around it.

The report goes to stdout; progress goes to stderr, where it is a terminal. Files appear when all
of them are written. The exit code is 0 if it worked, 2 if arguments or data cannot be used, 1 if
output cannot be written or memory is not enough, and 130 if interrupted; why is said in one line on
stderr.

examples
  python -m skcooc
  python -m skcooc reviews/ --components 16 --output result
  python -m skcooc news.csv --text body --group desk --time date --html topics.html --title News
  python -m skcooc plays.csv --row listener --column song --count times
  python -m skcooc counts.npz --column-names vocabulary.txt --beta 0.8"""


@dataclass(frozen=True)
class Arguments:
    """Arguments of a run; see ``python -m skcooc --help``."""

    data: Path | None
    row: str | None
    column: str | None
    count: str | None
    text: str | None
    group: str | None
    time: str | None
    row_names: Path | None
    column_names: Path | None
    stop_words: Literal["english", "none"]
    min_df: int | float | None
    max_df: int | float | None
    model: str
    components: int
    beta: float | Literal["auto"]
    max_iter: int
    test_size: float
    seed: int
    jobs: int
    skip_lda: bool
    nearest: list[str]
    top: int
    order: Literal["characteristic", "probable"]
    output: Path | None
    html: Path | None
    title: str | None
    progress: bool


def first_given(options: Arguments, *names: str) -> str | None:
    """The first of these options that is set, as it is written on the command line."""
    given = (name for name in names if getattr(options, name) is not None)
    return next((f"--{name.replace('_', '-')}" for name in given), None)


class _Once(argparse.Action):
    """Store a value; an error if it is given twice."""

    def __call__(self, parser, namespace, values, option_string=None):  # type: ignore[no-untyped-def]
        if getattr(namespace, self.dest) is not None:
            raise argparse.ArgumentError(self, "given twice")
        setattr(namespace, self.dest, values)


class _Parser(argparse.ArgumentParser):
    """A parser with errors of one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"skcooc: error: {message} (see python -m skcooc --help)\n")


def parse(argv: Sequence[str] | None, models: Sequence[str]) -> Arguments:
    """Parse arguments, by default those of the process.

    ``models`` are the choices of ``--model``. SystemExit is raised with code 2 for wrong arguments,
    and 0 after ``--help`` and ``--version``.
    """
    from skcooc import __version__  # skcooc is imported before its command line

    parser = _Parser(
        prog="python -m skcooc",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"skcooc {__version__}")
    _add_data(parser)
    _add_model(parser, models)
    _add_output(parser)
    return Arguments(**vars(parser.parse_args(argv)))


def _add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", nargs="?", type=Path, metavar="DATA", help="see below")
    group = parser.add_argument_group("columns (.csv, .tsv, .jsonl, .json, .parquet)")
    named = partial(group.add_argument, metavar="NAME", action=_Once)
    what = "texts (default: the column that has long ones, if there is one; else there are pairs)"
    named("--text", help=what)
    named("--group", help="with texts: their groups, whose shares of topics are compared")
    what = "with texts: their times, numbers or dates such as 2024-05-31, put into periods"
    named("--time", help=what)
    what = (
        "rows of pairs (default: the first column), or names of texts (default: a column called "
        "title, subject, name, headline or id, if all are different)"
    )
    named("--row", help=what)
    named("--column", help="columns of pairs (default: the second)")
    what = 'counts of pairs (default: "count" if there is one; else each line counts once)'
    named("--count", help=what)
    matrices = parser.add_argument_group("matrices (.npz, .mtx)").add_argument
    for side in ("row", "column"):
        what = f"names of the {side}s, one a line"
        matrices(f"--{side}-names", type=Path, metavar="FILE", help=what)
    texts = parser.add_argument_group("texts").add_argument
    what = "words to leave out (default: english)"
    texts("--stop-words", choices=["english", "none"], default="english", help=what)
    limits = partial(texts, type=_document_frequency, metavar="N")
    what = (
        "drop words in fewer documents: a number, or a share below 1 "
        "(default: 5; 2 below 1000 documents, 1 below 100)"
    )
    limits("--min-df", help=what)
    limits("--max-df", help="drop words in more documents (default: .25; .5 below 1000 documents)")


def _add_model(parser: argparse.ArgumentParser, models: Sequence[str]) -> None:
    add = parser.add_argument_group("model").add_argument
    add("--model", choices=models, default=models[0], help=MODELS_HELP)
    what = "number of aspects, which are topics, or of clusters (default: %(default)s)"
    add("-k", "--components", type=_positive, default=32, metavar="K", help=what)
    what = 'inverse temperature in (0, 1], or "auto" to choose it (default: auto)'
    add("--beta", type=_beta, default="auto", help=what)
    what = "largest number of EM iterations (default: %(default)s)"
    add("--max-iter", type=_positive, default=500, metavar="N", help=what)
    what = "share of the observations held out, at most .5 (default: .1)"
    add("--test-size", type=_share, default=0.1, metavar="SHARE", help=what)
    what = "seed of what is held out and of all starts (default: %(default)s)"
    add("--seed", type=_seed, default=0, metavar="N", help=what)
    add("--jobs", type=_jobs, default=-1, metavar="N", help="threads (default: -1, all cores)")
    add("--skip-lda", action="store_true", help="do not fit scikit-learn's LDA")


def _add_output(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("output").add_argument
    add("--top", type=_positive, default=10, metavar="N", help="words shown of each (default: 10)")
    what = "which words: those that distinguish it, or the most probable (default: %(default)s)"
    add("--order", choices=["characteristic", "probable"], default="characteristic", help=what)
    what = "name of a row whose nearest ones are shown; can be given several times"
    add("--nearest", action="append", default=[], metavar="ROW", help=what)
    what = (
        "write components.csv, embedding.csv, summary.json and model.joblib there, and with "
        "--group and --time shares_by_group.csv and shares_by_time.csv"
    )
    add("-o", "--output", type=Path, metavar="FOLDER", help=what)
    what = "write a page to look through the model there, such as topics.html (needs Jinja2)"
    add("--html", type=Path, metavar="FILE", help=what)
    add("--title", metavar="TEXT", help="heading of the page (default: the name of DATA)")
    add("--no-progress", dest="progress", action="store_false", help="nothing on stderr but errors")


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
_share = _number("a number in (0, .5]", float, lambda s: 0 < s <= 0.5)
_temperature = _number('a number in (0, 1] or "auto"', float, lambda b: 0 < b <= 1)
_frequency = _number("a positive number or a share", float, lambda s: 0 < s <= 1)


def _beta(text: str) -> float | str:
    return text if text == "auto" else _temperature(text)


def _document_frequency(text: str) -> int | float:
    return _positive(text) if text.isdecimal() else _frequency(text)
