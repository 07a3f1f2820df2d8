"""The sections of a page: topics, documents, groups and times, a tree, and blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skcooc.heldout.predictors import CachedPredictions, rows_of, smoothed
from skcooc.heldout.scoring import score_rows
from skcooc.inspection.features import cluster_orders
from skcooc.inspection.groups import divide_by_label, divide_by_time, runs
from skcooc.inspection.models import ModelView, call_on_counts, distributions
from skcooc.inspection.names import escape_surrogates
from skcooc.protocol import Array
from skcooc.tables import as_counts

MIXES = np.linspace(0, 1, 11)  # positions of the slider between probability and ratio
N_SHOWN = 20  # features at a position of the slider
MANY = 100  # topics, above which fewer features of each are kept
NOTHING = 1e-9  # probabilities that are shown as zero
FEWEST_TOKENS = 3.0  # of a feature in a topic, below which its ratio is not used

PER_TOPIC = 8  # representative rows of a topic
EXTREME = 15  # rows that are predicted worst, and best
SMALLEST_SHARE = 0.01  # of a topic in a row, below which it is not mentioned
MIXED = 6  # topics of a row that are listed
N_COLUMNS = 15  # columns of a row without a text
WORD = re.compile(r"\w+(?:[-'’]\w+)*")
PART = re.compile(r"\w+")

N_RESAMPLES = 200  # of intervals
MOST_GROUPS = 40  # the largest are shown

AT_LEAVES = 10  # rows of a leaf

FIRST = 12  # members of each cluster that are kept in any case
NAMES_ROOM = 200_000  # bytes of the names of the members of one side
EXAMPLES = 8  # pairs of a block
MOST_EXAMPLES = 6000  # of all blocks

Parts = tuple[list[str], list[int]]  # alternately plain text and coloured words; their topics


def topic_features(view: ModelView) -> list[tuple[Array, Array, Array]]:
    """Features of each topic, with P(y given z) and P(y given another topic)."""
    tiny = np.finfo(float).tiny
    rest = view.unigram - view.weights[:, None] * view.components
    rest /= np.maximum(1 - view.weights, tiny)[:, None]
    rest = np.maximum(rest, 0.5 / view.n_tokens)  # at least half a token
    unigram = np.maximum(view.unigram, tiny)
    n = N_SHOWN if len(rest) <= MANY else max(6, N_SHOWN * MANY // len(rest))
    n = min(n, rest.shape[1])
    features = []
    for p, weight, r in zip(view.components, view.weights, rest, strict=True):
        expected = view.n_tokens * weight * p
        selected = set[int]()
        for reference in (unigram, r):
            ranks = _relevances(p, reference, expected)
            first = np.argpartition(-ranks, n - 1, axis=1)[:, :n]  # at each position of the slider
            selected |= set(first[np.take_along_axis(ranks, first, axis=1) > -np.inf].tolist())
        columns = np.array(sorted(selected, key=lambda j: (-p[j], j)), dtype=int)
        features.append((columns, p[columns], r[columns]))
    return features


def _relevances(p: Array, reference: Array, expected: Array) -> Array:
    """t log(p / reference) + (1 - t) log p at all positions t of the slider, (11, M).

    Sievert and Shirley (2014), equation 1, with P(y) as reference. Features of fewer than
    ``FEWEST_TOKENS`` expected tokens are ranked at t = 0 only.
    """
    relevances = np.log(np.maximum(p, NOTHING)) - MIXES[:, None] * np.log(reference)
    relevances[1:, expected < FEWEST_TOKENS] = -np.inf
    relevances[:, p < NOTHING] = -np.inf
    return relevances


def seeds_of_topics(view: ModelView) -> list[list[str]]:
    """Names of the seeds of the first topics, of a model that has seeds.

    The seeds of a class are those of each of its topics.
    """
    columns = list(map(str, view.columns))
    n_topics = getattr(view.model, "n_components_per_class", 1)  # of each entry
    return [
        [columns[seed] if isinstance(seed, Integral) else seed for seed in seeds or ()]
        for seeds in (getattr(view.model, "seed_features", None) or {}).values()
        for _ in range(n_topics)
    ]


def round_short(value: float) -> float:
    """A number rounded to four digits, to take less room."""
    return float(f"{value:.4g}") if abs(value) >= NOTHING else 0.0


def finite_or_none(table: Array) -> list[list[float | None]]:
    """Numbers rounded to four digits, or None if they are not finite."""
    return [[round_short(v) if np.isfinite(v) else None for v in line] for line in table]


def round_count(n: float) -> float:
    """A number of tokens: integers exactly, others rounded to four digits."""
    return int(n) if n == int(n) else round_short(n)


def perplexities(view: ModelView) -> Array:
    """Perplexity exp(-mean log P(y given x)) of each row, (N,); NaN if undefined.

    In sample for the rows fitted. For other rows, the tokens not folded in if the estimator
    has ``score_samples``; else all of them, after all were folded in.
    """
    if is_held_out(view):
        log_likelihood = call_on_counts(view.model, "score_samples", view.counts)
        return np.exp(-np.where(log_likelihood == 0, np.nan, log_likelihood))
    model = view.model
    X = as_counts(view.counts.astype(np.float64))
    cells = X.cells(view.mixtures, view.components.T)
    if view.factors is not None:
        groups = model.row_groups_
        rows = rows_of(view.counts)
        sums = np.einsum("nk,nk->n", view.mixtures, (view.factors @ view.components.T)[groups])
        cells *= view.factors[groups[rows], view.counts.indices] / sums[rows]
    unigram = np.asarray(getattr(model, "unigram_", view.unigram), dtype=np.float64)
    predictor = smoothed(CachedPredictions(cells), unigram, getattr(model, "smoothing_", 0.0))
    means, tokens = score_rows(X, predictor)
    return np.exp(-np.where(tokens > 0, means, np.nan))


def is_held_out(view: ModelView) -> bool:
    return not view.fitted and hasattr(view.model, "score_samples")


def select_documents(
    view: ModelView, representative: list[list[int]], error: Array, n_rows: int
) -> Array:
    """The rows shown: representative and extreme ones, and a sample of the others."""
    finite = np.flatnonzero(np.isfinite(error))
    by_error = finite[np.argsort(error[finite], kind="stable")]
    first = {i for rows in representative for i in rows}
    first |= set(by_error[:EXTREME].tolist()) | set(by_error[-EXTREME:].tolist())
    rest = np.setdiff1d(np.flatnonzero(view.row_sums), sorted(first))
    sample = np.random.default_rng(0).permutation(rest)[: max(0, n_rows - len(first))]
    return np.sort(np.concatenate([np.array(sorted(first), dtype=int), sample]))


def row_places(view: ModelView, topic_places: Array) -> Array:
    """Places of the rows on the map of topics, (N, 2): the mean of its topics by squared shares.

    Rows are spread evenly over a disk around it, so that those of equal shares are seen one by one.
    """
    sharp = view.mixtures**2
    number = np.arange(len(sharp))
    angle = 2 * np.pi * 0.754878 * number
    radius = np.sqrt((number * 0.569840) % 1)
    disk = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    spread = 0.07 if len(topic_places) > 2 else 0.25  # there is room beside two topics
    extent = max(float(np.ptp(topic_places, axis=0).max()), 1e-9)
    return distributions(sharp) @ topic_places + spread * extent * disk


def document_entries(
    view: ModelView, rows: Array, error: Array, limit: int
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a page; their texts have one character more than the limit."""
    find = column_finder(view)
    for i in rows.tolist():
        parts, topics = document_parts(view, i, limit + 1, find)
        shares = view.mixtures[i]
        first = np.argsort(-shares, kind="stable")[:MIXED].tolist()
        yield {
            "name": view.rows[i],
            "parts": parts,
            "topics": topics,
            "mixture": [[k, round_short(shares[k])] for k in first if shares[k] >= SMALLEST_SHARE],
            "perplexity": round_short(error[i]) if np.isfinite(error[i]) else None,
            "size": round_count(view.row_sums[i]),
        }


