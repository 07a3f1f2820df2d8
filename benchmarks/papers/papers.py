"""What becomes of the papers' table and figures? Writes docs/papers.md and its pictures.

tables   Table 2 of the memo: Cranfield, and adjective-noun pairs of the Brown corpus in the place
         of those of the Penn Treebank; four families of models, K = 1 to 128, ten folds of
         observations, temperature and smoothing chosen on training observations alone.
curves   Figures 7 and 8 of the memo and figure 5 of NIPS: training and test perplexity over the
         iterations at several temperatures, standard and predictive EM, Cranfield and the Bible.

--from writes the page and the pictures from the JSON of an earlier run, without measuring again;
parts named with it are measured anew and replace those of the file.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks import reporting
from benchmarks.papers import paper_curves, paper_tables
from benchmarks.papers.paper_page import page
from benchmarks.quality import tuned

PARTS = ("tables", "curves")


def measure(options: argparse.Namespace, results: dict[str, Any]) -> None:
    """Measure the parts asked for; what is there already is saved after every row."""
    if "tables" in options.parts:
        for data in options.data:
            rows = results["tables"][data] = []
            for row in paper_tables.runs(data, options):
                rows.append(row)
                reporting.progress(data, *(f"{key}={value}" for key, value in row.items()))
                reporting.save(options.output, results)
            reporting.print_table(paper_tables.summary(rows, data), COLUMNS)
    if "curves" in options.parts:
        rows = results["curves"] = []
        for row in paper_curves.measured(options):
            rows.append(row)
            reporting.progress(row["data"], row["model"], row["beta"], min(row["test"]))
            reporting.save(options.output, results)


COLUMNS = ("model", "K", "perplexity", "sd", "beta", "memo", "beta of memo", "ratio", "seconds")


def write(results: dict[str, Any], folder: Path) -> None:
    """The page and its pictures."""
    if "cranfield" in results["tables"]:
        rows = results["tables"]["cranfield"]
        paper_curves.draw_table(rows, "cranfield", folder / "papers_table2.png")
    if results["curves"]:
        paper_curves.draw_curves(results["curves"], folder)
    (folder / "papers.md").write_text(page(results), encoding="utf-8")


def parser() -> argparse.ArgumentParser:
    """The options."""
    parser = reporting.options(str(__doc__))
    parser.add_argument(
        "--parts", choices=PARTS, nargs="+", help="default: both, or none with --from"
    )
    parser.add_argument("--from", dest="earlier", type=Path, help="JSON of an earlier run")
    collections = list(paper_tables.COLLECTIONS)
    families = list(paper_tables.FAMILIES)
    parser.add_argument("--data", choices=collections, nargs="+", default=collections)
    parser.add_argument("--models", choices=families, nargs="+", default=families)
    parser.add_argument("--components", type=int, nargs="+", default=[8, 16, 32, 64, 128])
    parser.add_argument("--folds", type=int, default=paper_tables.N_FOLDS, help="of ten")
    parser.add_argument("--curve-components", type=int, default=32, help="K of 'curves'")
    parser.add_argument("--max-iter", type=int, default=120, help="iterations of 'curves'")
    parser.add_argument("--jobs", type=int, default=2, help="fits side by side, of one thread each")
    parser.add_argument("--docs", type=Path, default=reporting.DOCS, help="folder of the page")
    parser.add_argument("--quick", action="store_true", help="tiny tables, to see that all runs")
    return parser


def main(arguments: list[str] | None = None) -> None:
    """Measure or read, then write."""
    tuned.silence()
    options = parser().parse_args(arguments)
    options.parts = options.parts or ([] if options.earlier else list(PARTS))
    results: dict[str, Any] = {"options": {}, "tables": {}, "curves": []}
    if options.earlier:
        results = json.loads(options.earlier.read_text(encoding="utf-8"))
    if options.parts:
        given = {k: v for k, v in vars(options).items() if k not in ("output", "docs", "earlier")}
        results["options"] |= dict.fromkeys(options.parts, given)
        results["machine"] = reporting.machine()
        measure(options, results)
    write(results, options.docs)


if __name__ == "__main__":
    main()
