"""Odd columns, and places where files are not."""

from tests.cli.odd.made import (
    ALL,
    DOCUMENTS,
    EVIL,
    GROUP,
    NAMED,
    PAIRS,
    READ_TEXTS,
    TEXTS,
    TIME,
    Odd,
    beside,
    folder,
    same,
    table,
)

COLUMNS = {
    "evil_names.csv": Odd(
        table([("id", "text"), *((EVIL[i % 11] + str(i), t) for i, t in enumerate(DOCUMENTS))]),
        READ_TEXTS,
        ("--row", "id"),
        whole=True,
    ),
    "evil_groups.csv": Odd(
        beside(*EVIL, header="<b>g"), READ_TEXTS, ("--group", "<b>g"), whole=True
    ),
    "evil_header.csv": Odd(
        table([("<script>\x1b[2J", "=1+1\na"), *PAIRS[1:]]),
        "8 values of <script>\\x1b[2J",
        whole=True,
    ),
    "evil_missing.csv": Odd(
        table([("\x1b]0;t\x07", "a\nb"), *PAIRS[1:]]),
        "the columns are \\x1b]0;t\\x07, a b",
        ("--text", "x"),
    ),
    "evil_words.txt": Odd(
        "\n".join(f"<script>{t}</script>" for t in DOCUMENTS).encode(), READ_TEXTS, whole=True
    ),
    "long_names.csv": Odd(table([(a * 5000, b * 5000) for a, b in PAIRS]), "8 values of user"),
    "ids.csv": Odd(
        table([("id", "title"), *((str(i), f"thing {i}") for i in range(200))]),
        "each value of 'id' occurs only once",
    ),
    "two_texts.csv": Odd(
        table([(*r, t) for r, t in zip(TEXTS, ["body", *DOCUMENTS[::-1]], strict=True)]),
        "both look like texts",
    ),
    "texts_once.csv": Odd(table(TEXTS), "counts sum to 20;", ("--text", "id")),
    "texts_empty.csv": Odd(same(""), "no words are left", NAMED),
    "texts_some_empty.csv": Odd(table([*TEXTS, ("x", ""), ("y", " ")]), "32 documents", whole=True),
    "stop_words.csv": Odd(same("the and of"), "no words are left", NAMED),
    "stop_words_kept.csv": Odd(
        same("the and her " * 4),
        "30 documents, 3 words",
        (*NAMED, "--stop-words", "none", "--max-df", "1.0"),
    ),
    "numbers.csv": Odd(same("1 2 3 4 5 6"), "no words are left", NAMED),
    "one_document.csv": Odd(table(TEXTS[:2]), "no words are left in 1 documents"),
    "one_document_of_all.csv": Odd(table(TEXTS[:2]), "found 1 and 5", ("--max-df", "1.0")),
    "one_word.csv": Odd(same("word " * 9), "found 30 and 1", ALL),
    "two_words.csv": Odd(same("cat cat dog cat dog"), "30 documents, 2 words", ALL, whole=True),
    "same_texts.csv": Odd(same(DOCUMENTS[0]), "no words are left", NAMED),
    "all_words_once.csv": Odd(
        table([TEXTS[0], *((str(i), " ".join(f"w{i}x{j}" for j in range(9))) for i in range(30))]),
        "30 documents, 270 words",
    ),
    "no_such_row.csv": Odd(
        b"a,b\n1,2\n", "no column 'user'; the columns are a, b", ("--row", "user")
    ),
    "no_such_text.csv": Odd(table(TEXTS), "no column 'body'", ("--text", "body")),
    "no_such_group.csv": Odd(table(TEXTS), "no column 'desk'", ("--group", "desk")),
    "one_for_both.csv": Odd(b"a,b\n1,2\n", "both 'b'", ("--row", "b")),
    "evil_count.csv": Odd(b"a,b,count\n1,2,\x1b[2Jmany\n", "line 2: '\\x1b[2Jmany' is not a count"),
    "named_twice.csv": Odd(
        table(TEXTS), "argument --text: given twice", ("--text", "text", "--text", "id")
    ),
    "text_and_count.csv": Odd(table(TEXTS), "--count applies to pairs", (*NAMED, "--count", "id")),
    "text_and_column.csv": Odd(
        table(TEXTS), "--column applies to pairs", (*NAMED, "--column", "id")
    ),
    "text_is_group.csv": Odd(table(TEXTS), READ_TEXTS, (*NAMED, "--group", "text")),
    "groups_of_pairs.csv": Odd(table(PAIRS), "--group applies to texts", ("--group", "user")),
    "one_group.csv": Odd(beside("home"), READ_TEXTS, GROUP, whole=True),
    "all_groups.csv": Odd(beside(*map(str, range(30))), READ_TEXTS, GROUP, whole=True),
    "no_groups.csv": Odd(beside(""), "no text with words has a value for --group", GROUP),
    "blank_groups.csv": Odd(beside(" ", "\t", "x"), READ_TEXTS, GROUP, whole=True),
    "no_times.csv": Odd(beside(""), "no text with words has a value for --time", TIME),
    "words_as_times.csv": Odd(beside("soon"), "line 2: 'soon' of 'more' is not a time", TIME),
    "mixed_times.csv": Odd(
        beside("2024-05-31", "May 5"), "line 3: 'May 5' of 'more' is not a time", TIME
    ),
    "one_time.csv": Odd(beside("2024-05-31"), READ_TEXTS, TIME, whole=True),
    "mixed_zones.csv": Odd(
        beside("2024-05-31T10:00+02:00", "2024-06-01", "2024", "2024-07"),
        READ_TEXTS,
        TIME,
        whole=True,
    ),
    "far_times.csv": Odd(
        beside("0001-01-01", "9999-12-31", "2024-01-01"), READ_TEXTS, TIME, whole=True
    ),
    "end_of_time.csv": Odd(
        beside("0001-01-01T00:00:00+02:00", "2024-01-01"), "is not a time", TIME
    ),
    "beyond_time.csv": Odd(beside("99999999999999-01-01", "2024-01-01"), "is not a time", TIME),
    "now.csv": Odd(beside("now", "2024-01-01"), "line 2: 'now' of 'more' is not a time", TIME),
    "infinite_times.csv": Odd(beside("inf", "1"), "line 2: 'inf' of 'more' is not a time", TIME),
    "huge_times.csv": Odd(beside("1e308", "-1e308", "1"), "'1e308' of 'more' is not a time", TIME),
    "nan_times.csv": Odd(beside("nan", "NaN", "5"), READ_TEXTS, TIME, whole=True),
}

