"""JSON and Parquet."""

import gzip
import json

from tests.cli.odd.made import (
    DOCUMENTS,
    EVIL,
    GROUP,
    NAMED,
    READ_PAIRS,
    READ_TEXTS,
    TEXTS,
    Odd,
    jsonl,
    objects,
    parquet,
    table,
)

JSON = {
    "good.jsonl": Odd(jsonl(objects()), READ_TEXTS),
    "good.ndjson.gz": Odd(gzip.compress(jsonl(objects())), READ_TEXTS),
    "bom.jsonl": Odd(b"\xef\xbb\xbf" + jsonl(objects()), READ_TEXTS),
    "one_field.jsonl": Odd(jsonl([{"text": text} for text in DOCUMENTS]), READ_TEXTS),
    "one_field_of_words.jsonl": Odd(b'{"a": "b"}\n', "one column"),
    "broken.jsonl": Odd(jsonl(objects()) + b'{"id": \n', "line 31: not JSON"),
    "commas.jsonl": Odd(jsonl(objects()).replace(b"}\n", b"},\n"), "line 1: not JSON"),
    "lines.json": Odd(
        jsonl(objects()), "not JSON (Extra data); with one object a line, name it .jsonl"
    ),
    "array.jsonl": Odd(json.dumps(objects()).encode(), "line 1: not an object"),
    "lists.jsonl": Odd(b"[1, 2]\n", "line 1: not an object"),
    "numbers.json": Odd(b"[1, 2, 3]", "object 1: not an object"),
    "object.json": Odd(b'{"id": 1}', "not an array of objects"),
    "null.json": Odd(b"null", "not an array of objects"),
    "no_objects.json": Odd(b"[]", "no records"),
    "empty_objects.json": Odd(b"[{}, {}]", "no named values"),
    "empty_objects.jsonl": Odd(b"{}\n{}\n", "no named values"),
    "deep.json": Odd(b"[" * 100_000, "not JSON"),
    "deep.jsonl": Odd(b'{"a": ' * 50_000 + b"\n", "line 1: not JSON"),
    "digits.jsonl": Odd(b'{"a": ' + b"9" * 9999 + b', "b": 1}\n', "line 1: not JSON"),
    "nested.jsonl": Odd(
        jsonl([{**o, "more": {"a": [1, {"b": None}]}} for o in objects()]), READ_TEXTS
    ),
    "mixed.jsonl": Odd(
        jsonl(
            [
                {**o, "n": v}
                for o, v in zip(objects(), [1, "a", None, [2], {}, True] * 5, strict=True)
            ]
        ),
        READ_TEXTS,
    ),
    "lists_as_groups.jsonl": Odd(
        jsonl([{**o, "more": ["a", 1, None][: i % 4]} for i, o in enumerate(objects())]),
        READ_TEXTS,
        GROUP,
        whole=True,
    ),
    "nulls.jsonl": Odd(b'{"id": null, "text": null}\n' * 5, "need at least 2 values of id"),
    "missing_fields.jsonl": Odd(b'{"id": 1}\n{"text": "a"}\n', "counts sum to 2;"),
    "nan.jsonl": Odd(b'{"id": NaN, "text": Infinity}\n' * 3, "need at least 2 values of id"),
    "surrogates.jsonl": Odd(
        jsonl([*objects(), {"id": "half \ud83d", "text": "cat \ud800 dog"}]),
        "31 documents",
        ("--row", "id", "--nearest", "half \ud83d", "--group", "id", *NAMED),
        whole=True,
    ),
    "surrogate_names.jsonl": Odd(
        jsonl([{"us\ud800er": f"u{i % 8}", "item": f"\udfff{i % 5}"} for i in range(160)]),
        "8 values of us",
        whole=True,
    ),
    "evil.jsonl": Odd(
        jsonl([{"user": EVIL[i % 11], "item": EVIL[i % 9]} for i in range(160)]),
        "11 values of user, 9 values of item",
        whole=True,
    ),
}

PARQUET = {
    "good.parquet": Odd(
        parquet({"id": [f"d{i}" for i in range(30)], "text": DOCUMENTS}), READ_TEXTS
    ),
    "one.parquet": Odd(parquet({"text": DOCUMENTS}), READ_TEXTS),
    "no_rows.parquet": Odd(parquet({"id": [], "text": []}), "no records"),
    "no_columns.parquet": Odd(parquet({}), "no "),
    "empty.parquet": Odd(b"", "not a Parquet file"),
    "fake.parquet": Odd(b"PAR1 nothing PAR1", "not a Parquet file"),
    "csv.parquet": Odd(table(TEXTS), "not a Parquet file"),
    "lists.parquet": Odd(
        parquet({"id": [[i, None] for i in range(30)], "text": DOCUMENTS}), READ_TEXTS
    ),
    "numbers.parquet": Odd(
        parquet({"user": [i % 8 for i in range(160)], "item": [i % 5 / 2 for i in range(160)]}),
        READ_PAIRS,
    ),
    "bytes.parquet": Odd(parquet({"id": [b"\xff\x00"] * 30, "text": DOCUMENTS}), READ_TEXTS),
    "nulls.parquet": Odd(
        parquet({"id": [None, *range(29)], "text": [None, *DOCUMENTS[1:]]}),
        "30 documents, 15 words",
    ),
}
