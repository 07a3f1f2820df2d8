"""Write what was found into a folder."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

import joblib
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from skcooc.cli.arguments import Options, given
from skcooc.cli.comparison import Comparison
from skcooc.cli.groups import Compared, records
from skcooc.cli.places import filled
from skcooc.cli.report import has_tree, shares
from skcooc.cli.table import Table
from skcooc.inspection import (
    characteristic_features,
    explore,
    export_dict,
    name_topics,
    top_features,
)
from skcooc.protocol import Array

# Half a surrogate pair, as in JSON that was cut or in names of files, is written out.
UNICODE: dict[str, Any] = {"encoding": "utf-8", "errors": "backslashreplace"}
RESULTS = "components.csv", "embedding.csv", "summary.json", "model.joblib"


def destinations(options: Options) -> list[Path]:
    """The files that will be written."""
    pages = [] if options.html is None else [options.html]
    if options.output is None:
        return pages
    divided = (name for name in ("group", "time") if given(options, name))
    names = [*RESULTS, *(f"shares_by_{name}.csv" for name in divided)]
    return [*(options.output / name for name in names), *pages]


def write(
    folder: Path,
    table: Table,
    comparison: Comparison,
    model: BaseEstimator,
    divisions: Sequence[Compared],
) -> list[str]:
    """Write the model, its parameters and the comparison into a folder; the names of the files.

    They are ``components.csv`` (one column a line, P(y given z)), ``embedding.csv`` (one row a
    line, P(z given x)), ``summary.json`` and ``model.joblib`` (with the vectorizer before it, where
    the data were texts); and ``shares_by_group.csv`` and ``shares_by_time.csv``, where rows have
    groups or times. Files that have these names are overwritten, once all are written.
    """
    with filled(folder) as partial:
        return _write(partial, table, comparison, model, divisions)


def _write(
    folder: Path,
    table: Table,
    comparison: Comparison,
    model: BaseEstimator,
    divisions: Sequence[Compared],
) -> list[str]:
    aspects = name_topics(model, table.column_names, table.row_names)
    _matrix(folder / "components.csv", aspects, table.column_names, model.components_.T)
    _matrix(folder / "embedding.csv", aspects, table.row_names, model.embedding_)
    summary = json.dumps(_summary(table, comparison, model), indent=2, ensure_ascii=False)
    (folder / "summary.json").write_text(summary + "\n", **UNICODE)
    joblib.dump(_with_vectorizer(table, model), folder / "model.joblib")
    by = {f"shares_by_{of.what}.csv": records(of) for of in divisions}
    for name, of_groups in by.items():
        _rows(folder / name, of_groups)
    return [*RESULTS, *by]


def write_page(path: Path, table: Table, model: BaseEstimator, title: str) -> None:
    """Write the page to look through the model; of texts, with the texts.

    What the rows and columns of other tables are, it says in the words of the report.
    """
    X = table.X if table.texts is None else table.texts
    page = explore(
        _with_vectorizer(table, model), X, row_names=table.row_names, title=title,
        feature_names=table.column_names, groups=table.groups, times=table.times,
        sides=table.kinds if table.texts is None else None,
    )  # fmt: skip
    path = path.resolve()  # what a link leads to, not the link, is replaced
    with filled(path.parent) as partial:
        page.save(partial / path.name)


def _with_vectorizer(table: Table, model: BaseEstimator) -> BaseEstimator:
    """The model after what made counts of texts, where something did."""
    if table.vectorizer is None:
        return model
    return Pipeline([("vectorizer", table.vectorizer), ("model", model)])


def _matrix(path: Path, header: Sequence[str], names: Sequence[str], values: Array) -> None:
    lines = zip(names, values.tolist(), strict=True)
    listed = ([name, *(f"{value:.6g}" for value in line)] for name, line in lines)
    _rows(path, chain([["name", *header]], listed))


def _rows(path: Path, rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", newline="", **UNICODE) as file:
        csv.writer(file).writerows(rows)


def _summary(table: Table, comparison: Comparison, model: BaseEstimator) -> dict[str, object]:
    """All that is printed, and the parameters of the model."""
    return {
        "data": table.title,
        "n_rows": table.X.shape[0],
        "n_columns": table.X.shape[1],
        "n_observations": float(table.X.sum()),
        "comparison": [asdict(entry) for entry in comparison.entries],
        "compile_seconds": comparison.compile_seconds,
        "temperature_search": [
            {
                "beta": probe.beta,
                "prior": probe.prior,
                "n_components": probe.n_components,
                **probe.validation._asdict(),
            }
            for probe in comparison.chosen.tuning_
        ],
        "model": type(model).__name__,
        "parameters": model.get_params(),
        "weights": shares(model).tolist(),
        "top_features": top_features(model, table.column_names),
        "characteristic_features": characteristic_features(model, table.column_names),
        **({"tree": export_dict(model, table.column_names)} if has_tree(model) else {}),
    }
