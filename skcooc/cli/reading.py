"""Read the data: matrices, records (CSV, JSON, Parquet) or texts."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from skcooc.cli import matrices, texts
from skcooc.cli.columns import count_records
from skcooc.cli.records import READERS, find_separator, read_delimited, table_suffix
from skcooc.cli.terminal import FIELDS, LIMITS, NAMES, Arguments, Screen, first_given
from skcooc.cli.texts import InputError, NamedCounts

EXAMPLES = {
    "files with named columns": " (.csv, .tsv, .jsonl, .json, .parquet)",
    "matrices": " (.npz, .npy, .mtx, or tables of counts)",
}
SEEDS = 'use lines such as "cars: car, engine", or {"cars": ["car", "engine"]}'


def read(options: Arguments, screen: Screen) -> NamedCounts:
    """The data that the options ask for; InputError if they cannot be read or used."""
    if options.data is None and (option := first_given(options, *FIELDS, *NAMES, "encoding")):
        raise InputError(f"{option} needs DATA: give a file or folder")
    if options.data is None:
        table = texts.validate(texts.read_bible(options, screen))
    else:
        table = texts.validate(_read_path(options.data, options, screen))
    if options.seeds is None:
        return table
    seeds = read_seeds(options.seeds, options.encoding, table.column_names, table.kinds[1])
    if 0 < options.components < len(seeds):
        raise InputError(
            f"{options.seeds}: the file names {len(seeds)} topics, but --components is "
            f"{options.components}: give at least {len(seeds)}, or name fewer topics"
        )
    return replace(table, seeds=seeds)


def _read_path(path: Path, options: Arguments, screen: Screen) -> NamedCounts:
    try:
        texts.check_ends(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    if path.is_dir():
        _refuse_options(path, options, FIELDS, "files with named columns")
        _refuse_options(path, options, NAMES, "matrices")
        files = texts.list_files(path)
        for file in files:
            if table_suffix(file) in matrices.READERS:
                raise InputError(
                    f"{path / file}: a matrix in a folder of texts: give this file instead of its "
                    "folder, perhaps with --row-names, --column-names and --transpose"
                )
        for file in files:
            if table_suffix(file) in READERS:
                raise InputError(
                    f"{path / file}: a table in a folder of texts: move it elsewhere, or give the "
                    "file instead of its folder"
                )
        return texts.read_folder(path, files, options, screen)
    suffix = table_suffix(path)
    if suffix in matrices.READERS:
        _refuse_options(path, options, FIELDS, "files with named columns")
        _refuse_options(path, options, LIMITS, "texts")
        if not first_given(options, "row_names", "column_names", "seeds"):
            _refuse_options(path, options, ["encoding"], "text files")
        with screen.step(f"reading {path}"):
            return matrices.read_matrix(path, options)
    if suffix in READERS:
        with screen.step(f"reading {path}"):
            records = READERS[suffix](path, options.header, options.encoding)
        return count_records(records, options, screen)
    text = texts.read_text(path, options.encoding)  # once, as it may come through a pipe
    if options.header is not None or find_separator(text) is not None:
        return count_records(read_delimited(path, options.header, None, text), options, screen)
    _refuse_options(path, options, FIELDS, "files with named columns")
    if matrices.is_bag_of_words(text):
        _refuse_options(path, options, LIMITS, "texts")
        return matrices.read_bag_of_words(path, text, options)
    _refuse_options(path, options, NAMES, "matrices")
    return texts.count_lines(path, text, options, screen)


def _refuse_options(path: Path, options: Arguments, names: Collection[str], kind: str) -> None:
    if option := first_given(options, *names):
        raise InputError(f"{path}: {option} applies to {kind} only{EXAMPLES.get(kind, '')}")


def read_seeds(
    path: Path, encoding: str | None, columns: Collection[str], kind: str
) -> dict[str, list[str]]:
    """Columns of each named topic; InputError for other files, and names that are no columns."""
    text = texts.read_text(path, encoding)
    topics = list((_from_json if text.lstrip().startswith("{") else _from_lines)(path, text))
    seeds = dict(topics)
    if not seeds:
        raise InputError(f"{path}: the file names no topics: {SEEDS}")
    if len(seeds) < len(topics):
        raise InputError(
            f"{path}: two topics have the same name in {', '.join(n for n, _ in topics)}"
        )
    columns = set(columns)
    if unknown := [(word, name) for name, words in topics for word in words if word not in columns]:
        listed = ", ".join(f"{word!r} of {name!r}" for word, name in unknown)
        raise InputError(
            f"{path}: these seeds are not among the {kind} of the data: {listed}; remove them, or "
            "check --min-df, --max-df and --stop-words, which drop words"
        )
    return seeds


def _from_json(path: Path, text: str) -> Iterator[tuple[str, list[str]]]:
    try:
        topics = json.loads(text, object_pairs_hook=list)  # to see names that come twice
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error})") from error
    for name, words in topics:
        is_list = isinstance(words, list) and all(isinstance(word, str) for word in words)
        if not (name.strip() and is_list and words):
            raise InputError(f"{path}: {name!r} is not a topic with a list of words: {SEEDS}")
        yield name, words


def _from_lines(path: Path, text: str) -> Iterator[tuple[str, list[str]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            name, _, words = line.partition(":")
            listed = [word.strip() for word in words.split(",") if word.strip()]
            if not (name.strip() and listed):
                raise InputError(
                    f"{path}, line {number}: this is not a topic with its words: {SEEDS}"
                )
            yield name.strip(), listed
