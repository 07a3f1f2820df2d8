"""What the scripts of held-out perplexity compute: splits, settings, scores, curves."""

from argparse import Namespace
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.quality import methods, no_topics, peers, remembered, tuned
from benchmarks.quality.deep_protocol import most_frequent
from benchmarks.quality.heldout import SCORES, summary, thinned
from benchmarks.quality.perplexity_curves import aspect_curve
from skcooc import AspectModel, Dyads, RowMemory
from skcooc.datasets import make_cooccurrences

pytestmark = pytest.mark.filterwarnings("ignore:EM did not converge")
X = make_cooccurrences(60, 50, 3, burstiness=20, random_state=0).X.astype(np.float32)
TRAIN, TEST = thinned(X, 0.1, 0)
SPLIT = tuned.divide(TRAIN, 0)
EFFORT = replace(tuned.quick(3, 1), em_iterations=40)


def test_parts_and_tables():
    assert abs(TRAIN + TEST - X).sum() == 0
    assert TEST.sum() / X.sum() == pytest.approx(0.1, abs=0.02)
    assert abs(thinned(X, 0.1, 1)[1] - TEST).sum() > 0
    sums = X.sum(axis=0)
    columns = np.flatnonzero(sums >= np.sort(sums)[-7])
    np.testing.assert_array_equal(most_frequent(X, 7).toarray(), X.toarray()[:, columns])
    row = {"data": "made up", "K": 3, "method": "m", "tuning_seconds": 1, "fit_seconds": 2}
    (line,) = summary([row | dict.fromkeys(SCORES, value) for value in (1.0, 3.0)])
    assert [line[name] for name in SCORES] == [2.0] * len(SCORES)
    assert line["sd of alone"] == pytest.approx(np.sqrt(2))


def test_no_topics_is_the_unigram_and_the_memory_alone():
    found = tuned.scores(SPLIT, TEST, methods.without_topics(SPLIT, EFFORT, 0))
    logs = np.log((TRAIN.sum(axis=0) + 1) / (TRAIN.sum() + 50))
    assert found["alone"] == pytest.approx(np.exp(-TEST.sum(axis=0) @ logs / TEST.sum()))
    line = RowMemory(random_state=0).fit(TRAIN)
    assert found["with memory"] == pytest.approx(line.perplexity(Dyads(TEST)))
    seen = (TRAIN.toarray() > 0) * TEST.toarray()
    assert found["share seen"] == pytest.approx(seen.sum() / TEST.sum())
    b, known = line.unigram_, TRAIN.toarray() > 0
    new = np.where(known, 0, TEST.toarray())
    given = np.log(b / (1 - known @ b)[:, None])
    assert found["unseen"] == pytest.approx(np.exp(-(new * given).sum() / new.sum()))
    unigram, cache = no_topics.lines(no_topics.Task(TRAIN, TEST, TRAIN))
    assert (unigram, cache) == pytest.approx((found["alone"], found["with memory"]))
    half, _ = thinned(TRAIN, 0.5, 0)
    assert cache < no_topics.lines(no_topics.Task(TRAIN, TEST, half))[1] < unigram


def test_ours_are_scored_as_the_library_scores_them():
    found = tuned.scores(SPLIT, TEST, methods.aspect_model(SPLIT, EFFORT, 0))
    bare = AspectModel(3, max_iter=40, random_state=0)
    assert found["alone"] == pytest.approx(bare.fit(TRAIN).perplexity(Dyads(TEST)), rel=1e-5)
    memory = RowMemory(bare).fit(TRAIN)
    assert found["with memory"] == pytest.approx(memory.perplexity(Dyads(TEST)), rel=1e-5)


def test_settings_of_peers_are_the_best_of_those_tried_on_validation():
    outcome = methods.nmf_plsa(SPLIT, EFFORT, 0)
    assert outcome.settings["iterations"] in EFFORT.nmf_steps
    found = tuned.scores(SPLIT, TEST, outcome)
    unigram = tuned.scores(SPLIT, TEST, methods.without_topics(SPLIT, EFFORT, 0))
    assert all(found[name] < unigram[name] for name in ("alone", "with memory", "unseen"))

    def tried(*perplexities):
        return [tuned.Tried(value, 0.1, None, {}) for value in perplexities]

    assert [one.perplexity for one in tuned.while_falling(tried(5, 3, 4, 2, 4, 3, 1))] == [
        5, 3, 4, 2, 4, 3
    ]  # fmt: skip


def test_the_memory_of_peers_is_the_best_on_validation():
    (factors,) = peers.plsa_by_nmf(SPLIT.inner, 3, "random", [5], 1, 0)
    best = remembered.best(SPLIT.inner, SPLIT.valid, factors)

    def perplexity(memory):
        return remembered.scores(SPLIT.inner, SPLIT.valid, factors, memory)["with memory"]

    others = [best._replace(**{name: 0.9 * value}) for name, value in best._asdict().items()]
    assert all(perplexity(best) <= perplexity(other) for other in others)


def test_a_value_for_each_iteration_and_those_of_the_search():
    options = Namespace(components=3, max_iter=12)
    found = aspect_curve(X, lambda A, B: float(np.sum(A) / len(A)), "auto", options)
    assert [iteration for iteration, _ in found["curve"]] == list(range(1, 13))
    assert found["search iterations"] > 12
    model = AspectModel(3, max_iter=12, tol=0.0, random_state=0).fit(X)
    assert found["beta"] == model.beta_
    assert aspect_curve(X, lambda A, B: 1.0, 0.9, options)["search iterations"] <= 1
