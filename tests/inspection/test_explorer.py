"""What the pages of `explore` show: numbers against loops, what is left out, and no markup."""

import re
import sys
from html import unescape

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skcooc import AspectModel, AveragedModels, Dyads
from skcooc.inspection import explore, name_topics
from skcooc.inspection.explorer import documents, shares
from tests.inspection.pages import (
    EVIL,
    WORDS,
    close,
    read_payload,
    stand_in,
    table,
    texts_of,
)

X = table()
GROUPS = np.array(["a", "b", "c"])[np.arange(len(X)) % 3]


@pytest.fixture(scope="module")
def model():
    return stand_in(X)


@pytest.fixture(scope="module")
def page(model):
    return explore(
        model, X, texts=texts_of(X), feature_names=WORDS, groups=GROUPS, times=np.arange(len(X)) % 2
    )


def test_topics_against_loops(model, page):
    n, q, theta = X.sum(), model.components_, model.embedding_
    weights = [sum(X[i].sum() / n * theta[i, k] for i in range(len(X))) for k in range(3)]
    unigram = [sum(weights[k] * q[k, j] for k in range(3)) for j in range(len(WORDS))]
    shown = page.shown
    assert shown["facts"]["fitted"]
    for k, topic in enumerate(shown["topics"]):
        assert topic["weight"] == close(weights[k])
        assert topic["n_rows"] == sum(row.argmax() == k for row in theta)
        for number, p, rest in topic["features"]:
            name, share, posterior = shown["features"][number]
            j = WORDS.index(name)
            others = [l for l in range(3) if l != k]
            mixed = sum(weights[l] * q[l, j] for l in others) / sum(weights[l] for l in others)
            assert (p, share, rest) == (
                close(q[k, j]),
                close(unigram[j]),
                close(max(mixed, 0.5 / n)),
            )
            for z, value in posterior:
                assert value == pytest.approx(weights[z] * q[z, j] / unigram[j], rel=0.06)


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


def test_rows_against_loops(model, page):
    shown = page.shown["documents"]
    assert len(shown) == len(X)
    for i, row in enumerate(shown):
        p = 0.9 * model.embedding_[i] @ model.components_ + 0.1 * model.unigram_
        assert row["perplexity"] == close(np.exp(-np.sum(X[i] * np.log(p)) / X[i].sum()))
        assert "".join(row["parts"]) == texts_of(X)[i]
        coloured = row["parts"][1::2]
        assert len(coloured) == len(row["topics"])
        for word, z in zip(coloured, row["topics"], strict=True):
            if word in WORDS:
                joint = [
                    model.embedding_[i, k] * model.components_[k, WORDS.index(word)]
                    for k in range(3)
                ]
                assert z == np.argmax(joint)
        for k, share in row["mixture"]:
            assert share == close(model.embedding_[i, k])
    assert {word for row in shown for word in row["parts"][1::2]} == set(WORDS) - {EVIL}


def test_shares_of_groups_and_their_intervals(model, page):
    found = page.shown["groups"]
    assert found["labels"] == ["a", "b", "c"]
    for g, label in enumerate(found["labels"]):
        rows = [i for i in range(len(X)) if GROUPS[i] == label]
        assert found["sizes"][g] == len(rows)
        observations = sum(X[i].sum() for i in rows)
        for k in range(3):
            share = sum(X[i].sum() * model.embedding_[i, k] for i in rows) / observations
            assert found["share"][g][k] == close(share)
            assert found["low"][g][k] <= share <= found["high"][g][k]
    assert [GROUPS[i] for i in range(len(X))] == [found["labels"][g] for g in found["of"]]


def test_one_row_has_no_interval_and_rows_without_a_label_are_in_no_group(model):
    groups = np.array(["many"] * len(X), dtype=object)
    groups[:2] = "one", None
    found = explore(model, X, feature_names=WORDS, groups=groups).shown["groups"]
    assert (found["labels"], found["sizes"]) == (["many", "one"], [len(X) - 2, 1])
    assert found["low"][1] == found["high"][1] == [None] * 3
    assert None not in found["low"][0] + found["share"][1]


def test_groups_are_what_topic_shares_takes(model):
    plain = explore(model, X, groups=GROUPS).shown["groups"]
    for given in ({"desk": GROUPS}, pd.DataFrame({"desk": GROUPS})):
        assert explore(model, X, groups=given).shown["groups"] == {**plain, "name": "desk"}


