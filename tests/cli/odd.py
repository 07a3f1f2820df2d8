"""Odd and damaged files: by what is expected, their names, contents and arguments."""

import codecs
import csv
import gzip
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


def matrix(format="csr", **changes):
    """A matrix of counts, as .npz or .mtx, with changed attributes."""

    def put(path):
        X = make_cooccurrences(30, 20, 3, n_tokens=3000, random_state=0).X.astype(float)
        X = X.asformat(format)
        for name, value in changes.items():
            places, values = value if isinstance(value, tuple) else (3, value)
            getattr(X, name)[places] = values
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


MIXED = [{**o, "n": ([1, "a", None, [2], {}, True] * 5)[i]} for i, o in enumerate(OBJECTS)]
LISTS = [{**o, "more": ["a", 1, None][: i % 4]} for i, o in enumerate(OBJECTS)]
ONCE = [(str(i), " ".join(f"w{i}x{j}" for j in range(9))) for i in range(30)]

READ = {  # and not fitted
    "30 documents, 5 words": {
        "same_texts.csv": (same(DOCUMENTS[0]), *NAMED),
    },
    "30 documents, 16 words": {
        "evil_words.txt": "\n".join(f"<script>{t}</script>" for t in DOCUMENTS).encode(),
    },
    "30 documents, 15 words": {
        "bom.csv": b"\xef\xbb\xbf" + GOOD,
        "bom.txt": b"\xef\xbb\xbf" + LINES,
        "utf16.csv": GOOD.decode().encode("utf-16"),
        "utf16.txt": codecs.BOM_UTF16_BE + LINES.decode().encode("utf-16-be"),
        "good.csv.gz": gzip.compress(GOOD),
        "UPPER.CSV.GZ": gzip.compress(GOOD),
        "blank_between.csv": GOOD.replace(b"\n", b"\n\n"),
        "crlf.csv": table(TEXTS, end="\r\n"),
        "cr.csv": table(TEXTS, end="\r"),
        "cr.txt": "\r".join(DOCUMENTS).encode(),
        "mixed_ends.csv": table(TEXTS[:9], end="\r\n") + table(TEXTS[9:17], end="\r")
        + table(TEXTS[17:]),
        "no_last_end.csv": GOOD.rstrip(),
        "quoted_separators.csv": b'"a;b;c","long text"\n' + table(TEXTS[1:]),
        "empty_column.csv": beside("", header="z"),
        "nameless.csv": beside("1", header=""),
        "question.csv": b"What did you think of it?\n" + LINES,
        "one_of_texts.csv": table([(text,) for _, text in TEXTS]),
        "semicolons.csv": table(TEXTS, ";"),
        "pipes.csv": table(TEXTS, "|"),
        "tabs.csv": table(TEXTS, "\t"),
        "sep.csv": b"sep=;\n" + table(TEXTS, ";"),
        "dollars.csv": table([(f"${a}", b) for a, b in TEXTS]),
        "blank_first.csv": b"\n \n" + GOOD,
        "blank_records.csv": GOOD + b",\n" * 3,
        "blanks.csv": (b" id , text \n" + table(TEXTS[1:]), *NAMED),
        "blanks_before_quotes.csv": GOOD.replace(b" ", b"; ").replace(b",", b', "')
        .replace(b";", b",").replace(b"\n", b'"\n'),
        "quotes_of_texts.tsv": table(TEXTS, "\t").replace(b"\td", b'\t"d').replace(b"og ", b'og" '),
        "commas.tsv": GOOD,
        "good.jsonl": jsonl(OBJECTS),
        "lines.json": jsonl(OBJECTS),
        "one_field.jsonl": jsonl([{"text": text} for text in DOCUMENTS]),
        "nested.jsonl": jsonl([{**o, "more": {"a": [1, {"b": None}]}} for o in OBJECTS]),
        "mixed.jsonl": jsonl(MIXED),
        "good.parquet": parquet(id=[f"d{i}" for i in range(30)], text=DOCUMENTS),
        "one.parquet": parquet(text=DOCUMENTS),
        "lists.parquet": parquet(id=[[i, None] for i in range(30)], text=DOCUMENTS),
        "bytes.parquet": parquet(id=[b"\xff\x00"] * 30, text=DOCUMENTS),
        "nulls.parquet": parquet(id=[None, *range(29)], text=[None, *DOCUMENTS[1:]]),
        "text_is_group.csv": (GOOD, *NAMED, "--group", "text"),
        "folder": folder({f"{i}.txt": text.encode() for i, text in enumerate(DOCUMENTS)}),
        "x.unknown": LINES,
    },
    "31 documents": {
        "huge_word.txt": b"w" * 3_000_000 + b"\n" + LINES,
        "two.csv.gz": gzip.compress(GOOD) + gzip.compress(b"x,word\n"),
        "quote_inside.csv": GOOD + b'x,12" cat\n',
        "ends_in_quotes.csv": table([*TEXTS, ("x\ny", "cat\r\ndog\n\nhorse")]),
    },
    "30 documents, 3 words": {
        "stop.csv": (same("the and her " * 4), *ALL, "--stop-words", "none"),
    },
    "30 documents, 270 words": {"all_words_once.csv": table([TEXTS[0], *ONCE])},
    "8 values of user": {"long_names.csv": table([(a * 5000, b * 5000) for a, b in PAIRS])},
    "8 values of user, 5 values of item": {
        "blank_pairs.csv": table(PAIRS) + b",\n" * 3,
        "numbers.parquet": parquet(
            user=[i % 8 for i in range(160)], item=[i % 5 / 2 for i in range(160)]
        ),
    },
    "4 values of x, 3 values of y": {"decimals.csv": counts("1.5", "1e1", " 7 ", "+3")},
}  # fmt: skip

