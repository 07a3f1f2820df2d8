import os
import re
import sys
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skcooc import AspectModel, AveragedModels, Dyads, GuidedAspectModel, Triads
from skcooc.inspection import compare_shares, explore
from skcooc.inspection.explorer import sections
from skcooc.inspection.shares import pooled_mixtures
from tests.inspection import pages
from tests.inspection.pages import EVIL, WORDS, close, stand_in, table, texts_of, two_sided
from tests.tables import refused

X = table()
GROUPS = np.array(["a", "b", "c"])[np.arange(len(X)) % 3]


@pytest.fixture(scope="module")
def model():
    return stand_in(X)


@pytest.fixture(scope="module")
def page(model):
    by = {"groups": GROUPS, "times": np.arange(len(X)) % 2}
    return explore(model, X, texts=texts_of(X), feature_names=WORDS, **by)


def test_topics_and_rows_against_loops(model, page):
    n, q, theta = X.sum(), model.components_, model.embedding_
    weights = [sum(X[i].sum() / n * theta[i, k] for i in range(len(X))) for k in range(3)]
    unigram = [sum(weights[k] * q[k, j] for k in range(3)) for j in range(len(WORDS))]
    pooled = pooled_mixtures(X.sum(axis=0, keepdims=True), q)[0]
    shown = page.shown
    assert shown["facts"]["fitted"]
    for k, topic in enumerate(shown["topics"]):
        assert topic["weight"] == close(pooled[k])
        assert topic["documents"] == close(sum(row.argmax() == k for row in theta) / len(X))
        for number, p, rest in topic["features"]:
            name, share, posterior = shown["features"][number]
            j = WORDS.index(name)
            others = [l for l in range(3) if l != k]
            mixed = sum(weights[l] * q[l, j] for l in others) / sum(weights[l] for l in others)
            assert [p, share, rest] == close([q[k, j], unigram[j], max(mixed, 0.5 / n)])
            for z, value in posterior:
                assert value == pytest.approx(weights[z] * q[z, j] / unigram[j], rel=0.06)
    rows = shown["documents"]
    assert len(rows) == len(X)
    for i, row in enumerate(rows):
        p = 0.9 * model.embedding_[i] @ model.components_ + 0.1 * model.unigram_
        assert row["perplexity"] == close(np.exp(-np.sum(X[i] * np.log(p)) / X[i].sum()))
        assert "".join(row["parts"]) == texts_of(X)[i]
        for word, z in zip(row["parts"][1::2], row["topics"], strict=True):
            if word in WORDS:
                assert z == np.argmax(model.embedding_[i] * model.components_[:, WORDS.index(word)])
        for k, share in row["mixture"]:
            assert share == close(model.embedding_[i, k])
    assert {word for row in rows for word in row["parts"][1::2]} == set(WORDS) - {EVIL}


def test_features_of_a_topic_are_the_first_at_every_place_of_the_slider():
    counts = sp.csr_array(np.random.default_rng(3).poisson(0.3, (60, 200)))
    model = stand_in(counts.toarray(), 2)
    shown = explore(model, counts).shown
    weights = model.row_distribution_ @ model.embedding_
    unigram, n = weights @ model.components_, counts.sum()
    for k, topic in enumerate(shown["topics"]):
        listed = {shown["features"][number][0] for number, _, _ in topic["features"]}
        p = model.components_[k]
        for t in np.arange(11) / 10:
            score = t * np.log(p / unigram) + (1 - t) * np.log(p)
            score[(p < 1e-9) | ((t > 0) & (n * weights[k] * p < 3))] = -np.inf
            first = [j for j in np.argsort(-score)[:20] if score[j] > -np.inf]
            assert {f"x{j}" for j in first} <= listed


