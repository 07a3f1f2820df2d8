import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.decomposition import NMF, PCA, LatentDirichletAllocation, MiniBatchNMF
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import MaxAbsScaler

import skcooc
from skcooc import (
    AspectClassifier,
    AspectModel,
    AsymmetricClustering,
    Dyads,
    InterpolatedModels,
    RowMemory,
    TriadicAspectModel,
    Triads,
)
from skcooc.fitting.journal import Journal
from skcooc.fitting.recipe import draw_seeds
from skcooc.heldout import Factors
from skcooc.heldout.memory import CacheValidation, Memory, best_memory, memory_cells, with_cache
from skcooc.heldout.predictors import smoothed
from skcooc.metrics import perplexity_of
from skcooc.model_selection import ComponentSearchCV, split_counts
from skcooc.tables import as_counts
from tests.cases import FAST, META
from tests.tables import held_out, occupied, planted, refused

SIZES = {"n_rows": 60, "n_columns": 80}
X = planted(**SIZES, n_tokens=4000).X.astype(float)
TRAIN, TEST = split_counts(X, random_state=0)
BURSTY = planted(**SIZES, n_tokens=6000, burstiness=20).X.astype(float)
KNOWN, UNSEEN = split_counts(BURSTY, random_state=0)
ASPECTS, CLUSTERS = AspectModel(8, beta=1.0, **FAST), AsymmetricClustering(3, beta=0.2, **FAST)
SEARCHED = AspectModel(3, **FAST)
ALONE = clone(SEARCHED).set_params(random_state=11)  # as good alone as in a cache
SEARCHING = [("aspects", SEARCHED), ("clusters", AsymmetricClustering(3, **FAST))]
GIVEN = {"concentration": 20.0, "discount": 0.2, "smoothing": 0.1}
TRIADS = Triads([0, 1], [0, 1], [0, 1])
LDA = LatentDirichletAllocation(3, max_iter=5, random_state=0)
KULLBACK = NMF(3, beta_loss="kullback-leibler", solver="mu", init="nndsvda", random_state=0)


def mean_of(estimators=(("aspects", ASPECTS), ("clusters", CLUSTERS)), **params):
    named = [(name, clone(estimator)) for name, estimator in estimators]
    return InterpolatedModels(named, **{"random_state": 0, **params})


@pytest.fixture(scope="module")
def model():
    return mean_of().fit(TRAIN)


def predicted(estimator):
    return estimator.embedding_ @ estimator.components_


def literal_weights(counts, predictions, n_steps=2000):
    """EM of the weights, on dense tables."""
    weights = np.full(len(predictions), 1 / len(predictions))
    for _ in range(n_steps):
        mean = sum(w * P for w, P in zip(weights, predictions, strict=True))
        weights = np.array(
            [w * (counts * P / mean).sum() for w, P in zip(weights, predictions, strict=True)]
        )
        weights /= weights.sum()
    return weights


def weights_of(members, heldout, background):
    P = [*map(predicted, members), np.broadcast_to(background, X.shape)]
    *weights, s = literal_weights(heldout.toarray(), P)
    return np.array(weights) / sum(weights), s


def test_weights_are_those_of_a_literal_transcription(model):
    rest, heldout = held_out(TRAIN, 0.1, draw_seeds(0, 1)[0])
    b = (rest.sum(axis=0) + 1) / (rest.sum() + X.shape[1])
    members = [clone(estimator).fit(rest) for estimator in (ASPECTS, CLUSTERS)]
    weights, s = weights_of(members, heldout, b)
    np.testing.assert_allclose(model.interpolation_weights_, weights, atol=2e-3)
    assert model.smoothing_ == pytest.approx(max(s, 1e-3), abs=2e-3)
    # A twin fitted to the held-out counts would trust the model that overfits.
    twin, _ = weights_of(model.estimators_, heldout, b)
    assert twin[0] > weights[0] + 0.02