ODD_NAMES = [("id", "text"), *((EVIL[i % 11] + str(i), t) for i, t in enumerate(DOCUMENTS))]
HALF = {"id": "half \ud83d", "text": "cat \ud800 dog"}
FITTED = {
    "30 documents, 15 words": {
        "evil_names.csv": (table(ODD_NAMES), "--row", "id"),
        "evil_groups.csv": (beside(*EVIL, header="<b>g"), "--group", "<b>g"),
        "one_group.csv": (beside("home"), *GROUP),
        "all_groups.csv": (beside(*map(str, range(30))), *GROUP),
        "blank_groups.csv": (beside(" ", "\t", "x"), *GROUP),
        "lists_as_groups.jsonl": (jsonl(LISTS), *GROUP),
        "one_time.csv": (beside("2024-05-31"), *TIME),
        "zones.csv": (beside("2024-05-31T10:00+02:00", "2024-06-01", "2024", "2024-07"), *TIME),
        "far_times.csv": (beside("0001-01-01", "9999-12-31", "2024-01-01"), *TIME),
        "end_of_time.csv": (beside("0001-01-01T00:00:00+02:00", "2024-01-01"), *TIME),
        "nan_times.csv": (beside("nan", "NaN", "5"), *TIME),
        "odd_names": folder({b"caf\xe9%d\n.txt" % i: t.encode() for i, t in enumerate(DOCUMENTS)}),
        "-odd.csv": GOOD,
        "caf\udce9.csv": GOOD,
    },
    "32 documents": {"texts_some_empty.csv": table([*TEXTS, ("x", ""), ("y", " ")])},
    "31 documents": {
        "surrogates.jsonl": (
            jsonl([*OBJECTS, HALF]), "--row", "id", "--nearest", HALF["id"], "--group", "id", *NAMED
        ),
    },
    "30 documents, 2 words": {"two_words.csv": (same("cat cat dog cat dog"), *ALL)},
    "8 values of <script>\\x1b[2J": {
        "evil_header.csv": table([("<script>\x1b[2J", "=1+1\na"), *PAIRS[1:]]),
    },
    "9 values of user": {"huge_name.csv": table([*PAIRS, ("u" * 10**6, "i1")])},
    "8 values of us": {
        "surrogate_names.jsonl": jsonl(
            [{"us\ud800er": f"u{i % 8}", "item": f"\udfff{i % 5}"} for i in range(160)]
        ),
    },
    "11 values of user, 9 values of item": {
        "evil.jsonl": jsonl([{"user": EVIL[i % 11], "item": EVIL[i % 9]} for i in range(160)]),
    },
    "4 values of x, 3 values of y": {
        "shares.csv": table([COUNTED[0], *((x, y, ".2") for x, y, _ in COUNTED[1:] * 40)]),
    },
    "30 rows, 20 columns": {"good.mtx": matrix()},
}  # fmt: skip