def test_times_are_dates_or_numbers():
    everything = np.ones(100)
    members, labels, n, _, at, _ = shares.by_time(np.arange(100.0), everything)
    assert (len(members), n) == (24, 100)
    assert sorted(np.concatenate(members)) == list(range(100))
    assert all(
        low < middle < high
        for low, middle, high in zip(_begins(labels), at, _ends(labels), strict=True)
    )
    dates = np.array(["2001-02-03", "NaT", "2001-02-04"], dtype="datetime64[D]")
    members, labels, *_ = shares.by_time(dates, everything[:3])
    assert labels == ["2001-02-03", "2001-02-04"]
    assert [rows.tolist() for rows in members] == [[0], [2]]
    for months in (
        ["2024-02", None, "2024-01"],
        pd.PeriodIndex(["2024-02", None, "2024-01"], freq="M"),
    ):
        assert shares.by_time(months, everything[:3]).labels == ["2024-01", "2024-02"]
    with pytest.raises(TypeError, match=r"one is 'soon'\. .*to_datetime"):
        shares.by_time(np.array(["soon", "2024-01"]), everything[:2])


def _begins(labels):
    return [float(label.split(" – ")[0]) for label in labels]


def _ends(labels):
    return [float(label.split(" – ")[1]) for label in labels]


def test_nothing_that_is_given_is_markup(model):
    groups = np.where(GROUPS == "a", f"{EVIL}&amp;\u2028", "b")
    rows = [f"{EVIL} {i} </textarea>\ud800" for i in range(len(X))]
    page = explore(
        model, X, texts=[EVIL] * len(X), feature_names=WORDS, row_names=rows, groups=groups,
        names=[EVIL, "<b>", "]]>"], title=EVIL,
    )  # fmt: skip
    assert EVIL not in page.html
    assert page.html.count("</script>") == 2
    assert "\u2028" not in page.html
    assert page.html.count("<b>") == 0
    shown = read_payload(page.html)
    assert [topic["name"] for topic in shown["topics"]] == [EVIL, "<b>", "]]>"]
    assert shown["title"] == EVIL
    frame = page._repr_html_()
    assert frame.count("<") == 2
    assert unescape(re.search(r'srcdoc="(.*?)"', frame, re.S)[1]) == page.html


def test_no_address_is_in_the_page(page):
    without_namespace = page.html.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(
        r"https?:|//[\w.]+\.\w+/|@import|url\(|\bfetch\b|innerHTML|eval\(", without_namespace
    )
    assert "default-src 'none'" in page.html


def test_a_large_table_is_below_two_megabytes(tmp_path):
    """20,000 documents, 100 topics."""
    rng = np.random.default_rng(0)
    n, m, k = 20_000, 3000, 100
    i, j = np.repeat(np.arange(n), 10), rng.integers(m, size=10 * n)
    counts = sp.csr_array((rng.poisson(3, 10 * n) + 1.0, (i, j)), shape=(n, m))
    model = stand_in(np.ones((1, m)), k)
    model.embedding_ = rng.dirichlet(np.full(k, 0.05), size=n)
    model.row_distribution_ = counts.sum(axis=1) / counts.sum()
    model.transform = lambda rows: model.embedding_[rows_of(counts, rows)]
    text = "x7 <é> x2999 " * 500
    page = explore(
        model,
        counts,
        texts=[text] * n,
        groups=np.arange(n) % 60,
        times=np.arange(n),
        row_names=["n" * 200] * n,
    )
    page.save(tmp_path / "topics.html")
    assert (tmp_path / "topics.html").stat().st_size < 2_000_000
    facts = page.shown["facts"]
    assert 60 <= facts["cut"] < len(text)
    assert len(page.shown["documents"]) == documents.MOST_ROWS
    assert (len(page.shown["groups"]["labels"]), page.shown["groups"]["n"]) == (40, 60)
    listed = set(range(documents.MOST_ROWS))
    assert all(set(rows) <= listed for rows in page.shown["representative"])


def rows_of(counts, rows):
    """Positions of some rows, by their columns."""
    known = {
        tuple(counts.indices[a:b]): i
        for i, (a, b) in enumerate(zip(counts.indptr, counts.indptr[1:], strict=False))
    }
    return [
        known[tuple(rows.indices[a:b])] for a, b in zip(rows.indptr, rows.indptr[1:], strict=False)
    ]


def test_times_are_finite():
    for times in (np.r_[np.inf, 1 : len(X)], [-np.inf, *range(1, len(X))]):
        with pytest.raises(ValueError, match="times has infinite numbers"):
            explore(stand_in(X), X, times=times)


@pytest.fixture(scope="module")
def fitted():
    texts = texts_of(X)
    model = AspectModel(2, beta=0.9, max_iter=20, random_state=0)
    return make_pipeline(CountVectorizer(stop_words=["the"]), model).fit(texts), texts


