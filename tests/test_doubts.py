"""Warnings on tables that seem to hold something else than counts."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.model_selection import GridSearchCV

from skcooc import (
    AspectModel,
    AsymmetricClustering,
    AveragedModels,
    ClusterAbstraction,
    Dyads,
    InterpolatedModels,
    RowMemory,
)
from skcooc.model_selection import ComponentSearchCV, CountSplit
from skcooc.protocol import TableWarning
from tests.tables import planted, refused

RNG = np.random.default_rng(0)
X = planted(n_tokens=3000).X.toarray()
ASPECTS = AspectModel(2, beta=1.0, max_iter=2, random_state=0)
PAIRS = np.column_stack([RNG.integers(1, 100, 500), RNG.integers(1, 100, 500)])
WORDS = [f"w{j:02}" for j in range(30)]


def warned(table, fit=ASPECTS.fit):
    """Messages about a table in a fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(table)
    return [str(w.message) for w in caught if issubclass(w.category, TableWarning)]


CLUSTERS = AsymmetricClustering(2, max_iter=2, random_state=0)
FITS = {
    "model": CLUSTERS.fit,
    "tokens": lambda table: CLUSTERS.fit(Dyads(table)),
    "auto": AsymmetricClustering("auto", max_iter=2, random_state=0).fit,
    "search": ComponentSearchCV(CLUSTERS, [2, 3], cv=2, random_state=0).fit,
    "folds": lambda table: GridSearchCV(CLUSTERS, {}, cv=CountSplit(2), refit=False).fit(
        Dyads(table)
    ),
    "mean": InterpolatedModels([("one", CLUSTERS), ("two", ASPECTS)], random_state=0).fit,
    "average": AveragedModels(ASPECTS, 2, random_state=0).fit,
    "memory": RowMemory(CLUSTERS, random_state=0).fit,
    "first batch": RowMemory(ASPECTS, random_state=0).partial_fit,
}


@pytest.mark.parametrize("fit", FITS)
def test_the_table_given_is_doubted_once_and_not_its_parts(fit):
    counts = np.vstack([0 * X[:1], X, X.sum(axis=0)])
    messages = warned(counts, FITS[fit])
    assert sum("is the sum of all others" in message for message in messages) == 1
    assert sum("rows have no counts" in message for message in messages) <= 1 or fit == "folds"


@pytest.mark.parametrize("make", [Dyads, ASPECTS.fit], ids=["Dyads", "fit"])
def test_pairs_of_numbers_are_no_counts(make):
    each_once = np.unique(PAIRS, axis=0)
    rated = np.column_stack([each_once, RNG.integers(1, 6, len(each_once))])
    for pairs in (PAIRS, pd.DataFrame(PAIRS, columns=["user", "item"]), PAIRS.tolist(), rated):
        with pytest.warns(UserWarning, match=r"read as counts of .* Dyads.from_pairs\(\*X\.T\)"):
            make(pairs)
    assert len(Dyads.from_pairs(*PAIRS.T)) == len(PAIRS)


def test_names_and_tokens_tell_that_rows_are_no_pairs():
    names = pd.Series(list("abcdefghijkl") * 2)
    sexes = list("mmf") * 8
    named = pd.DataFrame(RNG.poisson(9.0, (12, 2)), names[:12])
    with warnings.catch_warnings(action="error"):
        for rows in (names, np.arange(24) % 12):
            Dyads.from_pairs(rows, sexes)
    assert not any("pairs" in message for message in warned(named))


def test_counts_in_few_columns_are_no_pairs():
    three = RNG.poisson([5, 9, 3], (60, 3))
    for table in (three, PAIRS[:9], PAIRS / 2):
        assert not any("pairs" in message for message in warned(table))


@pytest.mark.parametrize("name", ["userId", "user_id", "ID", "#OTU ID", "Unnamed: 0", "index"])
def test_a_column_of_identifiers_is_doubted(name):
    frame = pd.DataFrame(X, columns=[f"item{j}" for j in range(X.shape[1])])
    identifiers = 10 * RNG.permutation(len(X))
    for position in (0, 7):
        table = frame.copy()
        table.insert(position, name, identifiers)
        (message,) = (m for m in warned(table) if "identify the rows" in m)
        assert message.startswith(f"Column {name!r} seems")
        assert not warned(table.set_index(name))
        table[name] = identifiers // 40
        assert not any("identify the rows" in m for m in warned(table))
    numbered = frame.assign(user=1 + RNG.permutation(len(X)))
    assert any("Column 'user' seems" in m for m in warned(numbered))
    assert not any("identify the rows" in m for m in warned(numbered[:9]))
    rising = frame.assign(user=np.sort(identifiers))
    assert any("Column 'user' seems" in m for m in warned(rising))
    assert any("Column 60 seems" in m for m in warned(rising.to_numpy()))
    assert not any("identify the rows" in m for m in warned(rising[:9]))
    frame.insert(0, "covid", identifiers)
    assert not any("identify the rows" in m for m in warned(frame))