ONE = b"id,text\n1,word\n"
COUNT_TABLE = pd.DataFrame({"a": [20, 30], "b": [40, 10]}, index=["x", "y"])
MTX = b"%%MatrixMarket matrix coordinate "


REFUSED = {
    "not UTF-8 text": {
        "binary.csv": bytes(range(256)) * 20,
        "picture.txt": b"\x89PNG\r\n\x1a\n" + b"\0" * 99,
        "broken.csv": GOOD + b"x,a\xff\n",
        "latin.csv": "id,text\n1,caf\xe9\n".encode("latin-1"),
        "nested.csv.gz": gzip.compress(gzip.compress(GOOD)),
        "gz.csv": gzip.compress(GOOD),
        "zip.csv": zipped(GOOD),
    },
    "null characters": {
        "nul.csv": GOOD + b"x,a\0b\n",
        "nul.txt": b"a\0b\n",
        "utf16_bare.txt": ONE.decode().encode("utf-16-le"),
    },
    "no words are left in 1 documents": {
        "folder.csv": folder({"inner": b""}),
    },
    "no words are left": {
        "texts_empty.csv": (same(""), *NAMED),
        "stop_words.csv": (same("the and of"), *NAMED),
        "numbers.csv": (same("1 2 3 4 5 6"), *NAMED),
    },
    "no words are left in 2 documents": {"words.txt": b"the and of\n1 2 3\n"},
    "must be a header": {
        "bom_alone.csv": b"\xef\xbb\xbf",
        "blank.csv": b"\n\n\n",
        "null.csv": link("/dev/null"),
    },
    "not a gzip file": {
        "cut.csv.gz": gzip.compress(GOOD)[:-9],
        "bare.csv.gz": GOOD,
        "tail.csv.gz": gzip.compress(GOOD) + b"junk",
    },
    "values of": {"huge_header.csv": b"x" * 3_000_000 + b",y\n1,2\n"},
    "need at least 2 documents and 2 words": {
        "huge_line.csv": b"id,text\n1," + b"word " * 400_000,
        "one_document.csv": table(TEXTS[:2]),
    },
    "need at least 2 values of id": {
        "bomb.csv.gz": gzip.compress(b"id,text\n" + b"1,a\n" * 100_000),
    },
    "no value of 'id', in ": {
        "nulls.jsonl": b'{"id": null, "text": null}\n' * 5,
        "nan.jsonl": b'{"id": NaN, "text": Infinity}\n' * 3,
    },
    "line 162: no value of 'item', in 2 of 162 records": {
        "empty_items.csv": table([*PAIRS, ("u1", ""), ("u2", "")]),
    },
    "row 161: no value of 'user', in 1 of 161 records": {
        "null_user.parquet": parquet(
            user=[*(u for u, _ in PAIRS[1:]), None], item=[*(i for _, i in PAIRS[1:]), "i1"]
        ),
    },
    "no documents": {
        "blank.txt": b"\n \n\t\n",
        "empty_folder": folder({".hidden": b""}),
        "hidden": folder({".x/a.txt": b"word", ".b": b"\xff"}),
    },
    "no records": {
        "header.csv": b"id,text\n",
        "empty_cells.csv": b"id,text\n,\n,\n,\n",
        "no_objects.json": b"[]",
        "no_rows.parquet": parquet(id=[], text=[]),
    },
    "not JSON": {"empty.json": b"", "deep.json": b"[" * 100_000},
    "not JSON (Extra data)": {"arrays.json": b"[1]\n[2]\n"},
    "line 31: not JSON": {"broken.jsonl": jsonl(OBJECTS) + b'{"id": \n'},
    "line 1: not JSON": {
        "commas.jsonl": jsonl(OBJECTS).replace(b"}\n", b"},\n"),
        "deep.jsonl": b'{"a": ' * 50_000 + b"\n",
        "digits.jsonl": b'{"a": ' + b"9" * 9999 + b', "b": 1}\n',
    },
    "line 1: not an object": {
        "array.jsonl": json.dumps(OBJECTS).encode(),
        "lists.jsonl": b"[1, 2]\n",
    },
    "object 1: not an object": {"numbers.json": b"[1, 2, 3]"},
    "not an array of objects": {"object.json": b'{"id": 1}', "null.json": b"null"},
    "no named values": {"empty_objects.json": b"[{}, {}]", "empty_objects.jsonl": b"{}\n{}\n"},
    "line 2: no value of 'id'": {"missing_fields.jsonl": b'{"id": 1}\n{"text": "a"}\n'},
    "counts sum to 2;": {
        "few.csv": b"a,b\n1,2\n2,1\n",
    },
    "unexpected end of data": {
        "unclosed.csv": GOOD + b'x,"word\n',
        "unclosed_first.csv": b'id,"text\n1,word\n',
    },
    "line 32: ": {"stray_quote.csv": GOOD + b'x,"a" b\n'},
    "occurs twice": {"two_nameless.csv": b"id,,\n1,2,3\n", "twice.csv": b"id,id\n1,2\n"},
    "one column": {"one_of_words.csv": b"text\nword\n", "one_field.jsonl": b'{"a": "b"}\n'},
    ": 1 fields, but the header has 2": {"ragged.csv": GOOD + b"1\n2,3,4\n"},
    "line 34: 1 fields, but the header": {  # the first of two, below a record of two
        "ragged_long.csv": GOOD + b'x,"two\nlines"\n"y\nz"\n'
    },
    "line 33: 1 fields": {"ragged_sep.csv": b"sep=^\n" + table(TEXTS, "^") + b"x\n"},
    "line 2: 2 fields, but the header has 1": {"lines.csv": b"a line of prose\nand, a comma\n"},
    "line 2: 3 fields, but the header": {
        "page.csv": b"<!DOCTYPE html>\n<html><body>a, b, c</body></html>\n"
    },
    "one column, 'id,text', with a separator in its name": {
        "commas.tsv": b"id,text\na,b c, d\ne,f\n"
    },
    "no ": {"no_columns.parquet": parquet()},
    "not a Parquet file": {
        "fake.parquet": b"PAR1 nothing PAR1",
        "csv.parquet": GOOD,
    },
    "'0,5' is not a count": {
        "decimal_commas.csv": table([COUNTED[0], *((x, y, "0,5") for x, y, _ in COUNTED[1:])], ";")
    },
    "line 3: '-2' is not a count": {"negative.csv": counts("10", "-2")},
    "line 2: 'nan' is not a count": {"nan.csv": counts("nan")},
    "line 2: 'inf' is not a count": {"inf.csv": counts("inf")},
    "line 2: '1e999' is not a count": {"infinite_by_digits.csv": counts("1e999")},
    "line 2: 'many' is not a count": {"words_as_counts.csv": counts("many")},
    "'2024-05-31' is not a count": {"dates_as_counts.csv": counts("2024-05-31")},
    "line 14: '' is not a count": {"empty_counts.csv": table([*COUNTED, ("a", "b", "")])},
    "'1,000' is not a count": {"thousands.csv": counts("1,000")},
    "is not a count": {"huge_digits.csv": counts("9" * 10_000)},
    "line 2: '\\x1b[2Jmany' is not a count": {
        "evil_count.csv": b"a,b,count\n1,2,\x1b[2Jmany\n1,3,1\n2,2,1\n"
    },
    "counts sum to 1e+308;": {"huge.csv": counts("1e308"), "huge.npz": matrix(data=1e308)},
    "counts sum to inf;": {"huge_sum.csv": counts(*["1e308"] * 12)},
    "counts sum to 5000000001;": {"too_many.csv": b"a,b,count\n1,2,5e9\n2,1,1\n"},
    "counts sum to 12;": {"tiny.csv": counts(*["1e-320"] * 12)},
    "counts sum to 30;": {"texts_once.csv": (GOOD, "--text", "id")},
    "counts must be finite": {
        "huge_twice.csv": counts("1e308") + b"x0,y0,1e308\n",
        "inf.npz": matrix(data=np.inf),
        "inf.mtx": matrix(data=np.inf),
        "nan.npz": matrix(data=np.nan),
    },
    "found 0 and 0": {"zeros.csv": counts(*["0"] * 12)},
    "found 1 and 5": {"one_document_of_all.csv": (table(TEXTS[:2]), "--max-df", "1.0")},
    "found 30 and 1": {"one_word.csv": (same("word " * 9), *ALL)},
    "2 values of a and 2 values of b with counts; found 1 and 2": {
        "one_row.csv": b"a,b,count\n1,2,500\n1,3,500\n"
    },
    "2 rows and 2 columns with counts; found 0 and 0": {
        "empty.npz": lambda path: sp.save_npz(path, sp.csr_array((0, 0)))
    },
    "negative counts, such as -1": {
        "negative.npz": matrix(data=-1),
        "negative.mtx": matrix(data=-1),
    },
    "complex numbers": {"complex.npz": lambda path: sp.save_npz(path, sp.eye_array(9) * 1j)},
    "not a sparse matrix of SciPy": {
        "wild.npz": matrix(indices=-1),
        "pointers csr 0.npz": matrix("csr", indptr=([3, -1], [10**9, 0])),
        "pointers csc 0.npz": matrix("csc", indptr=([3, -1], [10**9, 0])),
        "pointers bsr 0.npz": matrix("bsr", indptr=([3, -1], [10**9, 0])),
        "pickle.npz": lambda path: np.savez(path, X=np.array([{}], dtype=object)),
        "dense.npz": lambda path: np.savez(path, X=np.eye(3)),
        "text.npz": b"no archive",
        "null.npz": link("/dev/null"),
    },
    "a matrix of 999999999 x 999999999": {
        "giant.mtx": MTX + b"integer general\n999999999 999999999 1\n1 1 9\n"
    },
    "not enough memory": {"promise.mtx": MTX + b"integer general\n9 9 99999999999999\n1 1 9\n"},
    "not in Matrix Market": {"cut.mtx": MTX + b"real general\n2 2 9\n1 1"},
    "--row-names applies to matrices": {"names.csv": (table(PAIRS), "--row-names", "x.txt")},
    "--min-df applies to texts": {"limits.csv": (table(PAIRS), "--min-df", "2")},
    "--max-df applies to texts": {"limits.npz": (matrix(), "--max-df", "2")},
    "--text applies to files with named columns": {"columns.npz": (matrix(), "--text", "a")},
    "the columns are \\x1b]0;t\\x07, a b": {
        "evil_missing.csv": (table([("\x1b]0;t\x07", "a\nb"), *PAIRS[1:]]), "--text", "x")
    },
    "of 'id' occurs only once": {
        "ids.csv": table([("id", "title"), *((i, f"thing {i}") for i in range(200))])
    },
    "both look like texts": {"two_texts.csv": beside(*DOCUMENTS[::-1], header="body")},
    "no column 'user'; the columns are a, b": {"no_row.csv": (b"a,b\n1,2\n", "--row", "user")},
    "no column 'body'": {"no_such_text.csv": (GOOD, "--text", "body")},
    "no column 'desk'": {"no_such_group.csv": (GOOD, "--group", "desk")},
    "--row and --column are both 'b'": {"one_for_both.csv": (b"a,b\n1,2\n", "--row", "b")},
    "argument --text: given twice": {"named_twice.csv": (GOOD, *NAMED, "--text", "id")},
    "--count applies to pairs": {"text_and_count.csv": (GOOD, *NAMED, "--count", "id")},
    "--column applies to pairs": {"text_and_column.csv": (GOOD, *NAMED, "--column", "id")},
    "--group applies to texts": {"groups_of_pairs.csv": (table(PAIRS), "--group", "user")},
    "no text with words has a value for --group": {"no_groups.csv": (beside(""), *GROUP)},
    "no text with words has a value for --time": {"no_times.csv": (beside(""), *TIME)},
    "--time more: 'soon' (line 2) is not a date or number; 30 of 30 values are not": {
        "words_as_times.csv": (beside("soon"), *TIME)
    },
    "'May 5' (line 3) is not a date like '2024-05'": {
        "mixed.csv": (beside("2024-05", "May 5", "2024-06"), *TIME)
    },
    "'now' (line 2) is not a date like '2024'; 1 of 30": {
        "now.csv": (beside("now", "2024"), *TIME)
    },
    "'inf' (line 2) is not a number below 5e+12": {
        "infinite_times.csv": (beside("inf", "1"), *TIME)
    },
    "'1e308' (line 2) is not a number below 5e+12": {
        "huge_times.csv": (beside("1e308", "-1e308", "1"), *TIME)
    },
    "(line 2) is not a date": {
        "beyond_time.csv": (beside("99999999999999-01-01", "2024-01-01"), *TIME)
    },
    "'05/06/2024' may be 2024-06-05 or 2024-05-06": {
        "unclear_times.csv": (beside("05/06/2024"), *TIME)
    },
    "No such file": {
        **dict.fromkeys(("m.csv", "m.txt", "m.npz", "m.parquet", "-"), lambda path: None),
        "link.csv": link("nowhere"),
    },
    "(byte 13): give --encoding cp1252 if this looks right: '1,café'": {
        "latin.csv": "id,text\n1,caf\xe9\n".encode("latin-1")
    },
    "--encoding cp1252 if this looks right: 'd word word word word café'": {
        "long_latin.txt": f"{'word ' * 40}café\n".encode("cp1252")
    },
    "--encoding gb18030 if this looks right: '今天天气很好'": {
        "chinese.txt": "word\n今天天气很好\n".encode("gb18030")
    },
    "--encoding shift_jis if this looks right: '日本の首都は東京です'": {
        "japanese.txt": "word\n日本の首都は東京です\n".encode("shift_jis")
    },
    "not UTF-8 text (byte 0): give --encoding, such as cp1252": {
        "polish.txt": "żółw łódź źdźbło\n".encode("cp1250")
    },
    "not utf-16 text": {"no_mark.txt": (LINES, "--encoding", "utf-16")},
    "argument --encoding: 'rot13' is not an encoding of texts": {
        "rot.txt": (LINES, "--encoding", "rot13")
    },
    "--encoding applies to text files only": {
        "encoded.npz": (matrix(), "--encoding", "cp1252"),
        "encoded.parquet": (parquet(id=["a"]), "--encoding", "cp1252"),
    },
    "File name too long": {"n" * 300 + ".csv": lambda path: None},
    "ymbolic link": {"loop.csv": link("loop.csv")},
    "cells.h5ad: not a text file: fit cells in Python with skcooc.anndata.fit_topics": {
        "cells.h5ad": b"\x89HDF\r\n\x1a\n" + b"\0" * 99
    },
    "not a text file: convert it with biom convert": {"otus.biom": b"{}"},
    "not a text file: save the sheet as .csv": {"sheet.xlsx": zipped(GOOD)},
    "not a text file: write it in R": {"table.rds": b"\x1f\x8b", "TABLE.RData": b"\x1f\x8b"},
    "not a text file: read it with anndata.io.read_loom": {"cells.loom": b"\x89HDF"},
    "not a text file: read it with scanpy.read_10x_h5": {"cells.h5": b"\x89HDF"},
    "page.html: not a text file: extract the text": {
        "page.html": b"<p>word word</p>",
        "pages": folder({"a.txt": b"word", "page.html": b"<p>word</p>"}),
    },
    "write df.reset_index().to_json('x.jsonl', orient='records', lines=True)": {
        "columns.json": COUNT_TABLE.to_json().encode(),
        "split.json": COUNT_TABLE.to_json(orient="split").encode(),
        "index.json": COUNT_TABLE.to_json(orient="index").encode(),
        "columns.jsonl": COUNT_TABLE.to_json().encode(),
    },
    "--header applies to files of lines": {
        "named.jsonl": (jsonl(OBJECTS), "--header", "a,b"),
        "named.parquet": (parquet(id=["a"]), "--header", "a"),
    },
    "2 names in --header, but the first line has 3 fields": {
        "short.csv": (table(COUNTED[1:]), "--header", "x,y"),
    },
    "3 fields, but --header has 2": {"long.csv": (b"a,b\na,b,c\n", "--header", "x,y")},
    "about.csv: a table in a folder of texts": {
        "texts": folder({"a.txt": LINES, "b/about.csv": GOOD}),
    },
    "'messages' holds objects instead of texts": {
        "chats.jsonl": jsonl([{"id": i, "messages": {"role": d}} for i, d in enumerate(DOCUMENTS)]),
    },
    "'items' holds lists: write a record for each item, such as with df.explode('items')": {
        "baskets.jsonl": jsonl([{"user": f"u{i % 3}", "items": ["a", "b"]} for i in range(90)]),
    },
    "twice in the header, Table 1, ,: rename one, or remove lines above": {
        "headed.csv": b"Table 1,,\nx,y,count\na,b,3\n",
    },
    "each value of 'word' occurs only once": {
        "words.csv": table([("word", "count", "texts"), *((f"w{i}", 9, i % 4) for i in range(50))]),
    },
    "pairs or a matrix of counts: name the columns": {
        "iris.csv": table(
            [("a", "b", "c", "d"), *((i % 3 / 2, i % 4, 1, i % 5) for i in range(60))]
        ),
    },
    "; if each line is a basket of items, write a line for each": {
        "groceries.csv": b"fruit,margarine\nmilk\nfruit,yogurt,coffee\nmilk,bread\n" * 30,
    },
    "items between commas, not texts": {
        "groceries.txt": b"fruit,margarine\nmilk\nfruit,yogurt,coffee\nmilk,bread\n" * 30,
    },
    "numbers, not texts": {"retail.dat": b"1 2 3\n4 5\n1 9 7 8\n" * 30},
    "sklearn.datasets.load_svmlight_file": {"bag.txt": b"1 0:3 4:1 \n2 1:9\n" * 30},
    "networkx.write_weighted_edgelist": {
        "graph.edgelist": b"ann bob {}\nann carl {'weight': 3}\n" * 30
    },
    "image.png: not UTF-8 text": {
        "with_picture": folder({"good.txt": b"word", "image.png": b"\x89PNG\r\n"})
    },
    "\\x1b[2J.csv, pairs of 'a' and 'b', each line counted once: need": {
        "\x1b[2J.csv": b"a,b\n1,2\n"
    },
}

