import numpy as np
import pytest

from skcooc.em import TemperatureRange
from skcooc.em.refinements import is_thin, search_exponents, search_prior, search_smaller
from skcooc.em.temperature import N_PROBES, Coarse, Probe, best, best_beta, search, search_coarsely
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
PRIORS = TemperatureRange(1e-3, 1.0, "log", guess=0.1, step=0.8)


def test_the_prior_is_looked_for_at_the_best_temperature():
    asked = []

    def loss(beta, prior):
        asked.append((beta, prior))
        return Validation(1 + abs(np.log10(prior + 1e-4) + 1.5) - beta, 0.0)

    observed = []
    start = Probe(0.7, Validation(4.0, 0.0), exponents=(0.5, 1.0))
    tried = search_prior(loss, start, PRIORS, observed.append)
    assert observed == tried
    assert [(probe.beta, probe.prior) for probe in tried] == asked
    assert {(probe.beta, probe.exponents) for probe in tried[:-1]} == {(0.7, (0.5, 1.0))}
    plain = Probe(0.7, Validation(4.5, 0.0))
    won = best([plain, start, *tried])
    assert won == tried[-1]
    assert won.prior == pytest.approx(10**-1.5, rel=0.7)
    assert won.beta == pytest.approx(0.715)


def test_no_prior_where_every_prior_is_worse():
    start = Probe(0.7, Validation(1.0, 0.0))
    tried = search_prior(lambda beta, prior: Validation(1 + prior, 0.0), start, PRIORS)
    assert len(tried) == 2
    assert best([start, *tried]).prior == 0


def test_a_prior_may_be_worth_it_at_the_second_try():
    start = Probe(0.7, Validation(1.0, 0.0))
    tried = search_prior(lambda beta, prior: Validation(prior * 10.5, 0.0), start, PRIORS)
    assert tried[0].validation.perplexity > 1
    assert best([start, *tried]).prior == tried[-1].prior


def test_exponents_are_looked_for_one_after_the_other():
    asked, observed = [], []

    def loss(beta, exponents):
        first, second = (exponent * beta for exponent in exponents)
        asked.append((first, second, beta))
        return Validation(1 + (first - 0.3) ** 2 + (second - 0.6) ** 2 + (beta - 0.85) ** 2, 0.0)

    start = Probe(0.6, loss(0.6, (1.0, 1.0)))
    probes = search_exponents(loss, start, observed.append)
    assert observed == probes
    np.testing.assert_allclose([probe.absolute for probe in probes], asked[1:])
    first, second, third = (np.array(asked[1:][n : n + 4]) for n in (0, 4, 8))
    assert (first[:, 1:] == 0.6).all()
    assert np.ptp(second[:, [0, 2]], axis=0).max() < 1e-12
    assert np.ptp(third[:, :2], axis=0).max() < 1e-12
    np.testing.assert_allclose(best([start, *probes]).absolute, (0.3, 0.6, 0.85), atol=0.08)
    assert max(exponent for probe in probes for exponent in probe.exponents) <= 1


@pytest.mark.parametrize(("gain", "exponents"), [(0.005, None), (0.02, (0.5, 1.0))])
def test_exponents_must_be_worth_it(gain, exponents):
    plain = Probe(0.7, Validation(100.0, 0.0))
    other = Probe(0.8, Validation(100 * (1 - gain), 0.0), exponents=(0.5, 1.0))
    assert best([other, plain]).exponents == exponents


@pytest.mark.parametrize(("gain", "prior"), [(0.005, 0.0), (0.02, 0.1)])
def test_a_prior_must_be_worth_it(gain, prior):
    plain = Probe(0.7, Validation(100.0, 0.0))
    worse = Probe(0.6, Validation(120.0, 0.0))
    assert best([worse, plain, Probe(0.7, Validation(100 * (1 - gain), 0.0), 0.1)]).prior == prior


@pytest.mark.parametrize(("gain", "row_prior"), [(0.005, 1.0), (0.02, 0.3)])
def test_smaller_pseudo_counts_must_be_worth_it(gain, row_prior):
    plain = Probe(0.7, Validation(100.0, 0.0))
    usual = Probe(0.8, Validation(90.0, 0.0), 0.02, row_prior=1.0)
    less = usual._replace(validation=Validation(90 * (1 - gain), 0.0), row_prior=0.3, smaller=True)
    assert best([plain, usual, less]).row_prior == row_prior


def test_a_prior_is_looked_for_where_data_are_thin():
    enough, thin = (Probe(0.8, Validation(100.0, s)) for s in (0.009, 0.02))
    assert is_thin(thin)
    assert not is_thin(enough)


def test_around_a_guess_three_points_are_enough_where_it_is_good():
    asked = []

    def loss(beta):
        asked.append(beta)
        return Validation(np.exp((beta - 0.79) ** 2), 0.0)

    probes = search(loss, TemperatureRange(0.5, 1.0, guess=0.8, step=0.03))
    np.testing.assert_allclose(asked, [0.8, 0.77, 0.83])
    assert best_beta(probes) == pytest.approx(0.79)


@pytest.mark.parametrize("optimum", [0.55, 0.62, 0.97, 1.0])
def test_a_bad_guess_is_left_with_growing_steps(optimum):
    def loss(beta):
        return Validation(np.exp(3 * (beta - optimum) ** 2), 0.0)

    probes = search(loss, TemperatureRange(0.5, 1.0, guess=0.8, step=0.03))
    assert len(probes) <= N_PROBES
    assert all(0.5 <= probe.beta <= 1 for probe in probes)
    assert best_beta(probes) == pytest.approx(optimum, abs=1e-6)


def test_around_a_guess_of_equals_the_coldest_wins():
    probes = search(lambda beta: Validation(1.0, 0.0), TemperatureRange(0.9, 1.0, guess=0.92))
    assert max(probe.beta for probe in probes) == 1
    assert len({probe.beta for probe in probes}) == len(probes)


def test_few_components_say_where_all_are_best():
    few = Coarse(8, TemperatureRange(0.5, 1.0, guess=0.8), lambda beta: beta - 0.1, None)
    observed = []
    probes = search_coarsely(
        lambda beta: Validation(np.exp((beta - 0.82) ** 2), 0.0),
        few,
        lambda beta: Validation(5.0, 0.0),
        observed.append,
    )
    assert observed == probes
    *coarse, last = probes
    assert {probe.sought for probe in coarse} == {"coarse"}
    assert {probe.n_components for probe in coarse} == {8}
    assert last.beta == pytest.approx(0.72)
    assert best(probes) == last  # however well few components predict


def test_smaller_pseudo_counts_are_tried_one_after_the_other_and_the_better_one_stays():
    def loss(prior, row_prior):
        return Validation(abs(np.log(prior / 0.005)) + abs(np.log(row_prior)) + 1, 0.0)

    start = Probe(0.8, loss(0.02, 1.0), prior=0.02, row_prior=1.0)
    tried = search_smaller(loss, start, [(0.25, 1.0), (1.0, 0.3)])
    assert [(probe.prior, probe.row_prior) for probe in tried] == [(0.005, 1.0), (0.005, 0.3)]
    assert {probe.beta for probe in tried} == {0.8}
    plain = Probe(0.6, Validation(9.0, 0.0))
    assert best([plain, start, *tried]) == tried[0]
    tried = search_smaller(loss, start, [(1.0, 0.3), (0.25, 1.0)])
    assert [(probe.prior, probe.row_prior) for probe in tried] == [(0.02, 0.3), (0.005, 1.0)]
    assert len(search_smaller(loss, start, [(0.25, 1.0)] * 2, lambda probe: True)) == 1
