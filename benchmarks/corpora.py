"""The research data sets: the one place through which tests, benchmarks and docs read them.

They are not part of the library. Their folder is the environment variable SKCOOC_DATA, by default
``../shared/data`` relative to the root of the repository.
"""

import csv
import functools
import gzip
import json
import os
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

from skcooc import Triads

FILES = (
    "bible_bigrams.npz",
    "bible_kjv.tsv.gz",
    "bible_vocab.txt.gz",
    "brown_adj_noun.tsv.gz",
    "classic3_counts.npz",
    "classic3_labels.txt.gz",
    "classic3_vocab.txt.gz",
    "cranfield_docs.jsonl.gz",
    "cranfield_qrels.tsv.gz",
    "cranfield_queries.jsonl.gz",
    "neurips_abstracts.jsonl.gz",
    "newsgroups20_counts.npz",
    "newsgroups20_labels.tsv.gz",
    "newsgroups20_vocab.txt.gz",
    "newsgroups4.jsonl.gz",
    "reuters5.jsonl.gz",
    *(f"textures/D{number}.png" for number in (4, 16, 19, 21, 29, 55, 68, 84)),
)

TOKEN = re.compile(r"[a-z]+(?:[-'][a-z]+)*")
WORD = re.compile(r"[a-z]+")
WORD_OR_MARK = re.compile(r"[a-z]+(?:['-][a-z]+)*'?|[^a-z\s]")
ADJECTIVES, NOUNS = {"jj", "jjr", "jjs", "jjt"}, {"nn", "nns"}  # tags
LONGER_WORD = re.compile(r"[a-z]{2,}")


class Corpus(NamedTuple):
    """Counts of shape (N, M) and what their rows and columns are."""

    X: sp.csr_array
    rows: np.ndarray | None  # (N,) names or numbers
    labels: np.ndarray | None  # (N,) known classes
    columns: np.ndarray  # (M,) words


class Judged(NamedTuple):
    """Documents, queries in the same words, and which documents are relevant to which query."""

    X: sp.csr_array  # (N, M) counts
    queries: sp.csr_array  # (n, M) counts
    relevance: sp.csr_array  # (n, N), ones


