"""Usual mistakes, as docs/howto/mistakes.md lists them: errors, warnings and remedies."""

import re
import warnings
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfVectorizer,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import skcooc
from skcooc import (
    AspectModel,
    AsymmetricClustering,
    ClusteringProjection,
    Dyads,
    GuidedAspectModel,
    RowMemory,
    SymmetricClustering,
    inspection,
    metrics,
    open_table,
    save_table,
)
from skcooc.anndata import fit_topics
from skcooc.datasets import make_cooccurrences
from skcooc.image import TextureSegmenter, grid_coarsening
from skcooc.model_selection import ComponentSearchCV, CountSplit, split_counts
from skcooc.plotting import (
    HierarchyDisplay,
    KSelectionDisplay,
    PerplexityDisplay,
    SegmentationDisplay,
    StructureDisplay,
    TopicsDisplay,
)
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


MISTAKES = {
    "fit tf-idf": lambda: fit_counted(TfidfVectorizer()),
    "fit a normalised HashingVectorizer": lambda: fit_counted(
        HashingVectorizer(n_features=64, alternate_sign=False)
    ),
    "fit a signed HashingVectorizer": lambda: fit_counted(HashingVectorizer(n_features=64)),
    "fit shares of rows": lambda: FEW.fit(shares()),
    "fit log(1 + n)": lambda: FEW.fit(np.log1p(X)),
    "fit scanpy's normalised logarithms": lambda: FEW.fit(np.log1p(shares(1e4))),
    "cluster by a similarity matrix": lambda: AsymmetricClustering().fit(similarities()),
    "centre the columns": lambda: FEW.fit(X - X.mean(axis=0)),
    "pivot without fill_value": lambda: FEW.fit(
        PAIRS.pivot(index="user", columns="item", values="n")
    ),
    "fit texts": lambda: FEW.fit(TEXTS),
    "fit lists of tokens": lambda: FEW.fit([text.split() for text in TEXTS]),
    "fit a corpus of gensim": lambda: FEW.fit([[(0, 1), (3, 2)], [(1, 1)]]),
    "fit dicts of counts": lambda: FEW.fit([{"cat": 1}, {"dog": 2}]),
    "fit a frame of pairs": lambda: FEW.fit(PAIRS),
    "give pairs of numbers to Dyads": lambda: Dyads(np.argwhere(X)),
    "pairs whose counts have an unusual name": lambda: Dyads.from_frame(
        PAIRS.rename(columns={"n": "plays"}), "user", "item"
    ),
    "ask for a row by the text of its number": lambda: FEW.fit(
        FRAME.set_axis(range(1, len(X) + 1))
    ).recommend(["7"]),
    "list each pair of words once": lambda: FEW.fit(np.triu(X[:60, :60], 1)),
    "fit pairs of numbers": lambda: ASPECTS.fit(np.argwhere(X)),
    "keep a column of names": lambda: FEW.fit(FRAME.assign(id="name")),
    "keep a column of dates": lambda: FEW.fit(FRAME.assign(date=pd.Timestamp("2020-01-01"))),
    "keep a column of row numbers": lambda: FEW.fit(FRAME.assign(id=range(len(X)))),
    "keep a column of measurements": lambda: FEW.fit(FRAME.assign(pH=np.linspace(6, 8, len(X)))),
    "keep the totals of a crosstab": lambda: FEW.fit(
        pd.crosstab(PAIRS["user"], PAIRS["item"], margins=True)
    ),
    "keep a row with most tokens": lambda: FEW.fit(np.vstack([X, np.full(X.shape[1], 1e6)])),
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
    "predict the words of a vectorizer that is not fitted": lambda: metrics.make_text_scorer(
        CountVectorizer()
    ),
    "topics that are nearly equal": lambda: AspectModel(12, beta=0.75, random_state=0).fit(X),
}


def listed(page):
    """(mistake, class, part of the message) of each row of the table, without code marks."""
    cells = re.findall(r"^\| (?!mistake)(.*?) \| (.*?) \| (.*) \|$", page.replace("`", ""), re.M)
    return {mistake: (kind, told) for mistake, kind, told in cells}


LISTED = listed(PAGE.read_text(encoding="utf-8"))


