from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.metrics import adjusted_rand_score

from skcooc.counts import CSRCounts
from skcooc.equations.row_clusters import Params, RowClusters
from skcooc.image import grid_coarsening
from skcooc.image.sites import PRIOR, PottsSites, row_softmax

GRID, K, M = (9, 7), 3, 12
RNG = np.random.default_rng(0)
TRUTH = np.repeat([0, 1, 2], 3)[:, None].repeat(7, axis=1).ravel()  # three bands
COMPONENTS = RNG.dirichlet(np.full(M, 0.5), K)
COUNTS = sp.csr_array(np.stack([RNG.multinomial(4, COMPONENTS[c]) for c in TRUTH]).astype(float))
START = RNG.dirichlet(np.ones(K), len(TRUTH))


def coupled(coupling=3.0, reach=1.0, kind=PottsSites):
    return kind(COUNTS, GRID, coupling, reach)


def couplings(sites):
    return np.column_stack([sites.neighbours(column[:, None]) for column in np.eye(len(TRUTH))])


def slow_step(sites, R):
    X, G, J = COUNTS.toarray(), couplings(sites), sites.coupling
    q = X.T @ R + PRIOR
    q /= q.sum(axis=0)
    energy, scores = 0.0, np.zeros_like(R)
    for i, c in np.ndindex(R.shape):
        likelihood = sum(X[i, j] * np.log(q[j, c]) for j in range(M))
        field = J * sum(G[i, l] * R[l, c] for l in range(len(R)))
        scores[i, c] = likelihood + field
        energy += R[i, c] * (np.log(R[i, c]) - likelihood - field / 2)
    return q, scores, energy - PRIOR * np.log(q).sum()


@dataclass(frozen=True)
class Repelling(PottsSites):
    """A broken twin: the sign of the field is wrong in the posteriors, not in the energy."""

    def step(self, posteriors):
        right = super().step(posteriors)
        field = self.coupling * self.neighbours(posteriors)
        return right._replace(scores=right.scores - 2 * field)


@dataclass(frozen=True)
class Unsmoothed(PottsSites):
    """A broken twin: the field of a site is its own posterior."""

    def neighbours(self, posteriors):
        return posteriors


def energies(sites, n=25):
    R, energies = START, []
    for _ in range(n):
        step = sites.step(R)
        energies.append(step.free_energy)
        R = row_softmax(step.scores)
    return np.array(energies)


def test_a_step_equals_a_loop_over_sites():
    sites = coupled()
    step = sites.step(START)
    q, scores, energy = slow_step(sites, START)
    assert_allclose(step.components, q)
    assert_allclose(step.scores, scores)
    assert_allclose(step.free_energy, energy)
    broken = coupled(kind=Repelling).step(START)
    assert np.abs(broken.scores - scores).max() > 0.1
    step = PottsSites(COUNTS.astype(np.float32), GRID, 3.0, 1.0).step(START.astype(np.float32))
    assert {step.posteriors.dtype, step.components.dtype, step.scores.dtype} == {np.dtype("f4")}
    G = couplings(coupled(reach=1.3))
    assert_allclose(G, G.T, atol=1e-12)
    assert_allclose(G.sum(axis=1), 1)
    assert np.linalg.eigvalsh(G).min() > -0.01


def test_the_free_energy_never_rises_to_stationary_posteriors():
    for coupling in (0.0, 3.0, 30.0):
        assert np.diff(energies(coupled(coupling))).max() < 1e-9
    assert np.diff(energies(coupled(30.0, kind=Repelling))).max() > 1
    end = coupled().fit(START, 500, 0.0)
    assert_allclose(row_softmax(end.scores), end.posteriors, atol=1e-6)
    assert np.abs(row_softmax(coupled().step(START).scores) - START).max() > 0.1
    step = coupled(0.0).step(START)
    params = Params(step.components, np.full(K, 1 / K), np.array(1.0))
    posteriors, _ = RowClusters(K).expect(CSRCounts(COUNTS), params, START, 1.0)
    assert_allclose(row_softmax(step.scores), posteriors, atol=1e-6)


def test_coupled_sites_find_the_bands():
    uncoupled = coupled(0.0).fit(np.eye(K)[TRUTH], 50, 0.0)

    def wrong(sites):
        labels = sites.fit(uncoupled.posteriors, 50, 0.0).posteriors.argmax(axis=1)
        return (labels != TRUTH).mean()

    assert wrong(coupled(6.0)) < wrong(coupled(0.0)) / 2
    assert wrong(coupled(6.0, kind=Unsmoothed)) > wrong(coupled(6.0))


