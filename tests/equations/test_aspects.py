import numpy as np
import pytest
import scipy.sparse as sp

from skcooc import AspectModel, Dyads
from skcooc.counts import CSRCounts
from skcooc.em import EMStage, make_solver
from skcooc.equations.aspects import Aspects
from skcooc.estimators.aspect import MIN_GAIN_JOINT
from skcooc.fitting.tuning import LARGER_BETA, N_PRIORS
from skcooc.model_selection import split_counts
from skcooc.starts.topics import topic_start
from tests.equations.running import run_stages
from tests.tables import occupied, planted


def test_recovers_planted_aspects():
    truth = planted(3, 30_000, seed=1)
    for tempering in ("joint", "likelihood", "distinctive"):
        model = AspectModel(3, tempering=tempering, random_state=0).fit(truth.X)
        overlap = np.sqrt(model.components_) @ np.sqrt(truth.components).T  # Bhattacharyya
        best = overlap.argmax(axis=1)
        assert sorted(best) == [0, 1, 2]
        assert (overlap.max(axis=1) > 0.97).all()
        errors = np.abs(model.embedding_ - truth.mixtures[:, best]).sum(axis=1)
        assert np.median(errors) < 0.15


def test_the_temperature_it_finds_beats_maximum_likelihood():
    X = planted(6, 4000, n_rows=120, n_columns=100).X
    train, test = split_counts(X, random_state=0)
    model = AspectModel(10, max_iter=100, tol=0, random_state=0)
    scores = {
        beta: model.set_params(beta=beta).fit(train).perplexity(Dyads(test))
        for beta in (1.0, 0.9, 0.8, 0.7)
    }
    auto = AspectModel(10, random_state=0).fit(train)
    assert 0.5 < auto.beta_ < 1
    assert auto.perplexity(Dyads(test)) < 0.9 * scores[1.0]
    assert auto.perplexity(Dyads(test)) < 1.03 * min(scores.values())


THIN = planted(8, 2500, n_rows=200, n_columns=300).X  # most pairs are seen once


def test_the_chosen_prior_helps_with_sparse_data():
    train, test = split_counts(THIN, random_state=0)
    plain, auto = (
        AspectModel(9, component_prior=prior, random_state=0).fit(train) for prior in (0.0, "auto")
    )
    assert plain.component_prior_ == 0
    assert auto.beta_ in (plain.beta_, plain.beta_ + LARGER_BETA)
    assert 0 < auto.component_prior_ < THIN.sum() / (9 * THIN.shape[1])
    assert auto.smoothing_ < plain.smoothing_  # the prior does what smoothing did
    assert auto.perplexity(Dyads(test)) < 0.99 * plain.perplexity(Dyads(test))


def test_the_prior_is_that_of_the_best_probe():
    """The validation of short fits, transcribed with public means."""
    thin = occupied(THIN)
    X = CSRCounts(thin.astype(float))
    model = AspectModel(6, random_state=0).fit(thin.astype(float))
    seed = int(np.random.RandomState(0).randint(2**31))
    rest, held = (part.table.toarray() for part in X.divide(0.1, seed))
    tried = [probe for probe in model.tuning_ if probe.stage in ("prior", "tempering")]
    assert 2 < len(tried) <= N_PRIORS + 2
    assert [probe.stage for probe in tried].count("tempering") == 1
    all_aspects = [probe for probe in model.tuning_ if probe.n_components is None]
    *others, joint = all_aspects
    best = min(others, key=lambda probe: probe.validation.perplexity)
    if joint.validation.perplexity < (1 - MIN_GAIN_JOINT) * best.validation.perplexity:
        best = joint
    assert model.tempering_ == best.values.get("tempering", "distinctive")
    assert (best.beta, best.prior) == (model.beta_, model.component_prior_)
    assert best.validation.smoothing == model.smoothing_
    b = (rest.sum(axis=0) + 1) / (rest.sum() + X.shape[1])
    for probe in tried:
        counts = CSRCounts(sp.csr_array(rest))
        tempering = probe.values.get("tempering", "distinctive")
        burn_in = EMStage(Aspects(6, "distinctive"), counts, 1.0, 8, 3e-6, start=topic_start)
        stage = EMStage(Aspects(6, tempering, probe.prior), counts, probe.beta, 13, 3e-6)
        found = run_stages([burn_in, stage], make_solver("momentum"), seed=seed)
        s = probe.validation.smoothing
        P = (1 - s) * found.rows @ found.params.components.T + s * b
        expected = np.exp(-(held * np.log(P)).sum() / held.sum())
        assert probe.validation.perplexity == pytest.approx(expected, rel=1e-6)


def test_no_prior_without_validation_tokens():
    model = AspectModel(3, beta=0.9, random_state=0).fit(THIN)
    assert model.component_prior_ == 0
    assert AspectModel(3, beta=0.9, component_prior=0.2).fit(THIN).component_prior_ == 0.2
    assert not hasattr(AspectModel(), "component_prior_")
    with pytest.raises(ValueError, match="The 'component_prior' parameter of AspectModel must be"):
        AspectModel(component_prior="none").fit(THIN)
