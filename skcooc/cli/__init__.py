"""The command line: read data, compare models on held-out observations, report, write."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from sklearn.base import is_clusterer

from skcooc.cli.arguments import Options, parse
from skcooc.cli.characters import printable, say
from skcooc.cli.comparison import MODELS, compare, refit
from skcooc.cli.groups import compared
from skcooc.cli.places import check
from skcooc.cli.progress import Screen
from skcooc.cli.reading import read
from skcooc.cli.report import report
from skcooc.cli.table import InputError, Table
from skcooc.cli.writing import destinations, write, write_page
from skcooc.inspection.explorer.page import environment

__all__ = ["main"]

WORKED, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
LONGEST_ERROR = 1000  # characters


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line with these arguments, or those of the process; its exit code.

    It is 0 if it worked; 2 for wrong arguments or data that cannot be used; 1 where the output
    cannot be written, or memory is not enough; 130 if interrupted. What went wrong is said in one
    line on stderr. SystemExit is raised for ``--help``, ``--version`` and wrong arguments, as
    argparse does.
    """
    options = parse(argv, models=list(MODELS))
    try:
        _run(options)
    except InputError as error:
        return _fail(str(error), BAD_INPUT)
    except BrokenPipeError:
        # The reader, such as `head`, has gone: nothing more may be written, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        return _fail(f"{error.filename or 'output'}: {error.strerror or error}", FAILED)
    except MemoryError as error:
        return _fail(
            f"not enough memory: {error or 'the table, or the model, is too large'}", FAILED
        )
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    return WORKED


def _run(options: Options) -> None:
    if options.nearest and is_clusterer(MODELS[options.model](2)):
        raise InputError(
            f"--nearest needs mixtures of aspects, but --model {options.model} finds clusters: "
            "choose --model aspect or product-space"
        )
    screen = Screen(options.progress)
    table = read(options, screen)
    for name in options.nearest:
        table.position(name)  # a wrong name shows before the long work
    for path in destinations(options):  # what is wrong with them shows at once
        check(path, options)
    if options.html is not None:
        _check_page()
    comparison = compare(table, options, screen)
    model = refit(table, comparison.chosen, screen)
    with screen.step("report"):
        divisions = compared(table, model, options.seed)
        text = report(table, comparison, model, options, divisions)
    screen.announce("")  # a blank line between the bars and what follows
    say(text, sys.stdout)
    sys.stdout.flush()
    if options.output is not None:
        with screen.step("writing"):
            written = write(options.output, table, comparison, model, divisions)
        say(f"\nWritten to {printable(str(options.output))}: {', '.join(written)}\n", sys.stdout)
    if options.html is not None:
        with screen.step("page"):
            write_page(options.html, table, model, _heading(options, table))
        say(f"\nWritten: {printable(str(options.html))}\n", sys.stdout)
    sys.stdout.flush()


def _check_page() -> None:
    """Whether a page can be made."""
    try:
        environment()
    except ImportError as error:
        raise InputError(f"--html: {error}") from error


def _heading(options: Options, table: Table) -> str:
    """Of the page: what the user gave, or the name of the file or folder."""
    if options.title is not None:
        return options.title
    return table.title if options.data is None else options.data.resolve().name


def _fail(message: str, code: int) -> int:
    line = printable(" ".join(message.split()))
    if len(line) > LONGEST_ERROR:  # its beginning has the file, its end what to do
        line = f"{line[: LONGEST_ERROR // 2]} … {line[-LONGEST_ERROR // 2 :]}"
    say(f"skcooc: error: {line}\n", sys.stderr)
    return code
