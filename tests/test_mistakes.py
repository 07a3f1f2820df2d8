"""Usual mistakes, as docs/howto/mistakes.md lists them: errors, warnings and remedies."""

import re
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skcooc import AspectModel, AsymmetricClustering, Dyads, GuidedAspectModel, inspection, metrics
from skcooc.model_selection import ComponentSearchCV
from skcooc.plotting import HierarchyDisplay, KSelectionDisplay
from tests.tables import planted

PAGE = Path(__file__).parents[1] / "docs" / "howto" / "mistakes.md"
X = planted(n_tokens=3000).X.toarray()
FRAME = pd.DataFrame(X, columns=[f"word{j}" for j in range(X.shape[1])])
PAIRS = pd.DataFrame({"user": list("aabbccdd"), "item": list("xyxzyzxw"), "n": range(1, 9)})
TEXTS = [
    "the cat sat on the mat", "a dog and a cat ran in the park", "stocks fell on monday",
    "the market rose and stocks rose", "a dog sat in the sun", "on monday the market fell",
]  # fmt: skip
ASPECTS, FEW = AspectModel(random_state=0), AspectModel(3, random_state=0)


@cache
def fitted():
    return AspectModel(3, random_state=0).fit(FRAME)


def fit_counted(vectorizer):
    return make_pipeline(vectorizer, FEW).fit(TEXTS)


def transform_counted(texts):
    vectorizer = CountVectorizer()
    model = AspectModel(3, random_state=0).fit(vectorizer.fit_transform(TEXTS))
    return model.transform(vectorizer.transform(texts))


def fit_and_count_anew():
    model = AspectModel(3, random_state=0).fit(CountVectorizer().fit_transform(TEXTS))
    return model.transform(CountVectorizer().fit_transform(["another text"]))


def shares(total=1):
    return total * X / X.sum(axis=1, keepdims=True)


def similarities():
    occupied = X[:, X.any(axis=0)]
    return np.corrcoef(occupied.T).clip(0).round(9)


def with_a_large_row():
    return np.vstack([X, np.full(X.shape[1], 1e6)])


MISTAKES = {
    "fit tf-idf": lambda: fit_counted(TfidfVectorizer()),
    "fit tf-idf that is not normalised": lambda: FEW.fit(
        TfidfTransformer(norm=None).fit_transform(X)
    ),
    "fit a normalised HashingVectorizer": lambda: fit_counted(
        HashingVectorizer(n_features=64, alternate_sign=False)
    ),
    "fit a signed HashingVectorizer": lambda: fit_counted(HashingVectorizer(n_features=64)),
    "fit shares of rows": lambda: FEW.fit(shares()),
    "fit log(1 + n)": lambda: FEW.fit(np.log1p(X)),
    "fit scanpy's normalised logarithms": lambda: FEW.fit(np.log1p(shares(1e4))),
    "cluster by a similarity matrix": lambda: AsymmetricClustering().fit(similarities()),
    "centre the columns": lambda: FEW.fit(X - X.mean(axis=0)),
    "take logarithms of zeros": lambda: FEW.fit(np.where(X, X, np.inf)),
    "pivot without fill_value": lambda: FEW.fit(
        PAIRS.pivot(index="user", columns="item", values="n")
    ),
    "fit texts": lambda: FEW.fit(TEXTS),
    "fit lists of tokens": lambda: FEW.fit([text.split() for text in TEXTS]),
    "fit a corpus of gensim": lambda: FEW.fit([[(0, 1), (3, 2)], [(1, 1)]]),
    "fit dicts of counts": lambda: FEW.fit([{"cat": 1}, {"dog": 2}]),
    "fit a frame of pairs": lambda: FEW.fit(PAIRS),
    "give pairs to Dyads": lambda: Dyads([("ann", "tea"), ("bob", "ale")]),
    "fit pairs of numbers": lambda: ASPECTS.fit(np.argwhere(X)),
    "keep a column of names": lambda: FEW.fit(FRAME.assign(id="name")),
    "keep a column of dates": lambda: FEW.fit(FRAME.assign(date=pd.Timestamp("2020-01-01"))),
    "keep a column of row numbers": lambda: FEW.fit(FRAME.assign(id=range(len(X)))),
    "keep the totals of a crosstab": lambda: FEW.fit(
        pd.crosstab(PAIRS["user"], PAIRS["item"], margins=True)
    ),
    "keep a row with most tokens": lambda: FEW.fit(with_a_large_row()),
    "fit one row as a vector": lambda: FEW.fit(X[0]),
    "more topics than rows": lambda: ASPECTS.fit(X[:8]),
    "AspectModel(K=5)": lambda: AspectModel(K=5),
    "AspectModel(alpha=0.1)": lambda: AspectModel(alpha=0.1),
    "AspectModel(max_iterations=50)": lambda: AspectModel(max_iterations=50),
    'AspectModel("10")': lambda: AspectModel("10").fit(X),
    "beta=2": lambda: AspectModel(3, beta=2).fit(X),
    "search over n_topics": lambda: GridSearchCV(AspectModel(), {"n_topics": [3]}, cv=2).fit(X),
    "labels_ of topics": lambda: fitted().labels_,
    "predict topics": lambda: fitted().predict(X),
    "components_ before fit": lambda: AspectModel().components_,
    "a new vectorizer for new texts": fit_and_count_anew,
    "new texts without a known word": lambda: transform_counted(["zebras"]),
    "rows and columns exchanged in transform": lambda: fitted().transform(X.T),
    "columns in another order": lambda: fitted().transform(FRAME[FRAME.columns[::-1]]),
    "perplexity of the training table": lambda: fitted().perplexity(FRAME),
    "topics that are nearly equal": lambda: AspectModel(12, beta=0.75, random_state=0).fit(X),
}


