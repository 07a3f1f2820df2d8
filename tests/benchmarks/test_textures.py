import numpy as np

from benchmarks.textures import correct, make_mondrian, ranks
from tests.tables import refused

COORDINATES = np.arange(60 * 80).reshape(60, 80)


def test_every_texture_fills_a_rectangle():
    for n, seed in [(1, 0), (2, 1), (5, 2), (9, 0), (9, 1)]:
        image, labels = make_mondrian([np.full((4, 5), k) for k in range(n)], (40, 50), seed)
        np.testing.assert_array_equal(image, labels)
        assert np.unique(labels).tolist() == list(range(n))
        for k in range(n):
            y, x = np.nonzero(labels == k)
            assert len(y) == (np.ptp(y) + 1) * (np.ptp(x) + 1)


def test_parts_are_contiguous_small_textures_are_repeated_and_seeds_differ():
    image, labels = make_mondrian([COORDINATES, COORDINATES + 10_000], (50, 70), 0)
    for k in range(2):
        y, x = np.nonzero(labels == k)
        part = image[y.min() : y.max() + 1, x.min() : x.max() + 1]
        assert (np.diff(part, axis=1) == 1).all()
        assert (np.diff(part, axis=0) == 80).all()
    image, _ = make_mondrian([np.arange(12).reshape(3, 4)], (9, 12))
    np.testing.assert_array_equal(image, np.tile(image[:3, :4], (3, 3)))
    draw = [make_mondrian([COORDINATES, -COORDINATES], (30, 30), seed) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(draw[0].image, draw[1].image)
    assert not np.array_equal(draw[0].labels, draw[2].labels)


def test_invalid_input():
    for textures, shape, message in (
        ([], (8, 8), "at least one"),
        ([np.zeros((3, 3, 3))], (8, 8), r"\(h, w\)"),
        ([COORDINATES] * 5, (1, 2), "too small"),
        ([COORDINATES], (8, 8, 3), "height and the width"),
    ):
        refused(message, make_mondrian, textures, shape)


def test_segments_are_matched_with_textures_before_pixels_are_counted():
    mosaic = make_mondrian([np.zeros((8, 8)), np.ones((8, 8))], (16, 16), 0)
    assert correct(mosaic, 1 - mosaic.labels) == 1
    assert 0.5 <= correct(mosaic, np.zeros_like(mosaic.labels)) < 1


def test_equalised_textures_have_each_grey_level_equally_often():
    np.testing.assert_allclose(
        np.sort(ranks(np.random.default_rng(0).random((4, 5))).ravel()), np.arange(20) / 20
    )
