"""Files that are refused, by what is said of them: contents, and arguments if there are some."""

import gzip
import json

import numpy as np
import scipy.sparse as sp

from tests.cli.odd.made import (
    ALL,
    COUNTED,
    DOCUMENTS,
    GOOD,
    GROUP,
    NAMED,
    OBJECTS,
    PAIRS,
    TEXTS,
    TIME,
    beside,
    counts,
    folder,
    jsonl,
    link,
    matrix,
    parquet,
    same,
    table,
    zipped,
)  # fmt: skip

ONE = b"id,text\n1,word\n"
MTX = b"%%MatrixMarket matrix coordinate "
CODED = {name: ONE.decode().encode(name) for name in ("utf-16", "utf-16-be", "utf-16-le", "utf-32")}


def missing(path):
    """Write nothing."""


REFUSED = {
    "not UTF-8 text": {
        "binary.csv": bytes(range(256)) * 20,
        "binary.jsonl": bytes(range(256)) * 20,
        "picture.txt": b"\x89PNG\r\n\x1a\n" + b"\0" * 99,
        "broken.csv": GOOD + b"x,a\xff\n",
        "utf16.csv": CODED["utf-16"],
        "utf16be.txt": b"\xfe\xff" + CODED["utf-16-be"],
        "utf32.csv": CODED["utf-32"],
        "latin.csv": "id,text\n1,caf\xe9\n".encode("latin-1"),
        "nested.csv.gz": gzip.compress(gzip.compress(GOOD)),
        "gz.csv": gzip.compress(GOOD),
        "zip.csv": zipped(GOOD),
    },
    "null characters": {
        "null_bytes.csv": b"\0" * 5000,
        "nul.csv": GOOD + b"x,a\0b\n",
        "nul.txt": b"a\0b\n",
        "utf16_bare.txt": CODED["utf-16-le"],
    },
    "no words are left in 1 documents": {
        "huge_line.csv": b"id,text\n1," + b"word " * 400_000,
        "huge_line.txt": b"word " * 400_000,
        "one_document.csv": table(TEXTS[:2]),
        "folder.csv": folder({"inner": b""}),
    },
    "no words are left": {
        "texts_empty.csv": (same(""), *NAMED),
        "stop_words.csv": (same("the and of"), *NAMED),
        "numbers.csv": (same("1 2 3 4 5 6"), *NAMED),
        "same_texts.csv": (same(DOCUMENTS[0]), *NAMED),
    },
    "no words are left in 2 documents": {"words.txt": b"the and of\n1 2 3\n"},
    "must be a header": {
        "bom_alone.csv": b"\xef\xbb\xbf",
        "nothing.csv.gz": gzip.compress(b""),
        "empty.csv": b"",
        "blank.csv": b"\n\n\n",
        "blank_first.csv": b"\n" + GOOD,
        "null.csv": link("/dev/null"),
    },
    "not a gzip file": {
        "cut.csv.gz": gzip.compress(GOOD)[:-9],
        "bare.csv.gz": GOOD,
        "tail.csv.gz": gzip.compress(GOOD) + b"junk",
    },
    "values of": {"huge_header.csv": b"x" * 3_000_000 + b",y\n1,2\n"},
    "need at least 2 values of id": {
        "bomb.csv.gz": gzip.compress(b"id,text\n" + b"1,a\n" * 100_000),
        "empty_cells.csv": b"id,text\n,\n,\n,\n",
        "nulls.jsonl": b'{"id": null, "text": null}\n' * 5,
        "nan.jsonl": b'{"id": NaN, "text": Infinity}\n' * 3,
    },
    "no documents": {
        "empty.txt": b"",
        "blank.txt": b"\n \n\t\n",
        "empty_folder": folder({".hidden": b""}),
        "hidden": folder({".x/a.txt": b"word", ".b": b"\xff"}),
    },
    "no records": {
        "empty.jsonl": b"",
        "header.csv": b"id,text\n",
        "no_objects.json": b"[]",
        "no_rows.parquet": parquet(id=[], text=[]),
    },
    "not JSON": {"empty.json": b"", "deep.json": b"[" * 100_000},
    "not JSON (Extra data); with one object a line, name it .jsonl": {"lines.json": jsonl(OBJECTS)},
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
    "counts sum to 2;": {
        "missing_fields.jsonl": b'{"id": 1}\n{"text": "a"}\n',
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
    "line 33: 1 fields": {"ragged_sep.csv": b"sep=^\n" + table(TEXTS, "^") + b"x\n"},
    "line 2: 2 fields, but the header has 1": {"lines.csv": b"a line of prose\nand, a comma\n"},
    "line 2: 3 fields, but the header has 1": {
        "page.csv": b"<!DOCTYPE html>\n<html><body>a, b, c</body></html>\n",
    },
    "one column, 'id,text', with a separator in its name": {"commas.tsv": GOOD},
    "no column 'text'": {"blanks.csv": (b" id , text \n" + table(TEXTS[1:]), *NAMED)},
    "no ": {"no_columns.parquet": parquet()},
    "not a Parquet file": {
        "empty.parquet": b"",
        "fake.parquet": b"PAR1 nothing PAR1",
        "csv.parquet": GOOD,
    },
    "'0,5' is not a count": {
        "decimal_commas.csv": table([COUNTED[0], *((x, y, "0,5") for x, y, _ in COUNTED[1:])], ";"),
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
    "line 2: '\\x1b[2Jmany' is not a count": {"evil_count.csv": b"a,b,count\n1,2,\x1b[2Jmany\n"},
    "counts sum to 1e+308;": {"huge.csv": counts("1e308"), "huge.npz": matrix(data=1e308)},
    "counts sum to inf;": {"huge_sum.csv": counts(*["1e308"] * 12)},
    "counts sum to 5000000001;": {"too_many.csv": b"a,b,count\n1,2,5e9\n2,1,1\n"},
    "counts sum to 12;": {"tiny.csv": counts(*["1e-320"] * 12)},
    "counts sum to 20;": {"texts_once.csv": (GOOD, "--text", "id")},
    "counts must be finite": {
        "huge_twice.csv": counts("1e308") + b"x0,y0,1e308\n",
        "inf.npz": matrix(data=np.inf),
        "inf.mtx": matrix(data=np.inf),
        "nan.npz": matrix(data=np.nan),
        "nan.mtx": matrix(data=np.nan),
    },
    "found 0 and 0": {"zeros.csv": counts(*["0"] * 12)},
    "found 1 and 5": {"one_document_of_all.csv": (table(TEXTS[:2]), "--max-df", "1.0")},
    "found 30 and 1": {"one_word.csv": (same("word " * 9), *ALL)},
    "need at least 2 values of a and 2 values of b with counts; found 1 and 2": {
        "one_row.csv": b"a,b,count\n1,2,500\n1,3,500\n",
    },
    "need at least 2 rows and 2 columns with counts; found 0 and 0": {
        "empty.npz": lambda path: sp.save_npz(path, sp.csr_array((0, 0))),
    },
    "negative counts, such as -1": {
        "negative.npz": matrix(data=-1),
        "negative.mtx": matrix(data=-1),
    },
    "complex numbers": {"complex.npz": lambda path: sp.save_npz(path, sp.eye_array(9) * 1j)},
    "not a sparse matrix of SciPy": {
        "wild.npz": matrix(indices=-1),
        "pickle.npz": lambda path: np.savez(path, X=np.array([{}], dtype=object)),
        "dense.npz": lambda path: np.savez(path, X=np.eye(3)),
        "text.npz": b"no archive",
        "null.npz": link("/dev/null"),
    },
    "a matrix of 999999999 x 999999999": {
        "giant.mtx": MTX + b"integer general\n999999999 999999999 1\n1 1 9\n",
    },
    "not enough memory": {"promise.mtx": MTX + b"integer general\n9 9 99999999999999\n1 1 9\n"},
    "not in Matrix Market": {"cut.mtx": MTX + b"real general\n2 2 9\n1 1"},
    "--row-names applies to matrices": {"names.csv": (table(PAIRS), "--row-names", "x.txt")},
    "--min-df applies to texts": {"limits.csv": (table(PAIRS), "--min-df", "2")},
    "--max-df applies to texts": {"limits.npz": (matrix(), "--max-df", "2")},
    "--text applies to files with named columns": {"columns.npz": (matrix(), "--text", "a")},
    "the columns are \\x1b]0;t\\x07, a b": {
        "evil_missing.csv": (table([("\x1b]0;t\x07", "a\nb"), *PAIRS[1:]]), "--text", "x"),
    },
    "each value of 'id' occurs only once": {
        "ids.csv": table([("id", "title"), *((str(i), f"thing {i}") for i in range(200))]),
    },
    "both look like texts": {"two_texts.csv": beside(*DOCUMENTS[::-1], header="body")},
    "no column 'user'; the columns are a, b": {"no_row.csv": (b"a,b\n1,2\n", "--row", "user")},
    "no column 'body'": {"no_such_text.csv": (GOOD, "--text", "body")},
    "no column 'desk'": {"no_such_group.csv": (GOOD, "--group", "desk")},
    "both 'b'": {"one_for_both.csv": (b"a,b\n1,2\n", "--row", "b")},
    "argument --text: given twice": {"named_twice.csv": (GOOD, *NAMED, "--text", "id")},
    "--count applies to pairs": {"text_and_count.csv": (GOOD, *NAMED, "--count", "id")},
    "--column applies to pairs": {"text_and_column.csv": (GOOD, *NAMED, "--column", "id")},
    "--group applies to texts": {"groups_of_pairs.csv": (table(PAIRS), "--group", "user")},
    "no text with words has a value for --group": {"no_groups.csv": (beside(""), *GROUP)},
    "no text with words has a value for --time": {"no_times.csv": (beside(""), *TIME)},
    "line 2: 'soon' of 'more' is not a time": {"words_as_times.csv": (beside("soon"), *TIME)},
    "line 3: 'May 5' of 'more' is not a time": {"mixed.csv": (beside("2024-05", "May 5"), *TIME)},
    "line 2: 'now' of 'more' is not a time": {"now.csv": (beside("now", "2024"), *TIME)},
    "line 2: 'inf' of 'more' is not a time": {"infinite_times.csv": (beside("inf", "1"), *TIME)},
    "'1e308' of 'more' is not a time": {"huge_times.csv": (beside("1e308", "-1e308", "1"), *TIME)},
    "is not a time": {
        "end_of_time.csv": (beside("0001-01-01T00:00:00+02:00", "2024-01-01"), *TIME),
        "beyond_time.csv": (beside("99999999999999-01-01", "2024-01-01"), *TIME),
    },
    "No such file": {
        **dict.fromkeys(("m.csv", "m.txt", "m.npz", "m.parquet", "-"), missing),
        "link.csv": link("nowhere"),
    },
    "File name too long": {"n" * 300 + ".csv": missing},
    "ymbolic link": {"loop.csv": link("loop.csv")},
    "image.png: not UTF-8 text": {
        "with_picture": folder({"good.txt": b"word", "image.png": b"\x89PNG\r\n"}),
    },
    "\\x1b[2J.csv: need at least 2 values of": {"\x1b[2J.csv": b"a,b\n1,2\n"},
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