def test_shares_of_groups_rows_without_a_label_and_groups_of_one_row(model, page):
    found = page.shown["groups"]
    assert found["labels"] == ["a", "b", "c"]
    for g, label in enumerate(found["labels"]):
        rows = [i for i in range(len(X)) if GROUPS[i] == label]
        assert found["sizes"][g] == len(rows)
        pooled = pooled_mixtures(X[rows].sum(axis=0, keepdims=True), model.components_)[0]
        assert found["share"][g] == close(pooled.tolist())
        largest = model.embedding_[rows].argmax(axis=1).tolist()
        assert found["documents"][g] == close([largest.count(k) / len(rows) for k in range(3)])
        for low, share, high in zip(
            *(found[name][g] for name in ("low", "share", "high")), strict=True
        ):
            assert 0 <= low <= share <= high <= 1
            assert high - low < 0.5
    differences = compare_shares(model, GROUPS, X=X, n_permutations=1, random_state=0)
    certain = differences[np.abs(differences["low"]) > 0.02]
    assert len(certain) > 3
    for group, k, low in certain[["group", "component", "low"]].values:
        assert found["above"][found["labels"].index(group)][k] == (low > 0)
    assert [GROUPS[i] for i in range(len(X))] == [found["labels"][g] for g in found["of"]]
    groups = np.array(["many"] * len(X), dtype=object)
    groups[:2] = "one", None
    found = explore(model, X, feature_names=WORDS, groups=groups).shown["groups"]
    assert (found["labels"], found["sizes"]) == (["many", "one"], [len(X) - 2, 1])
    assert found["above"] == [[0] * 3] * 2  # no interval
    assert found["low"][1] == found["high"][1] == [None] * 3
    for given in ({"desk": groups}, pd.DataFrame({"desk": groups})):
        assert explore(model, X, groups=given).shown["groups"] == {**found, "name": "desk"}


@pytest.mark.filterwarnings("error")
def test_times_are_dates_or_numbers():
    everything = np.ones(100)
    members, labels, _, _, at, _ = sections.groups_by_time(np.arange(100.0) / 7, everything)
    assert len(members) == 8
    assert sorted(np.concatenate(members)) == list(range(100))
    for label, middle in zip(labels, at, strict=True):
        low, high = map(float, label.split(" – "))
        assert low < middle < high
    labels = sections.groups_by_time(1e10 + np.arange(100), everything).labels
    assert (labels[0], len(set(labels))) == ("10000000000 – 10000000009", 10)
    dates = np.array(["2001-02-03", "NaT", "2001-02-04"], dtype="datetime64[D]")
    members, labels, *_ = sections.groups_by_time(dates, everything[:3])
    assert labels == ["2001-02-03", "2001-02-04"]
    assert [rows.tolist() for rows in members] == [[0], [2]]
    months = ["2024-02", None, "2024-01"]
    for given in (months, pd.PeriodIndex(months, freq="M")):
        assert sections.groups_by_time(given, everything[:3]).labels == ["2024-01", "2024-02"]
    with pytest.raises(ValueError, match=r"times: 'soon' \(row 0\) is not a date like '2024-01'"):
        sections.groups_by_time(np.array(["soon", "2024-01"]), everything[:2])


def test_nothing_that_is_given_is_markup_and_no_address_is_in_the_page(model, page):
    groups = np.where(GROUPS == "a", f"{EVIL}&amp;\u2028", "b")
    rows = [f"{EVIL} {i} </textarea>\ud800" for i in range(len(X))]
    evil = explore(
        model, X, texts=[EVIL] * len(X), feature_names=WORDS, row_names=rows, groups=groups,
        names=[EVIL, "<b>", "]]>"], title=EVIL, image=f"https://{EVIL}",
    )  # fmt: skip
    assert evil.html.count("</script>") == 2
    assert not any(text in evil.html for text in (EVIL, "<b>", "\u2028"))
    shown = pages.read_payload(evil.html)
    assert [topic["name"] for topic in shown["topics"]] == [EVIL, "<b>", "]]>"]
    assert shown["title"] == EVIL
    told = {"title": EVIL, "description": f"3 topics: <b>; {EVIL}; ]]>", "image": f"https://{EVIL}"}
    for name, content in told.items():
        given = re.search(f'<meta property="og:{name}" content="(.*?)">', evil.html)[1]
        assert unescape(given) == content
    frame = evil._repr_html_()
    assert frame.count("<") == 2
    assert unescape(re.search(r'srcdoc="(.*?)"', frame, re.S)[1]) == evil.html
    address = r"https?:|//[\w.]+\.\w+/|@import|url\(|\bfetch\b|innerHTML|eval\("
    assert not re.search(address, page.html.replace("http://www.w3.org/2000/svg", ""))
    assert "default-src 'none'" in page.html


