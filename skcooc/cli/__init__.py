"""Command line: read data, compare models on held-out tokens, report, write."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from sklearn.base import is_clusterer

from skcooc.cli.arguments import Arguments, parse
from skcooc.cli.comparison import MODELS, compare, refit
from skcooc.cli.reading import read
from skcooc.cli.report import report, shares_by_division
from skcooc.cli.terminal import Screen, printable, say
from skcooc.cli.texts import InputError
from skcooc.cli.writing import check_path, paths_to_write, write, write_page
from skcooc.inspection.explorer.page import environment

__all__ = ["main"]

WORKED, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
LONGEST_ERROR = 1000  # characters


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line, by default with the arguments of the process; return the exit code.

    The code is 0 for success, 2 for wrong arguments or unusable data, 1 if output cannot be written
    or memory is not enough, 130 if interrupted. Errors are one line on stderr. As in argparse,
    SystemExit is raised for ``--help``, ``--version`` and wrong arguments.
    """
    options = parse(argv, models=list(MODELS))
    try:
        _run(options)
    except InputError as error:
        return _fail(str(error), BAD_INPUT)
    except BrokenPipeError:
        # The reader, such as `head`, is gone: nothing more may be written, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        return _fail(f"{error.filename or 'output'}: {error.strerror or error}", FAILED)
    except MemoryError as error:
        cause = error or "the table, or the model, is too large"
        return _fail(f"not enough memory: {cause}", FAILED)
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    return WORKED


def _run(options: Arguments) -> None:
    if options.nearest and is_clusterer(MODELS[options.model](2)):
        raise InputError(
            f"--nearest needs a topic model, but --model {options.model} finds clusters: "
            "use --model aspect or product-space"
        )
    screen = Screen(options.progress)
    table = read(options, screen)
    # Wrong names and paths, and a missing package, are reported before the long work.
    for name in options.nearest:
        table.position(name)
    for path in paths_to_write(options):
        check_path(path, options)
    if options.html is not None:
        try:
            environment()
        except ImportError as error:
            raise InputError(f"--html: {error}") from error
    comparison = compare(table, options, screen)
    model = refit(table, comparison.chosen, screen)
    with screen.step("report"):
        divisions = shares_by_division(table, model)
        text = report(table, comparison, model, options, divisions)
    screen.announce("")  # a blank line after the bars
    say(text, sys.stdout)
    sys.stdout.flush()
    if options.output is not None:
        with screen.step("writing"):
            written = write(options.output, table, comparison, model, divisions)
        say(f"\nWritten to {printable(str(options.output))}: {', '.join(written)}\n", sys.stdout)
    if options.html is not None:
        source = table.title if options.data is None else options.data.resolve().name
        title = source if options.title is None else options.title
        with screen.step("page"):
            write_page(options.html, table, model, title)
        say(f"\nWritten: {printable(str(options.html))}\n", sys.stdout)
    sys.stdout.flush()


def _fail(message: str, code: int) -> int:
    line = printable(" ".join(message.split()))
    if len(line) > LONGEST_ERROR:  # the file is at its beginning, the advice at its end
        line = f"{line[: LONGEST_ERROR // 2]} … {line[-LONGEST_ERROR // 2 :]}"
    say(f"skcooc: error: {line}\n", sys.stderr)
    return code
