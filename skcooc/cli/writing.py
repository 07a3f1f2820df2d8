"""Write the results: check paths before the work, then write all files or none."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from errno import EACCES, ENOTDIR
from pathlib import Path
from typing import Any

import joblib
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from skcooc import inspection
from skcooc.cli.arguments import Arguments, first_given
from skcooc.cli.models import Entry
from skcooc.cli.report import SharesByDivision, has_tree
from skcooc.cli.texts import InputError, NamedCounts
from skcooc.inspection.models import topic_weights
from skcooc.protocol import Array
from skcooc.protocol.locks import check_regular, exclusive

# Half a surrogate pair, as in JSON that was cut or in names of files, is written out.
UNICODE: dict[str, Any] = {"encoding": "utf-8", "errors": "backslashreplace"}
RESULTS = "components.csv", "embedding.csv", "summary.json", "model.joblib"


def paths_to_write(options: Arguments) -> list[Path]:
    pages = [] if options.html is None else [options.html]
    if options.output is None:
        return pages
    divided = (name for name in ("group", "time") if first_given(options, name))
    names = [*RESULTS, *(f"shares_by_{name}.csv" for name in divided)]
    return [*(options.output / name for name in names), *pages]


def check_path(path: Path, options: Arguments) -> None:
    """OSError if a file cannot be written; InputError if it would change the input."""
    check_regular(path)
    parent = next(folder for folder in path.absolute().parents if os.path.lexists(folder))
    if not parent.is_dir():
        raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR), str(parent))
    if not os.access(parent, os.W_OK | os.X_OK):
        raise PermissionError(EACCES, os.strerror(EACCES), str(parent))
    read = options.data, options.row_names, options.column_names, options.seeds
    for source in filter(None, read):
        if path.resolve() == source.resolve():
            what = "an input file, which would be overwritten"
            raise InputError(f"{path}: {what}: choose another path")
        if source.is_dir() and path.resolve().is_relative_to(source.resolve()):
            what = f"in {source}, whose files are all read as texts"
            raise InputError(f"{path}: {what}: choose another folder")


@contextmanager
def all_or_none(folder: Path, name: str) -> Iterator[Path]:
    """A hidden subfolder whose files are moved into the folder when all are written.

    The folder is made if there is none, and removed again if writing fails. What a killed process
    left of the results of this name is removed.
    """
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with exclusive(folder / name) as partial:
            partial.mkdir()
            yield partial
            for file in sorted(partial.iterdir()):
                os.replace(file, folder / file.name)
    except BaseException:
        for place in made:
            if place.exists() and not any(place.iterdir()):
                place.rmdir()
        raise


def write(
    folder: Path, table: NamedCounts, model: BaseEstimator,
    divisions: Sequence[SharesByDivision], entries: Sequence[Entry], python: Sequence[str],
) -> list[str]:  # fmt: skip
    """Write model, parameters and comparison, if any, into a folder; returns names of files.

    ``components.csv`` has one line a column, P(y given z), ``embedding.csv`` one line a row, P(z
    given x); ``model.joblib`` includes the vectorizer of texts.
    """
    shares = {f"shares_by_{division.name}.csv": _share_lines(division) for division in divisions}
    with all_or_none(folder, "results") as partial:
        topics = inspection.name_topics(model, table.column_names, table.row_names)
        columns = _matrix_lines(topics, table.column_names, model.components_.T)
        rows = _matrix_lines(topics, table.row_names, model.embedding_)
        tables = {"components.csv": columns, "embedding.csv": rows, **shares}
        for name, lines in tables.items():
            with (partial / name).open("w", newline="", **UNICODE) as file:
                csv.writer(file).writerows(lines)
        summary = _summary(table, model, topics, entries) | {"python": python}
        text = json.dumps(summary, indent=2, ensure_ascii=False)
        (partial / "summary.json").write_text(text + "\n", **UNICODE)
        joblib.dump(_with_vectorizer(table, model), partial / "model.joblib")
    return [*RESULTS, *shares]


def _matrix_lines(
    header: Sequence[str], names: Sequence[str], values: Array
) -> Iterator[Sequence[str]]:
    yield ["name", *header]
    for name, line in zip(names, values.tolist(), strict=True):
        yield [name, *(f"{value:.6g}" for value in line)]


def _share_lines(division: SharesByDivision) -> Iterator[tuple[str, ...]]:
    """A header and a line for each group and topic."""
    yield division.name, "topic", "share", "documents"
    for g, label in enumerate(division.labels):
        for k, topic in enumerate(division.topics):
            shares = division.share[g, k], division.documents[g, k]
            yield label, topic, *(f"{share:.6g}" for share in shares)


def write_page(path: Path, table: NamedCounts, model: BaseEstimator, title: str) -> None:
    """Write the page to explore the model, with the texts if the table has some."""
    X = table.X if table.texts is None else table.texts
    page = inspection.explore(
        _with_vectorizer(table, model), X, row_names=table.row_names, title=title,
        feature_names=table.column_names, groups=table.groups, times=table.times,
        sides=table.kinds if table.texts is None else None,
    )  # fmt: skip
    path = path.resolve()  # a link is kept, and its target replaced
    with all_or_none(path.parent, path.name) as partial:
        page.save(partial / path.name)


def _with_vectorizer(table: NamedCounts, model: BaseEstimator) -> BaseEstimator:
    if table.vectorizer is None:
        return model
    return Pipeline([("vectorizer", table.vectorizer), ("model", model)])


def _summary(
    table: NamedCounts, model: BaseEstimator, topics: Sequence[str], entries: Sequence[Entry]
) -> dict[str, object]:
    fields, names = ("stage", "beta", "prior", "n_components"), table.column_names
    trials = [
        {name: getattr(trial, name) for name in fields} | trial.validation._asdict()
        for trial in model.tuning_
    ]
    parameters = {k: v for k, v in model.get_params().items() if k != "feature_names"}
    compared = {"comparison": [asdict(entry) for entry in entries]} if entries else {}
    tree = {"tree": inspection.export_dict(model, names)} if has_tree(model) else {}
    return {
        "data": table.title,
        "n_rows": table.X.shape[0],
        "n_columns": table.X.shape[1],
        "n_tokens": float(table.X.sum()),
        **compared,
        "tuning": trials,
        "model": type(model).__name__,
        "parameters": parameters,
        "names": topics,
        "weights": topic_weights(model).tolist(),
        "top_features": inspection.top_features(model, names),
        "characteristic_features": inspection.characteristic_features(model, names),
        **tree,
    }
