"""Counts with names, as all readers return them, and counts of words in texts."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from stat import S_ISFIFO

import numpy as np
import scipy.sparse as sp

from skcooc.cli.encodings import likely_encoding
from skcooc.cli.terminal import Arguments, Screen, argument
from skcooc.counts import float_table, without_zeros
from skcooc.datasets import load_bible
from skcooc.protocol import Array
from skcooc.reports.counting import EXCERPT, CountedTexts, NoWordsError, count_texts, excerpt
from skcooc.tables.pairs import MAX_TOKENS

MIN_TOKENS = 100  # a tenth of them is held out, and a tenth of the rest once more
LETTER = re.compile(r"[^\W\d_]")
TERMS = re.compile(r"\S+( \d+:[-+.\de]+)+ *")  # of a line in the format of svmlight or lda-c
SPREADSHEET = "save the sheet as .csv, or run pandas.read_excel(path).to_csv('x.csv', index=False)"
IN_R = "write it in R with Matrix::writeMM(x, 'x.mtx') or write.csv(x, 'x.csv')"
MARKUP = "extract the text, one document per file or per line, and save it as .txt"
SINGLE_CELL = "write it with scipy.io.mmwrite('x.mtx', adata.X), and the names to text files"
PICKLE = "write the table in Python with df.to_parquet('x.parquet') or scipy.sparse.save_npz"
CONVERSIONS = {  # of files that hold no texts, by suffix
    ".h5ad": f"fit cells in Python with skcooc.anndata.fit_topics, or {SINGLE_CELL}",
    ".loom": f"read it with anndata.io.read_loom and {SINGLE_CELL}",
    ".h5": f"read it with scanpy.read_10x_h5 or pandas.read_hdf, and {SINGLE_CELL}",
    ".hdf5": "read it with h5py or pandas.read_hdf and write .npz, .csv or .parquet",
    ".biom": "convert it with biom convert -i x.biom -o x.tsv --to-tsv",
    ".qza": "export it with qiime tools export, then run biom convert --to-tsv",
    **dict.fromkeys((".rds", ".rda", ".rdata"), IN_R),
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".ods"), SPREADSHEET),
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), PICKLE),
    **dict.fromkeys(
        (".feather", ".arrow"), "run pandas.read_feather(path).to_parquet('x.parquet')"
    ),
    **dict.fromkeys(
        (".dta", ".sav", ".sas7bdat"), "read it with pandas and write .csv or .parquet"
    ),
    **dict.fromkeys(
        (".db", ".sqlite", ".sqlite3"), "run pandas.read_sql(...).to_parquet('x.parquet')"
    ),
    ".mat": "read it with scipy.io.loadmat and write it with scipy.sparse.save_npz",
    **dict.fromkeys((".zip", ".tar", ".tgz", ".7z", ".bz2", ".xz", ".zst"), "unpack it"),
    **dict.fromkeys((".html", ".htm", ".xml", ".pdf", ".docx", ".doc", ".epub", ".rtf"), MARKUP),
}
EXAMPLES = "Genesis 7", "Psalms 23", "Mark 4", "Revelation 8"


class InputError(Exception):
    """Unusable input; the message says why in one line."""


@dataclass(frozen=True)
class NamedCounts:
    """Counts with the names of rows and columns, and their texts, if any."""

    X: sp.sparray  # (N, M): counts; CSR once they are validated
    row_names: Sequence[str]
    column_names: Sequence[str]
    title: str  # of the source
    kinds: tuple[str, str] = ("rows", "columns")  # what they are called, in the plural
    examples: Sequence[str] = ()  # rows whose neighbours are shown; chosen by the report if empty
    texts: Sequence[str] | None = None
    counted: CountedTexts | None = None  # of these texts
    groups: Array | None = None  # (N,): labels, None for rows without one
    times: Array | None = None  # (N,): numbers or dates
    batches: Array | None = None  # (N,): labels, None for rows without one
    seeds: Mapping[str, Sequence[str]] | None = None  # names of topics, and typical columns
    notes: tuple[str, ...] = ()  # where names are from, and what was left out

    def position(self, name: str) -> int:
        """Position of a row; InputError if there is none, or it has no counts."""
        if name not in self.row_names:
            raise InputError(
                f"{self.title}: no row is named {name!r} (--nearest); check the spelling"
            )
        if (n := list(self.row_names).count(name)) > 1:
            raise InputError(
                f"{self.title}: {n} rows are named {name!r}, so --nearest cannot tell which is "
                "meant"
            )
        i = list(self.row_names).index(name)
        if not self.X[[i]].sum():
            raise InputError(
                f"{self.title}: row {name!r} has no counts, so --nearest cannot compare it"
            )
        return i


def validate(table: NamedCounts) -> NamedCounts:
    """The table as CSR of floats; InputError for unusable, too few or too many counts."""
    if not (np.issubdtype(table.X.dtype, np.number) or table.X.dtype == bool):
        raise InputError(f"{table.title}: counts are of type {table.X.dtype}, not numbers")
    if np.iscomplexobj(table.X.data):
        raise InputError(f"{table.title}: counts are complex numbers")
    X = float_table(table.X)
    if not np.isfinite(X.data).all():
        raise InputError(f"{table.title}: infinite or missing counts; counts must be finite")
    X = without_zeros(X)
    if (X.data < 0).any():
        raise InputError(
            f"{table.title}: negative counts, such as {X.data.min():g}; counts must be >= 0"
        )
    n, m = (np.unique(positions).size for positions in X.nonzero())
    if min(n, m) < 2:
        rows, columns = table.kinds
        raise InputError(
            f"{table.title}: need at least 2 {rows} and 2 {columns} with counts; found {n} and {m}"
        )
    with np.errstate(over="ignore"):  # infinitely many are too many
        n_tokens = np.ceil(X.data).sum(dtype=np.float64)
    if not MIN_TOKENS <= n_tokens <= MAX_TOKENS:
        raise InputError(
            f"{table.title}: counts sum to {n_tokens:.10g}; they must sum to at least {MIN_TOKENS} "
            f"and at most {MAX_TOKENS}"
        )
    is_observed = X.sum(axis=1) > 0
    divided = {"--group": table.groups, "--time": table.times, "--batch": table.batches}
    for option, labels in divided.items():
        if labels is not None:
            is_filled = [label is not None and label == label for label in labels]  # no NaN or NaT
            if not (is_observed & is_filled).any():
                raise InputError(f"{table.title}: no text with words has a value for {option}")
    return replace(table, X=X)


def read_bible(options: Arguments, screen: Screen) -> NamedCounts:
    """The chapters of the King James Bible, with its sections as groups."""
    bible = load_bible()
    title = "The King James Bible, by chapter"
    table = count_words(bible.data, bible.names, title, options, screen, EXAMPLES)
    return replace(table, groups=np.array(bible.sections, dtype=object))


def list_files(path: Path) -> list[Path]:
    """The files of a folder and its subfolders that are not hidden, by their places in it."""
    paths = sorted(file.relative_to(path) for file in path.rglob("*") if file.is_file())
    return [file for file in paths if not any(part.startswith(".") for part in file.parts)]


def read_folder(
    path: Path, files: Sequence[Path], options: Arguments, screen: Screen
) -> NamedCounts:
    """One document for each of these files of a folder."""
    encoding = options.encoding
    texts = [read_text(path / file, encoding) for file in screen.track(files, f"reading {path}")]
    return count_words(texts, list(map(str, files)), str(path), options, screen)


def count_lines(path: Path, text: str, options: Arguments, screen: Screen) -> NamedCounts:
    """One document for each line that is not blank; InputError if the lines are no texts."""
    numbered = [(i, line) for i, line in enumerate(split_lines(text), 1) if line.strip()]
    if numbered and all(TERMS.fullmatch(line) for _, line in numbered):
        raise InputError(
            f"{path}: the lines hold terms with their counts, not texts: convert the file with "
            "sklearn.datasets.load_svmlight_file and scipy.sparse.save_npz"
        )
    if numbered and all(line.rstrip().endswith("}") for _, line in numbered):
        raise InputError(
            f"{path}: the lines hold edges with attributes, or JSON, not texts: write edges with "
            "networkx.write_weighted_edgelist, or give a file of JSON lines the suffix .jsonl"
        )
    n_commas = sum(line.count(",") for _, line in numbered)
    has_letters = any(LETTER.search(line) for _, line in numbered)
    if numbered and not has_letters:
        raise InputError(
            f"{path}: the lines hold numbers, not texts: a table needs the same number of fields "
            "in each line, and baskets of items need a line for each basket and item"
        )
    if numbered and n_commas >= len(numbered) and not any(", " in line for _, line in numbered):
        raise InputError(
            f"{path}: the lines hold items between commas, not texts: write a line for each basket "
            "and item, below a header line, and give the file the suffix .csv"
        )
    names = [f"{i}: {excerpt(line)}" for i, line in numbered]
    return count_words([line for _, line in numbered], names, str(path), options, screen)


def split_lines(text: str) -> list[str]:
    """The lines of a text, divided at line feeds alone, unlike str.splitlines."""
    return text.removesuffix("\n").split("\n")


def read_text(path: Path, encoding: str | None) -> str:
    """The text of a file or its .gz; InputError if it has another encoding, or is no text.

    Without an encoding it is UTF-8, or UTF-16 if it begins with the mark of that.
    """
    if advice := CONVERSIONS.get(Path(path.name.lower().removesuffix(".gz")).suffix):
        raise InputError(f"{path}: not a text file: {advice}")
    try:
        check_ends(path)
        data = path.read_bytes()
        if path.name.lower().endswith(".gz"):
            data = gzip.decompress(data)
        is_marked = data.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
        if encoding is None:
            encoding = "utf-16" if is_marked else "utf-8"
        text = io.TextIOWrapper(io.BytesIO(data), encoding=encoding).read().removeprefix("\ufeff")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path}: not a gzip file") from error
    except UnicodeError as error:
        byte = f" (byte {error.start})" if isinstance(error, UnicodeDecodeError) else ""
        message = f"{path}: not {'UTF-8' if encoding == 'utf-8' else encoding} text{byte}"
        if b"\0" in data:
            raise InputError(message) from error
        if guess := likely_encoding(data):
            line = next(line for line in data.split(b"\n") if not line.isascii()).decode(guess)
            start = next(i for i, character in enumerate(line) if not character.isascii())
            sample = excerpt(line[max(0, start - EXCERPT // 2) :])
            message += f": give --encoding {guess} if this looks right: {sample!r}"
        else:
            message += (
                ": give --encoding, such as cp1252 (Western Europe) or cp1250 (Central Europe)"
            )
        raise InputError(message) from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    if "\0" in text:
        raise InputError(f"{path}: not a text file: it contains null characters")
    return text


def check_ends(path: Path) -> None:
    """Raise InputError for a named pipe, as its writer may never come; OSError without a file."""
    if S_ISFIFO(path.stat().st_mode) and path.absolute().parts[1] not in ("dev", "proc"):
        raise InputError(f"{path}: this is a named pipe: give it as /dev/stdin")


def count_words(
    texts: Sequence[str],
    names: Sequence[str],
    title: str,
    options: Arguments,
    screen: Screen,
    examples: Sequence[str] = (),
) -> NamedCounts:
    """Counts of the words of texts; InputError if no texts or no words are left."""
    if not texts:
        raise InputError(f"{title}: no documents")
    stop_words = None if options.stop_words == "none" else "english"
    try:
        with screen.step("counting words"):
            counted = count_texts(
                texts,
                stop_words=stop_words,
                min_df=options.min_df,
                max_df=options.max_df,
                token_pattern=options.token_pattern,
                random_state=options.seed,
            )
    except NoWordsError as error:
        limits = [f"--stop-words {stop_words or 'none'}"]
        limits += [
            argument(name, f"{value:g}")
            for name, value in (("min-df", options.min_df), ("max-df", options.max_df))
            if value is not None
        ]
        raise InputError(
            f"{title}: no words are left in {len(texts)} documents with {' '.join(limits)}: change "
            "these options"
        ) from error
    kinds = "documents", "words"
    return NamedCounts(counted.X, names, counted.words, title, kinds, examples, texts, counted)
