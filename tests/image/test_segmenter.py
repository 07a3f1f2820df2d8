import sys
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.ndimage import gaussian_filter
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from benchmarks.textures import make_mondrian
from skcooc.counts import CSRCounts
from skcooc.equations.row_clusters import Params, RowClusters
from skcooc.image import GaborHistograms, TextureSegmenter, grid_coarsening
from skcooc.image.histograms import gabor_moduli
from skcooc.image.segmenter import PRIOR, PottsSites, expand_blocks, row_softmax
from tests.image.textures import noise, three
from tests.tables import refused

IMAGE, LABELS = make_mondrian(three(), (90, 73), random_state=0)  # no multiples of the step


@pytest.fixture(scope="module")
def fitted():
    return TextureSegmenter(3, random_state=0).fit(IMAGE)


def agreement(labels):
    return adjusted_rand_score(LABELS.ravel(), labels.ravel())


def test_planted_textures_are_found_again_and_the_coupling_helps(fitted):
    assert agreement(fitted.labels_) > 0.85
    uncoupled = TextureSegmenter(3, coupling=0.0, n_spare=0, n_init=1, random_state=0).fit(IMAGE)
    assert agreement(uncoupled.labels_) < agreement(fitted.labels_) - 0.04
    shuffled = np.random.default_rng(0).permutation(IMAGE.ravel()).reshape(IMAGE.shape)
    assert agreement(clone(fitted).set_params(n_init=1).fit_predict(shuffled)) < 0.3
    assert fitted.labels_.shape == IMAGE.shape
    assert fitted.posteriors_.shape == (*IMAGE.shape, 3)
    np.testing.assert_allclose(fitted.posteriors_.sum(axis=2), 1, rtol=1e-5)
    np.testing.assert_array_equal(fitted.posteriors_.argmax(axis=2), fitted.labels_)
    assert fitted.components_.shape == (3, fitted.features_.n_features_out_)
    np.testing.assert_allclose(fitted.components_.sum(axis=1), 1, rtol=1e-5)
    assert fitted.clustering_.components_.shape[0] == 7
    assert np.isfinite(fitted.objective_)
    again = TextureSegmenter(3, n_jobs=2, random_state=0).fit(IMAGE)
    np.testing.assert_array_equal(again.posteriors_, fitted.posteriors_)


def test_segments_are_found_again_in_another_image(fitted):
    """Other parts of the same textures, in another size; a twin with shuffled components fails."""
    image, labels = make_mondrian(three(80), (64, 80), random_state=3)
    found = fitted.predict(image)
    assert found.shape == (64, 80)
    matched = np.array([np.bincount(fitted.labels_[k == LABELS]).argmax() for k in range(3)])
    assert (matched[labels] == found).mean() > 0.85
    np.testing.assert_array_equal(fitted.predict_proba(image).argmax(axis=2), found)
    assert agreement(fitted.predict(IMAGE)) > 0.85
    broken = copy(fitted)
    broken.components_ = np.random.default_rng(0).permutation(fitted.components_, axis=1)
    assert adjusted_rand_score(labels.ravel(), broken.predict(image).ravel()) < 0.5
    with pytest.raises(NotFittedError):
        TextureSegmenter().predict(image)
    refused("3 colours", fitted.predict, np.zeros((8, 8, 3)))