def test_the_prediction_is_the_weighted_mean_and_better_than_each_member(model):
    w = model.interpolation_weights_
    assert w.sum() == pytest.approx(1)
    assert (w > 0.02).all()
    P = [predicted(member) for member in model.estimators_]
    np.testing.assert_allclose(predicted(model), w[0] * P[0] + w[1] * P[1], rtol=1e-10)
    P = [member.inverse_transform(member.transform(X)) for member in model.estimators_]
    Z = model.transform(X)
    np.testing.assert_allclose(Z @ model.components_, w[0] * P[0] + w[1] * P[1], rtol=1e-10)
    assert model.components_.shape == (11, X.shape[1])
    np.testing.assert_array_equal(
        model.named_estimators_.clusters.components_, model.components_[8:]
    )
    members = [member.perplexity(Dyads(TEST)) for member in model.estimators_]
    assert model.perplexity(Dyads(TEST)) < 0.99 * min(members)


def test_models_are_fitted_twice_also_in_a_cache_and_this_predicts_better():
    fits = []

    class Counting(AspectModel):
        def fit(self, X, *args, **params):
            fits.append(X.sum())
            return super().fit(X, *args, **params)

    model = mean_of([("one", Counting(3, beta=0.9, **FAST))])
    RowMemory(model).fit(TRAIN)
    assert sorted(fits) == [held_out(TRAIN, 0.1, draw_seeds(0, 1)[0])[0].sum(), TRAIN.sum()]
    for estimators in (SEARCHING, (("aspects", ASPECTS), ("clusters", CLUSTERS))):
        model = RowMemory(mean_of(estimators)).fit(KNOWN)
        assert model.perplexity(Dyads(UNSEEN)) < 0.95 * model.estimator_.perplexity(Dyads(UNSEEN))
        assert model.transform(BURSTY).shape == model.embedding_.shape


def test_parameters_reach_the_models_and_searches_use_them():
    model = mean_of()
    assert model.get_params()["aspects__n_components"] == 8
    model.set_params(aspects__n_components=2, clusters=clone(ASPECTS))
    assert model.estimators[0][1].n_components == 2
    assert isinstance(dict(model.estimators)["clusters"], AspectModel)
    assert "aspects" not in model.get_params(deep=False)
    refused("Did you mean random_state", model.set_params, seed=1)
    refused("Did you mean n_components", model.set_params, aspects__n_component=1)
    model.set_params(estimators=[("other", clone(ASPECTS))], other__n_components=2)
    assert [(name, own.n_components) for name, own in model.estimators] == [("other", 2)]
    folds = KFold(2, shuffle=True, random_state=0)
    search = GridSearchCV(mean_of(), {"aspects__n_components": [1, 3]}, cv=folds).fit(Dyads(X))
    assert search.best_params_ == {"aspects__n_components": 3}


@pytest.fixture(scope="module")
def memory():
    return RowMemory(ALONE).fit(KNOWN)


def assert_mixtures(model, table):
    for mixtures in (model.embedding_, model.transform(table)):
        np.testing.assert_allclose(mixtures.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1, rtol=1e-6)
    assert np.isfinite(model.perplexity(table[:20]))


OTHERS = [
    AspectModel(3, beta=0.8, **FAST),  # no validation part
    AspectModel(3, beta=0.9, early_stopping=True, **FAST),
    AsymmetricClustering(3, **FAST),
    skcooc.AveragedModels(CLUSTERS, 2, random_state=0),
    LDA,
    KULLBACK,
]


@pytest.mark.parametrize("other", OTHERS, ids=lambda estimator: type(estimator).__name__)
def test_a_cache_around_other_models_and_transformers_and_these_as_members(other):
    if not hasattr(other, "early_stopping"):
        model = mean_of([("aspects", ASPECTS), ("other", other)]).fit(TRAIN)
        assert_mixtures(model, X)
        assert model.perplexity(Dyads(TEST)) < model.estimators_[0].perplexity(Dyads(TEST))
    model = RowMemory(other, random_state=0).fit(KNOWN)
    assert_mixtures(model, BURSTY)
    bare = perplexity_of(UNSEEN, Factors(model.embedding_, model.components_.T))
    assert model.perplexity(Dyads(UNSEEN)) < 0.95 * bare
    if other is KULLBACK:
        product = model.estimator_.transform(KNOWN) @ model.estimator_.components_
        expected = product / product.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(model.embedding_ @ model.components_, expected, rtol=1e-6)


