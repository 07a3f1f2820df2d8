"""Command line: read data, fit a model, report its topics, write, compare models."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sklearn.base import is_clusterer

from skcooc.cli.models import (
    MODELS,
    compare,
    make_model,
    merges_topics,
    python_lines,
    with_components,
)
from skcooc.cli.reading import read
from skcooc.cli.report import (
    all_or_none,
    check_paths,
    comparison_table,
    page_title,
    report,
    write,
    write_page,
    write_summary,
)
from skcooc.cli.terminal import Arguments, SafeStream, Screen, parse, printable, safe_streams, say
from skcooc.cli.texts import InputError, NamedCounts
from skcooc.inspection.explorer.page import environment
from skcooc.reports.notes import collected
from skcooc.reports.report import fit_report

__all__ = ["main", "read_counts"]

WORKED, FAILED, BAD_INPUT, INTERRUPTED, NO_READER = 0, 1, 2, 130, 141
LONGEST_ERROR = 1000  # characters


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line, by default with the arguments of the process; return the exit code.

    The code is 0 for success, 2 for wrong arguments or unusable data, 1 if output cannot be written
    or memory is not enough, 130 if interrupted, 141 if the reader of stdout has gone away. Errors
    are one line on stderr. As in argparse, SystemExit is raised for ``--help``, ``--version`` and
    wrong arguments.
    """
    with safe_streams() as out:
        try:
            code = _exit_code(argv, out)
        except SystemExit:  # of argparse
            out.flush()
            if out.error is None:
                raise
            code = WORKED
        out.flush()
        if code != WORKED or out.error is None:
            return code
        if isinstance(out.error, BrokenPipeError):
            return NO_READER
        return _fail(f"stdout: {out.error.strerror or out.error}", FAILED)


def _exit_code(argv: Sequence[str] | None, out: SafeStream) -> int:
    options = parse(argv, models=list(MODELS))
    outputs = Outputs()
    try:
        _run(options, out, outputs)
    except InputError as error:
        return _fail(str(error), BAD_INPUT)
    except (OSError, MemoryError) as error:
        return _fail_output(error)
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    return outputs.code


class Outputs:
    """Outputs that are written one by one: an error is reported, and the others are written."""

    def __init__(self) -> None:
        self.code = WORKED

    @contextmanager
    def next(self) -> Iterator[None]:
        try:
            yield
        except (OSError, MemoryError) as error:
            self.code = _fail_output(error)


def _run(options: Arguments, out: SafeStream, outputs: Outputs) -> None:
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
    check_paths(options)
    if options.html is not None:
        try:
            environment()
        except ImportError as error:
            raise InputError(f"--html: {error}") from error
    sized = with_components(options, table, screen)
    model = make_model(table, sized)
    screen.announce("fitting the model to all data")
    result = fit_report(
        screen.watch(model),
        table.X,
        merge=merges_topics(table, options),
        batches=table.batches,
        counts=table.counted,
        row_names=table.row_names,
        column_names=table.column_names,
        texts=table.texts,
        groups=table.groups,
        times=table.times,
        title=page_title(table, options),
        sides=table.kinds if table.texts is None else None,
    )
    result.model.set_callbacks()  # none, as the model is saved
    python = python_lines(table, options if table.texts is not None else sized, model)
    # Files come first: the reader of the report may go away, and the comparison takes long.
    written: list[str] = []
    messages: list[str] = []
    if options.output is not None:
        with outputs.next(), screen.step("writing files"):
            written = write(options.output, table, result, python)
            messages.append(f"Written to {printable(str(options.output))}: {', '.join(written)}")
    if options.html is not None:
        doubts: list[str] = []
        with outputs.next(), screen.step("writing the page"), collected(doubts):
            write_page(options.html, result)
            messages.append(f"Written: {printable(str(options.html))}")
        result.notes.extend(note for note in doubts if note not in result.notes)
    with screen.step("preparing the report"):
        text = report(table, result, options, python)
    screen.announce("")  # a blank line after the bars
    say("".join([text, *(f"\n{message}\n" for message in messages)]), out)
    out.flush()
    if options.compare and (written or not out.is_lost):
        entries = compare(table, sized, screen)
        screen.announce("")
        if options.output is not None and written:
            with outputs.next(), all_or_none(options.output, "results") as partial:
                write_summary(partial, table, result, entries, python)
        say(f"\n{comparison_table(entries, sized)}", out)


def read_counts(data: str | Path | None = None, **options: object) -> NamedCounts:
    """Read data as the command line does.

    Parameters
    ----------
    data : str or Path, default=None
        File or folder; the King James Bible if None.
    **options : str, number, True or list of str
        Options of the command line by their names, such as ``text="body", min_df=2``,
        ``matrix=True`` or ``drop=["year", "depth"]``.

    Returns
    -------
    table : NamedCounts
        Counts ``X`` of shape (N, M), ``row_names``, ``column_names``, and where they are asked for
        ``groups``, ``times``, ``batches`` and ``seeds``.
    """
    arguments = []
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            arguments.append(option)
        elif value is not None and value is not False:
            values = value if isinstance(value, list) else [value]
            arguments += [f"{option}={item}" for item in values]
    if data is not None:
        arguments += ["--", str(data)]
    return read(parse(arguments, models=list(MODELS)), Screen(wanted=False))


def _fail_output(error: OSError | MemoryError) -> int:
    if isinstance(error, MemoryError):
        cause = str(error) or "the table or the model is too large"
        return _fail(f"not enough memory: {cause}", FAILED)
    return _fail(f"{error.filename or 'output'}: {error.strerror or error}", FAILED)


def _fail(message: str, code: int) -> int:
    line = printable(" ".join(message.split()))
    if len(line) > LONGEST_ERROR:  # the file is at its beginning, the advice at its end
        line = f"{line[: LONGEST_ERROR // 2]} … {line[-LONGEST_ERROR // 2 :]}"
    say(f"skcooc: error: {line}\n", sys.stderr)
    return code
