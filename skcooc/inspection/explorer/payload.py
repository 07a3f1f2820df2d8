"""All that a page shows, as numbers and names for JSON."""

from __future__ import annotations

import json
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skcooc.inspection.explorer import blocks, documents, topics, tree
from skcooc.inspection.explorer.reading import Subject
from skcooc.inspection.explorer.shares import LEVEL, N_RESAMPLES, Shown, by_group, by_time
from skcooc.inspection.explorer.topics import short
from skcooc.inspection.places import places
from skcooc.inspection.resampling import FEW, Mass, shares
from skcooc.protocol import Array

MOST_FEATURES = 6000  # that can be searched
LONGEST_TEXT, SHORTEST_TEXT = 4000, 60  # characters
ROOM = 1_800_000  # bytes of all that is shown

Payload = dict[str, Any]


class Asked(NamedTuple):
    """How topics are called, and what the rows are divided by."""

    names: list[str]
    groups: ArrayLike | None = None
    times: ArrayLike | None = None
    sides: tuple[str, str] | None = None  # what rows and columns are


def payload(subject: Subject, asked: Asked) -> Payload:
    """All that the page shows. Texts are cut so that it is no larger than ``ROOM``."""
    divisions = _divisions(subject, asked)
    error = documents.perplexities(subject)
    representative = documents.representative(subject)
    leaves = tree.leaf_rows(subject) if hasattr(subject.model, "tree_") else []
    rows = documents.chosen(subject, [*representative, *leaves], error)
    numbers = {i: number for number, i in enumerate(rows.tolist())}
    page = {
        **_topics(subject, asked.names),
        **_divided(subject, divisions, rows),
        "representative": [[numbers[i] for i in of_topic] for of_topic in representative],
        "tree": tree.tree(subject, leaves, numbers) if leaves else None,
        "blocks": blocks.blocks(subject) if hasattr(subject.model, "association_") else None,
        "errors": documents.histogram(error),
    }
    listed, limit = _fitting(subject, rows, error, ROOM - size(page))
    facts = {**_facts(subject, error, limit, listed, page), "sides": asked.sides}
    return {**page, "documents": listed, "facts": facts}


def size(value: object) -> int:
    """Bytes of the JSON."""
    return len(to_json(value).encode())


