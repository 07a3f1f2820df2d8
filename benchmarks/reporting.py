"""What all benchmarks share: options, seconds, machine facts, tables, results as JSON."""

from __future__ import annotations

import argparse
import io
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import stdev
from time import perf_counter
from typing import Any

DOCS = Path(__file__).resolve().parents[1] / "docs"
PACKAGES = ("skcooc", "numpy", "scipy", "scikit-learn", "numba", "joblib", "tomotopy", "gensim")

Row = Mapping[str, Any]


def machine() -> dict[str, Any]:
    """The facts without which a measured time says nothing."""
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES},
    }


def options(question: str, parts: Iterable[str] = ()) -> argparse.ArgumentParser:
    """A parser with the option that every benchmark has, and one for its parts if it has any."""
    parser = argparse.ArgumentParser(
        description=question, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, help="JSON file to write")
    if parts:
        parser.add_argument("--parts", choices=parts, nargs="+", default=list(parts))
    return parser


def given(options: argparse.Namespace) -> dict[str, Any]:
    """The options, but for files."""
    return {name: value for name, value in vars(options).items() if not isinstance(value, Path)}


def in_fresh_process(module: str, *job: Any) -> Any:
    """The last line that ``python -m module --job JOB`` prints; jobs and lines are JSON."""
    command = [sys.executable, "-m", module, "--job", json.dumps(job)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def clock(action: Callable[..., Any], *arguments: Any) -> float:
    """Seconds that an action takes."""
    began = perf_counter()
    action(*arguments)
    return perf_counter() - began


def deviation(values: Sequence[float]) -> float:
    """Standard deviation; NaN for a single value."""
    return stdev(values) if len(values) > 1 else float("nan")


def progress(*parts: Any) -> None:
    """Say what has just been done."""
    print("...", *parts, flush=True)


def pairs(row: Row) -> list[str]:
    """What a row holds, under its names."""
    return [f"{name}={value}" for name, value in row.items()]


def collect(
    measured: Iterable[dict[str, Any]],
    path: Path | None,
    results: dict[str, Any],
    name: str,
    tell: Callable[[dict[str, Any]], Iterable[Any]] | None = pairs,
) -> list[dict[str, Any]]:
    """Take rows as they are measured: tell of each, and save all so far as ``results[name]``."""
    rows = results.setdefault(name, [])
    for row in measured:
        rows.append(row)
        if tell:
            progress(*tell(row))
        save(path, results)
    return rows


def run_parts(
    parts: Mapping[str, Callable[[argparse.Namespace], Iterable[dict[str, Any]]]],
    options: argparse.Namespace,
    tell: Callable[[dict[str, Any]], Iterable[Any]] | None = lambda row: pairs(_plain(row)),
) -> dict[str, list[dict[str, Any]]]:
    """The rows of the parts asked for; a table after each, whose columns are of its widest row."""
    results: dict[str, list[dict[str, Any]]] = {}
    for part in options.parts:
        rows = collect(parts[part](options), options.output, results, part, tell)
        print_table(rows, _plain(max(rows, key=len, default={})))
    return results


def print_table(rows: Sequence[Row], columns: Iterable[str] | None = None) -> None:
    """Print rows aligned under their column names.

    Examples
    --------
    >>> print_table([{"K": 8, "perplexity": 480.1234}, {"K": 128, "perplexity": 331.0}])
      K  perplexity
      8      480.12
    128         331
    """
    if not rows:
        return
    names = list(columns or dict.fromkeys(name for row in rows for name in row))
    cells = [names, *([_text(row.get(name, "")) for name in names] for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(names))]
    numeric = [not any(isinstance(row.get(name), str) for row in rows) for name in names]
    for line in cells:
        aligned = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ]
        print("  ".join(aligned).rstrip(), flush=True)


def save(path: Path | str | None, results: Mapping[str, Any]) -> None:
    """Write results beside the machine facts; nothing where no path is given.

    Called after every step, so that a run that is cut short leaves what it measured.
    """
    if path is None:
        return
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    content = json.dumps({"machine": machine(), **results}, indent=1, default=float)
    Path(path).write_text(content + "\n", encoding="utf-8")


def save_picture(figure: Any, path: Path, dpi: int = 120, colours: int = 256) -> None:
    """A matplotlib figure as a PNG of few colours, much smaller than one with all of them."""
    from PIL import Image  # matplotlib needs it too

    image = io.BytesIO()
    figure.savefig(image, dpi=dpi, bbox_inches="tight", pad_inches=0.05)
    whole = Image.open(image)
    opaque = whole.getchannel("A").getextrema()[0] == 255
    few = (whole.convert("RGB") if opaque else whole).quantize(colours, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def _plain(row: Row) -> Row:
    return {name: value for name, value in row.items() if not isinstance(value, (list, dict))}


def _text(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _cpu_model() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
