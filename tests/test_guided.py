"""What the user knows: seeds, given topics, expected counts, groups of rows."""

import copy
import warnings
from functools import cache

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

from skcooc import (
    AspectModel,
    AveragedModels,
    DiskTable,
    Dyads,
    GuidedAspectModel,
    InterpolatedModels,
    RowBlocks,
    RowMemory,
    open_table,
    save_table,
)
from skcooc.inspection import (
    describe,
    distinguishing_features,
    drop_topics,
    merge_topics,
    set_names,
    top_features,
    topic_shares,
)
from skcooc.model_selection import (
    ComponentSearchCV,
    CountSplit,
    split_counts,
)
from tests.tables import MANY_THREADS, occupied, planted, refused

pytestmark = pytest.mark.filterwarnings("ignore:EM did not converge")

FAST = {"beta": 0.9, "max_iter": 15, "tol": 1e-3, "random_state": 0}
TRUTH = planted(3, 4000)
X = TRUTH.X.astype(float)
N, M = X.shape
WORDS = np.array([f"w{j}" for j in range(M)])
TYPICAL = (TRUTH.components / TRUTH.components.sum(axis=0)).argsort(axis=1)[:, -4:]
SEEDS = {"sky": TYPICAL[2, :2].tolist(), "sea": TYPICAL[0, :2].tolist()}  # of topics 2 and 0
GROUPS = np.array(["b", "a", "c"], dtype=object)[np.random.default_rng(0).integers(3, size=N)]
EFFECTS = ["topics", "columns", "both"]


def seeded(n_components=3, seeds=None, **params):
    return GuidedAspectModel(
        n_components, seed_features=SEEDS if seeds is None else seeds, **{**FAST, **params}
    )


def grouped(effects="both", n_components=3, **params):
    return GuidedAspectModel(n_components, group_effects=effects, **{**FAST, **params})


@cache
def with_seeds():
    return seeded().fit(X)


@cache
def with_batches():
    return grouped().fit(X, groups=GROUPS)


def factors_of(model):
    """Factors of the columns; 1 where only topics have effects of groups."""
    if model.group_effects == "topics":
        assert not hasattr(model, "column_factors_")
        return np.ones((len(model.groups_), len(model.unigram_)))
    return model.column_factors_


def test_topics_that_hold_little_but_their_seeds_are_doubted():
    options = {"leave_one_out": False, **FAST}
    for changed in ({}, {"leave_one_out": True}, {"group_effects": "columns"}):
        model = GuidedAspectModel(3, seed_features=SEEDS, **{**options, **changed})
        groups = {"groups": GROUPS} if "group_effects" in changed else {}
        with pytest.warns(UserWarning, match="mostly of their seeds: 'sky'.*=0.9 "):
            clone(model).set_params(seed_strength=0.9).fit(X, **groups)
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            warnings.filterwarnings("ignore", "EM did not converge")
            clone(model).fit(X, **groups)


def assert_same(one, other, tolerance=0.0):
    names = ["components_", "embedding_", "weights_"]
    if one.group_effects is not None:
        names += ["group_distribution_"]
        np.testing.assert_allclose(factors_of(one), factors_of(other), rtol=tolerance)
    for name in names:
        values = getattr(one, name), getattr(other, name)
        np.testing.assert_allclose(*values, rtol=tolerance, atol=tolerance, err_msg=name)


# Seeds and given topics.


def test_seeds_name_the_planted_topics():
    assert with_seeds().component_names_ == {0: "sky", 1: "sea"}
    overlap = np.sqrt(with_seeds().components_) @ np.sqrt(TRUTH.components).T
    assert overlap.argmax(axis=1).tolist() == [2, 0, 1]
    best = TRUTH.mixtures.argmax(axis=1)
    named = best != 1
    expected = np.where(best == 2, "sky", "sea")[named]
    assert (with_seeds().predict(X)[named] == expected).mean() > 0.9
    swapped = seeded(seeds={"sea": SEEDS["sea"], "sky": SEEDS["sky"]}).fit(X)
    overlap = np.sqrt(swapped.components_) @ np.sqrt(TRUTH.components).T
    assert overlap.argmax(axis=1).tolist() == [0, 2, 1]


