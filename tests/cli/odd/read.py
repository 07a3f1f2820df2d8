"""Files that are read, by their shapes: contents, and arguments if there are some."""

import gzip

from tests.cli.odd.made import (
    ALL,
    COUNTED,
    DOCUMENTS,
    EVIL,
    GOOD,
    GROUP,
    LINES,
    NAMED,
    OBJECTS,
    PAIRS,
    TEXTS,
    TIME,
    beside,
    counts,
    folder,
    jsonl,
    matrix,
    parquet,
    same,
    table,
)  # fmt: skip

MIXED = [{**o, "n": ([1, "a", None, [2], {}, True] * 5)[i]} for i, o in enumerate(OBJECTS)]
LISTS = [{**o, "more": ["a", 1, None][: i % 4]} for i, o in enumerate(OBJECTS)]
ONCE = [(str(i), " ".join(f"w{i}x{j}" for j in range(9))) for i in range(30)]

READ = {  # and not fitted
    "30 documents, 15 words": {
        "bom.csv": b"\xef\xbb\xbf" + GOOD,
        "bom.txt": b"\xef\xbb\xbf" + LINES,
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
        "one_of_texts.csv": table([(text,) for _, text in TEXTS]),
        "semicolons.csv": table(TEXTS, ";"),
        "pipes.csv": table(TEXTS, "|"),
        "tabs.csv": table(TEXTS, "\t"),
        "sep.csv": b"sep=;\n" + table(TEXTS, ";"),
        "dollars.csv": table([(f"${a}", b) for a, b in TEXTS]),
        "good.jsonl": jsonl(OBJECTS),
        "good.ndjson.gz": gzip.compress(jsonl(OBJECTS)),
        "bom.jsonl": b"\xef\xbb\xbf" + jsonl(OBJECTS),
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
        "evil_words.txt": "\n".join(f"<script>{t}</script>" for t in DOCUMENTS).encode(),
        "one_group.csv": (beside("home"), *GROUP),
        "all_groups.csv": (beside(*map(str, range(30))), *GROUP),
        "blank_groups.csv": (beside(" ", "\t", "x"), *GROUP),
        "lists_as_groups.jsonl": (jsonl(LISTS), *GROUP),
        "one_time.csv": (beside("2024-05-31"), *TIME),
        "zones.csv": (beside("2024-05-31T10:00+02:00", "2024-06-01", "2024", "2024-07"), *TIME),
        "far_times.csv": (beside("0001-01-01", "9999-12-31", "2024-01-01"), *TIME),
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
