"""The research data sets: the one place through which tests, benchmarks and docs read them.

They are not part of the library. Their folder is the environment variable SKCOOC_DATA, by default
``../shared/data`` relative to the root of the repository.
"""

import csv
import gzip
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

FILES = (
    "bible_bigrams.npz",
    "bible_vocab.txt.gz",
    "brown_adj_noun.tsv.gz",
    "classic3_counts.npz",
    "classic3_labels.txt.gz",
    "classic3_vocab.txt.gz",
    "cranfield_docs.jsonl.gz",
    "newsgroups20_counts.npz",
    "newsgroups20_labels.tsv.gz",
    "newsgroups20_vocab.txt.gz",
)

TOKEN = re.compile(r"[a-z]+(?:[-'][a-z]+)*")


class Corpus(NamedTuple):
    """Counts of shape (N, M) and what their rows and columns are."""

    X: sp.csr_array
    rows: np.ndarray | None  # (N,) names or numbers
    labels: np.ndarray | None  # (N,) known classes
    columns: np.ndarray  # (M,) words


def folder() -> Path:
    """Folder of the data sets, whether it exists or not."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("SKCOOC_DATA") or default)


def available() -> bool:
    """Whether all the files read here are there."""
    return all((folder() / name).is_file() for name in FILES)


def cranfield() -> Corpus:
    """Read 1400 Cranfield abstracts, stemmed; rows are document numbers, two of them empty.

    Lower case, a hyphenated word being one token, scikit-learn's English stop list, stems by
    Porter's original algorithm, document frequency at least five: N=1400, M=1728, L=110940.
    Needs snowballstemmer.
    """
    documents = [json.loads(line) for line in _lines("cranfield_docs.jsonl.gz")]
    vectorizer = CountVectorizer(analyzer=_stems, min_df=5)
    X = vectorizer.fit_transform(document["text"] for document in documents)
    ids = np.array([document["id"] for document in documents])
    return Corpus(sp.csr_array(X), ids, None, vectorizer.get_feature_names_out())


def classic3() -> Corpus:
    """Read MEDLINE, CISI and Cranfield documents, labelled 0, 1, 2: N=3891, M=4303, L=256348."""
    labels = np.array([int(line) for line in _lines("classic3_labels.txt.gz")])
    return Corpus(_counts("classic3_counts.npz"), None, labels, _words("classic3_vocab.txt.gz"))


def brown_pairs() -> Corpus:
    """Read the adjective-noun pairs of the Brown corpus: N=6054, M=6961, L=45483."""
    table = _table("brown_adj_noun.tsv.gz")
    rows, i = np.unique([line["adjective"] for line in table], return_inverse=True)
    columns, j = np.unique([line["noun"] for line in table], return_inverse=True)
    counts = np.array([int(line["count"]) for line in table])
    X = sp.csr_array((counts, (i, j)), shape=(len(rows), len(columns)))
    return Corpus(X, rows, None, columns)


def newsgroups20() -> Corpus:
    """Read the 20 newsgroups, labelled by group, three rows empty: N=19997, M=29954, L=2508129."""
    table = _table("newsgroups20_labels.tsv.gz")
    rows, labels = (np.array([line[key] for line in table]) for key in ("id", "group"))
    words = _words("newsgroups20_vocab.txt.gz")
    return Corpus(_counts("newsgroups20_counts.npz"), rows, labels, words)


def bible() -> Corpus:
    """Read the word bigrams of the King James Bible, one column empty: N=M=12842, L=913309."""
    words = _words("bible_vocab.txt.gz")
    return Corpus(_counts("bible_bigrams.npz"), words, None, words)


def _stems(text: str) -> Iterator[str]:
    """Yield the stems of the words of a text that are not on the stop list."""
    from snowballstemmer import stemmer  # only this corpus needs it

    words = [word for word in TOKEN.findall(text.lower()) if word not in ENGLISH_STOP_WORDS]
    return iter(stemmer("porter").stemWords(words))


def _path(name: str) -> Path:
    path = folder() / name
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} does not exist: set SKCOOC_DATA to the folder of the data sets."
        )
    return path


def _lines(name: str) -> list[str]:
    with gzip.open(_path(name), "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def _words(name: str) -> np.ndarray:
    return np.array(_lines(name))


def _table(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(_lines(name), delimiter="\t", quoting=csv.QUOTE_NONE))


def _counts(name: str) -> sp.csr_array:
    return sp.csr_array(sp.load_npz(_path(name)))
