"""The content of a page, as numbers and names for JSON."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skcooc.inspection.explorer import sections
from skcooc.inspection.explorer.sections import PER_TOPIC, PageGroups, round_short
from skcooc.inspection.features import most_representative
from skcooc.inspection.models import ModelView, kind_of
from skcooc.inspection.names import escape_surrogates
from skcooc.inspection.palette import topic_ranks
from skcooc.inspection.shares import (
    FEW,
    LEVEL,
    RowTopics,
    compare_groups,
    row_topics,
    share_intervals,
)
from skcooc.inspection.similarity import map_positions
from skcooc.protocol import Array
from skcooc.simplex import TWINS, nearest_other

MOST_FEATURES = 6000  # that can be searched
LONGEST_TEXT, SHORTEST_TEXT = 4000, 60  # characters
FACTS_ROOM = 1000  # bytes of what is said of the table and the page

Payload = dict[str, Any]


def payload(
    view: ModelView,
    names: list[str],
    groups: ArrayLike | None,
    times: ArrayLike | None,
    sides: tuple[str, str] | None,
    room: int,
) -> Payload:
    """The content of a page of at most ``room`` bytes: texts are cut, then rows are sampled."""
    sums = view.row_sums
    if groups is None and view.fitted and hasattr(view.model, "row_groups_"):
        groups = view.model.groups_[view.model.row_groups_]
    divisions = {
        "groups": None if groups is None else sections.groups_by_label(groups, sums),
        "times": None if times is None else sections.groups_by_time(times, sums),
    }
    error = sections.perplexities(view)
    ranked = most_representative(view.mixtures, view.row_distribution, PER_TOPIC)
    representative = [
        [i for i in rows if view.mixtures[i, k] >= sections.SMALLEST_SHARE]
        for k, rows in enumerate(ranked)
    ]
    labels = view.labels("labels_") if hasattr(view.model, "tree_") else None
    topics = row_topics(view)
    leaves = [] if labels is None else sections.leaf_rows(view, labels)
    shown = _topics(view, topics, names)
    places = sections.row_places(view, np.array([line["at"] for line in shown["topics"]]))
    n_rows = len(view.rows)
    while True:
        rows = sections.select_documents(view, [*representative, *leaves], error, n_rows)
        numbers = {i: number for number, i in enumerate(rows.tolist())}
        tree = None if labels is None else sections.tree_section(view, labels, leaves, numbers)
        page = {
            **shown,
            **{
                kind: None if division is None else _division(topics, division, rows)
                for kind, division in divisions.items()
            },
            "representative": [[numbers[i] for i in of_topic] for of_topic in representative],
            "tree": tree,
            "blocks": sections.block_section(view) if hasattr(view.model, "association_") else None,
            "errors": sections.histogram(error),
            "places": [[round_short(value) for value in place] for place in places[rows]],
        }
        free = max(room - FACTS_ROOM - len(to_json(page).encode()), 1)
        documents, limit = _documents(view, rows, error, free, SHORTEST_TEXT if n_rows else 0)
        excess = len(to_json(documents).encode()) / free
        if excess <= 1 or n_rows == 0:
            facts = _facts(view, error, limit, rows, page)
            facts |= {"sides": sides, "too_large": excess > 1}
            return {**page, "documents": documents, "facts": facts}
        n_rows = int(0.95 * min(n_rows, len(rows)) / excess)


def to_json(value: object) -> str:
    """JSON that can be embedded in a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = escape_surrogates(text, backslash="\\\\")  # JSON would make halves of the escapes
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _documents(
    view: ModelView, rows: Array, error: Array, room: int, shortest: int
) -> tuple[list[dict[str, Any]], int]:
    """The rows with texts cut to fit into ``room`` bytes, and the length of a text."""
    texts = [] if view.texts is None else [view.texts[i] for i in rows.tolist()]
    limit = max(shortest, min(LONGEST_TEXT, sections.even_limit(list(map(len, texts)), room)))
    entries = list(sections.document_entries(view, rows, error, limit))
    without_texts = len(to_json(sections.cut_entries(entries, 0) if texts else entries).encode())
    while True:
        documents = sections.cut_entries(entries, limit) if texts else entries
        size = len(to_json(documents).encode())
        if size <= room or limit == shortest:
            return documents, limit
        fitting = max(room - without_texts, 0) / max(size - without_texts, 1)
        limit = max(shortest, int(0.99 * limit * fitting))