def test_the_page_lists_what_is_tried_here():
    assert list(LISTED) == list(MISTAKES)


def outcomes(call):
    """(names of classes, message) of all warnings, and of an error."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            call()
        except Exception as error:
            yield {kind.__name__ for kind in type(error).__mro__}, str(error)
        for warning in told:
            yield {kind.__name__ for kind in warning.category.__mro__}, str(warning.message)


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


def test_a_warning_names_the_line_of_the_user():
    model, nothing = AspectModel(2, beta=1, max_iter=1, random_state=0), np.zeros_like(X[:2])
    with warnings.catch_warnings(record=True, action="always") as caught:
        model.fit_transform(X)
        model.transform(nothing)
        model.recommend(nothing, 2)
        with pytest.raises(ValueError, match="no tokens to score"):
            model.perplexity(nothing)
        ComponentSearchCV(model, [2, 3], cv=2).fit(X)
        exec("model.fit(X)", {"model": model, "X": X})  # in a module without a name
    assert len(caught) > 6
    assert {warning.filename for warning in caught[:-1]} == {__file__}
    assert caught[-1].filename == "<string>"


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
    for sides in (SymmetricClustering(), ClusteringProjection()):  # no private name, no other side
        with pytest.raises(AttributeError, match=r"Use predict_proba\(X\)$"):
            sides.posteriors_  # noqa: B018
    with pytest.raises(AttributeError, match="fitted to rows without names"):
        AspectModel(1).fit(X).row_names_in_  # noqa: B018
    with warnings.catch_warnings(action="error"):  # small values are no logarithms
        AspectModel(1).fit(X / 1e9)
    with warnings.catch_warnings(action="error"):  # other tables than the training table
        model.perplexity(FRAME[::-1])
        model.score(FRAME)
        train, test = split_counts(Dyads(FRAME), random_state=0)  # which have names, too
        memory, topics = (one.fit(train) for one in (RowMemory(), AspectModel(2, beta=0.9)))
        memory.perplexity(test), topics.perplexity(test)
    for fit in (memory, topics):
        with pytest.warns(UserWarning, match="X is the training table"):
            fit.perplexity(train)


def seeds(columns):
    return GuidedAspectModel(3, seed_features={"a": columns}).fit(FRAME)


def pairs(frame=PAIRS, **options):
    return Dyads.from_frame(frame, "user", "item", **options)


def perplexity(factor):
    return metrics.perplexity(X, fitted().embedding_ * factor, fitted().components_)


ADATA, MIXTURES = SimpleNamespace(n_vars=60), shares()
FIGURE = TopicsDisplay([])
NEW = ComponentSearchCV(ASPECTS)

OTHER_CALLS = {  # what to write instead, or what is wrong: calls
    "a fitted model of topics or clusters has": [lambda: inspection.describe(X, fitted())],
    "columns: give a name for each (of texts: get_feature_names_out() of the vectorizer": [
        lambda: inspection.describe(FEW.fit(X), ["a"])
    ],
    "give its get_feature_names_out()": [
        lambda: inspection.describe(fitted(), CountVectorizer()),
        lambda: inspection.explore(fitted(), X, CountVectorizer()),
    ],
    "Did you mean n_features?": [
        lambda: inspection.describe(fitted(), n_words=5),
        lambda: inspection.top_features(fitted(), top_n=5),
    ],
    "give vectorizer.transform(X)": [
        lambda: inspection.explore(fitted(), TEXTS),
        lambda: inspection.explore(fitted(), np.array(TEXTS)),
    ],
    "Use save(path)": [lambda: inspection.Explorer({}, "a page").show],
    "give its embedding_": [lambda: inspection.nearest_rows(fitted(), [0])],
    "rows that sum to one": [lambda: inspection.nearest_rows(X, [0])],
    "and shape (80, 60)": [lambda: inspection.nearest_rows(MIXTURES, X)],
    "give model.transform(X)": [lambda: inspection.Mixtures(fitted())],
    "AspectModel(...)": [
        lambda: inspection.topic_stability(AspectModel, X),
        lambda: fit_topics(ADATA, AspectModel),
        lambda: ComponentSearchCV(AspectModel, [2, 3]),
        lambda: skcooc.AveragedModels(AspectModel),
        lambda: skcooc.RowMemory(estimator=AspectModel),
    ],
    "a model that is not fitted yet, got ndarray": [lambda: inspection.topic_stability(X, FEW)],
    "by is None": [lambda: inspection.compare_shares(fitted(), None)],
    "many groups have a single row. Give labels that several rows share": [
        lambda: inspection.topic_shares(fitted(), MIXTURES[:, 0] + np.arange(80) / 99, X=FRAME)
    ],
    "two topics or more": [lambda: inspection.merge_topics(fitted(), [[0]])],
    "which ClusterAbstraction has": [
        lambda: inspection.export_text(fitted()),
        lambda: HierarchyDisplay.from_estimator(fitted()),
    ],
    "which a fitted ComponentSearchCV has": [lambda: KSelectionDisplay.from_search(fitted())],
    "fitted with n_components='auto'": [lambda: KSelectionDisplay.from_estimator(fitted())],
    "draw a model by from_estimator": [lambda: PerplexityDisplay.from_search(fitted())],
    "Draw a model by TopicsDisplay.from_estimator": [lambda: TopicsDisplay(fitted())],
    "axes[0] or axes[1]": [
        lambda: TopicsDisplay.from_estimator(fitted(), ax=np.empty(2)),
        lambda: StructureDisplay.from_estimator(fitted(), ax=object()),
    ],
    "or their numbers": [lambda: TopicsDisplay.from_estimator(fitted(), topics="tea")],
    "not drawn yet, call plot first": [lambda: FIGURE.save("topics.svg")],
    "Use matplotlib.pyplot.show()": [lambda: FIGURE.show],
    "labels should be whole numbers": [lambda: SegmentationDisplay.from_labels(X, X / 2)],
    "embedding_ and components_": [lambda: metrics.perplexity(X, fitted(), fitted())],
    "give its components_": [lambda: metrics.npmi_coherence(fitted(), X)],
    "sums to 2, but probabilities sum to one": [lambda: perplexity(2)],
    "such as unigram(X_train)": [
        lambda: metrics.best_smoothing(X, MIXTURES[:, :1], np.full((1, 60), 1 / 60), X.sum(axis=0))
    ],
    "give skcooc.heldout.Factors(": [
        lambda: metrics.perplexity_of(X, fitted()),
        lambda: metrics.unseen_perplexity(X, fitted(), X),
        lambda: metrics.best_weights(X, [fitted()]),
    ],
    "X is an estimator, AspectModel: give the counts": [
        lambda: metrics.unigram(fitted()),
        lambda: FEW.fit(fitted()),
    ],
    "give its labels_": [lambda: metrics.clustering_accuracy(X[:, 0], AsymmetricClustering())],
    "with a row for each object": [lambda: metrics.mutual_information(X[0])],
    "count the words of texts": [
        lambda: metrics.npmi_coherence(X, TEXTS),
        lambda: split_counts(TEXTS),
        lambda: Dyads(TEXTS),
        lambda: ComponentSearchCV(FEW).fit(TEXTS),
    ],
    "np.argsort(-items)": [lambda: metrics.recall_at_k(X, MIXTURES)],
    "'skcooc.tables.dyads.Dyads' or None": [lambda: metrics.make_ranking_scorer(X)],
    "use scikit-learn's OneHotEncoder": [
        lambda: FEW.fit(pd.DataFrame({"q1": ["never", "often"], "q2": ["yes", "no"]}))
    ],
    "give X.X, or X.data, which are counted first": [lambda: FEW.fit(make_cooccurrences(9, 9, 2))],
    "Did you mean n_rows?": [lambda: make_cooccurrences(n_samples=9)],
    "'brick.png': read it": [lambda: TextureSegmenter().fit("brick.png")],
    "Did you mean n_segments?": [lambda: TextureSegmenter(n_clusters=3)],
    "not fitted yet, call fit first": [lambda: TextureSegmenter().labels_, lambda: NEW.cv_results_],
    "shape=ndarray should be": [lambda: grid_coarsening(X)],
    "before the model": [lambda: fit_topics(FEW, ADATA), lambda: fit_topics(X, FEW)],
    "Use kneighbors(X)": [lambda: skcooc.AspectRetriever().search],
    "Did you mean candidates?": [
        lambda: ComponentSearchCV(FEW, n_components=[3]),
        lambda: ComponentSearchCV(FEW, param_grid={}),
    ],
    "such as [5, 10]": [lambda: ComponentSearchCV(FEW, {"n_components": [3]}).fit(X)],
    "Did you mean n_components_per_class?": [lambda: skcooc.AspectClassifier(K=3)],
    "Did you mean n_estimators?": [lambda: skcooc.AveragedModels(FEW, n_models=3)],
    "Did you mean neighbors?": [lambda: skcooc.RowMemory(FEW, k=3)],
    "Did you mean concentration?": [lambda: skcooc.RowMemory(FEW, alpha=1)],
    "test_size must be an instance of float": [lambda: split_counts(X, X)],
    "n_splits must be an instance of int": [lambda: CountSplit(X)],
    "a folder that save_table wrote": [lambda: open_table("missing")],
    "'path' parameter of open_table": [lambda: open_table(X)],
    "'path' parameter of DiskTable": [lambda: skcooc.DiskTable(X)],
    "'path' parameter of save_table": [lambda: save_table(X, "table")],
    "blocks is an estimator": [lambda: save_table("table", fitted())],
    "give tables, or open_table(path)": [lambda: skcooc.RowBlocks("table")],
    "give a list, ['word1']": [lambda: seeds("word1")],
    "Given are 'zebra'; X has 60 columns": [lambda: seeds(["zebra"])],
    "pandas.to_numeric": [lambda: pairs(PAIRS.astype(str), count="n")],
    "count='n', or count=None": [lambda: pairs(), lambda: pairs(PAIRS.assign(weight=1))],
    "'user', 'user' should be different columns": [lambda: Dyads.from_frame(PAIRS, "user", "user")],
    "To give the columns themselves, use Dyads.from_pairs": [
        lambda: Dyads.from_frame(PAIRS, PAIRS["user"], PAIRS["item"])
    ],
    "Read files first": [lambda: pairs("pairs.csv")],
    "give Dyads(frame).": [lambda: pairs(PAIRS.pivot(index="user", columns="item", values="n"))],
    "Dyads.from_pairs(*zip(*frame))": [
        lambda: pairs([("ann", "tea"), ("bob", "ale")]),
        lambda: pairs(PAIRS.to_numpy()),
        lambda: pairs(pair for pair in [("ann", "tea")]),
    ],
    "frame.explode('items')": [lambda: pairs(PAIRS.groupby("user", as_index=False).agg(list))],
    "Dyads.from_pairs(rows, columns, counts)": [lambda: Dyads(["old", "new"], ["man", "house"])],
    "takes counts of a corpus second": [lambda: metrics.npmi_coherence(X, FEW.fit(X).components_)],
    "begins with https://": [lambda: inspection.explore(fitted(), X, image="topics.png")],
    "a RowBlocks: give its blocks": [lambda: split_counts(skcooc.RowBlocks(X))],
    "should be the Dyads fitted, got DataFrame": [lambda: pairs(count="n", like=PAIRS)],
}


@pytest.mark.parametrize("told", OTHER_CALLS)
def test_other_functions_say_what_to_give(told):
    for call in OTHER_CALLS[told]:
        assert [told in message for _, message in outcomes(call)] == [True], call


def test_one_table_is_saved_as_blocks_of_it_are(tmp_path):
    tables = (X, FRAME, pl.from_pandas(FRAME), pl.from_pandas(FRAME).to_arrow(), sp.csr_array(X))
    for n, blocks in enumerate((*tables, Dyads(X), [X[:9], X[9:]])):
        save_table(tmp_path / str(n), blocks)
        (table,) = open_table(tmp_path / str(n))
        np.testing.assert_array_equal(table.toarray(), X)
    assert skcooc.RowBlocks(X).shape == X.shape


def test_textures_are_segmented_without_a_warning():
    pytest.importorskip("skimage", reason="needs scikit-image")
    rough = np.random.default_rng(0).normal(size=(32, 32))
    with warnings.catch_warnings(action="error"):
        TextureSegmenter(2, n_init=1, random_state=0).fit(np.hstack([rough, rough.cumsum(axis=1)]))


def test_factors_that_are_probabilities_are_scored():
    assert perplexity(1) > 1
