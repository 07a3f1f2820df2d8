"""Starts of models of topics: near clusters or single rows, or from a short fit of aspects."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skcooc.em import EMResult, OverRelaxation, State, increasing_beta
from skcooc.em.annealing import one_cluster_start
from skcooc.em.merging import merging_shares
from skcooc.em.stages import Runner, Start, equations_start
from skcooc.em.warmup import with_warmup
from skcooc.equations.aspects import Aspects, PredictiveAspects, unigram_of
from skcooc.equations.memberships import MIN_SAMPLED
from skcooc.equations.product_aspects import PredictiveProducts, ProductAspects
from skcooc.equations.projections import Projections
from skcooc.equations.row_clusters import RowClusters
from skcooc.protocol import Array, Counts
from skcooc.simplex import hellinger, mix_with
from skcooc.starts import sampled_rows, short_stage
from skcooc.starts.clusters import best_start, short_start, soft_fit

CLUSTER_UNIGRAM_SHARE = 0.5  # of the unigram in a first topic; the rest is a cluster of rows
ROW_UNIGRAM_SHARE = 0.1  # the same where the rest is a single row
# Topics for each one of the model, and their iterations at beta = 1, before the cheapest merge.
SPARE, SPARE_ITERATIONS = 2, 8
COPY_DISTANCE = 0.05  # Hellinger distance up to which clusters of rows are copies of one
# Non-zeros of a large table from which topics are merged, and rows for each, at least. Half of the
# non-zeros predict 0.2 % worse, and a quarter of the rows 0.5 %.
SAMPLED_WORK, ROWS_OF_A_TOPIC = 2**22, 256
MERGED_UNIGRAM_SHARE = 1e-2  # of the unigram after merging, so that no column is impossible
# Fits of aspects from which other models start.
START_BETA, START_ITERATIONS, START_TOL, START_STEP_SIZE = 0.85, 60, 1e-5, 1.8


def topic_start(
    model: Aspects | PredictiveAspects, X: Counts, rng: np.random.Generator, runner: Runner
) -> State:
    """Return topics merged from more, which begin near clusters of rows.

    EM may end where two topics share one true topic and another covers two: from random topics
    often, and from clusters of rows sometimes, where rows have several topics. Among twice as
    many topics hardly one covers two true ones, and those that share one are merged.
    """
    usual = None
    plain = model.plain
    if not plain.begins_near_unigram:
        usual = merged_topics(plain.n_components, plain.balanced(X), rng, runner)
    return State(*model.from_components(X, plain.initial_components(X, rng, usual)))


def merged_topics(n_topics: int, table: Counts, rng: np.random.Generator, runner: Runner) -> Array:
    """Return P(y_j given z_k) of a short fit of more topics, merged to ``n_topics``, (M, K).

    It is made in a sample of the rows of a large table.
    """
    X = sampled_rows(table, rng, SAMPLED_WORK, ROWS_OF_A_TOPIC * n_topics)
    larger = Aspects(SPARE * n_topics)
    clusters = RowClusters(larger.n_components)
    distributions = short_start(clusters, X, rng, runner).params.components
    unigram = unigram_of(X)
    components = mix_with(distributions, unigram, CLUSTER_UNIGRAM_SHARE)
    copies = np.tril(hellinger(distributions.T) < COPY_DISTANCE, k=-1).any(axis=1)
    if copies.any():  # they would leave too few topics: rows that are far apart take their place
        rows, _ = clusters.seeded(X, rng, MIN_SAMPLED)
        components[:, copies] = mix_with(rows.components[:, copies], unigram, ROW_UNIGRAM_SHARE)
    stage = short_stage(larger, X, 1.0, SPARE_ITERATIONS, START_TOL, runner)
    start = State(*larger.from_components(X, components))
    state = runner.run([stage], rng, OverRelaxation(START_STEP_SIZE), start).state
    shares = merging_shares(larger, X, state, n_topics)
    merged = larger.mix_components(state.params, shares).components
    return mix_with(merged, unigram_of(table), MERGED_UNIGRAM_SHARE)


def row_start(
    model: Aspects | PredictiveAspects, X: Counts, rng: np.random.Generator, runner: Runner
) -> State:
    """Return topics near single rows that are far from each other, so that starts differ."""
    rows, _ = RowClusters(model.plain.n_components).seeded(X, rng, MIN_SAMPLED)
    components = mix_with(rows.components, unigram_of(X), ROW_UNIGRAM_SHARE)
    return State(*model.from_components(X, components))


def product_start(
    model: ProductAspects,
    X: Counts,
    rng: np.random.Generator,
    runner: Runner,
    annealing: float | None = None,
) -> State:
    """Return the topics of an aspect model, merged on the side with fewer.

    Random components would end at the unigram: small differences grow by beta (1 + r s) per
    step, with s as in ``Aspects.critical_beta`` and r the canonical correlation of c and d
    under P(c, d), which is small for random P(c, d) and 1 if each c has one d.
    """
    fit = short_fit(Aspects(model.n_topics), topic_start, X, rng, runner, annealing)
    return State(*model.from_aspects(fit.params.components, fit.params.weights, fit.rows))


def left_out_product_start(
    model: PredictiveProducts,
    X: Counts,
    rng: np.random.Generator,
    runner: Runner,
    annealing: float | None = None,
) -> State:
    """Return the start of the plain model, and a step of plain EM."""
    return State(*model.after_a_step(X, *product_start(model.products, X, rng, runner, annealing)))


def projection_start(
    model: Projections, X: Counts, rng: np.random.Generator, runner: Runner
) -> State:
    """Return the topics of an aspect model, and clusters of rows.

    The aspect model starts at random: from clusters many rows get a single topic, and never share
    a cluster.
    """
    fit = short_fit(Aspects(model.n_topics), equations_start, X, rng, runner)
    clusters = None
    if model.n_clusters is not None:
        clusters = soft_fit(RowClusters(model.n_clusters), best_start, X, rng, runner).rows
    return State(*model.from_topics(X, fit.params.components, fit.rows, clusters))


def short_fit(
    aspects: Aspects,
    start: Start,
    X: Counts,
    rng: np.random.Generator,
    runner: Runner,
    annealing: float | None = None,
) -> EMResult:
    """Return a fit that is not run to convergence, from which other models start."""
    stage = short_stage(aspects, X, START_BETA, START_ITERATIONS, START_TOL, runner)
    stages = with_warmup(stage, aspects)
    if annealing is not None:
        stages = increasing_beta(replace(stage, tol=START_TOL), annealing, aspects.critical_beta)
        start = one_cluster_start
    state = start(aspects, X, rng, runner)
    return runner.run(stages, rng, OverRelaxation(START_STEP_SIZE), state)
