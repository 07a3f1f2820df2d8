"""Command line: read data, fit a model, report its topics, write, compare models."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from sklearn.base import is_clusterer

from skcooc.cli.models import MODELS, compare, make_model, python_lines, timed_fit, with_components
from skcooc.cli.reading import read
from skcooc.cli.report import (
    check_paths,
    comparison_table,
    report,
    shares_by_division,
    write,
    write_page,
)
from skcooc.cli.terminal import Arguments, Screen, parse, printable, say
from skcooc.cli.texts import InputError, NamedCounts
from skcooc.inspection.explorer.page import environment

__all__ = ["main", "read_counts"]

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
        what = f"--nearest needs a topic model, but --model {options.model} finds clusters"
        raise InputError(f"{what}: use --model aspect or product-space")
    screen = Screen(options.progress)
    table = read(options, screen)
    options = with_components(options, table)
    # Wrong names and paths, and a missing package, are reported before the long work.
    for name in options.nearest:
        table.position(name)
    check_paths(options)
    if options.html is not None:
        try:
            environment()
        except ImportError as error:
            raise InputError(f"--html: {error}") from error
    model = make_model(table, options)
    screen.announce("fitting the model to all data")
    notes = timed_fit(screen.watch(model), table.X, table.batches).notes
    model.set_callbacks()  # none, as the model is saved
    python = python_lines(table, options, model)
    with screen.step("report"):
        divisions = shares_by_division(table, model)
        text = report(table, model, options, divisions, notes, python)
    screen.announce("")  # a blank line after the bars
    say(text, sys.stdout)
    sys.stdout.flush()
    entries = []
    if options.compare:
        entries = compare(table, options, screen)
        screen.announce("")
        say(f"\n{comparison_table(entries, options)}", sys.stdout)
        sys.stdout.flush()
    if options.output is not None:
        with screen.step("writing"):
            written = write(options.output, table, model, divisions, entries, python)
        say(f"\nWritten to {printable(str(options.output))}: {', '.join(written)}\n", sys.stdout)
    if options.html is not None:
        source = table.title if options.data is None else options.data.resolve().name
        title = source if options.title is None else options.title
        with screen.step("page"):
            write_page(options.html, table, model, title)
        say(f"\nWritten: {printable(str(options.html))}\n", sys.stdout)
    sys.stdout.flush()


def read_counts(data: str | Path | None = None, **options: object) -> NamedCounts:
    """Read data as the command line does.

    Parameters
    ----------
    data : str or Path, default=None
        File or folder; the King James Bible if None.
    **options : str or number
        Options of the command line by their names, such as ``text="body", min_df=2``.

    Returns
    -------
    table : NamedCounts
        Counts ``X`` of shape (N, M), ``row_names``, ``column_names``, and where they are asked for
        ``groups``, ``times``, ``batches`` and ``seeds``.
    """
    given = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    source = [] if data is None else ["--", str(data)]
    return read(parse([*given, *source], models=list(MODELS)), Screen(wanted=False))


def _fail(message: str, code: int) -> int:
    line = printable(" ".join(message.split()))
    if len(line) > LONGEST_ERROR:  # the file is at its beginning, the advice at its end
        line = f"{line[: LONGEST_ERROR // 2]} … {line[-LONGEST_ERROR // 2 :]}"
    say(f"skcooc: error: {line}\n", sys.stderr)
    return code
