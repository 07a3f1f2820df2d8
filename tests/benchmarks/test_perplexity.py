import doctest
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import peers, perplexity, word_models, word_prediction
from benchmarks.baselines import as_rows, baselines, baselines_of_new
from benchmarks.perplexity import Split, scores
from benchmarks.recommendation import divided
from skcooc import AspectModel, Dyads, RowMemory
from skcooc.datasets import make_cooccurrences
from skcooc.heldout import Discounted, Interpolated, Unigram
from skcooc.heldout.memory import Memory
from skcooc.metrics import perplexity_of
from skcooc.model_selection import split_counts
from tests.benchmarks import literal_language_models as literal
from tests.heldout.test_predictors import N_COLUMNS, N_ROWS, check_predictors, dense, whole_counts

X = make_cooccurrences(60, 50, 3, burstiness=20, random_state=0).X.astype(np.float32)
TRAIN, TEST = split_counts(X, 0.1, random_state=0)
SPLIT = perplexity.divide(TRAIN, 0)


@pytest.fixture(autouse=True)
def little_work(monkeypatch):
    monkeypatch.setattr(perplexity, "NMF_STEPS", [5, 10])
    monkeypatch.setattr(perplexity, "MAX_ITER", 40)


def test_topic_free_is_the_unigram_and_the_cache_alone():
    measured = scores(SPLIT, TEST, perplexity.topic_free(SPLIT, 3, 0))
    logs = np.log((TRAIN.sum(axis=0) + 1) / (TRAIN.sum() + 50))
    assert measured["alone"] == pytest.approx(np.exp(-TEST.sum(axis=0) @ logs / TEST.sum()))
    cache = RowMemory(random_state=0).fit(TRAIN)
    assert measured["with cache"] == pytest.approx(cache.perplexity(Dyads(TEST)))
    known = TRAIN.toarray() > 0
    share = (known * TEST.toarray()).sum() / TEST.sum()
    assert measured["share of known words"] == pytest.approx(share)
    new = np.where(known, 0, TEST.toarray())
    given = np.log(cache.unigram_ / (1 - known @ cache.unigram_)[:, None])
    assert measured["new words"] == pytest.approx(np.exp(-(new * given).sum() / new.sum()))


def test_models_of_the_library_are_scored_as_it_scores_them():
    measured = scores(SPLIT, TEST, perplexity.aspects(SPLIT, 3, 0))
    bare = AspectModel(3, max_iter=40, random_state=0)
    alone = bare.fit(TRAIN).perplexity(Dyads(TEST))
    assert measured["alone"] == pytest.approx(alone, rel=1e-5)
    cached = RowMemory(bare).fit(TRAIN).perplexity(Dyads(TEST))
    assert measured["with cache"] == pytest.approx(cached, rel=1e-5)


def test_topic_free_baselines_beside_other_tables():
    found = baselines(TRAIN, TEST, 0)
    measured = scores(SPLIT, TEST, perplexity.topic_free(SPLIT, 3, 0))
    assert found["unigram"] == pytest.approx(measured["alone"])
    assert found["unigram with cache"] == pytest.approx(measured["with cache"])
    nearest = RowMemory(None, neighbors=50, random_state=0).fit(TRAIN).perplexity(Dyads(TEST))
    assert found["50 nearest rows with cache"] == pytest.approx(nearest)
    assert [row["model"] for row in as_rows(found)] == list(found)


def test_topic_free_baselines_of_new_rows_know_their_known_tokens():
    new, old = X[:20], X[20:]
    known, hidden = split_counts(new, 0.5, random_state=0)
    empty = sp.csr_array(old.shape)
    both = (sp.csr_array(sp.vstack(parts)) for parts in ((old, known), (empty, hidden)))
    assert baselines_of_new(old, known, hidden, 0) == pytest.approx(baselines(*both, 0))
    blocks = np.random.default_rng(0).poisson(3 * np.kron(np.eye(2), np.ones((50, 20))) + 0.02)
    counts = sp.csr_array(blocks.astype(float))[np.random.default_rng(1).permutation(100)]
    found = baselines_of_new(counts[10:], *split_counts(counts[:10], 0.5, random_state=0), 0)
    assert found["unigram with cache"] < 0.8 * found["unigram"]