def listed(page):
    """(mistake, class, part of the message) of each row of the table, without code marks."""
    cells = re.findall(r"^\| (?!mistake)(.*?) \| (.*?) \| (.*) \|$", page.replace("`", ""), re.M)
    return {mistake: (kind, told) for mistake, kind, told in cells}


LISTED = listed(PAGE.read_text(encoding="utf-8"))


def test_the_page_lists_what_is_tried_here():
    assert list(LISTED) == list(MISTAKES)
    assert len(MISTAKES) == 40


def outcomes(call):
    """(names of classes, message) of all warnings, and of an error."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            call()
        except Exception as error:
            yield {kind.__name__ for kind in type(error).__mro__}, str(error)
        yield from (({warning.category.__name__}, str(warning.message)) for warning in told)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_with_its_remedy(mistake):
    kind, told = LISTED[mistake]
    found = list(outcomes(MISTAKES[mistake]))
    assert any(kind in kinds and told in message for kinds, message in found), found


def same_counts():
    whole = sp.coo_array(X)
    halves = np.tile(whole.data / 2, 2), np.tile(whole.coords, 2)
    yield from (whole.asformat(name) for name in ("coo", "csc", "bsr", "dia", "lil", "dok"))
    yield from (sp.csr_matrix(X), sp.coo_array(halves, shape=X.shape))
    yield from (X.astype(object), X.astype(int).astype(str), FRAME, X.astype(np.int8))


def test_other_forms_of_the_same_counts_are_no_mistake():
    expected = fitted().components_
    for table in same_counts():
        with warnings.catch_warnings(action="error"):
            model = AspectModel(3, random_state=0).fit(table)
        np.testing.assert_allclose(model.components_, expected, atol=1e-3)


def test_hints_leave_what_an_estimator_has_as_it_is():
    model = fitted()
    missing = "labels_", "predict", "coef_", "components", "nothing"
    assert not any(hasattr(model, name) for name in missing)
    with pytest.raises(AttributeError, match=r"attribute 'nothing'$"):
        model.nothing  # noqa: B018
    with pytest.raises(AttributeError, match="Use column_labels_ or row_labels_"):
        type("Two", (AspectModel,), {"row_labels_": 0, "column_labels_": 0})().labels_  # noqa: B018
    with pytest.raises(AttributeError, match="fitted to rows without names"):
        AspectModel(1).fit(X).row_names_in_  # noqa: B018
    with warnings.catch_warnings(action="error"):  # other tables than the training table
        model.perplexity(FRAME[::-1])
        model.score(FRAME)


def seeds(columns):
    return GuidedAspectModel(3, seed_features={"a": columns}).fit(FRAME)


def pairs(**options):
    return Dyads.from_frame(PAIRS, "user", "item", **options)


def perplexity(factor):
    return metrics.perplexity(X, fitted().embedding_ * factor, fitted().components_)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: inspection.describe(X, fitted()), "a fitted model of topics or clusters has"),
        (lambda: inspection.describe(FEW.fit(X), ["a"]), "vectorizer.get_feature_names_out()"),
        (lambda: inspection.explore(fitted(), TEXTS), "give vectorizer.transform(X)"),
        (lambda: inspection.nearest_rows(fitted(), [0]), "AspectModel.embedding_"),
        (lambda: inspection.topic_stability(AspectModel, X), "AspectModel(...)"),
        (lambda: inspection.export_text(fitted()), "which ClusterAbstraction has"),
        (lambda: HierarchyDisplay.from_estimator(fitted()), "which ClusterAbstraction has"),
        (lambda: KSelectionDisplay.from_search(fitted()), "which a fitted ComponentSearchCV has"),
        (lambda: metrics.perplexity(X, fitted(), fitted()), "embedding_ and components_"),
        (lambda: metrics.npmi_coherence(fitted(), X), "give its array, components_"),
        (lambda: perplexity(2), "sums to 2, but probabilities sum to one"),
        (lambda: ComponentSearchCV(FEW, {"n_components": [3]}).fit(X), "such as [5, 10]"),
        (lambda: seeds("word1"), "give a list, ['word1']"),
        (lambda: seeds(["zebra"]), "Given are 'zebra'; X has 60 columns"),
        (lambda: pairs(count="item"), "pandas.to_numeric"),
        (lambda: pairs(count="n", like=PAIRS), "should be the Dyads fitted, got DataFrame"),
    ],
)
def test_other_functions_say_what_to_give(call, told):
    assert [told in message for _, message in outcomes(call)] == [True]


def test_factors_that_are_probabilities_are_scored():
    assert perplexity(1) > 1
