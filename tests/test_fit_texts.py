"""Topics of texts in one call."""

import json

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.decomposition import LatentDirichletAllocation

from skcooc import AspectModel, ClusterAbstraction, fit_texts
from skcooc.cli import main
from skcooc.inspection import set_names, topic_shares
from skcooc.reports.counting import count_texts
from skcooc.reports.sizes import find_size, merge_copies
from tests.cli.odd import DOCUMENTS, TOPICS
from tests.inspection.pages import read_payload
from tests.tables import refused

FAST = {"n_components": 3, "beta": 0.8, "random_state": 0}
FRAME = pd.DataFrame(
    {
        "body": [*DOCUMENTS, None, "42"],
        "desk": [*(["home", "home", "sport"] * 10), "home", None],
        "date": pd.to_datetime([f"2024-0{1 + i % 3}-05" for i in range(31)] + [None]),
    },
    index=[f"d{i}" for i in range(32)],
)


def planted_texts(n_topics, n_texts=400, seed=1):
    """Texts of one or two of some topics, each of sixty words, and words that all have."""
    rng = np.random.default_rng(seed)
    letters = [chr(97 + j) + chr(97 + i) for i in range(12) for j in range(5)]
    common = [f"common{word}" for word in letters]
    texts = []
    labels = []
    for i in range(n_texts):
        k = i % n_topics
        other = rng.integers(n_topics)
        words = [f"topic{chr(97 + (k if rng.random() < 0.8 else other))}" for _ in range(30)]
        words = [f"{word}{letters[rng.integers(60)]}" for word in words]
        texts.append(" ".join([*words, *rng.choice(common, 30)]))
        labels.append(k)
    return texts, labels


@pytest.fixture(scope="module")
def report():
    return fit_texts(FRAME, text="body", group="desk", time="date", **FAST)


def test_one_call_has_all_that_the_command_line_has(report, tmp_path):
    assert report.model is report.pipeline[-1]
    assert sorted(map(sorted, report.topics["features"])) == sorted(
        sorted(t.split()) for t in TOPICS
    )
    assert report.topics["share"].sum() == pytest.approx(1)
    assert report.shares_by_group.columns[0] == "group"
    assert report.shares_by_group["n_rows"].tolist() == 3 * [20] + 3 * [10]
    assert report.shares_by_time["time"].dt.month.tolist() == 3 * [1] + 3 * [2] + 3 * [3]
    page = report.explore(tmp_path / "topics.html", title="News")
    assert "<title>News</title>" in (tmp_path / "topics.html").read_text(encoding="utf-8")
    assert len(page.shown["topics"]) == 3
    again = joblib.load(joblib.dump(report.pipeline, tmp_path / "model.joblib")[0])
    np.testing.assert_array_equal(
        again.transform(DOCUMENTS[:3]), report.pipeline.transform(DOCUMENTS[:3])
    )
    joblib.dump(report, tmp_path / "report.joblib")
    assert joblib.load(tmp_path / "report.joblib").names == report.names
    assert repr(report) == "TopicReport(3 topics; X: 32 x 15)"


