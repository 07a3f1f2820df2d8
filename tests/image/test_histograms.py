import sys

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from sklearn.base import clone

from skcooc.image import GaborHistograms
from skcooc.image.histograms import gabor_moduli
from tests.image.textures import noise

IMAGE = noise((37, 26), (0.7, 0.7))
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
        X = features.fit_transform(IMAGE)
        assert X.dtype == np.float32
        np.testing.assert_allclose(X.toarray(), slow_histograms(IMAGE, features), atol=1e-5)


def test_counts_of_colours_equal_a_loop_over_sites():
    features = GaborHistograms(1, 2, 4, window=2.5, step=5)
    X = features.fit_transform(COLOURS).toarray()
    assert X.shape[1] == (2 + 3) * 4
    np.testing.assert_allclose(X, slow_histograms(COLOURS, features), atol=1e-5)
    others = slow_histograms(COLOURS[..., [1, 0, 2]], features)  # green, red, blue
    assert np.abs(X - others)[:, 12:16].max() > 1
    np.testing.assert_allclose(X[:, 16:], others[:, 16:], atol=1e-5)
    features = GaborHistograms(1, 2, 5)
    X = features.fit_transform(IMAGE)
    np.testing.assert_array_equal(X.toarray(), features.fit_transform(IMAGE[..., None]).toarray())
    of_three = features.fit_transform(np.repeat(IMAGE[..., None], 3, axis=2)).toarray()
    np.testing.assert_allclose(of_three[:, :15], X.toarray(), atol=0.02 * X.max())
    with pytest.raises(ValueError, match="has 1 colours, but the training image has 3"):
        GaborHistograms(1, 2, 5).fit(COLOURS).transform(IMAGE)


def test_histograms_have_equal_sums_and_bins_of_the_training_image():
    features = GaborHistograms(2, 3, 6, window=3.0)
    X = features.fit_transform(IMAGE).toarray().reshape(-1, 7, 6)
    np.testing.assert_allclose(X.sum(axis=2), 9.0, rtol=1e-5)
    bins = features.bins(IMAGE)
    np.testing.assert_allclose(np.bincount(bins.ravel()), IMAGE.size / 6, atol=1)
    features = GaborHistograms(2, 2, 8)
    X = features.fit_transform(IMAGE)
    other = features.fit_transform(30 * IMAGE + 100)
    assert np.abs((X - other).toarray()).max() < 0.02 * X.max()
    features = GaborHistograms(1, 2, 4).fit(IMAGE)
    assert features.bins(3 * IMAGE).sum() > features.bins(IMAGE).sum()
    other = features.transform(noise((16, 20), (1, 1), seed=1))
    assert other.shape == (4 * 5, 12)
    assert features.grid((16, 20)) == (4, 5)


def test_orientations_and_scales():
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


def test_invalid_input_and_without_scikit_image(monkeypatch):
    for params, image, message in (
        ({"n_bins": 1}, IMAGE, "n_bins"),
        ({"frequency": 0.7}, IMAGE, "frequency"),
        ({}, np.zeros((4, 4, 3, 1)), r"\(4, 4, 3, 1\), but should be"),
        ({}, np.zeros(4), r"\(4,\), but should be"),
        ({}, np.full((8, 8), np.nan), "NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            GaborHistograms(**params).fit(image)
    monkeypatch.setitem(sys.modules, "skimage.filters", None)
    with pytest.raises(ImportError, match=r"pip install 'skcooc\[image\]'"):
        GaborHistograms().fit(IMAGE)