def test_names_of_columns_come_from_the_table_or_from_the_user():
    names = {topic: WORDS[places].tolist() for topic, places in SEEDS.items()}
    frame = pd.DataFrame(X.toarray(), columns=WORDS)
    for model in (
        seeded(seeds=names).fit(frame),
        seeded(seeds=names).fit(Dyads(X, column_names=WORDS)),
        seeded(seeds=names, feature_names=WORDS).fit(X),
        seeded(seeds=names, feature_names=WORDS).fit(Dyads(X)),
    ):
        np.testing.assert_allclose(model.components_, with_seeds().components_, rtol=1e-12)
    refused(
        "X has no names of columns: put NamedCounts .* or set feature_names",
        seeded(seeds=names).fit,
        X,
    )
    refused(r"feature_names has the shape \(3,\)", seeded(feature_names=["a"] * 3).fit, X)
    other = seeded(seeds=names, feature_names=WORDS[::-1])
    refused("has the columns of X in another order: leave feature_names", other.fit, frame)
    of_numbers = seeded(seeds={7: SEEDS["sky"]}).fit(X)
    assert of_numbers.get_feature_names_out()[0] == "7"


def test_unknown_seeds_are_said():
    with pytest.warns(UserWarning, match="2 of the seeds are not columns of X, such as 'rain'"):
        found = seeded(seeds={"sky": [*SEEDS["sky"], "rain", M], "sea": SEEDS["sea"]}).fit(X)
    assert_same(found, with_seeds())
    for given, unknown in {"'rain'": {"rain"}, "none": [], "-1": [-1], f"{M}": [M]}.items():
        what = f"None of the seeds of 'sky' is a column of X.*Given are {given};"
        refused(what, seeded(seeds={"sky": unknown}).fit, X)
    first = WORDS[SEEDS["sky"][0]]
    model = seeded(seeds={"sky": [first.upper()]}, feature_names=WORDS)
    refused(f"has {M} columns, such as '{first}'", model.fit, X)
    with pytest.warns(UserWarning, match=f"'{first.upper()}'; X has '{first}'"):
        model.set_params(seed_features={"sky": [first, first.upper()]}).fit(X)
    refused("is less than the number of topics .* named or given, 2", seeded(1).fit, X)
    same = seeded(3).set_params(fixed_components={"sky": np.ones(M)})
    refused("Two topics have the name", same.fit, X)


def test_numbers_that_are_names_of_columns_are_no_positions():
    numbers = np.arange(M)[::-1] + 5
    named = {topic: numbers[places].tolist() for topic, places in SEEDS.items()}
    frame = pd.DataFrame(X.toarray(), columns=numbers)
    model = seeded(seeds=named)
    assert_same(model.fit(frame), seeded().fit(X.toarray()))
    others = InterpolatedModels([("seeded", model)], random_state=0)
    assert others.fit(frame).smoothing_ == clone(others).fit(Dyads(frame)).smoothing_
    for unknown in ([2], [7.5], ["7"]):
        refused("None of the seeds of 'sky'", seeded(seeds={"sky": unknown}).fit, frame)
    refused("None of the seeds of 'sky'", seeded(seeds={"sky": [7.5]}).fit, X)


def test_topics_in_a_frame_have_the_columns_of_the_table():
    frame = pd.DataFrame(X.toarray(), columns=WORDS)
    topics = pd.DataFrame(TRUTH.components[:2] + 1e-3, columns=WORDS)
    plain = GuidedAspectModel(2, fixed_components=topics, **FAST)
    assert_same(plain.fit(frame), clone(plain).set_params(fixed_components=topics.values).fit(X))
    other = topics.add_prefix("new ")
    for given in ({"fixed_components": other}, {"fixed_components": {"first": other.iloc[0]}},
                  {"component_prior": other}):  # fmt: skip
        model = clone(plain).set_params(**{"fixed_components": None, **given})
        refused("None of the 60 columns of .*, such as 'new w0', is", model.fit, frame)
        model.fit(X.toarray())