def to_json(value: object) -> str:
    """JSON that can stand in a script: nothing in it ends one, or begins a comment."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = text.encode("utf-8", "replace").decode()  # half a surrogate pair has no place in a file
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _fitting(
    subject: Subject, rows: Array, error: Array, room: int
) -> tuple[list[dict[str, Any]], int]:
    """The rows, with texts as long as there is room for, and how many characters that is."""
    find, limit = documents.finder(subject), min(room // (2 * max(len(rows), 1)), LONGEST_TEXT)
    while True:
        limit = max(limit, SHORTEST_TEXT)
        listed = list(documents.entries(subject, rows, error, limit, find))
        excess = size(listed) / room
        if excess <= 1 or limit == SHORTEST_TEXT:
            return listed, limit
        limit = int(0.95 * limit / excess)


def _topics(subject: Subject, names: list[str]) -> Payload:
    """The topics and the columns that can be searched."""
    found = topics.topic_features(subject)
    columns = _searched(subject, found)
    numbers = {j: number for number, j in enumerate(columns.tolist())}
    at = places(subject.components)
    sizes = np.bincount(subject.mixtures.argmax(axis=1), minlength=len(names))
    intervals = repeat(None) if subject.intervals is None else np.moveaxis(subject.intervals, 1, 0)
    lines = [
        {
            **topics.entry(weight, features, numbers, of_members),
            "name": name,
            "at": [short(value) for value in place],
            "n_rows": n_rows,
        }
        for weight, features, name, place, n_rows, of_members in zip(
            subject.weights, found, names, at, sizes.tolist(), intervals, strict=False
        )
    ]
    for line, affinity in zip(lines, getattr(subject.model, "affinity_", ()), strict=False):
        line["affinity"] = short(affinity)
    return {"topics": lines, "features": [_feature(subject, j) for j in columns.tolist()]}


def _searched(subject: Subject, found: list[tuple[Array, Array, Array]]) -> Array:
    """Columns of the page: those of any topic, then the most frequent ones."""
    needed = np.unique(np.concatenate([columns for columns, _, _ in found]))
    frequent = np.argsort(-subject.unigram, kind="stable")
    others = frequent[~np.isin(frequent, needed) & (subject.unigram[frequent] > 0)]
    return np.concatenate([needed, others[: max(0, MOST_FEATURES - len(needed))]])


def _feature(subject: Subject, j: int) -> list[Any]:
    """A column as the page has it: its name, P(y), and its largest P(z given y)."""
    posterior = subject.weights * subject.components[:, j] / max(subject.unigram[j], 1e-300)
    first = np.argsort(-posterior, kind="stable")[:3].tolist()
    kept = [[k, float(f"{posterior[k]:.2g}")] for k in first if posterior[k] >= 0.05]
    return [str(subject.columns[j]), short(subject.unigram[j]), kept]


def _divisions(subject: Subject, asked: Asked) -> dict[str, Shown | None]:
    """The rows by group and by time; None where nothing is given."""
    sums = subject.row_sums
    return {
        "groups": None if asked.groups is None else by_group(asked.groups, sums),
        "times": None if asked.times is None else by_time(asked.times, sums),
    }


def _divided(subject: Subject, divisions: dict[str, Shown | None], rows: Array) -> Payload:
    """The shares by group and over time, and where the rows shown belong."""
    return {
        kind: shown and {**_table(subject, shown), "of": _of(shown.members, rows)}
        for kind, shown in divisions.items()
    }


def _table(subject: Subject, shown: Shown) -> Payload:
    mass = Mass(subject.mixtures * subject.row_sums[:, None], subject.row_sums)
    table = shares(mass, shown.members, N_RESAMPLES, LEVEL, seed=0)
    numbers = {
        name: [[short(v) if np.isfinite(v) else None for v in line] for line in values]
        for name, values in table._asdict().items()
    }
    sizes = [len(rows) for rows in shown.members]
    drawn = {"n": shown.n, "name": shown.name, "at": shown.at, "runs": shown.runs}
    return {"labels": shown.labels, "sizes": sizes, **drawn, **numbers}


def _of(members: list[Array], rows: Array) -> list[int]:
    """The number of the group of each row shown; -1 where that is not shown."""
    numbers = {i: g for g, of_group in enumerate(members) for i in of_group.tolist()}
    return [numbers.get(i, -1) for i in rows.tolist()]


def _facts(
    subject: Subject, error: Array, limit: int, listed: list[dict[str, Any]], page: Payload
) -> Payload:
    """What is said of the model, and of what is left out."""
    known = error[np.isfinite(error)]
    n_rows, n_columns = subject.counts.shape
    longest = max(map(len, subject.texts)) if subject.texts is not None else 0
    return {
        "model": type(subject.model).__name__,
        "kind": _kind(subject.model),
        "n_rows": n_rows,
        "n_columns": n_columns,
        "n_observations": topics.counted(subject.n_observations),
        "n_empty": int((subject.row_sums == 0).sum()),
        "n_features": len(page["features"]),
        "fitted": subject.fitted,
        "held_out": documents.is_held_out(subject),
        "median": short(float(np.median(known))) if len(known) else None,
        "least": topics.LEAST,
        "few": FEW,
        "texts": subject.texts is not None,
        "cut": limit if longest > limit else None,
    }


def _kind(model: Any) -> str:
    """What the components of a model are called."""
    if hasattr(model, "tree_"):
        return "node"
    if hasattr(model, "n_components"):  # clusters of rows may be found beside them
        return "topic"
    return "cluster" if hasattr(model, "labels_") or hasattr(model, "row_labels_") else "topic"
