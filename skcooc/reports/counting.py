"""Texts as counts of their words: which words count, and why others do not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer

from skcooc.columns import NamedCounts, TopicalColumns
from skcooc.protocol import CSR, Array, RandomState
from skcooc.reports.notes import collected
from skcooc.tables import with_names
from skcooc.words import short_words, vectorizer_for

COPIES = 0.1  # share of the texts that are told
WORDLESS = 0.01  # share of the texts that are told
REPEATED, MIN_REPEATED = 0.05, 5  # share, and number, of texts with the same sentence
MIN_BLANKS = 3  # in sentences that are compared
N_COMPARED = 2000  # texts, whose sentences are compared
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
MANY = 1000, 100  # texts, from which a word has to be in 5 of them, and in 2
EXCERPT = 50  # characters of a text that name it


class NoWordsError(ValueError):
    """No words of the texts are counted."""


class DroppedWords(NamedTuple):
    """Words of one kind that are not counted, those to doubt first."""

    reason: str  # "common", "frequent", "rare" or "short"
    words: list[str]
    shares: Array  # (n,): of the texts that have them; NaN if not counted


@dataclass(frozen=True)
class CountedTexts:
    """Counts of words, and the fitted steps that count them."""

    X: CSR  # (N, M), with the names of the columns
    words: list[str]  # M
    steps: tuple[tuple[str, Any], ...]  # of a pipeline, before the model
    dropped: tuple[DroppedWords, ...]
    min_df: int | float
    max_df: int | float | None
    notes: tuple[str, ...]


def count_texts(
    texts: Sequence[str],
    *,
    stop_words: str | list[str] | None = "english",
    min_df: int | float | None = None,
    max_df: int | float | None = None,
    token_pattern: str | None = None,
    random_state: RandomState = None,
) -> CountedTexts:
    """Count the words of N texts; NoWordsError if none are left.

    Without ``max_df`` common words are dropped that tell little about a topic, by `TopicalColumns`.
    """
    n = len(texts)
    lower = 5 if n >= MANY[0] else 2 if n >= MANY[1] else 1
    options: dict[str, Any] = {
        "stop_words": stop_words,
        "min_df": lower if min_df is None else min_df,
        "max_df": 1.0 if max_df is None else max_df,
    }
    if token_pattern is not None:
        options["token_pattern"] = token_pattern
    notes = [*_note_of_copies(texts), *_note_of_boilerplate(texts)]
    with collected(notes):
        vectorizer = vectorizer_for(texts, **options)
    counts, dropped = _fit_vectorizer(vectorizer, texts)
    every_word = vectorizer.get_feature_names_out()
    X = with_names(counts, every_word)
    names = NamedCounts(vectorizer)
    names.vectorizer_ = vectorizer  # as its own fit would count once more
    steps: list[tuple[str, Any]] = [("words", names)]
    if max_df is None:
        selector = TopicalColumns(random_state=random_state)
        with collected(notes):
            X = selector.fit_transform(X)
        steps.append(("topical", selector))
        common = selector.dropped_
        shares = selector.row_shares_[common]
        dropped.insert(0, DroppedWords("common", every_word[common].tolist(), shares))
    notes += _notes_of_wordless(texts, X)
    if token_pattern is None:
        short = [word for word, _ in short_words(texts).most_common()]
        dropped.append(DroppedWords("short", short, np.full(len(short), np.nan)))
    return CountedTexts(
        X,
        X.column_names.tolist(),
        tuple(steps),
        tuple(dropped),
        vectorizer.min_df,
        max_df,
        tuple(notes),
    )


def _note_of_copies(texts: Sequence[str]) -> list[str]:
    """A note if many texts are copies of others, apart from white space; none for empty ones."""
    frequencies = Counter(line for text in texts if (line := " ".join(text.split())))
    n = frequencies.total()
    n_copies = n - len(frequencies)
    if n_copies <= COPIES * n:
        return []
    text, frequency = frequencies.most_common(1)[0]
    return [
        f"{n_copies:,} of {n:,} texts ({n_copies / n:.0%}) are copies of others; the most frequent "
        f"occurs {frequency:,} times: {excerpt(text)!r}. Copies count in topics and shares like "
        "other texts. They can raise the number of topics, because words held out of one text are "
        "still in its copies. Remove copies first if they should not count."
    ]


def _note_of_boilerplate(texts: Sequence[str]) -> list[str]:
    """A note if many texts that are no copies have a line or sentence in common, as a footer."""
    distinct = [*{" ".join(text.split()): text for text in texts}.values()]
    compared = distinct[:: -(-len(distinct) // N_COMPARED) or 1]
    frequencies = Counter(sentence for text in compared for sentence in _sentences(text))
    threshold = max(REPEATED * len(compared), MIN_REPEATED)
    repeated = [
        (n, len(sentence), sentence) for sentence, n in frequencies.items() if n >= threshold
    ]
    if not repeated:
        return []
    frequency, _, sentence = max(repeated)
    n_more = len(repeated) - 1
    suffix = f" ({n_more} more line{'s' if n_more > 1 else ''} like it)" if n_more else ""
    return [
        f"{frequency / len(compared):.0%} of the texts contain {excerpt(sentence)!r}{suffix}. If "
        "this is boilerplate, such as a footer, it can form a topic of its own: remove it from "
        "the texts, for example with str.replace."
    ]


def _sentences(text: str) -> set[str]:
    """The lines and the sentences of a text that have some words, with white space folded."""
    parts = (" ".join(part.split()) for part in (*text.splitlines(), *SENTENCE_END.split(text)))
    return {part for part in parts if part.count(" ") >= MIN_BLANKS}


def _notes_of_wordless(texts: Sequence[str], X: CSR) -> Iterator[str]:
    """Notes if many texts are empty, or have no counted word."""
    rows = np.flatnonzero(X.sum(axis=1) == 0).tolist()
    wordless = [texts[i] for i in rows if texts[i].strip()]
    n_empty = len(rows) - len(wordless)
    threshold = WORDLESS * len(texts)
    if n_empty > threshold:
        yield (
            f"{n_empty:,} of {len(texts):,} texts are empty or missing. They belong to no topic, "
            "and are in no share."
        )
    if len(wordless) > threshold:
        yield (
            f"{len(wordless):,} of {len(texts):,} texts have no word that is counted, such as "
            f"{excerpt(wordless[0])!r}. They belong to no topic, and are in no share. Count more "
            "words, by a lower min_df or fewer stop words, or fit texts of each language on their "
            "own."
        )


def _fit_vectorizer(
    vectorizer: CountVectorizer, texts: Sequence[str]
) -> tuple[CSR, list[DroppedWords]]:
    """Counts, and the words beyond the limits, which no vectorizer tells."""
    all_words = clone(vectorizer).set_params(min_df=1, max_df=1.0)
    message = (
        f"No words are left in {len(texts)} texts with min_df={vectorizer.min_df} and "
        f"max_df={vectorizer.max_df}: change these, or stop_words."
    )
    try:
        X = all_words.fit_transform(texts)
    except ValueError as error:
        if "empty vocabulary" in str(error):
            raise NoWordsError(message) from error
        raise
    words = all_words.get_feature_names_out()
    n_texts = np.bincount(X.indices, minlength=len(words))
    lower, upper = (
        limit if isinstance(limit, int) else limit * len(texts)
        for limit in (vectorizer.min_df, vectorizer.max_df)
    )
    mask = (n_texts >= lower) & (n_texts <= upper)
    if not mask.any():
        raise NoWordsError(message)
    vectorizer.vocabulary_ = {word: j for j, word in enumerate(words[mask].tolist())}
    vectorizer.fixed_vocabulary_ = False
    dropped = []
    for reason, beyond in (("frequent", n_texts > upper), ("rare", n_texts < lower)):
        columns = np.flatnonzero(beyond)
        columns = columns[np.argsort(-n_texts[columns], kind="stable")]
        shares = n_texts[columns] / len(texts)
        dropped.append(DroppedWords(reason, words[columns].tolist(), shares))
    return sp.csr_array(X[:, mask]), dropped


def excerpt(text: str) -> str:
    """The beginning of a text, with white space folded."""
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT else line[: EXCERPT - 1].rstrip() + "…"