def test_settings_of_peers_are_the_best_candidates(monkeypatch):
    fitted = perplexity.MODELS["scikit-learn NMF (KL), tuned"](SPLIT, 3, 0)
    assert fitted.settings["iterations"] in (5, 10)
    measured = scores(SPLIT, TEST, fitted)
    unigram = scores(SPLIT, TEST, perplexity.topic_free(SPLIT, 3, 0))
    assert all(measured[name] < unigram[name] for name in ("alone", "with cache", "new words"))

    def validation(settings):
        predictor = perplexity.nmf(SPLIT.inner, 3, 0, **settings)
        return perplexity.judged(SPLIT, predictor)[0]

    best = validation(fitted.settings)
    for other in ({"iterations": 5}, {"init": "random"}, {"alpha": 0.01, "l1_ratio": 1.0}):
        assert best <= validation(fitted.settings | other) * (1 + 1e-6)
    judged = perplexity.while_falling(iter([5, 3, 4, 2, 4, 3, 1]))
    assert list(judged) == [5, 3, 4, 2, 4, 3]


def test_smoothing_and_cache_of_peers_are_the_best_on_validation_tokens():
    (factors,) = peers.plsa_by_nmf(SPLIT.inner, 3, "random", [5], 0)
    predictor = perplexity.as_predictor(factors)
    best, smoothing = perplexity.judged(SPLIT, predictor)
    memory = perplexity.Peer(lambda X, K, seed: predictor)(SPLIT, 3, 0).memory
    inner = Split(SPLIT.inner, None, None)

    def measured(name, smoothing, memory):
        fitted = perplexity.Fitted(predictor, smoothing, memory, {})
        return scores(inner, SPLIT.valid, fitted)[name]

    alone = measured("alone", smoothing, memory)
    assert alone == pytest.approx(best)
    for factor in (0.9, 1.1):
        assert alone <= measured("alone", factor * smoothing, memory) * (1 + 1e-6)
    with_cache = measured("with cache", 0.1, memory)
    for name, value in memory._asdict().items():
        other = Memory(**memory._asdict() | {name: 0.9 * value})
        assert with_cache <= measured("with cache", 0.1, other) * (1 + 1e-6)


def test_neighbours_beside_topics_have_the_best_weights_alone_and_with_the_cache():
    topics, both = (
        scores(SPLIT, TEST, method(SPLIT, 3, 0))
        for method in (
            perplexity.aspects,
            partial(perplexity.topics_and_neighbors, perplexity.aspect_model),
        )
    )
    for name in ("alone", "with cache"):
        assert both[name] < 1.03 * topics[name]


def test_lda_gives_words_without_training_tokens_the_mass_of_its_prior():
    pytest.importorskip("tomotopy")
    known = sp.csr_array(np.delete(X.toarray(), 7, axis=0))
    known = sp.csr_array(known.toarray() * (np.arange(50) != 3))
    model = peers.gibbs_sampler(known, 3, 0.1, 0.05)
    model.train(10, workers=1)
    factors = peers.posterior_means(model, known)
    np.testing.assert_allclose(factors.components.sum(axis=1), 1)
    expected = 0.05 / (np.asarray(model.get_count_by_topics()) + 50 * 0.05)
    np.testing.assert_allclose(factors.components[:, 3], expected, rtol=1e-5)


def test_samples_of_lda_are_averaged_over_chains():
    pytest.importorskip("tomotopy")
    sampling = peers.Sampling(burn_in=4, samples=2, every=3, chains=2)
    draws = list(peers.gibbs_draws(TRAIN, 3, 0.1, 0.05, sampling, 0))
    again = list(peers.gibbs_draws(TRAIN, 3, 0.1, 0.05, sampling._replace(samples=1), 0))
    np.testing.assert_array_equal(draws[0].components, again[0].components)
    np.testing.assert_array_equal(draws[2].mixtures, again[1].mixtures)
    assert len({draw.components.tobytes() for draw in draws}) == 4
    P = dense(perplexity.lda(TRAIN, 3, 0, 0.05, sampling), TRAIN.shape)
    draws = peers.gibbs_draws(TRAIN, 3, perplexity.ALPHA / 3, 0.05, sampling, 0)
    expected = sum(draw.mixtures @ draw.components for draw in draws) / 4
    np.testing.assert_allclose(P, expected, rtol=1e-4)


