from itertools import combinations, product

import numpy as np

from skcooc.inspection.palette import topic_colors

# Machado, Oliveira and Fernandes (2009), severity 1, for linear RGB.
VISIONS = {
    "normal": np.eye(3),
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
PAPER = {False: "#ffffff", True: "#15181c"}


def linear(color):
    c = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(color, vision):
    t = TO_XYZ @ np.clip(np.array(VISIONS[vision]) @ linear(color), 0, 1) / [0.95047, 1, 1.08883]
    x, y, z = np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(color, other):
    low, high = sorted(TO_XYZ[1] @ linear(c) for c in (color, other))
    return (high + 0.05) / (low + 0.05)


def closest(colors, vision):
    places = [lab(color, vision) for color in colors]
    return min(np.linalg.norm(a - b) for a, b in combinations(places, 2))


def test_colours_differ_for_all_and_are_seen_on_both_backgrounds():
    for dark, (n, apart, least) in product((False, True), ((12, 15, 2.99), (24, 14, 2))):
        colors = topic_colors(n, dark)
        for vision in VISIONS:
            assert closest(colors, vision) > apart, (dark, vision)
        assert min(contrast(color, PAPER[dark]) for color in colors) >= least
    assert min(contrast(color, PAPER[True]) for color in topic_colors(12)) > 2.4