PLACES = {
    "missing.csv": Odd(lambda path: None, "No such file"),
    "missing.txt": Odd(lambda path: None, "No such file"),
    "missing.npz": Odd(lambda path: None, "No such file"),
    "missing.parquet": Odd(lambda path: None, "No such file"),
    "-": Odd(lambda path: None, "No such file"),
    "n" * 300 + ".csv": Odd(lambda path: None, "File name too long"),
    "folder.csv": Odd(folder({"inner": b""}), "no words are left in 1 documents"),
    "folder": Odd(
        folder({f"{i}.txt": text.encode() for i, text in enumerate(DOCUMENTS)}), READ_TEXTS
    ),
    "empty_folder": Odd(lambda path: path.mkdir(), "no documents"),
    "hidden": Odd(folder({".x/a.txt": b"word", ".b": b"\xff"}), "no documents"),
    "with_picture": Odd(
        folder({"good.txt": b"word", "image.png": b"\x89PNG\r\n"}), "image.png: not UTF-8 text"
    ),
    "odd_names": Odd(
        folder({b"caf\xe9%d\n.txt" % i: t.encode() for i, t in enumerate(DOCUMENTS)}),
        READ_TEXTS,
        whole=True,
    ),
    "link.csv": Odd(lambda path: path.symlink_to("nowhere"), "No such file"),
    "loop.csv": Odd(lambda path: path.symlink_to("loop.csv"), "ymbolic link"),
    "null.csv": Odd(lambda path: path.symlink_to("/dev/null"), "must be a header"),
    "null.npz": Odd(lambda path: path.symlink_to("/dev/null"), "not a sparse matrix"),
    "-odd.csv": Odd(table(TEXTS), READ_TEXTS, whole=True),
    "\x1b[2J.csv": Odd(b"a,b\n1,2\n", "\\x1b[2J.csv: need at least 2 values of"),
    "caf\udce9.csv": Odd(table(TEXTS), READ_TEXTS, whole=True),
    "x.unknown": Odd("\n".join(DOCUMENTS).encode(), READ_TEXTS),
}
