"""The arguments of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

DESCRIPTION = """\
Fit a mixture model to co-occurrence data and compare it with others on held-out observations.

Without DATA, it fits the docstrings of NumPy, SciPy and scikit-learn, which needs no download."""

EPILOG = """\
DATA is one of
  a folder        of texts, one document a file (UTF-8)
  FILE            of texts, one document a line
  FILE.csv, .tsv  of pairs with a header line, say user and item; see --row, --column, --count
  FILE.npz        a sparse matrix of counts, as scipy.sparse.save_npz writes it
  FILE.mtx        a matrix of counts in Matrix Market format; also .mtx.gz

The perplexity of a model is exp(-mean log P(column | row)) over the observations held out, a part
of each row; every model is fitted to the others. The seconds are those of its fit. At the end, the
chosen model is fitted once more, to all observations.

examples
  python -m skcooc
  python -m skcooc reviews/ --components 16 --output result
  python -m skcooc ratings.csv --row user --column film --count stars
  python -m skcooc counts.npz --column-names vocabulary.txt --beta 0.8"""


@dataclass(frozen=True)
class Options:
    """What the user asked for; see ``python -m skcooc --help``."""

    data: Path | None
    row: str | None
    column: str | None
    count: str | None
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
    output: Path | None
    progress: bool


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"skcooc: error: {message} (see python -m skcooc --help)\n")


def parse(argv: Sequence[str] | None, models: Sequence[str]) -> Options:
    """Parse the arguments given, or those of the process; ``--model`` is one of the models.

    SystemExit is raised with code 2 for wrong ones, and 0 after ``--help`` and ``--version``.
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
    return Options(**vars(parser.parse_args(argv)))


def _add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", nargs="?", type=Path, metavar="DATA", help="see below")
    pairs = parser.add_argument_group("pairs (.csv, .tsv)")
    pairs.add_argument("--row", metavar="NAME", help="header of the rows (default: the first)")
    pairs.add_argument(
        "--column", metavar="NAME", help="header of the columns (default: the second)"
    )
    pairs.add_argument(
        "--count",
        metavar="NAME",
        help='header of the counts (default: "count" if there is one; else each line counts once)',
    )
    matrices = parser.add_argument_group("matrices (.npz, .mtx)")
    for side in ("row", "column"):
        matrices.add_argument(
            f"--{side}-names", type=Path, metavar="FILE", help=f"names of the {side}s, one a line"
        )
    texts = parser.add_argument_group("texts")
    texts.add_argument(
        "--stop-words",
        choices=["english", "none"],
        default="english",
        help="words to leave out (default: english)",
    )
    texts.add_argument(
        "--min-df",
        type=_document_frequency,
        metavar="N",
        help="drop words in fewer documents: a number, or a share below 1 "
        "(default: 5; 2 below 1000 documents, 1 below 100)",
    )
    texts.add_argument(
        "--max-df",
        type=_document_frequency,
        metavar="N",
        help="drop words in more documents (default: .1; .5 below 1000 documents)",
    )


def _add_model(parser: argparse.ArgumentParser, models: Sequence[str]) -> None:
    group = parser.add_argument_group("model")
    group.add_argument("--model", choices=models, default=models[0], help="default: %(default)s")
    group.add_argument(
        "-k",
        "--components",
        type=_positive,
        default=32,
        metavar="K",
        help="number of aspects or clusters (default: %(default)s)",
    )
    group.add_argument(
        "--beta",
        type=_beta,
        default="auto",
        help='inverse temperature in (0, 1], or "auto" to choose it (default: auto)',
    )
    group.add_argument(
        "--max-iter",
        type=_positive,
        default=500,
        metavar="N",
        help="largest number of EM iterations (default: 500)",
    )
    group.add_argument(
        "--test-size",
        type=_share,
        default=0.1,
        metavar="SHARE",
        help="share of the observations held out, at most .5 (default: .1)",
    )
    group.add_argument(
        "--seed",
        type=_seed,
        default=0,
        metavar="N",
        help="seed of what is held out and of all starts (default: 0)",
    )
    group.add_argument(
        "--jobs", type=_jobs, default=-1, metavar="N", help="threads (default: -1, all cores)"
    )
    group.add_argument("--skip-lda", action="store_true", help="do not fit scikit-learn's LDA")


def _add_output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument(
        "--top", type=_positive, default=10, metavar="N", help="words of each (default: 10)"
    )
    group.add_argument(
        "--nearest",
        action="append",
        default=[],
        metavar="ROW",
        help="show the nearest rows of this one; can be given several times",
    )
    group.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        help="write components.csv, embedding.csv, summary.json and model.joblib there",
    )
    group.add_argument(
        "--no-progress", dest="progress", action="store_false", help="no progress bars"
    )


def _number(name: str, what: str, kind: type, accept: Callable[[float], bool]) -> Callable:
    """A type of argument: numbers that are accepted, or an error that says what is expected."""

    def convert(text: str) -> int | float:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not accept(value):
            raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
        return value

    convert.__name__ = name
    return convert


_positive = _number("positive", "a positive whole number", int, lambda n: n >= 1)
_seed = _number("seed", "a whole number from 0 to 2^32 - 1", int, lambda n: 0 <= n < 2**32)
_jobs = _number("jobs", "a whole number other than 0", int, lambda n: n != 0)
_share = _number("share", "a number in (0, .5]", float, lambda s: 0 < s <= 0.5)
_temperature = _number("beta", 'a number in (0, 1] or "auto"', float, lambda b: 0 < b <= 1)
_frequency = _number("share", "a positive number or a share", float, lambda s: 0 < s <= 1)


def _beta(text: str) -> float | str:
    return text if text == "auto" else _temperature(text)


def _document_frequency(text: str) -> int | float:
    return _positive(text) if text.isdecimal() else _frequency(text)