def test_page_and_tables_have_the_same_shares(report):
    shown = report.explore().shown
    order = report.topics["component"].tolist()
    weights = [shown["topics"][k]["weight"] for k in order]
    np.testing.assert_allclose(weights, report.topics["share"], rtol=1e-3)
    for kind, table in (("groups", report.shares_by_group), ("times", report.shares_by_time)):
        for name in ("share", "documents"):
            shares = np.array(shown[kind][name])[:, order]
            np.testing.assert_allclose(shares.ravel(), table[name], rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("library", [pd, pl])
def test_topics_are_in_the_order_of_their_shares_everywhere(library):
    sizes = np.repeat([2, 0, 3, 1], [10, 40, 90, 60])
    texts = np.array(planted_texts(4, n_texts=800)[0])
    listed = [texts[np.arange(800) % 4 == k][i] for i, k in enumerate(sizes)]
    frame = library.DataFrame({"text": listed, "desk": ["a", "b"] * 100})
    report = fit_texts(frame, "text", group="desk", n_components=4, random_state=0)
    assert (np.diff(report.topics["share"]) <= 0).all()
    assert report.model.component_distribution_.argsort().tolist() != [3, 2, 1, 0]
    names = report.topics["name"].to_list()
    assert names == [report.names[k] for k in report.topics["component"]]
    for column in ("component", "topic"):
        expected = report.topics["component" if column == "component" else "name"].to_list()
        assert report.shares_by_group[column].to_list() == 2 * expected
    by_half = report.shares_by(["x", "y"] * 100)
    assert by_half["share"].to_list() == report.shares_by_group["share"].to_list()
    if library is pd:
        assert report.topics.index.tolist() == [0, 1, 2, 3]


def test_names_that_are_set_later_are_those_of_all_tables():
    report = fit_texts(FRAME, "body", group="desk", time="date", **FAST)
    tables = {
        "topics": lambda: report.topics["name"],
        "group": lambda: report.shares_by_group["topic"],
        "time": lambda: report.shares_by_time["topic"],
        "by": lambda: report.shares_by(FRAME["desk"])["topic"],
        "label": lambda: report.label()["topic"].dropna(),
        "new": lambda: report.label(DOCUMENTS)["topic"],
        "words": lambda: report.words(0)["topic"].dropna(),
    }
    for names in (["a", "b", "c"], ["x", "y", "z"]):
        set_names(report.pipeline, names)
        assert report.names == names
        for key, table in tables.items():
            assert set(table()) <= set(names), key


def test_short_texts_do_not_lose_their_topics():
    rng = np.random.default_rng(0)
    lines = [
        " ".join(f"w{'abcdefgh'[k]}{chr(97 + j % 26)}" for j in rng.zipf(1.3, 4) % 60)
        for k in rng.integers(8, size=600)
    ]
    assert fit_texts(lines, random_state=0).model.leave_one_out_
    assert not fit_texts(
        [5 * f"{line} " for line in lines], n_components=4, max_iter=5, random_state=0
    ).model.leave_one_out_


def test_a_column_of_topics_is_missing_where_no_word_is_known(report):
    joined = FRAME.join(report.label())
    assert joined["topic"].isna().tolist() == [*(30 * [False]), True, True]
    assert joined["share"].isna().tolist() == joined["topic"].isna().tolist()
    assert joined["topic"][:30:3].nunique() == 1
    new = report.label(pd.Series(["cat dog cow", "42", None], index=[7, 8, 9]))
    assert new.index.tolist() == [7, 8, 9]
    assert new["topic"].isna().tolist() == [False, True, True]
    assert report.label(["42"])["topic"].isna().tolist() == [True]
    assert report.label([]).columns.tolist() == ["topic", "share"]
    assert report.label([]).empty


def test_missing_texts_are_empty_for_the_pipeline_as_for_the_report(report):
    given = report.pipeline.transform(["cat dog cow", "", ""])
    missing = report.pipeline.transform(["cat dog cow", None, np.nan])
    np.testing.assert_array_equal(given, missing)
    shares = topic_shares(report.pipeline, FRAME["desk"], X=FRAME["body"])
    line = ["group", "component"]
    pd.testing.assert_frame_equal(
        shares.sort_values(line, ignore_index=True),
        report.shares_by_group.sort_values(line, ignore_index=True),
    )


def test_a_word_has_a_topic_in_its_text(report):
    words = report.words("The cat and the DOG, of 1990")
    assert words["word"].tolist() == ["cat", "DOG"]
    assert words["topic"].nunique() == 1
    assert len(report.words("42")) == 0
    assert report.words(0)["word"].tolist() == DOCUMENTS[0].split()
    assert set(report.words(0)["topic"]) == {report.label()["topic"].iloc[0]}


def test_sections_are_summed_to_texts(report):
    books = [f"book {i % 3}" for i in range(32)]
    table = report.shares_by(books)
    expected = topic_shares(report.model, books, X=report.X)
    expected = expected.set_index(["group", "component"]).loc[
        list(zip(table["group"], table["component"], strict=True))
    ]
    np.testing.assert_allclose(table["share"], expected["share"])
    assert table.groupby("group")["share"].max().min() > 0.9


def test_frames_are_of_the_library_of_the_texts():
    frame = pl.DataFrame({"body": [*DOCUMENTS, None], "desk": [*(["a", "b"] * 15), None]})
    report = fit_texts(frame, "body", group="desk", names="body", **FAST)
    for table in (report.topics, report.shares_by_group, report.dropped, report.label()):
        assert isinstance(table, pl.DataFrame)
    assert report.label()["topic"].null_count() == 1
    assert report.label()["share"].null_count() == 1
    assert frame.with_columns(report.label()).shape == (31, 4)
    listed = fit_texts(frame["body"].to_list(), group=frame["desk"], **FAST)
    np.testing.assert_array_equal(listed.shares, report.shares)


def test_the_same_bits_again_and_with_threads():
    texts, labels = planted_texts(4)
    first, again = (fit_texts(texts, group=labels, random_state=3, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(first.model.components_, again.model.components_)
    np.testing.assert_array_equal(first.by_group.share, again.by_group.share)


@pytest.mark.parametrize("n_topics", [4, 6])
def test_as_many_topics_as_there_are_and_common_words_are_told(n_topics):
    texts, labels = planted_texts(n_topics)
    report = fit_texts(texts, group=labels, random_state=0)
    assert len(report.names) == n_topics
    assert report.n_fitted in (4, 8, 16)
    assert report.by_group.share.max(axis=1).min() > 0.7
    common = report.dropped[report.dropped["reason"] == "common"]
    assert len(common) > 50
    assert common["word"].str.startswith("common").all()


def test_a_number_that_is_asked_for_is_fitted():
    texts, _ = planted_texts(4)
    with pytest.warns(UserWarning, match="Nearly equal topics: .* Fit fewer topics: n_comp"):
        report = fit_texts(texts, n_components=12, random_state=0)
    assert len(report.names) == report.n_fitted == 12
    assert report.equal_topics
    assert len(merge_copies(report.model).components_) < 12


def test_the_number_is_not_more_than_a_tenth_of_the_texts():
    report = fit_texts(planted_texts(4, n_texts=60)[0], random_state=0)
    assert report.n_fitted in (4, 6)
    assert find_size(report.X[:30], random_state=0) == 3


@pytest.mark.filterwarnings("ignore:All 3 components")
def test_words_that_are_not_counted_have_a_reason():
    texts = [f"common {text} x rare{'abc'[i % 3]}" for i, text in enumerate(DOCUMENTS)]
    dropped = fit_texts(texts, max_df=0.5, min_df=9, stop_words=["cat"], **FAST).dropped
    words = dropped.set_index("word")
    assert words.loc["common"].tolist() == ["frequent", 1.0]
    assert words.loc["x", "reason"] == "short"
    assert "cat" not in words.index
    rare = fit_texts(texts, max_df=1.0, min_df=11, token_pattern=r"\w+", **FAST)
    assert "x" in rare.column_names
    assert not any("rows are pairs" in note for note in rare.notes)  # of two words
    assert set(rare.dropped["word"]) >= {"rarea", "rareb", "rarec"}


def test_another_model_batches_and_seeds():
    report = fit_texts(DOCUMENTS, model=ClusterAbstraction(3, random_state=0))
    assert report.topics["share"].sum() == pytest.approx(1)
    leaves = np.array(report.names, dtype=object)[report.model.tree_.leaves]
    assert report.label()["topic"].tolist() == leaves[report.model.labels_].tolist()
    assert report.label(DOCUMENTS[:9])["topic"].tolist() == report.label()["topic"][:9].tolist()
    assert report.label()["share"].min() > 1 / 3
    sources = ["a", "b"] * 15
    texts = [text + " press agency" * (i % 2) for i, text in enumerate(DOCUMENTS)]
    report = fit_texts(texts, batch=sources, seeds={"animals": ["cat"]}, **FAST)
    assert report.names[0] == "animals"
    assert report.model.groups_.tolist() == ["a", "b"]


def test_bad_input_is_refused_before_any_work(monkeypatch):
    monkeypatch.setattr("skcooc.reports.texts.count_texts", None)  # it is not called
    lists = {"body": DOCUMENTS, "desk": ["a"] * 30}
    frame = pd.DataFrame(lists)
    for arguments, expected in (
        (((frame,), {}), "name its column of texts, such as text='body'"),
        (((frame, "text"), {}), "There is no column 'text' for texts. Its columns are 'body', 'de"),
        (((frame, "body"), {"group": "desks"}), "no column 'desks' for group"),
        (((DOCUMENTS, "body"), {}), "texts is not a data frame, got list"),
        (((DOCUMENTS,), {"group": "desk"}), "group='desk' names a column"),
        (((DOCUMENTS,), {"group": ["a"]}), "group has 1 values, but there are 30 texts"),
        (((DOCUMENTS[:1],), {}), "There are 1 texts"),
        (((DOCUMENTS,), {"group": 30 * [None]}), "group has no label"),
        (
            ((DOCUMENTS,), {"model": AspectModel(3), "n_components": 3}),
            "model cannot be combined with",
        ),
        ((([b"a", b"b"],), {}), "decode it"),
        (((DOCUMENTS,), {"time": ["yesterday"] * 30}), "'yesterday' .row 0. is not a date"),
        (((DOCUMENTS,), {"min_df": -1}), "min_df"),
        (((DOCUMENTS,), {"token_pattern": "("}), "is not a valid regular expression: missing"),
        (((DOCUMENTS,), {"n_components": 0}), "n_components"),
    ):
        positional, named = arguments
        refused(expected, fit_texts, *positional, **named)
    for arguments, expected in (
        (("one text", {}), "texts is one string"),
        ((DOCUMENTS, {"model": LatentDirichletAllocation(3)}), "should be a model of skcooc"),
        ((pl.DataFrame(lists).lazy(), {"text": "body"}), "texts.collect()"),
    ):
        refused(expected, fit_texts, arguments[0], error=TypeError, **arguments[1])
    lists = pd.DataFrame({"text": DOCUMENTS, "cat": [["a"], ["b", "a"]] * (len(DOCUMENTS) // 2)})
    for column in (lists["cat"], pl.from_pandas(lists)["cat"]):
        message = "group has several labels for a row, such as .* the first"
        refused(message, fit_texts, DOCUMENTS, group=column, error=TypeError)


def test_doubts_are_notes_and_warnings_once():
    with pytest.warns(UserWarning, match="30 rows are in 30 groups") as caught:
        report = fit_texts(DOCUMENTS, group=[f"label {i}" for i in range(30)], **FAST)
    assert [str(w.message) for w in caught] == report.notes
    assert len([note for note in report.notes if "30 rows are in 30 groups" in note]) == 1


def test_texts_without_words_are_refused():
    refused("No words are left", fit_texts, ["the of", "and"])


def test_terminal_page_files_and_python_have_the_same_shares(tmp_path, capsys):
    texts, labels = planted_texts(4, n_texts=200)
    lines = [{"text": t, "desk": f"desk {k // 2}"} for t, k in zip(texts, labels, strict=True)]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    page = tmp_path / "page.html"
    options = [
        "--text",
        "text",
        "--group",
        "desk",
        "-k",
        "12",
        "--html",
        page,
        "-o",
        tmp_path / "o",
    ]
    assert main([str(path), *map(str, options)]) == 0
    printed = capsys.readouterr().out
    report = fit_texts(pd.DataFrame(lines), "text", group="desk", n_components=12, random_state=0)
    shown = read_payload(page.read_text(encoding="utf-8"))
    order = report.topics["component"].tolist()
    weights = [shown["topics"][k]["weight"] for k in order]
    np.testing.assert_allclose(weights, report.topics["share"], rtol=1e-3)
    rows = printed.split("characteristic words\n\n")[1].split("\n\n")[0].splitlines()
    shares = report.topics["share"]
    assert [line.split()[0] for line in rows] == [f"{100 * share:.1f}" for share in shares]
    assert "Nearly equal topics: " in printed
    assert "--components" in printed.split("Nearly equal topics: ")[1].split("\n\n")[0]
    assert "merge_topics" not in printed
    written = pd.read_csv(tmp_path / "o" / "shares_by_group.csv")
    np.testing.assert_allclose(written["share"], report.shares_by_group["share"], rtol=1e-4)
    assert written["topic"].tolist() == report.shares_by_group["topic"].tolist()
    on_page = np.array(shown["groups"]["share"])[:, order].ravel()
    np.testing.assert_allclose(on_page, report.shares_by_group["share"], rtol=1e-3, atol=1e-6)


def test_the_report_says_how_many_topics_were_fitted(tmp_path, capsys):
    path = tmp_path / "a.txt"
    path.write_text("\n".join(planted_texts(6)[0]))
    assert main([str(path)]) == 0
    printed = capsys.readouterr().out
    report = fit_texts(planted_texts(6)[0], random_state=0)
    assert (report.n_fitted, len(report.names)) == (8, 6)
    merged = "8 topics were fitted, and 2 that were nearly equal to others were merged with them."
    assert merged in printed
    assert (
        "common words that say little about a topic: 60 (the most doubtful first: common"
    ) in " ".join(printed.split())


def test_the_largest_number_that_is_tried_is_a_note(monkeypatch):
    for module in "sizes", "report":
        monkeypatch.setattr(f"skcooc.reports.{module}.LADDER", (4, 8))
    with pytest.warns(UserWarning, match="8 topics, the largest number .* n_components=16"):
        report = fit_texts(planted_texts(8)[0], random_state=0)
    assert len(report.names) == 8
    assert not fit_texts(planted_texts(6)[0], random_state=0).notes  # two are merged
    assert not fit_texts(planted_texts(8)[0], n_components=8, random_state=0).notes


def test_many_copies_are_a_note():
    texts = planted_texts(4)[0]
    with pytest.warns(UserWarning, match=r"100 of 500 texts \(20%\) are copies of others"):
        report = fit_texts([*texts, *[f" {texts[0]}\n"] * 100, "", ""], n_components=4, max_iter=5)
    assert "occurs 101 times" in next(note for note in report.notes if "copies" in note)
    few = fit_texts([*texts, *texts[:20]], n_components=4, max_iter=5)
    assert not any("copies" in note for note in few.notes)


def test_a_footer_of_many_texts_is_a_note():
    footer = "etc. Printed by permission of the\nTown Press, all rights reserved."
    chapters = planted_texts(4)[0]

    def notes(*with_footer):
        texts = [f"{t} {footer}" if i in with_footer else t for i, t in enumerate(chapters)]
        return [note for note in count_texts(texts).notes if "contain" in note]

    (note,) = notes(*range(300))
    assert note.startswith("75% of the texts contain 'Printed by permission of the Town Press")
    assert not notes(*range(12))  # 3 %
    copies = [f"{chapters[0]} {footer}"] * 50 + chapters
    assert not any("contain" in note for note in count_texts(copies).notes)


def test_a_single_topic_that_is_left_is_doubted(tmp_path, capsys):
    texts = [text for text in planted_texts(4)[0] for _ in range(2)]
    path = tmp_path / "a.csv"
    pd.DataFrame({"text": texts, "desk": ["a", "b"] * len(texts[::2])}).to_csv(path, index=False)
    assert main([str(path), "--beta", "0.05", "--group", "desk", "--max-df", "1.0"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "All 4 topics that were fitted are nearly equal. They were merged into one" in printed
    assert "try 0.8 (--beta 0.8). Held-out tokens are then predicted worse" in printed
    assert "Shares by group" not in printed
    assert "Nearest documents" not in printed


def test_no_smaller_beta_is_advised_as_a_larger_one(tmp_path, capsys):
    path = tmp_path / "a.txt"
    path.write_text("apples bread cheese dates eggs figs\n" * 60)
    assert main([str(path), "--beta", "0.9", "--max-df", "1.0"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "They were merged into one" in printed
    assert "A larger beta" not in printed


def test_texts_whose_words_are_all_dropped_are_a_note():
    texts = [*planted_texts(4)[0], *["kyōto ōsaka", "nara"] * 10, "", ""]
    with pytest.warns(UserWarning, match="20 of 422 texts have no word that is counted"):
        report = fit_texts(texts, n_components=4, max_iter=5, stop_words=["kyōto", "ōsaka", "nara"])
    assert report.label()["topic"][-22:].isna().all()
    assert not any("empty" in note for note in report.notes)
    (note,) = count_texts([*planted_texts(4)[0], *[" ", ""] * 4]).notes
    assert note.startswith("8 of 408 texts are empty or missing")
    few = [*planted_texts(4)[0], "nara", ""]
    assert not fit_texts(few, n_components=4, max_iter=50, stop_words=["nara"]).notes


def test_many_years_are_in_intervals_that_are_named():
    years = np.arange(2007, 2020).repeat(31)[:400]
    texts = planted_texts(4)[0]
    times = fit_texts(texts, time=years, n_components=4, max_iter=50, random_state=0).shares_by_time
    assert times["time"].unique().tolist()[:2] == ["2006 – 2007", "2008 – 2009"]
    few = fit_texts(texts, time=years // 2, n_components=4, max_iter=50, random_state=0)
    assert few.shares_by_time["time"].unique().tolist() == list(range(1003, 1010))