@pytest.mark.parametrize("other", [LDA, KULLBACK], ids=lambda estimator: type(estimator).__name__)
def test_mixtures_of_rows_without_tokens_are_distributions(other):
    empty = KNOWN.copy()
    empty[[0, 7]] = 0
    model = RowMemory(other, **GIVEN, random_state=0).fit(empty)
    for mixtures in (model.embedding_, model.transform(empty)):
        np.testing.assert_allclose(mixtures.sum(axis=1), 1, rtol=1e-6)
        np.testing.assert_allclose(mixtures[[0, 7]], 1 / 3, rtol=1e-6)


def test_the_mean_is_smoothed_where_the_unigram_adds_nothing():
    long = planted(3, 60_000, n_rows=40, n_columns=40).X
    named = [("one", AspectModel(2, beta=0.9, **FAST)), ("other", AspectModel(3, beta=0.9, **FAST))]
    assert InterpolatedModels(named, random_state=0).fit(long).smoothing_ == 0.001


def test_rows_of_no_weight_change_no_weights_of_models():
    flat = np.random.default_rng(0).poisson(1.0, (60, X.shape[1])).astype(float)
    both, first = np.vstack([TRAIN.toarray(), flat]), np.repeat([1.0, 0.0], 60)
    weightless = mean_of().fit(both, sample_weight=first)
    expected = mean_of().fit(TRAIN)
    np.testing.assert_allclose(
        weightless.interpolation_weights_, expected.interpolation_weights_, rtol=1e-6
    )
    shares = np.concatenate([expected.row_distribution_, np.zeros(60)])
    np.testing.assert_allclose(weightless.row_distribution_, shares)


def test_the_model_is_not_changed_and_its_rows_are_predicted_from_their_counts(memory):
    alone = clone(ALONE).fit(KNOWN)
    np.testing.assert_array_equal(memory.components_, alone.components_)
    np.testing.assert_array_equal(memory.transform(BURSTY), alone.transform(BURSTY))
    assert memory.estimator_.beta_ == alone.beta_
    found = Memory(memory.concentration_, memory.discount_, memory.smoothing_)
    factors = Factors(memory.embedding_, memory.components_.T)
    expected = perplexity_of(UNSEEN, with_cache(KNOWN, factors, memory.unigram_, found))
    assert memory.perplexity(Dyads(UNSEEN)) == pytest.approx(expected, rel=1e-12)


def test_new_rows_are_predicted_from_their_known_half():
    model = RowMemory(SEARCHED, **GIVEN).fit(KNOWN)
    row = np.zeros((1, BURSTY.shape[1]))
    row[0, 3] = 2  # one is known, and the other scored
    known = row / 2
    lower = 0.9 * (model.transform(known) @ model.components_) + 0.1 * model.unigram_
    expected = (1 - 0.2 + (20 + 0.2) * lower[0, 3]) / 21
    assert model.score(row) == pytest.approx(np.log(expected), rel=1e-6)
    assert model.score(row) > model.estimator_.score(row) + 1


def test_the_cache_predicts_bursty_tables_better_and_does_no_harm_to_others(memory):
    bare = memory.estimator_.perplexity(Dyads(UNSEEN))
    no_topics = RowMemory(random_state=0).fit(KNOWN)
    remembered = memory.perplexity(Dyads(UNSEEN))
    assert remembered < 0.98 * min(bare, no_topics.perplexity(Dyads(UNSEEN)))
    assert no_topics.transform(BURSTY).shape == (60, 1)
    assert no_topics.estimator_ is None
    plain = planted(**SIZES, n_tokens=6000).X.astype(float)
    train, test = split_counts(plain, random_state=0)
    model = RowMemory(clone(SEARCHED)).fit(train)
    assert model.perplexity(Dyads(test)) < 1.01 * model.estimator_.perplexity(Dyads(test))
    assert model.concentration_ > 200