def test_spare_segments_are_removed_and_strips_before_textures():
    counts = np.stack([RNG.multinomial(40, COMPONENTS[c]) for c in TRUTH]).astype(float)
    sites = replace(coupled(20.0), counts=sp.csr_array(counts))
    halves = TRUTH + 3 * (np.arange(len(TRUTH)) % 7 > 3)  # every band twice
    start = sites.step(np.eye(6)[halves] * 0.9 + 0.1 / 6)
    kept = sites.drop_spare(start, K, 30, 1e-6)
    assert kept.posteriors.shape == (len(TRUTH), K)
    agreement = adjusted_rand_score(TRUTH, kept.posteriors.argmax(axis=1))
    assert agreement > 0.85 > adjusted_rand_score(TRUTH, halves)


def striped():
    """Two similar textures, a third one, and a narrow strip that differs from all."""
    rng = np.random.default_rng(1)
    columns = np.repeat([0, 1, 2, 3], [8, 9, 2, 9])
    labels = np.tile(columns, (12, 1)).ravel()
    first = rng.dirichlet(np.full(M, 2.0))
    alike = np.roll(first, 1) * 0.4 + first * 0.6
    components = np.stack([first, alike, rng.dirichlet(np.ones(M)), rng.dirichlet(np.full(M, 2.0))])
    counts = np.stack([rng.multinomial(40, components[c]) for c in labels]).astype(float)
    return PottsSites(sp.csr_array(counts), (12, 28), 10.0, 2.0), labels


@dataclass(frozen=True)
class Coreless(PottsSites):
    """A broken twin: sites at borders belong to cores."""

    def merge_losses(self, posteriors):
        return PottsSites(self.counts, self.grid, 0.0, 1e-3).merge_losses(posteriors)


def test_merge_losses_equal_a_loop_over_segments():
    sites, R = coupled(), RNG.dirichlet(np.full(K, 0.1), len(TRUTH))
    losses, sizes = sites.merge_losses(R)
    cores = np.maximum(2 * couplings(sites) @ R - 1, 0)
    n = COUNTS.toarray().T @ cores + PRIOR
    assert_allclose(sizes, n.sum(axis=0))
    contact = 3.0 * R.T @ couplings(sites) @ R
    assert np.isinf(np.diag(losses)).all()
    for a, b in [(0, 1), (0, 2), (1, 2), (2, 1)]:
        both = n[:, a] + n[:, b]
        parts = (n[:, c] * np.log(n[:, c] / n[:, c].sum() * both.sum() / both) for c in (a, b))
        assert_allclose(losses[a, b], sum(map(sum, parts)) - contact[a, b])


def test_a_strip_is_removed_before_a_texture():
    sites, truth = striped()
    start = sites.step(np.eye(4)[truth])
    textures = truth[truth != 2]

    def agreement(sites):
        kept = sites.drop_spare(start, K, 30, 1e-6)
        labels = kept.posteriors.argmax(axis=1)
        return adjusted_rand_score(textures, labels[truth != 2])

    assert agreement(sites) > 0.9
    assert agreement(Coreless(sites.counts, sites.grid, sites.coupling, sites.reach)) < 0.8


@pytest.mark.parametrize("shape", [(1, 9), (7, 5), (12, 31)])
def test_blocks_of_a_grid_are_nested(shape):
    sites = list(np.ndindex(shape))
    finer = np.arange(len(sites))
    for level, labels in enumerate(grid_coarsening(shape, int(np.ceil(np.log2(max(shape)))))):
        size = 2 ** (level + 1)
        blocks = [(y // size, x // size) for y, x in sites]
        numbers = {block: number for number, block in enumerate(dict.fromkeys(blocks))}
        assert labels.tolist() == [numbers[block] for block in blocks]
        parents = labels[np.unique(finer, return_index=True)[1]]
        np.testing.assert_array_equal(labels, parents[finer])
        finer = labels
    assert finer.max() == 0


def test_numbers_of_blocks_default_levels_and_invalid_grids():
    assert grid_coarsening((8, 8), 0) == grid_coarsening((8, 8)) == grid_coarsening((1, 1)) == []
    for shape, sizes in {(100, 100): [2500, 625, 169], (1, 300): [150, 75]}.items():
        assert [labels.max() + 1 for labels in grid_coarsening(shape)] == sizes
    # 8 x 8 blocks are enough.
    assert grid_coarsening((256, 256))[-1].max() + 1 == 64
    for shape, n_levels, error, message in (
        ((8, 8, 3), None, ValueError, r"shape=\(8, 8, 3\)"),
        ((0, 8), None, ValueError, "height == 0, must be >= 1"),
        ((8, 8.5), None, TypeError, "width must be an instance of"),
        ((8, 5), 4, ValueError, "n_levels == 4, must be <= 3"),
        ((8, 5), -1, ValueError, "n_levels == -1, must be >= 0"),
    ):
        with pytest.raises(error, match=message):
            grid_coarsening(shape, n_levels)
