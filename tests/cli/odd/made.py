"""Builders of odd files, and the good content that they change."""

import csv
import io
import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.io
import scipy.sparse as sp

from skcooc.datasets import make_cooccurrences

TOPICS = "cat dog horse cow sheep", "bread cheese wine apple soup", "piano violin flute drum harp"
EVIL = (
    "<script>alert(1)</script>", "=HYPERLINK(\"http://x\")", "../../x", "\x1b[31mred", "a\nb",
    "\u202eevil", "</textarea>", "'; DROP TABLE x;--", "{{ 7 * 7 }}", "\ufeffmark", "a\u2028b",
)  # fmt: skip


def table(records, separator=",", end="\n"):
    out = io.StringIO()
    csv.writer(out, delimiter=separator, lineterminator=end).writerows(records)
    return out.getvalue().encode()


RNG = np.random.default_rng(0)
DOCUMENTS = [" ".join(RNG.choice(TOPICS[i % 3].split(), 12)) for i in range(30)]
LINES = "\n".join(DOCUMENTS).encode()
TEXTS = [("id", "text"), *((f"d{i}", text) for i, text in enumerate(DOCUMENTS))]
GOOD = table(TEXTS)
PAIRS = [("user", "item"), *((f"u{i % 8}", f"i{i % 5}") for i in range(160))]
COUNTED = [("x", "y", "count"), *((f"x{i % 4}", f"y{i % 3}", "10") for i in range(12))]
NAMED, GROUP, TIME = ("--text", "text"), ("--group", "more"), ("--time", "more")
ALL = *NAMED, "--max-df", "1.0"


def beside(*values, header="more"):
    """Good texts with one more column: these values first, then repetitions of the last."""
    good = [header, *values, *[values[-1]] * (len(TEXTS) - 1 - len(values))]
    return table([(*record, value) for record, value in zip(TEXTS, good, strict=True)])


def same(text):
    """Thirty times the same text."""
    return table([TEXTS[0], *((i, text) for i, _ in TEXTS[1:])])


def counts(*values):
    """Counts of pairs, which begin with these values."""
    given = ["count", *values, *["10"] * (12 - len(values))]
    return table([(*record[:2], n) for record, n in zip(COUNTED, given, strict=True)])


def jsonl(found):
    return "".join(json.dumps(value) + "\n" for value in found).encode()


OBJECTS = [dict(zip(TEXTS[0], record, strict=True)) for record in TEXTS[1:]]


def zipped(content):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("inner.csv", content)
    return out.getvalue()


def matrix(**changes):
    """A matrix of counts, as .npz or .mtx, with changed attributes."""

    def put(path):
        X = make_cooccurrences(30, 20, 3, n_observations=3000, random_state=0).X.astype(float)
        for name, value in changes.items():
            getattr(X, name)[3] = value
        (sp.save_npz if path.suffix == ".npz" else scipy.io.mmwrite)(path, X)

    return put


def folder(files):
    def put(path):
        for name, content in files.items():
            file = os.path.join(os.fsencode(path), os.fsencode(name))
            os.makedirs(os.path.dirname(file), exist_ok=True)
            Path(os.fsdecode(file)).write_bytes(content)

    return put


def parquet(**columns):
    return lambda path: pd.DataFrame(columns).to_parquet(path)


def link(target):
    return lambda path: path.symlink_to(target)
