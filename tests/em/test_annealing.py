"""Annealing on a toy model whose phase transitions are known, and on clusters of rows."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from skcooc.counts import CSRCounts
from skcooc.em import EM, State, Validation
from skcooc.em.annealing import DISTINCT, PERTURBATION, Annealing, divided, groups
from skcooc.em.schedules import Stage, constant, rising
from skcooc.row_clusters import RowClusters
from tests.clusters import start_of
from tests.tables import planted


class Modes(NamedTuple):
    size: np.ndarray  # (2,): how far component 2 is from the others, and 0 from 1
    weights: np.ndarray


class Grown(NamedTuple):
    size: np.ndarray
    free_energy: float


@dataclass(frozen=True)
class Pitchforks:
    """Each step multiplies the modes by beta / critical; at beta = .3 and .6 they begin to grow."""

    amounts: list = field(default_factory=list)  # of noise, in the order in which it was asked for

    def start(self, blocks, rng):
        return Modes(np.zeros(2), np.ones(3) / 3), [np.ones((1, 3)) / 3]

    def alike(self, params):
        return params._replace(size=np.zeros(2))

    def perturb(self, params, rng, amount):
        self.amounts.append(amount)
        return params._replace(size=params.size + amount)

    def expect(self, X, params, rows, beta):
        size = np.minimum(params.size * beta / np.array([0.3, 0.6]), 0.2)
        return rows, Grown(size, 1.0)

    def maximize(self, stats, params, beta):
        return params._replace(size=stats.size)

    def log_prior(self, params, beta):
        return 0.0

    def factors(self, params, rows):
        a, b = params.size
        first = np.array([0.5 - a + b, 0.5 - a - b, 0.5 + a])
        return rows, np.array([first, 1 - first])


def annealed(betas, observe=None, n_iter=40, **options):
    em, model = EM(constant(1.0, n_iter), -np.inf, **options), Pitchforks()
    observers = () if observe is None else (observe,)
    return model, Annealing(em, betas).fit(model, [None], np.random.default_rng(0), *observers)


BETAS = [0.2, 0.25, 0.35, 0.4, 0.55, 0.7, 1.0]


def test_splits_are_recorded_where_they_happen():
    _, fit = annealed(BETAS)
    assert [(split.beta, split.parts) for split in fit.splits] == [
        (0.35, ((0, 1), (2,))),
        (0.7, ((0,), (1,))),
    ]
    assert annealed(BETAS[:2])[1].splits == []


def test_every_temperature_is_perturbed_once_and_run_as_long_as_the_schedule_says():
    model, fit = annealed(BETAS, n_iter=7)
    assert model.amounts == [PERTURBATION] * len(BETAS)
    assert [record.beta for record in fit.history] == np.repeat(BETAS, 7).tolist()
    em = EM((Stage(1.0, 2), Stage(0.5, 3)), -np.inf)
    history = Annealing(em, [0.1, 0.2]).fit(Pitchforks(), [None], None).history
    assert [record.beta for record in history] == [0.1] * 3 + [0.2] * 3


def test_observers_see_all_temperatures_and_can_stop():
    seen = []

    def observe(record, params, rows):
        seen.append(record.beta)
        return len(seen) == 100

    _, fit = annealed(BETAS, observe)
    assert seen == [record.beta for record in fit.history] == np.repeat(BETAS, 40)[:100].tolist()
    assert [split.beta for split in fit.splits] == [0.35]
    assert not fit.converged


def test_only_the_last_temperature_is_validated():
    asked = []

    def heldout(model, params, rows):
        asked.append(params.size.tolist())
        return Validation(float(len(asked)), 0.0)

    _, fit = annealed(BETAS, heldout=heldout, patience=3)
    perplexities = np.array([record.validation_perplexity for record in fit.history])
    assert np.isnan(perplexities[: 40 * 6]).all()
    assert perplexities[40 * 6 :].tolist() == [1, 2, 3, 4]
    assert fit.validation.perplexity == 1
    assert fit.params.size.tolist() == asked[0]


def test_start_replaces_the_models_own():
    start = State(Modes(np.array([0.2, 0.2]), np.ones(3) / 3), [np.ones((1, 3)) / 3])
    em = EM(constant(1.0, 5), -np.inf)
    fit = Annealing(em, [1.0]).fit(Pitchforks(), [None], None, start=start)
    assert fit.splits[0].parts == ((0,), (1,), (2,))


# ---- clusters of rows, from a start where all are the same


@pytest.mark.parametrize("object_weights", ["counts", "equal"])
def test_clusters_begin_to_split_at_the_critical_temperature(object_weights):
    X = planted(4, 3000, kind="clusters", n_rows=40, n_columns=30).X
    X = sp.csr_array((X.toarray() * (1 + np.arange(40) % 4)[:, None]).astype(float))
    model = RowClusters(4, object_weights=object_weights)
    critical = model.critical_beta(CSRCounts(X))
    equal = start_of("rows", X.toarray(), np.full((40, 4), 0.25), np.full(4, 0.25))
    annealing = Annealing(EM(constant(1.0, 60), -np.inf), rising(critical / 2, 5 * critical, 1.1))
    fit = annealing.fit(model, [CSRCounts(X)], np.random.default_rng(0), start=equal)
    assert critical < fit.splits[0].beta < 1.15 * critical
    parts = {(0, 1, 2, 3)}
    for split in fit.splits:
        parts = parts - {tuple(sorted(sum(split.parts, ())))} | set(split.parts)
    assert parts == {(0,), (1,), (2,), (3,)}


# ---- groups of components


def mixtures(*shares):
    """Components of two columns, whose total variation is the difference of their shares."""
    return np.array([shares, 1 - np.array(shares)])


def test_groups_are_chains_of_small_differences():
    step = 0.9 * DISTINCT
    assert groups(mixtures(0.1, 0.1 + step, 0.9, 0.1 + 2 * step)) == ((0, 1, 3), (2,))
    assert groups(mixtures(0.1, 0.1 + 1.1 * DISTINCT, 0.1)) == ((0, 2), (1,))
    assert groups(mixtures(0.5)) == ((0,),)
    assert groups(mixtures(0.5, 0.5, 0.5)) == ((0, 1, 2),)


def test_parts_are_listed_by_their_first_component():
    assert groups(mixtures(0.9, 0.1, 0.5, 0.1, 0.9)) == ((0, 4), (1, 3), (2,))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (((0, 1, 2),), ((0, 1, 2),), []),
        (((0, 1, 2),), ((0,), (1,), (2,)), [((0,), (1,), (2,))]),
        (((0, 1), (2, 3)), ((0,), (1,), (2,), (3,)), [((0,), (1,)), ((2,), (3,))]),
        (((0, 1), (2,)), ((0, 1, 2),), []),  # parts that grow together again
        (((0, 1), (2,)), ((0,), (1, 2)), [((0,), (1,))]),
    ],
)
def test_divided(before, after, expected):
    assert divided(before, after) == expected
