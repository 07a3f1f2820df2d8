import gzip
import json

import numpy as np
import pandas as pd

from skcooc.cli.arguments import parse
from skcooc.cli.reading import read
from tests.cli.conftest import HEADER, written
from tests.inspection.pages import read_payload


def options(*arguments):
    return parse(list(map(str, arguments)), models=["aspect"])


def as_jsonl(articles):
    return "".join(json.dumps(dict(zip(HEADER, a, strict=True))) + "\n" for a in articles)


def test_texts_are_recognised_whatever_the_format(articles, tmp_path):
    frame = pd.DataFrame(articles, columns=HEADER)
    frame.to_parquet(tmp_path / "a.parquet")
    objects = [json.loads(line) for line in as_jsonl(articles).splitlines()]
    (tmp_path / "a.json").write_text(json.dumps(objects))
    (tmp_path / "a.jsonl").write_text(as_jsonl(articles))
    written(tmp_path / "a.csv", HEADER, articles)
    written(tmp_path / "b.csv", HEADER, articles, ";")
    written(tmp_path / "a.tsv", HEADER, articles, "\t")
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    bare = (tmp_path / "a.csv").read_bytes()
    (tmp_path / "d.csv").write_bytes(b"\xef\xbb\xbf" + bare.replace(b"\n", b"\r\n"))
    expected = None
    for path in sorted(tmp_path.iterdir()):
        table = read(options(path))
        assert table.title == f"{path}, texts of 'text'"
        assert table.kinds == ("documents", "words")
        assert table.row_names == [a[0] for a in articles]
        found = table.X.toarray(), table.column_names
        if expected is not None:
            np.testing.assert_array_equal(found[0], expected[0])
            assert found[1] == expected[1]
        expected = found


def test_names_groups_and_times_of_texts(articles, tmp_path):
    path = written(tmp_path / "a.csv", HEADER, articles)
    table = read(options(path, "--row", "id", "--text", "text", "--group", "category"))
    assert table.row_names == [a[0] for a in articles]
    assert table.groups.tolist() == [a[2] for a in articles]
    assert table.times is None
    times = read(options(path, "--text", "text", "--time", "date")).times
    assert times.astype("datetime64[D]").astype(str).tolist() == [a[3] for a in articles]
    assert read(options(path, "--time", "id")).times.tolist() == list(range(30))


def test_texts_are_named_by_a_column_of_titles(articles, tmp_path):
    records = [(f"t{i}", a[1], str(i)) for i, a in enumerate(articles)]
    for header, expected in (
        (("Title", "text", "id"), ["t0", "t1", "t2"]),
        (("code", "text", "id"), ["0", "1", "2"]),
        (("code", "text", "headline"), ["0", "1", "2"]),
        (("code", "text", "number"), ["2: ", "3: ", "4: "]),
        (("title", "text", "text id"), ["t0", "t1", "t2"]),
    ):
        names = read(options(written(tmp_path / "a.csv", header, records))).row_names
        assert [name[: len(e)] for name, e in zip(names, expected, strict=False)] == expected
    for repeated in (["same", "same"], [""]):
        titles = repeated + [f"t{i}" for i in range(len(repeated), len(articles))]
        records = [(title, a[1]) for title, a in zip(titles, articles, strict=True)]
        path = written(tmp_path / "a.csv", ("title", "text"), records)
        assert read(options(path, "--text", "text")).row_names[0].startswith("2: ")


def test_dates(articles, tmp_path):
    for value, expected in (
        ("2024", "2024-01-01T00:00:00"),
        ("2024-05", "2024-05-01T00:00:00"),
        ("2024-05-31T10:00:00+02:00", "2024-05-31T08:00:00"),
        ("2024-05-31T10:00:00Z", "2024-05-31T10:00:00"),
        ("", "NaT"),
    ):
        records = [(*articles[0][:3], value), *articles[1:]]
        times = read(options(written(tmp_path / "a.csv", HEADER, records), "--time", "date")).times
        assert str(times[0]) == expected


def test_the_page_compares_groups_and_times(run, articles, tmp_path):
    path = written(tmp_path / "a.csv", HEADER, articles)
    page = tmp_path / "topics.html"
    run(path, "--skip-lda", "--html", page, "--group", "category", "--time", "date")
    shown = read_payload(page.read_text(encoding="utf-8"))
    assert shown["groups"]["labels"] == ["home", "sport"]
    assert len(shown["times"]["labels"]) == 3


def test_unusable_columns_are_reported(error, articles, texts, tmp_path):
    path = written(tmp_path / "a.csv", HEADER, articles)
    for arguments, message in (
        (["--text", "body"], "no column 'body'; the columns are id, text, category, date"),
        (["--group", "desk"], "no column 'desk'"),
        (["--time", "category"], "line 2: 'home' of 'category' is not a time"),
        (["--row", "id", "--column", "category", "--group", "date"], "--group applies to texts"),
        (["--row", "id", "--column", "id"], "both 'id'"),
    ):
        assert message in error(path, *arguments)
    for option in ("row", "column", "count", "text", "group", "time"):
        assert f"--{option} applies to files with named columns" in error(texts, f"--{option}", "x")


def test_ambiguous_columns_need_options(error, articles, documents, tmp_path):
    both = [(*a, documents[-i]) for i, a in enumerate(articles)]
    message = error(written(tmp_path / "a.csv", (*HEADER, "summary"), both))
    assert "'text' and 'summary' both look like texts: name one of them with --text" in message
    once = [(i, f"thing {i}") for i in range(200)]
    message = error(written(tmp_path / "b.csv", ("id", "title"), once))
    assert "each value of 'id' occurs only once" in message
    assert "--text" in message
    path = written(tmp_path / "c.csv", ("id", "title"), once)
    assert read(options(path, "--row", "id", "--column", "title")).X.shape == (200, 200)


def test_a_title_is_not_the_text(articles, documents, tmp_path):
    titled = [(*a[:1], " ".join(a[1].split()[:2]) + f" of the {a[0]}", 3 * a[1]) for a in articles]
    path = written(tmp_path / "a.csv", ("id", "title", "text"), titled)
    assert read(options(path)).title.endswith("texts of 'text'")


def test_repeated_long_names_are_no_texts(tmp_path):
    names = [f"The long and winding name of a book, volume {k}" for k in range(5)]
    pairs = [(f"user {i % 40}", names[i % 5]) for i in range(400)]
    table = read(options(written(tmp_path / "a.csv", ("user", "book"), pairs)))
    assert table.X.shape == (40, 5)
    assert table.kinds == ("values of user", "values of book")


def test_a_text_may_be_longer_than_the_field_limit_of_csv(documents, tmp_path):
    records = [(i, text * 1500) for i, text in enumerate(documents)]
    table = read(options(written(tmp_path / "a.csv", ("id", "text"), records)))
    assert table.X.sum() > 400_000


def test_odd_cells_beside_good_ones(articles, tmp_path):
    odd = [
        ('=HYPERLINK("x")', "", "", ""),
        ("\x1b[2J", "the cat sat on the mat " * 3, "\u202e", "2024"),
    ]
    path = written(tmp_path / "a.csv", HEADER, [*articles, *odd])
    table = read(options(path, "--row", "id", "--group", "category", "--time", "date"))
    assert table.X.shape[0] == 32
    assert str(table.times[-2]) == "NaT"
