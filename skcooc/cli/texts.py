"""Counts of words in documents: the docstring corpus, a folder, or the lines of a file."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Sequence
from pathlib import Path

from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer

from skcooc.cli.arguments import Options
from skcooc.cli.table import InputError, LeftOut, Table
from skcooc.datasets import load_docstrings

WORD = r"(?u)\b[^\W\d_]\w{2,}\b"  # three characters or more, the first a letter: no numbers
EXCERPT = 50  # characters of a line that name it
EXAMPLES = (
    "numpy.linalg.svd",
    "scipy.signal.find_peaks",
    "scipy.stats.ttest_ind",
    "sklearn.cluster.KMeans",
    "sklearn.metrics.roc_auc_score",
)


def docstrings(options: Options) -> Table:
    """The docstrings of the installed NumPy, SciPy and scikit-learn."""
    corpus = load_docstrings()
    title = corpus.DESCR.partition(".\n")[0]
    examples = [name for name in EXAMPLES if name in corpus.names]
    return count(corpus.data, corpus.names, title, options, examples)


def folder(path: Path, options: Options) -> Table:
    """The files of a folder and its subfolders, hidden ones left out, one document each."""
    found = sorted(file.relative_to(path) for file in path.rglob("*") if file.is_file())
    files = [file for file in found if not any(part.startswith(".") for part in file.parts)]
    return count([decode(path / file) for file in files], list(map(str, files)), str(path), options)


def lines(path: Path, options: Options) -> Table:
    """The lines of a file that are not blank, one document each."""
    numbered = [(i, line) for i, line in enumerate(lines_of(path), 1) if line.strip()]
    names = [f"{i}: {excerpt(line)}" for i, line in numbered]
    return count([line for _, line in numbered], names, str(path), options)


def lines_of(path: Path) -> list[str]:
    """The lines of a text file; unlike str.splitlines, it divides at line feeds alone."""
    return decode(path).removesuffix("\n").split("\n")


def decode(path: Path) -> str:
    """The text of a file, also a .gz; InputError where it cannot be read or is no UTF-8 text."""
    try:
        data = path.read_bytes()
        if path.name.lower().endswith(".gz"):
            data = gzip.decompress(data)
        text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig").read()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path}: not a file of gzip") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a text in UTF-8 (byte {error.start})") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    if "\0" in text:
        raise InputError(f"{path}: not a text, it holds null characters")
    return text


def count(
    texts: Sequence[str],
    names: Sequence[str],
    title: str,
    options: Options,
    examples: Sequence[str] = (),
) -> Table:
    """Counts of the words of texts; InputError where there are no texts, or no words are left."""
    if not texts:
        raise InputError(f"{title}: no documents")
    stop_words = None if options.stop_words == "none" else options.stop_words
    min_df, max_df = _limits(len(texts), options)
    vectorizer = CountVectorizer(
        stop_words=stop_words, token_pattern=WORD, min_df=min_df, max_df=max_df
    )
    try:
        X = vectorizer.fit_transform(texts)
    except ValueError as error:  # no words are left, or min_df is above max_df
        raise InputError(
            f"{title}: no words are left (documents: {len(texts)}) with "
            f"--stop-words {options.stop_words} --min-df {min_df} --max-df {max_df}"
        ) from error
    words = vectorizer.get_feature_names_out().tolist()
    left_out = _left_out(vectorizer, texts)
    kinds = "documents", "words"
    return Table(X, names, words, title, kinds, examples, vectorizer, texts, left_out)


def _left_out(vectorizer: CountVectorizer, texts: Sequence[str]) -> LeftOut:
    """The words that limits have left out, which a vectorizer does not keep."""
    unlimited = clone(vectorizer).set_params(min_df=1, max_df=1.0, binary=True)
    n_documents = unlimited.fit_transform(texts).sum(axis=0).A1
    known = vectorizer.vocabulary_
    found = [
        (word, n)
        for word, n in zip(unlimited.get_feature_names_out(), n_documents.tolist(), strict=True)
        if word not in known
    ]
    max_df = vectorizer.max_df
    most = max_df if isinstance(max_df, int) else max_df * len(texts)
    frequent = sorted((-n, word) for word, n in found if n > most)
    return LeftOut(
        [(word, -n / len(texts)) for n, word in frequent],
        len(found) - len(frequent), max_df, vectorizer.min_df,
    )  # fmt: skip


def _limits(n_documents: int, options: Options) -> tuple[int | float, int | float]:
    """In how many documents a word may be: rare words teach little, frequent ones tell little."""
    least, most = (5, 0.25) if n_documents >= 1000 else (2 if n_documents >= 100 else 1, 0.5)
    min_df = least if options.min_df is None else options.min_df
    return min_df, most if options.max_df is None else options.max_df


def excerpt(line: str) -> str:
    line = " ".join(line.split())
    return line if len(line) <= EXCERPT else line[: EXCERPT - 1].rstrip() + "…"
