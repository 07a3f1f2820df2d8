"""Files whose bytes or lines are odd."""

import gzip

from tests.cli.odd.made import DOCUMENTS, PAIRS, READ_TEXTS, TEXTS, UTF8, Odd, beside, table, zipped

BYTES = {
    "binary.csv": Odd(bytes(range(256)) * 20, UTF8),
    "binary.txt": Odd(bytes(range(256)) * 20, UTF8),
    "binary.jsonl": Odd(bytes(range(256)) * 20, UTF8),
    "null_bytes.csv": Odd(b"\0" * 5000, "null characters"),
    "nul.csv": Odd(table(TEXTS) + b"x,a\0b\n", "null characters"),
    "nul.txt": Odd(b"a\0b\n", "null characters"),
    "picture.txt": Odd(b"\x89PNG\r\n\x1a\n" + b"\0" * 99, UTF8),
    "huge_line.csv": Odd(b"id,text\n1," + b"word " * 400_000, "no words are left in 1 documents"),
    "huge_line.txt": Odd(b"word " * 400_000, "no words are left in 1 documents"),
    "huge_word.txt": Odd(
        b"w" * 3_000_000 + b"\n" + "\n".join(DOCUMENTS).encode(), "31 documents, 16 words"
    ),
    "huge_header.csv": Odd(b"x" * 3_000_000 + b",y\n1,2\n", "values of"),
    "huge_name.csv": Odd(table([*PAIRS, ("u" * 10**6, "i1")]), "9 values of user", whole=True),
    "broken.csv": Odd(table(TEXTS) + b"x,a\xff\n", UTF8),
    "utf16.csv": Odd("id,text\n1,word\n".encode("utf-16"), UTF8),
    "utf16be.txt": Odd(b"\xfe\xff" + "word\n".encode("utf-16-be"), UTF8),
    "utf16_bare.txt": Odd("word\n".encode("utf-16-le"), "null characters"),
    "utf32.csv": Odd("id,text\n1,word\n".encode("utf-32"), UTF8),
    "bom.csv": Odd(b"\xef\xbb\xbf" + table(TEXTS), READ_TEXTS),
    "bom.txt": Odd(b"\xef\xbb\xbf" + "\n".join(DOCUMENTS).encode(), READ_TEXTS),
    "bom_alone.csv": Odd(b"\xef\xbb\xbf", "must be a header"),
    "latin.csv": Odd("id,text\n1,caf\xe9\n".encode("latin-1"), UTF8),
    "good.csv.gz": Odd(gzip.compress(table(TEXTS)), READ_TEXTS),
    "two.csv.gz": Odd(gzip.compress(table(TEXTS)) + gzip.compress(b"x,word\n"), "31 documents"),
    "UPPER.CSV.GZ": Odd(gzip.compress(table(TEXTS)), READ_TEXTS),
    "cut.csv.gz": Odd(gzip.compress(table(TEXTS))[:-9], "not a gzip file"),
    "bare.csv.gz": Odd(table(TEXTS), "not a gzip file"),
    "tail.csv.gz": Odd(gzip.compress(table(TEXTS)) + b"junk", "not a gzip file"),
    "nested.csv.gz": Odd(gzip.compress(gzip.compress(table(TEXTS))), UTF8),
    "gz.csv": Odd(gzip.compress(table(TEXTS)), UTF8),
    "zip.csv": Odd(zipped(table(TEXTS)), UTF8),
    "nothing.csv.gz": Odd(gzip.compress(b""), "must be a header"),
    "bomb.csv.gz": Odd(
        gzip.compress(b"id,text\n" + b"1,a\n" * 100_000), "need at least 2 values of id"
    ),
}