def test_only_texts_that_are_shown_are_cut_and_the_page_says_where(model, monkeypatch):
    monkeypatch.setattr(sections, "PER_TOPIC", 1)
    monkeypatch.setattr(sections, "EXTREME", 1)
    names = [str(i) for i in range(len(X))]
    few = explore(model, X, texts=["tea"] * len(X), row_names=names, max_bytes=1).shown
    shown = {document["name"] for document in few["documents"]}
    assert 0 < len(shown) < len(X)
    monkeypatch.setattr(sections, "select_documents", lambda *_: np.array(sorted(map(int, shown))))
    for are_shown in (False, True):
        texts = ["tea " * 2000 if (name in shown) == are_shown else "tea" for name in names]
        page = explore(model, X, texts=texts, row_names=names).shown
        cut = page["facts"]["cut"]
        assert (cut is not None) == are_shown
        longest = max(len("".join(document["parts"])) for document in page["documents"])
        assert longest <= (cut + 2 if are_shown else 3)


def test_seeds_and_groups_of_a_model(model):
    counts = {"seed_features": {"drinks": ["tea", 1], "games": None}, "n_components_per_class": 1}
    guided = stand_in(X, groups_=np.array(["u", "v"]), row_groups_=np.arange(len(X)) % 2, **counts)
    page = explore(guided, X, feature_names=WORDS).shown
    assert [topic.get("seeds") for topic in page["topics"]] == [["tea", "cup"], [], None]
    given = explore(model, X, feature_names=WORDS, groups=np.array(["u", "v"] * 12)).shown
    assert page["groups"] == given["groups"]
    guided.n_components_per_class = 2
    two_each = [topic.get("seeds") for topic in explore(guided, X, WORDS).shown["topics"]]
    assert two_each == [["tea", "cup"], ["tea", "cup"], []]
    assert explore(guided, X[:12], WORDS).shown["groups"] is None
    batches = GuidedAspectModel(2, group_effects="columns", random_state=0).fit(X, groups=GROUPS)
    rows = explore(batches, X, WORDS).shown["documents"]
    with pytest.warns(UserWarning, match="training table"):
        nats = X.sum() * np.log(batches.perplexity(Dyads(X)))  # factors of columns included
    assert sum(row["size"] * np.log(row["perplexity"]) for row in rows) == close(nats)


