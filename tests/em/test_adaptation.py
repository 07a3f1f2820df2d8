"""The temperature along a stream goes where held-out observations are predicted better."""

from typing import NamedTuple

import pytest

from skcooc.em import TemperatureRange
from skcooc.em.adaptation import N_STEPS, WHOLE, Temperature, followed
from skcooc.heldout import Validation

LINEAR, LOG = TemperatureRange(0.5, 1.0), TemperatureRange(0.01, 1.0, "log")


class Batch(NamedTuple):
    validation: Validation | None
    beta: float


def well(best):
    """Batches that are predicted the better, the nearer to this temperature they are folded in."""
    return lambda beta: Batch(Validation(1 + abs(beta - best), 0.0), beta)


def follow(now, n_batches, best, within=LINEAR, observations=WHOLE):
    for _ in range(n_batches):
        now, batch = followed(now, within, observations, well(best))
        assert batch.beta == now.beta
    return now


@pytest.mark.parametrize("best", [0.6, 0.95])
def test_it_finds_the_best_and_stays_there(best):
    step = 0.5 / N_STEPS
    for n_batches in (20, 21, 50):
        assert abs(follow(Temperature(0.7), n_batches, best).beta - best) <= step


def test_a_step_is_a_part_of_the_range_on_its_scale():
    assert follow(Temperature(0.6), 1, 1.0).beta == pytest.approx(0.62)
    assert follow(Temperature(0.1), 1, 1.0, LOG).beta == pytest.approx(0.1 * 100 ** (1 / N_STEPS))


def test_few_observations_move_it_as_little():
    few = follow(Temperature(0.6), 10, 1.0, observations=WHOLE / 10)
    assert few.beta == pytest.approx(follow(Temperature(0.6), 1, 1.0).beta)
    assert follow(Temperature(0.6), 1, 1.0, observations=10 * WHOLE).beta == pytest.approx(0.62)


@pytest.mark.parametrize(("start", "best", "end"), [(0.9, 2.0, 1.0), (0.6, 0.0, 0.5)])
def test_it_stays_in_the_range(start, best, end):
    assert follow(Temperature(start), 30, best).beta == end


def test_from_beyond_the_range_it_goes_back_and_not_away():
    assert follow(Temperature(0.4), 5, 0.0).beta == 0.4
    assert follow(Temperature(0.4), 30, 0.8).beta == pytest.approx(0.8, abs=0.02)


def test_it_turns_where_it_found_nothing_better():
    now = follow(Temperature(0.8), 1, 0.8)
    assert now == Temperature(0.8, -1)
    assert follow(now, 1, 0.8) == Temperature(0.8, 1)


def test_where_nothing_is_held_out_nothing_is_tried():
    tried = []

    def fold_in(beta):
        tried.append(beta)
        return Batch(None, beta)

    now, batch = followed(Temperature(0.8), LINEAR, 0.0, fold_in)
    assert (now, batch.beta, tried) == (Temperature(0.8), 0.8, [0.8])
