"""The rows of a page: which are shown, what is in them by topic, how well they are predicted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from skcooc.inspection.explorer.reading import Subject, ask
from skcooc.inspection.explorer.topics import counted, short
from skcooc.inspection.rows import most_representative
from skcooc.protocol import Array

MOST_ROWS = 1000  # that are shown at all
PER_TOPIC = 8  # rows that stand for a topic
EXTREME = 15  # rows that are predicted worst, and best
BLOCK = 50_000  # non-zeros at once
SOME = 0.01  # share of a topic in a row, below which it is not mentioned
MIXED = 6  # topics of a row that are listed
N_COLUMNS = 15  # columns of a row without a text
WORD, PART = re.compile(r"\w+(?:[-'’]\w+)*"), re.compile(r"\w+")

Parts = tuple[list[str], list[int]]  # what is between coloured words and they themselves; topics


def perplexities(subject: Subject) -> Array:
    """exp(-mean log P(y given x)) of each row, (N,); NaN where nothing of a row is predicted.

    Of the rows fitted, all observations, in sample. Of other rows, where the estimator has
    ``score_samples``, the half that was not folded in; else all, after all were folded in.
    """
    if is_held_out(subject):
        log_likelihood = ask(subject.model, "score_samples", subject.counts)
        return np.exp(-np.where(log_likelihood == 0, np.nan, log_likelihood))
    s = getattr(subject.model, "smoothing_", 0.0)
    unigram = np.asarray(getattr(subject.model, "unigram_", subject.unigram), dtype=np.float64)
    entries, total = subject.counts.tocoo(), np.zeros(len(subject.rows))
    for first in range(0, entries.nnz, BLOCK):
        part = slice(first, first + BLOCK)
        i, j = entries.row[part], entries.col[part]
        p = np.einsum("nk,nk->n", subject.mixtures[i], subject.components.T[j])
        with np.errstate(divide="ignore"):
            terms = entries.data[part] * np.log((1 - s) * p + s * unigram[j])
        total += np.bincount(i, terms, minlength=len(total))
    with np.errstate(invalid="ignore"):
        return np.exp(-total / subject.row_sums)


def is_held_out(subject: Subject) -> bool:
    """Whether perplexities are of observations that nothing was fitted to."""
    return not subject.fitted and hasattr(subject.model, "score_samples")


def representative(subject: Subject) -> list[list[int]]:
    """The rows that stand for each topic, of those that are shown to have some of it."""
    ranked = most_representative(subject.mixtures, subject.row_distribution, PER_TOPIC)
    return [[i for i in rows if subject.mixtures[i, k] >= SOME] for k, rows in enumerate(ranked)]


def chosen(subject: Subject, first_of_all: list[list[int]], found: Array) -> Array:
    """The rows shown: those that stand for topics, extremes, and a sample of the others."""
    known = np.flatnonzero(np.isfinite(found))
    by_error = known[np.argsort(found[known], kind="stable")]
    first = {i for rows in first_of_all for i in rows}
    first |= set(by_error[:EXTREME].tolist()) | set(by_error[-EXTREME:].tolist())
    rest = np.setdiff1d(np.flatnonzero(subject.row_sums), sorted(first))
    room = max(0, MOST_ROWS - len(first))
    sample = np.random.default_rng(0).permutation(rest)[:room]
    return np.sort(np.concatenate([np.array(sorted(first), dtype=int), sample]))


def mixture(shares: Array) -> list[list[float]]:
    """The largest shares of a row: [topic, share]."""
    first = np.argsort(-shares, kind="stable")[:MIXED].tolist()
    return [[k, short(shares[k])] for k in first if shares[k] >= SOME]


def finder(subject: Subject) -> Callable[[str], int | None]:
    """What tells which column a word of a text is counted in; None where in none, or in several."""
    numbers = {str(name): j for j, name in enumerate(subject.columns)}
    known: dict[str, int | None] = {}

    def find(word: str) -> int | None:
        if word not in known:
            known[word] = _column(word, numbers, subject.analyzer)
        return known[word]

    return find


def _column(word: str, numbers: dict[str, int], analyzer: Any) -> int | None:
    terms = (word, word.lower()) if analyzer is None else analyzer(word)
    found = [numbers[term] for term in dict.fromkeys(terms) if term in numbers]
    return found[0] if len(found) == 1 or (found and analyzer is None) else None


def coloured(subject: Subject, i: int, limit: int, find: Callable[[str], int | None]) -> Parts:
    """The text of a row, up to so many characters, cut at the words that have a topic.

    The topic of a word y is the most probable one, argmax_z P(z given x_i) P(y given z).
    """
    if subject.texts is None:
        return _columns(subject, i)
    text = subject.texts[i]
    text = text if len(text) <= limit else text[:limit].rsplit(" ", 1)[0] + " …"
    found = list(_spans(text, find))
    pieces, end = list[str](), 0
    for word, _ in found:
        pieces += [text[end : word.start()], word[0]]
        end = word.end()
    return [*pieces, text[end:]], topics_of(subject, i, [j for _, j in found])


def _spans(text: str, find: Callable[[str], int | None]) -> Iterator[tuple[re.Match[str], int]]:
    """The words that are counted and their columns; of "so-and-so" the whole, or else its parts."""
    for whole in WORD.finditer(text):
        words = [whole] if find(whole[0]) is not None else PART.finditer(text, *whole.span())
        yield from ((word, j) for word in words if (j := find(word[0])) is not None)


def topics_of(subject: Subject, i: int, columns: list[int]) -> list[int]:
    """The most probable topic of columns in a row; -1 where none has them."""
    joint = subject.mixtures[i][:, None] * subject.components[:, columns]
    return np.where(joint.max(axis=0, initial=0) > 0, joint.argmax(axis=0), -1).tolist()


def _columns(subject: Subject, i: int) -> Parts:
    """The most frequent columns of a row, with their counts, in the place of a text."""
    start, stop = subject.counts.indptr[i : i + 2]
    columns, counts = subject.counts.indices[start:stop], subject.counts.data[start:stop]
    first = np.lexsort((columns, -counts))[:N_COLUMNS]
    pieces = list[str]()
    for j, n in zip(columns[first], counts[first], strict=True):
        pieces += [", " if pieces else "", str(subject.columns[j]) + (f" ×{n:g}" if n != 1 else "")]
    end = " …" if len(columns) > N_COLUMNS else ""
    return [*pieces, end], topics_of(subject, i, columns[first].tolist())


def histogram(found: Array) -> Any:
    """How many rows have perplexities between edges that grow by equal factors."""
    known = found[np.isfinite(found)]
    if not len(known):
        return None
    low, high = max(known.min(), 1.0), max(known.max(), 1.0)
    edges = np.geomspace(low, max(high, low * 1.01), 25)
    counts, _ = np.histogram(np.clip(known, edges[0], edges[-1]), edges)
    return {"edges": [short(edge) for edge in edges], "counts": counts.tolist()}


def entries(
    subject: Subject, rows: Array, found: Array, limit: int, find: Callable[[str], int | None]
) -> Iterator[dict[str, Any]]:
    """The rows as the page has them."""
    for i in rows.tolist():
        parts, topics = coloured(subject, i, limit, find)
        yield {
            "name": subject.rows[i],
            "parts": parts,
            "topics": topics,
            "mixture": mixture(subject.mixtures[i]),
            "perplexity": short(found[i]) if np.isfinite(found[i]) else None,
            "size": counted(subject.row_sums[i]),
        }