def test_a_measurement_among_counts_is_doubted():
    frame = pd.DataFrame(X, columns=[f"item{j}" for j in range(X.shape[1])])
    table = frame.assign(pH=RNG.normal(6.5, 0.5, len(X)).round(1), depth=RNG.random(len(X)))
    for use in (ASPECTS.fit, Dyads):
        assert any("are read as counts: 'pH', 'depth'." in m for m in warned(table, use))
    assert any("are read as counts: 60." in m for m in warned(table.to_numpy()[:, :61]))
    stars = np.where(X, RNG.integers(1, 11, X.shape) / 2, 0)
    by_row = X * RNG.choice([0.5, 1, 2], (len(X), 1))
    sublinear = np.where(X, 1 + np.log(np.maximum(X, 1)), 0)
    measured = frame.assign(body_mm=RNG.integers(5, 90, len(X)))
    for name in ("body_mm", "weight_g", "elevation_m"):
        named = measured.rename(columns={"body_mm": name})
        for table in (named, named[[name, *frame]]):
            assert any(f"are read as counts: {name!r}." in m for m in warned(table))
    words = frame.set_axis([*WORDS, *[f"x{j:02}" for j in range(29)], "year"], axis=1)
    for table in (X, X / 2, stars, by_row, sublinear, X[:, :2] * [0.7, 1], words):
        assert not any("are read as counts: " in m for m in warned(table))


def test_one_half_of_a_symmetric_table_is_doubted():
    whole = RNG.poisson(2.0, (30, 30))
    whole += whole.T
    np.fill_diagonal(whole, 0)
    half = "All counts of X are on one side of its diagonal"
    for part in (np.triu(whole), np.tril(whole), np.triu(whole + 3 * np.eye(30, dtype=int))):
        named = pd.DataFrame(part, index=WORDS, columns=WORDS)
        order = RNG.permutation(WORDS)
        for table in (part, sp.csr_array(part), named, named.loc[order, order]):
            for use in (ASPECTS.fit, Dyads):
                (message,) = warned(table, use)
                assert message.startswith(half)
    edges = np.argwhere(np.triu(whole))  # no edge ends at the first, none begins at the last
    names = np.array(WORDS)[edges]
    (message,) = warned(names, lambda pairs: ASPECTS.fit(Dyads.from_pairs(*pairs.T)))
    assert message.startswith(half)
    assert not warned(Dyads.from_pairs(*np.vstack([names, names[:, ::-1]]).T))
    for table in (whole, np.diag(np.arange(1, 31))):
        assert not any(half in m for m in warned(table))
    others = pd.DataFrame(np.triu(whole), index=WORDS, columns=[f"v{j:02}" for j in range(30)])
    assert not any(half in m for m in warned(others))


def test_a_frame_of_ratings_is_no_table():
    """Stars may be halves, and columns may be named as identifiers among others."""
    pairs = np.unique(PAIRS, axis=0)
    stars = RNG.integers(1, 11, len(pairs)) / 2
    named = pd.DataFrame({"userId": PAIRS[:, 0], "movieId": PAIRS[:, 1], "hour": PAIRS[:, 1] % 24})
    for table in (np.column_stack([pairs, stars]), named, named.assign(minute=3)):
        assert any("If its rows are pairs" in message for message in warned(table))
    one = pd.DataFrame(X[:, :5], columns=["covid", "grid_id", "tea", "ale", "rum"])
    assert not any("If its rows are pairs" in message for message in warned(one))


def test_times_in_nanoseconds_are_refused():
    times = RNG.integers(8e17, 15e17, (30, 20))
    refused("leave out values that are not counts, such as times", ASPECTS.fit, times)


def test_answers_in_all_cells_are_no_counts():
    answers = RNG.integers(1, 6, (60, 8))
    for table in (answers, answers % 2 + 1, pd.DataFrame(answers)):
        assert any("answers or codes of categories" in message for message in warned(table))
    for table in (answers[:9], np.where(RNG.random(answers.shape) < 0.01, 0, answers), answers * 3):
        assert not any("answers or codes" in message for message in warned(table))
    assert not any("answers or codes" in message for message in warned(np.ones((60, 8))))
    many = RNG.integers(1, 6, (300, 8))
    for missing, doubted in ((0.05, True), (0.3, False)):
        table = np.where(RNG.random(many.shape) < missing, 0, many)
        assert any("answers or codes" in message for message in warned(table)) == doubted


