"""Experiments: what they measure, how they are run, and the files that hold their results.

An experiment is a generator of rows: a function with the decorator :func:`experiment`, whose
keyword parameters are its settings (data sets, seeds, numbers of components). A run with the
default settings writes ``docs/results/<name>.json``: the rows, and all that is needed to judge them
or to make them again. The site makes its tables from these files, and marks those whose models or
data give other results today: see `benchmarks.reference`.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks import corpora, reference

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
SOURCES = "skcooc", "benchmarks"
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "tomotopy", "gensim", "implicit", "scanpy")

Row = dict[str, Any]


@dataclass(frozen=True)
class Experiment:
    """A question, and the function that yields the rows of the answer."""

    name: str
    module: str
    question: str
    rows: Callable[..., Iterator[Row]]
    minutes: float  # with the default settings on two cores
    models: tuple[str, ...]  # those of `benchmarks.reference` that its results depend on
    quick: Mapping[str, Any]  # settings with which it only shows that it runs
    needs: tuple[str, ...]  # packages beyond the extra "benchmark"

    @property
    def settings(self) -> Row:
        """The default settings."""
        return {name: p.default for name, p in inspect.signature(self.rows).parameters.items()}


_experiments: dict[str, Experiment] = {}


def experiment(
    minutes: float, models: Iterable[str], quick: Mapping[str, Any], needs: Iterable[str] = ()
) -> Callable[[Callable[..., Iterator[Row]]], Callable[..., Iterator[Row]]]:
    """Register a generator of rows; its first line of documentation is the question."""

    def register(rows: Callable[..., Iterator[Row]]) -> Callable[..., Iterator[Row]]:
        name = rows.__name__.replace("_", "-")
        question = (inspect.getdoc(rows) or "").partition("\n")[0]
        module = inspect.getmodulename(rows.__code__.co_filename) or ""
        _experiments[name] = Experiment(
            name, module, question, rows, minutes, tuple(models), dict(quick), tuple(needs)
        )
        return rows

    return register


def experiments() -> dict[str, Experiment]:
    """All experiments of all modules of this package, by name."""
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if not path.stem.startswith("_"):
            importlib.import_module(f"benchmarks.{path.stem}")
    return dict(sorted(_experiments.items()))


def measure(name: str, module: str, settings: Mapping[str, Any], output: Path | None) -> list[Row]:
    """Run an experiment; write its rows and their circumstances after each row.

    The file has ``.part`` at the end of its name until the last row is there.
    """
    importlib.import_module(f"benchmarks.{module}")
    chosen = _experiments[name]
    start, rows = perf_counter(), []
    partial = None if output is None else output.with_suffix(".json.part")
    for row in chosen.rows(**settings):
        rows.append(row)
        print("...", *(f"{key}={_short(value)}" for key, value in row.items()), flush=True)
        if partial:
            partial.parent.mkdir(parents=True, exist_ok=True)
            save(partial, _record(chosen, settings, rows, perf_counter() - start))
    if partial and output:
        save(partial, _record(chosen, settings, rows, perf_counter() - start))
        partial.replace(output)
    return rows


def save(path: Path, record: Mapping[str, Any]) -> None:
    """Write a record with one line for each row."""
    head = json.dumps({**record, "rows": []}, indent=1, default=float)
    lines = ",\n".join(f"  {json.dumps(row, default=float)}" for row in record["rows"])
    path.write_text(head.replace('"rows": []', f'"rows": [\n{lines}\n ]') + "\n", encoding="utf-8")


@cache
def load(name: str) -> dict[str, Any]:
    """The record of an experiment."""
    record: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return record


def changes_since(record: Mapping[str, Any]) -> list[str]:
    """Models that give other results than when the record was made, and data that differ.

    Of a record without the numbers of its models, nobody knows.
    """
    if "models" not in record:
        return ["skcooc"]
    models = reference.differing(record["models"], reference.stored())
    return models + [name for name, digest in record["data"].items() if _has_changed(name, digest)]


def unsaved_changes() -> list[str]:
    """Files of the code that differ from the last commit."""
    return _git("status", "--porcelain", "--", *SOURCES).splitlines()


def _record(
    chosen: Experiment, settings: Mapping[str, Any], rows: list[Row], seconds: float
) -> Row:
    changed = "".join(f" {name}={json.dumps(value)}" for name, value in settings.items())
    return {
        "name": chosen.name,
        "question": chosen.question,
        "command": f"python -m benchmarks run {chosen.name}{changed}",
        "commit": _git("rev-parse", "HEAD"),
        "date": datetime.now(UTC).date().isoformat(),
        "minutes": round(seconds / 60, 1),
        "settings": {**chosen.settings, **settings},
        "machine": machine(),
        "versions": {"python": platform.python_version(), **_versions()},
        "data": {name: _digest_of_data(name) for name in sorted(corpora.files_read)},
        "models": {name: reference.stored()[name] for name in chosen.models},
        "rows": rows,
    }


def machine() -> Row:
    """The processor, the cores that may be used, and the memory."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        if name.replace("scikit-learn", "sklearn") in sys.modules:
            try:
                found[name] = version(name)
            except PackageNotFoundError:
                continue
    return found


def _digest_of_data(name: str) -> str:
    return hashlib.sha256((corpora.folder() / name).read_bytes()).hexdigest()[:12]


def _has_changed(name: str, digest: str) -> bool:
    return (corpora.folder() / name).is_file() and _digest_of_data(name) != digest


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _short(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    from benchmarks import experiment as this  # one registry: not that of __main__

    given = json.loads(sys.argv[1])
    path = given.pop("output")
    this.measure(**given, output=Path(path) if path else None)
