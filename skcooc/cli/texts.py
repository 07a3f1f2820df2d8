"""Counts of words in documents: the docstring corpus, a folder, or the lines of a file."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer

from skcooc.cli.arguments import Options
from skcooc.cli.progress import Screen
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


def docstrings(options: Options, screen: Screen) -> Table:
    """The docstrings of the installed NumPy, SciPy and scikit-learn."""
    corpus = load_docstrings()
    title = corpus.DESCR.partition(".\n")[0]
    examples = [name for name in EXAMPLES if name in corpus.names]
    return count(corpus.data, corpus.names, title, options, screen, examples)


def folder(path: Path, options: Options, screen: Screen) -> Table:
    """The files of a folder and its subfolders, hidden ones left out, one document each."""
    paths = sorted(file.relative_to(path) for file in path.rglob("*") if file.is_file())
    files = [file for file in paths if not any(part.startswith(".") for part in file.parts)]
    found = [decode(path / file) for file in screen.track(files, f"reading {path}")]
    return count(found, list(map(str, files)), str(path), options, screen)


def lines(path: Path, options: Options, screen: Screen) -> Table:
    """The lines of a file that are not blank, one document each."""
    numbered = [(i, line) for i, line in enumerate(lines_of(path), 1) if line.strip()]
    names = [f"{i}: {excerpt(line)}" for i, line in numbered]
    return count([line for _, line in numbered], names, str(path), options, screen)


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
    screen: Screen,
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
        X, words, left_out = _counted(vectorizer, texts, screen)
    except ValueError as error:
        raise InputError(
            f"{title}: no words are left (documents: {len(texts)}) with "
            f"--stop-words {options.stop_words} --min-df {min_df} --max-df {max_df}"
        ) from error
    kinds = "documents", "words"
    return Table(X, names, words, title, kinds, examples, vectorizer, texts, left_out)


def _counted(
    vectorizer: CountVectorizer, texts: Sequence[str], screen: Screen
) -> tuple[sp.sparray, list[str], LeftOut]:
    """Fit a vectorizer, but see which words its limits leave out; ValueError where all are.

    It does not keep these, and counting twice takes twice the time.
    """
    all_words = clone(vectorizer).set_params(min_df=1, max_df=1.0)
    X = all_words.fit_transform(screen.track(texts, "counting words"))
    words = all_words.get_feature_names_out()
    n_documents = np.bincount(X.indices, minlength=len(words))
    least, most = (
        limit if isinstance(limit, int) else limit * len(texts)
        for limit in (vectorizer.min_df, vectorizer.max_df)
    )
    kept = (n_documents >= least) & (n_documents <= most)
    if not kept.any():
        raise ValueError("no words within the limits")
    names = words[kept].tolist()
    vectorizer.vocabulary_ = {word: j for j, word in enumerate(names)}
    vectorizer.fixed_vocabulary_ = False
    frequent = np.flatnonzero(n_documents > most)
    frequent = frequent[np.argsort(-n_documents[frequent], kind="stable")]
    shares = (n_documents[frequent] / len(texts)).tolist()
    return X[:, kept], names, LeftOut(
        list(zip(words[frequent].tolist(), shares, strict=True)),
        int((n_documents < least).sum()), vectorizer.max_df, vectorizer.min_df,
    )  # fmt: skip


def _limits(n_documents: int, options: Options) -> tuple[int | float, int | float]:
    """In how many documents a word may be: rare words teach little, frequent ones tell little."""
    least, most = (5, 0.25) if n_documents >= 1000 else (2 if n_documents >= 100 else 1, 0.5)
    min_df = least if options.min_df is None else options.min_df
    return min_df, most if options.max_df is None else options.max_df


def excerpt(line: str) -> str:
    """The beginning of a line, where it is long; white space is folded."""
    line = " ".join(line.split())
    return line if len(line) <= EXCERPT else line[: EXCERPT - 1].rstrip() + "…"
