"""The temperature along a stream goes where held-out observations are predicted better."""

from typing import NamedTuple

import pytest

from skcooc.em import TemperatureRange
from skcooc.em.online import N_STEPS, WHOLE, StreamTemperature, track_beta
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
        now, batch = track_beta(now, within, observations, well(best))
        assert batch.beta == now.beta
    return now


@pytest.mark.parametrize("best", [0.6, 0.95])
def test_it_finds_the_best_and_stays_there_turning(best):
    step = 0.5 / N_STEPS
    for n_batches in (20, 21, 50):
        assert abs(follow(StreamTemperature(0.7), n_batches, best).beta - best) <= step
    for now, then in ((1, -1), (-1, 1)):
        assert follow(StreamTemperature(best, now), 1, best) == StreamTemperature(best, then)


def test_a_step_is_a_part_of_the_range_on_its_scale_and_less_of_few_observations():
    assert follow(StreamTemperature(0.6), 1, 1.0).beta == pytest.approx(0.62)
    assert follow(StreamTemperature(0.1), 1, 1.0, LOG).beta == pytest.approx(
        0.1 * 100 ** (1 / N_STEPS)
    )
    few = follow(StreamTemperature(0.6), 10, 1.0, observations=WHOLE / 10)
    assert few.beta == pytest.approx(follow(StreamTemperature(0.6), 1, 1.0).beta)
    assert follow(StreamTemperature(0.6), 1, 1.0, observations=10 * WHOLE).beta == pytest.approx(
        0.62
    )


def test_it_stays_in_the_range_and_from_beyond_goes_back_and_not_away():
    assert follow(StreamTemperature(0.9), 30, 2.0).beta == 1.0
    assert follow(StreamTemperature(0.6), 30, 0.0).beta == 0.5
    assert follow(StreamTemperature(0.4), 5, 0.0).beta == 0.4
    assert follow(StreamTemperature(0.4), 30, 0.8).beta == pytest.approx(0.8, abs=0.02)


def test_where_nothing_is_held_out_nothing_is_tried():
    tried = []

    def fold_in(beta):
        tried.append(beta)
        return Batch(None, beta)

    now, batch = track_beta(StreamTemperature(0.8), LINEAR, 0.0, fold_in)
    assert (now, batch.beta, tried) == (StreamTemperature(0.8), 0.8, [0.8])
