import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import VarianceThreshold
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skcooc import AspectModel, AveragedModels, NamedCounts, RowMemory
from skcooc.metrics import make_text_scorer
from tests.cases import FAST
from tests.tables import refused

RNG = np.random.default_rng(0)
TOPICS = [[f"{name}{j}" for j in range(60)] for name in ("sport", "film", "bank")]


def text(topic):
    """Half of the words are of the topic, the others are ten that all texts share."""
    words = np.where(RNG.random(60) < 0.5, RNG.choice(TOPICS[topic], 60), "")
    return " ".join(word or f"common{RNG.integers(10)}" for word in words)


TEXTS = [text(n % 3) for n in range(150)]
TRAIN, TEST = TEXTS[:100], TEXTS[100:]
REFERENCE = CountVectorizer().fit(TEXTS)
SCORER = make_text_scorer(REFERENCE)
MODEL = AspectModel(3, beta=0.9, **FAST)


def fitted(*steps):
    return clone(make_pipeline(*steps)).fit(TRAIN)


def halves(text):
    words = text.split()
    first = [n // 5 % 2 == 0 for n in range(len(words))]
    pairs = list(zip(words, first, strict=True))
    return [word for word, one in pairs if one], [word for word, one in pairs if not one]


def literal(pipeline, column_of, texts=TEST):
    """(mean log-likelihood, sums of the distributions), word by word."""
    model = pipeline[-1]
    words = list(REFERENCE.get_feature_names_out())
    n = 1.0 + REFERENCE.transform(texts).toarray().sum(axis=0)
    b = dict(zip(words, n / n.sum(), strict=True))
    logs, sums = [], []
    for text in texts:
        first, second = halves(text)
        for known, scored in ((first, second), (second, first)):
            counts = pipeline[:-1].transform([" ".join(known)])
            t = model.transform(counts)[0] ** 2
            P = t / t.sum() @ model.components_
            P = (1 - model.smoothing_) * P + model.smoothing_ * model.unigram_
            r = dict.fromkeys(words, 1.0)
            for word in words:
                if (column := column_of(word)) is not None:
                    r[word] = P[column] / model.unigram_[column]
            new = [word for word in words if word not in known]
            total = sum(b[word] * r[word] for word in new)
            p = {word: b[word] * r[word] / total for word in new}
            sums.append(sum(p.values()))
            logs += [np.log(p[word]) for word in scored if word in p]
    return np.mean(logs), sums


def test_the_score_is_the_definition():
    for options in ({}, {"min_df": 12}, {"max_df": 0.2}):
        pipeline = fitted(CountVectorizer(**options), MODEL)
        expected, sums = literal(pipeline, pipeline[0].vocabulary_.get)
        np.testing.assert_allclose(sums, 1)
        assert SCORER(pipeline, TEST) == pytest.approx(expected)


def stems(text):
    return re.sub(r"\d\b", "", text).split()  # sport41 and sport42 become sport4


def test_words_may_share_a_column_or_have_none():
    pipeline = fitted(CountVectorizer(analyzer=stems), MODEL)
    expected, sums = literal(pipeline, lambda word: pipeline[0].vocabulary_.get(stems(word)[0]))
    np.testing.assert_allclose(sums, 1)
    assert SCORER(pipeline, TEST) == pytest.approx(expected)


def test_selectors_names_n_grams_and_other_models():
    plain = fitted(CountVectorizer(), MODEL)
    named = fitted(NamedCounts(CountVectorizer()), MODEL)
    assert SCORER(named, TEST) == pytest.approx(SCORER(plain, TEST))
    assert SCORER(plain, pd.Series(TEST)) == SCORER(plain, np.array(TEST)) == SCORER(plain, TEST)
    selected = fitted(NamedCounts(CountVectorizer()), VarianceThreshold(0.2), MODEL)
    columns = {name: j for j, name in enumerate(selected[:-1].get_feature_names_out())}
    assert 0 < len(columns) < len(REFERENCE.vocabulary_)
    assert SCORER(selected, TEST) == pytest.approx(literal(selected, columns.get)[0])
    nothing = SCORER(fitted(CountVectorizer(), AspectModel(1, beta=1.0)), TEST)
    for vectorizer, model in (
        (CountVectorizer(ngram_range=(1, 2), min_df=2), MODEL),
        (CountVectorizer(), AveragedModels(MODEL, 2, max_iter=4, random_state=0)),
        (CountVectorizer(), RowMemory(MODEL)),
        (CountVectorizer(), RowMemory(MODEL, neighbors=5)),
    ):
        assert SCORER(fitted(vectorizer, model), TEST) > nothing + 0.3


@pytest.mark.filterwarnings("ignore:Topics are nearly equal")
def test_a_search_takes_the_vocabulary_with_the_topics():
    pipeline = make_pipeline(CountVectorizer(), MODEL)
    grid = {"countvectorizer__min_df": [1, 0.3]}  # all words, or those that all texts share
    by_score = GridSearchCV(pipeline, grid, cv=3).fit(TEXTS)
    assert by_score.best_params_["countvectorizer__min_df"] == 0.3
    search = GridSearchCV(pipeline, grid, cv=3, scoring=SCORER).fit(TEXTS)
    assert search.best_params_["countvectorizer__min_df"] == 1
    assert SCORER(search, TEST) == SCORER(search.best_estimator_, TEST)
    few = GridSearchCV(pipeline, {"aspectmodel__n_components": [1, 3]}, cv=3, scoring=SCORER)
    assert few.fit(TEXTS).best_params_ == {"aspectmodel__n_components": 3}


def test_short_texts_and_texts_without_blanks():
    pipeline = fitted(CountVectorizer(), MODEL)
    with warnings.catch_warnings(action="error"):
        assert SCORER(pipeline, ["", "sport1", *TEST]) < 0
        assert np.isfinite(SCORER(pipeline, ["sport1 sport2 sport3", "film1 film2"]))
    texts = ["".join(RNG.choice(list(script), 80)) for script in 10 * ["甲乙丙丁戊", "己庚辛壬癸"]]
    scorer = make_text_scorer(CountVectorizer(analyzer="char").fit(texts))
    pipeline = make_pipeline(
        CountVectorizer(analyzer="char"), AspectModel(2, beta=0.9, **FAST)
    ).fit(texts)
    assert np.isfinite(scorer(pipeline, ["甲" * 30 + "乙" * 30]))


def test_what_is_no_text_scorer_is_refused():
    pipeline = fitted(CountVectorizer(), MODEL)
    frame = pd.DataFrame({"text": TEST})
    for X in (frame, "one text", REFERENCE.transform(TEST), frame.to_numpy()):
        refused("X should be texts, one for each row", SCORER, pipeline, X)
    for X in ([text.split() for text in TEST], [None, *TEST]):
        refused("X should be texts, but one of its items", SCORER, pipeline, X)
    model = clone(MODEL).fit(REFERENCE.transform(TRAIN))
    refused("AspectModel has none: give a pipeline", SCORER, model, TEST)
    refused("Pipeline has none: give a pipeline", SCORER, make_pipeline(model), TEST)
    two = fitted(CountVectorizer(ngram_range=(2, 2)), MODEL)
    refused("counts none of the 190 reference words", SCORER, two, TEST)
    refused("no words to score", SCORER, pipeline, ["sport1 sport1", ""])
    weights = make_text_scorer(TfidfVectorizer().fit(TEXTS))
    refused("TfidfVectorizer gives weights", weights, pipeline, TEST)
    refused("0 sample", SCORER, pipeline, [])
    refused("CountVectorizer is not fitted", make_text_scorer, CountVectorizer())
    refused("'reference_vectorizer' parameter", make_text_scorer, TEXTS)
    topics = fitted(CountVectorizer(), LatentDirichletAllocation(2, max_iter=1))
    with pytest.raises(TypeError, match="make_text_scorer needs a fitted model of skcooc"):
        SCORER(topics, TEST)
