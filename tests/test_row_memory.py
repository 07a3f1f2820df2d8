"""The within-document cache, around native models and transformers."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.decomposition import NMF, PCA, LatentDirichletAllocation
from sklearn.preprocessing import MaxAbsScaler

from skcooc import AspectModel, AsymmetricClustering, AveragedModels, Dyads, RowBlocks, RowMemory
from skcooc.heldout import Factors
from skcooc.heldout.memory import Memory, with_cache
from skcooc.metrics import perplexity_of
from skcooc.model_selection import split_observations
from tests.cases import FAST
from tests.tables import planted

X = planted(n_rows=60, n_columns=80, n_observations=6000, burstiness=20).X.astype(float)
TRAIN, TEST = split_observations(X, random_state=0)
ASPECTS = AspectModel(3, **FAST)
GIVEN = {"concentration": 20.0, "discount": 0.2, "smoothing": 0.1}


@pytest.fixture(scope="module")
def model():
    return RowMemory(ASPECTS).fit(TRAIN)


def test_the_model_itself_is_not_changed(model):
    alone = clone(ASPECTS).fit(TRAIN)
    np.testing.assert_array_equal(model.components_, alone.components_)
    np.testing.assert_array_equal(model.transform(X), alone.transform(X))
    assert model.estimator_.beta_ == alone.beta_


def test_rows_fitted_are_predicted_from_their_counts(model):
    found = Memory(model.concentration_, model.discount_, model.smoothing_)
    factors = Factors(model.embedding_, model.components_.T)
    expected = perplexity_of(TEST, with_cache(TRAIN, factors, model.unigram_, found))
    assert model.perplexity(Dyads(TEST)) == pytest.approx(expected, rel=1e-12)


def test_new_rows_are_predicted_from_their_known_half():
    model = RowMemory(ASPECTS, **GIVEN).fit(TRAIN)
    row = np.zeros((1, X.shape[1]))
    row[0, 3] = 2  # one is known, and the other scored
    known = row / 2
    lower = 0.9 * (model.transform(known) @ model.components_) + 0.1 * model.unigram_
    expected = (1 - 0.2 + (20 + 0.2) * lower[0, 3]) / 21
    assert model.score(row) == pytest.approx(np.log(expected), rel=1e-6)
    assert model.score(row) > model.estimator_.score(row) + 1


def test_the_cache_predicts_bursty_tables_better(model):
    bare = model.estimator_.perplexity(Dyads(TEST))
    no_topics = RowMemory(random_state=0).fit(TRAIN)
    remembered = model.perplexity(Dyads(TEST))
    assert remembered < 0.98 * min(bare, no_topics.perplexity(Dyads(TEST)))
    assert no_topics.transform(X).shape == (60, 1)
    assert no_topics.estimator_ is None


def test_the_cache_does_no_harm_without_bursts():
    plain = planted(n_rows=60, n_columns=80, n_observations=6000).X.astype(float)
    train, test = split_observations(plain, random_state=0)
    model = RowMemory(clone(ASPECTS)).fit(train)
    assert model.perplexity(Dyads(test)) < 1.01 * model.estimator_.perplexity(Dyads(test))
    assert model.concentration_ > 200


@pytest.mark.parametrize(
    "estimator",
    [
        AspectModel(3, beta=0.8, **FAST),  # no validation part
        AspectModel(3, beta=0.9, early_stopping=True, **FAST),
        AsymmetricClustering(3, **FAST),
        AveragedModels(ASPECTS, 2, random_state=0),
        LatentDirichletAllocation(3, max_iter=5, random_state=0),
        NMF(3, beta_loss="kullback-leibler", solver="mu", init="nndsvda", random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_around_other_models(estimator):
    model = RowMemory(estimator, random_state=0).fit(TRAIN)
    for mixtures in (model.embedding_, model.transform(X)):
        np.testing.assert_allclose(mixtures.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1, rtol=1e-6)
    bare = perplexity_of(TEST, Factors(model.embedding_, model.components_.T))
    assert model.perplexity(Dyads(TEST)) < 0.95 * bare
    assert np.isfinite(model.perplexity(X[:20]))
    if isinstance(estimator, NMF):
        product = model.estimator_.transform(TRAIN) @ model.estimator_.components_
        expected = product / product.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(model.embedding_ @ model.components_, expected, rtol=1e-6)


def test_the_validation_part_of_the_model_is_used():
    """No second fit is made if the model holds out observations."""
    fits = []

    class Counting(AspectModel):
        def fit(self, *args, **params):
            fits.append(self)
            return super().fit(*args, **params)

    RowMemory(Counting(3, **FAST)).fit(TRAIN)
    assert len(fits) == 1
    RowMemory(Counting(3, beta=0.9, **FAST)).fit(TRAIN)
    assert len(fits) == 3
    RowMemory(Counting(3, beta=0.9, **FAST), **GIVEN).fit(TRAIN)
    assert len(fits) == 4


def test_streams_and_blocks_predict_new_rows_only():
    by_batches = RowMemory(AspectModel(3, **FAST), random_state=0)
    for batch in (X[:30], X[30:]):
        by_batches.partial_fit(batch)
    blocks = RowBlocks([X[:30], X[30:]])
    for model in (by_batches, RowMemory(AspectModel(3, **FAST), random_state=0).fit(blocks)):
        bare = model.estimator_.perplexity(X)
        assert model.perplexity(X) < bare
        with pytest.raises(ValueError, match=r"which are not kept|table of shape"):
            model.score(Dyads(X))
    np.testing.assert_array_equal(by_batches.unigram_, RowMemory().fit(X).unigram_)


REFUSED = [
    (RowMemory(PCA(2)), X, {}, "negative components"),
    (RowMemory(NMF(2)), X, {"sample_weight": np.ones(60)}, "sample_weight is given, but NMF"),
    (RowMemory(MaxAbsScaler()), X, {}, "MaxAbsScaler has no components_"),
    (RowMemory(), [[1]], {}, "to estimate the cache. Give numbers for concentration"),
    (RowMemory("aspects"), X, {}, "The 'estimator' parameter of RowMemory must be"),
    (RowMemory(discount=1.5), X, {}, "The 'discount' parameter of RowMemory must be"),
    (RowMemory(concentration=-1), X, {}, "The 'concentration' parameter of RowMemory"),
    (RowMemory(), np.zeros((3, 4)), {}, "Found array with 0 token"),
]


def test_bad_input():
    for model, X, params, message in REFUSED:
        with pytest.raises(ValueError, match=message):
            model.fit(X, **params)
        assert not hasattr(model, "components_")


def test_transformers_of_other_libraries_need_a_table_in_memory():
    with pytest.raises(TypeError, match="NMF needs a table in memory, got RowBlocks"):
        RowMemory(NMF(2)).fit(RowBlocks([X[:30], X[30:]]))


def test_duplicate_entries_and_later_changes_of_the_table():
    parts = csr_array(
        (np.repeat(TRAIN.data, 2) / 2, np.repeat(TRAIN.indices, 2), TRAIN.indptr * 2), TRAIN.shape
    )
    whole, divided = (RowMemory(random_state=0).fit(table) for table in (TRAIN, parts))
    assert divided.concentration_ == pytest.approx(whole.concentration_, rel=1e-6)
    assert parts.nnz == 2 * TRAIN.nnz  # the input is not changed
    table = TRAIN.copy()
    model = RowMemory(random_state=0).fit(table)
    before = model.perplexity(Dyads(TEST))
    table.data[:] = 100
    assert model.perplexity(Dyads(TEST)) == before


def test_the_first_batch_starts_anew_and_is_checked():
    other = AspectModel(2, beta=0.9, **FAST).fit(X[:, ::-1])
    one, two = (
        RowMemory(estimator, random_state=0).partial_fit(X) for estimator in (other, clone(other))
    )
    np.testing.assert_array_equal(one.components_, two.components_)
    with pytest.raises(ValueError, match="The 'smoothing' parameter of RowMemory must be"):
        RowMemory(clone(other), smoothing=2.0).partial_fit(X)