SHAPES = {
    "empty.csv": Odd(b"", "must be a header"),
    "empty.txt": Odd(b"", "no documents"),
    "empty.jsonl": Odd(b"", "no records"),
    "empty.json": Odd(b"", "not JSON"),
    "header.csv": Odd(b"id,text\n", "no records"),
    "blank.csv": Odd(b"\n\n\n", "must be a header"),
    "blank.txt": Odd(b"\n \n\t\n", "no documents"),
    "blank_first.csv": Odd(b"\n" + table(TEXTS), "must be a header"),
    "blank_between.csv": Odd(table(TEXTS).replace(b"\n", b"\n\n"), READ_TEXTS),
    "crlf.csv": Odd(table(TEXTS, end="\r\n"), READ_TEXTS),
    "cr.csv": Odd(table(TEXTS, end="\r"), READ_TEXTS),
    "cr.txt": Odd("\r".join(DOCUMENTS).encode(), READ_TEXTS),
    "mixed_ends.csv": Odd(
        table(TEXTS[:9], end="\r\n") + table(TEXTS[9:17], end="\r") + table(TEXTS[17:]), READ_TEXTS
    ),
    "no_last_end.csv": Odd(table(TEXTS).rstrip(), READ_TEXTS),
    "unclosed.csv": Odd(table(TEXTS) + b'x,"word\n', "unexpected end of data"),
    "unclosed_first.csv": Odd(b'id,"text\n1,word\n', "unexpected end of data"),
    "stray_quote.csv": Odd(table(TEXTS) + b'x,"a" b\n', "line 32: "),
    "quote_inside.csv": Odd(table(TEXTS) + b'x,12" cat\n', "31 documents"),
    "ends_in_quotes.csv": Odd(table([*TEXTS, ("x\ny", "cat\r\ndog\n\nhorse")]), "31 documents"),
    "quoted_separators.csv": Odd(b'"a;b;c","long text"\n' + table(TEXTS[1:]), READ_TEXTS),
    "empty_column.csv": Odd(beside("", header="z"), READ_TEXTS),
    "nameless.csv": Odd(beside("1", header=""), READ_TEXTS),
    "two_nameless.csv": Odd(b"id,,\n1,2,3\n", "occurs twice"),
    "twice.csv": Odd(b"id,id\n1,2\n", "occurs twice"),
    "one_of_texts.csv": Odd(table([(text,) for _, text in TEXTS]), READ_TEXTS),
    "one_of_words.csv": Odd(b"text\nword\n", "one column"),
    "ragged.csv": Odd(table(TEXTS) + b"1\n2,3,4\n", ": 1 fields, but the header has 2"),
    "semicolons.csv": Odd(table(TEXTS, ";"), READ_TEXTS),
    "pipes.csv": Odd(table(TEXTS, "|"), READ_TEXTS),
    "tabs.csv": Odd(table(TEXTS, "\t"), READ_TEXTS),
    "commas.tsv": Odd(table(TEXTS), "one column, 'id,text', with a separator in its name"),
    "sep.csv": Odd(b"sep=;\n" + table(TEXTS, ";"), READ_TEXTS),
    "ragged_sep.csv": Odd(b"sep=^\n" + table(TEXTS, "^") + b"x\n", "line 33: 1 fields"),
    "empty_cells.csv": Odd(b"id,text\n,\n,\n,\n", "need at least 2 values of id"),
    "lines.csv": Odd(
        b"not a table but a line of prose\nand another, with a comma\n",
        "line 2: 2 fields, but the header has 1",
    ),
    "page.csv": Odd(
        b"<!DOCTYPE html>\n<html><body>a, b, c</body></html>\n",
        "line 2: 3 fields, but the header has 1",
    ),
    "dollars.csv": Odd(table([(f"${a}", b) for a, b in TEXTS]), READ_TEXTS),
    "blanks_in_header.csv": Odd(
        b" id , text \n" + table(TEXTS[1:]), "no column 'text'", ("--text", "text")
    ),
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
    f"{name}_as.{suffix}": Odd(content, f"{name}_as.{suffix}")
    for name, content in CONTENTS.items()
    for suffix in SUFFIXES
}