def even_limit(lengths: list[int], room: int) -> int:
    """The length to which texts are cut so that together they have ``room`` characters."""
    if sum(lengths) <= room:
        return max(lengths, default=0)
    ordered = np.sort(lengths)
    shorter = np.cumsum(ordered) - ordered
    limits = (room - shorter) // np.arange(len(ordered), 0, -1)
    return int(limits[np.argmax(ordered > limits)])


def cut_entries(entries: list[dict[str, Any]], limit: int) -> list[dict[str, Any]]:
    """Cut the texts of rows after the last whole word within ``limit`` characters."""
    return [{**entry, **_cut_parts(entry["parts"], entry["topics"], limit)} for entry in entries]


def _cut_parts(pieces: list[str], topics: list[int], limit: int) -> dict[str, Any]:
    if sum(map(len, pieces)) <= limit:
        return {}
    if not limit:
        return {"parts": [""], "topics": []}
    text = "".join(pieces)
    end = text.rfind(" ", 0, limit)
    room = end if end >= 0 else limit
    n = 0  # pieces that are kept
    while len(pieces[n]) < room:
        room -= len(pieces[n])
        n += 1
    last = pieces[n][:room]
    if n % 2:  # a word without an end
        n -= 1
        last = pieces[n] + last
    return {"parts": [*pieces[:n], last + " …"], "topics": topics[: n // 2]}


def column_finder(view: ModelView) -> Callable[[str], int | None]:
    """Return a function from a word to its column; None if the word has none, or several."""
    numbers = {str(name): j for j, name in enumerate(view.columns)}

    @cache
    def find(word: str) -> int | None:
        terms = (word, word.lower()) if view.analyzer is None else view.analyzer(word)
        columns = [numbers[term] for term in dict.fromkeys(terms) if term in numbers]
        return columns[0] if len(columns) == 1 or (columns and view.analyzer is None) else None

    return find


def document_parts(view: ModelView, i: int, limit: int, find: Callable[[str], int | None]) -> Parts:
    """The first characters of the text of a row, split at words with a topic.

    The topic of a word y is the most probable one, argmax_z P(z given x_i) P(y given z).
    """
    if view.texts is None:
        return _frequent_columns(view, i)
    text = view.texts[i][:limit]
    pieces = list[str]()
    columns = list[int]()
    end = 0
    for word, j in _words_with_columns(text, find):
        pieces += [text[end : word.start()], word[0]]
        columns.append(j)
        end = word.end()
    return [*pieces, text[end:]], _most_probable_topics(view, i, columns)


def _words_with_columns(
    text: str, find: Callable[[str], int | None]
) -> Iterator[tuple[re.Match[str], int]]:
    """Words with a column: "so-and-so" as a whole, or else its parts."""
    for compound in WORD.finditer(text):
        is_column = find(compound[0]) is not None
        words = [compound] if is_column else PART.finditer(text, *compound.span())
        yield from ((word, j) for word in words if (j := find(word[0])) is not None)


def _most_probable_topics(view: ModelView, i: int, columns: list[int]) -> list[int]:
    """The most probable topic of columns in a row; -1 if no topic has them."""
    joint = view.mixtures[i][:, None] * view.components[:, columns]
    return np.where(joint.max(axis=0, initial=0) > 0, joint.argmax(axis=0), -1).tolist()


def _frequent_columns(view: ModelView, i: int) -> Parts:
    """The most frequent columns of a row, with their counts, in place of a text."""
    start, stop = view.counts.indptr[i : i + 2]
    columns = view.counts.indices[start:stop]
    counts = view.counts.data[start:stop]
    first = np.lexsort((columns, -counts))[:N_COLUMNS]
    pieces = list[str]()
    for j, n in zip(columns[first], counts[first], strict=True):
        pieces += [", " if pieces else "", str(view.columns[j]) + (f" ×{n:g}" if n != 1 else "")]
    end = " …" if len(columns) > N_COLUMNS else ""
    return [*pieces, end], _most_probable_topics(view, i, columns[first].tolist())


def histogram(error: Array) -> Any:
    """Histogram of the perplexities of rows, with edges on a logarithmic scale."""
    finite = error[np.isfinite(error)]
    if not len(finite):
        return None
    low = max(finite.min(), 1.0)
    edges = np.geomspace(low, max(finite.max(), 1.0, low * 1.01), 25)
    counts, _ = np.histogram(np.clip(finite, edges[0], edges[-1]), edges)
    return {"edges": [round_short(edge) for edge in edges], "counts": counts.tolist()}


class PageGroups(NamedTuple):
    """Groups of rows that are shown."""

    members: list[Array]  # positions of their rows
    labels: list[str]
    n: int  # groups in all, or times
    name: str | None = None  # of the labels
    at: list[float] | None = None  # positions in time
    runs: list[list[int]] | None = None  # ranges without gaps


def groups_by_label(labels: ArrayLike, row_sums: Array) -> PageGroups:
    division = divide_by_label(labels, row_sums)
    sizes = np.array([len(rows) for rows in division.members])
    largest = np.sort(np.argsort(-sizes, kind="stable")[:MOST_GROUPS]).tolist()
    members = [division.members[g] for g in largest]
    labels = [division.labels[g] for g in largest]
    return PageGroups(members, labels, len(sizes), division.name)


def groups_by_time(times: ArrayLike, row_sums: Array) -> PageGroups:
    members, places, labels, name = divide_by_time(times, row_sums)
    ranges = [[run.start, run.stop] for run in runs(places)]
    return PageGroups(members, labels, len(labels), name, places.astype(float).tolist(), ranges)


def leaf_rows(view: ModelView, labels: Array) -> list[list[int]]:
    """Positions of the rows with the largest share at the leaf of each cluster."""
    tree = view.model.tree_
    joint = view.row_distribution * view.mixtures[np.arange(len(labels)), tree.leaves[labels]]
    order = np.lexsort((-joint, labels))
    order = order[view.row_sums[order] > 0]
    return [order[labels[order] == c][:AT_LEAVES].tolist() for c in range(len(tree.leaves))]


def tree_section(
    view: ModelView, labels: Array, rows: list[list[int]], numbers: dict[int, int]
) -> dict[str, Any]:
    """Parents of the nodes, and for each leaf its cluster, its size and its rows."""
    fitted = view.model.tree_
    sizes = np.bincount(labels[view.row_sums > 0], minlength=len(fitted.leaves)).tolist()
    leaves = {
        str(leaf): {"cluster": c, "n_rows": sizes[c], "rows": [numbers[i] for i in rows[c]]}
        for c, leaf in enumerate(fitted.leaves.tolist())
    }
    return {"parents": fitted.parents.tolist(), "order": fitted.preorder.tolist(), "leaves": leaves}


def block_section(view: ModelView) -> dict[str, Any]:
    """Associations of clusters of rows and columns, members, and most frequent pairs.

    Pairs are positions among the members. Rare members of large tables are left out.
    """
    joint = np.asarray(view.model.joint_, dtype=np.float64)
    C, D = joint.shape
    labels = view.labels("row_labels_"), np.asarray(view.model.column_labels_)
    n = max(2, min(EXAMPLES, MOST_EXAMPLES // joint.size))
    pairs = _pairs(view.counts, *labels, joint.shape, n)
    in_rows, in_columns = ([pair[at] for _, best in pairs for pair in best] for at in (0, 1))
    row_members, row_at = _list_members(labels[0], C, view.row_sums, view.rows, in_rows)
    sums = np.asarray(view.counts.sum(axis=0)).ravel()
    names = list(map(str, view.columns))
    column_members, column_at = _list_members(labels[1], D, sums, names, in_columns)
    down, across = cluster_orders(joint)
    with np.errstate(divide="ignore"):
        log2 = np.log2(np.asarray(view.model.association_, dtype=np.float64))
    return {
        "rows": down.tolist(),
        "columns": across.tolist(),
        "joint": [[round_short(value) for value in line] for line in joint],
        "log2": finite_or_none(log2),
        "row_members": row_members,
        "column_members": column_members,
        "pairs": [[n, [[row_at[i], column_at[j], m] for i, j, m in best]] for n, best in pairs],
    }


def _list_members(
    labels: Array, n_clusters: int, sums: Array, names: Sequence[str], needed: list[Any]
) -> tuple[list[Any], dict[int, int]]:
    """Size of each cluster with the names of the members shown, and the places of these.

    Members have tokens, the most frequent first; the first ones, those needed, and frequent ones of
    all clusters are named.
    """
    commonest = np.argsort(-sums, kind="stable")
    sizes = [len(escape_surrogates(names[i]).encode()) + 3 for i in commonest]
    room = np.cumsum(sizes) <= NAMES_ROOM
    has_room = np.zeros(len(sums), dtype=bool)
    has_room[commonest[room]] = True
    has_room[needed] = True
    order = np.lexsort((-sums, labels))
    order = order[sums[order] > 0]
    entries = list[Any]()
    places = dict[int, int]()
    for cluster in range(n_clusters):
        members = order[labels[order] == cluster]
        shown = members[has_room[members] | (np.arange(len(members)) < FIRST)].tolist()
        entries.append([len(members), [names[i] for i in shown]])
        places |= {i: place for place, i in enumerate(shown)}
    return entries, places


def _pairs(
    counts: Any, row_labels: Array, column_labels: Array, shape: tuple[int, ...], n: int
) -> list[tuple[float, list[tuple[int, int, float]]]]:
    """Co-occurrences in each block and its n most frequent pairs (i, j, n_ij)."""
    entries = counts.tocoo()
    number = row_labels[entries.row] * shape[1] + column_labels[entries.col]
    order = np.lexsort((entries.col, entries.row, -entries.data, number))
    begin = np.searchsorted(number[order], np.arange(np.prod(shape) + 1))
    totals = np.bincount(number, entries.data, minlength=np.prod(shape))

    def pair(e: int) -> tuple[int, int, float]:
        return int(entries.row[e]), int(entries.col[e]), round_count(entries.data[e])

    return [
        (round_count(total), [pair(e) for e in order[a : min(a + n, b)].tolist()])
        for total, a, b in zip(totals, begin[:-1], begin[1:], strict=True)
    ]