def test_features_are_given_and_pixels_have_the_posteriors_of_their_blocks():
    features = GaborHistograms(2, 2, 10, step=6)
    model = TextureSegmenter(3, features=features, n_init=1, random_state=0).fit(IMAGE)
    assert model.components_.shape == (3, 50)
    assert not hasattr(features, "edges_")
    assert len(model.clustering_.labels_) == 15 * 13
    blocks = np.random.default_rng(0).random((2 * 3, 2))
    pixels = expand_blocks(blocks, (2, 3), (7, 10), 4).reshape(7, 10, 2)
    for y, x in np.ndindex(7, 10):
        np.testing.assert_array_equal(pixels[y, x], blocks[(y // 4) * 3 + x // 4])


def test_colours_that_are_alike_in_grey():
    """One texture in a reddish and a greenish half, of the same mean."""
    grey = noise((48, 60), (1, 1))
    truth = np.repeat(np.arange(60) >= 30, 48).reshape(60, 48).T
    tint = np.where(truth, 1.0, -1.0)
    image = np.stack([grey + tint, grey - tint, grey], axis=2)
    model = TextureSegmenter(2, n_init=1, random_state=0)

    def found(image):
        return adjusted_rand_score(truth.ravel(), clone(model).fit_predict(image).ravel())

    assert found(image) > 0.8
    assert found(image.mean(axis=2)) < 0.3
    fitted = model.fit(image)
    assert fitted.components_.shape == (2, 15 * 40)
    swapped = fitted.predict(image[:, ::-1])
    assert (swapped[:, ::-1] == fitted.labels_).mean() > 0.95


def test_invalid_input_of_segmenters():
    for params in ({"n_segments": 0}, {"beta": 2.0}, {"features": 3}):
        refused(next(iter(params)), TextureSegmenter(**params).fit, IMAGE)
    refused("but should be", TextureSegmenter().fit, np.zeros((8, 8, 3, 1)))
    image = np.random.default_rng(0).random((40, 40))
    with pytest.raises(ValueError, match="n_segments=2000 should be no more than the 100 blocks"):
        TextureSegmenter(2000).fit(image)
    for factor in (1e300, -1e31):
        refused("image has values beyond 1e", TextureSegmenter(2).fit, image * factor)


NOISE = noise((37, 26), (0.7, 0.7))
COLOURS = np.stack([noise((37, 26), (0.7, width), seed=2) for width in (0.7, 1, 2)], axis=2)


def slow_histograms(image, features):
    """Site by site, window by window, response by response."""
    features = clone(features).fit(image)
    step, n_bins, window = features.step, features.n_bins, features.window
    height, width = -(-image.shape[0] // step), -(-image.shape[1] // step)
    X = np.zeros((height * width, features.n_features_out_))
    grey, contrasts = image, []
    if image.ndim == 3:
        red, green, blue = np.moveaxis(image, 2, 0)
        grey, contrasts = (red + green + blue) / 3, [green - red, blue - (red + green) / 2]
    moduli = gabor_moduli(grey, features.n_scales, features.n_orientations, features.frequency)
    levels = [gaussian_filter(one, 1 / features.frequency) for one in (grey, *contrasts)]
    for channel, responses in enumerate([*moduli, *levels]):
        limits = np.quantile(responses, np.arange(1, n_bins) / n_bins)
        scale = min(channel // features.n_orientations, features.n_scales - 1)
        wavelength = 2**scale / features.frequency
        radius = int(window * wavelength / step / 2)
        for site in range(len(X)):
            row, column = divmod(site, width)
            for dy, dx in np.ndindex(2 * radius + 1, 2 * radius + 1):
                y = mirrored(row + dy - radius, height)
                x = mirrored(column + dx - radius, width)
                block = responses[y * step : (y + 1) * step, x * step : (x + 1) * step]
                for response in block.ravel():
                    bin = channel * n_bins + (response >= limits).sum()
                    X[site, bin] += 1 / block.size / (2 * radius + 1) ** 2
    return window**2 * X


def mirrored(k, n):
    k %= 2 * n
    return k if k < n else 2 * n - 1 - k


def test_counts_equal_a_loop_over_sites():
    for n_scales, n_orientations, n_bins, window, step in (
        (1, 2, 5, 3.0, 4), (2, 1, 4, 2.5, 5), (1, 1, 3, 1.5, 1)
    ):  # fmt: skip
        features = GaborHistograms(n_scales, n_orientations, n_bins, window=window, step=step)
        X = features.fit_transform(NOISE)
        assert X.dtype == np.float32
        np.testing.assert_allclose(X.toarray(), slow_histograms(NOISE, features), atol=1e-5)


def test_counts_of_colours_equal_a_loop_over_sites():
    features = GaborHistograms(1, 2, 4, window=2.5, step=5)
    X = features.fit_transform(COLOURS).toarray()
    assert X.shape[1] == (2 + 3) * 4
    np.testing.assert_allclose(X, slow_histograms(COLOURS, features), atol=1e-5)
    others = slow_histograms(COLOURS[..., [1, 0, 2]], features)  # green, red, blue
    assert np.abs(X - others)[:, 12:16].max() > 1
    np.testing.assert_allclose(X[:, 16:], others[:, 16:], atol=1e-5)
    features = GaborHistograms(1, 2, 5)
    X = features.fit_transform(NOISE)
    np.testing.assert_array_equal(X.toarray(), features.fit_transform(NOISE[..., None]).toarray())
    of_three = features.fit_transform(np.repeat(NOISE[..., None], 3, axis=2)).toarray()
    np.testing.assert_allclose(of_three[:, :15], X.toarray(), atol=0.02 * X.max())
    with pytest.raises(ValueError, match="has 1 colours, but the training image has 3"):
        GaborHistograms(1, 2, 5).fit(COLOURS).transform(NOISE)


def test_histograms_have_equal_sums_and_orientations_are_told_apart():
    features = GaborHistograms(2, 3, 6, window=3.0)
    X = features.fit_transform(NOISE).toarray().reshape(-1, 7, 6)
    np.testing.assert_allclose(X.sum(axis=2), 9.0, rtol=1e-5)
    bins = features.bins(NOISE)
    np.testing.assert_allclose(np.bincount(bins.ravel()), NOISE.size / 6, atol=1)
    features = GaborHistograms(2, 2, 8)
    X = features.fit_transform(NOISE)
    other = features.fit_transform(30 * NOISE + 100)
    assert np.abs((X - other).toarray()).max() < 0.02 * X.max()
    features = GaborHistograms(1, 2, 4).fit(NOISE)
    assert features.bins(3 * NOISE).sum() > features.bins(NOISE).sum()
    other = features.transform(noise((16, 20), (1, 1), seed=1))
    assert other.shape == (4 * 5, 12)
    assert features.grid((16, 20)) == (4, 5)
    image = noise((24, 24), (0, 2))
    X, swapped = (
        GaborHistograms(2, 4, 6).fit_transform(side).toarray().reshape(6, 6, 9, 6)
        for side in (image, image.T)
    )
    expected = X.transpose(1, 0, 2, 3)[:, :, [2, 1, 0, 3, 6, 5, 4, 7, 8]]
    np.testing.assert_allclose(swapped, expected, atol=1e-3)
    assert np.abs(swapped - X).max() > 1
    y, x = np.mgrid[:64, :64]
    for channel in range(12):
        scale, orientation = divmod(channel, 4)
        frequency, angle = 0.4 / 2**scale, np.pi * orientation / 4
        wave = np.cos(2 * np.pi * frequency * (x * np.cos(angle) + y * np.sin(angle)))
        responses = [m[16:48, 16:48].mean() for m in gabor_moduli(wave, 3, 4, 0.4)]
        assert np.argmax(responses) == channel


def test_invalid_input_of_histograms_and_without_scikit_image(monkeypatch):
    for params, image, message in (
        ({"n_bins": 1}, NOISE, "n_bins"),
        ({"frequency": 0.7}, NOISE, "frequency"),
        ({}, np.zeros((4, 4, 3, 1)), r"\(4, 4, 3, 1\), but should be"),
        ({}, np.zeros(4), r"\(4,\), but should be"),
        ({}, np.full((8, 8), np.nan), "NaN in 64 places, which are unknown: cut them off or fill"),
        ({}, np.full((40, 40), 0.3), "no texture: all pixels are 0.3"),
        ({}, np.zeros((40, 40), np.uint8), "no texture: all pixels are 0"),
        ({}, NOISE[:8], "8 x 26 pixels, less than a window of the finest scale, 10 x 10"),
        ({}, np.moveaxis(COLOURS, 2, 0), r"shape \(3, 37, 26\), but colours are the last axis"),
        (
            {},
            np.dstack([COLOURS, np.ones(NOISE.shape)]),
            r"alpha channel is: give image\[..., :3\]",
        ),
        ({}, np.dstack([NOISE, 0 * NOISE + 255]), r"255 everywhere.*image\[..., :1\]"),
        ({}, NOISE + 1j, "complex numbers"),
        ({}, np.ma.masked_less(NOISE, 0), "masked pixels"),
    ):
        refused(message, GaborHistograms(**params).fit, image)
    monkeypatch.setitem(sys.modules, "skimage.filters", None)
    refused(r"pip install 'skcooc\[image\]'", GaborHistograms().fit, NOISE, error=ImportError)


GRID, K, M = (9, 7), 3, 12
RNG = np.random.default_rng(0)
TRUTH = np.repeat([0, 1, 2], 3)[:, None].repeat(7, axis=1).ravel()  # three bands
COMPONENTS = RNG.dirichlet(np.full(M, 0.5), K)
COUNTS = sp.csr_array(np.stack([RNG.multinomial(4, COMPONENTS[c]) for c in TRUTH]).astype(float))
START = RNG.dirichlet(np.ones(K), len(TRUTH))


def coupled(coupling=3.0, reach=1.0, kind=PottsSites):
    return kind(COUNTS, GRID, coupling, reach, max_iter=500, tol=0.0)


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
    step = replace(coupled(), counts=COUNTS.astype(np.float32)).step(START.astype(np.float32))
    assert {step.posteriors.dtype, step.components.dtype, step.scores.dtype} == {np.dtype("f4")}
    G = couplings(coupled(reach=1.3))
    assert_allclose(G, G.T, atol=1e-12)
    assert_allclose(G.sum(axis=1), 1)
    assert np.linalg.eigvalsh(G).min() > -0.01


def test_the_free_energy_never_rises_to_stationary_posteriors():
    for coupling in (0.0, 3.0, 30.0):
        assert np.diff(energies(coupled(coupling))).max() < 1e-9
    assert np.diff(energies(coupled(30.0, kind=Repelling))).max() > 1
    end = coupled().fit(START)
    assert_allclose(row_softmax(end.scores), end.posteriors, atol=1e-6)
    assert np.abs(row_softmax(coupled().step(START).scores) - START).max() > 0.1
    step = coupled(0.0).step(START)
    params = Params(step.components, np.full(K, 1 / K), np.array(1.0))
    posteriors, _ = RowClusters(K).expect(CSRCounts(COUNTS), params, START, 1.0)
    assert_allclose(row_softmax(step.scores), posteriors, atol=1e-6)


def test_coupled_sites_find_the_bands():
    uncoupled = coupled(0.0).fit(np.eye(K)[TRUTH])

    def wrong(sites):
        labels = sites.fit(uncoupled.posteriors).posteriors.argmax(axis=1)
        return (labels != TRUTH).mean()

    assert wrong(coupled(6.0)) < wrong(coupled(0.0)) / 2
    assert wrong(coupled(6.0, kind=Unsmoothed)) > wrong(coupled(6.0))


def test_spare_segments_are_removed_and_strips_before_textures():
    counts = np.stack([RNG.multinomial(40, COMPONENTS[c]) for c in TRUTH]).astype(float)
    sites = replace(coupled(20.0), counts=sp.csr_array(counts), max_iter=30, tol=1e-6)
    halves = TRUTH + 3 * (np.arange(len(TRUTH)) % 7 > 3)  # every band twice
    start = sites.step(np.eye(6)[halves] * 0.9 + 0.1 / 6)
    kept = sites.drop_spare(start, K)
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
    return PottsSites(sp.csr_array(counts), (12, 28), 10.0, 2.0, 30, 1e-6), labels


@dataclass(frozen=True)
class Coreless(PottsSites):
    """A broken twin: sites at borders belong to cores."""

    def merge_losses(self, posteriors):
        return PottsSites(self.counts, self.grid, 0.0, 1e-3, 30, 1e-6).merge_losses(posteriors)


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
        kept = sites.drop_spare(start, K)
        labels = kept.posteriors.argmax(axis=1)
        return adjusted_rand_score(textures, labels[truth != 2])

    assert agreement(sites) > 0.9
    assert agreement(Coreless(**vars(sites))) < 0.8


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
        refused(message, grid_coarsening, shape, n_levels, error=error)


def test_levels_of_another_scale_and_images_of_few_blocks_are_told(recwarn):
    image = 255 * (NOISE - NOISE.min()) / np.ptp(NOISE)
    for n_bins in (2, 40):
        features = GaborHistograms(n_bins=n_bins).fit(image.astype(np.uint8))
        for same in (image, image / 4, 4 * image, image[::-1]):
            features.transform(same)
        assert not recwarn.list
        with pytest.warns(UserWarning, match="largest level of the image is 1, and 255 in the"):
            features.transform(image / 255)
    small = TextureSegmenter(2, features=GaborHistograms(window=2.0), n_init=1, random_state=0)
    assert small.fit(NOISE[:8, :8]).labels_.shape == (8, 8)  # of 2 x 2 blocks, for 6 clusters
    assert not [one for one in recwarn.list if "n_clusters" in str(one.message)]