def test_the_validation_part_of_the_model_is_used():
    """No second fit is made if the model holds out observations."""
    fits = []

    class Counting(AspectModel):
        def fit(self, *args, **params):
            fits.append(self)
            return super().fit(*args, **params)

    RowMemory(Counting(3, **FAST)).fit(KNOWN)
    assert len(fits) == 1
    RowMemory(Counting(3, beta=0.9, **FAST)).fit(KNOWN)
    assert len(fits) == 3
    RowMemory(Counting(3, beta=0.9, **FAST), **GIVEN).fit(KNOWN)
    assert len(fits) == 4


@pytest.mark.parametrize("averaged", [False, True])
def test_models_are_tuned_for_the_cache_around_them(monkeypatch, averaged):
    """A literal cache says the same; alone the model is what it was."""
    seen, real = [], CacheValidation.perplexity

    def perplexity(self, predictor):
        seen.append((self, predictor, real(self, predictor)))
        return seen[-1][-1]

    monkeypatch.setattr(CacheValidation, "perplexity", perplexity)
    short = occupied(planted(**SIZES, n_tokens=1200, burstiness=20).X.astype(float))
    single = AspectModel(12, component_prior=0.02, tempering="distinctive", **FAST)
    estimator = skcooc.AveragedModels(single, 1, random_state=0) if averaged else single
    memory = RowMemory(estimator, discount=0.4, random_state=0).fit(short)
    cache, predictor, found = seen[0]
    (seed,) = draw_seeds(0, 1)
    known, heldout = held_out(short, 0.1, seed)
    background = 1 + (known.toarray() > 0).sum(axis=0)
    background = background / background.sum()
    np.testing.assert_array_equal(cache.X.table.toarray(), heldout.toarray())
    given = [None, 0.4, None, 0.0, 0.0, 0.0]
    numbers = best_memory(memory_cells(known, as_counts(heldout), predictor, background), given)
    whole = with_cache(known, predictor, background, numbers)
    assert found == pytest.approx(perplexity_of(heldout, whole), rel=1e-9)
    cached = [perplexity for *_, perplexity in seen]
    if averaged:
        trials = [trial.validation.perplexity for trial in memory.estimator_.tuning_]
        assert trials[-len(cached) :] == cached
    else:
        unigram = (known.sum(axis=0) + 1) / (known.sum() + known.shape[1])
        for trial, (_, predictor, cached) in zip(memory.estimator_.tuning_, seen, strict=True):
            perplexity, s = trial.validation
            alone = perplexity_of(heldout, smoothed(predictor, unigram, s))
            assert perplexity == pytest.approx(np.sqrt(alone * cached), rel=1e-9)
    seen.clear()
    clone(estimator).fit(short)
    fixed = {"estimator__beta" if averaged else "beta": 0.8}
    RowMemory(clone(estimator).set_params(**fixed), random_state=0).fit(short)
    assert not seen


def test_streams_and_blocks_predict_new_rows_only(tmp_path):
    by_batches = RowMemory(AspectModel(3, **FAST), random_state=0)
    for batch in (BURSTY[:30], BURSTY[30:]):
        by_batches.partial_fit(batch)
    blocks = skcooc.RowBlocks([BURSTY[:30], BURSTY[30:]])
    skcooc.save_table(tmp_path / "table", blocks)
    memory = RowMemory(AspectModel(3, **FAST), random_state=0)
    from_disk = clone(memory).fit(skcooc.open_table(tmp_path / "table"))
    for model in (by_batches, memory.fit(blocks), from_disk):
        bare = model.estimator_.perplexity(BURSTY)
        assert model.perplexity(BURSTY) < bare
        refused(r"rows were not kept|table of shape", model.score, Dyads(BURSTY))
    np.testing.assert_array_equal(by_batches.unigram_, RowMemory().fit(BURSTY).unigram_)
    with pytest.raises(TypeError, match="NMF needs a table in memory, got RowBlocks"):
        RowMemory(NMF(2)).fit(skcooc.RowBlocks([BURSTY[:30], BURSTY[30:]]))


