from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.metrics import adjusted_rand_score

from skcooc.counts import CSRCounts
from skcooc.equations.row_clusters import Params, RowClusters
from skcooc.image.potts import PRIOR, TiedSites, distributions

GRID, K, M = (9, 7), 3, 12
RNG = np.random.default_rng(0)
TRUTH = np.repeat([0, 1, 2], 3)[:, None].repeat(7, axis=1).ravel()  # three bands
COMPONENTS = RNG.dirichlet(np.full(M, 0.5), K)
COUNTS = sp.csr_array(np.stack([RNG.multinomial(4, COMPONENTS[c]) for c in TRUTH]).astype(float))
START = RNG.dirichlet(np.ones(K), len(TRUTH))


def tied(coupling=3.0, reach=1.0, kind=TiedSites):
    return kind(COUNTS, GRID, coupling, reach)


def couplings(sites):
    """The matrix G, column by column."""
    return np.stack(
        [sites.neighbours(column[:, None])[:, 0] for column in np.eye(len(TRUTH))], axis=1
    )


def slow_step(sites, R):
    """The equations of TiedSites, one site and one segment after another."""
    X, G, J = COUNTS.toarray(), couplings(sites), sites.coupling
    q = X.T @ R + PRIOR
    q /= q.sum(axis=0)
    energy, scores = 0.0, np.zeros_like(R)
    for i in range(len(R)):
        for c in range(R.shape[1]):
            likelihood = sum(X[i, j] * np.log(q[j, c]) for j in range(M))
            field = J * sum(G[i, l] * R[l, c] for l in range(len(R)))
            scores[i, c] = likelihood + field
            energy += R[i, c] * (np.log(R[i, c]) - likelihood - field / 2)
    return q, scores, energy - PRIOR * np.log(q).sum()


@dataclass(frozen=True)
class Repelling(TiedSites):
    """A broken twin: neighbours push each other away in the posteriors, not in the energy."""

    def weighed(self, posteriors):
        right = super().weighed(posteriors)
        field = self.coupling * self.neighbours(posteriors)
        return right._replace(scores=right.scores - 2 * field)


@dataclass(frozen=True)
class Unsmoothed(TiedSites):
    """A broken twin: the field of a site is its own posterior."""

    def neighbours(self, posteriors):
        return posteriors


def energies(sites, n=25):
    R, energies = START, []
    for _ in range(n):
        step = sites.weighed(R)
        energies.append(step.free_energy)
        R = distributions(step.scores)
    return np.array(energies)


def test_a_step_as_a_loop_over_sites():
    sites = tied()
    step = sites.weighed(START)
    q, scores, energy = slow_step(sites, START)
    assert_allclose(step.components, q)
    assert_allclose(step.scores, scores)
    assert_allclose(step.free_energy, energy)
    broken = tied(kind=Repelling).weighed(START)
    assert np.abs(broken.scores - scores).max() > 0.1
    step = TiedSites(COUNTS.astype(np.float32), GRID, 3.0, 1.0).weighed(START.astype(np.float32))
    assert {step.posteriors.dtype, step.components.dtype, step.scores.dtype} == {np.dtype("f4")}


def test_couplings_are_symmetric_and_positive_semidefinite():
    G = couplings(tied(reach=1.3))
    assert_allclose(G, G.T, atol=1e-12)
    assert_allclose(G.sum(axis=1), 1)
    assert np.linalg.eigvalsh(G).min() > -0.01


def test_the_free_energy_never_rises_and_a_wrong_field_is_noticed():
    for coupling in (0.0, 3.0, 30.0):
        assert np.diff(energies(tied(coupling))).max() < 1e-9
    assert np.diff(energies(tied(30.0, kind=Repelling))).max() > 1