SPECIES = [("plot", "species"), *((f"p{i % 9}", f"s{i % 5}") for i in range(90))]
LISTS_IN_COLUMNS = [
    ("basket", "item 1", "item 2", "item 3"),
    *((f"b{i % 9}", f"i{i % 5}", f"i{i % 4}", "") for i in range(90)),
]


def with_column(records, position, name, values):
    """Records with one more column, whose values are repeated."""
    column = [name, *(values[i % len(values)] for i in range(len(records) - 1))]
    return table(
        [(*r[:position], value, *r[position:]) for r, value in zip(records, column, strict=True)]
    )


REFUSED |= {
    "line 2: 'kg' in column 'w1' is not a number: remove this line if it holds units or repeats": {
        "units.csv": table(
            [[f"w{j}" for j in range(12)], ["kg"] * 12, *(range(i, i + 12) for i in range(9))]
        ),
    },
    "; remove lines above the header and below the table, such as titles and notes": {
        "titled.csv": b"Table 1\nx,y,count\na,b,3\n",
        "noted.csv": table([*COUNTED, ("Source: office",)]),
    },
    "remove these records or, if cells were merged, fill them with df['x'].ffill()": {
        "merged.csv": b"x,y\n" + b"a,b\n,c\n,d\n" * 9,
    },
    "a name occurs twice in the header, 1, 1, 5: ": {"bare.csv": b"1,1,5\n1,2,4\n" * 9},
    "if there is no header, give --header NAMES": {"bare.tsv": b"a\ta\t5\na\tb\t4\n" * 9},
    "'item 1', 'item 2' hold the same values: if they are lists, write a line for each value": {
        "lists.csv": table(LISTS_IN_COLUMNS),
    },
    "'Year' may hold times or measurements: name the columns of pairs with --row and --column, as "
    "in --row plot --column species": {
        "years.csv": with_column(SPECIES, 1, "Year", (2001, 2002)),
        "years_first.csv": with_column(SPECIES, 0, "Year", (2001, 2002)),
    },
    "'first seen' may hold times": {
        "dates.csv": with_column(SPECIES, 1, "first seen", ("31.5.2024", "1.6.2024")),
        "times.csv": with_column(SPECIES, 1, "first seen", ("2024-05-31 10:00:00", "2024-06-01")),
    },
    "'height' may hold times or measurements": {
        "heights.csv": with_column(SPECIES, 1, "height", (0.5, 1.75, 2)),
    },
    "as if one column named or grouped the other: name the columns of pairs with --row and "
    "--column, as in --row plot --column species": {
        "aliases.csv": with_column(SPECIES, 1, "title", [f"plot {i}" for i in range(9)]),
        "groups.csv": with_column(SPECIES, 1, "region", ["east", "west", "east"]),
    },
    "if another column holds the counts, name it, as in --count 'reads of it'": {
        "crossed.csv": with_column(SPECIES, 2, "reads of it", (1, 2, 3, 5, 8, 13, 21)),
    },
    "may be a number above a thousand or a fraction: write it as 1234 or 1.2340": {
        "thousands.csv": counts("1.234"),
    },
    "leave it out with --drop '#1', name": {
        "numbered.csv": with_column(SPECIES, 0, "#1", [f"n{i}" for i in range(90)]),
    },
    "no columns of numbers: a matrix needs counts, such as 1 instead of a mark": {
        "marks.csv": (
            table([("x", "a", "b"), *((f"r{i}", "x" * (i % 2), "x") for i in range(9))]),
            "--matrix",
        ),
    },
    "matrix.mtx: a matrix in a folder of texts: give this file": {
        "cells": folder({"barcodes.tsv": b"a\nb\n", "matrix.mtx": MTX}),
    },
}

CONTENTS = {
    "empty": b"",
    "every_byte": bytes(range(256)) * 8,
    "zeros": b"\0" * 500,
    "zip": b"PK\x03\x04" + b"\0" * 500,
    "npy": b"\x93NUMPY\x01\x00",
    "gzip": b"\x1f\x8b" + b"\0" * 20,
    "matrix": b"%%MatrixMarket matrix coordinate real general\n2 2 9\n1 1",
}
SUFFIXES = "txt", "csv", "tsv", "csv.gz", "npz", "mtx", "mtx.gz", "jsonl", "json", "parquet"
JUNK = {
    name: {name: content}
    for suffix in SUFFIXES
    for name, content in ((f"{what}_as.{suffix}", CONTENTS[what]) for what in CONTENTS)
}
