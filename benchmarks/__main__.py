"""``python -m benchmarks list``, ``run NAME ...|all|stale``, ``show NAME``.

``run perplexity`` measures with the default settings and writes ``docs/results/perplexity.json``;
it asks for a clean commit, which the file names. With other settings, such as
``run perplexity 'seeds=[0]' 'data=[["Cranfield", 32]]'`` or ``--quick``, rows are only printed, or
written to the folder ``--output``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks import tables
from benchmarks.experiment import (
    RESULTS,
    ROOT,
    Experiment,
    changes_since,
    experiments,
    load,
    unsaved_changes,
)


def state_of(name: str) -> str:
    """Whether the results of an experiment are there, and of today's code."""
    if not (RESULTS / f"{name}.json").is_file():
        return "missing"
    return "stale" if changes_since(load(name)) else "current"


def chosen_names(names: list[str], known: dict[str, Experiment]) -> list[str]:
    """The experiments that are named, or all of them, or those without current results."""
    if names == ["all"]:
        return list(known)
    if names == ["stale"]:
        return [name for name in known if state_of(name) != "current"]
    unknown = sorted(set(names) - set(known))
    if unknown:
        sys.exit(f"No experiment {', '.join(unknown)}; there are {', '.join(known)}.")
    return names


def settings_of(given: list[str]) -> dict[str, Any]:
    """Settings such as ``seeds=[0]``: names and JSON values."""
    return {name: json.loads(value) for name, _, value in (one.partition("=") for one in given)}


def run(options: argparse.Namespace, known: dict[str, Experiment]) -> None:
    """Run experiments one after the other, each in a process of its own."""
    given = [word for word in options.names if "=" in word]
    names = chosen_names([word for word in options.names if "=" not in word], known)
    to_results = not (given or options.quick or options.output)
    if to_results and unsaved_changes():
        sys.exit("Commit first, since results name the commit they were made with.")
    folder = RESULTS if to_results else options.output
    failed = []
    for name in names:
        settings = {**(known[name].quick if options.quick else {}), **settings_of(given)}
        output = str(Path(folder).resolve() / f"{name}.json") if folder else ""
        job = {"name": name, "module": known[name].module, "settings": settings, "output": output}
        print(f"{name}: {known[name].question}", flush=True)
        command = [sys.executable, "-m", "benchmarks.experiment", json.dumps(job)]
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            failed.append(name)
    if failed:
        sys.exit(f"Failed: {', '.join(failed)}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("list", help="experiments, minutes they take, state of their results")
    show = actions.add_parser("show", help="print the results of an experiment")
    show.add_argument("name")
    runner = actions.add_parser("run", help="run experiments")
    runner.add_argument("names", nargs="+", help="names, 'all' or 'stale'; settings as name=JSON")
    runner.add_argument("--quick", action="store_true", help="only show that they run")
    runner.add_argument("--output", type=Path, help="folder for JSON files of other settings")
    options = parser.parse_args()
    if options.action == "show":
        print(tables.plain(load(options.name)["rows"]))
        return
    known = experiments()
    if options.action == "list":
        rows = [
            {
                "name": e.name,
                "minutes": e.minutes,
                "results": state_of(e.name),
                "question": e.question,
            }
            for e in known.values()
        ]
        print(tables.plain(rows))
        return
    run(options, known)


if __name__ == "__main__":
    main()