def test_posteriors_are_stationary_at_the_end():
    """The slope of F along the simplex vanishes: posteriors are those of their own scores."""
    end = tied().fit(START, 500, 0.0)
    assert_allclose(distributions(end.scores), end.posteriors, atol=1e-6)
    assert np.abs(distributions(tied().weighed(START).scores) - START).max() > 0.1
    step = tied(0.0).weighed(START)
    params = Params(step.components, np.full(K, 1 / K), np.array(1.0))
    posteriors, _ = RowClusters(K).expect(CSRCounts(COUNTS), params, START, 1.0)
    assert_allclose(distributions(step.scores), posteriors, atol=1e-6)


def test_tied_sites_find_the_bands():
    untied = tied(0.0).fit(np.eye(K)[TRUTH], 50, 0.0)

    def wrong(sites):
        labels = sites.fit(untied.posteriors, 50, 0.0).posteriors.argmax(axis=1)
        return (labels != TRUTH).mean()

    assert wrong(tied(6.0)) < wrong(tied(0.0)) / 2
    assert wrong(tied(6.0, kind=Unsmoothed)) > wrong(tied(6.0))


def test_spare_segments_are_left_out():
    counts = np.stack([RNG.multinomial(40, COMPONENTS[c]) for c in TRUTH]).astype(float)
    sites = replace(tied(20.0), counts=sp.csr_array(counts))
    halves = TRUTH + 3 * (np.arange(len(TRUTH)) % 7 > 3)  # every band twice
    start = sites.weighed(np.eye(6)[halves] * 0.9 + 0.1 / 6)
    kept = sites.without_spare(start, K, 30, 1e-6)
    assert kept.posteriors.shape == (len(TRUTH), K)
    agreement = adjusted_rand_score(TRUTH, kept.posteriors.argmax(axis=1))
    assert agreement > 0.85 > adjusted_rand_score(TRUTH, halves)


def striped():
    """Two textures that are alike, a third one, and a narrow strip that is like neither."""
    rng = np.random.default_rng(1)
    columns = np.repeat([0, 1, 2, 3], [8, 9, 2, 9])
    labels = np.tile(columns, (12, 1)).ravel()
    first = rng.dirichlet(np.full(M, 2.0))
    alike = np.roll(first, 1) * 0.4 + first * 0.6
    components = np.stack([first, alike, rng.dirichlet(np.ones(M)), rng.dirichlet(np.full(M, 2.0))])
    counts = np.stack([rng.multinomial(40, components[c]) for c in labels]).astype(float)
    return TiedSites(sp.csr_array(counts), (12, 28), 10.0, 2.0), labels


@dataclass(frozen=True)
class Coreless(TiedSites):
    """A broken twin: sites at borders count as others do."""

    def losses(self, posteriors):
        return TiedSites(self.counts, self.grid, 0.0, 1e-3).losses(posteriors)


def test_losses_as_a_loop_over_segments():
    sites, R = tied(), RNG.dirichlet(np.full(K, 0.1), len(TRUTH))
    losses, sizes = sites.losses(R)
    cores = np.maximum(2 * couplings(sites) @ R - 1, 0)
    n = COUNTS.toarray().T @ cores + PRIOR
    assert_allclose(sizes, n.sum(axis=0))
    contact = 3.0 * R.T @ couplings(sites) @ R
    assert np.isinf(np.diag(losses)).all()
    for a, b in [(0, 1), (0, 2), (1, 2), (2, 1)]:
        both = n[:, a] + n[:, b]
        expected = sum(
            n[j, c] * np.log(n[j, c] / n[:, c].sum() / (both[j] / both.sum()))
            for j in range(M)
            for c in (a, b)
        )
        assert_allclose(losses[a, b], expected - contact[a, b])


def test_a_strip_is_left_out_before_a_texture():
    sites, truth = striped()
    start = sites.weighed(np.eye(4)[truth])
    textures = truth[truth != 2]

    def agreement(sites):
        kept = sites.without_spare(start, K, 30, 1e-6)
        labels = kept.posteriors.argmax(axis=1)
        return adjusted_rand_score(textures, labels[truth != 2])

    assert agreement(sites) > 0.9
    assert agreement(Coreless(sites.counts, sites.grid, sites.coupling, sites.reach)) < 0.8