def test_rows_of_a_stream_are_folded_in_without_the_tokens_to_be_predicted():
    """Estimates of the cache, transcribed; with all tokens the model would be trusted more."""
    model = RowMemory(AspectModel(8, beta=1.0, **FAST), random_state=0).partial_fit(KNOWN)
    rest, heldout = held_out(KNOWN, 0.1, draw_seeds(0, 1)[0])
    background = 1 + (rest.toarray() > 0).sum(axis=0)

    def concentration(rows):
        predictor = Factors(model.transform(rows), model.components_.T)
        shares = background / background.sum()
        return best_memory(memory_cells(rest, as_counts(heldout), predictor, shares)).concentration

    assert model.concentration_ == pytest.approx(concentration(rest), rel=1e-3)
    assert concentration(KNOWN) > 1.05 * model.concentration_


def test_without_pseudo_counts_only_columns_that_a_row_has_are_scored():
    """With a = d = 0 all others are impossible in the cache, whatever the model says."""
    mean = skcooc.AveragedModels(SEARCHED, 1, random_state=0)
    memory = RowMemory(mean, concentration=0.0, discount=0.0, random_state=0).fit(KNOWN)
    known, heldout = (part.toarray() for part in held_out(KNOWN, 0.1, draw_seeds(0, 1)[0]))
    again = (heldout > 0) & (known > 0)
    assert 0 < again.sum() < (heldout > 0).sum()
    logs = np.log((known / known.sum(axis=1, keepdims=True))[again])
    expected = np.exp(-np.average(logs, weights=heldout[again]))
    trials = [trial for trial in memory.estimator_.tuning_ if trial.stage == "mean"]
    for trial in trials:
        assert trial.validation.perplexity == pytest.approx(expected, rel=1e-9)
    assert trials
    assert 0 < memory.smoothing_ < 1


@pytest.mark.parametrize("estimator", [AspectModel(3, **FAST), LatentDirichletAllocation(3)])
def test_further_batches_are_for_the_model_of_the_first(estimator):
    for begin in (RowMemory.fit, RowMemory.partial_fit):
        model = begin(RowMemory(clone(estimator), random_state=0), BURSTY[:30])
        before = model.components_
        model.set_params(estimator__n_components=5)
        refused("first batch, but these have changed: n_components", model.partial_fit, BURSTY[30:])
        model.set_params(estimator=MiniBatchNMF(3))
        refused("model of the first batch, .*; got MiniBatchNMF", model.partial_fit, BURSTY[30:])
        np.testing.assert_array_equal(model.components_, before)
        free = clone(estimator).set_params(n_jobs=2, max_iter=3)  # may change
        model.set_params(estimator=free).partial_fit(BURSTY[30:])
        assert (model.components_ != before).any()
    model = RowMemory(random_state=0).fit(BURSTY).set_params(estimator=estimator)
    refused("model of the first batch, None", model.partial_fit, BURSTY[30:])


def test_duplicate_entries_later_changes_of_the_table_and_first_batches():
    parts = csr_array(
        (np.repeat(KNOWN.data, 2) / 2, np.repeat(KNOWN.indices, 2), KNOWN.indptr * 2), KNOWN.shape
    )
    whole, divided = (RowMemory(random_state=0).fit(table) for table in (KNOWN, parts))
    assert divided.concentration_ == pytest.approx(whole.concentration_, rel=1e-6)
    assert parts.nnz == 2 * KNOWN.nnz  # the input is not changed
    table = KNOWN.copy()
    model = RowMemory(random_state=0).fit(table)
    before = model.perplexity(Dyads(UNSEEN))
    table.data[:] = 100
    assert model.perplexity(Dyads(UNSEEN)) == before
    other = AspectModel(2, beta=0.9, **FAST).fit(BURSTY[:, ::-1])
    around = (RowMemory(estimator, random_state=0) for estimator in (other, clone(other)))
    one, two = (model.partial_fit(BURSTY) for model in around)
    np.testing.assert_array_equal(one.components_, two.components_)
    with pytest.raises(ValueError, match="The 'smoothing' parameter of RowMemory must be"):
        RowMemory(clone(other), smoothing=2.0).partial_fit(BURSTY)