def test_totals_are_doubted_and_coincidences_in_small_tables_are_not():
    crosstab = np.array([[4, 0, 7], [2, 5, 1], [1, 0, 2]])
    weights = RNG.random((12, 7)).astype(np.float32)
    for table in (crosstab, X, weights, (100 * weights).round(1)):
        for number, axis in enumerate(("Row", "Column")):
            total = table.sum(axis=number, keepdims=True)
            for parts in ([table, total], [total, table]):
                messages = warned(np.concatenate(parts, axis=number))
                assert any(re.match(rf"{axis} \d+ is the sum of all others", m) for m in messages)
    for table in ([[2, 0, 0], [1, 0, 0], [1, 0, 0]], np.diag([2, 1, 1]), np.diag([9, 0, 0])):
        assert not any("leave" in message and "out" in message for message in warned(table))


def test_a_column_that_grows_is_no_identifier():
    years = np.cumsum(RNG.poisson(9.0, (12, 5)), axis=0)
    years[:, [0, 4]] = years[::-1, [0, 4]]
    assert not any("identify the rows" in message for message in warned(years))
    assert any("Column 0 seems" in message for message in warned(years[::-1]))


def test_functions_of_counts_are_no_counts():
    shares = X / X.sum(axis=1, keepdims=True)
    for table, kind in (
        (np.log2(1 + X), "logarithms of counts, log2(1 + n)"),
        (np.log10(1 + X), "logarithms of counts, log10(1 + n)"),
        (np.log1p(1e6 * shares), "logarithms of normalised counts, log(1 + n)"),
        (np.log2(1 + 1e6 * shares), "logarithms of normalised counts, log2(1 + n)"),
        (np.log10(1 + 1e4 * shares), "logarithms of normalised counts, log10(1 + n)"),
        ((100 * shares).round(1), "shares of rows, which sum to 100"),
        (cosine_similarity(X.T[X.any(axis=0)]), "a symmetric matrix with a constant diagonal"),
    ):
        assert any(m.startswith(f"X holds {kind}") for m in warned(table)), kind
    rated = np.where(X, RNG.integers(1, 11, X.shape) / 2, 0)  # stars, weights, times
    for table in (rated, X * RNG.random((len(X), 1)), np.where(X, 1e8 * RNG.random(X.shape), 0)):
        assert not any(m.startswith("X holds") for m in warned(table))


def texts_of(n_texts, n_words, vocabulary, seed=0):
    """Texts of words with the frequencies of Zipf's law."""
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, vocabulary + 1)
    words = rng.choice(vocabulary, (n_texts, n_words), p=shares / shares.sum())
    return [" ".join(f"w{word}" for word in text) for text in words]


def test_rows_without_common_columns_are_doubted():
    alone = r"\d+ % of the tokens .* in one row only, .* a tokenizer does, .*analyzer='char'"
    lines = CountVectorizer(token_pattern=r"(?u)[^\n]+").fit_transform(texts_of(40, 9, 500))
    trigrams = CountVectorizer(ngram_range=(3, 3)).fit_transform(texts_of(40, 9, 500))
    amounts = pd.get_dummies(pd.Series(RNG.permutation(1000)[:200])).astype(int)
    for table in (lines, trigrams, amounts):
        for use in (ASPECTS.fit, Dyads):
            assert sum(bool(re.search(alone, m)) for m in warned(table, use)) == 1
    clusters = ClusterAbstraction(4, max_iter=2, random_state=0)
    for model in (clusters, AveragedModels(ASPECTS, 2, random_state=0)):
        with pytest.warns(
            UserWarning, match="tokens of X are in columns that occur in one row only"
        ):
            model.fit(lines)


def test_rows_that_have_columns_in_common_are_not_doubted():
    titles = CountVectorizer().fit_transform(texts_of(40, 6, 5000))
    reviews = CountVectorizer().fit_transform(texts_of(300, 20, 50_000))
    blocks = sp.csr_array(sp.block_diag([np.ones((2, 9))] * 40))
    few = sp.csr_array(np.eye(29) + np.eye(29, k=1))
    zeros = sp.csr_array(np.ones((40, 40)))
    for table in (titles, reviews, blocks, few, zeros, np.ones((40, 3)), X):
        assert not any("in one row only" in message for message in warned(table))
