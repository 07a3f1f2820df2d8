"""Builders of odd files, and the good content that they change."""

from __future__ import annotations

import csv
import io
import json
import os
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.io
import scipy.sparse as sp

from skcooc.datasets import make_cooccurrences

TOPICS = "cat dog horse cow sheep", "bread cheese wine apple soup", "piano violin flute drum harp"
EVIL = (
    "<script>alert(1)</script>", "=HYPERLINK(\"http://x\")", "../../x", "\x1b[31mred", "a\nb",
    "\u202eevil", "</textarea>", "'; DROP TABLE x;--", "{{ 7 * 7 }}", "\ufeffmark", "a\u2028b",
)  # fmt: skip


class Odd(NamedTuple):
    """Content of a file or its builder, and the expected output: a shape or an error."""

    content: bytes | Callable[[Path], object]
    expected: str
    arguments: tuple[str, ...] = ()
    code: int = 2  # of the exit, where there is an error
    whole: bool = False  # whether a model is fitted and all is written, too

    @property
    def is_read(self) -> bool:
        return self.expected[0].isdigit()

    def put(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(self.content, bytes):
            path.write_bytes(self.content)
        else:
            self.content(path)


def documents(n: int = 30) -> list[str]:
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(TOPICS[i % 3].split(), 12)) for i in range(n)]


DOCUMENTS = documents()
TEXTS = [("id", "text"), *((f"d{i}", text) for i, text in enumerate(DOCUMENTS))]
PAIRS = [("user", "item"), *((f"u{i % 8}", f"i{i % 5}") for i in range(160))]
COUNTED = [("x", "y", "count"), *((f"x{i % 4}", f"y{i % 3}", "10") for i in range(12))]
READ_TEXTS, READ_PAIRS = "30 documents, 15 words", "8 values of user, 5 values of item"
READ_COUNTS = "4 values of x, 3 values of y"
NAMED, GROUP, TIME = ("--text", "text"), ("--group", "more"), ("--time", "more")
ALL = *NAMED, "--max-df", "1.0"
UTF8 = "not UTF-8 text"


def table(records: Sequence[Sequence[str]], separator: str = ",", end: str = "\n") -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=separator, lineterminator=end).writerows(records)
    return out.getvalue().encode()


def beside(*values: str, header: str = "more") -> bytes:
    """Good texts with one more column: these values first, then repetitions of the last."""
    good = [*values, *[values[-1]] * (len(TEXTS) - 1 - len(values))]
    return table([(*record, value) for record, value in zip(TEXTS, [header, *good], strict=True)])


def same(text: str) -> bytes:
    """Thirty times the same text."""
    return table([TEXTS[0], *((i, text) for i, _ in TEXTS[1:])])


def counts(*values: str) -> bytes:
    """Counts of pairs, which begin with these values."""
    return table([
        (*record[:2], value or record[2])
        for record, value in zip(COUNTED, ["", *values, *[""] * (12 - len(values))], strict=True)
    ])  # fmt: skip


def objects(records: Sequence[Sequence[str]] = TEXTS) -> list[dict[str, str]]:
    header, *rest = records
    return [dict(zip(header, record, strict=True)) for record in rest]


def jsonl(found: Sequence[object]) -> bytes:
    return "".join(json.dumps(value) + "\n" for value in found).encode()


def zipped(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("inner.csv", content)
    return out.getvalue()


def matrix(**changes: object) -> Callable[[Path], object]:
    """A matrix of counts, as .npz or .mtx, with changed attributes."""

    def put(path: Path) -> None:
        X = make_cooccurrences(30, 20, 3, n_observations=3000, random_state=0).X.astype(float)
        for name, value in changes.items():
            getattr(X, name)[3] = value
        (sp.save_npz if path.suffix == ".npz" else scipy.io.mmwrite)(path, X)

    return put


def folder(files: dict[str | bytes, bytes]) -> Callable[[Path], object]:
    def put(path: Path) -> None:
        for name, content in files.items():
            file = os.path.join(os.fsencode(path), os.fsencode(name))
            os.makedirs(os.path.dirname(file), exist_ok=True)
            Path(os.fsdecode(file)).write_bytes(content)

    return put


def parquet(columns: dict[str, Sequence[object]]) -> Callable[[Path], object]:
    def put(path: Path) -> None:
        import pandas as pd

        pd.DataFrame(columns).to_parquet(path)

    return put
