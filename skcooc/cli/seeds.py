"""Read the seeds of topics: their names, each with typical columns."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path

from skcooc.cli.texts import InputError, read_text

FORMAT = 'use lines such as "cars: car, engine", or {"cars": ["car", "engine"]}'


def read_seeds(path: Path, columns: Collection[str], kind: str) -> dict[str, list[str]]:
    """Columns of each named topic; InputError for other files, and names that are no columns."""
    text = read_text(path)
    topics = list((_from_json if text.lstrip().startswith("{") else _from_lines)(path, text))
    seeds = dict(topics)
    if not seeds:
        raise InputError(f"{path}: no topics: {FORMAT}")
    if len(seeds) < len(topics):
        raise InputError(f"{path}: a topic is named twice in {', '.join(n for n, _ in topics)}")
    known = set(columns)
    if unknown := [(word, name) for name, words in topics for word in words if word not in known]:
        listed = ", ".join(f"{word!r} of {name!r}" for word, name in unknown)
        raise InputError(
            f"{path}: not among the {kind} of the data: {listed}; remove these, or see --min-df, "
            "--max-df and --stop-words, which drop words"
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
            raise InputError(f"{path}: {name!r} is no topic with a list of names: {FORMAT}")
        yield name, words


def _from_lines(path: Path, text: str) -> Iterator[tuple[str, list[str]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            name, _, words = line.partition(":")
            listed = [word.strip() for word in words.split(",") if word.strip()]
            if not (name.strip() and listed):
                raise InputError(f"{path}, line {number}: no topic with names: {FORMAT}")
            yield name.strip(), listed
