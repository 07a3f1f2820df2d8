import numpy as np
import pytest

from skcooc.em import TemperatureRange
from skcooc.em.temperature import N_PROBES, Probe, best, search, search_with_prior
from skcooc.heldout import Validation


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize("optimum", [0.06, 0.3, 0.77, 0.99])
def test_finds_the_minimum_of_a_unimodal_loss(scale, optimum):
    transform = np.log if scale == "log" else float
    asked = []

    def loss(beta):
        asked.append(beta)
        return Validation(abs(transform(beta) - transform(optimum)), 0.0)

    found = best(search(loss, TemperatureRange(0.05, 1.0, scale), n_probes=12))
    width = transform(1.0) - transform(0.05)
    assert abs(transform(found.beta) - transform(optimum)) < 0.01 * width
    assert len(asked) == len(set(np.round(asked, 12))) == 12


def test_of_equals_the_coldest_wins_and_an_observer_ends_the_search():
    def loss(beta):
        return Validation(1.0, 0.0)

    probes = search(loss, RANGE)
    assert best(probes).beta == max(probe.beta for probe in probes)
    assert len(search(loss, RANGE, observe=lambda probe: True)) == 1


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_a_range_of_length_zero_has_one_probe(scale):
    asked, observed = [], []

    def loss(beta):
        asked.append(beta)
        return Validation(2.0, 0.0)

    probes = search(loss, TemperatureRange(0.7, 0.7, scale), observe=observed.append)
    assert asked == [0.7]
    assert probes == observed == [best(probes)]
    assert probes[0].beta == 0.7


RANGE = TemperatureRange(0.5, 1.0)
PRIORS = TemperatureRange(1e-3, 1.0, "log")


def test_the_prior_is_looked_for_at_the_best_temperature():
    asked = []

    def loss(beta, prior):
        asked.append((beta, prior))
        return Validation(1 + (beta - 0.7) ** 2 + abs(np.log10(prior + 1e-4) + 1.5), 0.0)

    observed = []
    probes = search_with_prior(loss, RANGE, PRIORS, observed.append)
    assert observed == probes
    assert [(probe.beta, probe.prior) for probe in probes] == asked
    plain, tried = probes[:N_PROBES], probes[N_PROBES:]
    assert {probe.prior for probe in plain} == {0.0}
    assert {probe.beta for probe in tried} == {best(plain).beta}
    assert best(probes).beta == pytest.approx(0.7, abs=0.03)
    assert best(probes).prior == pytest.approx(10**-1.5, rel=0.7)


def test_no_prior_where_every_prior_is_worse():
    def loss(beta, prior):
        return Validation(1 + (beta - 0.7) ** 2 + prior, 0.0)

    assert best(search_with_prior(loss, RANGE, PRIORS)).prior == 0


@pytest.mark.parametrize(("gain", "prior"), [(0.005, 0.0), (0.02, 0.1)])
def test_a_prior_must_be_worth_it(gain, prior):
    plain = Probe(0.7, Validation(100.0, 0.0))
    worse = Probe(0.6, Validation(120.0, 0.0))
    assert best([worse, plain, Probe(0.7, Validation(100 * (1 - gain), 0.0), 0.1)]).prior == prior
