import csv
import gzip
import re
import time
from importlib import import_module

import joblib
import numpy as np
import pandas as pd

from skcooc.cli.encodings import likely_encoding
from skcooc.cli.fields import mean_words
from skcooc.cli.reading import read
from skcooc.cli.terminal import Screen, parse
from skcooc.inspection.shares import pooled_mixtures
from tests.cli.conftest import ARTICLES, HEADER, written
from tests.cli.odd import DOCUMENTS


def read_with(*arguments):
    return read(parse(list(map(str, arguments)), models=["aspect"]), Screen(wanted=False))


def test_texts_are_recognised_whatever_the_format(tmp_path):
    frame = pd.DataFrame(ARTICLES, columns=HEADER)
    frame.to_parquet(tmp_path / "a.parquet")
    in_bytes = frame["text"].str.replace(" ", "\n").str.encode("utf-8")
    frame.assign(text=in_bytes).to_parquet(tmp_path / "b.parquet")
    frame.to_json(tmp_path / "a.json", orient="records")
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    written(tmp_path / "a.csv", HEADER, ARTICLES)
    written(tmp_path / "b.csv", HEADER, ARTICLES, ";")
    written(tmp_path / "a.tsv", HEADER, ARTICLES, "\t")
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    bare = (tmp_path / "a.csv").read_bytes()
    (tmp_path / "d.csv").write_bytes(b"\xef\xbb\xbf" + bare.replace(b"\n", b"\r\n"))
    expected = read_with(tmp_path / "a.csv")
    for path in tmp_path.iterdir():
        table = read_with(path)
        assert table.title == f"{path}, texts of 'text'"
        assert table.kinds == ("documents", "words")
        assert table.row_names == [a[0] for a in ARTICLES]
        np.testing.assert_array_equal(table.X.toarray(), expected.X.toarray())
        assert table.column_names == expected.column_names


