from copy import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from benchmarks.mondrian import make_mondrian
from skcooc.image import GaborHistograms, TextureSegmenter
from skcooc.image.segmenter import expand_blocks
from tests.image.textures import noise, three

IMAGE, LABELS = make_mondrian(three(), (90, 73), random_state=0)  # no multiples of the step


@pytest.fixture(scope="module")
def fitted():
    return TextureSegmenter(3, random_state=0).fit(IMAGE)


def agreement(labels):
    return adjusted_rand_score(LABELS.ravel(), labels.ravel())


def test_planted_textures_are_found_again_and_the_coupling_helps(fitted):
    assert agreement(fitted.labels_) > 0.85
    uncoupled = TextureSegmenter(3, coupling=0.0, n_spare=0, random_state=0).fit(IMAGE)
    assert agreement(uncoupled.labels_) < agreement(fitted.labels_) - 0.04
    shuffled = np.random.default_rng(0).permutation(IMAGE.ravel()).reshape(IMAGE.shape)
    assert agreement(clone(fitted).fit_predict(shuffled)) < 0.3
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
    with pytest.raises(ValueError, match="3 colours"):
        fitted.predict(np.zeros((8, 8, 3)))


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


def test_invalid_input():
    for params in ({"n_segments": 0}, {"beta": 2.0}, {"features": 3}):
        with pytest.raises(ValueError, match=next(iter(params))):
            TextureSegmenter(**params).fit(IMAGE)
    with pytest.raises(ValueError, match="but should be"):
        TextureSegmenter().fit(np.zeros((8, 8, 3, 1)))
    image = np.random.default_rng(0).random((40, 40))
    with pytest.raises(ValueError, match="n_segments=2000 should be no more than the 100 blocks"):
        TextureSegmenter(2000).fit(image)
    for factor in (1e300, -1e31):
        with pytest.raises(ValueError, match="image has values beyond 1e"):
            TextureSegmenter(2).fit(image * factor)