def test_cvb0_equals_the_transcription_and_not_its_broken_step():
    counts = sp.csr_array(np.array([[2, 1, 0, 3], [0, 0, 0, 0], [1, 0, 4, 1], [0, 2, 1, 0]]))
    found = peers.cvb0(counts, 3, 0.2, 0.05, sweeps=3, seed=1)
    mixtures, components = literal_cvb0(counts.toarray(), 3, 0.2, 0.05, sweeps=3, seed=1)
    np.testing.assert_allclose(found.mixtures, mixtures, rtol=1e-5)
    np.testing.assert_allclose(found.components, components, rtol=1e-5)
    broken, _ = literal_cvb0(counts.toarray(), 3, 0.2, 0.05, sweeps=3, seed=1, leaves_out=False)
    assert np.abs(broken - mixtures).max() > 0.01


def literal_cvb0(n, K, alpha, eta, sweeps, seed, leaves_out=True):
    """Token after token, with sums over all others made anew; those of a cell change together."""
    rng = np.random.default_rng(seed)
    cells = [tuple(cell) for cell in np.argwhere(n)]
    q = rng.standard_exponential((len(cells), K), dtype=np.float32).astype(float)
    q = dict(zip(cells, q / q.sum(axis=1, keepdims=True), strict=True))

    def total(among, one=None):
        left_out = q[one] if one and leaves_out else 0
        return sum((n[cell] * q[cell] for cell in cells if among(cell)), np.zeros(K)) - left_out

    for _ in range(sweeps):
        for i, j in cells:
            row = total(lambda cell: cell[0] == i, (i, j))  # noqa: B023
            column = total(lambda cell: cell[1] == j, (i, j))  # noqa: B023
            new = (
                (row + alpha) * (column + eta) / (total(lambda _: True, (i, j)) + n.shape[1] * eta)
            )
            q[i, j] = new / new.sum()
    theta = np.array([total(lambda cell: cell[0] == i) + alpha for i in range(len(n))])  # noqa: B023
    phi = np.array([total(lambda cell: cell[1] == j) + eta for j in range(n.shape[1])]).T  # noqa: B023
    return theta / theta.sum(axis=1, keepdims=True), phi / phi.sum(axis=1, keepdims=True)


def test_examples_of_the_docstrings():
    results = [doctest.testmod(module) for module in (perplexity, word_models)]
    assert sum(result.attempted for result in results) > 10
    assert not any(result.failed for result in results)


def test_all_predict_distributions():
    known, rng = whole_counts(), np.random.default_rng(1)
    similar = word_models.similar_rows(known, *word_models.nearest_rows(known, 5), beta=4.0)
    contexts = rng.integers(N_COLUMNS, size=(N_ROWS, 2))
    predictors = [
        word_models.frequencies(known),
        Discounted(known, 0.7, Unigram(perplexity.continuations(known))),
        similar,
        word_models.Grouped(similar, rng.integers(5, size=N_ROWS)),
        word_models.mixed_order(known, contexts, max_iter=3),
    ]
    check_predictors(predictors, known)


def test_continuations_count_rows_not_tokens():
    known = whole_counts()
    types = (known.toarray() > 0).sum(axis=0)
    expected = (types + 1) / (types.sum() + N_COLUMNS)
    np.testing.assert_allclose(perplexity.continuations(known), expected)
    stored = known.copy()
    stored.data[0] = 0  # a stored zero does not count
    assert perplexity.continuations(stored)[stored.indices[0]] < expected[stored.indices[0]]


def test_similar_rows_equal_the_transcription():
    known = whole_counts()
    neighbors, divergences = word_models.nearest_rows(known, 4)
    nearest, J = literal.nearest_rows(known.toarray(), 4)
    np.testing.assert_allclose(np.minimum(divergences, 9), np.minimum(J, 9), atol=1e-12)
    for beta in (0.0, 3.0):
        P = dense(word_models.similar_rows(known, neighbors, divergences, beta))
        np.testing.assert_allclose(P, literal.similar(known.toarray(), nearest, J, beta))
        broken = literal.similar(known.toarray(), nearest, J / 2, beta)
        assert (np.abs(P - broken).max() > 1e-3) == (beta > 0)