def folder() -> Path:
    """Folder of the data sets, whether it exists or not."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("SKCOOC_DATA") or default)


files_read: set[str] = set()  # names of those that were read so far


def available() -> bool:
    """Whether all the files read here are there."""
    return all((folder() / name).is_file() for name in FILES)


def cranfield() -> Corpus:
    """Read 1400 Cranfield abstracts, stemmed; rows are document numbers, two of them empty.

    Lower case, a hyphenated word being one token, scikit-learn's English stop list, stems by
    Porter's original algorithm, document frequency at least five: N=1400, M=1728, L=110940.
    Needs snowballstemmer.
    """
    documents = _records("cranfield_docs.jsonl.gz")
    X, words = _stemmed((document["text"] for document in documents), TOKEN)
    return Corpus(X, np.array([document["id"] for document in documents]), None, words)


def cranfield_judged() -> Judged:
    """Read the abstracts of ``cranfield``, the 225 queries and the 1612 judgements from 1 to 4.

    Queries go by their position, ``id``, which is what the judgements refer to. The 225 rows judged
    -1 are dropped: the scale does not mention it, and the document looks like the paper from which
    the question arose. Words of the queries that are not in the vocabulary are ignored.
    """
    documents, queries = (_records(f"cranfield_{part}.jsonl.gz") for part in ("docs", "queries"))
    vectorizer = _stem_counter(TOKEN)
    X = sp.csr_array(vectorizer.fit_transform(document["text"] for document in documents))
    counts = sp.csr_array(vectorizer.transform(query["text"] for query in queries))
    judged = [row for row in _table("cranfield_qrels.tsv.gz") if int(row["code"]) > 0]
    i, j = (np.array([int(row[name]) - 1 for row in judged]) for name in ("query", "doc"))
    shape = counts.shape[0], X.shape[0]
    return Judged(X, counts, sp.csr_array((np.ones(len(judged)), (i, j)), shape=shape))


def cranfield_and_neurips() -> Corpus:
    """Read the abstracts of ``cranfield``, labelled 0, and of NeurIPS in their words, labelled 1.

    Rows are document numbers and titles. Words of the NeurIPS abstracts that are not among those of
    Cranfield are ignored, and few of these are left in some: N=1400 + 6359, M=1728. Needs
    snowballstemmer.
    """
    documents, others = _records("cranfield_docs.jsonl.gz"), _records("neurips_abstracts.jsonl.gz")
    vectorizer = _stem_counter(TOKEN)
    usual = vectorizer.fit_transform(document["text"] for document in documents)
    strange = vectorizer.transform(record["text"] for record in others)
    rows = [str(document["id"]) for document in documents] + [record["title"] for record in others]
    labels = np.repeat([0, 1], [usual.shape[0], strange.shape[0]])
    X = sp.csr_array(sp.vstack([usual, strange]))
    return Corpus(X, np.array(rows), labels, vectorizer.get_feature_names_out())


def classic3() -> Corpus:
    """Read MEDLINE, CISI and Cranfield documents, labelled 0, 1, 2: N=3891, M=4303, L=256348."""
    labels = np.array([int(line) for line in _lines("classic3_labels.txt.gz")])
    return Corpus(_counts("classic3_counts.npz"), None, labels, _words("classic3_vocab.txt.gz"))


def neurips(words: Sequence[str]) -> Corpus:
    """Read the NeurIPS abstracts whose titles hold one of these words; rows are the titles.

    A word may be a part of one in the title, in any case. Tokens, stop list, stems and document
    frequency of the abstracts as in ``cranfield``: "cluster" gives N=157, "neural" with "network"
    N=855. Needs snowballstemmer.
    """
    chosen = [
        record
        for record in _records("neurips_abstracts.jsonl.gz")
        if any(word in record["title"].lower() for word in words)
    ]
    X, columns = _stemmed((record["text"] for record in chosen), TOKEN)
    return Corpus(X, np.array([record["title"] for record in chosen]), None, columns)


def neurips_abstracts() -> Corpus:
    """Abstracts of NeurIPS, of words of five and more of them: 6359 rows."""
    vectorizer = CountVectorizer(min_df=5, stop_words="english", token_pattern=r"[a-z]+")
    texts = (str(record.get("text", "")) for record in _records("neurips_abstracts.jsonl.gz"))
    X = sp.csr_array(vectorizer.fit_transform(texts))
    return Corpus(X, None, None, vectorizer.get_feature_names_out())


def brown_pairs() -> Corpus:
    """Read the adjective-noun pairs of the Brown corpus: N=6054, M=6961, L=45483."""
    table = _table("brown_adj_noun.tsv.gz")
    rows, i = np.unique([line["adjective"] for line in table], return_inverse=True)
    columns, j = np.unique([line["noun"] for line in table], return_inverse=True)
    counts = np.array([int(line["count"]) for line in table])
    X = sp.csr_array((counts, (i, j)), shape=(len(rows), len(columns)))
    return Corpus(X, rows, None, columns)


def brown_triples() -> Triads:
    """Read (category, adjective, noun) of the Brown corpus, from ``brown.zip`` of nltk_data.

    The file lies in the folder of the data sets, but is not one of those that are asked for
    elsewhere. A triple is the category of a text (15), and in it an adjective directly followed by
    a common noun in one sentence; lower case, letters with inner marks, words as they stand.
    Adjectives and nouns seen three times or more.
    """
    found: list[tuple[str, str, str]] = []
    with zipfile.ZipFile(_path("brown.zip")) as archive:
        texts = [line.split() for line in archive.read("brown/cats.txt").decode().splitlines()]
        for name, category in texts:
            sentences = archive.read(f"brown/{name}").decode().splitlines()
            for adjective, noun in (pair for line in sentences for pair in _described(line)):
                found.append((category, adjective, noun))
    frequent = [Counter(triple[way] for triple in found) for way in range(3)]
    kept = [t for t in found if min(frequent[1][t[1]], frequent[2][t[2]]) >= 3]
    return Triads.from_triples(*zip(*kept, strict=True))


def reuters_triples() -> Triads:
    """Read (first category, word, next word) of five categories of Reuters.

    Words have two letters or more and are not on the stop list, as written but in lower case; they
    stand side by side, and triples of words that are in fewer than five are left out, twice.
    """
    found = [
        (record["categories"][0], *pair)
        for record in _records("reuters5.jsonl.gz")
        for pair in pairwise(WORD_OR_MARK.findall(record["text"].lower()))
        if all(LONGER_WORD.match(word) and word not in ENGLISH_STOP_WORDS for word in pair)
    ]
    for _ in range(2):
        before, after = (Counter(triple[way] for triple in found) for way in (1, 2))
        found = [t for t in found if min(before[t[1]], after[t[2]]) >= 5]
    return Triads.from_triples(*zip(*found, strict=True))


def bible_trigrams() -> Triads:
    """Read the word trigrams of the King James Bible: 913243 of the 12842 words of ``bible``.

    Trigrams cross verses, but not books.
    """
    words, texts = _words("bible_vocab.txt.gz"), bible_text()
    first, second, third = (
        np.concatenate([text[start : len(text) - 2 + start] for text in texts])
        for start in range(3)
    )
    shape = (len(words),) * 3
    return Triads(first, second, third, shape=shape, names=(words,) * 3)


def newsgroups20() -> Corpus:
    """Read the 20 newsgroups, labelled by group, three rows empty: N=19997, M=29954, L=2508129."""
    table = _table("newsgroups20_labels.tsv.gz")
    rows, labels = (np.array([line[key] for line in table]) for key in ("id", "group"))
    words = _words("newsgroups20_vocab.txt.gz")
    return Corpus(_counts("newsgroups20_counts.npz"), rows, labels, words)


def newsgroups20_fifth() -> Corpus:
    """Every fifth message of `newsgroups20`, of the words of five and more of these."""
    X, rows, labels, words = newsgroups20()
    X = X[::5]
    kept = (X > 0).sum(axis=0) >= 5
    return Corpus(X[:, kept], rows[::5], labels[::5], words[kept])


def newsgroups4() -> Corpus:
    """Read 1000 messages of each of four newsgroups, labelled by group.

    Two groups are about sports and two about vehicles. Subject and text in lower case, words of
    two letters or more; stop list, stems and document frequency as in ``cranfield``: N=4000,
    M=7675, L=403019. Needs snowballstemmer.
    """
    messages = _records("newsgroups4.jsonl.gz")
    texts = (f"{message['subject']} {message['text']}" for message in messages)
    X, words = _stemmed(texts, LONGER_WORD)
    rows, labels = (np.array([message[key] for message in messages]) for key in ("id", "group"))
    return Corpus(X, rows, labels, words)


def reuters5() -> Corpus:
    """Read Reuters-21578 stories with a body and just one of five categories, which is the label.

    The categories are acq, grain, interest, money-fx and ship. Title and body in lower case, words
    of one letter or more; stop list, stems and document frequency as in ``cranfield``: N=3516,
    M=3824, L=306729. Needs snowballstemmer.
    """
    stories = [
        story
        for story in _records("reuters5.jsonl.gz")
        if story["text"].strip() and len(story["categories"]) == 1
    ]
    X, words = _stemmed((f"{story['title']} {story['text']}" for story in stories), WORD)
    labels = np.array([story["categories"][0] for story in stories])
    return Corpus(X, np.array([story["id"] for story in stories]), labels, words)


def reuters_texts() -> list[str]:
    """Read the Reuters-21578 stories with a body, title and body as they are: 3732."""
    stories = _records("reuters5.jsonl.gz")
    return [f"{s['title']} {s['text']}" for s in stories if s["text"].strip()]


def bible_chapters() -> list[str]:
    """Read the King James Bible, chapter by chapter as it is: 1189."""
    chapters: dict[tuple[str, str], list[str]] = {}
    for verse in _table("bible_kjv.tsv.gz"):
        chapters.setdefault((verse["book"], verse["chapter"]), []).append(verse["text"])
    return [" ".join(verses) for verses in chapters.values()]


def textures() -> dict[str, np.ndarray]:
    """Read eight Brodatz textures by name, grey levels of shape (256, 256); needs matplotlib."""
    from matplotlib.image import imread  # only the textures need it

    names = [name for name in FILES if name.startswith("textures/")]
    images = {Path(name).stem: imread(_path(name)) for name in names}
    return {name: np.rint(255 * image).astype(np.uint8) for name, image in images.items()}


def bible() -> Corpus:
    """Read the word bigrams of the King James Bible, one column empty: N=M=12842, L=913309."""
    words = _words("bible_vocab.txt.gz")
    return Corpus(_counts("bible_bigrams.npz"), words, None, words)


def bible_text() -> list[np.ndarray]:
    """Read the King James Bible, book by book: words and marks as numbers of columns of `bible`."""
    number = {word: j for j, word in enumerate(_words("bible_vocab.txt.gz"))}
    books: dict[str, list[int]] = {}
    for verse in _table("bible_kjv.tsv.gz"):
        words = WORD_OR_MARK.findall(verse["text"].lower())
        books.setdefault(verse["book"], []).extend(number[word] for word in words)
    return [np.array(words) for words in books.values()]


COLLECTIONS: dict[str, Callable[[], Corpus]] = {
    "Cranfield": cranfield,
    "CLASSIC3": classic3,
    "Reuters": reuters5,
    "NeurIPS": neurips_abstracts,
    "4 newsgroups": newsgroups4,
    "20 Newsgroups": newsgroups20,
    "20 Newsgroups, a fifth": newsgroups20_fifth,
    "Brown pairs": brown_pairs,
    "Bible bigrams": bible,
}


def _described(sentence: str) -> Iterator[tuple[str, str]]:
    """Adjectives and the common nouns that follow them, of words with the tags of Brown."""
    tokens = [token.lower().rpartition("/")[::2] for token in sentence.split()]
    for (word, tag), (following, its_tag) in pairwise(tokens):
        tagged = tag.split("-")[0] in ADJECTIVES and its_tag.split("-")[0] in NOUNS
        if tagged and TOKEN.fullmatch(word) and TOKEN.fullmatch(following):
            yield word, following


def _stemmed(texts: Iterable[str], token: re.Pattern[str]) -> tuple[sp.csr_array, np.ndarray]:
    """Count stems that are in five texts or more; the words on the stop list are left out."""
    vectorizer = _stem_counter(token)
    X = vectorizer.fit_transform(texts)
    return sp.csr_array(X), vectorizer.get_feature_names_out()


@functools.cache
def _porter() -> Callable[[str], str]:
    from snowballstemmer import stemmer  # only texts need it

    return functools.cache(stemmer("porter").stemWord)


def _stem_counter(token: re.Pattern[str]) -> CountVectorizer:
    stem = _porter()

    def stems(text: str) -> list[str]:
        words = token.findall(text.lower())
        return [stem(word) for word in words if word not in ENGLISH_STOP_WORDS]

    return CountVectorizer(analyzer=stems, min_df=5)


def _path(name: str) -> Path:
    path = folder() / name
    files_read.add(name)
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} does not exist: set SKCOOC_DATA to the folder of the data sets."
        )
    return path


def _lines(name: str) -> list[str]:
    with gzip.open(_path(name), "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def _records(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _lines(name)]


def _words(name: str) -> np.ndarray:
    return np.array(_lines(name))


def _table(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(_lines(name), delimiter="\t", quoting=csv.QUOTE_NONE))


def _counts(name: str) -> sp.csr_array:
    return sp.csr_array(sp.load_npz(_path(name)))