NO_MEANS = [
    ([], {}, "non-empty list of"),
    ([ASPECTS], {}, "non-empty list of"),
    ([("aspects", ASPECTS), ("aspects", CLUSTERS)], {}, "not unique"),
    ([("n_jobs", ASPECTS)], {}, "conflict with constructor arguments"),
    ([("a__b", ASPECTS)], {}, "must not contain __"),
    ([("aspects", AspectModel)], {}, "The 'aspects' parameter of InterpolatedModels must be"),
    ([("none", None)], {}, "The 'none' parameter of InterpolatedModels must be"),
    ((("aspects", ASPECTS),), {}, "The 'estimators' parameter of InterpolatedModels must be"),
    ([("memory", RowMemory())], {}, "RowMemory predicts more than the product"),
    ([("pca", PCA(2))], {}, "negative components"),
    ([("labels", AspectClassifier())], {}, "AspectClassifier learns from labels"),
    ([("lda", LDA)], {"sample_weight": np.ones(60)}, "sample_weight is given, but Latent"),
]


class Signed(NMF):
    """With components like NMF's, and coefficients of both signs."""

    def transform(self, X):
        return super().transform(X) - 0.01


NO_MEMORIES = [
    (RowMemory(Signed(2)), BURSTY, {}, "negative components or coefficients"),
    (RowMemory(PCA(2)), BURSTY, {}, "negative components"),
    (RowMemory(NMF(2)), BURSTY, {"sample_weight": np.ones(60)}, "sample_weight is given, but NMF"),
    (RowMemory(AspectClassifier()), BURSTY, {}, "AspectClassifier learns from labels"),
    (RowMemory(TriadicAspectModel()), TRIADS, {}, "TriadicAspectModel predicts more"),
    (RowMemory(MaxAbsScaler()), BURSTY, {}, "MaxAbsScaler has no components_"),
    (RowMemory(), [[1]], {}, "to estimate the cache. Give numbers for concentration"),
    (RowMemory("aspects"), BURSTY, {}, "The 'estimator' parameter of RowMemory must be"),
    (RowMemory(discount=1.5), BURSTY, {}, "The 'discount' parameter of RowMemory must be"),
    (RowMemory(concentration=-1), BURSTY, {}, "The 'concentration' parameter of RowMemory"),
    (RowMemory(), np.zeros((3, 4)), {}, "Found array with 0 token"),
]


def test_bad_input():
    means = [(InterpolatedModels(models), X, *others) for models, *others in NO_MEANS]
    for model, table, params, message in [*means, *NO_MEMORIES]:
        refused(message, model.fit, table, **params)
        assert not hasattr(model, "components_")


@pytest.mark.parametrize(
    "fit",
    [
        lambda inner, **seed: RowMemory(inner, **seed).fit(X),
        lambda inner, **seed: RowMemory(inner, **seed).partial_fit(X),
        lambda inner, **seed: InterpolatedModels([("aspects", inner)], **seed).fit(X),
        lambda inner, **seed: ComponentSearchCV(inner, [2], cv=2, n_runs=0, **seed).fit(X),
    ],
)
def test_a_seed_is_also_that_of_models_without_one(fit):
    def components(inner, **seed):
        model = fit(inner, **seed)
        return getattr(model, "best_estimator_", model).components_

    without = AspectModel(3, beta=0.9, max_iter=5)
    own = clone(without).set_params(random_state=1)
    one = components(without, random_state=0)
    np.testing.assert_array_equal(one, components(without, random_state=0))
    assert not np.array_equal(one, components(without, random_state=2))
    np.testing.assert_array_equal(components(own, random_state=0), components(own, random_state=2))
    assert without.random_state is None


@pytest.mark.parametrize("estimator", META, ids=repr)
def test_an_interrupted_fit_starts_anew_where_names_are_others(estimator, monkeypatch):
    model, add = clone(estimator), Journal.add

    def add_and_stop(journal, name, value):
        add(journal, name, value)
        if name[0] in ("all", "member"):
            raise KeyboardInterrupt

    old = Dyads(X, column_names=[f"old {j}" for j in range(X.shape[1])])
    monkeypatch.setattr(Journal, "add", add_and_stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(old)
    monkeypatch.undo()
    names = [f"new {j}" for j in range(X.shape[1])]
    model.fit(Dyads(X, column_names=names))
    members = getattr(model, "estimators_", None) or [model.estimator_]
    assert all(one.feature_names_in_.tolist() == names for one in (model, *members))