def test_rows_are_kept_up_to_max_bytes_and_a_small_page_says_what_it_lacks(model):
    rows = np.vstack([X + i // 50 for i in range(0, 1000, len(X))])
    embedding = np.random.default_rng(0).dirichlet(np.ones(3), size=len(rows))
    many = stand_in(X)
    many.embedding_, many.row_distribution_ = embedding, rows.sum(axis=1) / rows.sum()
    del many.transform
    texts = ["tea ball " * 50] * len(rows)
    found, n = {}, len(rows)
    least = len(explore(many, rows, texts=texts, max_bytes=1).html.encode())
    for size in (1_000_000, 500_000, 200_000, least + 2000, 1):
        page = explore(many, rows, texts=texts, max_bytes=size)
        facts = page.shown["facts"]
        found[size] = len(page.shown["documents"]), facts["cut"], facts["too_large"]
        assert (len(page.html.encode()) > size) == facts["too_large"]
        if least + 2000 < size and facts["cut"]:
            assert len(page.html.encode()) > 0.98 * size
    whole, cut, sampled, small, smallest = found.values()
    assert whole == (n, None, False)
    assert cut[0] == n > sampled[0] > small[0] == smallest[0]
    assert all(60 <= limit < 450 for _, limit, _ in (cut, sampled))
    assert 0 < small[1] < 60
    assert smallest[1:] == (0, True)
    for wrong in (0, -5, 2.5, "small"):
        refused(
            "'max_bytes' parameter of explore must be an int in", explore, model, X, max_bytes=wrong
        )


def test_texts_that_are_missing_numbers_or_hold_half_a_surrogate(model, tmp_path):
    texts = ["tea \ud800 cup", None, np.nan, pd.NA, 1984, 2.5, *texts_of(X)[6:]]
    page = explore(model, X, texts=texts, feature_names=WORDS)
    page.save(tmp_path / "topics.html")
    shown = pages.read_payload((tmp_path / "topics.html").read_text(encoding="utf-8"))
    found = ["".join(document["parts"]) for document in shown["documents"]]
    assert found[:7] == [r"tea \ud800 cup", "", "", "", "1984", "2.5", texts[6]]
    assert [document["name"] for document in shown["documents"]][1:5] == [
        "row 1",
        "row 2",
        "row 3",
        "1984",
    ]
    for wrong, message in (
        (b"tea", r"texts\[2\] is bytes: decode it"),
        (["tea"], r"texts\[2\] is list\."),
    ):
        refused(message, explore, model, X, texts=["a", "b", wrong, *texts[3:]])


def test_a_page_that_cannot_be_saved_leaves_the_old_one_alone(page, tmp_path, monkeypatch):
    path = tmp_path / "topics.html"
    path.write_text("old")

    def full(*_):
        raise OSError("no space left")

    for owner, name in ((os, "replace"), (Path, "write_bytes")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, full)
            with pytest.raises(OSError, match="no space left"):
                page.save(path)
        assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [
            (path.name, "old")
        ]
    page.save(path)
    assert [file.read_text(encoding="utf-8") for file in tmp_path.iterdir()] == [page.html]
    refused(
        "There is no folder", page.save, tmp_path / "no" / "topics.html", error=FileNotFoundError
    )


@pytest.mark.filterwarnings("error")
def test_topics_and_rows_without_mass():
    collapsed = stand_in(X)
    collapsed.components_[1], collapsed.embedding_[:, 1], collapsed.embedding_[3] = 0, 0, 0
    shown = explore(collapsed, X, texts=texts_of(X), groups=GROUPS).shown
    assert [topic["weight"] > 0 for topic in shown["topics"]] == [True, False, True]
    assert [len(topic["features"]) > 0 for topic in shown["topics"]] == [True, False, True]
    assert shown["documents"][3]["mixture"] == []
    alike = stand_in(X)
    alike.components_[:] = alike.components_[0]
    assert len(explore(alike, X).html)


@pytest.fixture(scope="module")
def fitted():
    texts = texts_of(X)
    model = AspectModel(2, beta=0.9, component_prior=0, max_iter=20, random_state=0)
    return make_pipeline(CountVectorizer(stop_words=["the"]), model).fit(texts), texts


def test_pipelines_searches_other_rows_and_models_of_other_libraries(fitted):
    pipeline, texts = fitted
    shown = explore(pipeline, texts).shown
    assert shown["facts"]["fitted"]
    assert not shown["facts"]["held_out"]
    assert {feature[0] for feature in shown["features"]} >= {"tea", "cup", "script"}
    assert "".join(shown["documents"][3]["parts"]) == texts[3]
    assert "the" not in shown["documents"][3]["parts"]
    search = GridSearchCV(pipeline, {"aspectmodel__beta": [0.9]}, cv=2).fit(texts)
    assert explore(search, texts).shown["facts"]["n_rows"] == len(texts)
    assert explore(pipeline, iter(texts)).shown == shown
    other = texts_of(table(20, seed=5))
    shown = explore(pipeline, other).shown
    assert shown["facts"]["held_out"]
    expected = np.exp(-pipeline[-1].score_samples(pipeline[:-1].transform(other)))
    assert [row["perplexity"] for row in shown["documents"]] == close(expected)
    A = np.kron(np.eye(2, dtype=int), np.full((10, 4), 5))
    model = AspectModel(2, beta=0.9, random_state=0).fit(A)
    assert explore(model, A).shown["facts"]["fitted"]
    assert not explore(model, A[::-1]).shown["facts"]["fitted"]
    lda = LatentDirichletAllocation(2, max_iter=2, random_state=0).fit(X)
    shown = explore(lda, X).shown
    assert [shown["facts"][name] for name in ("held_out", "fitted")] == [False, False]
    assert sum(topic["weight"] for topic in shown["topics"]) == close(1)


@pytest.mark.filterwarnings("error", "ignore:EM did not converge")
def test_dyads_and_data_frames_have_names():
    rows, columns = [f"row {i}!" for i in range(24)], [f"word{j}" for j in range(10)]
    dyads = Dyads(X, row_names=rows, column_names=columns)
    model = AspectModel(2, beta=0.9, max_iter=3, tol=1).fit(dyads)
    frame = pd.DataFrame(X, index=rows, columns=columns)
    for data in (dyads, frame):
        shown = explore(model, data).shown
        assert [row["name"] for row in shown["documents"]] == rows
        assert {feature[0] for feature in shown["features"]} == set(columns)
    for reordered in (frame[columns[::-1]], pl.DataFrame(X, columns)[columns[::-1]]):
        refused("other names, or in another order", explore, model, reordered)
    triads = Triads.from_triples(["a"], ["b"], ["c"])
    refused("X is a Triads, but a table", explore, model, triads, error=TypeError)


def test_bad_input_and_without_jinja(model, monkeypatch):
    for arguments, error, message in (
        ({"texts": ["a"]}, ValueError, "texts has 1 entries, but X has 24 rows"),
        ({"groups": ["a"]}, ValueError, r"groups has shape \(1,\), but there are 24 rows"),
        ({"times": [1]}, ValueError, r"times has shape \(1,\)"),
        ({"times": GROUPS}, ValueError, r"times: 'a' \(row 0\) is not a date or number"),
        ({"times": [-np.inf, *range(1, len(X))]}, ValueError, "'-inf' .* is not a number below"),
        ({"names": ["a"]}, ValueError, "3 topics"),
        ({"names": {3: "a"}}, ValueError, "topics are 0 to 2"),
        ({"feature_names": ["a"]}, ValueError, "10 columns"),
        ({"row_names": ["a"]}, ValueError, "24 rows"),
        ({"X": X[:, :4]}, ValueError, "4 features"),
        ({"X": 0 * X}, ValueError, "X has no counts"),
        ({"model": AspectModel()}, NotFittedError, None),
        ({"model": CountVectorizer().fit(["a word"])}, TypeError, "no components_"),
    ):
        refused(message, explore, error=error, **{"model": model, "X": X, **arguments})
    monkeypatch.setitem(sys.modules, "jinja2", None)
    refused(r"pip install 'skcooc\[explore\]'", explore, model, X, error=ImportError)


def test_a_consensus_has_intervals_of_its_members():
    average = AveragedModels(AspectModel(3, beta=0.9, max_iter=5), 3, random_state=0).fit(X)
    agreed = average.consensus_
    shown = explore(agreed, X).shown
    for k, topic in enumerate(shown["topics"]):
        assert topic["affinity"] == pytest.approx(agreed.affinity_[k], abs=1e-3)
        for number, p, _, low, high in topic["features"]:
            j = int(shown["features"][number][0].removeprefix("x"))
            expected = agreed.components_[k, j], *agreed.component_intervals_[:, k, j]
            np.testing.assert_allclose([p, low, high], expected, rtol=1e-3, atol=1e-8)
    refused("Consensus has no transform: X should be the table", explore, agreed, X[:10])
    weights, names = 1.0 + np.arange(len(X)) % 3, [f"text {i}" for i in range(len(X))]
    average.fit(pd.DataFrame(X, index=names), sample_weight=weights)
    shown = explore(average.consensus_, X).shown
    assert shown["facts"]["fitted"]
    assert [row["name"] for row in shown["documents"]] == names
    shares = average.row_distribution_ @ average.consensus_.embedding_
    assert [topic["weight"] for topic in shown["topics"]] == pytest.approx(shares, abs=0.02)


def test_a_model_with_weights_of_rows_and_factors_of_groups_knows_its_rows():
    model = GuidedAspectModel(3, beta=0.9, max_iter=5, group_effects="columns", random_state=0)
    model.fit(X, groups=np.arange(len(X)) % 2, sample_weight=1.0 + np.arange(len(X)) % 3)
    shown = explore(model, X).shown
    assert shown["facts"]["fitted"]
    assert shown["groups"]["labels"] == ["0", "1"]
    of_other_counts = AspectModel(3, beta=0.9, max_iter=5, random_state=0).fit(np.minimum(X, 1))
    assert not explore(of_other_counts, X).shown["facts"]["fitted"]


def test_a_tree_with_its_documents():
    model = pages.tree_model(X)
    shown = explore(model, X, texts=texts_of(X), feature_names=WORDS).shown
    tree = shown["tree"]
    assert tree["parents"] == model.tree_.parents.tolist()
    assert set(tree["leaves"]) == {str(leaf) for leaf in model.tree_.leaves}
    names = [row["name"] for row in shown["documents"]]
    for leaf in tree["leaves"].values():
        assert leaf["n_rows"] == 6
        members = {texts_of(X)[i][:70] for i in np.flatnonzero(model.labels_ == leaf["cluster"])}
        assert {names[number].rstrip("…")[:70] for number in leaf["rows"]} <= members


def test_blocks_with_their_pairs_and_names_of_both_sides():
    model = two_sided(X)
    blocks = explore(model, X, feature_names=WORDS).shown["blocks"]
    rows, columns = model.row_labels_, model.column_labels_
    for c in range(3):
        for d in range(2):
            assert 2 ** blocks["log2"][c][d] == close(model.association_[c, d])
            block = X[rows == c][:, columns == d]
            total, pairs = blocks["pairs"][2 * c + d]
            assert total == block.sum()
            assert [n for _, _, n in pairs] == sorted(block.ravel())[::-1][:8]
            for at_row, at_column, n in pairs:
                row = blocks["row_members"][c][1][at_row]
                word = blocks["column_members"][d][1][at_column]
                assert X[int(row.split()[1]), WORDS.index(word)] == n
        assert blocks["row_members"][c][0] == (rows == c).sum()
    sums = X.sum(axis=0)
    for d, (n, words) in enumerate(blocks["column_members"]):
        assert n == len(words) == (columns == d).sum()
        assert [sums[WORDS.index(word)] for word in words] == sorted(sums[columns == d])[::-1]
    aspects_of_both = stand_in(X, joint_=model.joint_)  # a product-space mixture has no clusters
    assert explore(aspects_of_both, X).shown["blocks"] is None
    facts = explore(model, X, sides=("adjectives", "nouns")).shown["facts"]
    assert tuple(facts["sides"]) == ("adjectives", "nouns")
    assert explore(model, X).shown["facts"]["sides"] is None
    for wrong in (("nouns",), ("adjectives", 3), "adjectives", "ab", ("", "nouns"), 2):
        refused("sides should be the names of rows and columns", explore, model, X, sides=wrong)


def test_names_of_blocks_and_groups_with_half_a_surrogate_are_written_as_escapes():
    rows = [f"row \ud83d {i}" for i in range(len(X))]
    options = {"title": "\ud800", "groups": ["\udfff", "b"] * (len(X) // 2)}
    page = explore(pages.two_sided(X), X, [*WORDS[:-1], "team \udc00"], rows, **options)
    assert r"<h1>\ud800</h1>" in page.html
    shown = pages.read_payload(page.html)
    assert shown["documents"][0]["name"] == r"row \ud83d 0"
    assert shown["groups"]["labels"] == ["b", r"\udfff"]
    members = [name for side in ("row", "column") for _, names in shown["blocks"][f"{side}_members"]
               for name in names]  # fmt: skip
    assert {r"row \ud83d 3", r"team \udc00"} <= set(members)


def test_rare_members_of_large_blocks_are_left_out_but_no_pair(monkeypatch):
    counts = np.eye(60) + np.triu(np.ones((60, 60)))
    names, model = [f"{j:02d} {'x' * 40}" for j in range(60)], two_sided(counts)
    monkeypatch.setattr(sections, "EXAMPLES", 2)
    everything = explore(model, counts, names, names).shown["blocks"]
    monkeypatch.setattr(sections, "NAMES_ROOM", 900)
    monkeypatch.setattr(sections, "FIRST", 15)
    few = explore(model, counts, names, names).shown["blocks"]
    for side in ("row_members", "column_members"):
        for (n, some), (all_of_them, known) in zip(few[side], everything[side], strict=True):
            assert n == all_of_them == len(known) > len(some)
            assert some[:15] == known[:15]
            assert [name for name in known if name in some] == some
    named = [
        [(of["row_members"][b // 2][1][i], of["column_members"][b % 2][1][j], n)
         for b, (_, some) in enumerate(of["pairs"]) for i, j, n in some]
        for of in (few, everything)
    ]  # fmt: skip
    assert named[0] == named[1]