@pytest.mark.filterwarnings("ignore:EM did not converge")
def test_pipelines_and_searches(fitted):
    pipeline, texts = fitted
    shown = explore(pipeline, texts).shown
    assert shown["facts"]["fitted"]
    assert not shown["facts"]["held_out"]
    assert {feature[0] for feature in shown["features"]} >= {"tea", "cup", "script"}
    assert "".join(shown["documents"][3]["parts"]) == texts[3]
    assert "the" not in shown["documents"][3]["parts"]
    search = GridSearchCV(pipeline, {"aspectmodel__beta": [0.9]}, cv=2).fit(texts)
    assert explore(search, texts).shown["facts"]["n_rows"] == len(texts)


def test_other_rows_are_scored_on_what_is_held_out(fitted):
    pipeline, _ = fitted
    other = texts_of(table(20, seed=5))
    shown = explore(pipeline, other).shown
    assert shown["facts"]["held_out"]
    expected = np.exp(-pipeline[-1].score_samples(pipeline[:-1].transform(other)))
    assert [row["perplexity"] for row in shown["documents"]] == close(expected)


def test_as_long_rows_are_not_taken_for_those_fitted():
    A = np.kron(np.eye(2, dtype=int), np.full((10, 4), 5))
    model = AspectModel(2, beta=0.9, random_state=0).fit(A)
    assert explore(model, A).shown["facts"]["fitted"]
    assert not explore(model, A[::-1]).shown["facts"]["fitted"]


@pytest.mark.filterwarnings("error", "ignore:EM did not converge")
def test_dyads_and_data_frames_have_names():
    rows, columns = [f"row {i}!" for i in range(24)], [f"word{j}" for j in range(10)]
    dyads = Dyads(X, row_names=rows, column_names=columns)
    model = AspectModel(2, beta=0.9, max_iter=3, tol=1, random_state=0).fit(dyads)
    frame = pd.DataFrame(X, index=rows, columns=columns)
    for data in (dyads, frame):
        shown = explore(model, data).shown
        assert [row["name"] for row in shown["documents"]] == rows
        assert {feature[0] for feature in shown["features"]} == set(columns)
    with pytest.raises(ValueError, match="other names, or in another order"):
        explore(model, frame[columns[::-1]])


def test_models_of_other_libraries():
    lda = LatentDirichletAllocation(2, max_iter=2, random_state=0).fit(X)
    shown = explore(lda, X).shown
    assert [shown["facts"][name] for name in ("held_out", "fitted")] == [False, False]
    assert sum(topic["weight"] for topic in shown["topics"]) == close(1)


def test_names_differ_and_the_largest_topic_has_the_first_choice():
    """Two of three topics are the same; the larger one is called as if it were alone."""
    model = stand_in(X)
    model.components_[1] = model.components_[0]
    weights = model.row_distribution_ @ model.embedding_
    names = name_topics(model, WORDS, n_features=2)
    assert len(set(names)) == 3
    large, less = sorted([0, 1], key=lambda k: -weights[k])
    assert len(names[large].split(" · ")) == 2
    assert names[less].startswith(names[large])
    model.components_[:] = model.components_[0]
    assert len(set(name_topics(model, WORDS))) == 3
    model.components_ = np.ones((3, 1))  # nothing is characteristic
    assert name_topics(model) == ["topic 0", "topic 1", "topic 2"]


def test_names_that_are_given(model):
    given = explore(model, X, names={"1": "mine"}).shown["topics"]
    assert given[1]["name"] == "mine"
    assert given[0]["name"] == explore(model, X).shown["topics"][0]["name"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"texts": ["a"]}, ValueError, "texts has 1 entries, but X has 24 rows"),
        ({"groups": ["a"]}, ValueError, r"groups has shape \(1,\), but there are 24 rows"),
        ({"times": [1]}, ValueError, r"times has shape \(1,\)"),
        ({"times": GROUPS}, TypeError, "numbers or dates"),
        ({"names": ["a"]}, ValueError, "3 topics"),
        ({"names": {3: "a"}}, ValueError, "topics are 0 to 2"),
        ({"feature_names": ["a"]}, ValueError, "10 columns"),
        ({"row_names": ["a"]}, ValueError, "24 rows"),
        ({"X": X[:, :4]}, ValueError, "4 features"),
        ({"X": 0 * X}, ValueError, "no observations"),
        ({"model": AspectModel()}, NotFittedError, None),
        ({"model": CountVectorizer().fit(["a word"])}, TypeError, "no components_"),
    ],
)
def test_what_is_refused(model, arguments, error, message):
    with pytest.raises(error, match=message):
        explore(**{"model": model, "X": X, **arguments})


def test_without_jinja(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install 'skcooc\[explore\]'"):
        explore(model, X)


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
    with pytest.raises(ValueError, match="Consensus has no transform: X should be the table"):
        explore(agreed, X[:10])