def text(seed=0, n_words=6, length=400, m=2):
    """Contexts of m words, the nearest first, and how often each word followed."""
    rng = np.random.default_rng(seed)
    words = list(rng.integers(n_words - 1, size=m))  # the last word is never seen
    while len(words) < length:
        source = words[-1] if rng.random() < 0.6 - 0.1 * words[-1] else words[-2]
        words.append((source + (rng.random() < 0.2)) % (n_words - 1))
    words = np.array(words)
    before = np.stack([words[m - k : -k] for k in range(1, m + 1)], axis=1)
    contexts, rows = np.unique(before, axis=0, return_inverse=True)
    n = np.zeros((len(contexts), n_words))
    np.add.at(n, (rows.ravel(), words[m:]), 1)
    return n, contexts


def test_mixed_order_equals_the_transcription_and_not_its_broken_step():
    for m in (1, 2, 3):
        n, contexts = text(m=max(m, 2))
        contexts, X = contexts[:, :m], sp.csr_array(n)
        expected = broken = literal.skipping(n, contexts)
        for _ in range(4):
            expected = literal.mixed_order_step(n, contexts, *expected)
            broken = literal.mixed_order_step(n, contexts, *broken, broken=True)
        P = dense(word_models.mixed_order(X, contexts, max_iter=4), n.shape)
        np.testing.assert_allclose(P, literal.mixed_order(contexts, *expected))
        assert m < 3 or np.abs(P - literal.mixed_order(contexts, *broken)).max() > 0.01
    n, contexts = text()
    P = dense(
        word_models.mixed_order(sp.csr_array(n), contexts).at(np.array([[5, 5], [0, 5]])), (2, 6)
    )
    np.testing.assert_allclose(P[0], n.sum(axis=0) / n.sum())  # of words that were never seen
    np.testing.assert_allclose(P.sum(axis=1), 1)


def test_best_back_off_is_as_good_as_a_grid():
    known, held_out = whole_counts(), whole_counts(seed=5).toarray()
    known_rows = known.sum(axis=1) > 0
    held_out[~known_rows] = 0
    rng = np.random.default_rng(0)
    lower = [Unigram(rng.dirichlet(np.ones(N_COLUMNS))) for _ in range(2)]
    best = word_models.best_back_off(held_out, known, lower)
    grid = {
        perplexity_of(held_out, Discounted(known, d, Interpolated(lower, (w, 1 - w)))): (d, w)
        for d in np.linspace(0, 1, 13)
        for w in np.linspace(0, 1, 13)
    }
    assert perplexity_of(held_out, best) <= min(grid) * (1 + 1e-6)
    assert best.discount == pytest.approx(grid[min(grid)][0], abs=0.1)


@pytest.fixture(scope="module")
def task():
    X = make_cooccurrences(80, 60, 4, random_state=0).X.tocoo()
    return word_prediction.divided(
        *(np.repeat(k, X.data.astype(int)) for k in X.coords), X.shape, 0
    )


def test_each_token_is_in_one_part(task):
    X = make_cooccurrences(80, 60, 4, random_state=0).X
    assert abs(sum(task) - X).sum() == 0
    shares = np.array([part.sum() for part in task]) / X.sum()
    np.testing.assert_allclose(shares, [0.8, 0.1, 0.1], atol=1e-3)


def test_combinations_are_no_worse_than_their_parts_on_what_chose_them(task):
    single = word_prediction.single_predictors(task, False, [4], seed=0)
    predictors = word_prediction.predictions(task, single)
    perplexities = {name: perplexity_of(task.validation, p) for name, p in predictors.items()}
    alone = [perplexities[name] for name in ("unigram", *single)]
    assert perplexities["all interpolated"] <= min(alone) * (1 + 1e-6)
    kneser_ney = perplexities["back-off to continuations (Kneser-Ney)"]
    assert perplexities["back-off to all"] <= kneser_ney * (1 + 1e-6)


RNG = np.random.default_rng(0)
SEEN = sp.csr_array(RNG.poisson(0.3, (60, 40)) * 1.0)


def test_whole_cells_of_rows_that_have_enough_are_held_out():
    train, test = divided(SEEN, 0.2, seed=0)
    np.testing.assert_array_equal((train + test).toarray(), SEEN.toarray())
    assert not train.multiply(test).nnz
    sizes = np.diff(SEEN.indptr)
    expected = np.where(sizes >= 5, np.maximum(1, np.round(0.2 * sizes)), 0)
    np.testing.assert_array_equal(np.diff(test.indptr), expected)
    assert (divided(SEEN, 0.2, seed=1)[1] != test).nnz