def test_no_knowledge_is_a_plain_aspect_model():
    options = {"beta": 1.0, "max_iter": 20, "random_state": 0, "component_prior": 0.0}
    dense = occupied(X)
    plain = AspectModel(3, **options)
    for model, table in (
        (GuidedAspectModel(3, **options), X),
        (GuidedAspectModel(3, seed_features={}, seed_strength=0.5, **options), X),
        (AspectModel(3, **{**options, "component_prior": np.zeros((3, dense.shape[1]))}), dense),
    ):
        found, plain = model.fit(table), plain.fit(table)
        np.testing.assert_allclose(found.components_, plain.components_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(
            found.transform(table), plain.transform(table), rtol=1e-8, atol=1e-10
        )
        assert found.objective_ == pytest.approx(plain.objective_, rel=1e-12)


def test_given_topics_stay_and_have_names():
    given = np.where(np.arange(M) < 20, 3.0, 0.0)  # has zeros, and another sum
    for dtype in (np.float32, np.float64):
        for options in ({}, {"component_prior": 0.1}, {"leave_one_out": True}):
            for solver in (1.8, "momentum"):
                model = seeded(4, fixed_components={"mine": given}, solver=solver, **options)
                model.fit(X.astype(dtype))
                expected = (given / given.sum()).astype(dtype)
                np.testing.assert_array_equal(model.components_[2], expected)
                assert np.isfinite(model.objective_)
    assert model.component_names_ == {0: "sky", 1: "sea", 2: "mine"}
    assert model.get_feature_names_out().tolist() == ["sky", "sea", "mine", "guidedaspectmodel3"]
    assert set(model.predict(X)) <= {"sky", "sea", "mine"}
    unnamed = GuidedAspectModel(3, fixed_components=TRUTH.components[:2], **FAST).fit(X)
    assert unnamed.component_names_ == {0: "given 0", 1: "given 1"}
    np.testing.assert_allclose(unnamed.components_[:2], TRUTH.components[:2], rtol=1e-12)
    assert np.sqrt(unnamed.components_[2]) @ np.sqrt(TRUTH.components[2]) > 0.95
    for bad in (given[:-1], -given, 0 * given, np.where(given, given, np.inf)):
        refused("The given topic 'mine' must have 60 numbers", seeded(4, fixed_components={
            "mine": bad
        }).fit, X)  # fmt: skip


def test_expected_counts_are_a_prior():
    table = np.random.default_rng(1).random((3, M)) + 0.1
    huge = AspectModel(3, component_prior=1e9 * table, **FAST).fit(X)
    np.testing.assert_allclose(
        huge.components_, table / table.sum(axis=1, keepdims=True), rtol=1e-4
    )
    mine = AspectModel(3, component_prior=50 * TRUTH.components, **FAST).fit(X)
    overlap = np.sqrt(mine.components_) @ np.sqrt(TRUTH.components).T
    assert overlap.argmax(axis=1).tolist() == [0, 1, 2]  # topics keep their places
    dense = occupied(X)
    numbers = np.full((3, dense.shape[1]), 0.5)
    equal = AspectModel(3, component_prior=numbers, **FAST).fit(dense)  # like a number
    plain = AspectModel(3, component_prior=0.5, **FAST).fit(dense)
    assert equal.objective_ == pytest.approx(plain.objective_, rel=1e-3)
    bad = AspectModel(3, component_prior=np.ones((2, M)), **FAST)
    refused(r"component_prior is an array of shape \(2, 60\)", bad.fit, X)
    bad = AspectModel(3, component_prior=-table, **FAST)
    refused("Negative values in data passed to component_prior", bad.fit, X)


# Groups of rows.


def cells(seed=3, n_rows=200, n_columns=120, K=4, sd=0.6):
    """Simulated cells of four programmes in three batches with log-normal effects."""
    rng = np.random.default_rng(seed)
    levels = np.tile(rng.lognormal(0, 1, n_columns), (K, 1))
    raised = rng.random(levels.shape) < 0.15
    levels *= np.where(raised, rng.lognormal(1.2, 0.4, levels.shape), 1)
    use, batch = rng.dirichlet(np.full(K, 0.3), n_rows), rng.integers(3, size=n_rows)
    factors = rng.lognormal(0, sd, (3, n_columns))
    means = use @ (levels / levels.sum(axis=1, keepdims=True)) * factors[batch]
    counts = rng.poisson(800 * means / means.sum(axis=1, keepdims=True)).astype(float)
    return counts, use, batch, factors


def correlation(use, found):
    """Mean over the planted programmes, of the best topic of each."""
    K = use.shape[1]
    return np.corrcoef(use.T, found.T)[:K, K:].max(axis=1).mean()


def test_factors_of_columns_take_the_batch_out():
    options = {"beta": 1.0, "max_iter": 60, "random_state": 0}
    counts, use, batch, factors = cells()
    plain = AspectModel(4, **options).fit(counts)
    model = GuidedAspectModel(4, group_effects="columns", **options).fit(counts, groups=batch)
    assert correlation(use, model.embedding_) > 0.9
    assert correlation(use, plain.embedding_) < 0.8
    found, true = (np.log(F) - np.log(F).mean(axis=0) for F in (model.column_factors_, factors))
    assert np.corrcoef(found.ravel(), true.ravel())[0, 1] > 0.95
    np.testing.assert_allclose(np.exp(np.log(model.column_factors_).mean(axis=0)), 1)
    new = model.transform(counts[:50], groups=batch[:50])
    assert correlation(use[:50], new) > 0.9
    test = split_counts(counts, random_state=0)[1]
    assert model.score(Dyads(test)) > plain.score(Dyads(test))


def test_shares_of_groups_help_rows_of_few_tokens():
    rng = np.random.default_rng(2)
    batch = np.arange(N) % 2
    use = np.array([[0.9, 0.05, 0.05], [0.05, 0.05, 0.9]])[batch]
    means = use @ TRUTH.components
    table = np.array([rng.multinomial(60, row / row.sum()) for row in means]).astype(float)
    short = np.array([rng.multinomial(2, row / row.sum()) for row in means]).astype(float)
    model = grouped("topics", row_prior=3.0).fit(table, groups=batch)
    plain = AspectModel(3, row_prior=3.0, **FAST).fit(table)
    with_groups = np.abs(model.transform(short, groups=batch) @ model.components_ - means).sum()
    assert with_groups < 0.5 * np.abs(plain.transform(short) @ plain.components_ - means).sum()
    assert with_groups < 0.5 * np.abs(model.transform(short) @ model.components_ - means).sum()
    empty = model.transform(np.zeros((3, M)), groups=[0, 1, None])
    expected = [*model.group_distribution_, model.weights_]
    np.testing.assert_allclose(empty, expected, rtol=1e-12)
    test = np.array([rng.multinomial(4, row / row.sum()) for row in means]).astype(float)
    assert model.score(test, groups=batch) > model.score(test)
    assert model.perplexity(test, groups=batch) == np.exp(-model.score(test, groups=batch))


@pytest.mark.parametrize("effects", EFFECTS)
def test_labels_and_order_of_groups_do_not_matter(effects):
    one = grouped(effects).fit(X, groups=GROUPS)
    other = np.array([{"a": 30, "b": 20, "c": 10}[g] for g in GROUPS])
    two = grouped(effects).fit(X, groups=other)
    assert (one.groups_.tolist(), two.groups_.tolist()) == (["a", "b", "c"], [10, 20, 30])
    np.testing.assert_allclose(two.components_, one.components_, rtol=1e-8)
    np.testing.assert_allclose(factors_of(two)[::-1], factors_of(one), rtol=1e-8)
    np.testing.assert_allclose(two.group_distribution_[::-1], one.group_distribution_, rtol=1e-8)
    np.testing.assert_allclose(one.group_distribution_.sum(axis=1), 1)


def test_rows_whose_group_is_unknown_have_no_factor_and_the_prior_of_all():
    rows, labels = X[:6], GROUPS[:6].copy()
    labels[1], labels[4] = None, "new"
    with pytest.warns(UserWarning, match=r"such as 'new': their 1 row\(s\) are treated as rows wi"):
        found = with_batches().transform(rows, groups=labels)
    without = with_batches().transform(rows)
    known = with_batches().transform(rows, groups=GROUPS[:6])
    np.testing.assert_array_equal(found[[1, 4]], without[[1, 4]])
    np.testing.assert_array_equal(found[[0, 2, 3, 5]], known[[0, 2, 3, 5]])
    assert np.abs(without - known).max() > 1e-3
    np.testing.assert_array_equal(with_batches().transform(rows, groups=[np.nan] * 6), without)


def test_groups_that_are_left_out_are_missed_where_columns_have_factors():
    model = with_batches()
    for method in (model.transform, model.score, model.perplexity):
        with pytest.warns(UserWarning, match="groups are not given: the factors are left out"):
            method(X[:6])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.transform(X[:6], groups=[None] * 6)
        model.score(Dyads(X))
        grouped("topics").fit(X, groups=GROUPS).transform(X[:6])
    with pytest.warns(UserWarning, match="X is the training table"):
        model.perplexity(X, groups=GROUPS)
    weighted = grouped("topics").fit(X, None, np.ones(N), groups=GROUPS)  # as of AspectModel
    assert_same(weighted, grouped("topics").fit(X, groups=GROUPS))


def test_inspection_knows_the_rows_of_batches_with_strong_effects():
    rng = np.random.default_rng(1)
    raised = 1 + 3 * np.kron(np.eye(4), np.ones((1, 37)))
    programmes = rng.gamma(2.0, size=148) * raised
    rates = rng.dirichlet(np.full(4, 0.3), 300) @ (programmes / programmes.sum(axis=1)[:, None])
    batch = rng.integers(0, 2, 300)
    rates = rates * rng.lognormal(0, 2, (2, 148))[batch]
    cells = rng.poisson(400 * rates / rates.sum(axis=1)[:, None])
    model = grouped("columns", 4).fit(cells, groups=batch)
    with pytest.warns(UserWarning, match="are left out"):
        unknown = model.transform(cells)
    assert np.median(np.abs(unknown - model.embedding_).sum(axis=1)) > 0.3
    shares = topic_shares(model, batch, X=cells)
    assert len(shares["share"]) == 8
    of_topics = grouped("topics", 4).fit(cells, groups=batch)
    topic_shares(of_topics, batch[:50], X=cells[:50])  # there are no factors to know


def test_factors_of_batches_of_other_topics_do_not_distinguish_topics():
    rng = np.random.default_rng(0)
    topics, batch = rng.dirichlet(np.ones(40), 2), np.repeat([0, 1], 200)
    mixtures = rng.dirichlet([3, 1], 400)
    mixtures[batch == 1] = mixtures[batch == 1, ::-1]
    rates = mixtures @ topics * np.vstack([np.ones(40), rng.lognormal(size=40)])[batch]
    cells = np.array([rng.multinomial(300, p) for p in rates / rates.sum(axis=1)[:, None]])
    options = {"fixed_components": topics, "beta": 1.0, "max_iter": 500, "tol": 1e-7}
    model = grouped("columns", 2, **options).fit(cells, groups=batch)
    found = distinguishing_features(model, cells, n_features=40)
    k, j = found["component"], found["feature"].str[1:].astype(int)
    errors = np.abs(found["log_ratio"] - np.log(topics[k, j] / topics[1 - k, j]))
    assert errors.median() < 0.25


@pytest.mark.parametrize("effects", EFFECTS)
def test_odd_groups(effects):
    """Unknown ones, one without counts, one of a single row, and only one."""
    table, labels = X.toarray(), GROUPS.copy()
    labels[:10], labels[10:13], labels[13] = None, "empty", "single"
    table[10:13] = 0
    model = grouped(effects).fit(table, groups=labels)
    assert model.groups_.tolist() == ["a", "b", "c", "empty", "single"]
    for values in (factors_of(model), model.group_distribution_, model.components_):
        assert np.isfinite(values).all()
        assert (values >= 0).all()
    np.testing.assert_allclose(model.group_distribution_[3], model.weights_, rtol=1e-6)
    new = model.transform(table, groups=labels)
    np.testing.assert_allclose(new.sum(axis=1), 1)
    assert np.isfinite(model.score(table, groups=labels))
    alone = grouped(effects).fit(X, groups=np.full(N, "all"))
    np.testing.assert_allclose(factors_of(alone), 1, rtol=1e-6)


def test_groups_and_effects_go_together_and_fit():
    message = "groups and group_effects go together"
    refused(message, grouped().fit, X)
    refused(message, seeded().fit, X, groups=GROUPS)
    refused("fitted with group_effects=None", with_seeds().transform, X, groups=GROUPS)
    refused(r"groups has the shape \(79,\)", grouped().fit, X, groups=GROUPS[1:])
    refused(r"groups has the shape \(5,\)", with_batches().transform, X, groups=GROUPS[:5])
    for whole in (AveragedModels, RowMemory):
        refused("does not take groups of rows", whole(grouped("topics")).fit, X)
    mixed = GROUPS.copy()
    mixed[0] = 1
    refused("values of several types", grouped().fit, X, groups=mixed)
    left_out, bursty = grouped(leave_one_out=True), grouped(burstiness=9.0)
    refused("cannot be combined with leave_one_out=True", left_out.fit, X, groups=GROUPS)
    refused("burstiness=None", bursty.fit, X, groups=GROUPS)
    for name in ("column_factors_", "group_distribution_"):
        assert not hasattr(with_seeds(), name)


@pytest.mark.parametrize("effects", EFFECTS)
def test_tokens_of_training_rows_have_the_factors_of_their_groups(effects):
    model = grouped(effects, smoothing=0.1).fit(X, groups=GROUPS)
    P = model.embedding_ @ model.components_
    P *= factors_of(model)[np.searchsorted(model.groups_, GROUPS.astype(str))]
    P = 0.9 * P / P.sum(axis=1, keepdims=True) + 0.1 * model.unigram_
    dyads = Dyads(split_counts(X, random_state=0)[1])
    expected = np.log(P[dyads.rows, dyads.columns])
    np.testing.assert_allclose(model.score_samples(dyads), expected, rtol=1e-6)
    dense = X.toarray()
    np.testing.assert_allclose(model.transform(X, groups=GROUPS), model.embedding_, atol=0.15)
    few = model.transform(dense[10:30], groups=GROUPS[10:30])
    np.testing.assert_allclose(few, model.transform(dense, groups=GROUPS)[10:30], rtol=1e-9)


# What all estimators keep.


@pytest.mark.parametrize("effects", EFFECTS)
def test_storage_precision_and_threads(effects, monkeypatch):
    one = grouped(effects).fit(X, groups=GROUPS)
    assert_same(one, grouped(effects).fit(X.toarray(), groups=list(GROUPS)))
    assert_same(one, grouped(effects).fit(Dyads(X), groups=GROUPS))
    single = grouped(effects).fit(X.astype(np.float32), groups=GROUPS)
    for name in ("components_", "embedding_", "group_distribution_"):
        assert getattr(single, name).dtype == np.float32
    assert effects == "topics" or single.column_factors_.dtype == np.float32
    assert single.transform(X.astype(np.float32), groups=GROUPS).dtype == np.float32
    assert single.score(X, groups=GROUPS) == pytest.approx(one.score(X, groups=GROUPS), abs=1e-2)
    monkeypatch.setattr("skcooc.counts.csr.WORTH_A_THREAD", 1)
    monkeypatch.setattr("skcooc.counts.passes.config", MANY_THREADS)
    two = grouped(effects, n_jobs=2).fit(X, groups=GROUPS)
    assert_same(one, two)
    transformed = two.transform(X, groups=GROUPS)
    np.testing.assert_array_equal(one.transform(X, groups=GROUPS), transformed)


def test_weights_of_rows_are_repetitions():
    weights = np.arange(N) % 3
    times = np.repeat(np.arange(N), weights)
    for effects in EFFECTS:
        one = grouped(effects).fit(X, groups=GROUPS, sample_weight=weights)
        two = grouped(effects).fit(X[times], groups=GROUPS[times])
        np.testing.assert_allclose(one.components_, two.components_, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(factors_of(one), factors_of(two), rtol=1e-7)
        np.testing.assert_allclose(one.group_distribution_, two.group_distribution_, rtol=1e-7)


def test_fit_transform_is_fit_and_transform():
    expected = with_batches().transform(X, groups=GROUPS)
    np.testing.assert_array_equal(grouped().fit_transform(X, groups=GROUPS), expected)


def test_early_stopping_and_tuning_with_groups():
    model = grouped(early_stopping=True).fit(X, groups=GROUPS)
    records = [record for record in model.history_ if record.stage == "fit"]
    assert np.isfinite([record.validation_perplexity for record in records]).all()
    assert model.column_factors_.std() > 0.01
    tuned = grouped(beta="auto").fit(X, groups=GROUPS)
    assert tuned.tuning_
    assert not tuned.leave_one_out_
    assert tuned.row_prior_ > 0
    assert np.isfinite(tuned.score(X, groups=GROUPS))


def test_warm_starts_go_on_with_the_same_groups_only():
    whole = grouped(max_iter=16, tol=0, warm_start=True).fit(X, groups=GROUPS)
    parts = grouped(max_iter=8, tol=0, warm_start=True).fit(X, groups=GROUPS)
    assert_same(parts.fit(X, groups=GROUPS), whole)
    model = grouped(max_iter=4, tol=0, warm_start=True).fit(X, groups=GROUPS)
    others = np.roll(GROUPS, 1)  # rows are in other groups: no exact continuation
    moved = copy.deepcopy(model).fit(X, groups=others)
    begun = copy.deepcopy(model).set_params(smoothing=0.5)  # is no exact continuation
    assert_same(moved, begun.fit(X, groups=others))
    renamed = np.where(GROUPS == "c", "d", GROUPS)
    refused("continues a model of the groups", model.fit, X, groups=renamed)
    refused(
        "continues a model of the groups", model.fit, X, groups=np.where(renamed == "d", "a", "b")
    )
    for effects in ("topics", None):
        changed = copy.deepcopy(model).set_params(group_effects=effects)
        groups = None if effects is None else GROUPS
        message = "continues a model fitted with .*'group_effects': 'both'"
        refused(message, changed.fit, X, groups=groups)
    seeds = seeded(warm_start=True).fit(X).set_params(group_effects="topics")
    refused("'group_effects': None", seeds.fit, X, groups=GROUPS)


def test_warm_starts_go_on_with_the_same_names_only():
    renamed = {"sky": SEEDS["sky"], "sun": SEEDS["sea"]}
    for table in (X, RowBlocks([X[:50], X[50:]])):
        for seeds in (renamed, dict([*SEEDS.items()][::-1]), None):
            model = seeded(warm_start=True).fit(table).set_params(seed_features=seeds)
            refused(r"continues a model of the topics \['sky', 'sea'\], got", model.fit, table)


def test_a_fitted_model_keeps_its_names_and_groups_when_parameters_change():
    seeds, dyads = seeded().fit(X), Dyads(X[:, ::-1])
    names = seeds.predict(X).tolist()
    for others in ({"x": [0], "y": [1], "z": [2]}, None):
        assert seeds.set_params(seed_features=others).predict(X).tolist() == names
    assert not hasattr(
        GuidedAspectModel(3, **FAST).fit(X).set_params(seed_features=SEEDS), "predict"
    )
    model = grouped().fit(X, groups=GROUPS).set_params(group_effects=None)
    for table, groups in ((dyads, None), (X, GROUPS)):
        expected = with_batches().score(table, groups=groups)
        assert model.score(table, groups=groups) == expected
    plain = seeded().fit(X)
    expected = plain.score(dyads)
    plain.set_params(group_effects="both")
    assert plain.score(dyads) == expected
    refused("fitted with group_effects=None", plain.score, X, groups=GROUPS)


def test_an_earlier_fit_can_get_expected_counts():
    """And lose them again."""
    model = AspectModel(3, warm_start=True, **{**FAST, "component_prior": 0.1}).fit(X)
    before = model.components_
    model.set_params(component_prior=1e9 * before).fit(X)
    np.testing.assert_allclose(model.components_, before, rtol=1e-4)
    model.set_params(component_prior=0.1).fit(X)
    assert np.isfinite(model.objective_)


def test_what_does_not_suit_is_refused():
    refused("annealing=0.9 splits topics, .* set annealing=None", seeded(annealing=0.9).fit, X)


# Streams, tables on disk and meta-estimators.


def test_seeds_in_streams_and_on_disk(tmp_path):
    names = {topic: WORDS[places].tolist() for topic, places in SEEDS.items()}
    blocks = [X[:50], X[50:]]
    save_table(tmp_path / "table", blocks)
    table = open_table(tmp_path / "table")
    assert isinstance(table, DiskTable)
    lazy = da.from_array(X.toarray(), chunks=(50, M))
    model = seeded(seeds=names, feature_names=WORDS)
    stream = clone(model)
    for block in blocks:
        stream.partial_fit(block, sample_weight=np.ones(block.shape[0]))
    for found in (stream, clone(model).fit(RowBlocks(blocks)), clone(model).fit(table)):
        assert found.component_names_ == with_seeds().component_names_
        overlap = np.sqrt(found.components_) @ np.sqrt(TRUTH.components).T
        assert overlap.argmax(axis=1)[:2].tolist() == [2, 0]
    mixtures = with_seeds().transform(lazy)
    np.testing.assert_allclose(mixtures.compute(), with_seeds().transform(X), rtol=1e-9)
    reason = "groups of rows need counts in memory; set group_effects=None"
    for out_of_core in (RowBlocks(blocks), table, lazy):
        refused(reason, grouped().fit, out_of_core, groups=GROUPS)
    for model in (grouped(), with_batches()):
        assert not hasattr(model, "partial_fit")


def test_meta_estimators():
    for meta in (
        AveragedModels(seeded(), 2),
        RowMemory(seeded()),
        InterpolatedModels([("guided", seeded()), ("plain", AspectModel(3, **FAST))]),
    ):
        model = meta.fit(X)
        np.testing.assert_allclose(model.transform(X).sum(axis=1), 1)
        assert np.isfinite(model.score(X))
    agreed = AveragedModels(seeded(), 2, random_state=0).fit(X).consensus_
    assert [*describe(agreed)["name"]][:2] == [*SEEDS][:2]
    model = RowMemory(seeded()).fit(X)
    np.testing.assert_allclose(model.estimator_.components_, with_seeds().components_, rtol=1e-9)
    assert describe(model)["name"].tolist()[:2] == [*SEEDS]
    model = set_names(RowMemory(seeded()).partial_fit(X), {2: "third"}).partial_fit(X)
    assert model.component_names_ == dict(enumerate([*SEEDS, "third"]))
    for effects in ("topics", "columns"):
        for meta in (
            AveragedModels(grouped(effects), 2),
            RowMemory(grouped(effects)),
            InterpolatedModels([("a", grouped(effects)), ("b", AspectModel(3, **FAST))]),
        ):
            refused("group_effects|makes? it the outermost|more than the product", meta.fit, X)


def test_an_average_of_guided_models_is_tuned_as_a_guided_model():
    guided, plain = (
        AveragedModels(model, 2, random_state=0).fit(X).tuning_[0]
        for model in (seeded(beta="auto"), AspectModel(3))
    )
    assert guided.values == plain.values
    assert guided.validation.perplexity != plain.validation.perplexity


def test_groups_are_routed_by_searches_and_pipelines():
    texts = [" ".join(np.repeat(WORDS, row)) for row in X.toarray().astype(int)]
    with config_context(enable_metadata_routing=True):
        model = grouped("topics").set_fit_request(groups=True).set_transform_request(groups=True)
        model.set_score_request(groups=True)
        pipe = make_pipeline(CountVectorizer(), model).fit(texts, groups=GROUPS)
        order = [int(word[1:]) for word in pipe[0].get_feature_names_out()]
        rows = X[:, order].astype(np.float32)  # as integers are
        expected = grouped("topics").fit(rows, groups=GROUPS)
        np.testing.assert_array_equal(pipe[1].components_, expected.components_)
        mixtures = pipe.transform(texts, groups=GROUPS)
        np.testing.assert_array_equal(mixtures, expected.transform(rows, groups=GROUPS))
        search = GridSearchCV(model, {"n_components": [2, 3]}, cv=KFold(2)).fit(X, groups=GROUPS)
        folds = list(KFold(2).split(X))
        scores = [
            grouped("topics").fit(X[a], groups=GROUPS[a]).score(X[b], groups=GROUPS[b])
            for a, b in folds
        ]
        found = [search.cv_results_[f"split{n}_test_score"][1] for n in (0, 1)]
        np.testing.assert_allclose(found, scores)
        assert search.best_estimator_.groups_.tolist() == ["a", "b", "c"]


def test_names_of_columns_reach_fits_of_a_part_of_the_tokens():
    names = {topic: WORDS[places].tolist() for topic, places in SEEDS.items()}
    frame = pd.DataFrame(X.toarray(), columns=WORDS)
    averaged = AveragedModels(seeded(), 2, random_state=0)
    metas = [
        InterpolatedModels([("guided", seeded()), ("mean", averaged)], random_state=0),
        RowMemory(seeded(), random_state=0),
        RowMemory(averaged, random_state=0),
        ComponentSearchCV(seeded(), [2, 3], cv=2, random_state=0),
    ]
    tables = [(meta, frame, X) for meta in metas]
    tables += [(seeded(), *(RowBlocks([rows[:50], rows[50:]]) for rows in (frame, X)))]
    for model, with_names, without in tables:
        seeds = [name for name in model.get_params() if name.endswith("seed_features")]
        asked = clone(model).set_params(**dict.fromkeys(seeds, names)).fit(with_names)
        placed = clone(model).set_params(**dict.fromkeys(seeds, SEEDS)).fit(without)
        assert seeds
        assert asked.score(frame) == placed.score(X)
        assert asked.feature_names_in_.tolist() == WORDS.tolist()


@pytest.mark.parametrize("effects", EFFECTS)
def test_searches_know_groups(effects):
    dyads = Dyads(X)
    folds = list(CountSplit(4, random_state=0).split(dyads))[:1]
    with config_context(enable_metadata_routing=True):
        model = grouped(effects, smoothing=0.1).set_fit_request(groups=True)
        model.set_score_request(groups=False)
        search = ComponentSearchCV(model, [2], cv=folds, n_runs=0, random_state=0)
        search.fit(X, groups=GROUPS)
        (seed,) = np.random.RandomState(0).randint(2**31 - 1, size=1)
        train, test = (dyads[part] for part in folds[0])
        alone = clone(model).set_params(n_components=2, random_state=int(seed))
        expected = alone.fit(train.to_csr(), groups=GROUPS).score(test)
        assert search.cv_results_["mean_test_score"][0] == pytest.approx(expected, rel=1e-9)


# Inspection.


def test_names_in_tables_and_of_merged_topics():
    frame = describe(with_seeds())
    assert frame["name"].tolist()[:2] == ["sky", "sea"]
    assert len(top_features(with_seeds(), n_features=3)) == 3
    assert with_seeds().get_feature_names_out().tolist() == ["sky", "sea", "guidedaspectmodel2"]
    merged = merge_topics(with_seeds(), [[0, 2]])
    assert merged.component_names_ == {1: "sea"}
    assert not hasattr(merged, "predict")  # topics have other places
    np.testing.assert_allclose(merged.transform(X).sum(axis=1), 1)
    assert merge_topics(with_seeds(), [[0, 1]]).component_names_ == {}
    assert drop_topics(with_seeds(), [0]).component_names_ == {0: "sea"}
    again = merged.set_params(warm_start=True).fit(X)
    assert again.components_.shape == (2, M)
    assert with_seeds().component_names_ == {0: "sky", 1: "sea"}


def test_merged_topics_keep_groups():
    merged = merge_topics(with_batches(), [[0, 1]])
    np.testing.assert_array_equal(merged.column_factors_, with_batches().column_factors_)
    first = with_batches().group_distribution_[:, :2].sum(axis=1)
    np.testing.assert_allclose(merged.group_distribution_[:, 0], first)
    mixtures = merged.transform(X, groups=GROUPS)
    np.testing.assert_allclose(mixtures.sum(axis=1), 1)
    assert np.isfinite([merged.score(X, groups=GROUPS), merged.score(Dyads(X))]).all()
    with warnings.catch_warnings(action="ignore"):
        again = merged.set_params(warm_start=True).fit(X, groups=GROUPS)
    assert again.group_distribution_.shape == (3, 2)