def _topics(view: ModelView, topics: RowTopics, names: list[str]) -> Payload:
    features_of_topics = sections.topic_features(view)
    needed = np.unique(np.concatenate([features[0] for features in features_of_topics]))
    by_frequency = np.argsort(-view.unigram, kind="stable")
    frequent = by_frequency[~np.isin(by_frequency, needed) & (view.unigram[by_frequency] > 0)]
    columns = np.concatenate([needed, frequent[: max(0, MOST_FEATURES - len(needed))]])
    numbers = {j: number for number, j in enumerate(columns.tolist())}
    documents = topics.documents([np.flatnonzero(view.row_sums)])[0]
    ranks = topic_ranks(view.weights)
    places = map_positions(view.components)
    intervals = getattr(view.model, "component_intervals_", None)  # of a consensus, (2, K, M)
    lines = []
    for k, (topic_columns, *values) in enumerate(features_of_topics):
        if intervals is not None:
            values += list(intervals[:, k, topic_columns])
        features = [
            [numbers[j], *map(round_short, of_column)]
            for j, *of_column in zip(topic_columns.tolist(), *values, strict=True)
        ]
        line: Payload = {
            "weight": round_short(topics.overall[k]),
            "features": features,
            "name": names[k],
            "at": [round_short(value) for value in places[k]],
            "documents": round_short(documents[k]),
            "rank": int(ranks[k]),
        }
        lines.append(line)
    if len(lines) > 1:
        for line, k, distance in zip(lines, *nearest_other(view.components), strict=True):
            line["nearest"] = [int(k), round_short(distance)]
    for line, affinity in zip(lines, getattr(view.model, "affinity_", ()), strict=False):
        line["affinity"] = round_short(affinity)
    for line, seeds in zip(lines, sections.seeds_of_topics(view), strict=False):
        line["seeds"] = seeds
    entries = []  # of columns: name, P(y), and the largest P(z given y)
    for j in columns.tolist():
        posterior = view.weights * view.components[:, j] / max(view.unigram[j], 1e-300)
        first = np.argsort(-posterior, kind="stable")[:3].tolist()
        largest = [[k, float(f"{posterior[k]:.2g}")] for k in first if posterior[k] >= 0.05]
        entries.append([str(view.columns[j]), round_short(view.unigram[j]), largest])
    return {"topics": lines, "features": entries}


def _division(topics: RowTopics, shown: PageGroups, rows: Array) -> Payload:
    """The shares in groups, and the group of each row shown, -1 if that is not shown.

    A topic is characteristic of a group if the interval of its difference to the others is above 0.
    """
    share = topics.shares(shown.members)
    low, high = share_intervals(topics, shown.members, share)
    documents = topics.documents(shown.members)
    tables = {"share": share, "low": low, "high": high, "documents": documents}
    if shown.at is None and len(shown.members) > 1:
        differences = compare_groups(topics, shown.members, sections.N_RESAMPLES, LEVEL, seed=0)
        tables["above"] = (differences.low > 0).astype(float)
    groups = {i: g for g, members in enumerate(shown.members) for i in members.tolist()}
    return {
        "labels": shown.labels,
        "sizes": [len(members) for members in shown.members],
        "n": shown.n,
        "name": shown.name,
        "at": shown.at,
        "runs": shown.runs,
        **{name: sections.finite_or_none(values) for name, values in tables.items()},
        "of": [groups.get(i, -1) for i in rows.tolist()],
    }


def _facts(view: ModelView, error: Array, limit: int, rows: Array, page: Payload) -> Payload:
    finite = error[np.isfinite(error)]
    n_rows, n_columns = view.counts.shape
    longest = 0 if view.texts is None else max(len(view.texts[i]) for i in rows.tolist())
    return {
        "model": type(view.model).__name__,
        "kind": kind_of(view.model),
        "n_rows": n_rows,
        "n_columns": n_columns,
        "n_tokens": sections.round_count(view.n_tokens),
        "n_empty": int((view.row_sums == 0).sum()),
        "n_features": len(page["features"]),
        "fitted": view.fitted,
        "held_out": sections.is_held_out(view),
        "median": round_short(float(np.median(finite))) if len(finite) else None,
        "least": sections.FEWEST_TOKENS,
        "few": FEW,
        "twins": TWINS,
        "texts": view.texts is not None,
        "cut": limit if longest > limit else None,
    }