def test_names_groups_and_times_of_texts(tmp_path):
    path = written(tmp_path / "a.csv", HEADER, ARTICLES)
    table = read_with(path, "--row", "id", "--text", "text", "--group", "category")
    assert table.row_names == [a[0] for a in ARTICLES]
    assert table.groups.tolist() == [a[2] for a in ARTICLES]
    assert table.times is None
    times = read_with(path, "--text", "text", "--time", "date").times
    assert times.astype("datetime64[D]").astype(str).tolist() == [a[3] for a in ARTICLES]
    numbered = [(str(1 + i // 2), *a[1:]) for i, a in enumerate(ARTICLES)]
    times = read_with(written(tmp_path / "n.csv", HEADER, numbered), "--time", "id").times
    assert times.tolist() == [1 + i // 2 for i in range(30)]
    for value, expected in (
        ("2024", "2024"),
        ("2024-05", "2024-05"),
        ("2024-05-31T01:00:00+02:00", "2024-05-31"),
        ("2024-05-31T10:00:00Z", "2024-05-31"),
        ("", "NaT"),
    ):
        records = [(*ARTICLES[0][:3], value), *ARTICLES[1:]]
        times = read_with(written(tmp_path / "a.csv", HEADER, records), "--time", "date").times
        assert str(times[0]) == expected
    compact = [(*a[:3], a[3].replace("-", "")) for a in ARTICLES]
    times = read_with(written(tmp_path / "a.csv", HEADER, compact), "--time", "date").times
    assert times.astype("datetime64[D]").astype(str).tolist() == [a[3] for a in ARTICLES]


def test_texts_are_named_by_a_column_of_titles(tmp_path):
    records = [(f"t{i}", a[1], str(i)) for i, a in enumerate(ARTICLES)]
    for header, expected in (
        (("Title", "text", "id"), ["t0", "t1", "t2"]),
        (("code", "text", "id"), ["0", "1", "2"]),
        (("code", "text", "headline"), ["0", "1", "2"]),
        (("code", "text", "ticketId"), ["0", "1", "2"]),
        (("code", "text", "number"), ["2: ", "3: ", "4: "]),
        (("title", "text", "text id"), ["t0", "t1", "t2"]),
    ):
        names = read_with(written(tmp_path / "a.csv", header, records)).row_names
        assert [name[: len(e)] for name, e in zip(names, expected, strict=False)] == expected
    for repeated in (["same", "same"], [""]):
        titles = repeated + [f"t{i}" for i in range(len(repeated), len(ARTICLES))]
        records = [(title, a[1]) for title, a in zip(titles, ARTICLES, strict=True)]
        path = written(tmp_path / "a.csv", ("title", "text"), records)
        assert read_with(path, "--text", "text").row_names[0].startswith("2: ")


def test_columns_are_named_in_files_that_have_some_also_those_of_pairs(error, texts, tmp_path):
    """odd.REFUSED has what is said of wrong names."""
    for option in ("row", "column", "count", "text", "group", "time"):
        assert f"--{option} applies to files with named columns" in error(texts, f"--{option}", "x")
    once = [(i, f"thing {i}") for i in range(200)]
    path = written(tmp_path / "b.csv", ("id", "title"), once)
    assert "--text" in error(path)
    pairs = read_with(path, "--row", "id", "--column", "title")
    assert pairs.X.shape == (200, 200)


def test_a_column_of_counts_is_neither_rows_nor_columns(error, tmp_path):
    header = ("count", "user", "film")
    records = [(str(2 + i % 3), f"u{i % 7}", f"f{i % 5}") for i in range(105)]
    for order in ((0, 1, 2), (1, 0, 2), (1, 2, 0)):
        shuffled = [[record[k] for k in order] for record in records]
        path = written(tmp_path / "a.csv", [header[k] for k in order], shuffled)
        table = read_with(path)
        assert table.kinds == ("values of user", "values of film")
        assert table.X.sum() == sum(int(record[0]) for record in records)
    path = written(tmp_path / "n.csv", ("N", *header[1:]), records)
    again = read_with(path)
    assert again.X.sum() == table.X.sum()
    assert again.title == f"{path}, pairs of 'user' and 'film', counts of 'N'"
    path = tmp_path / "a.csv"
    table = read_with(path, "--row", "user", "--column", "count")
    assert table.kinds == ("values of user", "values of count")
    assert table.X.sum() == 105
    clothes = [("SML"[i % 3], *record[1:]) for i, record in enumerate(records)]
    table = read_with(written(tmp_path / "a.csv", ("size", *header[1:]), clothes), "--drop", "film")
    assert table.kinds == ("values of size", "values of user")
    path = written(tmp_path / "a.csv", header[:2], [record[:2] for record in records])
    assert "one column, 'user', but pairs need two besides counts" in error(path)


def test_a_table_of_many_numbers_is_a_matrix(error, tmp_path):
    counts = np.random.default_rng(0).poisson(3.0, (5, 12))
    counts[:, 0], counts[1, 2] = range(5), 0
    words = [f"w{j}" for j in range(12)]
    for first, names in (("doc", [f"d{i}" for i in range(5)]), ("id", list(range(5)))):
        lines = [[name, *line] for name, line in zip(names, counts.tolist(), strict=True)]
        lines[1][3] = ""
        table = read_with(written(tmp_path / "a.csv", [first, *words], lines))
        np.testing.assert_array_equal(table.X.toarray(), counts)
        assert (table.row_names, table.column_names) == (list(map(str, names)), words)
    path = written(tmp_path / "a.csv", words, counts.tolist())
    assert "give --names w0 if it names the rows, --matrix if it holds counts" in error(path)
    table = read_with(path, "--matrix")
    assert (table.X.shape, table.row_names[4]) == ((5, 12), "row 4")
    assert "counts sum to 5;" in error(path, "--row", "w0", "--column", "w1")
    few = written(tmp_path / "a.csv", words[:9], counts[:, :9].tolist())
    assert "'w0' occurs only once" in error(few)
    assert "if each column holds counts, give --matrix" in error(few)
    np.testing.assert_array_equal(read_with(few, "--matrix").X.toarray(), counts[:, :9])
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"w{j}" for j in range(100_000)) + f"\n{'1,' * 99_999}2" * 2)
    begin = time.process_time()
    assert read_with(path).X.shape == (2, 100_000)
    assert time.process_time() - begin < 60  # minutes if it were quadratic


def test_five_letters_are_five_words_and_empty_cells_are_zero(tmp_path):
    assert mean_words(["a b c d", "e f g h"]) == mean_words(3 * ["a b c d e"]) == 0
    assert mean_words(["a b c d e", " f g h i j\n"]) == 5
    names = [f"w{j}" for j in range(12)]
    path = tmp_path / "a.jsonl"
    path.write_text('{"' + '": 10.5, "'.join(names) + '": null}\n{"w0": 0, "w3": 2}\n')
    np.testing.assert_array_equal(
        read_with(path).X.toarray(), [[10.5] * 11 + [0], [0, 0, 0, 2, *[0] * 8]]
    )


def test_titles_and_repeated_long_names_are_no_texts_and_texts_may_be_long(tmp_path):
    titled = [(*a[:1], " ".join(a[1].split()[:2]) + f" of the {a[0]}", 3 * a[1]) for a in ARTICLES]
    path = written(tmp_path / "a.csv", ("id", "title", "text"), titled)
    assert read_with(path).title.endswith("texts of 'text'")
    names = [f"The long and winding name of a book, volume {k}" for k in range(5)]
    pairs = [(f"user {i % 40}", names[i % 5]) for i in range(400)]
    table = read_with(written(tmp_path / "a.csv", ("user", "book"), pairs))
    assert table.X.shape == (40, 5)
    assert table.kinds == ("values of user", "values of book")
    records = [(i, text * 1500) for i, text in enumerate(DOCUMENTS)]
    table = read_with(written(tmp_path / "a.csv", ("id", "text"), records))
    assert table.X.sum() > 400_000


def sections(report):
    return {block.split("\n")[0]: block for block in report.split("\n\n")}


def test_the_report_and_a_file_have_the_shares_by_group_and_time(run, tmp_path):
    desks = [(*a[:2], "home" if i % 3 else "sport", a[3]) for i, a in enumerate(ARTICLES)]
    path, folder = written(tmp_path / "a.csv", HEADER, desks), tmp_path / "out"
    arguments = ["--beta", ".8", "--output", folder, "--group", "category"]
    out = run(path, *arguments, "--time", "date")
    assert any(line.startswith("Shares by group: the 3 largest topics") for line in sections(out))
    assert "  home (documents: 20)" in sections(out)
    assert "  2024-02-05 (documents: 10)" in sections(out)
    header, *lines = csv.reader((folder / "shares_by_group.csv").open(newline=""))
    fields = ["group", "component", "topic", "n_rows", "share", "low", "high", "documents"]
    assert header == fields
    names = next(csv.reader((folder / "components.csv").open(newline="")))[1:]
    assert [line[0] for line in lines] == ["home"] * 3 + ["sport"] * 3
    assert [line[2] for line in lines] == 2 * names
    pipeline, of_home = joblib.load(folder / "model.joblib"), np.arange(30) % 3 > 0
    counts = pipeline[:-1].transform([a[1] for a in ARTICLES]).toarray()[of_home].sum(axis=0)
    found = np.array([line[4:] for line in lines], dtype=float)
    assert (found[:, 1] <= found[:, 0]).all()
    assert (found[:, 0] <= found[:, 2]).all()
    pooled = pooled_mixtures(counts[None], pipeline[-1].components_)[0]
    np.testing.assert_allclose(found[:3, 0], pooled, rtol=1e-4, atol=1e-6)
    largest = np.bincount(pipeline[-1].embedding_[of_home].argmax(axis=1), minlength=3)
    np.testing.assert_allclose(found[:3, 3], largest / 20, rtol=1e-5)
    times = (folder / "shares_by_time.csv").read_text().splitlines()
    assert [times[0][:4], *(line[:10] for line in times[1::3])] == [
        "time", "2024-01-05", "2024-02-05", "2024-03-05"
    ]  # fmt: skip
    run(path, *arguments, "--model", "symmetric")  # whose clusters are named after rows
    names = next(csv.reader((folder / "components.csv").open(newline="")))[1:]
    _, *lines = csv.reader((folder / "shares_by_group.csv").open(newline=""))
    assert [line[2] for line in lines[:3]] == names


def test_times_are_a_series_of_at_most_twelve_periods(run, tmp_path):
    stamps = pd.date_range("2022-06-01", periods=30, freq="28D")
    for name, form in (("a", "%Y-%m-%d"), ("b", "%m/%d/%Y"), ("c", "%a, %d %b %Y 10:00:00 +0200")):
        dates = stamps.strftime(form)
        records = [(*a[:3], date) for a, date in zip(ARTICLES, dates, strict=True)]
        path = written(tmp_path / f"{name}.csv", HEADER, records)
        out = run(path, "--beta", ".8", "--time", "date")
        labels = re.findall(r"^  (.+) \(documents: \d\)$", out, re.MULTILINE)
        assert labels == [
            "2022 Q2", "2022 Q3", "2022 Q4", "2023 Q1", "2023 Q2", "2023 Q3", "2023 Q4", "2024 Q1",
            "2024 Q2", "2024 Q3",
        ]  # fmt: skip
        assert "periods without documents are left out" in out
        assert "single row" not in out
    few = [(*a[:3], "" if i % 3 else "2024-05-31") for i, a in enumerate(ARTICLES)]
    out = run(written(tmp_path / "a.csv", HEADER, few), "--beta", ".8", "--time", "date")
    assert "documents without a time (--time date): 20" in out
    decades = [(*a[:3], 1700 + 11 * i) for i, a in enumerate(ARTICLES)]
    out = run(written(tmp_path / "a.csv", HEADER, decades), "--beta", ".8", "--time", "date")
    assert len(re.findall(r"^  \d{4} – \d{4} \(documents", out, re.MULTILINE)) == 7


def test_more_groups_than_half_of_the_documents_are_doubted(run, tmp_path):
    path = written(tmp_path / "a.csv", HEADER, ARTICLES)
    out = run(path, "--beta", ".8", "--group", "id", "--html", tmp_path / "a.html")
    assert " ".join(out.split()).count("groups: 30 rows are in 30 groups, such as '0'") == 1


def test_files_have_the_encoding_that_is_given_or_their_mark_tells(tmp_path):
    text = "\n".join(("Käse Größe Müll", "Straße größer Öl und Bär")[i % 2] for i in range(60))
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    expected = read_with(tmp_path / "a.txt").column_names
    assert "käse" in expected
    for encoding in ("cp1252", "latin-1", "utf-16-le", "utf-16", "utf-8-sig", "cp437"):
        (tmp_path / "b.txt").write_text(text, encoding=encoding)
        table = read_with(tmp_path / "b.txt", "--encoding", encoding)
        assert table.column_names == expected
    (tmp_path / "b.txt").write_text(text, encoding="utf-16")
    assert read_with(tmp_path / "b.txt").column_names == expected
    (tmp_path / "folder").mkdir()
    for i, line in enumerate(text.splitlines()):
        (tmp_path / "folder" / f"{i}.txt").write_text(line, encoding="cp1252")
    assert read_with(tmp_path / "folder", "--encoding", "cp1252").column_names == expected
    records = [(i, line, "a") for i, line in enumerate(text.splitlines())]
    csv_text = "id,text,day\n" + "\n".join(",".join(map(str, record)) for record in records)
    (tmp_path / "a.csv").write_text(csv_text, encoding="cp1252")
    table = read_with(tmp_path / "a.csv", "--text", "text", "--encoding", "cp1252")
    assert table.column_names == expected


def test_the_likely_encoding_is_told_by_its_script():
    for encoding, text in (
        ("euc_kr", "대한민국의 수도는 서울이며, 경제와 정치의 중심지"),
        ("gb18030", "今天天气很好，我们去公园玩。"),
        ("big5", "今天天氣很好，我們去公園玩。"),
        ("shift_jis", "今日は天気が良いので、公園に行きました。"),
        ("cp932", "①今日は天気が良いので、公園に行きました。"),
        ("euc_jp", "今日は天気が良いので、公園に行きました。"),
        ("cp1251", "Сегодня хорошая погода, и мы идём в парк."),
        ("koi8_r", "Сегодня хорошая погода и мы идём в парк"),
        ("cp1253", "Η Αθήνα είναι η πρωτεύουσα της Ελλάδας."),
        ("cp1252", "Müller’s Café à Paris, “schön”, naïve, 5 €, Österreich, Größe, été"),
        (None, "żółw łódź źdźbło"),
    ):
        assert likely_encoding(f"plain\n{text}\n".encode(encoding or "cp1250")) == encoding


def test_groups_that_are_numbers_are_in_their_order(run, tmp_path):
    words = [f"word{chr(97 + i)}" for i in range(9)]
    lines = [(" ".join(words[i % 3 : i % 3 + 6]), 12 - i % 12) for i in range(36)]
    path = written(tmp_path / "a.csv", ("text", "age"), lines)
    out = run(path, "--text", "text", "--group", "age", "--components", 2, "--max-df", 1.0)
    ages = re.findall(r"^  (\d+) \(documents: 3\)", out, re.MULTILINE)
    assert ages == [str(age) for age in range(1, 13)]


def test_rows_without_a_label_are_in_no_group_and_the_largest_are_printed(run, error, tmp_path):
    few = [(*a[:2], a[2] if i else " ", "") for i, a in enumerate(ARTICLES)]
    path = written(tmp_path / "a.csv", HEADER, few)
    out = run(path, "--beta", ".8", "--group", "category")
    assert "  home (documents: 14)" in out
    assert "(documents: 1)" not in out
    assert "no text with words has a value for --time" in error(path, "--time", "date")
    many = [(*a[:2], str(max(i, 10)), a[3]) for i, a in enumerate(ARTICLES)]
    path = written(tmp_path / "a.csv", HEADER, many)
    out = run(path, "--beta", ".8", "--group", "category")
    assert "  10 (documents: 11)\n" in out
    assert "  21 (documents: 1)\n" in out
    assert re.search(r"11 \(documents: 1\)\n    100\.0 %  100\.0 %  \w", out)
    assert "8 smaller groups are not shown; --output writes all groups" in out
    days = [(*a[:3], 30240501 + i % 3) for i, a in enumerate(ARTICLES)]
    out = run(written(tmp_path / "a.csv", HEADER, days), "--beta", ".8", "--time", "date")
    assert all(f"  3024050{day} (documents: 10)" in out for day in (1, 2, 3))


RARE = "words in fewer documents than --min-df 3 allows: 45"
FREQUENT = "words in more documents than --max-df 0.5 allows: 1 (common 100 % of the documents)"


def test_texts_without_a_group_are_counted_and_only_dropped_words_are_told(run, tmp_path):
    some = [(*a[:2], "" if i % 3 else a[2], a[3]) for i, a in enumerate(ARTICLES)]
    path = written(tmp_path / "a.csv", HEADER, some)
    out = run(path, "--beta", ".8", "--group", HEADER[2], "--stop-words", "none")
    assert f"documents without a group (--group {HEADER[2]}): 20" in out
    assert "stop words" not in out
    assert "words in fewer documents" not in out
    lists = [
        {"text": text, "desk": ["home", "sports"][: 1 + i % 2]} for i, text in enumerate(DOCUMENTS)
    ]
    pd.DataFrame(lists).to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    out = run(tmp_path / "a.jsonl", "--beta", ".8", "--text", "text", "--group", "desk")
    assert "documents with several groups, counted in the first (--group desk): 15" in out


def test_words_left_out_are_counted_and_pages_have_headings(run, texts, monkeypatch, tmp_path):
    texts.write_text(
        "\n".join(f"common {text} rare{i} pair{i // 2}" for i, text in enumerate(DOCUMENTS))
    )
    arguments = texts, "--beta", ".8", "--min-df", "3"
    for limit, expected in (
        ((), [RARE]), (("--max-df", "0.5"), [FREQUENT, RARE]), (("--max-df", "1.0"), [RARE])
    ):  # fmt: skip
        out = run(*arguments, *limit)
        header, *told = out.split("words dropped, ")[1].split("\n\n")[0].splitlines()
        assert header == "in addition to English stop words:"
        assert [line.strip() for line in told] == expected
    monkeypatch.setattr(import_module("skcooc.cli.report"), "N_DROPPED", 2)
    few = run(*arguments, "--max-df", "9")
    frequent = re.search(r"--max-df 9 allows: 10 \((.*?)\)", " ".join(few.split()))[1]
    assert re.fullmatch(r"common 100 % of the documents, \w+ 33 %, \.\.\.", frequent)
    page = tmp_path / "topics.html"
    run(texts, "--beta", ".8", "--html", page)
    assert "<title>documents.txt</title>" in page.read_text(encoding="utf-8")
    run(texts, "--beta", ".8", "--html", page, "--title", "A & B")
    assert "<title>A &amp; B</title>" in page.read_text(encoding="utf-8")
